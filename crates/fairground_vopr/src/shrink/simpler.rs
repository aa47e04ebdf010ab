//! Replaces what a case says by what is usual: plain kernels, machines and tasks, short and round times.

use super::Search;
use crate::case::Case;
use fairground_machine::CostModel;
use fairground_machine::machine::tick_of;
use fairground_machine::regular::default_distances;
use fairground_model::features::Feat;
use fairground_model::task_set::DEFAULT_TIMER_SLACK;
use fairground_model::{Change, Instr, Mode, Policy, Start};
use fairground_sched::fair::tunables::TUNABLES;
use fairground_sched::profile::{DiffRow, Profile, ProfileError};
use fairground_stdx::{Id, Instant, Ns, ProgramId, TaskId};

impl<F: FnMut(&Case) -> bool> Search<F> {
    /// Without one of its changes at a time, then without its overlay.
    pub(super) fn simpler_kernel(&mut self) {
        if let Ok(base) = Profile::kernel(self.small.profile.base) {
            self.attempt(|case| case.profile = base.clone());
        }
        let Ok(base) = Profile::parse(&self.small.profile.name) else { return };
        let mut rows = base.diff(&self.small.profile);
        for at in (0..rows.len()).rev() {
            let mut fewer = rows.clone();
            fewer.remove(at);
            if let Ok(profile) = changed(&base, &fewer)
                && self.attempt(|case| case.profile = profile)
            {
                rows = fewer;
            }
        }
    }

    pub(super) fn simpler_machine(&mut self) {
        if let Ok(zero) = CostModel::preset("zero") {
            self.attempt(|case| case.machine.costs = zero);
        }
        self.attempt(|case| (case.machine.tick_jitter, case.machine.tick_jitter_seed) = (Ns::ZERO, None));
        self.attempt(|case| case.machine.tick_offset = Ns::ZERO);
        self.attempt(|case| (case.machine.hz, case.machine.tick) = (1000, tick_of(1000)));
        self.attempt(|case| case.machine.nohz_idle = true);
        self.attempt(|case| case.machine.irq_time_accounting = true);
        self.attempt(|case| {
            case.tasks.changes.retain(|timed| !matches!(timed.change, Change::Governor { .. }));
            case.machine.policies.clear();
        });
        self.attempt(|case| case.machine.cpus.iter_mut().for_each(|cpu| cpu.freq_capacity = 1024));
        self.attempt(|case| case.machine.cpus.iter_mut().for_each(|cpu| cpu.capacity = 1024));
        self.attempt(|case| case.machine.cpus.iter_mut().for_each(|cpu| cpu.cluster = None));
        self.attempt(one_node);
        self.attempt(|case| case.machine.cpus.iter_mut().for_each(|cpu| cpu.llc = cpu.package));
        self.attempt(|case| {
            for (row, cpu) in case.machine.cpus.iter_mut().enumerate() {
                cpu.core = row as u32;
            }
        });
    }

    pub(super) fn simpler_tasks(&mut self) {
        for task in (0..self.small.tasks.tasks.len()).map(TaskId::from_index) {
            self.attempt(|case| case.tasks.tasks[task].nice = 0);
            self.attempt(|case| case.tasks.tasks[task].policy = Policy::Normal);
            self.attempt(|case| case.tasks.tasks[task].affinity = None);
            self.attempt(|case| case.tasks.tasks[task].first_cpu = None);
            self.attempt(|case| case.tasks.tasks[task].slice = None);
            self.attempt(|case| case.tasks.tasks[task].timer_slack = DEFAULT_TIMER_SLACK);
            self.attempt(|case| case.tasks.tasks[task].working_set_kib = 0);
            self.attempt(|case| case.tasks.tasks[task].mm = 0);
            self.attempt(|case| {
                let task = &mut case.tasks.tasks[task];
                if task.start != Start::Forked {
                    task.start = Start::At(Instant::ZERO);
                }
            });
        }
        for program in (0..self.small.tasks.programs.len()).map(ProgramId::from_index) {
            for row in 0..self.small.tasks.programs[program].code.len() {
                self.attempt(|case| plain(&mut case.tasks.programs[program].code[row]));
            }
        }
    }

