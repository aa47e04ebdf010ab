use super::*;
use fairground_model::{Decision, Section, WakeContext};
use fairground_stdx::{MarkerId, Ns};

fn task(id: u32) -> TaskId {
    TaskId::new(id)
}
fn feed(stats: &mut RunStats, at: u64, cpu: u32, event: TraceEvent) {
    stats.record(Instant::from_ns(at), CpuId::new(cpu), &event);
}
fn switch(prev: Option<u32>, prev_state: PrevState, next: Option<u32>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev: prev.map(task), prev_state, next: next.map(task) }
}
fn waking(id: u32) -> TraceEvent {
    TraceEvent::SchedWaking { task: task(id), target_cpu: CpuId::new(0), waker: None, context: WakeContext::Task }
}
fn wakeup(id: u32) -> TraceEvent {
    TraceEvent::SchedWakeup { task: task(id), target_cpu: CpuId::new(0) }
}

/// CPU 0: idle 0..100, task 0 100..400, task 1 400..450, task 0 450..600, idle 600..1000. CPU 1 idle.
fn small_run() -> RunReport {
    let mut stats = RunStats::new(Instant::ZERO, 2);
    stats.task(task(0), &TaskInfo { name: "hog".into(), pid: 7, prio: 125 });
    feed(&mut stats, 90, 0, waking(0));
    feed(&mut stats, 92, 0, wakeup(0));
    feed(&mut stats, 100, 0, switch(None, PrevState::Running, Some(0)));
    feed(&mut stats, 300, 0, waking(1));
    feed(&mut stats, 300, 0, wakeup(1));
    feed(&mut stats, 350, 0, TraceEvent::SchedStatRuntime { task: task(0), runtime: Ns(250), vruntime: None });
    feed(&mut stats, 390, 0, TraceEvent::KernelSection { section: Section::Schedule, took: Ns(10) });
    feed(&mut stats, 400, 0, TraceEvent::Decision(Decision { reason: Reason::PickLeftmost, a: 1, b: 0 }));
    feed(&mut stats, 400, 0, switch(Some(0), PrevState::Running, Some(1)));
    feed(&mut stats, 420, 0, TraceEvent::Marker { task: task(1), marker: MarkerId::new(0), value: 33 });
    feed(&mut stats, 450, 0, switch(Some(1), PrevState::Sleeping, Some(0)));
    feed(&mut stats, 600, 0, switch(Some(0), PrevState::Dead, None));
    feed(&mut stats, 700, 0, waking(1));
    stats.finish(Instant::from_ns(1000))
}

#[test]
fn tasks_account_for_their_time() {
    let report = small_run();
    let hog = &report.tasks[0];
    assert_eq!((hog.info.name.as_str(), hog.nice().unwrap(), hog.runtime, hog.exec, hog.slices), ("hog", 5, Ns(450), Ns(250), 2));
    assert_eq!((hog.wait, hog.max_wait, hog.voluntary, hog.involuntary), (Ns(60), Ns(50), 1, 1));
    assert_eq!((hog.latency.len(), hog.latency.max()), (1, 10));
    let other = &report.tasks[1];
    assert_eq!((other.info.name.as_str(), other.runtime, other.latency.len(), other.latency.max()), ("task1", Ns(50), 1, 100));
    assert_eq!(other.max_wait, Ns(300), "a wait that lasts at the end is a delay but no latency");
}

/// None is lost on its way into the histogram, however many there are.
#[test]
fn every_latency_counts() {
    for wakeups in [1, 7, 8, 9, 16, 100] {
        let mut stats = RunStats::new(Instant::ZERO, 1);
        for n in 1..=wakeups {
            feed(&mut stats, 1_000 * n, 0, waking(0));
            feed(&mut stats, 1_000 * n + n, 0, switch(None, PrevState::Running, Some(0)));
            feed(&mut stats, 1_000 * n + 500, 0, switch(Some(0), PrevState::Sleeping, None));
        }
        let latency = &stats.finish(Instant::from_ns(1_000_000)).tasks[0].latency;
        assert_eq!((latency.len(), latency.max()), (wakeups, wakeups));
        assert_eq!(latency.sum(), u128::from(wakeups * (wakeups + 1) / 2));
    }
}

#[test]
fn cpus_are_busy_or_idle_all_the_time() {
    let report = small_run();
    let times: Vec<_> = report.cpus.iter().map(|cpu| (cpu.busy, cpu.idle, cpu.kernel(), cpu.switches)).collect();
    assert_eq!(times, [(Ns(500), Ns(500), Ns(10), 4), (Ns(0), Ns(1000), Ns(0), 0)]);
    assert_eq!(report.sections()[1], (Section::Schedule, SectionTime { count: 1, time: Ns(10) }));
    assert_eq!(report.length, Ns(1000));
}

