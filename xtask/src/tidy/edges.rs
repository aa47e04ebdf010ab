//! Which crate may use which. The table is the house plan; ARCHITECTURE.md says it in prose.

use super::{Finding, Project};
use toml_edit::{Document, Table};

/// One crate of the house.
pub(super) struct Room {
    pub(super) name: &'static str,
    /// Dependencies go to the same layer or down; the lists below say where exactly.
    pub(super) layer: u8,
    /// The crates of ours that it may use.
    uses: &'static [&'static str],
    /// Those that its tests may use besides, each with the reason.
    tests_use: &'static [(&'static str, &'static str)],
    /// The libraries of others that it may use; `None` = any.
    libraries: Option<&'static [&'static str]>,
    /// The invariant of absence, word for word as in ARCHITECTURE.md.
    pub(super) absent: &'static str,
}

const STDX: &str = "fairground_stdx";
const MODEL: &str = "fairground_model";
const SCHED: &str = "fairground_sched";
const MACHINE: &str = "fairground_machine";
const KCORE: &str = "fairground_kcore";
const SIM: &str = "fairground_sim";
const CONFORM: &str = "fairground_conform";
const WORKLOAD: &str = "fairground_workload";
const FORMATS: &str = "fairground_formats";
const METRICS: &str = "fairground_metrics";
const REPORT: &str = "fairground_report";
const FACADE: &str = "fairground";
const SCENARIO: &str = "fairground_scenario";
const RECORDINGS: &str = "fairground_recordings";
const BISECT: &str = "fairground_bisect";
const EXPLAIN: &str = "fairground_explain";
const ADVISE: &str = "fairground_advise";
const REPRODUCE: &str = "fairground_reproduce";
const VOPR: &str = "fairground_vopr";
const PYTHON: &str = "fairground_python";
const TESTING: &str = "fairground_testing";

/// Tests of most crates read the recorded sets.
const RECORDED: (&str, &str) = (TESTING, "the recorded sets of the checkout are read");

