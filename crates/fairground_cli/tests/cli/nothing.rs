//! Where nothing was compared, read or run there is no verdict, and exit code 4 says so.

use crate::support::{Folder, SMALL, ok, run};

/// A recording of our own without an event.
const EMPTY: &str = "t_ns,cpu,event,task,other_task,from_cpu,to_cpu,what,value,value2,value3\n,,task,0,,,,a,100,120,\n";

#[test]
fn a_recording_without_an_event_is_no_pass() {
    let folder = Folder::new();
    let empty = folder.file("empty.csv", EMPTY);
    let out = folder.path("out.txt");
    let commands: [&[&str]; 7] = [
        &["replay", &empty],
        &["latency", &empty],
        &["timehist", &empty],
        &["timehist", &empty, "--summary"],
        &["convert", &empty, &out],
        &["conform", &empty, "--profile", "v6.12"],
        &["conform", &empty, "--profile", "v6.12", "--threshold", "50"],
    ];
    for words in commands {
        let ran = run(words);
        assert_eq!(ran.code, 4, "{words:?}: {}\n{}", ran.out, ran.err);
        assert!(!ran.out.contains("no disagreement"), "{}", ran.out);
        assert_eq!(run(&[words, &["--json"]].concat()).code, 4, "{words:?}");
    }
}

#[test]
fn a_part_of_a_recording_in_which_nothing_happens_is_no_pass() {
    let folder = Folder::new();
    let trace = folder.path("t.csv");
    ok(&["run", &folder.file("a.toml", SMALL), "-o", &trace]);
    ok(&["latency", &trace]);
    ok(&["timehist", &trace]);
    assert_eq!(run(&["timehist", &trace, "--cpu", "7"]).code, 4);
}

#[test]
fn seeds_that_do_not_exist_are_refused_and_no_run_is_no_pass() {
    let ran = run(&["vopr", "--seed", "18446744073709551613", "--runs", "5"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("there are no 5 seeds from 18446744073709551613 on"), "{}", ran.err);
    assert_eq!(run(&["vopr", "--seed", "18446744073709551615"]).code, 2);
    assert_eq!(run(&["vopr", "--time", "0s"]).code, 4);
}
