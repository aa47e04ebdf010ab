use super::*;
use fairground_model::{MarkerUnit, WakeContext};

fn task(id: u32) -> TaskId {
    TaskId::new(id)
}
fn feed(figures: &mut Figures, at: u64, cpu: u32, event: TraceEvent) {
    figures.record(Instant::from_ns(at), CpuId::new(cpu), &event);
}
fn switch(prev: Option<u32>, prev_state: PrevState, next: Option<u32>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev: prev.map(task), prev_state, next: next.map(task) }
}
fn waking(id: u32) -> TraceEvent {
    TraceEvent::SchedWaking { task: task(id), target_cpu: CpuId::new(0), waker: None, context: WakeContext::Hardirq }
}
fn named(figures: &mut Figures, names: &[&str]) {
    for (id, name) in (0..).zip(names) {
        figures.task(task(id), &TaskInfo { name: (*name).into(), pid: 100 + id, prio: 120 });
    }
}
fn shown(figures: &FigureMap, name: &str) -> String {
    figures.get(name).map_or("-".into(), Figure::to_string)
}
/// Two hogs and a helper on CPU 0, one preemption on each side of the window's end.
fn two_hogs(window: Window) -> FigureMap {
    let mut figures = Figures::new(window, [task(0), task(1)]);
    named(&mut figures, &["h00", "h01", "helper"]);
    let running = PrevState::Running;
    feed(&mut figures, 50, 0, waking(2));
    feed(&mut figures, 100, 0, waking(0));
    feed(&mut figures, 110, 0, waking(1));
    feed(&mut figures, 120, 0, switch(None, running, Some(0)));
    feed(&mut figures, 300, 0, switch(Some(0), running, Some(1)));
    feed(&mut figures, 305, 1, TraceEvent::SchedMigrateTask { task: task(0), orig_cpu: CpuId::new(0), dest_cpu: CpuId::new(1) });
    feed(&mut figures, 310, 1, switch(None, running, Some(0)));
    feed(&mut figures, 700, 0, switch(Some(1), PrevState::Sleeping, None));
    feed(&mut figures, 1200, 1, switch(Some(0), running, Some(2)));
    feed(&mut figures, 1250, 1, switch(Some(2), PrevState::Dead, Some(0)));
    figures.finish(Instant::from_ns(1300))
}

#[test]
fn slices_waits_and_window() {
    let window = Window { start: Instant::from_ns(100), end: Instant::from_ns(1100) };
    let fixed = two_hogs(window);
    let expected = [
        ("tasks.h00.runtime_ns", "970"),
        ("tasks.h00.slices", "2"),
        ("tasks.h00.slice_median_ns", "790"),
        ("tasks.h00.max_wait_ns", "20"),
        ("tasks.h00.migrations", "1"),
        ("tasks.h00.cpus", "0-1"),
        ("tasks.h01.max_wait_ns", "190"),
        ("tasks.helper.slices", "-"),
        ("all.tasks", "2"),
        ("all.runtime_ns", "1370"),
        ("all.switches", "4"),
        ("all.migrations", "1"),
        ("all.preemptions", "2"),
        ("all.slice_ns.n", "3"),
        ("all.slice_ns.p50", "400"),
        ("all.wake_to_run_ns.n", "2"),
        ("all.wake_to_run_ns.max", "190"),
        ("all.max_wait_ns", "190"),
        ("all.runtime_cv", "0.4161"),
    ];
    for (name, value) in expected {
        assert_eq!(shown(&fixed, name), value, "{name}");
    }
}

#[test]
fn programs_report_through_markers() {
    let names = [("first_run", MarkerUnit::Ns), ("response", MarkerUnit::Ns), ("jobs", MarkerUnit::Count)];
    let markers: IndexVec<MarkerId, MarkerSpec> =
        names.into_iter().map(|(name, unit)| MarkerSpec { name: name.into(), unit }).collect();
    let mut figures = Figures::new(Window::ALL, [task(0), task(1)]).with_markers(&markers);
    named(&mut figures, &["press00", "press01"]);
    for (who, marker, value) in
        [(0, 0, 10), (0, 1, 70), (0, 0, 21), (1, 0, 15), (1, 1, 90), (1, 2, 1), (1, 2, 1), (2, 0, 999), (0, 7, 999)]
    {
        let marker = MarkerId::new(marker);
        feed(&mut figures, 1, 0, TraceEvent::Marker { task: task(who), marker, value });
    }
    let figures = figures.finish(Instant::from_ns(2));
    let expected = [
        ("press00.jobs", "-"),
        ("press01.jobs", "2"),
        ("press00.maxfirst_ns", "21"),
        ("press00.avgfirst_ns", "15"),
        ("press01.maxresp_ns", "90"),
        ("press01.maxfirst_ns", "15"),
        ("press.max_first_run_ns", "21"),
        ("press.max_response_ns", "90"),
    ];
    for (name, value) in expected {
        assert_eq!(shown(&figures, name), value, "{name}");
    }
}

#[test]
fn nothing_measured_is_no_failure() {
    let figures = Figures::new(Window::ALL, []).finish(Instant::ZERO);
    assert_eq!((shown(&figures, "all.tasks").as_str(), shown(&figures, "all.slice_ns.n").as_str()), ("0", "0"));
}
