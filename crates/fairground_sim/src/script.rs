//! What happens from outside at a fixed time: tasks start, and settings change.

use crate::cpu::{Doing, Then};
use crate::ending::Stopped;
use crate::other_core::Entry;
use crate::queue::Slot;
use crate::simulation::Simulation;
use fairground_model::{Change, Prices, Recorder, Start, TaskSet, TimedChange, Turns};
use fairground_sched::fair::group::Busy;
use fairground_sched::{Ctx, Sched};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// One act from outside.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    pub(crate) at: Instant,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    Start(TaskId),
    /// In a box, since it is large and rare: most acts are the starts of many tasks.
    Change(Box<Change>),
}

/// All acts in order of time; at one instant tasks start first, in order of their rows.
pub(crate) fn script_of(set: &TaskSet) -> Vec<Scripted> {
    let here = set.tasks.iter_enumerated().filter(|row| !row.1.elsewhere);
    let starts = here.filter_map(|(task, spec)| match spec.start {
        Start::At(at) => Some(Scripted { at, act: Act::Start(task) }),
        Start::Forked | Start::Asleep => None,
    });
    let changes = set.changes.iter().map(|timed| Scripted { at: timed.at, act: Act::Change(Box::new(timed.change.clone())) });
    let mut script: Vec<Scripted> = starts.chain(changes).collect();
    script.sort_by_key(|row| row.at);
    script
}

/// When a CPU that spins is looked at again: about as long as a run queue's lock is held.
const SPIN: Ns = Ns(100);
/// How long a change of hotplug waits before it looks again whether the one before is over.
const HOTPLUG_RETRY: Ns = Ns(1_000);

impl Simulation {
    /// One more change from outside, now or later: for the question what would be if. It comes after what was written
    /// for the same instant before.
    pub fn add_change(&mut self, timed: TimedChange) {
        assert!(timed.at >= self.now, "invariant: the past is not changed");
        let place = self.script.partition_point(|row| row.at <= timed.at).max(self.script_next);
        self.script.insert(place, Scripted { at: timed.at, act: Act::Change(Box::new(timed.change)) });
    }

    /// Carries out the next act. Whoever acts from outside takes no time of the machine; a CPU that
    /// must reschedule is interrupted at once.
    pub(crate) fn run_script(&mut self, rec: &mut Recorder<'_>) {
        let act = self.script[self.script_next].act.clone();
        self.script_next += 1;
        let cpu = match &act {
            Act::Start(task) => self.sched.task(*task).cpu,
            Act::Change(_) => CpuId::new(0),
        };
        // Nothing is done on a CPU that is off line.
        let cpu = self.nearest_online(cpu);
        // A core that leads is asked outside of the calls that are free anyway.
        let prices = self.beside.leads().then(|| self.cpus[cpu].meter.use_prices(Prices::Free));
        match act {
            Act::Start(task) => self.start(rec, cpu, task),
            Act::Change(change) => {
                let row = self.script_next;
                self.change(rec, cpu, (*change).clone());
                // A hotplug may have been put off.
                if self.script_next == row {
                    self.enter(rec, cpu, Entry::Change(&change));
                }
            }
        }
        if let Some(prices) = prices {
            self.cpus[cpu].meter.use_prices(prices);
        }
        let acting = cpu;
        for cpu in self.machine.cpus.ids() {
            let rq = self.sched.rq(cpu);
            let due = rq.need_resched || (cpu == acting && rq.resched_on_user_return());
            let row = &self.cpus[cpu];
            if due && (row.doing != Doing::Kernel || row.then == Then::GoOn) {
                self.send_ipi(cpu, self.now);
            }
        }
    }

