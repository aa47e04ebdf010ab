//! `cargo xtask licences`: what ships, under which licence, and why it is there.
//!
//! A crate ships if `cargo tree` finds it under the command or the Python package by normal dependencies. Dependencies of tests, build scripts
//! and procedural macros are not linked. `cargo metadata` would not do: it adds the features that tests switch on.

use crate::steps::cargo;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml_edit::{Document, DocumentMut, Item, Table};

/// What is handed out: the command and the Python package.
pub(crate) const COMMAND: &str = "fairground_cli";
const SHIPPED: &[&str] = &[COMMAND, "fairground_python"];
/// The page. What stands above [`MARK`] is written by hand.
const PAGE: &str = "docs/licences.md";
const MARK: &str = "<!-- From here on written by `cargo xtask licences`. -->\n";
/// The systems that the first table is about; the second one has what the others need besides.
const LINUX: &str = "x86_64-unknown-linux-gnu";

/// One crate that ships.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shipped {
    /// An SPDX expression.
    pub(crate) licence: String,
    /// Those that depend on it.
    pub(crate) by: BTreeSet<String>,
}

/// Crates by name and version.
pub(crate) type Tree = BTreeMap<(String, String), Shipped>;

/// `cargo xtask licences [--check]`: writes the page, or compares it; either way refuses what may not ship.
pub(crate) fn run(root: &Path) -> bool {
    if std::env::args().nth(2).as_deref() == Some("--check") { check(root) } else { done(root, true) }
}

/// The step of `cargo xtask ci`.
pub(crate) fn check(root: &Path) -> bool {
    done(root, false)
}

fn done(root: &Path, write: bool) -> bool {
    match write_or_compare(root, write) {
        Ok(found) => {
            found.iter().for_each(|line| eprintln!("{line}"));
            found.is_empty()
        }
        Err(why) => {
            eprintln!("{why}");
            false
        }
    }
}

fn write_or_compare(root: &Path, write: bool) -> Result<Vec<String>, String> {
    let rules = Rules::of(&read(root, "deny.toml")?)?;
    let reasons = reasons(&read(root, "Cargo.toml")?)?;
    let (linux, all) = (tree(root, LINUX, SHIPPED)?, tree(root, "all", SHIPPED)?);
    let mut found = rules.broken_by(&all);
    let page = read(root, PAGE)?;
    let (by_hand, _) = page.split_once(MARK).ok_or(format!("{PAGE}: the line {MARK:?} is missing"))?;
    let expected = format!("{by_hand}{MARK}\n{}", tables(&linux, &all, &reasons));
    if page != expected && write {
        std::fs::write(root.join(PAGE), expected).map_err(|error| format!("{PAGE}: {error}"))?;
    } else if page != expected {
        found.push(format!("{PAGE} is not what ships today: run `cargo xtask licences`"));
    }
    Ok(found)
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

/// What deny.toml says about licences and names.
struct Rules {
    allowed: Vec<String>,
    /// Crates of build scripts and tests that `cargo deny` lets pass with another licence.
    excepted: Vec<String>,
    banned: Vec<String>,
}

impl Rules {
    fn of(deny: &str) -> Result<Rules, String> {
        let document: Document<String> = deny.parse().map_err(|error| format!("deny.toml: {error}"))?;
        let table = |name: &str| document.get(name).and_then(Item::as_table).ok_or(format!("deny.toml: no [{name}]"));
        let licenses = table("licenses")?;
        let texts = |table: &Table, key: &str, field: Option<&str>| -> Vec<String> {
            let values = table.get(key).and_then(Item::as_array).into_iter().flatten();
            let text = |value: &toml_edit::Value| match field {
                Some(field) => value.as_inline_table()?.get(field)?.as_str().map(str::to_string),
                None => value.as_str().map(str::to_string),
            };
            values.filter_map(text).collect()
        };
        Ok(Rules {
            allowed: texts(licenses, "allow", None),
            excepted: texts(licenses, "exceptions", Some("crate")),
            banned: texts(table("bans")?, "deny", Some("crate")),
        })
    }
    fn broken_by(&self, tree: &Tree) -> Vec<String> {
        let mut found = Vec::new();
        for ((name, version), shipped) in tree {
            let by = shipped.by.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let licence = &shipped.licence;
            if !is_offered(licence, &self.allowed) {
                found.push(format!("{name} {version} (by {by}): `{licence}` is not among the licences that deny.toml allows"));
            }
            if self.excepted.contains(name) {
                found.push(format!(
                    "{name} {version} (by {by}): deny.toml has an exception for it, and it ships: replace the crate"
                ));
            }
            if self.banned.contains(name) {
                found.push(format!("{name} {version} (by {by}): deny.toml bans it"));
            }
        }
        found
    }
}

/// Whether an SPDX expression can be met with the allowed licences alone. `/` is the `OR` of old manifests.
/// A crate for this exists (spdx), offered under Apache-2.0 alone.
fn is_offered(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let offered = any_of(&mut words, allowed);
    offered && words.next().is_none()
}

type Words<'a, 'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

fn any_of(words: &mut Words<'_, '_>, allowed: &[String]) -> bool {
    let mut offered = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        offered |= all_of(words, allowed);
    }
    offered
}

