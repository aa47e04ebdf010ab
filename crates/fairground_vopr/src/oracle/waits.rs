//! Nobody waits for ever: who is runnable runs, who was woken is queued, who was detached arrives.

use super::Records;
use crate::case::Case;
use fairground_model::{Change, Instr, Mode, Policy, Program, TimedChange};
use fairground_sched::{Sched, TaskState};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, IndexVec, TaskId};

/// A task that is neither here nor there is so for less than this on a CPU of full speed, ns: interrupts are never off for so long.
const IN_BETWEEN_NS: u64 = 100_000_000;
/// How many times its fair turn a task may wait: wake-ups, sleeper credit and granularities come before it.
const PATIENCE: u64 = 8;

/// Since when each task waits, and for how long it may.
pub(super) struct Waits {
    tasks: IndexVec<TaskId, Option<Wait>>,
    /// The longest turn that any task may take, ns.
    turn: u64,
    /// For how long a task may be neither here nor there, ns: as long as the kernel's work takes on the slowest CPU.
    in_between: u64,
    /// Some task is, or may become, one of a class above the fair one: then others may wait for ever.
    real_time: bool,
    /// Some task may leave the deadline class.
    deadline: bool,
    /// Some task may be taken off its queue and put back while it runs.
    restores: bool,
}

#[derive(Clone, Copy)]
struct Wait {
    state: TaskState,
    since: u64,
    limit: u64,
}

/// A task that waits for quota, or for the next interrupt after it was moved out of a throttled group to an idle CPU.
fn waits_otherwise(sched: &Sched, task: TaskId) -> bool {
    let idle = sched.rq(sched.task(task).cpu).curr.is_none();
    sched.waits_for_quota(task) || (idle && sched.cfs_bandwidth_used())
}

/// Whether some task may leave the deadline class.
fn leaves_deadline(case: &Case) -> bool {
    let changes = case.tasks.changes.iter().any(|timed| matches!(timed.change, Change::Policy { .. }))
        || case.tasks.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::SetPolicy { .. }));
    changes && has_policy(case, |policy| policy.deadline().is_some())
}

/// Whether the group or the CPUs of some task may change.
fn restores(case: &Case) -> bool {
    let is_one = |timed: &TimedChange| matches!(timed.change, Change::Group { .. } | Change::Affinity { .. });
    let does_one = |instr: &Instr| matches!(instr, Instr::SetGroup { .. } | Instr::SetAffinity { .. });
    case.tasks.changes.iter().any(is_one) || case.tasks.programs.iter().flat_map(|program| &program.code).any(does_one)
}

/// Whether some task has, or may get, such a policy.
fn has_policy(case: &Case, is: fn(Policy) -> bool) -> bool {
    let of_task = case.tasks.tasks.iter().any(|task| is(task.policy));
    let mut instrs = case.tasks.programs.iter().flat_map(|program| &program.code);
    let of_program = instrs.any(|instr| matches!(*instr, Instr::SetPolicy { policy } if is(policy)));
    let of_change = |timed: &TimedChange| matches!(timed.change, Change::Policy { policy, .. } if is(policy));
    of_task || of_program || case.tasks.changes.iter().any(of_change)
}

impl Waits {
    pub(super) fn new(case: &Case) -> Waits {
        let at = case.profile.tunables.at(case.machine.cpus.len() as u32);
        let own = case.tasks.slices().into_iter().filter_map(|row| row.1).map(|slice| slice.0).max().unwrap_or(0);
        let slice = at.latency_ns.max(at.min_granularity_ns).max(at.base_slice_ns).max(at.wakeup_granularity_ns).max(own);
        let slowest = |time| case.machine.cpus.iter().map(|cpu| cpu.at_speed(time)).max().unwrap_or(time);
        let in_kernel = slowest(longest_in_kernel(case));
        let turn = slice.saturating_add(in_kernel).saturating_add(2 * case.machine.tick.0);
        Waits {
            tasks: IndexVec::filled(None, case.tasks.tasks.len()),
            turn,
            in_between: if case.is_free() { IN_BETWEEN_NS } else { slowest(IN_BETWEEN_NS) },
            real_time: has_policy(case, |policy| !policy.is_fair()),
            deadline: leaves_deadline(case),
            restores: restores(case),
        }
    }

    /// The deadline task with the earliest deadline of a CPU runs, or will as soon as the CPU looks, unless the server of fair tasks is
    /// before it.
    pub(super) fn check_deadline(&self, simulation: &Simulation, at: u64) -> Result<(), String> {
        let sched = simulation.sched();
        for cpu in sched.cpu_ids() {
            let rq = sched.rq(cpu);
            let Some(first) = sched.first_dl_task(cpu).filter(|_| !rq.stop_running && !gives_way(simulation, cpu)) else {
                continue;
            };
            let leaves = rq.curr.is_some_and(|curr| sched.task(curr).state != TaskState::Running);
            let deadline = |task| sched.dl_state(task).map(|state| state.1);
            let earlier = |curr| deadline(curr).is_some_and(|own| Some(own) <= deadline(first));
            // Nor when the deadline of the running one has passed and it gets a new one as it is put back (ENQUEUE_RESTORE).
            let unseen = rq.curr.is_some_and(|curr| match sched.task(curr).policy {
                Policy::Deadline(_) => self.restores,
                policy => self.deadline && policy.is_rt(),
            });
            if !rq.curr.is_some_and(earlier) && !leaves && !unseen {
                return Err(format!("at {at}: {first:?}, a deadline task, waits on CPU {cpu}, where {:?} runs", rq.curr));
            }
        }
        Ok(())
    }

