//! How results look: they fit the terminal, have colours only where somebody wants them, and begin with a summary.

use crate::support::{Folder, SMALL, command, recording, workspace};
use std::process::Output;

/// Runs with variables of the environment; stdout and stderr, whatever the exit code is.
fn with(args: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let Output { stdout, stderr, .. } = command(args).envs(environment.iter().copied()).output().unwrap();
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Commands whose output is for people, quick enough to run here.
fn commands(folder: &Folder) -> Vec<Vec<String>> {
    let small = folder.file("small.toml", SMALL);
    let priced = folder.file("priced.toml", SMALL.replace("preset = \"smp-1\"\ncosts = \"zero\"", "preset = \"smp-2\""));
    let trace = folder.path("small.json");
    with(&["run", &small, "-o", &trace], &[]);
    let set = "recordings/k6.1-press-8cpu/c_press24_120".to_string();
    let words = |text: &str| -> Vec<String> {
        let place =
            |word: &str| word.replace("SMALL", &small).replace("PRICED", &priced).replace("TRACE", &trace).replace("SET", &set);
        text.split(' ').map(place).collect()
    };
    [
        "run PRICED",
        "run SET",
        "run scenarios/examples/quota.toml",
        "run scenarios/examples/service.toml",
        "run scenarios/examples/rwsem-throttled-holder.toml --searches",
        "replay TRACE --machine smp-2",
        "latency SET --percentiles --histogram --queues --antagonists",
        "latency SET --pids --clock start",
        "timehist SET --summary",
        "compare PRICED --change NO_WAKEUP_PREEMPTION --runs 6",
        "compare SET SET",
        "sensitivity PRICED --metric kernel_pct --runs 2",
        "sensitivity PRICED --metric kernel_pct --runs 2 --change NO_WAKEUP_PREEMPTION",
        "diff-runs SMALL --change NO_WAKEUP_PREEMPTION",
        "conform SET",
        "schedstat SET",
        "schedstat SET --total",
        "explain PRICED --task player",
        "explain SET/trace.csv.zst --task press09",
        "vopr --seed 1 --runs 2",
        "bisect PRICED --change NO_WAKEUP_PREEMPTION --metric wakeup_latency_us.p99 --runs 6",
        "advise examples/advise/counters.json --goal p99=60ms --fit-runs 100",
        "list features",
        "list metrics",
        "list reasons",
        "list domains",
        "list profiles",
        "profile show v6.12",
        "profile diff v6.5 v6.6",
    ]
    .map(words)
    .into()
}

/// Lines that are wider.
fn wide(text: &str, most: usize) -> Vec<String> {
    // A command stays whole: nobody could copy its parts.
    let is_command = |line: &&str| line.trim_start().starts_with("more  ");
    text.lines().filter(|line| line.chars().count() > most && !is_command(line)).map(str::to_string).collect()
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    for words in commands(&folder) {
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        for (columns, most) in [("80", 80), ("120", 120)] {
            let (out, _) = with(&args, &[("COLUMNS", columns)]);
            assert!(!out.is_empty(), "{words:?}");
            let found = wide(&out, most);
            if !found.is_empty() {
                wrong.push(format!("{words:?} in {columns} columns:\n{}", found.join("\n")));
            }
        }
        let (pipe, _) = with(&args, &[]);
        assert!(wide(&pipe, 100).is_empty() || !wrong.is_empty(), "{words:?} in a pipe:\n{}", wide(&pipe, 100).join("\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// In a terminal as narrow as this rows and columns are missing; what is missing is said, and `--full` has it.
#[test]
fn what_is_left_out_is_said_and_full_has_it() {
    let set = recording("k6.1-press-8cpu/c_press24_120");
    let (short, _) = with(&["run", &set], &[("COLUMNS", "80")]);
    for part in [" more tasks: --full", "left out, for the width: ", "more metrics, those of single tasks: --full"] {
        assert!(short.contains(part), "{part}: {short}");
    }
    let (full, _) = with(&["run", &set, "--full"], &[("COLUMNS", "80")]);
    assert!(!full.contains("--full") && full.lines().filter(|line| line.starts_with("press")).count() >= 24, "{full}");
    let (narrow, _) = with(&["run", &set, "--width", "60"], &[("COLUMNS", "200")]);
    assert!(wide(&narrow, 60).is_empty(), "{:?}", wide(&narrow, 60));
    // A terminal of no size is not believed.
    let (zero, _) = with(&["run", &set], &[("COLUMNS", "0")]);
    assert_eq!(zero, with(&["run", &set], &[]).0);
}

#[test]
fn markdown_is_narrow_enough_for_a_mail() {
    let folder = Folder::new();
    let small = folder.file("small.toml", SMALL);
    let args = ["compare", &small, "--change", "NO_WAKEUP_PREEMPTION", "--runs", "6", "--markdown"];
    let (out, _) = with(&args, &[]);
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 5 && rows.iter().all(|row| row.ends_with('|')), "{out}");
    assert!(out.contains("| metric ") && out.contains("-: |"), "{out}");
    assert!(wide(&out, 75).is_empty(), "{:?}", wide(&out, 75));
}

const ESCAPE: char = '\u{1b}';

/// NO_COLOR wins over everything but `--color`; CLICOLOR_FORCE makes colours where there is no terminal.
#[test]
fn colours_of_stdout_and_stderr_obey_the_environment() {
    let folder = Folder::new();
    let bad = folder.file("bad.toml", "duration = 10\n");
    for args in [&["run", &bad][..], &["run", "--nonsense"], &["run", "--help"]] {
        let both = |environment: &[(&str, &str)], more: &[&str]| {
            let (out, err) = with(&[args, more].concat(), environment);
            out + &err
        };
        let forced = [("CLICOLOR_FORCE", "1")];
        assert!(!both(&[], &[]).contains(ESCAPE), "{args:?}: a pipe has no colours");
        assert!(both(&forced, &[]).contains(ESCAPE), "{args:?}");
        assert!(!both(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]).contains(ESCAPE), "{args:?}");
        assert!(!both(&[("CLICOLOR", "0")], &[]).contains(ESCAPE), "{args:?}");
        assert!(!both(&forced, &["--color", "never"]).contains(ESCAPE), "{args:?}");
        assert!(both(&[("NO_COLOR", "1")], &["--color=always"]).contains(ESCAPE), "{args:?}");
    }
}

#[test]
fn each_command_has_its_examples_in_its_help() {
    let (help, _) = with(&["--help"], &[]);
    assert!(wide(&help, 100).is_empty(), "{:?}", wide(&help, 100));
    for question in ["What happens in a run?", "Why was a task late?", "What does a change do?", "Options:"] {
        assert!(help.contains(question), "{question}: {help}");
    }
    for line in help.lines().filter(|line| line.starts_with("  ") && !line.trim_start().starts_with('-')) {
        let name = line.split_whitespace().next().unwrap();
        if help.contains(&format!("\n  {name} "))
            && line.starts_with(&format!("  {name} "))
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        {
            let (own, _) = with(&[name, "--help"], &[]);
            assert!(own.matches("\n  fairground ").count() >= 2, "{name}: {own}");
        }
    }
}

/// Before the first table stand at most ten lines, and the first of them says what came out.
#[test]
fn a_summary_stands_before_the_tables() {
    let folder = Folder::new();
    for words in commands(&folder) {
        // `run` ends with it; lists are tables; stories of `explain` and release notes are what was asked for.
        if ["run", "list", "profile", "explain"].contains(&words[0].as_str()) {
            continue;
        }
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let (out, _) = with(&args, &[("COLUMNS", "200")]);
        let summary: Vec<&str> = out.lines().take_while(|line| !line.is_empty()).collect();
        assert!((1..=10).contains(&summary.len()), "{words:?}: {summary:#?}");
        assert!(!summary.iter().any(|line| line.starts_with("---")), "{words:?}: {summary:#?}");
    }
    let (out, _) = with(&["run", "scenarios/examples/nice.toml"], &[]);
    let end: Vec<&str> = out.trim_end().lines().rev().take_while(|line| !line.is_empty()).collect();
    assert!((3..=10).contains(&end.len()) && end.last().is_some_and(|line| line.contains("simulated")), "{end:#?}");
}

/// A scenario on stdin is run as from a file; mistakes are shown on the lines of `<stdin>`.
#[test]
fn scenarios_are_read_from_stdin() {
    use std::io::Write;
    use std::process::Stdio;
    let piped = |args: &[&str], text: &str| {
        let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that refuses its flags does not read.
        let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let folder = Folder::new();
    let small = folder.file("small.toml", SMALL);
    let of_file = crate::support::ok(&["run", &small, "--json"]).json();
    let (code, out, err) = piped(&["run", "-", "--json"], SMALL);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["digest"]), (0, &of_file["digest"]), "{err}");
    let bad = SMALL.replace("duration = \"1s\"", "duration = 1");
    let metric = ["--metric", "switches"];
    for args in [
        &["run", "-"][..],
        &["compare", "-", "--change", "NO_WAKEUP_PREEMPTION"],
        &["explain", "-"],
        &["latency", "-"],
        &["timehist", "-"],
        &["sensitivity", "-", metric[0], metric[1], "--runs", "1"],
        &["bisect", "-", "--change", "NO_WAKEUP_PREEMPTION", metric[0], metric[1]],
        &["diff-runs", "-", "--change", "NO_WAKEUP_PREEMPTION"],
    ] {
        let (code, out, err) = piped(args, SMALL);
        assert!([0, 1, 4].contains(&code) && !out.is_empty(), "{args:?}: {err}");
        let (code, _, err) = piped(args, &bad);
        assert!(code == 2 && err.contains("<stdin>:3:"), "{args:?}: {err}");
    }
    let (code, _, err) = piped(&["advise", "-", "--goal", "p99=50ms"], &bad);
    assert!(code == 2 && err.contains("<stdin>:3:"), "{err}");
    let sweep = format!("base = \"{small}\"\n[axes]\nseed = \"1..2\"\n");
    let journal = folder.path("journal");
    let (code, out, err) = piped(&["sweep", "-", "--journal", &journal], &sweep);
    assert!(code == 0 && out.contains("2 runs"), "{err}");
    let (code, _, err) = piped(&["sweep", "-", "--journal", &journal], &sweep.replace("seed", "sead"));
    assert!(code == 2 && err.contains("<stdin>:3:"), "{err}");
    let rtapp = std::fs::read_to_string(workspace().join("examples/video-player.json")).unwrap();
    let (code, _, err) = piped(&["run", "-", "--machine", "smp-2", "--duration", "100ms"], &rtapp);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = piped(&["diff-runs", "-", "-"], SMALL);
    assert!(code == 2 && err.contains("once"), "{err}");
}
