use super::*;
use fairground_model::PrevState;

fn switch(prev: Option<u32>, next: Option<u32>) -> TraceEvent {
    TraceEvent::SchedSwitch { prev: prev.map(TaskId::new), prev_state: PrevState::Sleeping, next: next.map(TaskId::new) }
}

fn timeline(records: &[(u64, u32, TraceEvent)], end: u64) -> Timeline {
    let mut sink = TimelineSink::new(Instant::ZERO, 2);
    records.iter().for_each(|(at, cpu, event)| sink.record(Instant::from_ns(*at), CpuId::new(*cpu), event));
    sink.finish(Instant::from_ns(end))
}

fn shown(row: &[Stretch]) -> Vec<(u64, u64, u32)> {
    row.iter().map(|stretch| (stretch.start.ns(), stretch.end.ns(), stretch.who)).collect()
}

#[test]
fn tasks_run_from_switch_to_switch_and_to_the_end() {
    let made =
        timeline(&[(10, 0, switch(Some(1), Some(2))), (30, 0, switch(Some(2), None)), (40, 1, switch(None, Some(1)))], 100);
    assert_eq!(shown(&made.cpus[0].tasks), [(0, 10, 1), (10, 30, 2)]);
    assert_eq!(shown(&made.cpus[1].tasks), [(40, 100, 1)]);
    assert_eq!((made.grain, made.by_time()), (Ns::ZERO, vec![(1, Ns(70)), (2, Ns(20))]));
}

#[test]
fn a_lost_switch_leaves_a_gap() {
    let made = timeline(&[(10, 0, switch(None, Some(2))), (30, 0, switch(Some(3), None))], 100);
    assert_eq!(shown(&made.cpus[0].tasks), []);
}

#[test]
fn the_kernel_has_a_lane_of_its_own() {
    let section = TraceEvent::KernelSection { section: Section::Syscall, took: Ns(7) };
    let made = timeline(&[(10, 1, section)], 100);
    assert_eq!(shown(&made.cpus[1].kernel), [(10, 17, Section::Syscall as u32)]);
    assert_eq!((section_name(Section::Syscall as u32), section_name(99)), ("syscall", ""));
}

/// The record of a throttle is that of the CPU that found it, not of the CPU that stops: CPUs are counted.
#[test]
fn a_group_is_out_of_quota_on_so_many_cpus() {
    let group = Decision::group(TgId::new(0));
    let decide = |reason, b| TraceEvent::Decision(Decision { reason, a: group, b });
    let records = [
        (10, 0, decide(Reason::Throttle, 5)),
        (20, 0, decide(Reason::Throttle, 5)),
        (50, 1, decide(Reason::Unthrottle, 0)),
        (50, 1, decide(Reason::Unthrottle, 1)),
        (80, 1, decide(Reason::Throttle, 1)),
    ];
    let made = timeline(&records, 100);
    assert_eq!(made.throttled.len(), 1);
    assert_eq!(shown(&made.throttled[0].1), [(10, 20, 1), (20, 50, 2), (80, 100, 1)]);
}
