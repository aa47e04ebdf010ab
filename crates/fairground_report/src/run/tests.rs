use super::*;
use expect_test::expect;
use fairground_metrics::RunStats;
use fairground_model::{Decision, PrevState, Reason, Section, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Instant, MarkerId, TaskId};

const MARKER: MarkerId = MarkerId::new(0);

/// A hog and a task that wakes once while the hog runs, on CPU 0 of two.
fn report() -> RunReport {
    let mut stats = RunStats::new(Instant::ZERO, 2);
    let (hog, player) = (TaskId::new(0), TaskId::new(1));
    stats.task(hog, &TaskInfo { name: "hog".into(), pid: 7, prio: 125 });
    stats.task(player, &TaskInfo { name: "player".into(), pid: 8, prio: 115 });
    let mut feed = |at: u64, event| stats.record(Instant::from_ns(at), CpuId::new(0), &event);
    let waking = |task| TraceEvent::SchedWaking { task, target_cpu: CpuId::new(0), waker: None, context: WakeContext::Hardirq };
    let switch = |prev, prev_state, next| TraceEvent::SchedSwitch { prev, prev_state, next };
    feed(0, TraceEvent::SchedWakeupNew { task: hog, target_cpu: CpuId::new(0) });
    feed(2_000, switch(None, PrevState::Running, Some(hog)));
    feed(5_000_000, waking(player));
    feed(5_000_000, TraceEvent::SchedWakeup { task: player, target_cpu: CpuId::new(0) });
    feed(5_000_000, TraceEvent::Decision(Decision { reason: Reason::WakePreempts, a: 1, b: 0 }));
    feed(5_001_000, TraceEvent::KernelSection { section: Section::Schedule, took: Ns(1_500) });
    feed(5_002_500, switch(Some(hog), PrevState::Running, Some(player)));
    feed(7_002_500, TraceEvent::Marker { task: player, marker: MARKER, value: 2_002_500 });
    feed(7_002_500, switch(Some(player), PrevState::Sleeping, Some(hog)));
    stats.finish(Instant::from_ns(10_000_000))
}

#[test]
fn tasks() {
    expect![[r#"
        Tasks
        task    nice  runs  run ms   %cpu  switches  invol  migr  wait max  wakeups  lat p50  lat p99  lat max
        ------  ----  ----  ------  -----  --------  -----  ----  --------  -------  -------  -------  -------
        hog        5     2   7.998  79.98         1      1     0   2.00 ms        1  2.00 us  2.00 us  2.00 us
        player    -5     1   2.000  20.00         1      0     0   2.50 us        1  2.50 us  2.50 us  2.50 us
    "#]]
    .assert_eq(&task_table(&report(), &[]).to_string());
}

#[test]
fn cpus_sections_and_reasons() {
    let report = report();
    expect![[r#"
        CPUs
        cpu  busy ms  busy %  idle ms  kernel ms  kernel %  switches
        ---  -------  ------  -------  ---------  --------  --------
          0    9.998   99.98    0.002      0.002      0.01         3
          1    0.000    0.00   10.000      0.000      0.00         0
    "#]]
    .assert_eq(&cpu_table(&report).to_string());
    expect![[r#"
        Time in the kernel
        section   count    total     mean
        --------  -----  -------  -------
        schedule      1  1.50 us  1.50 us
    "#]]
    .assert_eq(&section_table(&report).to_string());
    expect![[r#"
        Why decisions fell
        reason         count  rule
        -------------  -----  --------------------------------------------------
        wake-preempts      1  A is before B by more than the wake-up granularity
    "#]]
    .assert_eq(&reason_table(&report).to_string());
}

#[test]
fn metrics_are_named() {
    let report = report();
    let metrics = metrics_table(&report.metrics()).to_string();
    assert!(metrics.contains("sched_delay_max_ms"), "{metrics}");
}

#[test]
fn json() {
    let report = report();
    let facts =
        RunFacts { scenario_digest: 1, digest: 2, seed: 3, simulated: Ns::from_ms(10), events: 1_000, wall: Ns::from_us(100) };
    let document = run_document(&[Input::new("player.json", 4)], &facts, &report.metrics(), &[cpu_table(&report)]);
    assert_eq!(document.get("events_per_s"), Some(&json!(10_000_000)));
    assert_eq!(document.get("scenario_digest"), Some(&json!("00000000000000000000000000000001")));
    assert_eq!(document.get("metrics").unwrap()["sched_delay_max_ms"], json!({ "value": 2, "unit": "ms" }));
    assert_eq!(document.get("metrics").unwrap()["wakeup_latency_us.max"], json!({ "value": 2.5, "unit": "us" }));
    assert_eq!(document.get("tables").unwrap()[0]["rows"][0]["busy_ns"], json!(9_998_000));
}
