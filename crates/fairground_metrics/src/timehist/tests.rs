use super::*;
use crate::window::Interval;
use fairground_model::{PrevState, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

const TASK: TaskId = TaskId::new(0);
const OTHER: TaskId = TaskId::new(1);

enum Does {
    Waking,
    Wakeup,
    In,
    Out(PrevState),
}

fn feed(sink: &mut dyn Sink, steps: &[(u64, Does)]) {
    sink.task(TASK, &TaskInfo { name: "task".into(), pid: 7, prio: 120 });
    let target_cpu = CpuId::new(0);
    for (at, does) in steps {
        let event = match *does {
            Does::Waking => TraceEvent::SchedWaking { task: TASK, target_cpu, waker: None, context: WakeContext::Hardirq },
            Does::Wakeup => TraceEvent::SchedWakeup { task: TASK, target_cpu },
            Does::In => TraceEvent::SchedSwitch { prev: None, prev_state: PrevState::Running, next: Some(TASK) },
            Does::Out(prev_state) => TraceEvent::SchedSwitch { prev: Some(TASK), prev_state, next: None },
        };
        sink.record(Instant::from_ns(*at), target_cpu, &event);
    }
}

fn rows(mark: ReadyMark, steps: &[(u64, Does)]) -> Vec<TimeHistRow> {
    let mut rows = Vec::new();
    let each = |line: TimeHistLine<'_>| match line {
        TimeHistLine::Switch(row, ..) => rows.push(*row),
        TimeHistLine::Wakeup(_) => {}
    };
    feed(&mut TimeHist::new(mark, Interval::default(), false, each), steps);
    rows
}

/// Wake at 10, in at 14, out (sleep) at 20, wake at 25, in at 31, out at 40: the second record has run 9, delay 6, wait
/// 11 of class sleep. Preempted at 20 and in at 31: wait 11 of class preempt, delay 0.
///
/// Model: 08 T06
#[test]
fn a_row_tells_run_time_delay_and_wait_by_class() {
    use Does::{In, Out, Wakeup};
    let slept = [(10, Wakeup), (14, In), (20, Out(PrevState::Sleeping)), (25, Wakeup), (31, In), (40, Out(PrevState::Sleeping))];
    let told = |row: &TimeHistRow| (row.at.ns(), row.run, row.delay, row.wait);
    let wait = |class| Some(Wait { class, length: Ns(11) });
    let made = rows(ReadyMark::Waking, &slept);
    assert_eq!(told(&made[0]), (20, Some(Ns(6)), Ns(4), None));
    assert_eq!(told(&made[1]), (40, Some(Ns(9)), Ns(6), wait(WaitClass::Sleep)));
    let preempted = [(10, Wakeup), (14, In), (20, Out(PrevState::Running)), (31, In), (40, Out(PrevState::DiskSleep))];
    let made = rows(ReadyMark::Waking, &preempted);
    assert_eq!(told(&made[1]), (40, Some(Ns(9)), Ns(0), wait(WaitClass::Preempt)));
}

/// Both marks of a wake-up, the first of several wake-ups, and one that comes while the task runs.
#[test]
fn ready_is_the_first_wake_up_since_the_switch() {
    use Does::{In, Out, Wakeup, Waking};
    let steps = || {
        [
            (1, Waking),
            (2, Wakeup),
            (3, In),
            (4, Waking),
            (5, Out(PrevState::DiskSleep)),
            (10, Waking),
            (12, Wakeup),
            (13, Waking),
            (20, In),
            (30, Out(PrevState::Dead)),
        ]
    };
    let delays = |mark| rows(mark, &steps()).iter().map(|row| row.delay.0).collect::<Vec<_>>();
    assert_eq!(delays(ReadyMark::Waking), [2, 10]);
    assert_eq!(delays(ReadyMark::Wakeup), [1, 8]);
    assert_eq!(rows(ReadyMark::Waking, &steps())[1].wait, Some(Wait { class: WaitClass::Iowait, length: Ns(15) }));
}

#[test]
fn what_the_trace_does_not_tell_is_unknown() {
    use Does::{In, Out};
    let made = rows(ReadyMark::Waking, &[(5, Out(PrevState::Sleeping)), (9, In), (10, In), (12, Out(PrevState::Sleeping))]);
    assert_eq!((made[0].run, made[0].wait), (None, None));
    // The switch away before the second arrival is lost.
    assert_eq!((made[1].run, made[1].wait), (Some(Ns(2)), None));
}

#[test]
fn the_summary_knows_when_the_longest_times_were() {
    use Does::{In, Out, Wakeup};
    let steps = [
        (10, Wakeup),
        (14, In),
        (20, Out(PrevState::Running)),
        (31, In),
        (40, Out(PrevState::Sleeping)),
        (50, Wakeup),
        (51, In),
        (53, Out(PrevState::Sleeping)),
    ];
    let mut summary = Summary::default();
    let each = |line: TimeHistLine<'_>| match line {
        TimeHistLine::Switch(row, info, _) => summary.add(row, info),
        TimeHistLine::Wakeup(_) => {}
    };
    feed(&mut TimeHist::new(ReadyMark::Waking, Interval::default(), false, each), &steps);
    let rows: Vec<_> = summary.rows().collect();
    let row = rows[0];
    assert_eq!(
        (row.info.name.as_str(), row.run.count, row.run.total, row.run.min, row.run.max),
        ("task", 3, Ns(17), Ns(2), Ns(9))
    );
    assert_eq!(
        (row.delay.count, row.delay.total, row.delay.max, row.delay.max_at.ns(), row.delay.mean()),
        (2, Ns(5), Ns(4), 14, Ns(2))
    );
    let [preempt, iowait, sleep] = row.waits;
    assert_eq!((preempt.total, preempt.max_at.ns(), iowait.count, sleep.total), (Ns(11), 31, 0, Ns(11)));
}