    /// Calls the core as if on `cpu`, but at no price, and without waiting for its turn: counted it is all the same.
    pub(crate) fn core_from_outside<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        let meter = &mut self.cpus[cpu].meter;
        meter.set_turns(Turns::ALONE);
        let prices = meter.use_prices(Prices::Free);
        let result = self.call_core(rec, cpu, call);
        self.cpus[cpu].meter.use_prices(prices);
        result
    }

    fn start(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, task: TaskId) {
        let wanted = self.tasks[task].first_cpu;
        self.core_from_outside(rec, cpu, |sched, cx| {
            sched.sched_fork(cx, None, task);
            if !sched.is_led() {
                sched.wake_up_new_task(cx, task, wanted);
            }
        });
        self.enter(rec, cpu, Entry::Fork { parent: None, child: task });
        match self.beside.leads() {
            true if !self.led_wake_new(rec, cpu, task) => return,
            true => {}
            false => self.tell(cpu, Entry::WakeNew { child: task, wanted }),
        }
        self.ask_for_deadline(rec, cpu, task);
    }

    fn change(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, change: Change) {
        match change {
            Change::Nice { task, nice } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.set_user_nice(cx, task, nice));
                self.renice(rec, task);
            }
            Change::Affinity { task, cpus } => match self.beside.leads() {
                true => self.sched.led_affinity(task, cpus),
                false => drop(self.core_from_outside(rec, cpu, |sched, cx| sched.set_cpus_allowed(cx, task, cpus))),
            },
            Change::Policy { task, policy } => {
                let done = self.core_from_outside(rec, cpu, |sched, cx| sched.sched_setscheduler(cx, task, policy));
                match done {
                    Ok(()) => self.tell_prio(rec, task),
                    Err(why) => {
                        self.not_admitted(task, why);
                    }
                }
            }
            Change::Slice { task, slice } => self.core_from_outside(rec, cpu, |sched, cx| sched.set_slice(cx, task, slice)),
            Change::Clamp { task, clamp } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.set_clamp(cx, task, clamp));
            }
            Change::Group { task, group } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.sched_move_task(cx, task, group));
            }
            Change::Shares { group, shares } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.sched_group_set_shares(cx, group, shares));
            }
            // Those of a core that leads are its own.
            Change::CpuMax { .. } | Change::Feature(_) if self.beside.leads() => {}
            Change::CpuMax { group, limit } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
            }
            Change::GroupIdle { group, idle } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.sched_group_set_idle(cx, group, idle));
            }
            Change::GroupClamp { group, clamp } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.cpu_uclamp_write(cx, group, clamp));
            }
            Change::RemoveGroup { group } => {
                let removed = self.core_from_outside(rec, cpu, |sched, cx| sched.remove_group(cx, group));
                if let Err(busy) = removed {
                    let inside = match busy {
                        Busy::Task(task) => format!("task `{}`", self.tasks[task].info.name),
                        Busy::Group(child) => format!("group `{}`", self.sched.group(child).name),
                    };
                    self.stopped = Some(Stopped::GroupBusy { group: self.sched.group(group).name.clone(), inside, at: self.now });
                    self.over = true;
                }
            }
            Change::Feature(write) => self.sched.set_feature(write),
            Change::Pressure { cpu: of, lost } => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.set_hw_pressure(cx.machine, of, lost));
            }
            Change::FreqCapacity { cpu, freq_capacity } => self.set_frequency(rec, cpu, freq_capacity),
            Change::Governor { cpu: of, governor } => {
                if let Some(policy) = self.view.cpus[of].policy {
                    self.core_from_outside(rec, of, |sched, cx| sched.set_governor(cx, policy, governor));
                }
            }
            Change::Hotplug { cpu, online } => self.hotplug(rec, cpu, online),
            // A CPU that is off line has its watchdog switched off.
            Change::Watchdog { cpu } if self.view.online.contains(cpu) => {
                self.core_from_outside(rec, cpu, |sched, cx| sched.wake_watchdog(cx));
            }
            Change::Watchdog { .. } => {}
        }
    }

    /// When the phase of schedule() is over in which `cpu` is, or it will have its lock, if it is in one or spins.
    fn leaves_phase_of_schedule(&self, cpu: CpuId) -> Option<Instant> {
        let row = &self.cpus[cpu];
        let within = match row.then {
            Then::NewidleBalance(_) | Then::FinishSchedule(_) => true,
            Then::Stopper(prev) | Then::Switched(prev) => prev.is_some(),
            _ => false,
        };
        let within = within && row.doing == Doing::Kernel;
        let end = || self.queue.get(cpu, Slot::Segment);
        if self.locks.spins(cpu) { Some(end().unwrap_or(self.now + SPIN)) } else { end().filter(|_| within) }
    }

    /// Whether tasks have still to leave a CPU that is off line.
    fn is_being_left(&self) -> bool {
        let leaves = |cpu: CpuId| !self.sched.is_vacated(cpu) || self.cpus[cpu].doing != Doing::Idle;
        self.machine.cpus.ids().filter(|&cpu| !self.view.online.contains(cpu)).any(leaves)
    }

    /// The hotplug that has just begun comes later, and so do those that would come before that: they wait for each other.
    ///
    /// Kernel: cpu.c cpu_add_remove_lock, v4.12–
    fn postpone_hotplug(&mut self, until: Instant) {
        self.script_next -= 1;
        let rest = &mut self.script[self.script_next..];
        let waits = |act: &Act| match act {
            Act::Change(change) => matches!(**change, Change::Hotplug { .. }),
            Act::Start(_) => false,
        };
        for row in rest.iter_mut().filter(|row| waits(&row.act)) {
            row.at = row.at.max(until);
        }
        rest.sort_by_key(|row| row.at);
    }

    /// A CPU goes off line or comes back; whoever acts does so on another CPU. A CPU that is within schedule() ends that
    /// first: its stopper, to which it switches, takes it down.
    ///
    /// Kernel: cpu.c takedown_cpu(), take_cpu_down(), v4.12–
    fn hotplug(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, online: bool) {
        if let Some(end) = self.leaves_phase_of_schedule(cpu).filter(|_| !online) {
            return self.postpone_hotplug(end + Ns(1));
        }
        // One change ends before the next begins: a CPU is left by its own calls of schedule().
        if self.is_being_left() {
            return self.postpone_hotplug(self.now + HOTPLUG_RETRY);
        }
        if online {
            self.view.online.insert(cpu);
        } else {
            self.view.online.remove(cpu);
        }
        let acting = self.view.online.first().unwrap_or(cpu);
        let leads = self.beside.leads();
        let done = self.core_from_outside(rec, acting, |sched, cx| match online {
            true if leads => {
                sched.led_online(cx, cpu);
                Ok(())
            }
            false if leads => {
                sched.led_offline(cx, cpu);
                Ok(())
            }
            true => {
                sched.set_cpu_online(cx, cpu);
                Ok(())
            }
            false => sched.set_cpu_offline(cx, cpu),
        });
        assert!(done.is_ok(), "invariant: hotplug is checked before the run begins: {cpu}");
        match online {
            true => self.revive_cpu(rec, cpu),
            false => self.retire_cpu(cpu, acting),
        }
    }
}