    /// Fewer digits for every length of time.
    pub(super) fn simpler_times(&mut self) {
        for digits in 1..=3 {
            self.attempt(|case| case.duration = Ns(round_up(case.duration.0, digits)));
            for program in (0..self.small.tasks.programs.len()).map(ProgramId::from_index) {
                for row in 0..self.small.tasks.programs[program].code.len() {
                    self.attempt(|case| round_instr(&mut case.tasks.programs[program].code[row], digits));
                }
            }
            for row in 0..self.small.tasks.changes.len() {
                self.attempt(|case| {
                    let timed = &mut case.tasks.changes[row];
                    timed.at = Instant::from_ns(round_down(timed.at.ns(), digits));
                    case.tasks.changes.sort_by_key(|timed| timed.at);
                });
            }
        }
    }
}

/// The kernel with these differences, switches last: some of them need a seam.
fn changed(base: &Profile, rows: &[DiffRow]) -> Result<Profile, ProfileError> {
    let is_switch = |row: &&DiffRow| Feat::by_name(row.name).is_some();
    let is_tunable = |row: &DiffRow| TUNABLES.iter().any(|tunable| tunable.name == row.name);
    let profile = rows.iter().filter(|row| !is_switch(row)).try_fold(base.clone(), |profile, row| match is_tunable(row) {
        true => profile.with_tunable(row.name, &row.to.value),
        false => profile.with_seam(row.name, &row.to.value),
    })?;
    rows.iter().filter(is_switch).try_fold(profile, |profile, row| {
        let off = if row.to.value == "on" { "" } else { "NO_" };
        profile.with_feature(&format!("{off}{}", row.name))
    })
}

fn one_node(case: &mut Case) {
    for cpu in case.machine.cpus.iter_mut() {
        (cpu.node, cpu.package) = (0, 0);
    }
    case.machine.distances = default_distances(1);
}

/// In user mode and for a fixed time.
fn plain(instr: &mut Instr) {
    *instr = match *instr {
        Instr::Run { work: time, .. } | Instr::RunBetween { low: time, .. } | Instr::RunTime { time, .. } => {
            Instr::Run { work: time, mode: Mode::User }
        }
        Instr::RunExponential { mean, .. } => Instr::Run { work: mean, mode: Mode::User },
        Instr::SleepBetween { low: time, .. } | Instr::SleepExponential { mean: time } => Instr::Sleep { time },
        _ => return,
    }
}

fn round_instr(instr: &mut Instr, digits: u32) {
    match instr {
        Instr::Run { work: time, .. }
        | Instr::RunTime { time, .. }
        | Instr::Sleep { time }
        | Instr::RunExponential { mean: time, .. }
        | Instr::SleepExponential { mean: time }
        | Instr::TimerWait { period: time, .. }
        | Instr::SetTimerSlack { slack: time } => *time = Ns(round_down(time.0, digits)),
        _ => {}
    }
}

/// The first `digits` decimal digits, the rest 0.
fn round_down(value: u64, digits: u32) -> u64 {
    let power = (value.checked_ilog10().unwrap_or(0) + 1).saturating_sub(digits);
    let unit = 10u64.pow(power);
    value / unit * unit
}

fn round_up(value: u64, digits: u32) -> u64 {
    let down = round_down(value, digits);
    let power = (value.checked_ilog10().unwrap_or(0) + 1).saturating_sub(digits);
    if down == value { value } else { down.saturating_add(10u64.pow(power)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_the_leading_digits() {
        assert_eq!((round_down(0, 1), round_down(7, 2), round_down(1_999, 1), round_down(1_999, 2)), (0, 7, 1_000, 1_900));
        assert_eq!((round_up(1_999, 1), round_up(2_000, 1), round_up(2_010, 2)), (2_000, 2_000, 2_100));
        assert_eq!(round_down(u64::MAX, 1), 10_000_000_000_000_000_000);
    }

    #[test]
    fn a_kernel_is_put_together_again_from_its_differences() {
        for seed in 0..500 {
            let profile = Case::random(seed).profile;
            let base = Profile::parse(&profile.name).unwrap();
            if let Ok(again) = changed(&base, &base.diff(&profile)) {
                assert_eq!(again, profile, "seed {seed}");
            }
        }
    }
}
