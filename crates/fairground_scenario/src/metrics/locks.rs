//! The named numbers of locks: how long they were held and waited for, and what their holders did meanwhile.

use fairground_metrics::{Better, Metric, Unit};
use fairground_model::{Instr, LockMode, TaskSet};
use fairground_sim::{Deadlock, HolderIs, LockReport, MAX_TASKS_TOLD_APART, Simulation};
use fairground_stdx::{Id, LockId, LogLinear, Ns, TaskId};
use std::collections::BTreeMap;

/// What came of the locks of a run.
#[derive(Clone, Debug, Default)]
pub struct LockOutcome {
    /// The locks, in the order in which they are declared.
    pub locks: Vec<LockReport>,
    /// Tasks that wait for one another for ever, each a sentence.
    pub deadlocks: Vec<String>,
    /// The waits of each task that takes locks, by its name in figures.
    pub tasks: Vec<(String, LogLinear)>,
}

impl LockOutcome {
    /// What a run of `tasks` has shown so far.
    pub fn of(simulation: &Simulation, tasks: &TaskSet) -> LockOutcome {
        let locks = simulation.lock_reports();
        let deadlocks = simulation.deadlocks().iter().map(|deadlock| sentence(simulation, &locks, deadlock)).collect();
        let waits = |task| simulation.lock_waits_of(task).cloned();
        LockOutcome { locks, deadlocks, tasks: by_task(tasks, waits) }
    }
}

/// The tasks that take locks, each with what `waits` knows of it; a second one of a name is `NAME#2`.
fn by_task(tasks: &TaskSet, waits: impl Fn(TaskId) -> Option<LogLinear>) -> Vec<(String, LogLinear)> {
    let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut rows = Vec::new();
    for (task, spec) in tasks.tasks.iter_enumerated() {
        let bearer = bearers.entry(&spec.name).or_insert(0);
        *bearer += 1;
        let takes = tasks.programs[spec.program].code.iter().any(|instr| matches!(instr, Instr::Lock { .. }));
        if let Some(waits) = waits(task).filter(|_| takes) {
            rows.push((if *bearer == 1 { spec.name.clone() } else { format!("{}#{bearer}", spec.name) }, waits));
        }
    }
    rows
}

fn sentence(simulation: &Simulation, locks: &[LockReport], deadlock: &Deadlock) -> String {
    let wait = |&(task, lock): &(TaskId, LockId)| {
        format!("task `{}` waits for `{}`", simulation.task_info(task).name, locks[lock.index()].name)
    };
    let waits: Vec<String> = deadlock.waits.iter().map(wait).collect();
    format!("deadlock at {}: {}", Ns(deadlock.at.ns()), waits.join(", "))
}

/// How a lock is taken, with the word for it.
pub const LOCK_MODES: [(LockMode, &str); 2] = [(LockMode::Read, "read"), (LockMode::Write, "write")];

/// The figures of locks: `locks.mmap.throttled_holds`, `locks.mmap.write.max_wait_ms` and so on; a second lock of that name is `mmap#2`.
/// Nothing if there are no locks.
pub fn lock_metrics(outcome: &LockOutcome) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
    for lock in &outcome.locks {
        let bearer = bearers.entry(&lock.name).or_insert(0);
        *bearer += 1;
        let name = if *bearer == 1 { lock.name.clone() } else { format!("{}#{bearer}", lock.name) };
        let mut push = |figure: &str, value: u64, unit, better| {
            metrics.push(Metric::new(format!("locks.{name}.{figure}"), value, unit, better));
        };
        push("holds", lock.holds.count(), Unit::Count, Better::Neither);
        push("max_hold_ms", lock.holds.max(), Unit::Ms, Better::Lower);
        push("throttled_holds", lock.throttled_holds, Unit::Count, Better::Lower);
        push("throttled_hold_wait_ms", lock.throttled_hold_wait.0, Unit::Ms, Better::Lower);
        push("hung_tasks", lock.hung_tasks, Unit::Count, Better::Lower);
        for (mode, name) in LOCK_MODES.into_iter().filter(|row| row.0 == LockMode::Write || lock.kind.has_readers()) {
            let waits = lock.waits(mode);
            push(&format!("{name}.waits"), waits.times.count(), Unit::Count, Better::Neither);
            push(&format!("{name}.mean_wait_ms"), waits.times.mean(), Unit::Ms, Better::Lower);
            push(&format!("{name}.p99_wait_ms"), waits.times.quantile(990), Unit::Ms, Better::Lower);
            push(&format!("{name}.max_wait_ms"), waits.times.max(), Unit::Ms, Better::Lower);
            let throttled = waits.while_holder[HolderIs::Throttled as usize].0;
            push(&format!("{name}.throttled_wait_ms"), throttled, Unit::Ms, Better::Lower);
        }
    }
    for (name, waits) in &outcome.tasks {
        let mut push =
            |figure: &str, value, unit| metrics.push(Metric::new(format!("tasks.{name}.{figure}"), value, unit, Better::Lower));
        push("lock_waits", waits.count(), Unit::Count);
        push("p99_lock_wait_ms", waits.quantile(990), Unit::Ms);
        push("max_lock_wait_ms", waits.max(), Unit::Ms);
    }
    if !outcome.locks.is_empty() {
        metrics.push(Metric::new("deadlocks", outcome.deadlocks.len() as u64, Unit::Count, Better::Lower));
    }
    metrics
}

/// The figures that a run of `tasks` will have, with value 0.
pub(super) fn lock_metrics_to_come(tasks: &TaskSet) -> Vec<Metric> {
    let waits = |_| Some(LogLinear::new()).filter(|_| tasks.tasks.len() <= MAX_TASKS_TOLD_APART);
    lock_metrics(&LockOutcome {
        locks: tasks.locks.iter().map(LockReport::new).collect(),
        deadlocks: Vec::new(),
        tasks: by_task(tasks, waits),
    })
}
