//! Which timer is whose: one per task, then two per group with a quota, that of the real-time class, one per CPU for hrtick, those of
//! the deadline class (two per task if any asks for it, two per CPU), one per policy of frequencies, and those of noise.

use crate::simulation::Simulation;
use fairground_machine::Machine;
use fairground_model::{Frame, TaskSet};
use fairground_sched::{DlSe, DlTimer, TaskState};
use fairground_stdx::{CpuId, Id, Instant, TaskId, TgId, TimerId};

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// It wakes a task.
    Task(TaskId),
    /// A period of a group's quota is over.
    Period(TgId),
    /// What CPUs have given back to a group's pool is handed out.
    Slack(TgId),
    /// A period of the real-time class is over.
    RtPeriod,
    /// The hrtick timer of a CPU.
    Hrtick(CpuId),
    /// One of the deadline class.
    Deadline(DlTimer),
    /// The thread that changes the frequency of a policy (by its row) runs, or is done.
    Frequency(usize),
    /// A source of noise disturbs its CPU.
    Noise(usize),
    /// One of another core that leads.
    Leader(usize),
    /// That of a CPU which ends extensions of slices.
    SliceExt(CpuId),
    /// No timer of the kernel: the network device interrupts a CPU.
    Nic(CpuId),
}

/// How many timers there are, but for those of noise. `dl_tasks`: see [`dl_tasks`].
pub(crate) fn nr_timers(nr_tasks: usize, dl_tasks: usize, nr_groups: usize, machine: &Machine) -> usize {
    let nr_cpus = machine.cpus.len();
    nr_tasks + 2 * nr_groups + 1 + nr_cpus + dl_timers(dl_tasks, nr_cpus) + machine.policies.len()
}

/// How many tasks have timers of the deadline class: all, or none if nobody ever asks for such a policy.
pub(crate) fn dl_tasks(set: &TaskSet) -> usize {
    if set.policies().any(|policy| policy.deadline().is_some()) { set.tasks.len() } else { 0 }
}

/// How many of them are of the deadline class.
fn dl_timers(dl_tasks: usize, nr_cpus: usize) -> usize {
    2 * (dl_tasks + nr_cpus)
}

/// The row of a timer of the deadline class among those of `dl_tasks` tasks and of the CPUs.
fn dl_row(timer: DlTimer, dl_tasks: usize) -> usize {
    let of_se = |se| match se {
        DlSe::Task(task) => 2 * task.index(),
        DlSe::FairServer(cpu) => 2 * (dl_tasks + cpu.index()),
    };
    match timer {
        DlTimer::Replenish(se) => of_se(se),
        DlTimer::ZeroLag(se) => of_se(se) + 1,
    }
}

/// The timer of that row.
fn dl_timer(row: usize, dl_tasks: usize) -> DlTimer {
    let se = match (row / 2).checked_sub(dl_tasks) {
        None => DlSe::Task(TaskId::from_index(row / 2)),
        Some(cpu) => DlSe::FairServer(CpuId::from_index(cpu)),
    };
    if row.is_multiple_of(2) { DlTimer::Replenish(se) } else { DlTimer::ZeroLag(se) }
}

impl Simulation {
    /// How many timers there are before those of noise.
    fn nr_own_timers(&self) -> usize {
        nr_timers(self.tasks.len(), self.dl_tasks, self.sched.nr_groups(), &self.machine)
    }

