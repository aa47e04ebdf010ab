//! Names from outside: what would steer a terminal, end a line, or be a formula in a spreadsheet. One set of them goes through every
//! command and every format that is written; both are found by the lists that the program prints, so that a new one is tried too.

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
    assert!([0, 1, 2, 3, 4].contains(&ran.code), "{words:?}: {}", ran.err);
    assert_harmless(&format!("{words:?}, stdout"), &ran.out);
    assert_harmless(&format!("{words:?}, stderr"), &ran.err);
}

/// All commands, as the program lists them itself.
fn commands() -> Vec<String> {
    let help = ok(&["--help"]).out;
    let (_, groups) = help.split_once("\n\nWhat happens in a run?\n").unwrap();
    let (groups, _) = groups.split_once("Options:\n").unwrap();
    let rows = groups.lines().filter_map(|line| line.strip_prefix("  "));
    let names: Vec<String> = rows.filter_map(|row| row.split_whitespace().next()).map(str::to_string).collect();
    assert!(names.len() >= 20 && names.contains(&"man".to_string()), "{names:?}");
    names
}

/// What hostile names are in, and one itself.
struct Given {
    path: String,
    sweep: String,
    traces: Vec<String>,
    /// A file or folder that is not there yet.
    new: String,
}

impl Given {
    /// How a command is given them: a new command needs a row.
    fn to<'n>(&'n self, name: &'n str) -> Vec<Vec<String>> {
        let (path, bad) = (self.path.as_str(), "x\u{1b}[31m\u{202e}\nend");
        let of_traces = |more: &[&'n str]| self.traces.iter().map(|trace| [&[name, trace], more].concat()).collect::<Vec<_>>();
        let rows: Vec<Vec<&str>> = match name {
            "run" => vec![vec![name, path], vec![name, path, "--print-scenario"], vec![name, "--workload", bad]],
            "latency" | "timehist" | "schedstat" => [of_traces(&[]), vec![vec![name, path]]].concat(),
            "replay" => of_traces(&[]),
            "conform" => of_traces(&["--profile", "v6.12"]),
            "explain" => [of_traces(&["--at", "20ms"]), vec![vec![name, path, "--at", "20ms"]]].concat(),
            "compare" => {
                let pair: Vec<&str> = self.traces.iter().take(2).map(String::as_str).collect();
                vec![
                    vec![name, path, "--change", "NO_RUN_TO_PARITY"],
                    [&[name], &pair[..]].concat(),
                    vec![name, path, "--b", bad],
                ]
            }
            "judge" => vec![vec![name, "--a", bad, "--b", "v6.12"], vec![name, "--a", "v6.12", "--b", "v6.6", "--only", bad]],
            "bisect" => {
                let kernels = [name, path, "--a", "v6.6", "--b", "v6.12", "--runs", "2", "--metric"];
                vec![[&kernels[..], &["switches"]].concat(), [&kernels[..], &[bad]].concat()]
            }
            "sweep" => vec![vec![name, &self.sweep, "--fresh"], vec![name, &self.sweep, "--seeds-apart"], vec![name, path]],
            "sensitivity" => vec![vec![name, path, "--runs", "2"]],
            "diff-runs" => vec![vec![name, path, "--a", "v6.6", "--b", "v6.12"], vec![name, path, bad]],
            "advise" => vec![vec![name, path], vec![name, path, "--cgroup", bad]],
            "reproduce" => vec![vec![name, bad]],
            "vopr" => vec![vec![name, "--replay", path], vec![name, "--time", bad]],
            "convert" => of_traces(&[&self.new]),
            "list" => vec![vec![name, bad], vec![name, "domains", "--machine", bad]],
            "profile" => vec![vec![name, "show", bad], vec![name, "diff", "v6.12", bad]],
            "kernel" => vec![vec![name, "build", bad]],
            "capture" => vec![vec![name, "machine", "-o", &self.new], vec![name, bad]],
            "completions" => vec![vec![name, bad]],
            "man" => vec![vec![name, "-o", &self.new]],
            _ => panic!("`{name}` has no row here: how are hostile names given to it?"),
        };
        rows.into_iter().map(|row| row.into_iter().map(str::to_string).collect()).collect()
    }
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
    let sweep = folder.file(
        "sweep.toml",
        format!("title = \"{}\"\nbase = \"a.toml\"\nmetrics = [\"switches\"]\n[axes]\nseed = [1, 2]\n", NAMES[0]),
    );
    let given = Given { path, sweep, traces, new: folder.path("new\u{1b}[31m") };
    let commands: Vec<Vec<String>> = commands().iter().flat_map(|name| given.to(name)).collect();
    assert!(commands.len() > 60);
    for words in &commands {
        for style in [&[][..], &["--json"], &["--markdown"]] {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(style.iter().copied()).collect();
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
