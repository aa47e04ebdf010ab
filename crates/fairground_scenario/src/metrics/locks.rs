//! The named numbers of locks: how long they were held and waited for, and what their holders did meanwhile.

use super::numbered;
use fairground_metrics::{Better, Metric, MetricRow, Unit};
use fairground_model::{Instr, LockKind, LockMode, TaskSet, TaskSpec};
use fairground_sim::{Deadlock, HeldUp, HolderIs, LockReport, LockWaits, MAX_TASKS_TOLD_APART, Simulation};
use fairground_stdx::{Id, LockId, LogLinear, Ns, TaskId};

/// What came of the locks of a run.
#[derive(Clone, Debug, Default)]
pub struct LockOutcome {
    /// The locks, in the order in which they are declared.
    pub locks: Vec<LockReport>,
    /// Tasks that wait for one another for ever, each a sentence.
    pub deadlocks: Vec<String>,
    /// Spin locks that are not given back while others wait, each a sentence.
    pub held_up: Vec<String>,
    /// The waits of each task that takes locks, by its name in figures.
    pub tasks: Vec<(String, LogLinear)>,
}

impl LockOutcome {
    /// What a run of `tasks` has shown so far.
    pub fn of(simulation: &Simulation, tasks: &TaskSet) -> LockOutcome {
        let locks = simulation.lock_reports();
        let deadlocks = simulation.deadlocks().iter().map(|deadlock| sentence(simulation, &locks, deadlock)).collect();
        let waits = |task| simulation.lock_waits_of(task).cloned();
        let held_up = simulation.held_up().iter().map(|row| held_up(simulation, &locks, row)).collect();
        LockOutcome { locks, deadlocks, held_up, tasks: by_task(tasks, waits) }
    }
    /// That of a run which has not begun.
    pub(crate) fn nothing(tasks: &TaskSet) -> LockOutcome {
        let waits = |_| Some(LogLinear::new()).filter(|_| tasks.tasks.len() <= MAX_TASKS_TOLD_APART);
        let locks = tasks.locks.iter().map(LockReport::new).collect();
        LockOutcome { locks, tasks: by_task(tasks, waits), ..LockOutcome::default() }
    }
}

/// The tasks that take locks, each with what `waits` knows of it.
fn by_task(tasks: &TaskSet, waits: impl Fn(TaskId) -> Option<LogLinear>) -> Vec<(String, LogLinear)> {
    let takes = |spec: &TaskSpec| tasks.programs[spec.program].code.iter().any(|instr| matches!(instr, Instr::Lock { .. }));
    let names = numbered(tasks.tasks.iter().map(|spec| spec.name.as_str()));
    let rows = tasks.tasks.iter_enumerated().zip(names).filter(|((_, spec), _)| takes(spec));
    rows.filter_map(|((task, _), name)| Some((name, waits(task)?))).collect()
}

fn sentence(simulation: &Simulation, locks: &[LockReport], deadlock: &Deadlock) -> String {
    let wait = |&(task, lock): &(TaskId, LockId)| {
        format!("task `{}` waits for `{}`", simulation.task_info(task).name, locks[lock.index()].name)
    };
    let waits: Vec<String> = deadlock.waits.iter().map(wait).collect();
    format!("deadlock at {}: {}", Ns(deadlock.at.ns()), waits.join(", "))
}

/// At the end of a run: who holds a spin lock, and who waits for it.
fn held_up(simulation: &Simulation, locks: &[LockReport], row: &HeldUp) -> String {
    let name = |task: TaskId| format!("task `{}`", simulation.task_info(task).name);
    let holder = match row.holder {
        Some((task, since)) => format!("held by {} since {}", name(task), Ns(since.ns())),
        None => "held by nobody".to_string(),
    };
    let first = row.waiters.first().map(|&task| name(task)).unwrap_or_default();
    let more = match row.waiters.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    format!("at the end `{}` is {holder}; {first}{more} waits for it, since {}", locks[row.lock.index()].name, Ns(row.since.ns()))
}

/// How a lock is taken, with the word for it.
pub const LOCK_MODES: [(LockMode, &str); 2] = [(LockMode::Read, "read"), (LockMode::Write, "write")];

