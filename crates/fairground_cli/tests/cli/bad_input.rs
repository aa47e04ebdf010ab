//! Whatever is wrong with the input: every mistake is shown, nothing panics, and the exit code says whose fault it is.

use crate::support::{Folder, SMALL, ok, run};
use expect_test::expect;

/// A trace of switches only, a task that nobody knows, a time outside, a scenario where a trace is wanted, one pair only.
#[test]
fn what_a_recording_does_not_hold_is_said() {
    let folder = Folder::new();
    let set = crate::support::recording("k6.1-press-8cpu/c_press24_120");
    let (all, only) = (folder.path("all.txt"), folder.path("only.txt"));
    ok(&["convert", &set, &all]);
    let kept: String = folder
        .read("all.txt")
        .split_inclusive('\n')
        .filter(|line| line.starts_with('#') || line.contains("sched_switch:"))
        .collect();
    folder.file("only.txt", kept);
    for args in [
        &["latency", &only][..],
        &["timehist", &only, "--summary"],
        &["explain", &only],
        &["conform", &only, "--machine", "smp-8", "--profile", "v6.1"],
        &["replay", &only],
    ] {
        let ran = ok(args);
        assert!(ran.err.contains("never recorded: sched_waking"), "{args:?}: {}", ran.err);
    }
    assert!(ok(&["timehist", &only, "--summary"]).out.contains("are not seen to wait after a wake-up"));
    let compared = run(&["compare", &only, &set]);
    assert!(compared.out.contains("not tested") && compared.out.contains("lacks them"), "{}", compared.out);
    let few = run(&["compare", &set, &set, "--windows", "1"]);
    assert!(few.code == 4 && few.out.starts_with("Nothing is decided: 1 window is too few"), "{}", few.out);

    let near = run(&["latency", &set, "--task", "press9"]);
    assert!(near.code == 2 && near.err.contains("Did you mean `press"), "{}", near.err);
    // One that never waits is no unknown one.
    let small = folder.file("alone.toml", SMALL.replace("{ name = \"hog\", hog = true, count = 2 }, ", ""));
    let alone = ok(&["latency", &small, "--task", "player"]);
    assert!(alone.out.contains("player"), "{}", alone.out);
    for args in [&["conform", &small][..], &["replay", &small], &["convert", &small, &all]] {
        let ran = run(args);
        assert!(ran.code == 2 && ran.err.contains("this is a scenario, and a recording is wanted"), "{args:?}: {}", ran.err);
    }
    for args in
        [&["latency", &set, "--time", "99,100"][..], &["timehist", &set, "--time", "99,100"], &["explain", &only, "--at", "99"]]
    {
        let ran = run(args);
        assert!(ran.code == 2 && ran.err.contains("is not in the trace: it goes from"), "{args:?}: {}", ran.err);
    }
    let one = run(&["compare", &small, "--change", "NO_WAKEUP_PREEMPTION", "--runs", "1"]);
    assert!(one.code == 4 || one.out.starts_with("No difference"), "{}", one.out);
}