pub(super) const ROOMS: &[Room] = &[
    Room {
        name: STDX,
        layer: 0,
        uses: &[],
        tests_use: &[],
        libraries: Some(&["rand_xoshiro", "strsim"]),
        absent: "`fairground_stdx` knows nothing of scheduling: no type in it names a task's policy, a queue or a machine",
    },
    Room {
        name: MODEL,
        layer: 0,
        uses: &[STDX],
        tests_use: &[],
        libraries: Some(&[]),
        absent: "`fairground_model` decides nothing: it has data and pure functions, and no state that outlives a call",
    },
    Room {
        name: TESTING,
        layer: 0,
        uses: &[],
        tests_use: &[],
        libraries: Some(&[]),
        absent: "`fairground_testing` is used by tests alone: it finds recorded sets and reads none of them",
    },
    Room {
        name: SCHED,
        layer: 1,
        uses: &[STDX, MODEL],
        tests_use: &[(MACHINE, "domains and placement are tested on the machines of files, presets and recorded sets"), RECORDED],
        libraries: Some(&[]),
        absent: "`fairground_sched` cannot read a clock, do I/O, start a thread, or know what anything costs: it sees capacities \
                 as numbers in `MachineView`, never the price list",
    },
    Room {
        name: MACHINE,
        layer: 1,
        uses: &[STDX, MODEL],
        tests_use: &[RECORDED],
        libraries: None,
        absent: "`fairground_machine` knows no scheduler: what is priced is the list of `Op`s in the model, and no price depends \
                 on a decision",
    },
    Room {
        name: KCORE,
        layer: 1,
        uses: &[],
        tests_use: &[],
        libraries: Some(&["libc"]),
        absent: "`fairground_kcore` has no rule of scheduling: what a core decides is decided by the tree that it was built from",
    },
    Room {
        name: SIM,
        layer: 2,
        uses: &[STDX, MODEL, SCHED, MACHINE],
        tests_use: &[],
        libraries: Some(&[]),
        absent: "`fairground_sim` contains no scheduling policy and no benchmark: it spends time, and asks `fairground_sched` \
                 whenever there is something to choose",
    },
    Room {
        name: CONFORM,
        layer: 2,
        uses: &[STDX, MODEL, SCHED],
        tests_use: &[],
        libraries: Some(&[]),
        absent: "`fairground_conform` drives the entry points and compares; it never writes what a record says into the core's \
                 state. There are three exceptions: tasks and queues whose past lies before the record, quota accounts that were \
                 found to differ, and a group that a recorded pick shows to be elsewhere in virtual time",
    },
    Room {
        name: WORKLOAD,
        layer: 3,
        uses: &[STDX, MODEL],
        tests_use: &[RECORDED],
        libraries: None,
        absent: "`fairground_workload` cannot look into run queues or the engine: a benchmark is data, and is tested without either",
    },
    Room {
        name: FORMATS,
        layer: 3,
        uses: &[STDX, MODEL],
        tests_use: &[RECORDED],
        libraries: None,
        absent: "`fairground_formats` cannot tell a simulated run from a recorded one: it sees trace events only",
    },
    Room {
        name: METRICS,
        layer: 3,
        uses: &[STDX, MODEL],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_metrics` cannot reach back into a run: it gets trace events and returns numbers",
    },
    Room {
        name: REPORT,
        layer: 4,
        uses: &[STDX, MODEL, METRICS],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_report` computes nothing: every figure that it prints was handed to it",
    },
    Room {
        name: SCENARIO,
        layer: 4,
        uses: &[STDX, MODEL, SCHED, MACHINE, KCORE, SIM, WORKLOAD, FORMATS, METRICS],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_scenario` runs nothing: it reads, checks, changes and prints what decides a run",
    },
    Room {
        name: RECORDINGS,
        layer: 4,
        uses: &[STDX, MODEL, SCHED, MACHINE, CONFORM, WORKLOAD, FORMATS, METRICS, REPORT, SCENARIO],
        tests_use: &[RECORDED],
        libraries: None,
        absent: "`fairground_recordings` never adapts a model to a recording: it reads what was recorded and compares",
    },
    Room {
        name: FACADE,
        layer: 5,
        uses: &[STDX, MODEL, SCHED, MACHINE, SIM, WORKLOAD, FORMATS, METRICS, REPORT, SCENARIO, RECORDINGS, KCORE],
        tests_use: &[],
        libraries: None,
        absent: "`fairground` has no rule of the scheduler and no price of its own: it puts the rooms together",
    },
    Room {
        name: EXPLAIN,
        layer: 6,
        uses: &[STDX, MODEL, SCHED, SIM, METRICS, REPORT, SCENARIO, RECORDINGS, FACADE],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_explain` changes nothing of the run that it asks: what it tries, it tries in a copy",
    },
    Room {
        name: BISECT,
        layer: 6,
        uses: &[STDX, MODEL, SCHED, METRICS, REPORT, SCENARIO, FACADE],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_bisect` knows no change by name: what it tries are rows of the tables, in sets that the core can run",
    },
    Room {
        name: ADVISE,
        layer: 6,
        uses: &[STDX, MODEL, SCHED, SIM, WORKLOAD, FORMATS, METRICS, REPORT, SCENARIO, RECORDINGS, FACADE],
        tests_use: &[RECORDED],
        libraries: None,
        absent: "`fairground_advise` has no scheduler of its own: every figure of a limit comes from runs of the engine, or is marked as an estimate",
    },
    Room {
        name: REPRODUCE,
        layer: 6,
        uses: &[STDX, MODEL, SCHED, MACHINE, SIM, WORKLOAD, METRICS, REPORT, SCENARIO, FACADE, BISECT],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_reproduce` fits nothing: published figures stand in files with their source, and no price or rule is changed to reach them",
    },
    Room {
        name: "fairground_cli",
        layer: 7,
        uses: &[SCENARIO, RECORDINGS, FACADE, BISECT, EXPLAIN, ADVISE, REPRODUCE, REPORT, VOPR],
        tests_use: &[RECORDED],
        libraries: None,
        absent: "`fairground_cli` can do nothing that a user of the library cannot: it parses flags, draws and exits",
    },
    Room {
        name: PYTHON,
        layer: 7,
        uses: &[STDX, MODEL, METRICS, REPORT, SCENARIO, RECORDINGS, FACADE, EXPLAIN, ADVISE],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_python` can do nothing that a user of the library cannot: it hands values over and back",
    },
    Room {
        name: VOPR,
        layer: 7,
        uses: &[STDX, MODEL, SCHED, MACHINE, SIM, WORKLOAD, METRICS, SCENARIO],
        tests_use: &[(KCORE, "the core is held against the schedulers of kernel trees")],
        libraries: None,
        absent: "`fairground_vopr` is used by the command alone: no result that a user gets depends on it",
    },
    Room {
        name: "fairground_scorecard",
        layer: 7,
        uses: &[STDX, MODEL, SCHED, CONFORM, METRICS, REPORT, SCENARIO, RECORDINGS, FACADE, REPRODUCE],
        tests_use: &[RECORDED, (MACHINE, "a simulated run is held against itself on a preset")],
        libraries: None,
        absent: "`fairground_scorecard` is used by nothing: it runs what users can run and writes down how close it comes",
    },
    Room {
        name: "fairground_exam",
        layer: 7,
        uses: &[STDX, MODEL, SCHED, METRICS, REPORT, SCENARIO, FACADE, BISECT, EXPLAIN, ADVISE],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_exam` knows nothing of how an answer is found: it asks as a user does, and measures the truth by runs of its own",
    },
    Room {
        name: "fairground_bench",
        layer: 7,
        uses: &[STDX, MODEL, SCHED, MACHINE, SIM, WORKLOAD, FORMATS, METRICS],
        tests_use: &[],
        libraries: None,
        absent: "`fairground_bench` is used by nothing, and no test depends on how fast something was",
    },
];

