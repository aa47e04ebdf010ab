//! `docs/kernel-index.md`: which file here models which kernel function. Made from the `Kernel:`
//! lines by `cargo xtask kernel-index`, and held against them here.
//!
//! Line numbers move with every edit. They may be off by [`DRIFT`], about a screen, before that is a
//! finding; everything else on the page must be as it would be made now.

use super::kernel_lines;
use super::{Finding, Project};
use crate::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = "docs/kernel-index.md";
/// By how many lines a place may be off.
const DRIFT: usize = 30;

/// What the kernel has, engineers look for and we have not, with the reason.
const ABSENT: &[(&str, &str)] = &[
    ("autogroup_move_group", "sessions are fixed for a run: see scenario/autogroup.rs for what autogroups do"),
    ("cfs_rq_of", "an accessor: the field `cfs_rq` of an entity here"),
    ("migration_cpu_stop", "a running task that may not stay leaves at once: `Sched::set_cpus_allowed`"),
    ("sched_core_find", "core scheduling is not modelled"),
    ("schedule_idle", "schedule() of the idle loop is schedule() here"),
    ("task_numa_fault", "NUMA balancing is not modelled"),
    ("yield_to_task_fair", "directed yield of virtual machines is not modelled"),
];

/// A place here that models a kernel function.
struct Place<'a> {
    path: &'a str,
    line: usize,
    /// The item below the line, such as a function; empty for a whole file.
    item: &'a str,
    /// The claim behind the name of the kernel's file.
    claim: &'a str,
}

/// A name of the kernel.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Name<'a> {
    name: &'a str,
    file: &'a str,
    is_function: bool,
}

/// A row of the page before and behind its line number.
type Row = (String, usize, String);

/// `cargo xtask kernel-index`: writes the page.
pub(crate) fn write(root: &Path) -> bool {
    let files = tree::files(root);
    let page = page(&Project::new(&files));
    std::fs::write(root.join(PAGE), page).inspect_err(|error| eprintln!("{PAGE}: {error}")).is_ok()
}

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let found = project.file(PAGE).map_or("", |file| &file.text);
    let made = page(project);
    let (made, found): (Vec<Row>, Vec<Row>) = (made.lines().map(row).collect(), found.lines().map(row).collect());
    let is_same = |(made, found): (&Row, &Row)| made.0 == found.0 && made.2 == found.2 && made.1.abs_diff(found.1) <= DRIFT;
    let first = made.iter().zip(&found).position(|pair| !is_same(pair));
    let line = first.or_else(|| (made.len() != found.len()).then_some(made.len().min(found.len())));
    let finding = |line| Finding {
        path: PAGE.to_string(),
        line: line + 1,
        message: "is out of date: run `cargo xtask kernel-index`".to_string(),
    };
    line.map(finding).into_iter().collect()
}

/// The row apart from its line number, which stands behind `.rs:`.
fn row(line: &str) -> Row {
    let Some((before, rest)) = line.split_once(".rs:") else { return (line.to_string(), 0, String::new()) };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (before.to_string(), rest[..digits].parse().unwrap_or(0), rest[digits..].to_string())
}

fn page(project: &Project<'_>) -> String {
    let index = index(project);
    let mut text = String::from(
        "# Kernel index\n\n\
         Which file here models which kernel function. `cargo xtask kernel-index` makes this page from the `Kernel:` lines of the code,\n\
         and tidy holds it against them. Paths begin below `crates/`; a line number may be off by some lines.\n\n\
         A function that was renamed stands here under each of its names. The last column gives the kernels for which the rule holds;\n\
         an open end means that it still does. Where several functions are modelled in one place the column names them all.\n\n\
         ## Functions\n\n",
    );
    table(&mut text, index.iter().filter(|row| row.0.is_function));
    text += "\n## Structures, constants and variables\n\n";
    table(&mut text, index.iter().filter(|row| !row.0.is_function));
    text += "\n## Not here\n\n| kernel | why |\n| --- | --- |\n";
    ABSENT.iter().for_each(|(name, why)| _ = writeln!(text, "| `{name}` | {why} |"));
    text
}

fn table<'a>(text: &mut String, rows: impl Iterator<Item = (&'a Name<'a>, &'a Vec<Place<'a>>)>) {
    *text += "| kernel | here | versions |\n| --- | --- | --- |\n";
    for (name, places) in rows {
        for Place { path, line, item, claim } in places {
            let (path, item) = (path.trim_start_matches("crates/"), if item.is_empty() { "the file" } else { item });
            _ = writeln!(text, "| `{}` {} | {path}:{line} {item} | {} |", name.name, name.file, versions(claim));
        }
    }
}

/// The range of a claim that names one function, else the claim.
fn versions(claim: &str) -> &str {
    let is_plain = claim.matches('(').count() < 2 && !claim.contains("; ");
    claim.rsplit_once(", ").map_or(claim, |(_, range)| if is_plain { range } else { claim })
}

