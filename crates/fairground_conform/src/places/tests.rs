//! Rules and pitfalls of choices and moves, in recordings made by hand.

use crate::lockstep::{Lockstep, Setup};
use crate::outcome::Outcome;
use crate::places::{BatchRule, MoveKind, PlaceRule};
use crate::recording::Recording;
use fairground_model::{MachineView, PrevState, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId};

const MS: u64 = 1_000_000;
const TICK: u64 = 4 * MS;

/// Writes records: (time, CPU, event).
#[derive(Default)]
struct Script(Vec<(u64, u32, TraceEvent)>);

fn task(row: u32) -> TaskId {
    TaskId::new(row)
}

impl Script {
    fn switch(mut self, at: u64, cpu: u32, prev: Option<u32>, state: PrevState, next: Option<u32>) -> Script {
        self.0.push((at, cpu, TraceEvent::SchedSwitch { prev: prev.map(task), prev_state: state, next: next.map(task) }));
        self
    }
    /// An idle CPU gets a task that was there from the start.
    fn runs(self, cpu: u32, row: u32) -> Script {
        self.switch(1_000 + u64::from(cpu), cpu, None, PrevState::Running, Some(row))
    }
    fn waking(mut self, at: u64, this: u32, waker: Option<u32>, row: u32, prev: u32) -> Script {
        let context = if waker.is_some() { WakeContext::Task } else { WakeContext::Hardirq };
        self.0.push((
            at,
            this,
            TraceEvent::SchedWaking { task: task(row), target_cpu: CpuId::new(prev), waker: waker.map(task), context },
        ));
        self
    }
    fn moved(mut self, at: u64, writer: u32, row: u32, from: u32, to: u32) -> Script {
        let (orig_cpu, dest_cpu) = (CpuId::new(from), CpuId::new(to));
        self.0.push((at, writer, TraceEvent::SchedMigrateTask { task: task(row), orig_cpu, dest_cpu }));
        self
    }
    fn queued(mut self, at: u64, writer: u32, row: u32, cpu: u32) -> Script {
        self.0.push((at, writer, TraceEvent::SchedWakeup { task: task(row), target_cpu: CpuId::new(cpu) }));
        self
    }
    /// A whole wake-up by a task: from `prev` to `to`.
    fn wake(self, at: u64, this: u32, waker: Option<u32>, row: u32, (prev, to): (u32, u32)) -> Script {
        let begun = self.waking(at, this, waker, row, prev);
        let moved = if prev == to { begun } else { begun.moved(at + 100, this, row, prev, to) };
        moved.queued(at + 200, this, row, to)
    }
    /// Accounts of the ticks 1 to 20 of the task that runs on a CPU.
    fn ticks(mut self, cpu: u32, row: u32) -> Script {
        let ran = TraceEvent::SchedStatRuntime { task: task(row), runtime: Ns(TICK), vruntime: None };
        self.0.extend((1..=20).map(|tick| (tick * TICK, cpu, ran)));
        self
    }
    /// A task that runs makes a child, which is queued on `to` first.
    fn forks(mut self, at: u64, cpu: u32, parent: u32, child: u32, to: u32) -> Script {
        let fork = TraceEvent::SchedProcessFork { parent: Some(task(parent)), child: task(child) };
        let new = TraceEvent::SchedWakeupNew { task: task(child), target_cpu: CpuId::new(to) };
        self.0.extend([(at, cpu, fork), (at + 100, cpu, new)]);
        self
    }
    fn outcome(self, nr_cpus: usize, kernel: &str, names: &[(u32, &str)]) -> Outcome {
        self.outcome_on(MachineView::flat(nr_cpus, Ns(TICK)), kernel, names)
    }
    fn outcome_on(mut self, machine: MachineView, kernel: &str, names: &[(u32, &str)]) -> Outcome {
        self.0.sort_by_key(|row| row.0);
        let mut recording = Recording::default();
        for row in 0..16 {
            let name = names.iter().find(|name| name.0 == row).map_or_else(|| format!("t{row}"), |name| name.1.to_string());
            let prio = if name.starts_with("migration/") { 0 } else { 120 };
            recording.task(task(row), &TaskInfo { name, pid: 100 + row, prio });
        }
        self.0.iter().for_each(|(at, cpu, event)| recording.record(Instant::from_ns(*at), CpuId::new(*cpu), event));
        let profile = Profile::parse(kernel).expect("a modelled kernel");
        let setup = Setup {
            profile,
            machine,
            tick: Some(Ns(TICK)),
            keep: 5,
            lags: Vec::new(),
            specs: Vec::new(),
            allowed: Vec::new(),
            groups: IndexVec::new(),
            members: Vec::new(),
            begins: Vec::new(),
            moves: Vec::new(),
            learns: false,
        };
        let mut lockstep = Lockstep::new(&recording, &setup);
        lockstep.advance(usize::MAX);
        lockstep.finish()
    }
    /// The rules of its choices, in the order of the table.
    fn rules(self, nr_cpus: usize, kernel: &str, names: &[(u32, &str)]) -> Vec<(PlaceRule, u64)> {
        self.rules_on(MachineView::flat(nr_cpus, Ns(TICK)), kernel, names)
    }
    fn rules_on(self, machine: MachineView, kernel: &str, names: &[(u32, &str)]) -> Vec<(PlaceRule, u64)> {
        let found = self.outcome_on(machine, kernel, names).placement;
        let rows = PlaceRule::ALL.into_iter().map(|rule| (rule, found.of(rule).choices));
        rows.filter(|row| row.1 > 0).collect()
    }
}