/// The row of a crate.
pub(super) fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in project.files {
        let in_crates = || file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
        // The Python package lies apart, where people who install it look.
        let name = if file.path == "python/Cargo.toml" { Some(PYTHON) } else { in_crates() };
        let Some(name) = name else { continue };
        let mut add = |message: String| findings.push(Finding { path: file.path.clone(), line: 1, message });
        let Some(room) = room(name) else {
            add(format!("`{name}` has no row in the table of crates (xtask/src/tidy/edges.rs) and none in ARCHITECTURE.md"));
            continue;
        };
        let Ok(manifest) = file.text.parse::<Document<String>>() else {
            add("is no TOML".to_string());
            continue;
        };
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(|item| item.as_table()) else { continue };
            for message in edges(room, table, section) {
                add(message);
            }
        }
    }
    findings.extend(sentences(project));
    findings
}

/// What is wrong with the dependencies of one section.
fn edges(room: &Room, table: &Table, section: &str) -> Vec<String> {
    let mut messages = Vec::new();
    for (used, how) in table {
        let is_for_tests = section == "dev-dependencies" && room.tests_use.iter().any(|row| row.0 == used);
        if used.starts_with("fairground") && !room.uses.contains(&used) && !is_for_tests {
            messages.push(format!("`{}` may not use `{used}`: {}", room.name, room.absent));
        }
        let is_foreign = !used.starts_with("fairground") && section == "dependencies";
        if is_foreign && room.libraries.is_some_and(|allowed| !allowed.contains(&used)) {
            messages
                .push(format!("`{}` may not use the library `{used}`: the core stays free of what others may change", room.name));
        }
        let versions_above = how.get("workspace").and_then(|value| value.as_bool()) == Some(true);
        if !versions_above {
            messages.push(format!(
                "`{used}` must be written `{used}.workspace = true`: versions live in the workspace manifest only"
            ));
        }
    }
    messages
}

/// The sentences of the table must stand in ARCHITECTURE.md word for word.
fn sentences(project: &Project<'_>) -> Vec<Finding> {
    let path = "ARCHITECTURE.md";
    let Some(file) = project.file(path) else { return Vec::new() };
    let prose = file.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing = ROOMS.iter().filter(|room| !prose.contains(&format!("*Invariant:* {}", room.absent)));
    missing
        .map(|room| Finding { path: path.to_string(), line: 1, message: format!("lacks \"*Invariant:* {}\"", room.absent) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn a_forbidden_edge_is_refused_with_its_reason() {
        let manifest = "[dependencies]\nfairground_machine.workspace = true\nfairground_model.workspace = true\n";
        let found = messages(check, &[("crates/fairground_sched/Cargo.toml", manifest)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`fairground_sched` may not use `fairground_machine`: `fairground_sched` cannot read a clock"));
    }

    #[test]
    fn edges_of_tests_count_and_versions_stay_in_one_place() {
        let manifest = "[dependencies]\nlibc = \"1\"\n[dev-dependencies]\nfairground_sim.workspace = true\n";
        let found = messages(check, &[("crates/fairground_workload/Cargo.toml", manifest)]);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("libc.workspace = true") && found[1].contains("may not use `fairground_sim`"));
        assert_eq!(messages(check, &[("crates/fairground_new/Cargo.toml", "")]).len(), 1);
        let found = messages(check, &[("python/Cargo.toml", "[dependencies]\nfairground_sched.workspace = true\n")]);
        assert!(found[0].contains("`fairground_python` may not use `fairground_sched`"), "{found:?}");
    }

    #[test]
    fn what_tests_may_use_the_crate_itself_may_not() {
        let manifest = "[dev-dependencies]\nfairground_machine.workspace = true\nfairground_sim.workspace = true\n";
        let found = messages(check, &[("crates/fairground_sched/Cargo.toml", manifest)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("may not use `fairground_sim`"));
    }

    #[test]
    fn the_table_goes_down_only() {
        for row in ROOMS {
            let for_tests = row.tests_use.iter().map(|(name, _)| name);
            for used in row.uses.iter().chain(for_tests) {
                assert!(room(used).is_some_and(|used| used.layer <= row.layer), "{} -> {used}", row.name);
            }
        }
    }
}
