//! Small recordings with a gap, and what is put there.

use super::*;
use proptest::prelude::*;

/// All records that come out, and whether each was recorded.
#[derive(Default)]
struct All(Vec<(u64, u32, TraceEvent, bool)>);

impl Sink for All {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.0.push((at.ns(), cpu.get(), *event, true));
    }
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.0.push((at.ns(), cpu.get(), *event, false));
    }
}

/// A record with the current task of its CPU, if the recorder tells.
type Row = (u64, u32, TraceEvent, Option<Option<TaskId>>);

fn repaired(rows: &[Row]) -> (All, Inferred) {
    let mut all = All::default();
    let mut repair = Repair::new(&mut all);
    for (at, cpu, event, current) in rows {
        if let Some(current) = current {
            repair.context(CpuId::new(*cpu), *current);
        }
        repair.record(Instant::from_ns(*at), CpuId::new(*cpu), event);
    }
    let inferred = repair.finish();
    (all, inferred)
}
/// What was put in.
fn put_in(rows: &[Row]) -> Vec<(u64, u32, TraceEvent)> {
    let all = repaired(rows).0;
    all.0.into_iter().filter(|row| !row.3).map(|(at, cpu, event, _)| (at, cpu, event)).collect()
}

const A: TaskId = TaskId::new(1);
const B: TaskId = TaskId::new(2);

fn switch(prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev, prev_state, next }
}
fn from_idle(next: TaskId) -> TraceEvent {
    switch(None, PrevState::Running, Some(next))
}
fn to_idle(prev: TaskId) -> TraceEvent {
    switch(Some(prev), PrevState::Sleeping, None)
}
fn wakeup(task: TaskId, cpu: u32) -> TraceEvent {
    TraceEvent::SchedWakeup { task, target_cpu: CpuId::new(cpu) }
}
fn account(task: TaskId) -> TraceEvent {
    TraceEvent::SchedStatRuntime { task, runtime: fairground_stdx::Ns(1), vruntime: None }
}

#[test]
fn a_task_first_seen_at_a_switch_wakes_directly_before_it() {
    let rows = [(10, 0, switch(Some(A), PrevState::Running, Some(B)), None)];
    assert_eq!(put_in(&rows), [(10, 0, wakeup(B, 0))]);
}

#[test]
fn a_cpu_does_not_idle_beside_a_task_that_was_woken_there() {
    let rows = [(10, 0, to_idle(A), None), (20, 1, wakeup(A, 0), None), (90, 0, to_idle(A), None)];
    let on_cpu_0 = |rows: &[Row]| -> Vec<_> { put_in(rows).into_iter().filter(|row| row.1 == 0).collect() };
    assert_eq!(on_cpu_0(&rows[..2]), []);
    assert_eq!(on_cpu_0(&rows), [(20, 0, from_idle(A))]);
}

/// Its stay on the CPU left no record: the CPU idles beside it, and it is woken again. A queue whose quota is used up looks the same up to
/// the last record.
#[test]
fn a_task_that_is_woken_twice_had_slept_where_its_cpu_began_to_idle() {
    let waking = TraceEvent::SchedWaking { task: A, target_cpu: CpuId::new(0), waker: None, context: WakeContext::Hardirq };
    let rows = [
        (10, 0, switch(None, PrevState::Running, Some(B)), None),
        (20, 1, wakeup(A, 0), None),
        (30, 0, to_idle(B), None),
        (40, 1, waking, None),
    ];
    let of_a = |rows: &[Row]| -> Vec<_> { put_in(rows).into_iter().filter(|row| row.0 > 10).collect() };
    assert_eq!(of_a(&rows[..3]), []);
    assert_eq!(of_a(&rows), [(30, 0, from_idle(A)), (30, 0, to_idle(A))]);
}

