//! What a recording as a whole is to be noted for: its clock, and events that were not recorded.

use crate::import::ImportStats;
use crate::perf_data::attrs::Attrs;
use crate::perf_data::tracepoints::{Records, Tracepoints};

/// Notes what is odd about the events that were recorded.
pub(super) fn on_recording(attrs: &Attrs, tracepoints: &Tracepoints, stats: &mut ImportStats) {
    let mut clocks = Vec::new();
    let mut names = Vec::new();
    for attr in attrs.events() {
        let Some(tracepoint) = attr.tracepoint.and_then(|number| tracepoints.get(number)) else { continue };
        if matches!(tracepoint.records, Records::NotUsed) {
            continue;
        }
        names.push(tracepoint.name.as_str());
        if !clocks.contains(&attr.clock) {
            clocks.push(attr.clock);
        }
    }
    match clocks.as_slice() {
        [] | [None] => {}
        [Some(clock)] => stats.info(0, &format!("times are of the clock {clock:?}")),
        _ => stats.warn(0, "events were recorded with different clocks: their order and distances mean nothing"),
    }
    let has = |name: &str| names.contains(&name);
    if !has("sched_switch") {
        stats.warn(0, "`sched_switch` was not recorded: who ran is not known");
    }
    match (has("sched_waking"), has("sched_wakeup")) {
        (false, false) => stats.warn(0, "no wake-ups were recorded (neither `sched_waking` nor `sched_wakeup`)"),
        (false, true) => stats.info(0, "`sched_waking` was not recorded: wakers and previous CPUs are not known"),
        (true, false) => {
            stats.info(0, "`sched_wakeup` was not recorded: the CPU that a wake-up chose shows only when the task runs");
        }
        (true, true) => {}
    }
}
