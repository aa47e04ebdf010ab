//! `record` and `snapshot`, and containers as inputs of other commands.

use crate::support::{Folder, ok, run};

/// Text of ftrace in which `web` of the snapshot runs, and a task that it does not know.
const TRACE: &str = "\
 web-10 [000] d..2.  1.000001: sched_waking: comm=new pid=77 prio=120 target_cpu=000
 web-10 [000] d..2.  1.000002: sched_switch: prev_comm=web prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=new next_pid=77 next_prio=120
 new-77 [000] d..2.  1.003000: sched_waking: comm=web pid=10 prio=120 target_cpu=000
 new-77 [000] d..2.  1.003005: sched_switch: prev_comm=new prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=web next_pid=10 next_prio=120
 web-10 [000] d..2.  1.004000: sched_switch: prev_comm=web prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// A container with one group of weight 300.
fn container(folder: &Folder) -> String {
    std::fs::create_dir_all(folder.path("x.fgr/before")).unwrap();
    folder.file("x.fgr/manifest.json", "{\"format\": \"fairground recording\", \"version\": 1}");
    folder.file("x.fgr/before/host.json", "{\"release\": \"6.12.1\", \"online\": \"0\", \"preempt\": \"voluntary\"}");
    folder.file("x.fgr/before/groups.jsonl", "{\"path\": \"/svc\", \"shares\": 3072}\n");
    folder
        .file("x.fgr/before/tasks.jsonl", "{\"tid\": 10, \"pid\": 10, \"comm\": \"web\", \"group\": \"/svc\", \"policy\": 3}\n");
    folder.file("x.fgr/trace.txt", TRACE);
    folder.path("x.fgr")
}

#[test]
fn every_command_that_takes_a_trace_takes_a_container() {
    let folder = Folder::new();
    let path = container(&folder);
    assert!(ok(&["latency", &path]).out.contains("/svc"));
    assert!(ok(&["timehist", &path, "--cgroup", "/svc"]).out.contains("web"));
    assert!(ok(&["explain", &path]).out.contains("/svc"));
    let replayed = ok(&["replay", &path]);
    assert!(replayed.err.contains("1 groups of the trace are kept, with their weights and limits"), "{}", replayed.err);
    assert!(replayed.err.contains("1 tasks have the policy, slice, clamps or CPUs"), "{}", replayed.err);
    assert!(replayed.err.contains("6.12.1"), "{}", replayed.err);
    let compared = run(&["conform", &path]);
    assert!([0, 4].contains(&compared.code), "{}\n{}", compared.out, compared.err);
    assert!(compared.err.contains("1 groups with their weights are those of the recording"), "{}", compared.err);
    let advised = run(&["advise", &path, "--comm", "web", "--cpu-max", "1", "--goal", "p99=5ms"]);
    assert!([0, 1, 4].contains(&advised.code), "{}\n{}", advised.out, advised.err);
    let out = folder.path("out.json");
    ok(&["convert", &path, &out]);
    let compared = run(&["compare", &path, &path]);
    assert!([0, 4].contains(&compared.code), "{}\n{}", compared.out, compared.err);
    assert!(folder.has("out.json"));
}

#[test]
fn a_snapshot_is_a_container_to_record_into() {
    let folder = Folder::new();
    let path = folder.path("x.fgr");
    let made = ok(&["snapshot", "-o", &path, "--json"]).json();
    assert_eq!(made["command"], "snapshot");
    assert!(made["tasks"].as_u64().unwrap() > 0);
    let empty = run(&["latency", &path]);
    assert_eq!(empty.code, 2);
    assert!(empty.err.contains("has no recording in it") && empty.err.contains("perf.data"), "{}", empty.err);
    folder.file("x.fgr/trace.txt", TRACE);
    assert!(ok(&["latency", &path]).out.contains("web"));
    // It does not replace what is there, and the folder holds nothing else.
    let again = run(&["snapshot", "-o", &path]);
    assert_eq!((again.code, folder.names()), (2, vec!["x.fgr".to_string()]));
    assert!(again.err.contains("is there already"), "{}", again.err);
}

#[test]
fn a_recording_is_refused_before_it_begins_where_its_output_is_there() {
    let folder = Folder::new();
    let path = folder.file("x.fgr", "kept");
    let refused = run(&["record", "-o", &path, "--", "true"]);
    assert!(refused.code == 2 && refused.err.contains("is there already"), "{}", refused.err);
    assert_eq!(folder.read("x.fgr"), "kept");
    for words in [["--for", "0s"], ["--for", "x"], ["--buffer", "0"], ["--recorder", "x"]] {
        assert_eq!(run(&["record", words[0], words[1]]).code, 2, "{words:?}");
    }
    assert_eq!(run(&["record", "--event", "../x:y", "-o", &folder.path("y.fgr")]).code, 2);
}

#[test]
fn a_container_from_another_version_is_refused_by_name() {
    let folder = Folder::new();
    let path = container(&folder);
    folder.file("x.fgr/manifest.json", "{\"format\": \"fairground recording\", \"version\": 9}");
    let refused = run(&["conform", &path]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("version 9, and this program reads version 1"), "{}", refused.err);
}

#[test]
fn names_of_a_snapshot_do_not_steer_the_terminal() {
    let folder = Folder::new();
    let path = container(&folder);
    folder.file("x.fgr/before/tasks.jsonl", "{\"tid\": 10, \"pid\": 10, \"comm\": \"web\", \"group\": \"/s\\u001b[31m\"}\n");
    folder.file("x.fgr/before/groups.jsonl", "{\"path\": \"/s\\u001b[31m\", \"shares\": 3072}\n");
    folder.file(
        "x.fgr/before/host.json",
        "{\"release\": \"6.12.1\\u001b[31m\", \"loadavg\": \"\\u001b[31m\", \"not_readable\": [\"\\u001b[31m\"]}\n",
    );
    for command in ["latency", "timehist", "explain", "replay", "conform"] {
        let ran = run(&[command, &path]);
        assert!(ran.code == 0 || (command == "conform" && ran.code == 4), "{command}: {}", ran.err);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{command}: {}\n{}", ran.out, ran.err);
    }
}

/// A recording of this machine: two tasks that spin on one CPU, from before their start to their end.
#[test]
#[ignore = "records this machine: it needs perf and root; `cargo xtask nightly` runs it"]
fn this_machine_is_recorded_and_compared_with_the_model() {
    let folder = Folder::new();
    for recorder in ["perf", "tracefs"] {
        let path = folder.path(&format!("{recorder}.fgr"));
        let hogs =
            "taskset -c 0 timeout 2 sh -c 'while :; do :; done' & taskset -c 0 timeout 2 sh -c 'while :; do :; done' & wait";
        let made = ok(&["record", "--recorder", recorder, "-o", &path, "--json", "--", "sh", "-c", hogs]).json();
        assert!(made["events"].as_u64().unwrap() > 500 && made["lost_events"] == 0, "{made}");
        let compared = ok(&["conform", &path, "--json"]).json();
        let pick = &compared["decisions"].as_array().unwrap().iter().find(|row| row["kind"] == "pick").unwrap().clone();
        assert!(pick["decisions"].as_u64().unwrap() > 100, "{pick}");
    }
    let masked = folder.path("masked.fgr");
    ok(&["record", "--mask", "--for", "1s", "-o", &masked]);
    let text = folder.read("masked.fgr/before/tasks.jsonl") + &folder.read("masked.fgr/trace.json");
    assert!(text.contains("task-1") && !text.contains("\"fairground\""), "a name is left");
    ok(&["latency", &masked]);
}
