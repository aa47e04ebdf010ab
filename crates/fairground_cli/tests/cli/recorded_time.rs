//! `--time`, `--clock` and what `latency` and `timehist` tell of a part of a record.

use crate::support::{Folder, SMALL, ok, run};

/// A record whose clock does not begin at 0: `worker` is woken by `waker` at 2105.336885 and waits 15 us behind `hog`, and later
/// 40 us after it was taken off its CPU.
const TEXT: &str = "\
# tracer: nop
           hog-10    [000] d..2.  2105.336800: sched_switch: prev_comm=worker prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=10 next_prio=120
         waker-12    [001] d..2.  2105.336885: sched_waking: comm=worker pid=11 prio=120 target_cpu=000
         waker-12    [001] d..2.  2105.336886: sched_wakeup: comm=worker pid=11 prio=120 target_cpu=000
           hog-10    [000] d..2.  2105.336900: sched_switch: prev_comm=hog prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=11 next_prio=120
        worker-11    [000] d..2.  2105.337000: sched_switch: prev_comm=worker prev_pid=11 prev_prio=120 prev_state=R+ ==> next_comm=hog next_pid=10 next_prio=120
           hog-10    [000] d..2.  2105.337040: sched_switch: prev_comm=hog prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=11 next_prio=120
        worker-11    [000] d..2.  2105.337100: sched_switch: prev_comm=worker prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=10 next_prio=120
";

#[test]
fn an_interval_is_named_by_the_clock_of_the_record_or_from_its_beginning() {
    let folder = Folder::new();
    let trace = folder.file("trace.txt", TEXT);
    let rows = |time: &str| {
        let document = ok(&["timehist", &trace, "--task", "worker", "--time", time, "--json"]).json();
        document["rows"].as_array().unwrap().iter().map(|row| row["clock_ns"].as_u64().unwrap() / 1000).collect::<Vec<_>>()
    };
    assert_eq!(rows(","), [2_105_336_800, 2_105_337_000, 2_105_337_100]);
    assert_eq!(rows("2105.337,"), [2_105_337_000, 2_105_337_100]);
    assert_eq!(rows("+0.0001,+200us"), [2_105_337_000]);
    assert_eq!(rows(",2105.336900"), [2_105_336_800]);
    for command in
        [&["latency", &trace][..], &["timehist", &trace], &["explain", &trace], &["convert", &trace, &folder.path("b.csv")]]
    {
        for (time, part) in [
            (
                "2104,2105.337",
                "2104.000000 s is not in the trace: it goes from 2105.336800 to 2105.337100 s, from its beginning +0.000000 to +0.000300 s",
            ),
            ("+0.0001,+1", "+1.000000 s is not in the trace"),
            ("2105.337,2105.336", "ends before it begins"),
            ("+200us,2105.336900", "ends before it begins"),
            ("1", "`1` is no interval A,B"),
        ] {
            let ran = run(&[command, &["--time", time]].concat());
            assert_eq!(ran.code, 2, "{command:?} {time}: {}", ran.out);
            assert!(ran.err.contains(part), "{command:?} {time}: {}", ran.err);
        }
    }
    assert!(!folder.has("b.csv"));
    ok(&["convert", &trace, &folder.path("c.csv"), "--time", "2105.336880,2105.336890"]);
    assert_eq!(folder.read("c.csv").matches("sched_w").count(), 2);
    assert_eq!(folder.read("c.csv").matches("sched_switch").count(), 0);
}

#[test]
fn delays_are_told_by_kind_and_with_who_ran() {
    let folder = Folder::new();
    let trace = folder.file("trace.txt", TEXT);
    let all = ["latency", &trace, "--task", "worker", "--percentiles", "--histogram", "--queues", "--antagonists", "--json"];
    let document = ok(&all).json();
    let names: Vec<&str> = document["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["latency", "percentiles", "histogram", "queues", "antagonists"]);
    let rows = |table: usize| document["tables"][table]["rows"].as_array().unwrap();
    let told: Vec<(&str, u64)> =
        rows(1).iter().map(|row| (row["after"].as_str().unwrap(), row["p99_ns"].as_u64().unwrap())).collect();
    assert_eq!(told, [("wake-up", 15_000), ("preemption", 40_000)]);
    let sum = |key: &str| rows(2).iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("after_wakeup"), sum("after_preemption")), (1, 1));
    assert_eq!(
        (&rows(4)[0]["ran"], &rows(4)[0]["time_ns"]),
        (&"hog".into(), &54_000.into()),
        "14 us from the queueing on, and 40"
    );
    let only = ok(&["latency", &trace, "--task", "worker", "--percentiles", "--time", "2105.337,", "--json"]).json();
    assert_eq!(only["tables"][1]["rows"].as_array().unwrap().len(), 1);
    let recorded = ok(&["latency", &trace]).out;
    assert!(recorded.contains("2105.337000000") && recorded.contains("2105.337040000"), "{recorded}");
    let start = ok(&["latency", &trace, "--clock", "start"]).out;
    assert!(start.contains(" 0.000") && !start.contains("2105."), "{start}");
}

#[test]
fn timehist_shows_states_and_wake_ups() {
    let folder = Folder::new();
    let trace = folder.file("trace.txt", TEXT);
    let text = ok(&["timehist", &trace, "--task", "worker", "--state", "--wakeups"]).out;
    assert!(text.contains("run ms S\n"), "{text}");
    assert!(text.contains("2105.336885000 [0001] <idle>                    awakened: worker[11]\n"), "{text}");
    let states: Vec<&str> =
        text.lines().filter(|line| line.contains("worker[11]  ")).filter_map(|line| line.split(' ').next_back()).collect();
    assert_eq!(states, ["S", "R", "S"], "{text}");
    // The longest wait after a wake-up ends as the rows do: by the recording's clock, or from the first event on.
    for flags in [&["--summary"][..], &[]] {
        let longest = |clock: &str| ok(&[&["timehist", &trace, "--task", "worker", "--clock", clock], flags].concat()).out;
        assert!(longest("recorded").contains("worker[11] waited 15.00 us, until 2105.336900000 s"), "{}", longest("recorded"));
        assert!(longest("start").contains("until 0.000100000 s"), "{}", longest("start"));
    }
    let document = ok(&["timehist", &trace, "--wakeups", "--json"]).json();
    let awakened = document["rows"].as_array().unwrap().iter().filter(|row| row["awakened"] == "worker").count();
    assert_eq!(awakened, 1);
}

#[test]
fn explain_knows_the_clock_of_the_record() {
    let folder = Folder::new();
    let trace = folder.file("trace.txt", TEXT);
    let told = ok(&["explain", &trace, "--task", "worker", "--at", "2105.336890"]).out;
    assert!(told.contains("waited 15.00 us: from 2105.336885 s"), "{told}");
    let told = ok(&["explain", &trace, "--task", "worker", "--time", "2105.337,2105.3371"]).out;
    assert!(told.contains("waited 40.00 us: from 2105.337000 s"), "{told}");
    let small = folder.file("small.toml", SMALL);
    assert_eq!(run(&["explain", &small, "--time", "1s,2s"]).code, 2);
}

#[test]
fn a_part_of_a_run_is_that_part() {
    let folder = Folder::new();
    let small = folder.file("small.toml", SMALL);
    let of = |time: &str| {
        let document = ok(&["latency", &small, "--time", time, "--json"]).json();
        let rows = document["tables"][0]["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["switches"].as_u64().unwrap()).sum::<u64>()
    };
    // Both ends count, and nothing happens at the border.
    assert_eq!(of("0,0.4999999") + of("0.5,1"), of(","));
}
