//! Keeps account of the numbered tests that the specification asks for.
//!
//! The specification is a text of its own, in parts 01, 02, …; each part ends in a numbered list
//! "Tests to write". Item TMM of part NN is a test `spec_NN_tMM` (or `spec_NN_tMM_name`) in the tree.
//! The numbers are kept in `spec_tests.txt`, so that the account works where the text is absent.

use crate::rust_source;
use crate::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// A test: its part and number, such as `("05", "T01b")`.
type Id = (String, String);

/// Where the list of numbers is kept.
const LIST: &str = "xtask/spec_tests.txt";
/// Where the specification lies, if it is there at all.
const SPEC: &str = "../shared/spec";

/// Tests of what is not built yet: part, numbers (`*` = the rest of the part), what brings them.
const NOT_YET: &[(&str, &str, &str)] = &[];

/// Tests that will not be written: part, number, the reason.
const REFUSED: &[(&str, &str, &str)] = &[];

/// What became of a test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Landed,
    NotYet(&'static str),
    Refused(&'static str),
    /// Due, but there is no test.
    Missing,
}

/// `cargo xtask spec-tests`. Fails if a test claims a number that the specification does not have,
/// if a number has neither a test nor a reason, or if the kept list is not the specification's.
pub(crate) fn run(root: &Path) -> bool {
    let kept = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
    let known = parse_list(&kept);
    let claimed = claimed(root);
    let account: BTreeMap<Id, State> = known.iter().map(|id| (id.clone(), state(id, &claimed))).collect();
    // Whoever reads may stop reading (`| head`): that is no failure.
    let _ = std::io::stdout().write_all((parts_table(&account) + &groups(&account)).as_bytes());
    let unknown: Vec<&Id> = claimed.iter().filter(|id| !known.contains(*id)).collect();
    unknown
        .iter()
        .for_each(|(part, number)| eprintln!("spec_{part}_{}: the specification has no such item", number.to_lowercase()));
    let is_fresh = match read_spec(root) {
        Some(spec) => spec == known,
        None => {
            eprintln!("the specification is not here: counted by {LIST}");
            true
        }
    };
    if !is_fresh {
        eprintln!("{LIST} is not what the specification says: run `cargo xtask spec-list`");
    }
    is_fresh && unknown.is_empty() && !account.values().any(|state| *state == State::Missing)
}

/// `cargo xtask spec-list`: rewrites the kept list from the specification.
pub(crate) fn write_list(root: &Path) -> bool {
    let Some(spec) = read_spec(root) else {
        eprintln!("the specification is not at {SPEC}");
        return false;
    };
    std::fs::write(root.join(LIST), format_list(&spec)).inspect_err(|error| eprintln!("{LIST}: {error}")).is_ok()
}

fn state(id: &Id, claimed: &BTreeSet<Id>) -> State {
    state_beside(id, claimed, NOT_YET)
}

/// The same, beside such a list of what is not built yet.
fn state_beside(id: &Id, claimed: &BTreeSet<Id>, not_yet: &[(&str, &str, &'static str)]) -> State {
    let names =
        |row: &&(&str, &str, &'static str)| row.0 == id.0 && (row.1 == "*" || row.1.split(' ').any(|number| number == id.1));
    if claimed.contains(id) {
        State::Landed
    } else if let Some(row) = REFUSED.iter().find(names) {
        State::Refused(row.2)
    } else {
        not_yet.iter().find(names).map_or(State::Missing, |row| State::NotYet(row.2))
    }
}

/// The items of all parts, if the specification is there.
fn read_spec(root: &Path) -> Option<BTreeSet<Id>> {
    let entries = std::fs::read_dir(root.join(SPEC)).ok()?;
    let mut items = BTreeSet::new();
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((part, _)) = name.split_once('-') else { continue };
        let text = std::fs::read_to_string(&path).ok()?;
        items.extend(numbers(&text).into_iter().map(|number| (part.to_string(), number)));
    }
    Some(items)
}

/// The numbers under "Tests to write": a list of lines `1. …` (also `1b. …`), or running text with T01, T02, …
fn numbers(text: &str) -> Vec<String> {
    let is_heading = |line: &&str| line.starts_with("## ") && line.ends_with("Tests to write");
    let lines: Vec<&str> =
        text.lines().skip_while(|line| !is_heading(line)).skip(1).take_while(|line| !line.starts_with("## ")).collect();
    let listed: Vec<String> = lines.iter().filter_map(|line| list_number(line)).collect();
    if !listed.is_empty() {
        return listed;
    }
    // Numbers go up by one; others are references to items elsewhere.
    let words = lines.iter().flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()));
    let mut found = Vec::new();
    for word in words {
        if word == format!("T{:02}", found.len() + 1) {
            found.push(word.to_string());
        }
    }
    found
}

fn list_number(line: &str) -> Option<String> {
    let (label, _) = line.split_once(". ")?;
    let digits = label.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let number: u32 = digits.parse().ok()?;
    (label.len() - digits.len() <= 1).then(|| format!("T{number:02}{}", &label[digits.len()..]))
}

/// The tests that exist: functions named `spec_NN_tMM…` in Rust files.
fn claimed(root: &Path) -> BTreeSet<Id> {
    let files = tree::files(root);
    let codes = files.iter().filter(|file| file.is("rs")).map(|file| rust_source::without_text(&file.text));
    codes
        .flat_map(|code| {
            code.match_indices("fn spec_").filter_map(|(at, start)| test_id(&code[at + start.len()..])).collect::<Vec<_>>()
        })
        .collect()
}

/// The id in `01_t04_name(…`.
fn test_id(rest: &str) -> Option<Id> {
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let mut parts = name.splitn(3, '_');
    let (part, number) = (parts.next()?, parts.next()?.strip_prefix('t')?);
    Some((part.to_string(), format!("T{number}")))
}

fn parse_list(text: &str) -> BTreeSet<Id> {
    let rows = text.lines().filter_map(|line| line.split_once(": "));
    rows.flat_map(|(part, numbers)| numbers.split(' ').map(|number| (part.to_string(), number.to_string()))).collect()
}

fn by_part<'a>(ids: impl Iterator<Item = &'a Id>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    ids.for_each(|(part, number)| parts.entry(part).or_default().push(number));
    parts
}