/// The CPU idled already when it was woken. Another task ran there since, which was woken later.
#[test]
fn a_task_that_is_woken_twice_had_run_at_once_if_its_cpu_idled() {
    let waking = TraceEvent::SchedWaking { task: A, target_cpu: CpuId::new(0), waker: None, context: WakeContext::Hardirq };
    let rows = [
        (10, 0, to_idle(B), None),
        (20, 1, wakeup(A, 0), None),
        (500, 1, wakeup(B, 0), None),
        (510, 0, account(B), None),
        (510, 0, to_idle(B), None),
        (900, 1, waking, None),
    ];
    let on_cpu_0: Vec<_> = put_in(&rows).into_iter().filter(|row| row.1 == 0 && row.0 > 10).collect();
    assert_eq!(on_cpu_0, [(20, 0, from_idle(A)), (20, 0, to_idle(A)), (500, 0, from_idle(B))]);
}

/// A left unseen, and is known to be gone when it is woken elsewhere. B waited there, so C ran from then on, and not the idle task. Whoever slept
/// later than that cannot have.
#[test]
fn a_cpu_that_is_left_unseen_does_not_idle_beside_a_task_that_waits() {
    let c = TaskId::new(3);
    let beginning = [(10, 0, from_idle(A), None), (20, 1, wakeup(B, 0), None), (30, 1, wakeup(A, 1), None)];
    let end = [(90, 0, switch(Some(c), PrevState::Running, Some(B)), None)];
    let on_cpu_0 =
        |rows: &[&[Row]]| -> Vec<_> { put_in(&rows.concat()).into_iter().filter(|row| row.1 == 0 && row.0 > 20).collect() };
    let followed = [(30, 0, wakeup(c, 0)), (30, 0, switch(Some(A), PrevState::Sleeping, Some(c)))];
    assert_eq!(on_cpu_0(&[&beginning, &end]), followed);
    let c_slept = |at| [(at - 1, 2, from_idle(c), None), (at, 2, to_idle(c), None)];
    assert_eq!(on_cpu_0(&[&c_slept(5), &beginning, &end]), followed);
    let apart = [(30, 0, to_idle(A)), (90, 0, wakeup(c, 0)), (90, 0, from_idle(c))];
    assert_eq!(on_cpu_0(&[&beginning, &c_slept(50), &end]), apart);
    // Nobody waits: it may have idled.
    assert_eq!(on_cpu_0(&[&beginning[..1], &beginning[2..], &end[..]])[..1], apart[..1]);
}

#[test]
fn whoever_left_unseen_left_behind_its_last_account() {
    let rows = [(10, 0, from_idle(A), None), (20, 0, account(A), None), (30, 0, account(A), None), (90, 0, from_idle(A), None)];
    let waking = TraceEvent::SchedWakeup { task: A, target_cpu: CpuId::new(0) };
    assert_eq!(put_in(&rows)[1..], [(30, 0, to_idle(A)), (90, 0, waking)]);
}

#[test]
fn the_current_task_of_a_later_record_shows_a_missing_switch() {
    let rows = [
        (10, 0, switch(Some(B), PrevState::Sleeping, Some(A)), None),
        (20, 0, TraceEvent::CpuFrequency { cpu: CpuId::new(0), khz: 1 }, Some(None)),
    ];
    assert_eq!(put_in(&rows)[1..], [(20, 0, to_idle(A))]);
}

#[test]
fn a_task_that_gets_another_cpu_than_it_waits_for_was_moved() {
    let rows = [(10, 0, switch(Some(A), PrevState::Running, Some(B)), None), (20, 1, from_idle(A), None)];
    let moved = TraceEvent::SchedMigrateTask { task: A, orig_cpu: CpuId::new(0), dest_cpu: CpuId::new(1) };
    assert_eq!(put_in(&rows)[1..], [(20, 1, moved)]);
}

