//! `[[group]]`: the CPU cgroups of a scenario, by the names of their files.
//!
//! ```toml
//! [[group]]
//! path = "/web/api"        # groups above it are made as well, as `mkdir -p` does
//! "cpu.weight" = 200       # or "cpu.weight.nice" = -5, or "cpu.shares" = 2048 (cgroup v1)
//! "cpu.uclamp.max" = "50%"     # utilization clamps, in percent of the biggest CPU
//! "cpu.max" = "50000 100000"    # or "cpu.cfs_quota_us" = 50000 and "cpu.cfs_period_us" = 100000 (cgroup v1)
//! ```

use crate::nouns::cgroup::{self, IDLE, Weight, WeightFile};
use crate::nouns::clamps::{self, ClampWrite};
use crate::nouns::limits::{self, LimitFile, LimitWrite};
use crate::text::canonical;
use crate::text::fields::{Fields, Spanned};
use fairground_model::cgroup::{ROOT, make};
use fairground_model::{CpuMax, Mistakes, TaskGroupSpec, TaskSet};
use fairground_stdx::{IndexVec, TgId};
use std::ops::Range;

/// One `[[group]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) path: Spanned<String>,
    /// The path was wrong, and this is the one that it probably stands for.
    guessed: bool,
    pub(crate) files: Files,
}

/// What stands in the files of a group, where that is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    pub(crate) weight: Option<Spanned<Weight>>,
    idle: Option<Spanned<bool>>,
    pub(crate) limits: Vec<Spanned<LimitWrite>>,
    clamps: Vec<Spanned<ClampWrite>>,
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
            if let Some(Spanned { value: weight, .. }) = &row.files.weight {
                text.push_str(&format!("\"{}\" = {}\n", weight.file.name(), weight.value));
            }
            if let Some(idle) = &row.files.idle {
                text.push_str(&format!("\"{IDLE}\" = {}\n", u8::from(idle.value)));
            }
            row.files.limits.iter().for_each(|limit| text.push_str(&format!("{}\n", limit.value.toml())));
            row.files
                .clamps
                .iter()
                .for_each(|clamp| text.push_str(&format!("\"{}\" = \"{}\"\n", clamp.value.file.name(), clamp.value)));
        }
        text
    }
    /// Where the group at `path`, or one that lies in it, is declared.
    pub(crate) fn span_of(&self, path: &str) -> Option<&Range<usize>> {
        let within = |row: &&Row| row.path.value.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.rows.iter().find(within).map(|row| &row.path.span)
    }
    /// Where a cpu.idle stands.
    pub(crate) fn idles(&self) -> impl Iterator<Item = &Range<usize>> {
        self.rows.iter().filter_map(|row| row.files.idle.as_ref()).map(|idle| &idle.span)
    }
    /// The limit of the group at `path` as its row tells it.
    pub(crate) fn limit_of(&self, path: &str) -> Option<CpuMax> {
        self.specs.iter().find(|group| group.name == path).map(|group| group.limit)
    }
    /// All paths, those of groups above included, parents first.
    pub(crate) fn all_paths(&self) -> Vec<String> {
        self.specs.iter().map(|group| group.name.clone()).collect()
    }
    /// Gives the group at `path` a limit, in the files of cgroup v2.
    pub(crate) fn set_limit(&mut self, path: &str, limit: CpuMax) {
        self.specs.iter_mut().filter(|group| group.name == path).for_each(|group| group.limit = limit);
        let writes = limits::writes(limit);
        for row in self.rows.iter_mut().filter(|row| row.path.value == path) {
            row.files.limits = writes.iter().map(|write| Spanned { value: write.clone(), span: row.path.span.clone() }).collect();
        }
    }
    /// What is written to files of clamps.
    pub(crate) fn clamps(&self) -> impl Iterator<Item = &Spanned<ClampWrite>> {
        self.rows.iter().flat_map(|row| &row.files.clamps)
    }
    /// What is written to files of limits.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &Spanned<LimitWrite>> {
        self.rows.iter().flat_map(|row| &row.files.limits)
    }
}

/// Reads the rows.
pub(crate) fn read(rows: Vec<Fields<'_>>, m: &mut Mistakes) -> Groups {
    let mut groups = Groups::default();
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
        spec.shares = files.weight.as_ref().map_or(spec.shares, |weight| weight.value.shares());
        spec.idle = files.idle.as_ref().is_some_and(|idle| idle.value);
        spec.limit = limits::together(&files.limits, m);
        spec.clamp = files.clamps.iter().fold(spec.clamp, |clamp, write| clamp.with(write.value.clamp()));
        groups.rows.push(Row { path, guessed, files });
    }
    groups
}

