use super::{Loop, Replay, build, what_if};
use crate::testing;
use expect_test::expect_file;
use fairground_model::{Frame, PrevState, Step, Surroundings, TaskInfo, TaskSet, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, Ns, RngStream, StreamKind, TaskId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) type Record = (Instant, CpuId, TraceEvent);

pub(super) fn infos(names: &[&str]) -> IndexVec<TaskId, TaskInfo> {
    names.iter().zip(1..).map(|(name, pid)| TaskInfo { name: name.to_string(), pid, prio: 120 }).collect()
}
pub(super) fn task(row: u32) -> TaskId {
    TaskId::new(row)
}
pub(super) fn at(us: u64, cpu: u32, event: TraceEvent) -> Record {
    (Instant::from_ns(1_000_000_000 + us * 1000), CpuId::new(cpu), event)
}
pub(super) fn switch(prev: Option<u32>, prev_state: PrevState, next: Option<u32>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev: prev.map(task), prev_state, next: next.map(task) }
}
pub(super) fn waking(wakee: u32, waker: Option<u32>) -> TraceEvent {
    let context = if waker.is_some() { WakeContext::Task } else { WakeContext::Hardirq };
    TraceEvent::SchedWaking { task: task(wakee), target_cpu: CpuId::new(0), waker: waker.map(task), context }
}
fn wakeup(wakee: u32) -> TraceEvent {
    TraceEvent::SchedWakeup { task: task(wakee), target_cpu: CpuId::new(0) }
}
use PrevState::{Dead, Running, Sleeping};

/// Runs the tasks with a CPU for each. Returns how long each ran; asserts that all of them end.
pub(super) fn run_alone(set: &TaskSet) -> Vec<u64> {
    let mut ran = vec![0; set.tasks.len()];
    let mut frames = vec![Frame::new(); set.tasks.len()];
    let mut queue: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut tokens: BTreeMap<usize, u64> = BTreeMap::new();
    let mut readers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut rng = RngStream::new(1, StreamKind::TaskBehavior, 0);
    let mut words = IndexVec::new();
    for (id, spec) in set.tasks.iter_enumerated() {
        if let fairground_model::Start::At(at) = spec.start {
            queue.insert((at.ns(), id.index()));
        }
    }
    let mut ended = 0;
    while let Some((now, row)) = queue.pop_first() {
        let program = &set.programs[set.tasks[TaskId::from_index(row)].program];
        let now_at = Instant::from_ns(now);
        let mut around = Surroundings { now: now_at, cpu: CpuId::new(0), rng: &mut rng, words: &mut words };
        match frames[row].next(program, &mut around) {
            Step::Run { work, .. } => {
                ran[row] += work.0;
                queue.insert((now + work.0, row));
            }
            Step::SleepUntil(at) => {
                queue.insert((at.ns().max(now), row));
            }
            Step::Write { pipe, .. } => {
                queue.insert((now, row));
                match readers.remove(&pipe.index()) {
                    Some(reader) => {
                        queue.insert((now, reader));
                    }
                    None => *tokens.entry(pipe.index()).or_default() += 1,
                }
            }
            Step::Read { pipe, .. } => match tokens.get_mut(&pipe.index()).filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    queue.insert((now, row));
                }
                None => {
                    assert_eq!(readers.insert(pipe.index(), row), None, "a pipe of wake-ups has one reader");
                }
            },
            Step::Fork { task } => {
                queue.insert((now, row));
                queue.insert((now, task.index()));
            }
            Step::SleepFor(time) | Step::Io(time) => {
                queue.insert((now + time.0, row));
            }
            Step::Mark { .. } => {
                queue.insert((now, row));
            }
            Step::Exit => ended += 1,
            other => panic!("a replay has no {other:?}"),
        }
    }
    assert_eq!(ended, set.tasks.len(), "tasks wait for ever");
    assert!(tokens.values().all(|&count| count == 0), "wake-ups are left over");
    ran
}

fn replay(records: &[Record], names: &[&str]) -> Replay {
    let replay = build(records, &infos(names), 4);
    testing::check(&replay.tasks);
    run_alone(&replay.tasks);
    replay
}

/// `ping` (there before) wakes `pong` after 100 us of work, both wait in between; `kid` is forked; a timer.
fn clean() -> Vec<Record> {
    vec![
        at(0, 0, waking(0, None)),
        at(1, 0, wakeup(0)),
        at(3, 0, switch(None, Running, Some(0))),
        at(103, 0, waking(1, Some(0))),
        at(103, 1, wakeup(1)),
        at(110, 1, switch(None, Running, Some(1))),
        at(120, 0, TraceEvent::SchedProcessFork { parent: Some(task(0)), child: task(2) }),
        at(120, 0, TraceEvent::SchedWakeupNew { task: task(2), target_cpu: CpuId::new(0) }),
        at(150, 0, switch(Some(0), Running, Some(2))),
        at(160, 1, waking(0, Some(1))),
        at(180, 0, switch(Some(2), Dead, Some(0))),
        at(200, 0, switch(Some(0), Sleeping, None)),
        at(210, 1, waking(0, Some(1))),
        at(220, 1, switch(Some(1), Sleeping, None)),
        at(230, 0, switch(None, Running, Some(0))),
        at(260, 0, switch(Some(0), Dead, None)),
    ]
}

