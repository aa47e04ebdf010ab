//! `[[group]]`: the CPU cgroups of a scenario, by the names of their files.
//!
//! ```toml
//! [[group]]
//! path = "/web/api"        # groups above it are made as well, as `mkdir -p` does
//! "cpu.weight" = 200       # or "cpu.weight.nice" = -5, or "cpu.shares" = 2048 (cgroup v1)
//! "cpu.uclamp.max" = "50%"     # utilization clamps, in percent of the biggest CPU
//! "cpu.max" = "50000 100000"    # or "cpu.cfs_quota_us" = 50000 and "cpu.cfs_period_us" = 100000 (cgroup v1)
//! ```

use crate::check::size::GROUP_ROWS_MAX;
use crate::nouns::cgroup;
use crate::text::canonical;
use crate::text::fields::{Fields, Spanned};
use fairground_model::cgroup::files::FILES;
use fairground_model::cgroup::{FileWrite, GroupWrite, ROOT, Version, check_path, make};
use fairground_model::{CpuMax, Mistakes, TaskGroupSpec, TaskSet};
use fairground_stdx::{IndexVec, TgId};
use std::ops::Range;

/// One `[[group]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) path: Spanned<String>,
    /// The path was wrong, and this is the one that it probably stands for.
    guessed: bool,
    /// What is written to its files, in their order.
    pub(crate) files: Vec<Spanned<FileWrite>>,
}

/// The groups of a scenario.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Groups {
    pub(crate) rows: Vec<Row>,
    /// Those of the rows and the groups above them, parents first.
    pub(crate) specs: IndexVec<TgId, TaskGroupSpec>,
}

impl Groups {
    /// A set without tasks that has the groups.
    pub(crate) fn set(&self) -> TaskSet {
        TaskSet { groups: self.specs.clone(), ..TaskSet::default() }
    }
    /// Their paths in the order of their rows.
    pub(crate) fn paths(&self) -> Vec<String> {
        cgroup::paths(&self.specs)
    }
    /// Whether a row names that path.
    fn has(&self, path: &str) -> bool {
        self.rows.iter().any(|row| row.path.value == path)
    }
    /// How they stand in a canonical scenario.
    pub(crate) fn canonical(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&format!("\n[[group]]\npath = {}\n", canonical::quoted(&row.path.value)));
            row.files.iter().for_each(|write| text.push_str(&cgroup::line(&write.value)));
        }
        text
    }
    /// Where the group at `path`, or one that lies in it, is declared.
    pub(crate) fn span_of(&self, path: &str) -> Option<&Range<usize>> {
        let within = |row: &&Row| row.path.value.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.rows.iter().find(within).map(|row| &row.path.span)
    }
    /// The limit of the group at `path` as its row tells it.
    pub(crate) fn limit_of(&self, path: &str) -> Option<CpuMax> {
        self.specs.iter().find(|group| group.name == path).map(|group| group.limit)
    }
    /// Gives the group at `path` a limit, in the files of cgroup v2.
    pub(crate) fn set_limit(&mut self, path: &str, limit: CpuMax) {
        self.specs.iter_mut().filter(|group| group.name == path).for_each(|group| group.limit = limit);
        let writes = GroupWrite::of_limit(CpuMax::UNLIMITED, limit, Version::V2);
        for row in self.rows.iter_mut().filter(|row| row.path.value == path) {
            row.files.retain(|file| !file.value.write().is_limit());
            let writes = writes.iter().filter_map(|&write| FileWrite::of(write, Version::V2));
            row.files.extend(writes.map(|value| Spanned { value, span: row.path.span.clone() }));
            row.files.sort_by_key(|write| FILES.iter().position(|file| file == write.value.file()));
        }
    }
    /// What is written to files.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &Spanned<FileWrite>> {
        self.rows.iter().flat_map(|row| &row.files)
    }
}

/// Reads the rows.
pub(crate) fn read(rows: Vec<Fields<'_>>, m: &mut Mistakes) -> Groups {
    let mut groups = Groups::default();
    if rows.len() > GROUP_ROWS_MAX {
        let span = rows.first().map(Fields::span).unwrap_or_default();
        m.at(span, format!("{} rows of `[[group]]`", rows.len()), format!("A scenario has at most {GROUP_ROWS_MAX} of them."));
        return groups;
    }
    for mut row in rows {
        let found = read_row(&mut row, &groups, m);
        row.end(m);
        let Some((path, guessed, files)) = found else { continue };
        if let Some(known) = groups.rows.iter().find(|known| known.path.value == path.value) {
            if known.guessed {
                continue;
            }
            m.at(path.span, format!("group `{}` stands here twice", path.value), "Write all its files in one `[[group]]`.");
            continue;
        }
        let id = make(&mut groups.specs, &path.value);
        let spec = &mut groups.specs[id];
        let new = spec.clone();
        if files.iter().any(|write| m.keep(write.value.on(spec), &write.span).is_none()) {
            // What is written later is then no further mistake.
            *spec = new;
        }
        groups.rows.push(Row { path, guessed, files });
    }
    groups
}