    /// The first real-time task of a CPU runs, or will as soon as the CPU looks, unless fair tasks are being served there. A throttled
    /// deadline task stays with a CPU that has gone off line. If it changes its class then, it is queued there, and nobody looks.
    pub(super) fn check_real_time(&self, simulation: &Simulation, records: &Records, at: u64) -> Result<(), String> {
        let sched = simulation.sched();
        for cpu in sched.cpu_ids() {
            let rq = sched.rq(cpu);
            let Some(first) = sched
                .first_rt_task(cpu)
                .filter(|_| !rq.stop_running && !gives_way(simulation, cpu) && !sched.fair_server_runs(cpu) && rq.online)
            else {
                continue;
            };
            // Who is about to leave the CPU gives it to the first task anyway.
            let leaves = rq.curr.is_some_and(|curr| sched.task(curr).state != TaskState::Running);
            let urgent = rq.curr.is_none_or(|curr| sched.task(first).prio() < sched.task(curr).prio());
            // A kernel does not look when the running task has left the deadline class for this one.
            let unseen = self.deadline && rq.curr.is_some_and(|curr| sched.task(curr).policy.is_rt());
            if urgent && !leaves && !unseen && !records.is_served_late(cpu) {
                return Err(format!("at {at}: {first:?}, a real-time task, waits on CPU {cpu}, where {:?} runs", rq.curr));
            }
        }
        Ok(())
    }

    pub(super) fn check(&mut self, sched: &Sched, at: u64) -> Result<(), String> {
        for task in sched.task_ids() {
            let state = sched.task(task).state;
            let limit = match state {
                TaskState::Queued if self.real_time || waits_otherwise(sched, task) => {
                    self.tasks[task] = None;
                    continue;
                }
                TaskState::Queued => self.limit(sched, task),
                TaskState::Waking | TaskState::Migrating | TaskState::OffCpuPending => self.in_between,
                _ => {
                    self.tasks[task] = None;
                    continue;
                }
            };
            let wait = match self.tasks[task] {
                Some(wait) if wait.state == state => Wait { limit: wait.limit.max(limit), ..wait },
                _ => Wait { state, since: at, limit },
            };
            self.tasks[task] = Some(wait);
            if at - wait.since > wait.limit {
                return Err(format!(
                    "at {at}: {task:?} is {state:?} on CPU {} for {} ns, more than {}",
                    sched.task(task).cpu,
                    at - wait.since,
                    wait.limit
                ));
            }
        }
        Ok(())
    }

    /// As many turns as its share of the queue takes, and that of each group above it.
    ///
    /// ```text
    /// PATIENCE * turn * product of (W / w + n)        W, n weight and entities of a queue, w the weight of the one that waits
    /// ```
    fn limit(&self, sched: &Sched, task: TaskId) -> u64 {
        let mut entity = Some(sched.se(task));
        let mut limit = self.turn.saturating_mul(PATIENCE);
        while let Some(waits) = entity {
            let queue = sched.queue(waits.cfs_rq);
            let shares = queue.load.weight() / waits.load.weight().max(1) + u64::from(queue.nr_running);
            limit = limit.saturating_mul(shares);
            entity = waits.parent.map(|se| sched.entity(se));
        }
        limit
    }
}

/// The longest stretch in kernel mode, in which nobody else gets the CPU. A kernel thread is there until it sleeps, if it does.
fn longest_in_kernel(case: &Case) -> u64 {
    if case.tasks.tasks.iter().any(|task| task.kthread) {
        return case.duration.0;
    }
    let stretch = |instr: &Instr| match *instr {
        Instr::Run { work: time, mode: Mode::Kernel }
        | Instr::RunBetween { high: time, mode: Mode::Kernel, .. }
        | Instr::RunTime { time, mode: Mode::Kernel } => time.0,
        _ => 0,
    };
    // Between its entry into the kernel and the way back a task may stay in it from one stretch to the next.
    let section = |program: &Program| {
        let stretches = program.code.iter().map(|instr| match *instr {
            Instr::Run { work, mode } if mode != Mode::User => work.0,
            _ => stretch(instr),
        });
        match program.code.contains(&Instr::Enter) {
            true => stretches.sum(),
            false => stretches.max().unwrap_or(0),
        }
    };
    case.tasks.programs.iter().map(section).max().unwrap_or(0)
}

/// Whether who runs on a CPU gives way as soon as he may, or at the end of the extension that he was granted.
pub(super) fn gives_way(simulation: &Simulation, cpu: CpuId) -> bool {
    simulation.sched().rq(cpu).need_resched || simulation.has_slice_extension(cpu)
}
