//! Containers: a recording, and beside it what a trace does not tell.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::files::{Files, tar};
use fairground_formats::{ImportError, RecordedTrace, read_any, read_repaired_folder};

/// `web` is in a CPU group, `sh` in an autogroup; `sh` forks `job`, which goes to another group of hierarchy 4. The move in hierarchy 7 is
/// none of the cpu controller.
const TRACE: &str = "\
 sh-20      [000] d..2.  1.000001: sched_process_fork: comm=sh pid=20 child_comm=sh child_pid=30
 sh-20      [000] d..2.  1.000002: cgroup_attach_task: dst_root=4 dst_id=9 dst_level=1 dst_path=/batch/no-cpu pid=30 comm=sh
 sh-20      [000] d..2.  1.000003: cgroup_attach_task: dst_root=7 dst_id=9 dst_level=1 dst_path=/other pid=30 comm=sh
 sh-20      [000] d..2.  1.000004: sched_switch: prev_comm=sh prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=web next_pid=10 next_prio=120
 web-10     [000] d..2.  1.000005: sched_switch: prev_comm=web prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=job next_pid=30 next_prio=120
 job-30     [000] d..2.  1.000006: sched_switch: prev_comm=job prev_pid=30 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";
const MANIFEST: &str =
    r#"{"format": "fairground recording", "version": 1, "events": ["sched:sched_switch", "cgroup:cgroup_attach_task"]}"#;
const HOST: &str = r#"{"release": "6.12.1", "hz": 250, "autogroup": true, "cpu_hierarchy": 4, "online": "0-3", "loadavg": "7.10 1 1",
    "later": {"keys": "are skipped"}, "stat": ["cpu 100 0 0 100 0 0 0 0 0 0"]}"#;
const HOST_AFTER: &str = r#"{"online": "0-2", "stat": ["cpu 150 0 0 140 0 0 0 10 0 0"]}"#;
const GROUPS: &str = r#"{"path": "/"}
{"path": "/batch", "shares": 512, "quota_us": 50000, "period_us": 100000}
{"path": "/batch/web", "shares": 2048}
{"path": "/autogroup-5", "shares": 1024}
{"path": "/set", "cpuset": true, "cpus": "0"}
"#;
const TASKS: &str = r#"{"tid": 10, "pid": 10, "comm": "web", "group": "/batch/web", "policy": 3, "affinity": "1-2", "slice_ns": 3000000}
{"tid": 20, "pid": 20, "comm": "sh", "group": "/autogroup-5", "policy": 0, "affinity": "0-3", "slice_ns": 1400000}
{"tid": 21, "pid": 21, "comm": "ba\"d\u001b[31m\n", "group": "/autogroup-5", "policy": 0, "slice_ns": 1400000}
this line is none
"#;

fn files() -> Vec<(String, Vec<u8>)> {
    let rows = [
        ("manifest.json", MANIFEST),
        ("trace.txt", TRACE),
        ("before/host.json", HOST),
        ("before/groups.jsonl", GROUPS),
        ("before/tasks.jsonl", TASKS),
        ("before/machine.toml", ""),
        ("after/host.json", HOST_AFTER),
        ("after/groups.jsonl", GROUPS),
        ("after/tasks.jsonl", ""),
        ("after/machine.toml", ""),
    ];
    rows.iter().map(|row| (row.0.to_string(), row.1.as_bytes().to_vec())).collect()
}

fn read(files: Vec<(String, Vec<u8>)>) -> Result<RecordedTrace, ImportError> {
    read_repaired_folder(&mut Files::new(files), "x.fgr")
}

/// Which groups each task was in, by its pid.
fn history(trace: &RecordedTrace, pid: u32) -> Vec<&str> {
    trace.groups.iter().filter(|of| trace.tasks[of.task].pid == pid).map(|of| of.path.as_str()).collect()
}

#[test]
fn groups_come_from_the_snapshot_from_parents_and_from_moves_of_the_cpu_hierarchy() {
    let trace = read(files()).unwrap();
    assert_eq!((trace.stats.format, trace.stats.events), ("fgr", 4), "{:?}", trace.stats.notes);
    assert_eq!(history(&trace, 10), ["/batch/web"]);
    assert_eq!(history(&trace, 20), ["/autogroup-5"]);
    // A group without the controller counts as the one above it.
    assert_eq!(history(&trace, 30).last(), Some(&"/batch"), "{:?}", history(&trace, 30));
    assert!(!history(&trace, 30).contains(&"/other"));
    assert_eq!(trace.stats.kernel_release.as_deref(), Some("6.12.1"));
}

