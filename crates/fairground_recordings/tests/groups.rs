//! `conform` of recordings in which tasks go to other control groups.
#![allow(clippy::panic, reason = "a test stops where it fails")]

use fairground_conform::Kind;
use fairground_machine::Machine;
use fairground_model::Change;
use fairground_recordings::conform::{ConformOptions, Conformance, conform};
use fairground_scenario::trace_file::TraceFile;
use fairground_scenario::{Control, Overrides, Parts, Source, Workload};
use fairground_stdx::{Ns, TgId};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A tick.
const TURN_US: u64 = 4_000;
/// One turn each, of equal tasks.
const FLAT: [&str; 3] = ["ada", "bob", "cyd"];
/// The same where the first two share the turns of one group.
const HALF: [&str; 4] = ["ada", "cyd", "bob", "cyd"];
/// The same where that group weighs a hundred times as much as the third task, for less than a hundred turns.
const NEARLY_ALL: [&str; 2] = ["ada", "bob"];

/// A text of ftrace: who runs in which turn, and to which group he goes within it.
struct Text {
    lines: String,
    now_us: u64,
}

impl Text {
    fn line(&mut self, who: &str, event: &str) {
        let (seconds, us) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
        writeln!(self.lines, " {who}-{} [000] d..2. {seconds}.{us:06}: {event}", pid(who)).expect("a text can be written to");
    }
    fn ran(&mut self, who: &str, for_us: u64) {
        self.now_us += for_us;
        self.line(who, &format!("sched_stat_runtime: comm={who} pid={} runtime={} [ns]", pid(who), for_us * 1_000));
    }
    /// `who` runs until the tick, and goes to a group half way through if one is given. Then it is `next`'s turn.
    fn turn(&mut self, who: &str, group: Option<&str>, next: &str) {
        let mut left = TURN_US - 10;
        if let Some(path) = group {
            self.ran(who, 1_500);
            left -= 1_500;
            self.line(
                who,
                &format!("cgroup_attach_task: dst_root=0 dst_id=7 dst_level=1 dst_path={path} pid={} comm={who}", pid(who)),
            );
        }
        self.ran(who, left);
        self.ran(who, 10);
        self.line(
            who,
            &format!(
                "sched_switch: prev_comm={who} prev_pid={} prev_prio=120 prev_state=R ==> next_comm={next} next_pid={} next_prio=120",
                pid(who),
                pid(next)
            ),
        );
    }
}

fn pid(who: &str) -> u32 {
    match who {
        "ada" => 11,
        "bob" => 12,
        _ => 13,
    }
}

