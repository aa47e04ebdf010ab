//! Whether tasks can run, and whether what is measured lies in the run.

use crate::MAX_DURATION;
use crate::nouns::workload::Workload;
use fairground_model::{Mistakes, Start};
use fairground_stdx::{CpuMask, Instant, Ns};
pub(crate) fn check_duration(duration: Ns, span: Option<std::ops::Range<usize>>, m: &mut Mistakes) {
    let message = match duration {
        Ns::ZERO => "a duration of 0",
        _ if duration > MAX_DURATION => "the duration is longer than 13 days",
        _ => return,
    };
    let hint = "Simulated time goes up to 13 days; seconds are usual.";
    match span {
        Some(span) => m.at(span, message, hint),
        None => m.whole(message, hint),
    }
}

/// Says which tasks have their start behind the end of the run.
pub(crate) fn never_started(workloads: &[Workload], duration: Ns) -> Option<String> {
    let tasks = workloads.iter().flat_map(|workload| workload.tasks.tasks.iter());
    let late: Vec<&str> = tasks
        .filter(|task| matches!(task.start, Start::At(at) if at.ns() >= duration.0))
        .map(|task| task.name.as_str())
        .collect();
    let first = late.first()?;
    Some(format!("the run ends at {duration}, before {} of its tasks would start (the first is `{first}`)", late.len()))
}

/// Says that the run ends before measurements of its programs count.
pub(crate) fn never_measured(window: Option<(Instant, Instant)>, workloads: &[Workload], duration: Ns) -> Option<String> {
    let own = workloads.iter().filter_map(|workload| workload.tasks.window).max();
    let (from, _) = window.or(own).filter(|window| window.0.ns() >= duration.0)?;
    Some(format!("the run ends at {duration}, and measurements count from {} on only", Ns(from.ns())))
}

/// Every task needs a CPU that exists.
pub(crate) fn check_tasks(workloads: &[Workload], online: &CpuMask, m: &mut Mistakes) {
    for workload in workloads {
        for (id, task) in workload.tasks.tasks.iter_enumerated() {
            let allowed = task.affinity.unwrap_or(*online);
            let message = if !allowed.intersects(online) {
                format!("task `{}` has no allowed CPU: it may use {allowed}", task.name)
            } else if let Some(cpu) = task.first_cpu.filter(|cpu| !allowed.and(online).contains(*cpu)) {
                format!("task `{}` cannot start on CPU {cpu}", task.name)
            } else {
                continue;
            };
            workload.mistake(id, message, format!("The machine has the CPUs {online}."), m);
        }
    }
}