/// CPUs 0 to `busy` - 1 run the tasks of their number.
fn busy(busy: u32) -> Script {
    (0..busy).fold(Script::default(), |script, cpu| script.runs(cpu, cpu))
}

#[test]
fn an_idle_previous_cpu_is_kept() {
    assert_eq!(busy(2).wake(MS, 0, Some(0), 9, (3, 3)).rules(4, "v6.1", &[]), [(PlaceRule::PrevIdle, 1)]);
}

#[test]
fn an_interrupt_of_an_idle_cpu_keeps_the_wakee() {
    assert_eq!(busy(2).wake(MS, 3, None, 9, (1, 3)).rules(4, "v6.1", &[]), [(PlaceRule::ThisIdle, 1)]);
}

#[test]
fn an_idle_previous_cpu_that_is_left_is_not_explained_and_shown() {
    let outcome = busy(2).wake(MS, 0, Some(0), 9, (3, 2)).outcome(4, "v6.1", &[]);
    assert_eq!(outcome.placement.of(PlaceRule::Unexplained).choices, 1);
    let shown = &outcome.placement.unexplained[0];
    assert_eq!((shown.prev.get(), shown.recorded.get(), shown.core.get()), (3, 2, 3));
    assert_eq!(shown.queues, [(1, true), (1, true), (0, false), (0, false)]);
}

#[test]
fn the_search_begins_behind_the_target() {
    // The second choice of a task whose recent CPU is busy: from 1, or 0, the first idle one is 2.
    let twice = |to: u32| {
        let first = busy(2).wake(MS, 0, Some(0), 9, (1, 1)).switch(MS + 500, 1, Some(1), PrevState::Running, Some(9));
        first.switch(2 * MS, 1, Some(9), PrevState::Sleeping, Some(1)).wake(3 * MS, 0, Some(0), 9, (1, to))
    };
    assert!(twice(2).rules(4, "v6.1", &[]).contains(&(PlaceRule::SearchHit, 1)));
    assert!(twice(3).rules(4, "v6.1", &[]).contains(&(PlaceRule::Unexplained, 1)));
    // An idle CPU was there, but the search may be cut.
    assert!(twice(1).rules(4, "v6.1", &[]).contains(&(PlaceRule::Cut, 2)));
}