#[test]
fn golden_wake_graph() {
    let replay = replay(&clean(), &["ping", "pong", "kid", "nobody"]);
    expect_file!["golden/wake-graph.txt"].assert_eq(&testing::dump(&replay.tasks));
    expect_file!["golden/wake-graph.notes.txt"].assert_eq(&replay.notes.join("\n"));
    assert_eq!(replay.task_of.as_slice(), [Some(task(0)), Some(task(1)), Some(task(2)), None]);
    assert_eq!(replay.length, Ns::from_us(260));
}

#[test]
fn any_record_may_be_missing() {
    let clean = clean();
    for missing in 0..clean.len() {
        let mut dirty = clean.clone();
        dirty.remove(missing);
        replay(&dirty, &["ping", "pong", "kid"]);
        dirty.truncate(clean.len() / 2);
        replay(&dirty, &["ping", "pong", "kid"]);
    }
}

#[test]
fn missing_switches_are_completed_from_run_time() {
    let account = |us| TraceEvent::SchedStatRuntime { task: task(0), runtime: Ns::from_us(us), vruntime: None };
    let records = [
        at(0, 0, switch(Some(0), Sleeping, None)),
        at(1000, 0, account(40)),
        at(1010, 0, account(10)),
        at(1010, 0, switch(Some(0), Sleeping, None)),
    ];
    let replay = replay(&records, &["a"]);
    assert_eq!(run_alone(&replay.tasks), [50_000]);
    assert!(replay.notes.iter().any(|note| note.contains("completed from sched_stat_runtime")), "{:?}", replay.notes);
}

#[test]
fn kernel_threads_of_a_cpu_stay_there() {
    let mut records = vec![at(0, 1, switch(None, Running, Some(0)))];
    records.push(at(5, 1, switch(Some(0), PrevState::IdleWait, Some(1))));
    records.push(at(9, 1, switch(Some(1), Sleeping, Some(2))));
    let replay = replay(&records, &["migration/1", "kworker/u8:2", "kworker/9:0"]);
    let rows: Vec<Option<String>> = replay.tasks.tasks.iter().map(|task| task.affinity.map(|cpus| cpus.to_string())).collect();
    assert_eq!(rows, [Some("1".to_string()), None, None]);
    assert!(replay.tasks.tasks.iter().all(|task| !task.measured));
}

#[test]
fn an_empty_recording_has_no_tasks() {
    assert_eq!(replay(&[], &["a"]).tasks.tasks.len(), 0);
    assert_eq!(replay(&[], &[]).length, Ns::ZERO);
}

/// The record of one experiment, as the reader of the sets gives it.
fn load(set: &Path) -> (Vec<Record>, IndexVec<TaskId, TaskInfo>, u64) {
    let mut infos = IndexVec::new();
    let mut ids = BTreeMap::new();
    for line in std::fs::read_to_string(set.join("tasks.csv")).unwrap().lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let (pid, prio): (u32, i32) = (row[0].parse().unwrap(), row[2].parse().unwrap());
        if pid != 0 {
            ids.insert(pid, infos.push(TaskInfo { name: row[1].into(), pid, prio }));
        }
    }
    let mut records = Vec::new();
    let mut accounted = 0;
    for line in testing::unzip(&set.join("trace.csv.zst")).lines().skip(2) {
        let row: Vec<&str> = line.split(',').collect();
        let number = |field: usize| row[field].parse::<u64>().unwrap_or(0);
        let who = |field: usize| ids.get(&(number(field) as u32)).copied();
        let cpu = |field: usize| CpuId::new(number(field) as u32);
        let event = match (row[2], who(3)) {
            ("sw", prev) => {
                let state = match row[4] {
                    "S" => Sleeping,
                    "D" => PrevState::DiskSleep,
                    "I" => PrevState::IdleWait,
                    "X" | "Z" => Dead,
                    _ => Running,
                };
                TraceEvent::SchedSwitch { prev, prev_state: state, next: who(5) }
            }
            ("wa", Some(task)) => {
                let context = if who(5).is_some() { WakeContext::Task } else { WakeContext::Hardirq };
                TraceEvent::SchedWaking { task, target_cpu: cpu(4), waker: who(5), context }
            }
            ("wu", Some(task)) => TraceEvent::SchedWakeup { task, target_cpu: cpu(4) },
            ("wn", Some(task)) => TraceEvent::SchedWakeupNew { task, target_cpu: cpu(4) },
            ("mi", Some(task)) => TraceEvent::SchedMigrateTask { task, orig_cpu: cpu(4), dest_cpu: cpu(5) },
            ("rt", Some(task)) => {
                accounted += number(4);
                TraceEvent::SchedStatRuntime { task, runtime: Ns(number(4)), vruntime: None }
            }
            ("fk", parent) => match who(4) {
                Some(child) => TraceEvent::SchedProcessFork { parent, child },
                None => continue,
            },
            ("ex", Some(task)) => TraceEvent::SchedProcessExit { task },
            _ => continue,
        };
        records.push((Instant::from_ns(number(0)), CpuId::new(number(1) as u32), event));
    }
    (records, infos, accounted)
}