#[test]
fn five_mistakes_are_all_shown_with_line_and_hint() {
    let folder = Folder::new();
    let path = folder.file(
        "bad.toml",
        "title = \"bad\"\n\
         duration = 10\n\
         sead = 1\n\
         \n\
         [machine]\n\
         preset = \"smp-0\"\n\
         \n\
         [profile]\n\
         kernel = \"5.19\"\n\
         features = [\"NO_SUCH\"]\n\
         \n\
         [[workload]]\n\
         tasks = [{ name = \"a\", run = \"1ms\", sleep = \"-3ms\" }]\n",
    );
    let ran = run(&["run", &path]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.out, "");
    let shown = ran.err.replace(&path, "bad.toml").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let first_two: String = shown.split_inclusive('\n').take(13).collect();
    expect![[r#"
        error: `duration = 10` has no unit
           ╭▸ bad.toml:2:12
           │
         2 │ duration = 10
           │            ━━
           │
           ╰ help: Write it in quotes with its unit, as in `duration = "10ms"`.
        error: unknown key `sead` in scenario
           ╭▸ bad.toml:3:1
           │
         3 │ sead = 1
           │ ━━━━
           ╰ help: Did you mean `seed`?
    "#]]
    .assert_eq(&first_two);
    for part in ["bad.toml:6:", "bad.toml:10:", "bad.toml:13:", "bad.toml: 5 mistakes (fairground VERSION)"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown.matches("help: ").count(), 5);
}

#[test]
fn a_mistake_far_out_on_a_long_line_is_told_by_its_line() {
    let folder = Folder::new();
    let path = folder.file("long.toml", format!("title = \"{}\\q\"\n", "x".repeat(100_000)));
    let ran = run(&["run", &path]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("long.toml:1: "), "{}", ran.err);
    assert!(ran.err.len() < 10_000, "the line itself is not shown");
}

#[test]
fn json_says_the_same() {
    let folder = Folder::new();
    let path = folder.file("bad.toml", "duration = 10\n");
    let ran = run(&["run", &path, "--json"]);
    let document = ran.json();
    assert_eq!((ran.code, &document["exit_code"]), (2, &2.into()));
    assert_eq!(document["errors"].as_array().unwrap().len(), 3, "{document}");
}

#[test]
fn what_no_machine_can_run_is_refused() {
    let folder = Folder::new();
    for (from, to, part) in [
        ("\"1s\"", "\"3650d\"", "longer than 13 days"),
        ("\"1s\"", "\"-1s\"", "cannot be negative"),
        ("smp-1", "smp-0", "smp-0"),
        ("smp-1", "smp-99999", "smp-99999"),
        ("hog = true,", "hog = true, cpus = \"5\",", "no allowed CPU"),
        ("run = \"2ms\"", "run = \"-2ms\"", "cannot be negative"),
        ("5.19", "7.3", "7.3"),
        ("hog = true", "do = [\"nice 3\"]", "makes no progress"),
    ] {
        let path = folder.file("x.toml", SMALL.replace(from, to));
        let ran = run(&["run", &path]);
        assert_eq!(ran.code, 2, "{to}: {}", ran.err);
        assert!(ran.err.contains(part), "{to}: {}", ran.err);
    }
}

#[test]
fn strange_files_are_the_inputs_fault_and_missing_ones_the_worlds() {
    let folder = Folder::new();
    assert_eq!(run(&["run", &folder.path("nothing.toml")]).code, 3);
    assert_eq!(run(&["replay", &folder.path("nothing.txt")]).code, 3);
    assert_eq!(run(&["run", &folder.path("")]).code, 2);
    for (name, content) in [
        ("empty.toml", &b""[..]),
        ("binary.toml", &[0xff, 0xfe, 0, 1, 2]),
        ("empty.json", b""),
        ("broken.json", b"{\"tasks\": {"),
        ("duplicate.json", b"{\"tasks\": {}, \"tasks\": {}}"),
    ] {
        let ran = run(&["run", &folder.file(name, content)]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.err);
        assert!(ran.err.contains("help: "), "{name}: {}", ran.err);
    }
    for (name, content) in [("empty.txt", &b""[..]), ("binary.dat", &[0xff, 0xfe, 0, 1, 2])] {
        let ran = run(&["replay", &folder.file(name, content)]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.err);
    }
    let good = folder.file("good.toml", SMALL);
    for file in ["x.txt", "x.html", "x.hgrm", "x.parquet"] {
        let full = run(&["run", &good, "-o", &format!("/nonexistent/{file}")]);
        assert_eq!(full.code, 3, "{}", full.err);
        assert!(full.err.contains(&format!("/nonexistent/{file}")), "{}", full.err);
    }
    let full = run(&["compare", &good, "--change", "NO_START_DEBIT", "-o", "/nonexistent/x.html"]);
    assert_eq!((full.code, full.out.as_str()), (3, ""), "before the first run: {}", full.err);
}

#[test]
fn wrong_flags_are_named() {
    let folder = Folder::new();
    let path = folder.file("good.toml", SMALL);
    for (args, part) in [
        (&["--profile", "v9.9"][..], "there is no profile `v9.9`"),
        (&["--profile", "v7.3"], "not modelled yet"),
        (&["--feature", "SIS_FOO"], "no feature `SIS_FOO`"),
        (&["--set", "sched_latency_ns"], "no value"),
        (&["--set", "sched_latency_ns=fast"], "no value for tunable"),
        (&["--set", "machine.hz=333"], "machine.hz=333"),
        (&["--machine", "nowhere"], "nowhere"),
        (&["--capacities", "0-1=512,1=2000"], "`2000` is no capacity"),
        (&["--capacities", "0-900=512"], "there are no CPUs"),
        (&["--duration", "10"], "a unit is missing"),
        (&["-o", "x.dat"], "only read"),
        (&["-o", "x.docx"], "no writer"),
    ] {
        let ran = run(&[&["run", path.as_str()], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
    let ran = run(&["run", "--workload", "press", "--", "--proceses=10", "--cpus", "9-3"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("unknown flag `--proceses=10`"), "{}", ran.err);
    assert_eq!(run(&["run", "--workload", "nothing"]).code, 2);
    assert_eq!(run(&["reproduce", "nothing"]).code, 2);
    assert_eq!(run(&["sweep", &path]).code, 2);
    assert_eq!(run(&["dance"]).code, 2);
    assert_eq!(run(&["compare", &path]).code, 2, "both sides are the same");
}

#[test]
fn flags_of_a_workload_that_nobody_named_are_refused() {
    let folder = Folder::new();
    let ran = run(&["run", &folder.file("small.toml", SMALL), "--", "--tasks", "3"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("none is given") && ran.err.contains("--workload"), "{}", ran.err);
}

#[test]
fn a_wrong_feature_is_answered_with_the_nearest_and_contradictions_are_noted() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let ran = run(&["run", &path, "--profile", "v5.19+sis-util", "--feature", "SIS_UITL"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("has no feature `SIS_UITL`") && ran.err.contains("Did you mean `SIS_UTIL`?"), "{}", ran.err);
    let wrong = SMALL.replace("kernel = \"5.19\"", "kernel = \"5.19\"\nfeatures = [\"NO_SIS_PORP\"]");
    let ran = run(&["run", &folder.file("wrong.toml", wrong)]);
    assert!(ran.code == 2 && ran.err.contains("Did you mean `NO_SIS_PROP`?"), "{}", ran.err);
    let ran = ok(&["run", &path, "--profile", "v5.19+sis-util", "--feature", "SIS_PROP", "--json"]);
    assert!(ran.json()["notes"][0].as_str().unwrap().starts_with("SIS_PROP and SIS_UTIL are both on"), "{}", ran.out);
}

#[test]
fn price_lists_with_missing_or_negative_prices_are_refused_by_key() {
    let folder = Folder::new();
    let costs = |costs: &str| {
        let text = SMALL.replace("costs = \"zero\"", "") + costs;
        run(&["run", &folder.file("costs.toml", text)])
    };
    let missing = costs("[machine.costs]\ntick = \"1us\"\n");
    assert!(missing.code == 2 && missing.err.contains("no price for hrtimer_irq, pick_switch"), "{}", missing.err);
    let negative = costs(
        "[machine.costs]\npreset = \"zero\"\nscan = \"-12ns\"\nlock_free = \"-1ps\"\nscale = { swich = 2, switch = -2.5 }\n",
    );
    for part in ["`scan` is", "`lock_free` is", "cannot be negative", "Did you mean `switch`?", "a factor from 0 to 1000"] {
        assert!(negative.code == 2 && negative.err.contains(part), "{part}: {}", negative.err);
    }
}
