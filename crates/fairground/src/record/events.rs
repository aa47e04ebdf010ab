//! The events that a recording needs, and which of them this kernel has.

use super::root::Root;
use fairground_scenario::Error;

/// Where tracefs may be mounted.
pub(super) const TRACEFS: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
/// Without it nothing can be read.
const NEEDED: &str = "sched:sched_switch";
/// What each tells stands in docs/how-to-record.md.
const WANTED: [&str; 11] = [
    NEEDED,
    "sched:sched_waking",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "sched:sched_stat_runtime",
    "sched:sched_process_fork",
    "sched:sched_process_exit",
    "cgroup:cgroup_attach_task",
    "cgroup:cgroup_transfer_tasks",
    "power:cpu_frequency",
];

/// Events by whether the kernel has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    pub(super) there: Vec<String>,
    pub(super) missing: Vec<String>,
}

/// The folder in which tracefs shows the events.
pub(super) fn tracefs(root: &Root) -> Option<&'static str> {
    TRACEFS.into_iter().find(|folder| root.path(&format!("{folder}/events")).is_dir())
}

/// Looks which of the wanted events, and of those that were asked for besides, there are.
pub(super) fn choose(root: &Root, besides: &[String]) -> Result<Events, Error> {
    let Some(folder) = tracefs(root) else {
        let message = "the kernel's tracepoints cannot be seen: tracefs is not mounted, or not readable by this user";
        let hint = "As root: `mount -t tracefs none /sys/kernel/tracing`. For a user: `sudo fairground record …`, or `sudo mount -o \
                    remount,mode=755 /sys/kernel/tracing` with `sudo sysctl kernel.perf_event_paranoid=-1`.";
        return Err(Error::one("record", message, hint));
    };
    let mut events = Events::default();
    for event in WANTED.into_iter().chain(besides.iter().map(String::as_str)) {
        let shape = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let Some((system, name)) = event.split_once(':').filter(|(system, name)| shape(system) && shape(name)) else {
            return Err(Error::one(
                format!("--event {event}"),
                "this is no tracepoint",
                "Write SYSTEM:NAME, as in irq:softirq_entry.",
            ));
        };
        let is_there = root.path(&format!("{folder}/events/{system}/{name}")).is_dir();
        let list = if is_there { &mut events.there } else { &mut events.missing };
        if !list.iter().any(|known| known == event) {
            list.push(event.to_string());
        }
    }
    if events.missing.iter().any(|event| event == NEEDED) {
        let message = "this kernel has no tracepoint sched:sched_switch, and without it nothing can be read";
        return Err(Error::one(
            "record",
            message,
            "Boot a kernel that was built with CONFIG_TRACEPOINTS and CONFIG_EVENT_TRACING.",
        ));
    }
    if let Some(event) = besides.iter().find(|event| events.missing.contains(event)) {
        return Err(Error::one(
            format!("--event {event}"),
            "this kernel has no such tracepoint",
            format!("See /{folder}/events."),
        ));
    }
    Ok(events)
}