#[test]
fn without_an_idle_cpu_both_targets_are_possible_and_no_third() {
    for (to, rule) in [(0, PlaceRule::NoneIdle), (1, PlaceRule::NoneIdle), (2, PlaceRule::Unexplained)] {
        assert_eq!(busy(4).wake(MS, 0, Some(0), 9, (1, to)).rules(4, "v6.1", &[]), [(rule, 1)]);
    }
}

#[test]
fn a_recent_cpu_from_before_the_record_is_a_doubt() {
    assert_eq!(busy(2).wake(MS, 0, Some(0), 9, (1, 3)).rules(4, "v6.1", &[]), [(PlaceRule::RecentUnknown, 1)]);
}

#[test]
fn threads_bound_to_a_cpu_choose_nothing() {
    assert_eq!(busy(2).wake(MS, 0, Some(0), 9, (1, 1)).rules(4, "v6.1", &[(9, "kworker/1:1")]), []);
    assert_eq!(busy(2).wake(MS, 0, Some(0), 9, (3, 3)).rules(4, "v6.1", &[(9, "kworker/u8:1")]).len(), 1);
}

#[test]
fn a_task_that_had_not_left_its_queue_chooses_nothing() {
    assert_eq!(busy(4).wake(MS, 0, Some(0), 3, (3, 3)).rules(4, "v6.1", &[]), []);
}

/// An interrupt of the idle CPU 3 wakes a task of CPU 1, which is busy. Whoever chooses goes to CPU 3; who stays never left
/// the queue, in kernels that keep sleepers there.
#[test]
fn a_sleeper_that_stays_beside_an_idle_waker_was_still_queued() {
    for (kernel, rule) in [("v6.1", PlaceRule::Unexplained), ("v6.12", PlaceRule::DelayedDequeue)] {
        assert_eq!(busy(2).wake(MS, 3, None, 9, (1, 1)).rules(4, kernel, &[]), [(rule, 1)], "{kernel}");
    }
    // Where it was moved there was a choice, whatever the kernel.
    assert_eq!(busy(2).wake(MS, 3, None, 9, (1, 2)).rules(4, "v6.12", &[]), [(PlaceRule::Unexplained, 1)]);
}

/// A task that has just run more than its share sleeps with negative lag: the core itself keeps it queued, and no choice
/// is counted for its wake-up. Earlier kernels choose.
#[test]
fn a_sleeper_in_delayed_dequeue_chooses_nothing() {
    let script = || {
        let shared = busy(2).wake(MS, 0, Some(0), 9, (1, 1)).ticks(0, 0);
        let ran = |at: u64, row: u32, ns: u64| {
            (at, 1, TraceEvent::SchedStatRuntime { task: task(row), runtime: Ns(ns), vruntime: None })
        };
        let mut script = shared.switch(4 * MS, 1, Some(1), PrevState::Running, Some(9));
        script.0.extend([ran(4 * MS - 1, 1, 4 * MS - 1_001), ran(8 * MS, 9, 4 * MS), ran(8 * MS + 500, 9, 500)]);
        script.switch(8 * MS + 600, 1, Some(9), PrevState::Sleeping, Some(1)).wake(8 * MS + 50_000, 0, Some(0), 9, (1, 1))
    };
    let delayed = script().outcome(4, "v6.12", &[]);
    let told = delayed.facts.keys().any(|what| what.contains("sleepers in delayed dequeue"));
    assert!(told && delayed.placement.sums(false).0 == 1, "{:?}, {:?}", delayed.facts, delayed.placement.sums(false));
    assert_eq!(script().outcome(4, "v6.1", &[]).placement.sums(false).0, 2);
}