/// Every recorded set becomes tasks that run to their end, and the run time is the recorded one.
#[test]
fn every_recorded_set_replays() {
    for set in fairground_testing::experiments(|_| true) {
        let (records, infos, accounted) = load(&set);
        let replay = build(&records, &infos, 32);
        testing::check(&replay.tasks);
        let ran: u64 = run_alone(&replay.tasks).iter().sum();
        // Accounts and switches are some microseconds apart; where nothing was accounted there is nothing to compare.
        let apart = ran.abs_diff(accounted);
        assert!(accounted == 0 || apart * 20 <= accounted, "{}: {ran} of {accounted}", set.display());
    }
}

fn any_event() -> impl Strategy<Value = TraceEvent> {
    // Tasks 0 to 3 exist; 4 and a huge one do not.
    let id = || prop::sample::select(vec![0, 1, 2, 3, 4, u32::MAX - 1]).prop_map(task);
    let some = || prop::option::of(prop::sample::select(vec![0, 1, 2, 3, 4]).prop_map(task));
    let cpu = || prop::sample::select(vec![0, 1, 2, 5000]).prop_map(CpuId::new);
    let state = || prop::sample::select(vec![Running, Sleeping, PrevState::DiskSleep, Dead]);
    let context = || prop::sample::select(vec![WakeContext::Task, WakeContext::Softirq, WakeContext::Hardirq]);
    prop_oneof![
        (some(), state(), some()).prop_map(|(prev, prev_state, next)| TraceEvent::SchedSwitch { prev, prev_state, next }),
        (id(), cpu(), some(), context()).prop_map(|(task, target_cpu, waker, context)| TraceEvent::SchedWaking {
            task,
            target_cpu,
            waker,
            context
        }),
        (id(), cpu()).prop_map(|(task, target_cpu)| TraceEvent::SchedWakeup { task, target_cpu }),
        (id(), cpu()).prop_map(|(task, target_cpu)| TraceEvent::SchedWakeupNew { task, target_cpu }),
        (id(), any::<u32>()).prop_map(|(task, ns)| TraceEvent::SchedStatRuntime {
            task,
            runtime: Ns(u64::from(ns)),
            vruntime: None
        }),
        (some(), id()).prop_map(|(parent, child)| TraceEvent::SchedProcessFork { parent, child }),
        id().prop_map(|task| TraceEvent::SchedProcessExit { task }),
        (id(), cpu(), cpu()).prop_map(|(task, orig_cpu, dest_cpu)| TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu }),
    ]
}

proptest! {
    /// Whatever the records say, the tasks run to their end and nobody runs longer than the recording lasted.
    #[test]
    fn any_records_make_tasks_that_end(
        rows in prop::collection::vec((prop_oneof![0..1_000_000u64, any::<u64>()], 0..3u32, any_event()), 0..60),
        sorted in any::<bool>(),
    ) {
        let mut records: Vec<Record> = rows.into_iter().map(|(ns, cpu, event)| (Instant::from_ns(ns), CpuId::new(cpu), event)).collect();
        if sorted {
            records.sort_by_key(|record| record.0);
        }
        let replay = build(&records, &infos(&["a", "migration/0", "swapper/1", "b"]), 2);
        testing::check(&replay.tasks);
        prop_assert!(run_alone(&replay.tasks).iter().all(|&ran| ran <= replay.length.0));
    }

    /// The same of some of the tasks, whatever becomes of what comes from outside.
    #[test]
    fn any_records_of_some_tasks_make_tasks_that_end(
        rows in prop::collection::vec((0..1_000_000u64, 0..3u32, any_event()), 0..60),
        members in prop::collection::vec(any::<bool>(), 4),
    ) {
        let mut records: Vec<Record> = rows.into_iter().map(|(ns, cpu, event)| (Instant::from_ns(ns), CpuId::new(cpu), event)).collect();
        records.sort_by_key(|record| record.0);
        let members: IndexVec<TaskId, bool> = members.into_iter().collect();
        for arrivals in [Loop::Open, Loop::Closed] {
            let made = what_if(&records, &infos(&["a", "migration/0", "swapper/1", "b"]), &members, 2, arrivals);
            testing::check(&made.tasks);
            prop_assert!(run_alone(&made.tasks).iter().all(|&ran| ran <= made.length.0));
            prop_assert_eq!(made.recorded.len() as u64, made.pieces);
        }
    }
}
