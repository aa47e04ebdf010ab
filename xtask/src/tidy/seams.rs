//! Differences between kernels: defined in one folder, decided in few places.

use super::{Finding, Project, Source};
use crate::rust_source::find_word;
use std::collections::{BTreeMap, BTreeSet};

/// Where seams are defined.
const HOME: &str = "crates/fairground_sched/src/seam/";
/// Who may name variants beside them: the rules of which mixes are possible, and slow models, which must not ask the core.
const MAY_NAME: &[&str] = &[HOME, "crates/fairground_sched/src/profile/", "crates/fairground_vopr/"];
/// In how many folders the variants of a seam may be named. A question that more of them ask is a method of the seam.
const FOLDERS: usize = 2;

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let shipped: Vec<&Source<'_>> = project.sources.iter().filter(|source| !source.shipped.is_empty()).collect();
    let elsewhere = |source: &&&Source<'_>| source.krate() == "fairground_sched" && !source.file.path.starts_with(HOME);
    let stray = |source: &&Source<'_>| {
        let at = source.shipped.find("seams! {")?;
        Some(source.finding(at, format!("a seam is defined in {HOME}")))
    };
    let mut findings: Vec<Finding> = shipped.iter().filter(elsewhere).filter_map(stray).collect();
    for seam in seams(project) {
        let mut places: BTreeMap<&str, (&Source<'_>, usize)> = BTreeMap::new();
        for source in shipped.iter().filter(|source| !MAY_NAME.iter().any(|home| source.file.path.starts_with(home))) {
            if let (Some(at), Some((folder, _))) = (names_variant(source, &seam), source.file.path.rsplit_once('/')) {
                places.entry(folder).or_insert((source, at));
            }
        }
        if let Some((source, at)) = places.values().nth(FOLDERS) {
            let folders: Vec<&str> = places.keys().copied().collect();
            let message = format!(
                "variants of `{seam}` are named in {}: let a method of the seam answer, so that at most {FOLDERS} folders do",
                folders.join(", ")
            );
            findings.push(source.finding(*at, message));
        }
    }
    findings
}

/// The names of all seams: `Type = field {` in the files of their folder.
fn seams(project: &Project<'_>) -> BTreeSet<String> {
    let files = project.sources.iter().filter(|source| source.file.path.starts_with(HOME) && source.shipped.contains("seams! {"));
    let lines = files.flat_map(|source| source.shipped.lines());
    lines.filter_map(|line| Some(line.trim().strip_suffix('{')?.split_once(" = ")?.0.to_string())).collect()
}

/// Where a file that knows seams names a variant of this one.
fn names_variant(source: &Source<'_>, seam: &str) -> Option<usize> {
    let code = &source.shipped;
    let knows = source.krate() == "fairground_sched" || code.contains("seam::");
    let variant = |&at: &usize| {
        let rest = code[at + seam.len()..].strip_prefix("::");
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    };
    find_word(code, seam).filter(|_| knows).find(variant)
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn seams_lie_in_their_folder_and_few_folders_name_variants() {
        let seam = "seams! {\n    $ fair;\n\n    Pick = pick {\n        Leftmost \"l\" \"L.\",\n    }\n}\n";
        let files = [
            ("crates/fairground_sched/src/seam/fair.rs", seam),
            ("crates/fairground_sched/src/pelt/clock.rs", "seams! { $ clock; }"),
            ("crates/fairground_sched/src/fair/a.rs", "fn f() { Pick::Leftmost }"),
            ("crates/fairground_sched/src/fair/b.rs", "fn f() { Pick::Leftmost }"),
            ("crates/fairground_sched/src/rt/c.rs", "fn f() { Pick::NAME; Pick::of() }"),
            ("crates/fairground_sim/src/d.rs", "use fairground_sched::seam::Pick; fn f() { Pick::Leftmost }"),
            ("crates/fairground_vopr/src/e.rs", "use fairground_sched::seam::Pick; fn f() { Pick::Leftmost }"),
        ];
        let found = messages(check, &files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("pelt/clock.rs:1: a seam is defined in"));
        assert!(found[1].contains("variants of `Pick`"), "an associated constant counts as one: {found:?}");
        let two: Vec<(&str, &str)> =
            files.iter().copied().filter(|file| !file.0.contains("/rt/") && !file.0.contains("clock")).collect();
        assert_eq!(messages(check, &two), Vec::<String>::new());
    }
}