/// Every name of the `Kernel:` lines with its places. Those called as in the kernel come first, then the core, the engine, and what
/// compares or reports.
fn index<'a>(project: &Project<'a>) -> BTreeMap<Name<'a>, Vec<Place<'a>>> {
    let mut index: BTreeMap<Name<'a>, Vec<Place<'a>>> = BTreeMap::new();
    for source in project.sources.iter().filter(|source| !source.shipped.is_empty() && source.file.path.starts_with("crates/")) {
        let lines: Vec<&str> = source.file.text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(claim) = kernel_lines::claim(line) else { continue };
            for name in names(claim) {
                let line = line.trim_start();
                let item = match line {
                    _ if line.starts_with("//!") => "",
                    _ if line.starts_with("///") => item_below(&lines[number..]),
                    _ => function_around(&lines[..number]),
                };
                let claim = claim.split_once(' ').map_or(claim, |(_, claim)| claim);
                let place = Place { path: &source.file.path, line: number + 1, item, claim };
                index.entry(name).or_default().push(place);
            }
        }
    }
    let rooms = ["crates/fairground_sched/", "crates/fairground_sim/"];
    let room = |path: &str| rooms.iter().position(|room| path.starts_with(room)).unwrap_or(rooms.len());
    for (name, places) in &mut index {
        places.sort_by_key(|place| (place.item != name.name, room(place.path), place.path, place.line));
    }
    index
}

/// What a claim names: functions wherever they stand, structures and the like before the versions.
fn names(claim: &str) -> BTreeSet<Name<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_:./-".contains(c);
    let (mut found, mut file, mut kind) = (BTreeSet::new(), "", "");
    let mut rest = claim;
    while let Some(start) = rest.find(is_part) {
        rest = &rest[start..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, next) = (rest[..end].trim_end_matches([':', '.', '-']), &rest[end..]);
        let is_function = next.starts_with('(');
        let is_name = is_function
            || ["struct", "enum"].contains(&kind)
            || word.contains("::")
            || word.contains('_') && !word.starts_with("CONFIG_");
        if kernel_lines::is_file(word) || word.starts_with("Kconfig") {
            file = word;
        } else if is_name && !word.starts_with(|c: char| c.is_ascii_digit()) {
            found.insert(Name { name: word, file, is_function });
        }
        (kind, rest) = (word, next);
    }
    found
}

/// The name of the function in whose body the lines end.
fn function_around<'a>(lines: &[&'a str]) -> &'a str {
    let head = lines.iter().rev().find_map(|line| line.split_once("fn ").map(|parts| parts.1));
    head.and_then(|head| head.split(['(', '<']).next()).unwrap_or_default()
}

/// The name of the item, field or variant below a line of a comment.
fn item_below<'a>(lines: &[&'a str]) -> &'a str {
    let code = lines.iter().map(|line| line.trim_start()).find(|line| !line.starts_with("//") && !line.starts_with("#["));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = code.unwrap_or_default().split(|c| !is_word(c)).filter(|word| !word.is_empty());
    const BEFORE: &[&str] = &[
        "pub", "crate", "super", "in", "const", "fn", "static", "struct", "enum", "type", "trait", "mod", "unsafe", "async",
        "impl",
    ];
    words.into_iter().find(|word| !BEFORE.contains(word)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;
    use crate::tree::File;

    const CODE: &str = "/// Who is next.\n///\n/// Kernel: fair.c old_name(), new_name() from v6.10, v4.12– (first_name() before)\n#[inline]\npub(crate) fn old_name() {}\n";

    fn made(code: &str) -> String {
        let files = [File { path: "crates/fairground_sched/src/a.rs".to_string(), text: code.to_string() }];
        page(&Project::new(&files))
    }

    #[test]
    fn a_function_stands_under_each_of_its_names() {
        let page = made(CODE);
        let place =
            "fair.c | fairground_sched/src/a.rs:3 old_name | old_name(), new_name() from v6.10, v4.12– (first_name() before) |";
        for name in ["first_name", "new_name", "old_name"] {
            assert!(page.contains(&format!("| `{name}` {place}\n")), "{page}");
        }
        let within = made("fn whole() {\n    // Kernel: softirq.c part(), v4.12–\n    part();\n}\n");
        assert!(within.contains("| `part` softirq.c | fairground_sched/src/a.rs:2 whole | v4.12– |"), "{within}");
        let alone = made("/// Kernel: sched.h struct rq, v4.12–\npub struct Rq {}\n");
        assert!(alone.contains("| `rq` sched.h | fairground_sched/src/a.rs:1 Rq | v4.12– |"), "{alone}");
    }

    #[test]
    fn a_page_may_be_off_by_some_lines_and_by_nothing_else() {
        let findings = |code: &str| messages(check, &[("crates/fairground_sched/src/a.rs", code), (PAGE, &made(CODE))]).len();
        assert_eq!(findings(CODE), 0);
        assert_eq!(findings(&format!("{}{CODE}", "\n".repeat(DRIFT))), 0);
        assert_eq!(findings(&format!("{}{CODE}", "\n".repeat(DRIFT + 1))), 1);
        assert_eq!(findings(&CODE.replace("v4.12", "v4.13")), 1);
        assert_eq!(findings(&CODE.replace("fn old_name", "fn other")), 1);
        assert_eq!(findings(&format!("{CODE}\n{}", CODE.replace("old_name", "one_more"))), 1);
    }

    #[test]
    fn every_name_that_engineers_look_for_is_on_the_page() {
        let page = std::fs::read_to_string(crate::root().join(PAGE)).unwrap_or_default();
        let names =
            include_str!("../../kernel_names.txt").lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let missing: Vec<&str> = names.filter(|name| !page.contains(&format!("\n| `{name}` "))).collect();
        assert!(missing.is_empty(), "{missing:?}: put them onto a `Kernel:` line, or into the list of what is not here");
    }
}