fn format_list(ids: &BTreeSet<Id>) -> String {
    by_part(ids.iter()).into_iter().map(|(part, numbers)| format!("{part}: {}\n", numbers.join(" "))).collect()
}

/// Per part, how many tests are in which state.
fn parts_table(account: &BTreeMap<Id, State>) -> String {
    let mut lines = String::from("part  tests  landed  not yet  refused  missing\n");
    let mut total = [0; 5];
    for (part, numbers) in by_part(account.keys()) {
        let mut row = [numbers.len(), 0, 0, 0, 0];
        for number in numbers {
            let column = match account[&(part.to_string(), number.to_string())] {
                State::Landed => 1,
                State::NotYet(_) => 2,
                State::Refused(_) => 3,
                State::Missing => 4,
            };
            row[column] += 1;
        }
        lines += &table_row(part, row);
        row.iter().zip(&mut total).for_each(|(count, sum)| *sum += count);
    }
    lines + &table_row("all", total)
}

fn table_row(part: &str, [tests, landed, not_yet, refused, missing]: [usize; 5]) -> String {
    format!("{part:<4} {tests:>6} {landed:>7} {not_yet:>8} {refused:>8} {missing:>8}\n")
}

/// The tests in each state, by part.
fn groups(account: &BTreeMap<Id, State>) -> String {
    let mut lines = String::new();
    for state in account.values().copied().collect::<BTreeSet<State>>() {
        lines += &match state {
            State::Landed => "\nlanded\n".to_string(),
            State::NotYet(room) => format!("\nnot yet: {room}\n"),
            State::Refused(reason) => format!("\nrefused: {reason}\n"),
            State::Missing => "\nmissing\n".to_string(),
        };
        let ids = account.iter().filter(|row| *row.1 == state).map(|row| row.0);
        lines.extend(by_part(ids).into_iter().map(|(part, numbers)| format!("  {part} {}\n", numbers.join(" "))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_numbering_are_read() {
        let list = "# P\n## 11. Tests to write\n\n1. One. 2. no\n1b. Also.\n12. Last.\n## Uncertain\n13. no\n";
        assert_eq!(numbers(list), ["T01", "T01b", "T12"]);
        let prose = "## Tests to write\nT01 a (see 03, T05). T02 b. T03 c,\nT04 d\n\n## Uncertain\nT05";
        assert_eq!(numbers(prose), ["T01", "T02", "T03", "T04"]);
        assert!(numbers("# no tests\n").is_empty());
    }

    #[test]
    fn names_of_tests_are_read() {
        let id = |part: &str, number: &str| Some((part.to_string(), number.to_string()));
        assert_eq!(test_id("01_t04() {"), id("01", "T04"));
        assert_eq!(test_id("07_t15b_worked_example() {"), id("07", "T15b"));
        assert_eq!(test_id("tests() {"), None);
    }

    #[test]
    fn the_account_counts_every_state() {
        let id = |part: &str, number: &str| (part.to_string(), number.to_string());
        let known = [id("01", "T01"), id("14", "T01"), id("02", "T01"), id("14", "T02")];
        let claimed = BTreeSet::from([id("01", "T01")]);
        let not_yet = [("14", "*", "profile v7.2")];
        let account = known.into_iter().map(|id| (id.clone(), state_beside(&id, &claimed, &not_yet))).collect();
        assert_eq!(parts_table(&account).lines().last(), Some("all       4       1        2        0        1"));
        assert_eq!(groups(&account), "\nlanded\n  01 T01\n\nnot yet: profile v7.2\n  14 T01 T02\n\nmissing\n  02 T01\n");
    }

    #[test]
    fn no_test_claims_an_unknown_number_and_the_list_is_fresh() {
        let root = crate::root();
        let known = parse_list(&std::fs::read_to_string(root.join(LIST)).expect("the list is in the tree"));
        assert_eq!(claimed(&root).difference(&known).collect::<Vec<_>>(), Vec::<&Id>::new());
        match read_spec(&root) {
            Some(spec) => assert_eq!(spec, known, "run `cargo xtask spec-list`"),
            None => eprintln!("skipped: the specification is not here"),
        }
    }

    #[test]
    fn the_plan_names_known_numbers_only() {
        let known = parse_list(&std::fs::read_to_string(crate::root().join(LIST)).expect("the list is in the tree"));
        for (part, numbers, _) in NOT_YET.iter().chain(REFUSED) {
            for number in numbers.split(' ').filter(|number| *number != "*") {
                assert!(known.contains(&(part.to_string(), number.to_string())), "{part} {number}");
            }
        }
    }
}