/// Without sched_waking a move of a sleeper is part of its wake-up, if that follows; else it is balance that moves a sleeper which is still
/// queued (delayed dequeue).
#[test]
fn a_sleeper_that_is_moved_is_woken_only_if_its_wakeup_follows() {
    let moved = |from, to| TraceEvent::SchedMigrateTask { task: A, orig_cpu: CpuId::new(from), dest_cpu: CpuId::new(to) };
    let waking = TraceEvent::SchedWaking { task: A, target_cpu: CpuId::new(0), waker: Some(B), context: WakeContext::Task };
    let sleeps = [(5, 1, from_idle(B), None), (6, 0, from_idle(A), None), (10, 0, to_idle(A), None)];
    let wakes = |last: &[Row]| put_in(&[&sleeps, last].concat()).into_iter().filter(|row| row.2 == waking).collect::<Vec<_>>();
    assert_eq!(wakes(&[(20, 1, moved(0, 1), None), (21, 1, wakeup(A, 1), None)]), [(20, 1, waking)]);
    // The queue of the other CPU is told of it, and wakes it itself.
    assert_eq!(wakes(&[(20, 1, moved(0, 2), None), (21, 1, account(B), None), (22, 2, wakeup(A, 2), None)]), [(20, 1, waking)]);
    assert_eq!(wakes(&[(20, 1, moved(0, 1), None), (40, 1, waking, None), (41, 1, wakeup(A, 1), None)]), []);
    assert_eq!(wakes(&[(20, 1, moved(0, 1), None)]), []);
}

/// Without sched_waking the wake-up itself tells who woke whom: the task that ran there, unless an interrupt wrote it.
#[test]
fn who_woke_whom_is_told_by_the_wakeup() {
    let waking_of = |context: Option<WakeContext>| {
        let mut all = All::default();
        let mut repair = Repair::new(&mut all);
        let cpu = |number| CpuId::new(number);
        let mut record = |at, on, event, context: Option<WakeContext>| {
            context.into_iter().for_each(|context| repair.interrupted(context));
            repair.record(Instant::from_ns(at), cpu(on), &event);
        };
        record(10, 0, switch(Some(A), PrevState::Sleeping, Some(B)), None);
        record(20, 0, wakeup(A, 1), context);
        repair.finish();
        all.0.into_iter().find_map(|row| match row.2 {
            TraceEvent::SchedWaking { task, target_cpu, waker, context } => Some((row.0, task, target_cpu, waker, context)),
            _ => None,
        })
    };
    let told = |waker, context| Some((20, A, CpuId::new(0), waker, context));
    assert_eq!(waking_of(None), told(Some(B), WakeContext::Task));
    assert_eq!(waking_of(Some(WakeContext::Task)), told(Some(B), WakeContext::Task));
    assert_eq!(waking_of(Some(WakeContext::Softirq)), told(Some(B), WakeContext::Softirq));
    assert_eq!(waking_of(Some(WakeContext::Hardirq)), told(None, WakeContext::Hardirq));
}

/// Any records at all, of four tasks on three CPUs.
fn any_row() -> impl Strategy<Value = Row> {
    let task = || prop::option::of((0..4u32).prop_map(TaskId::new));
    (0..7u8, 0..3u32, 0..3u32, task(), task(), prop::option::of(task()), any::<bool>()).prop_map(
        |(kind, cpu, target, one, other, current, sleeps)| {
            let task = one.unwrap_or(A);
            let target_cpu = CpuId::new(target);
            let state = if sleeps { PrevState::Sleeping } else { PrevState::Running };
            let event = match kind {
                0 | 1 => switch(one, state, other),
                2 => wakeup(task, target),
                3 => TraceEvent::SchedWaking { task, target_cpu, waker: other, context: WakeContext::Task },
                4 => account(task),
                5 => TraceEvent::SchedMigrateTask { task, orig_cpu: CpuId::new(cpu), dest_cpu: target_cpu },
                _ => TraceEvent::SchedProcessFork { parent: other, child: task },
            };
            (0, cpu, event, current)
        },
    )
}

proptest! {
    /// Nothing that was recorded is lost, changed or put out of order, whatever it is.
    #[test]
    fn records_come_through_in_order(rows in prop::collection::vec(any_row(), 0..200)) {
        let rows: Vec<Row> = rows.into_iter().enumerate().map(|(at, row)| (at as u64, row.1, row.2, row.3)).collect();
        let (all, inferred) = repaired(&rows);
        prop_assert!(all.0.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let recorded: Vec<_> = all.0.iter().filter(|row| row.3).map(|row| (row.0, row.1, row.2)).collect();
        let given: Vec<_> = rows.iter().map(|row| (row.0, row.1, row.2)).collect();
        prop_assert_eq!(recorded, given);
        prop_assert_eq!(all.0.len() as u64, rows.len() as u64 + inferred.sum());
    }
}
