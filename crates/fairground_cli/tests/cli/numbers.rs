//! Numbers at the end of what they can be: refused or counted where they are read, and no panic behind that.

use crate::support::{Folder, SMALL, ok, run};

const HEAD: &str = "t_ns,cpu,event,task,other_task,from_cpu,to_cpu,what,value,value2,value3\n";

#[test]
fn run_times_that_no_task_can_have_are_left_out_and_counted() {
    let folder = Folder::new();
    let most = u64::MAX;
    let runtime = format!("sched_stat_runtime: comm=a pid=100 runtime={most} [ns] vruntime={most} [ns]");
    let text = format!(
        "  a-100 [000] d... 1.000000: {runtime}\n  a-100 [000] d... 1.001000: {runtime}\n  a-100 [000] d... 2.0: \
         sched_switch: prev_comm=a prev_pid=100 prev_prio=120 prev_state=S ==> next_comm=b next_pid=101 next_prio=120\n"
    );
    let path = folder.file("rt.txt", text);
    for words in [&["latency", &path][..], &["timehist", &path], &["replay", &path], &["conform", &path, "--profile", "v6.12"]] {
        let ran = run(words);
        assert!([0, 4].contains(&ran.code), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("a run time that no task can have had was left out (2 times)"), "{words:?}: {}", ran.err);
    }
    // Each is possible, and their sum is not.
    let day = 86_400_000_000_000_u64;
    let row = format!("5,0,sched_stat_runtime,0,,,,,{},,\n", 13 * day);
    let many = format!("{HEAD},,task,0,,,,a,100,120,\n{}9,0,sched_switch,0,,,,R,,,\n", row.repeat(20_000));
    let ran = run(&["latency", &folder.file("many.csv", many)]);
    assert!([0, 4].contains(&ran.code) && ran.err.contains("a run time that no task can have had"), "{}", ran.err);
}

#[test]
fn priorities_that_no_kernel_has_count_as_nice_0_and_are_told() {
    let folder = Folder::new();
    let rows = "0,0,sched_switch,0,1,,,R,,,\n1000000,0,sched_switch,1,0,,,R,,,\n9000000,0,sched_switch,0,1,,,S,,,\n";
    for prio in [i32::MIN, -2, 140, i32::MAX] {
        let path = folder.file("p.csv", format!("{HEAD},,task,0,,,,a,100,{prio},\n,,task,1,,,,b,101,120,\n{rows}"));
        for words in [&["conform", &path, "--profile", "v6.12"][..], &["replay", &path], &["timehist", &path]] {
            let ran = run(words);
            assert!([0, 4].contains(&ran.code), "{words:?}: {}", ran.err);
            assert!(ran.err.contains("a priority that no kernel has counts as that of nice 0"), "{words:?}: {}", ran.err);
        }
    }
}

#[test]
fn a_recording_whose_last_time_is_the_last_that_there_is_can_be_replayed() {
    let folder = Folder::new();
    let rows = "0,0,sched_switch,0,1,,,R,,,\n1000000,0,sched_switch,1,0,,,R,,,\n";
    for last in ["1125899900000000", "1125899906842623"] {
        let text = format!("{HEAD},,task,0,,,,a,100,120,\n,,task,1,,,,b,101,120,\n{rows}{last},0,sched_switch,0,1,,,R,,,\n");
        ok(&["replay", &folder.file("j.csv", text), "--across-gaps", "--stop-before-event", "20000"]);
    }
    let longest = folder.file("a.toml", SMALL.replace("\"1s\"", "\"1125899906842623ns\""));
    ok(&["run", &longest, "--stop-before-event", "1000"]);
}

#[test]
fn a_recording_is_cut_at_a_gap_that_is_longer_than_the_rest() {
    let folder = Folder::new();
    let rows = |from: u64| -> String {
        let turn = |at: u64| format!("{},0,sched_switch,{},{},,,R,,,\n", from + at * 1_000_000, at % 2, (at + 1) % 2);
        (0..50).map(turn).collect()
    };
    let tasks = format!("{HEAD},,task,0,,,,a,100,120,\n,,task,1,,,,b,101,120,\n");
    let alone = ok(&["replay", &folder.file("alone.csv", format!("{tasks}{}", rows(0))), "--profile", "v6.12"]);
    // One wrong time behind it, one before it, and a second recording a day later.
    let day = 86_400_000_000_000;
    let behind = format!("{tasks}{}{day},0,sched_switch,0,1,,,R,,,\n", rows(0));
    let before = format!("{tasks}0,0,sched_switch,1,0,,,R,,,\n{}", rows(day));
    for (name, text) in [("behind.csv", behind), ("before.csv", before)] {
        let path = folder.file(name, text);
        let cut = ok(&["replay", &path, "--profile", "v6.12"]);
        assert!(
            cut.err.contains("a gap of 8") && cut.err.contains("events are left out; `--across-gaps` runs them"),
            "{name}: {}",
            cut.err
        );
        let row = |out: &str| out.lines().find(|line| line.contains("tasks.a.runtime_ms")).unwrap().to_string();
        let ran = |out: &str| row(out).split_whitespace().nth(1).unwrap().parse::<f64>().unwrap();
        // What lies before the gap may end a first sleep, whose price of 1.45 us is taken off the run time of `alone`.
        assert!((ran(&cut.out) - ran(&alone.out)).abs() < 0.002, "{name}: {}", row(&cut.out));
        ok(&["replay", &path, "--profile", "v6.12", "--across-gaps", "--stop-before-event", "500"]);
    }
}