/// A group of which something is wrong is declared all the same: who names it has made no mistake. `known` are those before.
fn read_row(row: &mut Fields<'_>, known: &Groups, m: &mut Mistakes) -> Option<(Spanned<String>, bool, Files)> {
    if row.refused("cpu").is_some() {
        let message = "the name of a file stands here without quotes";
        m.at(row.span_of("cpu"), message, "TOML takes its dots for tables: write `\"cpu.weight\" = 200`.");
    }
    let mut weights: Vec<Spanned<Weight>> = Vec::new();
    for (name, file) in WeightFile::ALL {
        let Some(number) = row.integer(name, m) else { continue };
        match Weight::new(file, number.value) {
            Ok(value) => weights.push(Spanned { value, span: number.span }),
            Err((message, hint)) => m.at(number.span, message, hint),
        }
    }
    let mut idle = row.integer(IDLE, m).and_then(|number| match cgroup::idle(number.value) {
        Ok(value) => Some(Spanned { value, span: number.span }),
        Err((message, hint)) => {
            m.at(number.span, message, hint);
            None
        }
    });
    if let [_, second, ..] = weights.as_slice() {
        let message = format!("`{}` beside another weight", second.value.file.name());
        m.at(second.span.clone(), message, "They are names of one value: give one.");
    }
    if let (Some(weight), Some(Spanned { value: true, .. })) = (weights.first(), &idle) {
        let message = format!("`{}` of an idle group is refused (EINVAL)", weight.value.file.name());
        m.at(weight.span.clone(), message, "While cpu.idle is 1 its weight is fixed: leave one of both out.");
        // Later writes of its weight are no further mistakes.
        idle = None;
    }
    let limits = read_limits(row, m);
    let clamps = clamps::of_group(row, m);
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
    if let Err((message, hint)) = cgroup::path(path.value) {
        m.at(path.span.clone(), message, hint);
        (value, guessed) = (meant(path.value).filter(|path| !known.has(path))?, true);
    }
    let files = Files { weight: weights.into_iter().next(), idle, limits, clamps };
    Some((Spanned { value, span: path.span }, guessed, files))
}

fn read_limits(row: &mut Fields<'_>, m: &mut Mistakes) -> Vec<Spanned<LimitWrite>> {
    let mut limits = Vec::new();
    for (name, file) in LimitFile::ALL {
        let value = match file.is_text() {
            true => row.text(name, m).map(|text| Spanned { value: text.value.to_string(), span: text.span }),
            false => row.integer(name, m).map(|number| Spanned { value: number.value.to_string(), span: number.span }),
        };
        let Some(Spanned { value, span }) = value else { continue };
        match LimitWrite::new(file, &value) {
            Ok(value) => limits.push(Spanned { value, span }),
            Err((message, hint)) => m.at(span, message, hint),
        }
    }
    limits
}

/// The path that a wrong one probably stands for: its names below the root.
fn meant(path: &str) -> Option<String> {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "." | ".."));
    let path: String = names.map(|name| format!("/{name}")).collect();
    cgroup::path(&path).is_ok().then_some(path)
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
            ("path = \"/a\"\n\"cpu.weight\" = 0", "cpu.weight 0 does not exist"),
            ("path = \"/a\"\n\"cpu.weight\" = 10001", "cpu.weight 10001 does not exist"),
            ("path = \"/a\"\n\"cpu.weight\" = -1", "cpu.weight -1 does not exist"),
            ("path = \"/a\"\n\"cpu.weight.nice\" = 20", "cpu.weight.nice 20 does not exist"),
            ("path = \"/a\"\n\"cpu.weight.nice\" = -21", "cpu.weight.nice -21 does not exist"),
            ("path = \"/a\"\n\"cpu.shares\" = -1", "cpu.shares -1 does not exist"),
            ("path = \"/a\"\n\"cpu.idle\" = 2", "cpu.idle 2 does not exist"),
            ("path = \"/a\"\n\"cpu.weight\" = \"200\"", "`cpu.weight` is the string"),
            ("path = \"/a\"\ncpu.weight = 200", "without quotes"),
            ("path = \"/a\"\n\"cpu.weight\" = 100\n\"cpu.weight.nice\" = 0", "beside another weight"),
            ("path = \"/a\"\n\"cpu.weight\" = 100\n\"cpu.idle\" = 1", "(EINVAL)"),
            ("path = \"/a\"\n\"cpu.max\" = \"lots\"", "cpu.max lots: `lots` is no number of us"),
            ("path = \"/a\"\n\"cpu.max\" = 50000", "`cpu.max` is the number 50000"),
            ("path = \"/a\"\n\"cpu.max\" = \"999\"", "cpu.max 999: the quota is below 1 ms"),
            ("path = \"/a\"\n\"cpu.max\" = \"5000 1000001\"", "the period is longer than 1 s"),
            ("path = \"/a\"\n\"cpu.max\" = \"max 999\"", "the period is below 1 ms"),
            ("path = \"/a\"\n\"cpu.max.burst\" = -1", "cpu.max.burst -1: no number of us"),
            ("path = \"/a\"\n\"cpu.max.burst\" = \"5000\"", "`cpu.max.burst` is the string"),
            ("path = \"/a\"\n\"cpu.max\" = \"5000\"\n\"cpu.max.burst\" = 5001", "the burst is larger than the quota"),
            ("path = \"/a\"\n\"cpu.cfs_burst_us\" = 5001\n\"cpu.cfs_quota_us\" = 5000", "the burst is larger than the quota"),
            ("path = \"/a\"\n\"cpu.cfs_quota_us\" = 0", "cpu.cfs_quota_us 0: the quota is below 1 ms"),
            ("path = \"/a\"\n\"cpu.cfs_period_us\" = 999", "the period is below 1 ms"),
            ("path = \"/a\"\n\"cpu.uclamp.min\" = \"101\"", "cpu.uclamp.min 101: more than 100 % (ERANGE)"),
            ("path = \"/a\"\n\"cpu.uclamp.max\" = \"1.234\"", "no percentage (EINVAL)"),
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
            "[[group]] knows: `cpu.weight`, `cpu.weight.nice`, `cpu.shares`, `cpu.idle`, `cpu.max`, `cpu.max.burst`, \
             `cpu.cfs_quota_us`, `cpu.cfs_period_us`, `cpu.cfs_burst_us`, `cpu.uclamp.min`, `cpu.uclamp.max`, `path`."
        );
    }
}
