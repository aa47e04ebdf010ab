//! `run`: tables, documents, files, digests, interruption.

use crate::support::{Folder, SMALL, command, ok, recording, run};
use expect_test::expect;
use std::io::Read;
use std::process::Stdio;

#[test]
fn text_shows_tasks_and_the_last_lines_say_what_was_run() {
    let folder = Folder::new();
    let ran = ok(&["run", &folder.file("small.toml", SMALL)]);
    for part in
        ["\nCPUs\n", "\nWhy decisions fell\n", "\nMetrics\n", "\nsmall: v5.19 on smp-1 (1 CPU), seed 1, 1.00 s simulated\n"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    // Wall-clock time stands in the last line of stderr and nowhere else.
    assert!(ran.err.trim_end().ends_with("events/s)"), "{}", ran.err);
    assert!(!ran.out.contains("events/s"));
}

/// The summary stands at the end, in at most ten lines; the worst wait has the cause that `explain` finds in its account, and the
/// command of the summary explains that wait.
#[test]
fn the_summary_names_the_worst_wait_and_its_cause() {
    for (path, cause) in [
        ("scenarios/examples/service.toml", "throttled"),
        ("scenarios/features/search.toml", "wakeup-granularity"),
        ("scenarios/features/new-tasks.toml", "tick"),
    ] {
        let out = ok(&["run", path]).out;
        let summary: Vec<&str> = out.rsplit("\n\n").next().unwrap().lines().collect();
        assert!(summary.len() <= 10, "{summary:#?}");
        let whole = ok(&["run", path, "--full"]).out;
        let summary: Vec<&str> = whole.rsplit("\n\n").next().unwrap().lines().collect();
        let line = |begins: &str| summary.iter().find_map(|line| line.trim_start().strip_prefix(begins)).unwrap().trim_start();
        assert!(line("cause ").starts_with(&format!("{cause}: ")), "{summary:#?}");
        let words: Vec<&str> = line("more ").split(' ').skip(1).chain(["--json"]).collect();
        let explained = ok(&words).json();
        let causes = explained["causes"].as_array().unwrap();
        assert!(causes.iter().any(|found| found == cause), "{causes:?}");
        assert!(line("worst wait ").starts_with(&format!("{}: ", explained["task"].as_str().unwrap())), "{summary:#?}");
        assert!(line("digest ").contains(explained["digest"].as_str().unwrap()), "{summary:#?}");
    }
}

/// The worst wait of a run is the one that `explain` chooses, also where tasks start at the same time or are woken without delay.
#[test]
fn the_summary_and_explain_mean_the_same_wait() {
    for path in ["scenarios/examples/autogroup.toml", "scenarios/examples/nice.toml", "scenarios/examples/service.toml"] {
        let out = ok(&["run", path]).out;
        let explained = ok(&["explain", path, "--json"]).json();
        // Of a service `explain` takes the latest request, of which the worst wait of its worker is the longest part.
        let longest = explained["suspects"].as_array().unwrap().iter().filter_map(|row| row["time_ns"].as_u64()).max();
        let length = if explained["kind"] == "request" { longest } else { explained["delay_ns"].as_u64() }.unwrap();
        let task = explained["task"].as_str().unwrap();
        let line = out.lines().find_map(|line| line.strip_prefix("worst wait  ")).unwrap();
        assert!(line.starts_with(&format!("{task}: {}.", length / 1_000_000)), "{path}: {line}");
    }
}

/// Tasks that never sleep have nothing to be late for. Where one of them waited longer the summary says so, as the metrics do.
#[test]
fn the_summary_tells_a_longer_wait_of_tasks_that_never_sleep() {
    let folder = Folder::new();
    let text = |player: &str| {
        format!(
            "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"6.12\"\n[[workload]]\n\
             tasks = [{player}{{ name = \"hog\", hog = true, count = 4 }}]\n"
        )
    };
    let worst = |name: &str, player: &str| {
        let path = folder.file(name, text(player));
        let longest = ok(&["run", &path, "--json"]).json()["metrics"]["sched_delay_max_ms"]["value"].as_f64().unwrap();
        let out = ok(&["run", &path]).out;
        (out.lines().find(|line| line.starts_with("worst wait")).unwrap().to_string(), longest)
    };
    let (beside, longest) = worst("beside.toml", "{ name = \"player\", run = \"1ms\", period = \"10ms\" }, ");
    assert!(beside.starts_with("worst wait  player: "), "{beside}");
    assert!(beside.ends_with(&format!("; tasks that never sleep waited up to {longest:.2} ms")), "{beside}");
    assert!(!worst("alone.toml", "").0.contains("never sleep"));
}

/// Of many tasks the worst are shown, and the rest is counted; documents have all.
#[test]
fn long_tables_are_cut_unless_all_is_asked_for() {
    let folder = Folder::new();
    let path = folder.file("many.toml", SMALL.replace("count = 2", "count = 40"));
    let (short, full) = (ok(&["run", &path]).out, ok(&["run", &path, "--full"]).out);
    assert!(
        short.contains("\n26 more tasks: --full\n") && short.contains("\n82 more metrics, those of single tasks: --full\n"),
        "{short}"
    );
    assert!(!full.contains("--full") && full.contains("\nhog-39 "), "{full}");
    let tables = ok(&["run", &path, "--json"]).json()["tables"].clone();
    let tasks = tables.as_array().unwrap().iter().find(|table| table["name"] == "tasks").unwrap();
    assert_eq!(tasks["rows"].as_array().unwrap().len(), 41);
}

#[test]
fn the_document_holds_what_is_promised() {
    let folder = Folder::new();
    let document = ok(&["run", &folder.file("small.toml", SMALL), "--json"]).json();
    let mut keys: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    expect![[r#"
        [
            "command",
            "digest",
            "events",
            "events_per_s",
            "inputs",
            "metrics",
            "notes",
            "partial",
            "scenario_digest",
            "schema",
            "seed",
            "simulated_ns",
            "summary",
            "tables",
            "ticks",
            "title",
            "tool",
            "wall_ns",
        ]
    "#]]
    .assert_debug_eq(&keys);
    assert_eq!((&document["simulated_ns"], &document["partial"]), (&1_000_000_000u64.into(), &false.into()));
    assert_eq!(document["inputs"][0]["name"], "small.toml");
    assert_eq!(document["digest"].as_str().unwrap().len(), 32);
    assert!(document["metrics"]["switches"]["value"].as_u64().unwrap() > 0);
}

/// By class for people, by operation for programs: both add up to the time of all CPUs.
#[test]
fn where_the_virtual_time_went_adds_up() {
    let folder = Folder::new();
    let priced = SMALL.replace("preset = \"smp-1\"\ncosts = \"zero\"", "preset = \"smp-2\"");
    let path = folder.file("priced.toml", priced);
    let document = ok(&["run", &path, "--json"]).json();
    let rows = |name: &str| {
        let tables = document["tables"].as_array().unwrap();
        tables.iter().find(|table| table["name"] == name).unwrap()["rows"].as_array().unwrap().clone()
    };
    for name in ["time_spent", "time_by_op"] {
        let sum: i64 = rows(name).iter().map(|row| row["time_ns"].as_i64().unwrap()).sum();
        assert_eq!(sum, 2 * 1_000_000_000, "{name}");
    }
    let tick = rows("time_by_op").into_iter().find(|row| row["op"] == "tick").unwrap();
    assert_eq!((&tick["class"], tick["count"].as_i64().unwrap() * 1_800), (&"timer".into(), tick["time_ns"].as_i64().unwrap()));
    let text = ok(&["run", &path]).out;
    assert!(text.contains("\nWhere the simulated time went\n") && !text.contains("by operation"), "{text}");
    assert!(text.contains("together 2.00 s: that of all CPUs"), "{text}");
}

/// Searches of cache domains are in every document, and among the tables if asked for.
#[test]
fn searches_for_an_idle_cpu_are_shown_if_asked_for() {
    let folder = Folder::new();
    let text = SMALL.replace("preset = \"smp-1\"\ncosts = \"zero\"", "preset = \"smp-2\"").replace("count = 2", "count = 4");
    let path = folder.file("busy.toml", text);
    let document = ok(&["run", &path, "--json"]).json();
    let table = |name: &str| document["tables"].as_array().unwrap().iter().find(|table| table["name"] == name).cloned();
    let efficiency = table("search_efficiency").unwrap()["rows"][0].clone();
    assert_eq!(efficiency["load"], "5 tasks", "{efficiency}");
    assert!(table("histogram").unwrap()["rows"].as_array().unwrap().iter().any(|row| row["count"].as_u64().unwrap() > 0));
    let (short, long) = (ok(&["run", &path]).out, ok(&["run", &path, "--searches"]).out);
    for part in ["\nSearches for an idle CPU\n", "\n@select_idle_cpu_us:\n["] {
        assert!(long.contains(part) && !short.contains(part), "{part}: {long}");
    }
    // Where no search came to a cache domain there is nothing to show.
    let none = ok(&["run", &folder.file("small.toml", SMALL), "--searches"]).out;
    assert!(!none.contains("Searches for an idle CPU"), "{none}");
}

#[test]
fn equal_scenarios_give_equal_digests_and_other_seeds_other_ones() {
    let folder = Folder::new();
    let random = SMALL.replace("run = \"2ms\", period = \"20ms\"", "do = [\"run 1ms..3ms\", \"sleep 5ms..20ms\"]");
    let path = folder.file("random.toml", random);
    let digest = |args: &[&str]| ok(&[&["run", path.as_str(), "--json"], args].concat()).json()["digest"].clone();
    assert_eq!(digest(&[]), digest(&[]));
    assert_eq!(digest(&[]), digest(&["--paranoid"]));
    assert_ne!(digest(&[]), digest(&["--seed", "2"]));
    // The canonical spelling is the same scenario.
    let printed = ok(&["run", &path, "--print-scenario"]).out;
    let again = folder.file("again.toml", &printed);
    assert_eq!(ok(&["run", &again, "--json"]).json()["digest"], digest(&[]));
    assert_eq!(ok(&["run", &again, "--print-scenario"]).out, printed);
}

#[test]
fn the_ending_of_a_file_chooses_its_writer() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let names = ["x.pftrace", "x.txt", "x.json", "x.csv"];
    let mut args = vec!["run".to_string(), path];
    names.iter().for_each(|name| args.extend(["-o".to_string(), folder.path(name)]));
    let ran = ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ran.err.contains("ui.perfetto.dev"), "{}", ran.err);
    assert!(names.iter().all(|name| folder.has(name) && !folder.has(&format!("{name}.partial"))));
    assert!(folder.read("x.txt").contains("sched_switch"));
    assert!(serde_json::from_str::<serde_json::Value>(&folder.read("x.json")).is_ok());
}

#[test]
fn a_run_can_stop_before_an_event_and_says_that_it_is_partial() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let ran = ok(&["run", &path, "--stop-before-event", "50", "-o", &folder.path("x.txt"), "--json"]);
    let document = ran.json();
    assert_eq!(document["partial"], true);
    // One step of the engine may count a tick and the switch that follows from it.
    assert!((50..55).contains(&document["events"].as_u64().unwrap()), "{}", document["events"]);
    assert!(folder.has("x.txt.partial") && !folder.has("x.txt"));
    let partial = folder.path("x.txt.partial");
    assert!(ran.err.contains(&format!("wrote {partial}, which is not complete")), "{}", ran.err);
    let converted = ok(&["convert", &partial, &folder.path("y.csv"), "--json"]).json();
    assert!((20..200).contains(&converted["events"].as_u64().unwrap()), "{converted}");
    let whole = ok(&["run", &path, "--stop-before-event", "1000000", "-o", &folder.path("x.txt")]);
    assert!(folder.has("x.txt") && !whole.err.contains("not complete"), "{}", whole.err);
}