/// The metrics of each lock.
pub(super) static LOCK_METRICS: [MetricRow<LockReport>; 5] = {
    use Better::{Lower, Neither};
    use Unit::{Count, Ms};
    [
        MetricRow::new("holds", Count, Neither, "How often the lock was held", |lock| lock.holds.count()),
        MetricRow::new("max_hold_ms", Ms, Lower, "The longest that it was held", |lock| lock.holds.max()),
        MetricRow::new(
            "throttled_holds",
            Count,
            Lower,
            "Holds in which the holder was off its CPU, since its group was throttled",
            |lock| lock.throttled_holds,
        ),
        MetricRow::new("throttled_hold_wait_ms", Ms, Lower, "How long tasks outside that group waited then", |lock| {
            lock.throttled_hold_wait.0
        }),
        MetricRow::new("hung_tasks", Count, Lower, "Waits that the kernel reports as hung tasks", |lock| lock.hung_tasks),
    ]
};

/// The metrics of each lock by how it is taken: `read` where it has readers, and `write`.
pub(super) static LOCK_WAIT_METRICS: [MetricRow<LockWaits>; 5] = {
    use Better::{Lower, Neither};
    use Unit::{Count, Ms};
    [
        MetricRow::new("waits", Count, Neither, "How often the lock was asked for", |waits| waits.times.count()),
        MetricRow::new("mean_wait_ms", Ms, Lower, "The mean wait for it", |waits| waits.times.mean()),
        MetricRow::new("p99_wait_ms", Ms, Lower, "99 % of the waits were at most so long", |waits| waits.times.quantile(990)),
        MetricRow::new("max_wait_ms", Ms, Lower, "The longest wait", |waits| waits.times.max()),
        MetricRow::new("throttled_wait_ms", Ms, Lower, "Time of all waits in which the holder was throttled", |waits| {
            waits.while_holder[HolderIs::Throttled as usize].0
        }),
    ]
};

/// The metrics of each spin lock of user space.
pub(super) static SPIN_METRICS: [MetricRow<LockReport>; 4] = {
    use Better::Lower;
    use Unit::{Count, Ms};
    [
        MetricRow::new("spun_ms", Ms, Lower, "CPU time of those who spun for it", |lock| lock.spin.spun.0),
        MetricRow::new("sleeps", Count, Lower, "How often one that had spun long enough slept", |lock| lock.spin.sleeps),
        MetricRow::new(
            "preempted_holds",
            Count,
            Lower,
            "Holds in which the holder was off its CPU, though it could run",
            |lock| lock.preempted_holds,
        ),
        MetricRow::new("holder_waits_ms", Ms, Lower, "How long the holder waited for a CPU while others spun", |lock| {
            lock.spin.holder_waits.0
        }),
    ]
};

/// The metrics of each task that takes locks.
pub(super) static LOCK_TASK_METRICS: [MetricRow<LogLinear>; 3] = [
    MetricRow::new("lock_waits", Unit::Count, Better::Lower, "How often the task asked for a lock", |waits| waits.count()),
    MetricRow::new("p99_lock_wait_ms", Unit::Ms, Better::Lower, "99 % of its waits for locks were at most so long", |waits| {
        waits.quantile(990)
    }),
    MetricRow::new("max_lock_wait_ms", Unit::Ms, Better::Lower, "Its longest wait for a lock", |waits| waits.max()),
];

/// The metrics of all locks together.
pub(super) static ALL_LOCKS_METRICS: [MetricRow<LockOutcome>; 1] =
    [MetricRow::new("deadlocks", Unit::Count, Better::Lower, "How often tasks waited for one another for ever", |outcome| {
        outcome.deadlocks.len() as u64
    })];

/// The metrics of locks; none if there are no locks.
pub(super) fn lock_metrics(outcome: &LockOutcome) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (lock, name) in outcome.locks.iter().zip(numbered(outcome.locks.iter().map(|lock| lock.name.as_str()))) {
        metrics.extend(LOCK_METRICS.iter().map(|row| row.of(&format!("locks.{name}."), lock)));
        if let LockKind::Spin(_) = lock.kind {
            metrics.extend(SPIN_METRICS.iter().map(|row| row.of(&format!("locks.{name}."), lock)));
        }
        for (mode, mode_name) in LOCK_MODES.into_iter().filter(|row| row.0 == LockMode::Write || lock.kind.has_readers()) {
            let prefix = format!("locks.{name}.{mode_name}.");
            metrics.extend(LOCK_WAIT_METRICS.iter().map(|row| row.of(&prefix, lock.waits(mode))));
        }
    }
    for (name, waits) in &outcome.tasks {
        metrics.extend(LOCK_TASK_METRICS.iter().map(|row| row.of(&format!("tasks.{name}."), waits)));
    }
    if !outcome.locks.is_empty() {
        metrics.extend(ALL_LOCKS_METRICS.iter().map(|row| row.of("", outcome)));
    }
    metrics
}