    /// The row of a timer.
    pub(crate) fn timer_id(&self, timer: Timer) -> TimerId {
        let behind_tasks = |group: TgId, row| TimerId::from_index(self.tasks.len() + 2 * group.index() + row);
        let behind_groups = |row| TimerId::from_index(self.tasks.len() + 2 * self.sched.nr_groups() + row);
        match timer {
            Timer::Task(task) => TimerId::new(task.get()),
            Timer::Period(group) => behind_tasks(group, 0),
            Timer::Slack(group) => behind_tasks(group, 1),
            Timer::RtPeriod => behind_groups(0),
            Timer::Hrtick(cpu) => behind_groups(1 + cpu.index()),
            Timer::Deadline(timer) => behind_groups(1 + self.cpus.len() + dl_row(timer, self.dl_tasks)),
            Timer::Frequency(policy) => {
                let nr_cpus = self.cpus.len();
                behind_groups(1 + nr_cpus + dl_timers(self.dl_tasks, nr_cpus) + policy)
            }
            Timer::Noise(row) => TimerId::from_index(self.nr_own_timers() + row),
            Timer::Leader(number) => {
                let ours = self.nr_own_timers() + self.noise.len();
                TimerId::from_index(ours + number)
            }
            Timer::SliceExt(cpu) => {
                let others = self.nr_own_timers() + self.noise.len();
                TimerId::from_index(others + self.beside.nr_timers() + cpu.index())
            }
            Timer::Nic(cpu) => TimerId::from_index(self.timer_id(Timer::SliceExt(cpu)).index() + self.cpus.len()),
        }
    }

    /// Whose timer that is.
    pub(crate) fn timer_of(&self, id: TimerId) -> Timer {
        let of_groups = 2 * self.sched.nr_groups();
        match id.index().checked_sub(self.tasks.len()) {
            None => Timer::Task(TaskId::new(id.get())),
            Some(row) if row == of_groups => Timer::RtPeriod,
            Some(row) if row > of_groups => match (row - of_groups - 1).checked_sub(self.cpus.len()) {
                None => Timer::Hrtick(CpuId::from_index(row - of_groups - 1)),
                Some(row) => match row.checked_sub(dl_timers(self.dl_tasks, self.cpus.len())) {
                    None => Timer::Deadline(dl_timer(row, self.dl_tasks)),
                    Some(policy) => match policy.checked_sub(self.machine.policies.len()) {
                        None => Timer::Frequency(policy),
                        Some(noise) if noise < self.noise.len() => Timer::Noise(noise),
                        Some(row) => match (row - self.noise.len()).checked_sub(self.beside.nr_timers()) {
                            None => Timer::Leader(row - self.noise.len()),
                            Some(row) => match row.checked_sub(self.cpus.len()) {
                                None => Timer::SliceExt(CpuId::from_index(row)),
                                Some(cpu) => Timer::Nic(CpuId::from_index(cpu)),
                            },
                        },
                    },
                },
            },
            Some(row) if row % 2 == 0 => Timer::Period(TgId::from_index(row / 2)),
            Some(row) => Timer::Slack(TgId::from_index(row / 2)),
        }
    }

    /// Tasks that have slept since before the run wait for the instants with which their programs begin.
    pub(crate) fn arm_first_timers(&mut self) {
        let asleep = |task: &TaskId| self.sched.task(*task).state == TaskState::Asleep && !self.tasks[*task].elsewhere;
        for task in self.tasks.ids().filter(asleep).collect::<Vec<TaskId>>() {
            let Some((frame, at)) = Frame::asleep(&self.programs[self.tasks[task].program]).filter(|row| row.1 <= Instant::MAX)
            else {
                continue;
            };
            self.tasks[task].frame = frame;
            let slack = self.tasks[task].timer_slack.0;
            let hard = Instant::from_ns(at.ns().saturating_add(slack).min(Instant::MAX.ns()));
            self.arm_task_timer(self.sched.task(task).cpu, task, at, hard);
        }
    }

    /// A task that runs on `cpu` sleeps until its timer rings: from `at` on it may, at `hard` it must.
    pub(crate) fn arm_task_timer(&mut self, cpu: CpuId, task: TaskId, at: Instant, hard: Instant) {
        self.tasks[task].timer_due = at;
        self.queue.arm_timer(self.nearest_online(cpu), self.timer_id(Timer::Task(task)), at, hard);
    }
}