#[test]
fn a_missed_expectation_ends_with_1() {
    let folder = Folder::new();
    let path = folder.file("missed.toml", format!("{SMALL}[expect]\nswitches = {{ max = 1, why = \"never\" }}\n"));
    let ran = run(&["run", &path]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("Expectations"), "{}", ran.out);
    assert_eq!(run(&["run", &path, "--json"]).json()["holds"], false);
}

#[test]
fn workloads_have_the_flags_of_the_real_program() {
    let ran = ok(&["run", "--workload", "sched_pipe", "--machine", "smp-2", "--", "-l", "100"]);
    assert!(ran.out.starts_with("sched_pipe\n"), "{}", ran.out);
    assert!(ran.err.contains("note: no profile given"), "{}", ran.err);
    let table = ok(&[
        "run",
        "--workload",
        "press",
        "--duration",
        "1s",
        "--json",
        "--",
        "--processes",
        "4",
        "--cpus",
        "0-1",
        "--work",
        "10ms",
    ]);
    assert_eq!(table.json()["tables"][0]["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn an_rt_app_file_is_a_workload() {
    let folder = Folder::new();
    let text = "{ \"tasks\": { \"t\": { \"loop\": 10, \"run\": 1000, \"sleep\": 1000 } }, \"global\": { \"duration\": 1 } }";
    let ran = ok(&[
        "run",
        &folder.file("t.json", text),
        "--machine",
        "smp-1",
        "--profile",
        "v6.1",
        "--set",
        "machine.costs=zero",
        "--json",
    ]);
    let document = ran.json();
    assert_eq!(document["metrics"]["tasks.t-0.runtime_ms"]["value"], 10);
}

#[test]
fn a_recorded_set_runs_exactly_and_its_figures_stand_beside() {
    let path = recording("k5.10-hogs-1cpu/a_nice3_1");
    let ran = run(&["run", &path, "--json"]);
    let document = ran.json();
    assert!(document["figures"]["tasks.h00.runtime_ns"].is_u64(), "{document}");
    let rows = document["expect"]["rows"].as_array().unwrap();
    assert!(rows.len() > 5 && rows.iter().all(|row| row["inside"].is_boolean()));
    let passes = document["expect"]["passes"].as_bool().unwrap();
    assert_eq!(ran.code, i32::from(!passes));
    assert_eq!(run(&["run", &path]).code, ran.code);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let mut child = command(&["run", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{err}");
}

/// `fairground run … 2>&1 | head -1`: both are one pipe, whose reader is closed.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_of_both_outputs_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let wrong = folder.file("wrong.toml", "duration = 7");
    for (path, code) in [(&path, 0), (&wrong, 2)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = command(&["run", path]).stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{path}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_marked_output_and_130() {
    let folder = Folder::new();
    let path = folder.file("long.toml", SMALL.replace("\"1s\"", "\"10d\""));
    let out = folder.path("x.csv");
    let child = command(&["run", &path, "-o", &out]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The output file is made just before the run begins.
    while !folder.names().iter().any(|name| name.ends_with(".partial")) {
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&ended.stdout).contains("PARTIAL: interrupted at "));
    assert_eq!(folder.names(), ["long.toml", "x.csv.partial"]);
}

/// Commands whose work is not cut into batches end too, and a supervisor's signal does what Ctrl-C does.
#[cfg(target_os = "linux")]
#[test]
fn every_command_ends_soon_after_a_signal_and_marks_its_output() {
    let folder = Folder::new();
    let path = folder.file("long.toml", SMALL.replace("\"1s\"", "\"10d\""));
    let out = folder.path("x.html");
    let commands: [&[&str]; 5] = [
        &["explain", &path, "--task", "player", "--at", "1s"],
        &["advise", "scenarios/examples/service.toml", "--goal", "p99=50ms", "--seeds", "10000", "-o", &out],
        &["reproduce", "sis-util"],
        &["sensitivity", &path],
        &["run", &path, "-o", &out],
    ];
    for words in commands {
        for signal in ["-INT", "-TERM"] {
            let mut child = command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let status = format!("/proc/{}/status", child.id());
            // The signal has a handler; each hexadecimal digit is four signals, SIGINT the second one.
            let is_caught = |text: String| {
                let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::to_string);
                mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
            };
            while !is_caught(std::fs::read_to_string(&status).unwrap_or_default()) {
                assert_eq!(child.try_wait().unwrap(), None, "{words:?}: it ended before");
                std::thread::yield_now();
            }
            assert!(std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
            assert_eq!(child.wait().unwrap().code(), Some(130), "{words:?} {signal}");
            assert!(!folder.has("x.html"), "{words:?}");
        }
    }
}

/// Four tasks in limbo come to a group whose new quota lets one of two go on. v6.18 before 956dfda6a708 warns of the second.
const LIMBO: &str = r#"
title = "a queue is throttled with tasks in limbo"
duration = "150ms"
[machine]
cores = 2
hz = 1000
costs = "zero"
[profile]
kernel = "v6.18"
period_phase = "boot"
remaining_on_set = "nothing"
[[group]]
path = "/a"
"cpu.max" = "20000 100000"
[[group]]
path = "/a/b"
[[group]]
path = "/a/b/c"
[[workload]]
tasks = [
    { name = "t0", group = "/a/b", cpus = "0", program = ["run 10s"] },
    { name = "t1", group = "/a/b", cpus = "0", program = ["run 10s"] },
    { name = "t2", group = "/a/b", cpus = "1", program = ["run 10s"] },
    { name = "t3", group = "/a/b", cpus = "1", program = ["run 10s"] },
]
[[at]]
time = "50ms"
do = "cpu.max /a/b/c 5000 1000000"
[[at]]
time = "60ms"
do = "cgroup.procs /a/b/c t0"
[[at]]
time = "60ms"
do = "cgroup.procs /a/b/c t1"
[[at]]
time = "60ms"
do = "cgroup.procs /a/b/c t2"
[[at]]
time = "60ms"
do = "cgroup.procs /a/b/c t3"
"#;

#[test]
fn a_warning_of_the_kernel_itself_is_told_and_the_run_goes_on() {
    let folder = Folder::new();
    let path = folder.file("limbo.toml", LIMBO);
    let csv = folder.path("limbo.csv");
    let text = ok(&["run", &path, "--paranoid", "--width", "200", "-o", &csv]).out;
    let line = text.lines().find(|line| line.starts_with("kernel-warn")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("tg_throttle_down()") && line.contains("throttled_limbo_list") && line.contains("100.00 ms"), "{line}");
    let record = folder.read("limbo.csv");
    assert_eq!(record.lines().filter(|line| line.contains(",kernel_warn,")).count(), 1);
    let document = ok(&["run", &path, "--json"]).json();
    assert!(document["summary"].to_string().contains("kernel-warn"), "{}", document["summary"]);
    let fixed = ok(&["run", &path, "--set", "remaining_on_set=a-nanosecond"]).out;
    assert!(!fixed.contains("kernel-warn"), "{fixed}");
}