/// t9 of CPU 1 is woken there and stays, though CPUs 2 and 3 are idle. That is a rule only from v5.6 on, and only for a
/// bound kernel thread that is alone and wakes it itself; else the search may have been cut.
#[test]
fn a_bound_kernel_thread_keeps_what_it_wakes() {
    let bound = &[(8, "kworker/1:1")][..];
    let script = || busy(1).runs(1, 8);
    let stays = |waker: Option<u32>| script().wake(MS, 1, waker, 9, (1, 1));
    assert_eq!(stays(Some(8)).rules(4, "v6.1", bound), [(PlaceRule::PerCpuKthread, 1)]);
    assert_eq!(stays(Some(8)).rules(4, "v5.1", bound), [(PlaceRule::Cut, 1)], "before the rule");
    assert_eq!(stays(Some(8)).rules(4, "v6.1", &[(8, "kworker/u8:1")]), [(PlaceRule::Cut, 1)], "not bound");
    assert_eq!(stays(None).rules(4, "v6.1", bound), [(PlaceRule::Cut, 1)], "an interrupt wakes it");
    let crowd = script().wake(MS / 2, 0, Some(0), 7, (1, 1)).wake(MS, 1, Some(8), 9, (1, 1));
    assert_eq!(crowd.rules(4, "v6.1", bound), [(PlaceRule::Cut, 2)], "not alone");
}

#[test]
fn a_child_begins_where_it_is_idle() {
    let child = |busy_cpus: u32, to: u32| busy(busy_cpus).forks(MS, 0, 0, 9, to).rules(4, "v6.1", &[]);
    for (to, rule) in [(2, PlaceRule::ForkIdle), (3, PlaceRule::ForkIdle), (0, PlaceRule::ForkUnexplained)] {
        assert_eq!(child(2, to), [(rule, 1)], "to CPU {to}");
    }
    assert_eq!(child(4, 2), [(PlaceRule::ForkNoneIdle, 1)]);
}

/// CPUs with their neighbours in cores of two threads.
fn with_threads(nr_cpus: usize) -> MachineView {
    let mut machine = MachineView::flat(nr_cpus, Ns(TICK));
    for cpu in (0..nr_cpus as u32).map(CpuId::new) {
        let first = cpu.get() & !1;
        machine.cpus[cpu].smt = [first, first + 1].map(CpuId::new).into_iter().collect();
    }
    machine
}

/// The second wake-up of t9 from CPU 0, its previous CPU is 2, on three cores; one thread of each of `cores` is busy. The
/// first wake-up makes its recent CPU known.
fn woken_among_threads(cores: &[u32], to: u32) -> Vec<(PlaceRule, u64)> {
    let busy = cores.iter().fold(Script::default(), |script, &core| script.runs(2 * core, 2 * core));
    let first = busy.wake(MS, 0, Some(0), 9, (2, 2)).switch(MS + 500, 2, Some(2), PrevState::Running, Some(9));
    let second = first.switch(2 * MS, 2, Some(9), PrevState::Sleeping, Some(2)).wake(3 * MS, 0, Some(0), 9, (2, to));
    second.rules_on(with_threads(6), "v6.1", &[]).into_iter().filter(|row| row.0 != PlaceRule::Cut).collect()
}

/// With no idle core: the thread beside the previous CPU, or the first idle thread behind the target.
#[test]
fn an_idle_thread_beside_the_previous_cpu_is_taken() {
    assert_eq!(woken_among_threads(&[0, 1, 2], 3), [(PlaceRule::SearchHit, 1)]);
    assert_eq!(woken_among_threads(&[0, 1, 2], 1), [(PlaceRule::SearchHit, 1)]);
    assert_eq!(woken_among_threads(&[0, 1, 2], 5), [(PlaceRule::Unexplained, 1)]);
}

/// CPUs 4 and 5 are an idle core, whose first thread is taken though an idle thread lies before it.
#[test]
fn an_idle_core_is_entered_at_its_first_thread() {
    assert_eq!(woken_among_threads(&[0, 1], 4), [(PlaceRule::SearchHit, 1)]);
}