#[test]
fn the_latency_table_counts_preemptions_too() {
    use Does::{In, Out, Wakeup};
    let steps = [(10, Wakeup), (14, In), (20, Out(PrevState::Running)), (31, In), (40, Out(PrevState::Sleeping)), (44, Wakeup)];
    let mut latency = SchedLatency::new(ReadyMark::Waking);
    feed(&mut latency, &steps);
    latency.task(OTHER, &TaskInfo { name: "task".into(), pid: 8, prio: 120 });
    let other = TraceEvent::SchedSwitch { prev: None, prev_state: PrevState::Running, next: Some(OTHER) };
    latency.record(Instant::from_ns(60), CpuId::new(1), &other);
    let apart = latency.clone().finish(true);
    assert_eq!((apart.rows.len(), apart.rows[1].switches, apart.rows[1].total, apart.rows[1].pid), (2, 1, Ns(0), Some(8)));
    let table = latency.finish(false);
    let row = &table.rows[0];
    assert_eq!((row.pid, row.tasks, row.runtime, row.switches, row.avg()), (None, 2, Ns(15), 3, Ns(5)));
    assert_eq!((row.max.length, row.max.from.ns(), row.max.to.ns()), (Ns(11), 20, 31));
    assert_eq!(table.pending, [PendingDelay { name: "task".into(), pid: 7, group: None, from: Instant::from_ns(44) }]);
}

#[test]
fn accounts_are_preferred_to_times_between_switches() {
    use Does::{In, Out};
    let mut latency = SchedLatency::new(ReadyMark::Waking);
    feed(&mut latency, &[(0, In), (9, Out(PrevState::Sleeping))]);
    let account = TraceEvent::SchedStatRuntime { task: TASK, runtime: Ns(8), vruntime: None };
    latency.record(Instant::from_ns(9), CpuId::new(0), &account);
    assert_eq!(latency.finish(false).rows[0].runtime, Ns(8));
}

/// A task waits on CPU 0 from 10 to 30 behind another one. CPU 1 idles until 18 and then runs a third task.
#[test]
fn a_queue_beside_an_idle_cpu_is_seen_and_who_ran_is_charged() {
    let third = TaskId::new(2);
    let run = |interval: Interval| {
        let mut contention = Contention::new(interval, true);
        for (task, name) in [(TASK, "task"), (OTHER, "other"), (third, "third")] {
            contention.task(task, &TaskInfo { name: name.into(), pid: 7, prio: 120 });
        }
        let switch = |prev, prev_state, next| TraceEvent::SchedSwitch { prev, prev_state, next };
        let wakeup = TraceEvent::SchedWakeup { task: TASK, target_cpu: CpuId::new(0) };
        let steps = [
            (0, 0, switch(None, PrevState::Running, Some(OTHER))),
            (0, 1, switch(Some(third), PrevState::Sleeping, None)),
            (10, 1, wakeup),
            (18, 1, switch(None, PrevState::Running, Some(third))),
            (30, 0, switch(Some(OTHER), PrevState::Running, Some(TASK))),
            (34, 0, switch(Some(TASK), PrevState::Sleeping, Some(OTHER))),
        ];
        for (at, cpu, event) in steps {
            contention.record(Instant::from_ns(at), CpuId::new(cpu), &event);
        }
        contention.finish(Instant::from_ns(40));
        let charged: Vec<(String, String, u64)> =
            contention.antagonists().into_iter().map(|row| (row.waiter.name, row.ran.unwrap().name, row.time.0)).collect();
        (contention, charged)
    };
    let told = |waiter: &str, ran: &str, time| (waiter.to_string(), ran.to_string(), time);
    let (all, charged) = run(Interval::default());
    assert_eq!(charged, [told("task", "other", 20), told("other", "task", 4)]);
    assert_eq!(all.queued_while_idle(), Ns(8));
    let [first, second] = all.queues().map(|row| row.1.clone()).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((first.depth[1], first.depth[2], first.max, first.sum_ns), (Ns(16), Ns(24), 2, 16 + 2 * 24));
    assert_eq!((first.queued, first.queued_while_idle), (Ns(24), Ns(8)));
    assert_eq!((second.depth[0], second.depth[1], second.watched(), second.queued), (Ns(18), Ns(22), Ns(40), Ns(0)));
    // Of an interval the parts that lie in it.
    let (part, charged) = run(Interval::parse("+12ns,+20ns").unwrap());
    assert_eq!((charged, part.queued_while_idle()), (vec![told("task", "other", 8)], Ns(6)));
}

#[test]
fn delays_after_wake_ups_and_preemptions_are_apart() {
    use Does::{In, Out, Wakeup};
    let mut latency = SchedLatency::new(ReadyMark::Waking);
    let steps =
        [(10, Wakeup), (14, In), (20, Out(PrevState::Running)), (31, In), (40, Out(PrevState::Sleeping)), (50, Wakeup), (58, In)];
    feed(&mut latency, &steps);
    let rows = latency.finish(true).rows;
    assert_eq!((rows[0].after_wakeup.sum(), rows[0].after_wakeup.magnitudes()), (12, vec![(2, 1), (3, 1)]));
    assert_eq!((rows[0].after_preemption.len(), rows[0].after_preemption.max(), rows[0].switches), (1, 11, 3));
}
