//! Frequencies change: what tasks have done so far goes by the old one, the rest by the new.

use crate::simulation::Simulation;
use fairground_machine::Machine;
use fairground_model::{Change, FreqPolicy, Governor, GovernorKind, Mistakes, Op, Recorder, TaskSet, TimedChange, Tunable};
use fairground_stdx::{CpuId, CpuMask, Ns};

impl Simulation {
    /// Something from outside sets the frequency of a CPU, and of all that change with it. Nobody reads their clocks for that: the time
    /// since the last reading goes by the new frequency, as in the kernel.
    pub(crate) fn set_frequency(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, freq_capacity: u32) {
        let Some(row) = self.view.cpus[cpu].policy else {
            return self.run_at(cpu, freq_capacity);
        };
        let policy = &self.machine.policies[row];
        let (cpus, khz) = (policy.cpus, policy.khz_of(freq_capacity));
        self.core_from_outside(rec, cpu, |sched, cx| sched.force_frequency(cx, row, khz));
        // The share need not be that of an operating point.
        self.run_together(cpus, freq_capacity);
    }

    /// The CPUs of a policy run at `khz` from now on.
    pub(crate) fn set_policy_frequency(&mut self, row: usize, khz: u32) {
        let policy = &self.machine.policies[row];
        let (cpus, share) = (policy.cpus, policy.freq_capacity(khz));
        self.run_together(cpus, share);
    }

    fn run_together(&mut self, cpus: CpuMask, freq_capacity: u32) {
        for cpu in cpus.iter() {
            if self.machine.cpus[cpu].freq_capacity != freq_capacity {
                self.run_at(cpu, freq_capacity);
            }
        }
    }

    fn run_at(&mut self, cpu: CpuId, freq_capacity: u32) {
        self.change_speed(cpu, |sim| {
            sim.machine.cpus[cpu].freq_capacity = freq_capacity;
            sim.view.cpus[cpu].freq_capacity = sim.machine.known_freq_capacity(cpu);
            sim.set_prices(cpu);
        });
    }

    /// How long it takes until the thread that changes a frequency runs, once it is asked: an interrupt to the CPU itself (irq_work), a
    /// wake-up and a switch.
    pub(crate) fn thread_wakes_after(&self, cpu: CpuId) -> Ns {
        let price = |op| self.cpus[cpu].meter.price_ps(op);
        Ns((price(Op::IpiFlight) + price(Op::TtwuBase) + price(Op::PickSwitch)) / 1000)
    }
}

/// Finds changes of frequencies and governors that the machine cannot make.
pub(crate) fn check_frequencies(machine: &Machine, set: &TaskSet, mistakes: &mut Mistakes) {
    let mut policies = machine.policies.clone();
    let mut changes: Vec<&TimedChange> = set.changes.iter().collect();
    changes.sort_by_key(|timed| timed.at);
    for timed in changes {
        let at = Ns(timed.at.ns());
        let of = |cpu: CpuId| policies.iter().position(|policy| policy.cpus.contains(cpu));
        match &timed.change {
            Change::FreqCapacity { cpu, .. } => {
                let kind = of(*cpu).map_or(GovernorKind::Fixed, |row| policies[row].governor.kind);
                if !kind.row().lets_others_set {
                    let message =
                        format!("at {at} the frequency of CPU {cpu} would be set, but its governor is `{}`", kind.name());
                    mistakes.whole(message, "Leave it to the governor, or set another one before: `governor CPUS fixed`.");
                }
            }
            Change::Governor { cpu, governor } => match of(*cpu) {
                None => mistakes.whole(
                    format!("at {at} CPU {cpu} would get governor `{}`, but it has no operating points", governor.kind.name()),
                    "Describe them in `[[policy]]` tables of the machine, or take a preset that has them, such as hikey.",
                ),
                Some(row) => {
                    check_setspeed(&policies[row], governor, at, mistakes);
                    policies[row].governor = *governor;
                }
            },
            _ => {}
        }
    }
}

/// A frequency that the user sets is one of the table.
fn check_setspeed(policy: &FreqPolicy, governor: &Governor, at: Ns, mistakes: &mut Mistakes) {
    let known: Vec<String> = policy.opps.iter().map(|opp| opp.khz.to_string()).collect();
    if let Some(khz) = governor.khz(Tunable::SetspeedKhz).filter(|&khz| policy.opps.iter().all(|opp| opp.khz != khz)) {
        let hint = format!("CPUs {} have {} kHz.", policy.cpus, known.join(", "));
        mistakes.whole(format!("at {at} CPUs {} would run at {khz} kHz", policy.cpus), hint);
    }
}