#[test]
fn a_record_may_be_late() {
    // CPU 3 goes idle 50 us after the choice by the record, 2 ms after it.
    let late = |after: u64| {
        let woken = busy(4).waking(MS, 0, Some(0), 9, 1).moved(MS + 100, 0, 9, 1, 3);
        let slept = woken.switch(MS + after, 3, Some(3), PrevState::Sleeping, None);
        slept.queued(MS + after + 1_000, 3, 9, 3).rules(4, "v4.12", &[])
    };
    assert_eq!(late(50_000), [(PlaceRule::Timing, 1)]);
    assert_eq!(late(2 * MS), [(PlaceRule::Unexplained, 1)]);
}

#[test]
fn a_task_on_its_way_makes_its_target_busy_or_not_yet() {
    let one = busy(3).waking(MS, 0, Some(0), 8, 1).moved(MS + 100, 0, 8, 1, 3);
    let two =
        one.waking(MS + 300, 1, Some(1), 9, 2).moved(MS + 350, 1, 9, 2, 3).queued(MS + 400, 1, 9, 3).queued(MS + 500, 3, 8, 3);
    assert_eq!(two.rules(4, "v4.12", &[]), [(PlaceRule::SearchHit, 1), (PlaceRule::Timing, 1)]);
}

/// CPU 0 has t0, which runs, and `waiting` more; CPU 1 runs t1.
fn crowded(waiting: u32) -> Script {
    (0..waiting).fold(busy(2), |script, row| script.wake(MS + u64::from(row) * 10_000, 0, Some(0), 4 + row, (0, 0)))
}

#[test]
fn newidle_does_not_count_the_leaving_task() {
    let pulled = crowded(3).moved(30 * MS, 1, 4, 0, 1).switch(30 * MS + 1_000, 1, Some(1), PrevState::Sleeping, Some(4));
    let found = pulled.outcome(2, "v6.1", &[]).moves;
    assert_eq!((found.of(MoveKind::Newidle).moves, found.of(MoveKind::Newidle).kind.agree), (1, 1));
    assert_eq!((found.rule(BatchRule::Size).decisions, found.rule(BatchRule::Size).agree), (1, 1));
    // Kernels without a preemptible build move half of the four tasks at once.
    let one = crowded(3).moved(30 * MS, 1, 4, 0, 1).switch(30 * MS + 1_000, 1, Some(1), PrevState::Sleeping, Some(4));
    assert_eq!(one.outcome(2, "v5.10", &[]).moves.rule(BatchRule::Size).agree, 0);
    let two = crowded(3).moved(30 * MS, 1, 4, 0, 1).moved(30 * MS + 100, 1, 5, 0, 1);
    let two = two.switch(30 * MS + 1_000, 1, Some(1), PrevState::Sleeping, Some(5)).outcome(2, "v5.10", &[]).moves;
    assert_eq!((two.of(MoveKind::Newidle).batches, two.rule(BatchRule::Size).agree), (1, 1));
}

#[test]
fn a_busy_cpu_balances_at_its_tick_only() {
    let at = |at: u64| crowded(3).ticks(1, 1).moved(at, 1, 4, 0, 1).outcome(2, "v6.1", &[]).moves;
    for (time, agree) in [(10 * TICK + 50_000, 1), (10 * TICK + 2 * MS, 0)] {
        let found = at(time);
        assert_eq!((found.of(MoveKind::BusyTick).kind.decisions, found.of(MoveKind::BusyTick).kind.agree), (1, agree));
        assert_eq!(found.rule(BatchRule::Mean).agree, 1);
    }
}

#[test]
fn a_stopper_is_shown_and_not_judged() {
    let script = busy(2).switch(2 * MS, 0, Some(0), PrevState::Running, Some(10)).moved(2 * MS + 100, 0, 0, 0, 1);
    let found = script.outcome(2, "v6.1", &[(10, "migration/0")]).moves;
    assert_eq!((found.of(MoveKind::Stopper).moves, found.kind().decisions), (1, 0));
}