fn all_of(words: &mut Words<'_, '_>, allowed: &[String]) -> bool {
    let mut offered = licence(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        offered &= licence(words, allowed);
    }
    offered
}

fn licence(words: &mut Words<'_, '_>, allowed: &[String]) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        let offered = any_of(words, allowed);
        return words.next() == Some(")") && offered;
    }
    let offered = allowed.iter().any(|name| name == word);
    // An exception makes another licence, which would have to be allowed by its whole name.
    match words.next_if_eq(&"WITH") {
        Some(_) => words.next().is_some_and(|exception| allowed.contains(&format!("{word} WITH {exception}"))),
        None => offered,
    }
}

/// The reason beside each library in the manifest.
fn reasons(manifest: &str) -> Result<BTreeMap<String, String>, String> {
    let document: DocumentMut = manifest.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let table = document.get("workspace").and_then(|item| item.get("dependencies")).and_then(Item::as_table);
    let reason = |(name, item): (&str, &Item)| {
        let comment = item.as_value()?.decor().suffix()?.as_str()?.split_once('#')?.1.trim();
        Some((name.to_string(), comment.to_string()))
    };
    Ok(table.into_iter().flat_map(Table::iter).filter_map(reason).collect())
}

/// What these packages ship on this system; `all` means every one.
pub(crate) fn tree(root: &Path, target: &str, packages: &[&str]) -> Result<Tree, String> {
    let mut command = cargo(root);
    command.args(["tree", "--edges", "normal,no-proc-macro", "--target", target]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.args(["--prefix", "depth", "--format", "|{p}|{l}"]);
    let output = command.output().map_err(|error| format!("cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
    }
    parse_tree(&String::from_utf8_lossy(&output.stdout))
}

/// Lines of `DEPTH|NAME vVERSION (WHERE)|LICENCE`. Crates of ours are left out, but not what they need.
fn parse_tree(text: &str) -> Result<Tree, String> {
    let mut tree = Tree::new();
    let mut above: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(3, '|');
        let row = (|| {
            let depth: usize = parts.next()?.parse().ok()?;
            let (name, rest) = parts.next()?.split_once(" v")?;
            Some((depth, name, rest, parts.next()?.trim_end_matches(" (*)")))
        })();
        let (depth, name, rest, licence) = row.ok_or(format!("cargo tree: what is {line:?}?"))?;
        above.truncate(depth);
        let by = above.last().cloned();
        above.push(name.to_string());
        let (version, place) = rest.split_once(' ').unwrap_or((rest, ""));
        if place.contains('/') {
            continue;
        }
        let key = (name.to_string(), version.to_string());
        let shipped = tree.entry(key).or_insert_with(|| Shipped { licence: licence.to_string(), by: BTreeSet::new() });
        shipped.by.extend(by);
    }
    Ok(tree)
}

fn tables(linux: &Tree, all: &Tree, reasons: &BTreeMap<String, String>) -> String {
    let elsewhere: Tree =
        all.iter().filter(|(key, _)| !linux.contains_key(*key)).map(|(key, row)| (key.clone(), row.clone())).collect();
    format!(
        "## What ships on Linux\n\n{}\n## What other systems need besides\n\n{}",
        table(linux, reasons),
        table(&elsewhere, reasons)
    )
}

fn table(tree: &Tree, reasons: &BTreeMap<String, String>) -> String {
    let mut text = "| crate | version | licence | why it is here |\n| --- | --- | --- | --- |\n".to_string();
    for ((name, version), Shipped { licence, by }) in tree {
        let is_direct = by.iter().any(|by| by.starts_with("fairground"));
        let why = match reasons.get(name).filter(|_| is_direct) {
            Some(reason) => reason.clone(),
            None => format!("by {}", by.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
        };
        text += &format!("| {name} | {version} | {licence} | {why} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_allowed_licences_alone() {
        let allowed = ["MIT", "Unicode-3.0", "Zlib"].map(str::to_string);
        let cases = [
            ("MIT", true),
            ("Apache-2.0", false),
            ("MIT OR Apache-2.0", true),
            ("Apache-2.0/MIT", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("MIT AND Apache-2.0", false),
            ("Apache-2.0 OR MIT AND Zlib", true),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
            ("MIT WITH something", false),
            ("(MIT", false),
            ("MIT MIT", false),
            ("", false),
        ];
        for (expression, offered) in cases {
            assert_eq!(is_offered(expression, &allowed), offered, "{expression:?}");
        }
    }

    #[test]
    fn what_ships_is_found_with_its_reason_and_what_may_not_is_refused() {
        let text = "0|fairground_cli v0.1.0 (/x/crates/fairground_cli)|GPL-2.0-only\n\
                    1|clap v4.6.7|MIT OR Apache-2.0\n2|rand v0.9.1|MIT\n1|fairground v0.1.0 (/x/crates/fairground)|GPL-2.0-only\n\
                    2|prost v0.14.4|Apache-2.0\n2|clap v4.6.7|MIT OR Apache-2.0 (*)\n";
        let tree = parse_tree(text).unwrap();
        let manifest = "[workspace.dependencies]\nclap = { version = \"4\" }    # command line\nprost = \"0.14\"\n";
        let reasons = reasons(manifest).unwrap();
        assert_eq!(
            table(&tree, &reasons),
            "| crate | version | licence | why it is here |\n| --- | --- | --- | --- |\n\
             | clap | 4.6.7 | MIT OR Apache-2.0 | command line |\n| prost | 0.14.4 | Apache-2.0 | by fairground |\n\
             | rand | 0.9.1 | MIT | by clap |\n"
        );
        let deny = "[bans]\ndeny = [{ crate = \"rand\", reason = \"chance\" }]\n[licenses]\nallow = [\"MIT\"]\n";
        let found = Rules::of(deny).unwrap().broken_by(&tree);
        assert_eq!(
            found,
            [
                "prost 0.14.4 (by fairground): `Apache-2.0` is not among the licences that deny.toml allows",
                "rand 0.9.1 (by clap): deny.toml bans it"
            ]
        );
        let excepted = format!("{deny}exceptions = [{{ crate = \"clap\", allow = [\"Apache-2.0\"] }}]\n");
        let found = Rules::of(&excepted).unwrap().broken_by(&tree);
        assert_eq!(
            found[0],
            "clap 4.6.7 (by fairground, fairground_cli): deny.toml has an exception for it, and it ships: replace the crate"
        );
    }
}