#[test]
fn totals_reasons_and_markers() {
    let report = small_run();
    assert_eq!((report.switches, report.wakeups, report.migrations, report.mismatched_switches), (4, 2, 0, 0));
    assert_eq!(report.reasons, [ReasonCount { reason: Reason::PickLeftmost, count: 1 }]);
    assert_eq!((report.markers.len(), report.markers[0].values.max()), (1, 33));
    assert_eq!((report.latency.len(), report.latency.max()), (2, 100));
}

#[test]
fn metrics_have_fixed_names_and_units() {
    let shown: Vec<String> =
        small_run().metrics().iter().map(|metric| format!("{} {} {}", metric.name, metric.shown(), metric.unit.name())).collect();
    expect_test::expect![[r#"
        switches 4 
        switches_involuntary 1 
        wakeups 2 
        migrations 0 
        busy_pct 25 %
        kernel_pct 0.5 %
        wakeup_latency_us.p50 0.01 us
        wakeup_latency_us.p90 0.1 us
        wakeup_latency_us.p99 0.1 us
        wakeup_latency_us.p99.9 0.1 us
        wakeup_latency_us.max 0.1 us
        sched_delay_max_ms 0.0003 ms"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn lost_records_are_counted_and_harmless() {
    let mut stats = RunStats::new(Instant::from_ns(10), 0);
    feed(&mut stats, 20, 3, switch(Some(9), PrevState::Sleeping, Some(2)));
    feed(&mut stats, 30, 3, switch(Some(4), PrevState::Sleeping, Some(5)));
    feed(&mut stats, 40, 3, switch(Some(5), PrevState::Running, Some(5)));
    let report = stats.finish(Instant::from_ns(50));
    assert_eq!(report.mismatched_switches, 1);
    assert_eq!(report.tasks[0].runtime, Ns(0), "nobody saw when task 2 left the CPU");
    assert_eq!((report.cpus.len(), report.cpus[3].busy, report.cpus[0].idle), (4, Ns(40), Ns(40)));
    assert_eq!(report.tasks.iter().map(|task| task.task.get()).collect::<Vec<_>>(), [2, 4, 5, 9]);
}

proptest::proptest! {
    /// Random switching of six tasks over three CPUs: all time is busy or idle, busy time is the
    /// tasks' run time, and a task never runs and waits at once.
    #[test]
    fn time_adds_up(steps in proptest::collection::vec((1u64..1000, 0u32..3, 0u32..7, 0u8..2), 0..200)) {
        let mut stats = RunStats::new(Instant::ZERO, 3);
        let mut current: [Option<u32>; 3] = [None; 3];
        let mut now = 0;
        for (passed, cpu, wanted, sleeps) in steps {
            now += passed;
            let next = (wanted < 6 && !current.contains(&Some(wanted))).then_some(wanted);
            let state = if sleeps == 1 { PrevState::Sleeping } else { PrevState::Running };
            next.into_iter().for_each(|task| feed(&mut stats, now, cpu, waking(task)));
            feed(&mut stats, now, cpu, switch(current[cpu as usize], state, next));
            current[cpu as usize] = next;
        }
        let report = stats.finish(Instant::from_ns(now + 10));
        let busy: u64 = report.cpus.iter().map(|cpu| cpu.busy.0).sum();
        proptest::prop_assert!(report.cpus.iter().all(|cpu| cpu.busy + cpu.idle == report.length));
        proptest::prop_assert_eq!(busy, report.tasks.iter().map(|task| task.runtime.0).sum::<u64>());
        proptest::prop_assert!(report.tasks.iter().all(|task| task.runtime + task.wait <= report.length));
        proptest::prop_assert_eq!(report.mismatched_switches, 0);
    }
}

#[test]
fn measurements_of_programs_count_in_their_window() {
    let window = Some((Instant::from_ns(20), Instant::from_ns(40)));
    let mut stats = RunStats::new(Instant::ZERO, 1).measured_in(window);
    for at in [10, 20, 30, 40, 41] {
        feed(&mut stats, at, 0, TraceEvent::Marker { task: TaskId::new(0), marker: MarkerId::new(0), value: at });
    }
    let report = stats.finish(Instant::from_ns(50));
    assert_eq!((report.markers[0].values.len(), report.markers[0].values.sum()), (3, 90));
}
