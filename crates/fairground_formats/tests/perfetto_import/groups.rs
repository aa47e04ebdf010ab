//! Moves between control groups.

use super::{event, events, notes, read, switch};
use crate::common::pftrace::file;
use perfetto_protos::cgroup::{CgroupAttachTaskFtraceEvent, CgroupTransferTasksFtraceEvent};
use perfetto_protos::ftrace_event::ftrace_event::Event;

#[test]
fn moves_between_groups_are_told_to_the_task_that_moves() {
    let attach = |root, path: Option<&str>| {
        let path = path.map(str::to_string);
        Event::CgroupAttachTask(CgroupAttachTaskFtraceEvent {
            dst_root: Some(root),
            pid: Some(7),
            comm: Some("t7".into()),
            dst_path: path,
            ..Default::default()
        })
    };
    let transfer = Event::CgroupTransferTasks(CgroupTransferTasksFtraceEvent {
        pid: Some(7),
        dst_path: Some("/web".into()),
        ..Default::default()
    });
    let rows = vec![
        event(1, 9, attach(0, Some("/db"))),
        event(2, 9, attach(3, Some("/cpuset"))),
        event(3, 9, attach(0, None)),
        switch(4, 0, 7),
        event(5, 9, transfer),
        switch(6, 7, 0),
    ];
    let trace = read(&file(vec![events(0, rows)]));
    let told: Vec<(usize, u32, &str)> =
        trace.groups.iter().map(|of| (of.before, trace.tasks[of.task].pid, of.path.as_str())).collect();
    assert_eq!(told, [(0, 7, "/db"), (1, 7, "/web")]);
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.stats.not_used), (2, 1, 1), "{}", notes(&trace));
}