/// A group of which something is wrong is declared all the same: who names it has made no mistake. `known` are those before.
fn read_row(row: &mut Fields<'_>, known: &Groups, m: &mut Mistakes) -> Option<(Spanned<String>, bool, Vec<Spanned<FileWrite>>)> {
    if row.refused("cpu").is_some() {
        let message = "the name of a file stands here without quotes";
        m.at(row.span_of("cpu"), message, "TOML takes its dots for tables: write `\"cpu.weight\" = 200`.");
    }
    let mut files: Vec<Spanned<FileWrite>> = Vec::new();
    for (span, write) in cgroup::read_files(row, m) {
        let Some(value) = m.keep(write, &span) else { continue };
        match files.iter().find(|file| file.value.is_beside(&value)) {
            Some(other) => {
                let message = format!("`{}` beside `{}`", value.file().name, other.value.file().name);
                m.at(span, message, "They are names of one value: give one.");
            }
            None => files.push(Spanned { value, span }),
        }
    }
    let given = row.item("path").is_some();
    let path = row.text("path", m);
    let Some(path) = path else {
        if !given {
            m.at(row.span(), "`[[group]]` without `path`", "Name it from the root: `path = \"/web/api\"`.");
        }
        return None;
    };
    if path.value == ROOT {
        m.at(path.span, "the root group needs no `[[group]]`", "It is always there and has no weight.");
        return None;
    }
    let (mut value, mut guessed) = (path.value.to_string(), false);
    if m.keep(check_path(path.value), &path.span).is_none() {
        (value, guessed) = (meant(path.value).filter(|path| !known.has(path))?, true);
    }
    Some((Spanned { value, span: path.span }, guessed, files))
}

