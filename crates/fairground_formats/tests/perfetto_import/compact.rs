//! The columns of a bundle in which recent systems pack switches and wake-ups.

use super::*;

fn compact(cpu: u32, compact: CompactSched) -> TracePacket {
    let compact_sched = MessageField::some(compact);
    packet(Data::FtraceEvents(FtraceEventBundle { compact_sched, ..bundle(cpu, Vec::new()) }))
}
fn compact_switches(times: &[u64], next: &[i32]) -> CompactSched {
    CompactSched {
        intern_table: vec!["a".into(), "b".into()],
        switch_timestamp: times.to_vec(),
        switch_prev_state: vec![1; next.len()],
        switch_next_pid: next.to_vec(),
        switch_next_prio: vec![120; next.len()],
        switch_next_comm_index: vec![1; next.len()],
        ..CompactSched::default()
    }
}

#[test]
fn compact_switches_follow_each_other_and_begin_anew_behind_lost_events() {
    let lossy = |mut packet: TracePacket| {
        let Some(Data::FtraceEvents(bundle)) = &mut packet.data else { panic!("a bundle") };
        bundle.lost_events = Some(true);
        packet
    };
    let packets = vec![
        compact(0, compact_switches(&[100, 10], &[7, 8])),
        compact(0, compact_switches(&[120], &[0])),
        lossy(compact(0, compact_switches(&[200, 10, 10], &[9, 0, 7]))),
    ];
    let trace = read(&file(packets));
    let pid = |task: Option<_>| task.map_or(0, |task| trace.tasks[task].pid);
    let switches: Vec<_> = trace
        .events
        .iter()
        .map(|(at, _, event)| match *event {
            TraceEvent::SchedSwitch { prev, prev_state: PrevState::Sleeping, next } => (at.ns(), pid(prev), pid(next)),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(switches, [(0, 7, 8), (10, 8, 0), (100, 9, 0)]);
    let stats = &trace.stats;
    assert_eq!((stats.not_used, stats.lost_events, stats.skipped), (2, 1, 1), "{}", notes(&trace));
    for what in ["does not tell who ran before", "the idle task, which cannot sleep"] {
        assert!(notes(&trace).contains(what), "{what}: {}", notes(&trace));
    }
}

#[test]
fn the_current_task_of_plain_events_tells_who_ran_before_the_first_compact_switch() {
    let Some(Data::FtraceEvents(mut both)) = compact(0, compact_switches(&[100], &[7])).data else { panic!("a bundle") };
    both.event = vec![event(90, 5, Event::Print(PrintFtraceEvent::default()))];
    let trace = read(&file(vec![packet(Data::FtraceEvents(both))]));
    let TraceEvent::SchedSwitch { prev: Some(prev), .. } = trace.events[0].2 else { panic!("{:?}", trace.events) };
    assert_eq!((trace.tasks[prev].pid, trace.stats.not_used), (5, 1));
}

#[test]
fn columns_that_do_not_fit_and_names_that_are_not_there() {
    let short = CompactSched { switch_next_prio: vec![120], ..compact_switches(&[100, 10, 10], &[7, 8, 9]) };
    let nameless = CompactSched { intern_table: Vec::new(), ..compact_switches(&[200], &[5]) };
    let negative = compact_switches(&[300], &[-1]);
    let trace = read(&file(vec![compact(0, short), compact(0, nameless), compact(0, negative)]));
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.stats.not_used), (1, 2, 1), "{}", notes(&trace));
    for what in ["columns of compact events", "a name that its bundle does not hold", "negative number"] {
        assert!(notes(&trace).contains(what), "{what}: {}", notes(&trace));
    }
}

#[test]
fn wakings_without_flags_count_as_made_by_the_current_task() {
    let wakings = CompactSched {
        waking_timestamp: vec![50, 60, 1],
        waking_pid: vec![20, 21, 22],
        waking_target_cpu: vec![1, 1, -1],
        waking_prio: vec![120, 120, 120],
        waking_comm_index: vec![0, 0, 0],
        ..compact_switches(&[100], &[7])
    };
    let trace = read(&file(vec![compact(0, wakings)]));
    let wakers: Vec<_> = trace
        .events
        .iter()
        .map(|row| match row.2 {
            TraceEvent::SchedWaking { waker, context, .. } => (waker.map(|task| trace.tasks[task].pid), context),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(wakers, [(None, WakeContext::Hardirq), (Some(7), WakeContext::Task)]);
    for what in ["do not tell the waker", "whether an interrupt made them", "negative number"] {
        assert!(notes(&trace).contains(what), "{what}: {}", notes(&trace));
    }
}
