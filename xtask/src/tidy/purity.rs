//! What the layers that decide results may not contain: floats, clocks, hash tables, output.

use super::edges::room;
use super::{Finding, Project, Source};
use crate::rust_source::{find_floats, find_word};

/// The last layer that decides results: everything below the facade.
const LAST_PURE_LAYER: u8 = 3;
/// Pure crates that may use floats: they only display numbers that are already decided.
const FLOATS_FOR_DISPLAY: &[&str] = &["fairground_formats", "fairground_metrics"];

/// The crate that compiles and loads kernel trees, and what it may use for that. What a core decides follows from its files.
const BUILDER: (&str, &[&str]) = ("fairground_kcore", &["fs", "env", "process"]);

/// Modules of the standard library that reach outside.
const OUTSIDE: &[(&str, &str)] = &[
    ("time", "time is an integer that the engine hands in"),
    ("fs", "only the facade and the command line open files"),
    ("env", "a result may not depend on where it was made"),
    ("net", "a run talks to nobody"),
    ("process", "a run starts nothing"),
    ("thread", "one run is one thread"),
];
const WORDS: &[(&str, &str)] = &[
    ("HashMap", "its order differs from run to run: take BTreeMap, IndexVec or a sorted Vec"),
    ("HashSet", "its order differs from run to run: take BTreeSet or a sorted Vec"),
];
const OUTPUT: &[&str] = &["println", "eprintln", "print", "eprint"];

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let pure = |source: &&Source<'_>| room(source.krate()).is_some_and(|room| room.layer <= LAST_PURE_LAYER);
    project.sources.iter().filter(pure).flat_map(check_source).collect()
}

fn check_source(source: &Source<'_>) -> Vec<Finding> {
    let code = &source.shipped;
    let mut findings = Vec::new();
    let mut add = |at: usize, what: &str, why: &str| {
        findings.push(source.finding(at, format!("{what} below the facade: {why}")));
    };
    for (word, why) in WORDS {
        find_word(code, word).for_each(|at| add(at, word, why));
    }
    let is_allowed = |module: &str| source.krate() == BUILDER.0 && BUILDER.1.contains(&module);
    for (module, why) in OUTSIDE.iter().filter(|row| !is_allowed(row.0)) {
        for at in uses_of_std(code, module) {
            add(at, &format!("std::{module}"), why);
        }
    }
    for word in OUTPUT {
        let called = find_word(code, word).filter(|at| code[at + word.len()..].starts_with('!'));
        called.for_each(|at| add(at, &format!("{word}!"), "what a run has to say goes into a sink"));
    }
    if !FLOATS_FOR_DISPLAY.contains(&source.krate()) {
        let why = "its last bit differs between machines: take integers and name the rounding";
        ["f32", "f64"].iter().for_each(|word| find_word(code, word).for_each(|at| add(at, word, why)));
        find_floats(code).into_iter().for_each(|at| add(at, "a float", why));
    }
    findings
}

/// Where `std::module` is named, also in a group (`use std::{fmt, module}`).
fn uses_of_std(code: &str, module: &str) -> Vec<usize> {
    let path = format!("std::{module}");
    let mut found: Vec<usize> = find_word(code, &path).collect();
    for (start, group) in code.match_indices("use std::{") {
        let end = code[start..].find(';').map_or(code.len(), |length| start + length);
        let names = &code[start + group.len()..end];
        let first_part = |at: &usize| !names[..*at].ends_with("::");
        found.extend(find_word(names, module).filter(first_part).map(|at| start + group.len() + at));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn the_core_is_held_pure() {
        let text = "//! f64\nuse std::{fmt, time::Duration};\nfn a(x: f64) -> HashMap { println!(\"1.0\"); x * 2.0 }\n\
                    #[cfg(test)]\nmod tests { fn f() -> f64 { std::fs::read(); 1.0 } }\n";
        let found = messages(check, &[("crates/fairground_sim/src/a.rs", text)]);
        let what: Vec<&str> =
            found.iter().filter_map(|line| line.split(": ").nth(1)?.strip_suffix(" below the facade")).collect();
        assert_eq!(what, ["HashMap", "std::time", "println!", "f64", "a float"]);
    }

    #[test]
    fn display_may_use_floats_and_the_facade_may_do_all() {
        let text = "fn a(x: f64) -> f64 { std::time::Instant::now(); x * 2.0 }";
        assert_eq!(messages(check, &[("crates/fairground_metrics/src/a.rs", text)]).len(), 1);
        assert_eq!(messages(check, &[("crates/fairground/src/a.rs", text)]).len(), 0);
    }

    #[test]
    fn the_builder_of_kernel_trees_opens_files_and_reads_no_clock() {
        let text = "fn a() { std::fs::read(); std::process::id(); std::time::Instant::now(); }";
        assert_eq!(messages(check, &[("crates/fairground_kcore/src/a.rs", text)]).len(), 1);
    }
}