/// Three hogs take turns. Then two of them go to `/web`, and turns are as `grouped`.
fn recorded(grouped: &[&'static str]) -> String {
    recorded_with(grouped, &[])
}

/// The same, and at last they come back to the root group.
fn recorded_to_the_end() -> String {
    let back = [("ada", Some("/")), ("cyd", None), ("bob", Some("/"))];
    recorded_with(&HALF, &back.into_iter().chain(FLAT.into_iter().cycle().take(30).map(|who| (who, None))).collect::<Vec<_>>())
}

fn recorded_with(grouped: &[&'static str], end: &[(&'static str, Option<&'static str>)]) -> String {
    let mut text = Text { lines: String::new(), now_us: 5_000_000 };
    let mut turns: Vec<(&str, Option<&str>)> = FLAT.into_iter().cycle().take(30).map(|who| (who, None)).collect();
    turns.extend([("ada", Some("/web")), ("bob", Some("/web")), ("cyd", None)]);
    turns.extend(grouped.iter().cycle().take(80).map(|&who| (who, None)));
    turns.extend(end);
    for (row, &(who, group)) in turns.iter().enumerate() {
        text.turn(who, group, turns.get(row + 1).map_or("ada", |next| next.0));
    }
    text.lines
}

/// Writes the files, runs `with` on their paths and takes them away.
fn with_files<R>(name: &str, text: &str, scenario: Option<&str>, with: impl FnOnce(&Path, Option<PathBuf>) -> R) -> R {
    let folder = std::env::temp_dir().join(format!("fairground-groups-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let write = |ending: &str, text: &str| {
        let file = folder.join(format!("trace.{ending}"));
        std::fs::write(&file, text).expect("a file can be written");
        file
    };
    let made = with(&write("txt", text), scenario.map(|text| write("toml", text)));
    std::fs::remove_dir_all(&folder).expect("it is there");
    made
}

fn compared(name: &str, text: &str, scenario: Option<&str>) -> Conformance {
    with_files(name, text, scenario, |trace, scenario| {
        let profile = scenario.is_none().then(|| "v6.1".to_string());
        let overrides = Overrides { profile, ..Overrides::default() };
        let options = ConformOptions { overrides, scenario, keep: 50, ..ConformOptions::default() };
        conform(trace, &options, Control::none()).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// How many picks there were, and how many of them differ.
fn picks(made: &Conformance) -> (u64, u64) {
    let all = made.row(Kind::Pick).all;
    (all.decisions, all.decisions - all.agree)
}

fn group_note(made: &Conformance) -> &str {
    made.notes.iter().find(|note| note.contains("moves between groups")).expect("a note says it")
}

fn without_moves(text: &str) -> String {
    text.lines().filter(|line| !line.contains("cgroup_attach_task")).collect::<Vec<_>>().join("\n")
}

/// Which of two equal tasks is first after a move is not worked out in the text: two picks may differ.
#[test]
fn a_task_that_is_attached_in_mid_record_is_of_its_new_group_from_there_on() {
    let text = recorded_to_the_end();
    let followed = compared("followed", &text, None);
    assert!(
        group_note(&followed).contains("4 moves") && group_note(&followed).contains(": 0 tasks begin"),
        "{:?}",
        followed.notes
    );
    let (all, differ) = picks(&followed);
    assert!(all > 120 && differ <= 2, "{all} {differ}");
    let (all, differ) = picks(&compared("not", &without_moves(&text), None));
    assert!(all > 120 && differ >= 30, "{all} {differ}");
}

const SCENARIO: &str = "\
title = \"three hogs\"
duration = \"1s\"
[profile]
kernel = \"v6.1\"
[machine]
preset = \"smp-1\"
[[group]]
path = \"/web\"
\"cpu.weight\" = 10000
[[workload]]
tasks = [
    { name = \"ada\", hog = true },
    { name = \"bob\", hog = true },
    { name = \"cyd\", hog = true },
]
";

#[test]
fn a_scenario_tells_what_the_groups_weigh_to_which_tasks_are_attached() {
    let text = recorded(&NEARLY_ALL);
    let told = compared("told", &text, Some(SCENARIO));
    assert!(told.no_threshold.is_none(), "{:?}", told.no_threshold);
    let (all, differ) = picks(&told);
    assert!(all > 80 && differ <= 2, "{all} {differ} {:?}", told.notes);
    let (all, differ) = picks(&compared("by-default", &text, None));
    assert!(all > 80 && differ >= 15, "{all} {differ}");
    // A group below a known one is no group of its own.
    let below = text.replace("dst_path=/web", "dst_path=/web/inner");
    let below = compared("below", &below, Some(SCENARIO));
    assert!(group_note(&below).contains("the nearest one above it counts"), "{:?}", below.notes);
    assert!(picks(&below).1 <= 2, "{:?}", picks(&below));
}

#[test]
fn rows_that_name_no_group_or_no_task_change_nothing() {
    let text = recorded_to_the_end();
    let right = picks(&compared("right", &text, None));
    let long = format!("/{}", "x".repeat(4096));
    let deep = "/d".repeat(40);
    let rows = [
        ("/web", 0),
        ("/web", 4_000_000),
        (&long, 11),
        (&deep, 11),
        ("/we\u{1b}[31mb", 12),
        ("web", 13),
        ("/a/../b", 13),
        ("", 13),
    ];
    let (at, rest) = text.match_indices('\n').nth(60).map(|at| text.split_at(at.0 + 1)).expect("there are so many lines");
    let odd: String = rows
        .iter()
        .map(|(path, pid)| {
            format!(" ada-11 [000] d..2. 5.070000: cgroup_attach_task: dst_root=0 dst_id=7 dst_level=1 dst_path={path} pid={pid} comm=ada\n")
        })
        .collect();
    let made = compared("odd", &format!("{at}{odd}{rest}"), None);
    assert_eq!(picks(&made), right);
    let note = group_note(&made);
    assert!(note.contains("6 rows name no possible path") && !note.contains('\u{1b}'), "{note}");
}

#[test]
fn a_replay_moves_tasks_when_the_record_did() {
    let scenario = with_files("replay", &recorded_to_the_end(), None, |trace, _| {
        let trace = TraceFile::load(trace).unwrap_or_else(|error| panic!("{error}"));
        let machine = Machine::preset("smp-1").expect("it is one");
        let source = Source { name: "replay".to_string(), text: String::new() };
        let mut parts = Parts::new(source, Some(machine), &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        parts.workloads = vec![Workload::replay(&trace, 1)];
        parts.duration = Some(Ns(1_000_000_000));
        parts.build().unwrap_or_else(|error| panic!("{error}"))
    });
    let set = scenario.tasks();
    let group = |path: &str| set.groups.iter_enumerated().find(|row| row.1.name == path).map(|row| row.0);
    assert!(group("/web").is_some() && set.tasks.iter().all(|task| task.group.is_none()));
    let moves: Vec<(&str, Option<TgId>)> = set
        .changes
        .iter()
        .filter_map(|row| match row.change {
            Change::Group { task, group } => Some((set.tasks[task].name.as_str(), group)),
            _ => None,
        })
        .collect();
    assert_eq!(moves, [("ada", group("/web")), ("bob", group("/web")), ("ada", None), ("bob", None)]);
    // The first of them 1.5 ms after the 30th turn; time begins with the first record, 10 us before the end of the first one.
    assert_eq!(set.changes[0].at.ns(), 29 * 4_000_000 + 10_000 + 1_500_000);
}