#[test]
fn weights_limits_and_settings_are_those_of_the_beginning() {
    let trace = read(files()).unwrap();
    let container = trace.stats.container.clone().unwrap();
    let (specs, left_out) = container.beginning().unwrap().specs();
    let rows: Vec<(&str, u64, Option<u64>)> =
        specs.iter().map(|group| (group.name.as_str(), group.shares, group.limit.quota.map(|quota| quota.0))).collect();
    assert_eq!(rows, [("/autogroup-5", 1024, None), ("/batch", 512, Some(50_000_000)), ("/batch/web", 2048, None)]);
    assert_eq!((specs.iter().last().unwrap().parent.map(|parent| parent.get()), left_out), (Some(1), 0));
    let settings = container.beginning().unwrap().settings();
    assert_eq!(settings.keys().copied().collect::<Vec<_>>(), [10], "what every task has is no setting");
    let web = settings[&10];
    assert_eq!((web.policy, web.slice.map(|slice| slice.0)), (Some(fairground_model::Policy::Batch), Some(3_000_000)));
    assert_eq!(web.affinity.unwrap().to_string(), "1-2");
}

#[test]
fn what_changed_on_the_host_and_what_is_missing_is_said() {
    let trace = read(files()).unwrap();
    let notes: Vec<String> = trace.stats.notes.iter().map(ToString::to_string).collect();
    let has = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(has("CPUs went on or off line while it was recorded: 0-3 at the beginning, 0-2 at the end"), "{notes:?}");
    assert!(has("load average of the host when the recording began: 7.10"), "{notes:?}");
    assert!(has("a hypervisor took 10.0 %"), "{notes:?}");
    assert!(has("1 lines of the snapshot `before` are not read"), "{notes:?}");
    for name in ["before/host.json", "before/groups.jsonl", "before/tasks.jsonl", "before/machine.toml", "after/tasks.jsonl"] {
        let trace = read(files().into_iter().filter(|file| file.0 != name).collect()).unwrap();
        let said = format!("the container has no `{name}`");
        assert!(trace.stats.warnings().any(|note| note.what.contains(&said)), "{name}: {:?}", trace.stats.notes);
        assert_eq!(trace.stats.events, 4);
    }
}

#[test]
fn a_container_of_another_version_or_without_a_recording_is_refused_by_name() {
    let with = |name: &str, content: &str| {
        let files = files().into_iter().map(|file| if file.0 == name { (file.0, content.as_bytes().to_vec()) } else { file });
        read(files.collect()).unwrap_err().to_string()
    };
    assert!(with("manifest.json", &MANIFEST.replace("1,", "2,")).contains("version 2, and this program reads version 1"));
    assert!(with("manifest.json", "{").contains("is no JSON"));
    assert!(with("manifest.json", r#"{"format": "x", "version": 1}"#).contains("does not say"));
    assert!(with("manifest.json", &MANIFEST.replace(r#""version": 1,"#, "")).contains("tells no version"));
    assert!(with("trace.txt", "").contains("`x.fgr/trace.txt` is empty"));
    let without = read(files().into_iter().filter(|file| file.0 != "trace.txt").collect()).unwrap_err().to_string();
    assert!(without.contains("has no recording in it") && without.contains("perf.data"), "{without}");
}

#[test]
fn an_archive_of_a_container_is_the_same_trace() {
    let whole = read(files()).unwrap();
    let inside: Vec<(String, Vec<u8>)> = files().into_iter().map(|file| (format!("x.fgr/{}", file.0), file.1)).collect();
    let read = read_any(&tar(&inside)[..], "x.fgr.tar").unwrap();
    let plain = read_repaired_folder(&mut Files::new(inside), "x.fgr").unwrap();
    assert_eq!((plain.events, plain.groups.len()), (whole.events, whole.groups.len()));
    assert_eq!((read.tasks, read.groups.len()), (plain.tasks, plain.groups.len()));
}

#[test]
fn a_snapshot_may_have_a_hundred_thousand_tasks() {
    let rows =
        (0..100_000).map(|row| format!("{{\"tid\": {row}, \"pid\": {row}, \"comm\": \"t\", \"group\": \"/autogroup-5\"}}\n"));
    let tasks: String = rows.collect();
    let files =
        files().into_iter().map(|file| if file.0 == "before/tasks.jsonl" { (file.0, tasks.clone().into_bytes()) } else { file });
    let trace = read(files.collect()).unwrap();
    assert_eq!(trace.stats.container.unwrap().before.as_ref().unwrap().tasks.len(), 100_000);
    assert_eq!(trace.stats.events, 4);
}
