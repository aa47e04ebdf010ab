//! Names from outside: what would steer a terminal, end a line, or be a formula in a spreadsheet. One set of them goes through every
//! command that shows names and every format that is written; formats are found by the list that the program prints.

use crate::support::{Folder, Ran, command, ok, run};

/// Names of tasks, as TOML spells them.
const NAMES: [&str; 7] = [
    "\\u001b[31mred\\u001b[0m",
    "c1\\u009b2J",
    "bidi\\u202egnp",
    "line\\nend",
    "\\u001b]0;title\\u0007",
    "=cmd()|'x'!A1",
    "<script>alert(1)</script>|*`",
];

fn scenario() -> String {
    let rows: Vec<String> =
        NAMES.iter().map(|name| format!("{{ name = \"{name}\", run = \"1ms\", period = \"9ms\" }}")).collect();
    format!(
        "title = \"{}\"\nduration = \"100ms\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"v6.12\"\n[[workload]]\ntasks = [{}]\n",
        NAMES[0],
        rows.join(", ")
    )
}

/// Whether a letter may not stand in any output.
fn is_wrong(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || turns
}

fn assert_harmless(what: &str, text: &str) {
    let found = text.char_indices().find(|row| is_wrong(row.1));
    assert!(found.is_none(), "{what}: {found:?} in {}", text.escape_debug());
    assert!(!text.contains("\nend"), "{what}: a name breaks a line: {text}");
}

fn assert_ran(words: &[&str], ran: &Ran) {
    assert!([0, 1, 2, 4].contains(&ran.code), "{words:?}: {}", ran.err);
    assert_harmless(&format!("{words:?}, stdout"), &ran.out);
    assert_harmless(&format!("{words:?}, stderr"), &ran.err);
}

/// The endings of all formats that the program writes, as it lists them itself.
fn endings() -> Vec<String> {
    let refused = run(&["run", "scenarios/examples/hog-and-player.toml", "-o", "x.none"]);
    let list = refused.err.split("there are writers for ").nth(1).unwrap().lines().next().unwrap();
    let endings: Vec<String> = list.split(", ").map(|ending| ending.trim_matches(['.', ' ']).to_string()).collect();
    assert!(endings.len() >= 8, "{list}");
    endings
}

#[test]
fn every_format_and_every_command_shows_hostile_names_as_escapes() {
    let folder = Folder::new();
    let path = folder.file("a.toml", scenario());
    let mut traces = Vec::new();
    for ending in endings() {
        let out = folder.path(&format!("x.{ending}"));
        let words = ["run", &path, "-o", &out];
        assert_ran(&words, &run(&words));
        let bytes = std::fs::read(&out).unwrap();
        let is_text = !["pftrace", "parquet"].contains(&ending.as_str());
        let text = if is_text { String::from_utf8(bytes).unwrap() } else { String::from_utf8_lossy(&bytes).into_owned() };
        if is_text {
            assert_harmless(&ending, &text);
        }
        assert!(!text.contains("\u{1b}[31m") && !text.contains('\u{202e}'), "{ending}");
        if ["csv", "json", "txt", "pftrace"].contains(&ending.as_str()) {
            assert!(text.contains("bidi\\") && text.contains("u{202e}gnp"), "{ending}: the same name in every format");
            traces.push(out);
        }
    }
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["run", &path],
        vec!["run", &path, "--print-scenario"],
        vec!["latency", &path],
        vec!["timehist", &path],
        vec!["explain", &path, "--at", "20ms"],
        vec!["compare", &path, "--change", "NO_RUN_TO_PARITY"],
        vec!["sensitivity", &path],
    ];
    for trace in &traces {
        for name in ["latency", "timehist", "replay", "schedstat"] {
            commands.push(vec![name, trace]);
        }
        commands.push(vec!["conform", trace, "--profile", "v6.12"]);
        commands.push(vec!["explain", trace, "--at", "20ms"]);
    }
    for words in &commands {
        for style in [&[][..], &["--json"], &["--markdown"], &["--csv"]] {
            let words = [words, style].concat();
            let ran = run(&words);
            // A style that there is not is refused.
            assert_ran(&words, &ran);
        }
    }
}

#[test]
fn a_recording_of_another_program_is_not_trusted_either() {
    let folder = Folder::new();
    let names = ["\u{1b}[31mred", "c1\u{9b}2J", "bidi\u{202e}gnp", "=1+1", "\u{7}bell"];
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        let at = at + 1;
        text += &format!(
            "  {name}-{at}00 [000] d... {at}.000000: sched_switch: prev_comm={name} prev_pid={at}00 prev_prio=120 prev_state=R ==> \
             next_comm={name} next_pid={at}01 next_prio=120\n"
        );
    }
    let trace = folder.file("e\u{1b}[31m.txt", text);
    for words in [
        &["latency", &trace][..],
        &["timehist", &trace],
        &["replay", &trace],
        &["conform", &trace, "--profile", "v6.12"],
        &["convert", &trace, &folder.path("o\u{1b}.csv")],
        &["run", &folder.path("\u{1b}none\u{202e}.toml")],
    ] {
        let output = command(words).output().unwrap();
        for (what, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
            assert_harmless(&format!("{words:?}, {what}"), &String::from_utf8(bytes).unwrap());
        }
    }
    let csv = folder.read("o\u{1b}.csv");
    assert_harmless("csv", &csv);
    assert!(csv.contains(",'=1+1,"), "a cell is no formula: {csv}");
    let back = ok(&["timehist", &folder.path("o\u{1b}.csv")]);
    assert!(back.out.contains("=1+1[") && !back.out.contains("'=1+1"), "{}", back.out);
}
