use super::*;
use crate::error::{Error, FileMistakes};
use crate::testing::run;
use crate::{Overrides, Scenario, write};
use std::path::Path;

/// A machine of one CPU without costs, with autogroups.
const ON: &str = "
duration = \"2s\"
[machine]
preset = \"smp-1\"
costs = \"zero\"
[profile]
kernel = \"5.19\"
tunables = { sched_autogroup_enabled = true }
";
const TWO_SESSIONS: &str = "
[[workload]]
tasks = [{ name = \"game\", hog = true, session = \"desktop\" }, { name = \"cc\", hog = true, count = 9, session = \"make\" }]
";

fn parse_with(text: &str, set: &[&str]) -> Result<Scenario, Error> {
    let overrides = Overrides { set: set.iter().map(|text| text.to_string()).collect(), ..Overrides::default() };
    Scenario::parse("test.toml", text, Path::new(""), &overrides)
}
fn parse(rest: &str) -> Scenario {
    parse_with(&format!("{ON}{rest}"), &[]).unwrap()
}
fn mistakes_of(found: Result<Scenario, Error>) -> Vec<String> {
    match found {
        Err(Error::Input(files)) => files.iter().flat_map(FileMistakes::lines).collect(),
        other => panic!("expected mistakes, got {other:?}"),
    }
}
/// The group of each task at its start, by path; `/` for the root and for where a parent is.
fn places(tasks: &TaskSet) -> Vec<(&str, &str)> {
    let path = |group: Option<TgId>| group.map_or("/", |group| tasks.groups[group].name.as_str());
    tasks.tasks.iter().map(|task| (task.name.as_str(), path(task.group))).collect()
}
/// Parts per thousand of the CPU time that the tasks got that `counts` picks by name.
fn per_mille(scenario: &Scenario, counts: impl Fn(&str) -> bool) -> u64 {
    let (tasks, report) = (scenario.tasks(), run(scenario).1);
    let times = report.tasks.iter().map(|task| (counts(&tasks.tasks[task.task].name), task.runtime.0));
    let (of, all) = times.fold((0, 0), |(of, all), (counts, time)| (of + if counts { time } else { 0 }, all + time));
    of * 1000 / all
}

/// Model: 03 T12
#[test]
fn autogroups_share_a_cpu_evenly_between_sessions_of_one_and_nine_hogs() {
    for kernel in ["4.12", "5.10", "5.19", "6.1", "6.6", "6.14", "6.18"] {
        let text = format!("{ON}{TWO_SESSIONS}").replace("5.19", kernel).replace("2s", "10s");
        let on = per_mille(&parse_with(&text, &[]).unwrap(), |name| name == "game");
        assert!((495..=505).contains(&on), "v{kernel}: {on}");
        let off = per_mille(&parse_with(&text, &["sched_autogroup_enabled=0"]).unwrap(), |name| name == "game");
        assert!((95..=105).contains(&off), "v{kernel}: {off}");
    }
}

#[test]
fn sessions_are_named_in_notes_and_their_groups_as_the_kernel_does() {
    let scenario = parse(TWO_SESSIONS);
    assert_eq!(scenario.notes, ["/autogroup-1 is session `desktop`, /autogroup-2 is session `make`"]);
    let tasks = scenario.tasks();
    assert_eq!(places(&tasks)[..2], [("game", "/autogroup-1"), ("cc-0", "/autogroup-2")]);
    assert!(tasks.groups.iter().all(|group| (group.parent, group.shares, group.idle) == (None, 1024, false)));
    // It is off unless somebody says otherwise, and then no group is made.
    for (text, set) in [
        (ON.replace("tunables", "# "), &[][..]),
        (ON.replace("true", "0"), &[]),
        (ON.to_string(), &["sched_autogroup_enabled=0"]),
    ] {
        let off = parse_with(&format!("{text}{TWO_SESSIONS}"), set).unwrap();
        assert_eq!(off.notes, ["sched_autogroup_enabled is off: sessions have no groups of their own"]);
        assert!(off.tasks().groups.is_empty());
        assert_eq!(off.tasks(), parse_with(&format!("{text}{}", without_sessions(TWO_SESSIONS)), set).unwrap().tasks());
    }
    let nobody = parse(&without_sessions(TWO_SESSIONS));
    assert_eq!(nobody.notes, ["sched_autogroup_enabled is on, but no task has a session: no autogroups"]);
    assert!(nobody.tasks().groups.is_empty());
}

fn without_sessions(text: &str) -> String {
    text.replace(", session = \"desktop\"", "").replace(", session = \"make\"", "")
}

#[test]
fn a_workload_is_a_session_but_for_its_kernel_threads() {
    let tasks = parse(
        "[[group]]\npath = \"/web\"\n[[workload]]\nsession = \"s\"\n\
         tasks = [{ name = \"a\", hog = true }, { name = \"b\", hog = true, session = \"t\" }, { name = \"k\", hog = true, kthread = true },\n\
         { name = \"w\", hog = true, group = \"/web\" }]\n\
         [[workload]]\nname = \"hog\"\nsession = \"t\"\n[[workload]]\ntasks = [{ name = \"init\", hog = true }]\n",
    )
    .tasks();
    let expected =
        [("a", "/autogroup-1"), ("b", "/autogroup-2"), ("k", "/"), ("w", "/web"), ("hog00", "/autogroup-2"), ("init", "/")];
    assert_eq!(places(&tasks), expected);
}

/// `mother` forks `child`, both compute; a hog of another session beside them.
const FAMILY: &str = "
[[group]]
path = \"/web\"
[[workload]]
tasks = [{ name = \"mother\", session = \"s\", program = [\"fork child\", \"run 1h\"] },
    { name = \"child\", forked = true, program = [\"run 1h\"] },
    { name = \"other\", hog = true, session = \"t\" }]
";

#[test]
fn children_inherit_the_session_of_their_parent() {
    let mother = |name: &str| name == "mother" || name == "child";
    let half = per_mille(&parse(FAMILY), mother);
    assert!((495..=505).contains(&half), "{half}");
    let third = per_mille(
        &parse(
            &FAMILY.replace("\"run 1h\"] },\n    { name = \"child\"", "\"cgroup /web\", \"run 1h\"] },\n    { name = \"child\""),
        ),
        |name| name == "child",
    );
    // The mother left the autogroup after the fork: it, /web and the other session share the CPU.
    assert!((328..=338).contains(&third), "{third}");
}

#[test]
fn who_leaves_a_cgroup_for_the_root_comes_back_to_the_autogroup_of_its_session() {
    // The child goes to /web and back by steps of its own, which know the session that it inherited; then the mother by changes.
    let text = FAMILY.replace("program = [\"run 1h\"] }", "program = [\"cgroup /web\", \"run 1ms\", \"cgroup /\", \"run 1h\"] }")
        + "[[at]]\ntime = \"100ms\"\ndo = \"cgroup.procs /web mother\"\n[[at]]\ntime = \"200ms\"\ndo = \"cgroup.procs / mother\"\n";
    let scenario = parse(&text);
    let tasks = scenario.tasks();
    let autogroup = tasks.groups.iter_enumerated().find(|row| row.1.name == "/autogroup-1").map(|row| row.0);
    let child = tasks.tasks.iter().find(|task| task.name == "child").unwrap();
    assert_eq!(child.group, None, "it starts where its parent is");
    assert_eq!(tasks.programs[child.program].code[2], Instr::SetGroup { group: autogroup });
    let moves: Vec<_> = tasks.changes.iter().map(|timed| timed.change.clone()).collect();
    let mother = TaskId::new(0);
    assert_eq!(moves[1], Change::Group { task: mother, group: autogroup });
    let half = per_mille(&scenario, |name| name == "other");
    // For 100 ms of 2 s there are three groups: (1900 / 2 + 100 / 3) / 2000.
    assert!((484..=499).contains(&half), "{half}");
    // The same change when it is asked for beside the scenario.
    let asked = scenario.changes("cgroup.procs / mother", fairground_stdx::Instant::ZERO, "--what-if").unwrap();
    assert_eq!(asked[0].change, Change::Group { task: mother, group: autogroup });
}

#[test]
fn one_program_of_tasks_of_two_sessions_leads_each_to_its_own() {
    let text = "[[group]]\npath = \"/web\"\n[[workload]]\n\
        tasks = [{ name = \"a\", session = \"s\", program = [\"fork c-0\", \"run 1h\"] }, { name = \"b\", session = \"t\", program = [\"fork c-1\", \"run 1h\"] },\n\
        { name = \"c\", count = 2, forked = true, group = \"/web\", program = [\"cgroup /\", \"run 1h\"] }]\n";
    let tasks = parse(text).tasks();
    let goes = |name: &str| match tasks.programs[tasks.tasks.iter().find(|task| task.name == name).unwrap().program].code[0] {
        Instr::SetGroup { group: Some(group) } => tasks.groups[group].name.as_str(),
        ref other => panic!("{other:?}"),
    };
    assert_eq!([goes("c-0"), goes("c-1")], ["/autogroup-1", "/autogroup-2"]);
}

#[test]
fn nice_weighs_an_autogroup_by_the_table_of_tasks() {
    let text = format!("{TWO_SESSIONS}[[session]]\nname = \"make\"\nautogroup_nice = 5\n");
    let scenario = parse(&text);
    assert_eq!(scenario.tasks().groups.iter().map(|group| group.shares).collect::<Vec<_>>(), [1024, 335]);
    let desktop = per_mille(&scenario, |name| name == "game");
    // 1024 / (1024 + 335).
    assert!((748..=759).contains(&desktop), "{desktop}");
    let later = parse(&format!("{TWO_SESSIONS}[[at]]\ntime = \"1s\"\ndo = \"autogroup_nice make -20\"\n"));
    let changes = later.tasks().changes;
    assert_eq!(changes[0].change, Change::Shares { group: TgId::new(1), shares: 88_761 });
    let desktop = per_mille(&later, |name| name == "game");
    // Half of the first second, nearly nothing of the second.
    assert!((250..=262).contains(&desktop), "{desktop}");
    let off =
        parse_with(&format!("{ON}{text}[[at]]\ntime = \"1s\"\ndo = \"autogroup_nice make 3\"\n"), &["sched_autogroup_enabled=0"]);
    assert!(off.unwrap().tasks().changes.is_empty());
}

#[test]
fn canonical_text_and_the_written_run_read_back() {
    let text = format!(
        "{FAMILY}[[workload]]\nname = \"hog\"\nsession = \"u\"\n[[session]]\nname = \"t\"\nautogroup_nice = -3\n\
         [[at]]\ntime = \"1s\"\ndo = \"autogroup_nice s 7\"\n[[at]]\ntime = \"1s\"\ndo = \"cgroup.procs /web mother\"\n\
         [[at]]\ntime = \"1100ms\"\ndo = \"cgroup.procs / mother\"\n"
    );
    let scenario = parse(&text);
    let printed = scenario.canonical();
    let again = parse_with(&printed, &[]).unwrap();
    assert_eq!((again.canonical(), again.tasks(), again.digest()), (printed, scenario.tasks(), scenario.digest()));
    for (from, to) in [("tunables", "# "), ("= -3", "= -4"), ("\"u\"", "\"t\""), ("nice s 7", "nice s 8")] {
        assert_ne!(parse_with(&format!("{ON}{text}").replace(from, to), &[]).unwrap().digest(), scenario.digest(), "{to}");
    }
    let setup = scenario.setup().unwrap();
    let written = write("again", &setup).unwrap();
    let ran = |scenario: &Scenario| run(scenario).0;
    assert_eq!(ran(&parse_with(&written, &[]).unwrap()), ran(&scenario), "{written}");
}

#[test]
fn mistakes_are_named_with_their_lines() {
    for (row, part) in [
        ("[[session]]\nname = \"maek\"", "test.toml:13: no task is of session `maek` (hint: Did you mean `make`?)"),
        ("[[session]]\nautogroup_nice = 3", "test.toml:12: `[[session]]` without `name`"),
        ("[[session]]\nname = \"make\"\nautogroup_nice = 20", "test.toml:14: nice 20 does not exist"),
        ("[[session]]\nname = \"make\"\nautogroup_nice = -21", "test.toml:14: nice -21 does not exist"),
        ("[[session]]\nname = \"make\"\nnice = 3", "test.toml:14: unknown key `nice`"),
        ("[[session]]\nname = \"make\"\n[[session]]\nname = \"make\"", "test.toml:15: session `make` stands here twice"),
        (
            "[[group]]\npath = \"/autogroup-2\"",
            "test.toml:13: group `/autogroup-2` has the name of the autogroup of session `make`",
        ),
        ("[[group]]\npath = \"/autogroup-1/x\"", "test.toml:13: group `/autogroup-1` has the name of the autogroup"),
        ("[[at]]\ntime = \"1s\"\ndo = \"autogroup_nice maek 3\"", "test.toml:14: no task is of session `maek`"),
        ("[[at]]\ntime = \"1s\"\ndo = \"cpu.weight /autogroup-1 3\"", "test.toml:14: there is no group `/autogroup-1`"),
        (
            "[[workload]]\ntasks = [{ name = \"a\", session = \"x\", do = [\"fork c\"] }, { name = \"b\", do = [\"fork c\"] }, { name = \"c\", forked = true, hog = true }]",
            "test.toml:12: task `c` may be forked by tasks of different sessions",
        ),
        (
            "[[group]]\npath = \"/web\"\n[[workload]]\ntasks = [{ name = \"a\", do = [\"fork c\"] }, { name = \"c\", forked = true, hog = true, session = \"x\" }]",
            "test.toml:14: forked task `c` has a session of its own, but no group",
        ),
    ] {
        let found = mistakes_of(parse_with(&format!("{ON}{TWO_SESSIONS}{row}\n"), &[]));
        assert_eq!(found.len(), 1, "{row}: {found:#?}");
        assert!(found[0].starts_with(part) && found[0].contains("(hint: "), "{row}: {found:#?}");
    }
    for (value, part) in [
        ("2", "`2` is no value"),
        ("\"yes\"", "`yes` is no value"),
        ("1.0", "is no truth value"),
        ("[true]", "is no truth value"),
    ] {
        let found = mistakes_of(parse_with(&format!("{ON}{TWO_SESSIONS}").replace("= true }", &format!("= {value} }}")), &[]));
        assert!(found[0].starts_with("test.toml:8: ") && found[0].contains(part), "{found:#?}");
    }
    let found = mistakes_of(parse_with(&format!("{ON}{TWO_SESSIONS}"), &["sched_autogroup_enabled=maybe"]));
    assert!(found[0].contains("--set: `maybe` is no value for `sched_autogroup_enabled`"), "{found:#?}");
    // While it is off, a cgroup may be called so.
    let named = format!("{ON}{TWO_SESSIONS}[[group]]\npath = \"/autogroup-1\"\n")
        .replace("true }", "false }")
        .replace("hog = false", "hog = true");
    assert!(parse_with(&named, &[]).is_ok());
    let found = mistakes_of(parse_with(&named, &["sched_autogroup_enabled=1"]));
    assert!(found[0].contains("has the name of the autogroup"), "{found:#?}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    /// Tasks of random sessions, groups and parents: with the sysctl everyone who would be in the root group is in the autogroup of
    /// its session, or of the parents' above it, and nobody else moves.
    #[test]
    fn only_tasks_of_the_root_group_are_in_autogroups(rows in proptest::collection::vec((0usize..4, proptest::bool::ANY, proptest::bool::ANY), 1..8)) {
        let mut text = "[[group]]\npath = \"/g\"\n[[workload]]\ntasks = [\n".to_string();
        for (row, &(session, grouped, forked)) in rows.iter().enumerate() {
            let forked = forked && row > 0;
            let mut keys = vec![format!("name = \"t{row}\"")];
            if session > 0 && !forked {
                keys.push(format!("session = \"s{session}\""));
            }
            if grouped {
                keys.push("group = \"/g\"".to_string());
            }
            if forked {
                keys.push("forked = true".to_string());
            }
            let fork = if rows.get(row + 1).is_some_and(|next| next.2) { format!("\"fork t{}\", ", row + 1) } else { String::new() };
            keys.push(format!("program = [{fork}\"cgroup /\", \"run 1ms\"]"));
            text.push_str(&format!("{{ {} }},\n", keys.join(", ")));
        }
        text.push_str("]\n");
        let on = parse(&text);
        let off = parse_with(&format!("{ON}{text}"), &["sched_autogroup_enabled=0"]).unwrap();
        let (on, off) = (on.tasks(), off.tasks());
        let starts = [on.first_groups(), off.first_groups()];
        let mut inherited = 0;
        for (id, task) in off.tasks.iter_enumerated() {
            let (session, _, forked) = rows[id.index()];
            inherited = if forked && id.index() > 0 { inherited } else { session };
            let nice = |group: Option<TgId>| group.map(|group| on.groups[group].name.clone());
            let mut order: Vec<usize> = Vec::new();
            for (row, &(session, _, forked)) in rows.iter().enumerate() {
                if session > 0 && (!forked || row == 0) && !order.contains(&session) {
                    order.push(session);
                }
            }
            let home = order.iter().position(|&session| session == inherited).map(path);
            let start = starts[1][id].map(|group| off.groups[group].name.clone());
            proptest::prop_assert_eq!(nice(starts[0][id]), start.or(home.clone()), "{}", task.name);
            let goes = on.programs[on.tasks[id].program].code.iter().find_map(|instr| match instr {
                Instr::SetGroup { group } => Some(nice(*group)),
                _ => None,
            });
            proptest::prop_assert_eq!(goes, Some(home), "{}", task.name);
        }
    }
}