/// The path that a wrong one probably stands for: its names below the root.
fn meant(path: &str) -> Option<String> {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "." | ".."));
    let path: String = names.map(|name| format!("/{name}")).collect();
    check_path(&path).is_ok().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fields::parse_toml;
    use fairground_stdx::Ns;

    fn read_text(text: &str) -> (Groups, Mistakes) {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let rows = Fields::new(&table, 0..0, "scenario").tables("group", &mut m);
        (read(rows, &mut m), m)
    }

    #[test]
    fn groups_above_are_made_and_parents_come_first() {
        let (groups, wrong) = read_text(
            "[[group]]\npath = \"/a/b/c\"\n\"cpu.weight\" = 200\n[[group]]\npath = \"/a\"\n\"cpu.weight.nice\" = -5\n\
             [[group]]\npath = \"/z\"\n\"cpu.idle\" = 1\n",
        );
        assert!(wrong.0.is_empty(), "{wrong}");
        let set = groups.set();
        let rows: Vec<_> = set.groups.iter().map(|row| (row.name.as_str(), row.shares, row.idle)).collect();
        assert_eq!(rows, [("/a", 3121, false), ("/a/b", 1024, false), ("/a/b/c", 2048, false), ("/z", 1024, true)]);
        for (id, group) in set.groups.iter_enumerated() {
            assert!(group.parent.is_none_or(|parent| parent < id));
        }
        let (again, wrong) = read_text(&groups.canonical());
        assert!(wrong.0.is_empty(), "{wrong}");
        assert_eq!(again.set(), set);
    }

    #[test]
    fn mistakes_are_named() {
        for (row, part) in [
            ("path = \"/a\"\n\"cpu.weight\" = 0", "cpu.weight 0: less than 1"),
            ("path = \"/a\"\n\"cpu.weight\" = \"200\"", "`cpu.weight` is the string"),
            ("path = \"/a\"\ncpu.weight = 200", "without quotes"),
            ("path = \"/a\"\n\"cpu.weight\" = 100\n\"cpu.weight.nice\" = 0", "`cpu.weight.nice` beside `cpu.weight`"),
            ("path = \"/a\"\n\"cpu.weight\" = 100\n\"cpu.idle\" = 1", "cpu.weight 100: the weight of an idle group is fixed"),
            ("path = \"/a\"\n\"cpu.max\" = \"lots\"", "cpu.max lots: `lots` is no number of us"),
            ("path = \"/a\"\n\"cpu.max\" = 0.5", "`cpu.max` is the number 0.5"),
            ("path = \"/a\"\n\"cpu.max.burst\" = \"5000\"", "`cpu.max.burst` is the string"),
            ("path = \"/a\"\n\"cpu.max\" = \"5000\"\n\"cpu.max.burst\" = 5001", "the burst is larger than the quota"),
            ("path = \"/a\"\n\"cpu.cfs_burst_us\" = 5001\n\"cpu.cfs_quota_us\" = 5000", "the burst is larger than the quota"),
            ("path = \"/a\"\n\"cpu.uclamp.max\" = 20", "`cpu.uclamp.max` is the number 20"),
            ("path = \"/a\"\n\"cpu.wait\" = 3", "unknown key `cpu.wait`"),
            ("path = \"/a\"\nweight = 3", "unknown key `weight`"),
            ("\"cpu.weight\" = 3", "without `path`"),
            ("path = 3", "`path` is the number 3"),
            ("path = \"/\"", "the root group needs no"),
            ("path = \"a\"", "`a` is no path"),
            ("path = \"/a/../b\"", "does not lead straight"),
            ("path = \"//\"", "empty name"),
            ("path = \"/a/\"", "empty name"),
            ("path = \"/a\"\n[[group]]\npath = \"/a\"", "stands here twice"),
            ("path = \"/a\"\n[[group]]\npath = \"/a/\"", "empty name"),
        ] {
            let (_, wrong) = read_text(&format!("[[group]]\n{row}\n"));
            assert_eq!(wrong.0.len(), 1, "{row}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{row}: {wrong}");
            assert!(wrong.0[0].span.is_some());
        }
    }

    #[test]
    fn files_of_both_versions_give_the_same_limit() {
        let read = |files: &str| {
            let (groups, wrong) = read_text(&format!("[[group]]\npath = \"/a\"\n{files}\n"));
            assert!(wrong.0.is_empty(), "{files}: {wrong}");
            let (again, wrong) = read_text(&groups.canonical());
            assert!(wrong.0.is_empty() && again.set() == groups.set() && again.canonical() == groups.canonical(), "{wrong}");
            groups.set().groups.iter().next().unwrap().limit
        };
        let us = |quota: Option<u64>, period, burst| CpuMax {
            quota: quota.map(Ns::from_us),
            period: Ns::from_us(period),
            burst: Ns::from_us(burst),
        };
        for (v2, v1, limit) in [
            ("\"cpu.max\" = \"50000\"", "\"cpu.cfs_quota_us\" = 50000", us(Some(50_000), 100_000, 0)),
            ("\"cpu.max\" = 50000", "\"cpu.cfs_quota_us\" = 50000", us(Some(50_000), 100_000, 0)),
            ("\"cpu.max\" = \"max\"", "\"cpu.cfs_quota_us\" = -1", CpuMax::UNLIMITED),
            ("\"cpu.max\" = \"max 20000\"", "\"cpu.cfs_period_us\" = 20000", us(None, 20_000, 0)),
            ("\"cpu.max.burst\" = 20000", "\"cpu.cfs_burst_us\" = 20000", us(None, 100_000, 20_000)),
            (
                "\"cpu.max.burst\" = 20000\n\"cpu.max\" = \"20000 50000\"",
                "\"cpu.cfs_burst_us\" = 20000\n\"cpu.cfs_period_us\" = 50000\n\"cpu.cfs_quota_us\" = 20000",
                us(Some(20_000), 50_000, 20_000),
            ),
        ] {
            assert_eq!((read(v2), read(v1)), (limit, limit), "{v2}");
        }
    }

    #[test]
    fn a_hint_names_files_that_there_are() {
        let hint = |key: &str| read_text(&format!("[[group]]\npath = \"/a\"\n{key} = 3\n")).1.0[0].hint.clone();
        assert_eq!(hint("weight"), "Did you mean `cpu.weight`?");
        assert_eq!(
            hint("size"),
            "[[group]] knows: `cpu.idle`, `cpu.weight`, `cpu.weight.nice`, `cpu.shares`, `cpu.max`, `cpu.cfs_quota_us`, \
             `cpu.cfs_period_us`, `cpu.max.burst`, `cpu.cfs_burst_us`, `cpu.uclamp.min`, `cpu.uclamp.max`, `path`."
        );
    }
}
