//! CPU cgroups by their names: paths, and the numbers of the files that weigh them.
//!
//! A weight is kept as cpu.shares tells it. cgroup v2 has two other scales for the same: cpu.weight, of which 100 is 1024 shares, and
//! cpu.weight.nice. All files stand in [`files`].

pub mod files;

pub use files::{FileWrite, GroupFile, GroupWrite, Version};

use crate::mistake::Wrong;
use crate::policy::SCHED_PRIO_TO_WEIGHT;
use crate::sink::InGroup;
use crate::task_set::{DEFAULT_SHARES, TaskGroupSpec};
use fairground_stdx::{IndexVec, TaskId, TgId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The root group's path.
pub const ROOT: &str = "/";
/// What may be written to cpu.weight; anything else is refused (ERANGE).
///
/// Kernel: cgroup.h CGROUP_WEIGHT_MIN, CGROUP_WEIGHT_MAX, v4.15–
pub const WEIGHTS: RangeInclusive<u64> = 1..=10_000;
/// The cpu.weight of a group that was told nothing.
pub const DEFAULT_WEIGHT: u64 = 100;
/// The shares that a group can have; what is written to cpu.shares is taken to the nearest of them.
///
/// Kernel: sched.h MIN_SHARES, MAX_SHARES, v4.12–
pub const SHARES: RangeInclusive<u64> = 2..=1 << 18;
/// Longest name of a group: file systems have no longer ones.
const MAX_NAME: usize = 255;
/// Most levels of groups below the root.
///
/// 16 are more than container managers nest; the kernel itself allows any number (cgroup.max.depth).
const MAX_DEPTH: usize = 16;

/// Groups of a recording that are made.
const RECORDED_MAX: usize = 4096;

/// The shares of a cpu.weight: weight * 1024 / 100 to nearest.
///
/// Kernel: core.c cpu_weight_write_u64(), v4.15–
pub const fn weight_to_shares(weight: u64) -> u64 {
    (weight * DEFAULT_SHARES + DEFAULT_WEIGHT / 2) / DEFAULT_WEIGHT
}

/// The cpu.weight that is read of a group with these shares: shares * 100 / 1024 to nearest. Later kernels take what they show into
/// [`WEIGHTS`] (`clamped`, seen in v6.14), earlier ones show a group with cpu.shares of 3 as 0.
///
/// Kernel: core.c cpu_weight_read_u64(), v4.15–
pub fn shares_to_weight(shares: u64, clamped: bool) -> u64 {
    let weight = (shares * DEFAULT_WEIGHT + DEFAULT_SHARES / 2) / DEFAULT_SHARES;
    if clamped { weight.clamp(*WEIGHTS.start(), *WEIGHTS.end()) } else { weight }
}

/// The shares that a group has after `shares` was written to its cpu.shares.
///
/// Kernel: core.c sched_group_set_shares(), v4.12–
pub fn clamped_shares(shares: u64) -> u64 {
    shares.clamp(*SHARES.start(), *SHARES.end())
}

/// The shares of a cpu.weight.nice: the weight of a task of that nice level.
///
/// Kernel: core.c cpu_weight_nice_write_s64(), v4.15–
pub fn nice_to_shares(nice: i8) -> u64 {
    u64::from(SCHED_PRIO_TO_WEIGHT[usize::from(nice.clamp(-20, 19).abs_diff(-20))])
}

/// The cpu.weight.nice that is read of a group with these shares: the first level, from -20 on, after which the distance to them
/// does not shrink.
///
/// Kernel: core.c cpu_weight_nice_read_s64(), v4.15–
pub fn shares_to_nice(shares: u64) -> i8 {
    let distance = |row: usize| u64::from(SCHED_PRIO_TO_WEIGHT[row]).abs_diff(shares);
    let last = SCHED_PRIO_TO_WEIGHT.len() - 1;
    let row = (0..last).find(|&row| distance(row + 1) >= distance(row)).unwrap_or(last);
    row as i8 - 20
}

/// Checks that `path` leads from the root to a group by names: `/web/api`, or `/` for the root itself.
///
/// A cgroup is a directory, so `..` would lead through a group to another, and one group would have two names.
pub fn check_path(path: &str) -> Result<(), Wrong> {
    let wrong = |message: String, hint: &str| Err((message, hint.to_string()));
    if path == ROOT {
        return Ok(());
    }
    let Some(rest) = path.strip_prefix('/') else {
        return wrong(format!("`{path}` is no path of a group"), "Write it from the root: `/web/api`.");
    };
    if rest.split('/').count() > MAX_DEPTH {
        return wrong(format!("`{path}` nests too deep"), "Groups nest up to 16 levels below the root.");
    }
    for name in rest.split('/') {
        match name {
            "" => return wrong(format!("`{path}` has an empty name"), "One `/` stands between two names, and none at the end."),
            "." | ".." => {
                return wrong(
                    format!("`{path}` does not lead straight to a group"),
                    "Leave out `.` and `..`: name every group once.",
                );
            }
            name if name.len() > MAX_NAME => {
                return wrong(format!("a name in `{path}` is too long"), "A name has up to 255 bytes.");
            }
            name if name.contains(|c: char| c.is_whitespace() || c.is_control()) => {
                return wrong(format!("`{path}` has a blank in a name"), "Join words with `-` or `_`.");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The path of the group in which that one lies; none if it lies in the root.
pub fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|row| row.0).filter(|path| !path.is_empty())
}

/// What a recording tells of the groups of its tasks, as groups of the model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memberships {
    /// The groups, parents first.
    pub groups: IndexVec<TgId, TaskGroupSpec>,
    /// Where tasks are when it begins. All others begin in the root group or, if they are born while it runs, where their parents are.
    pub begins: Vec<(TaskId, TgId)>,
    /// Who goes to which group while it runs (`None`: the root group), by the place of that among all that was told.
    pub moves: Vec<(usize, TaskId, Option<TgId>)>,
    /// How often a group was named that is not among the known ones: the nearest one above it counts.
    pub nearest: u64,
    /// How often what was named is no path of a group, or of one too many: that is not followed.
    pub left_out: u64,
}

impl Memberships {
    /// Goes through what was told, in order. Without known groups all that are named are made, each of the default weight.
    pub fn of<'p>(
        known: Option<IndexVec<TgId, TaskGroupSpec>>,
        told: impl IntoIterator<Item = (TaskId, InGroup<'p>)>,
    ) -> Memberships {
        let makes = known.is_none();
        let mut found = Memberships { groups: known.unwrap_or_default(), ..Memberships::default() };
        let mut seats = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (place, (task, group)) in told.into_iter().enumerate() {
            let path = group.path();
            let seat = *seats.entry(path).or_insert_with(|| found.seat(path, makes));
            let is_first = seen.insert(task);
            found.nearest += u64::from(matches!(seat, Seat::Below(_)));
            match (seat, group) {
                (Seat::Nowhere, _) => found.left_out += 1,
                (Seat::At(at) | Seat::Below(at), InGroup::Is(_)) if is_first => found.begins.extend(at.map(|at| (task, at))),
                (Seat::At(at) | Seat::Below(at), _) => found.moves.push((place, task, at)),
            }
        }
        found
    }
    fn seat(&mut self, path: &str, makes: bool) -> Seat {
        let is_known = |path: &str| self.groups.iter().any(|group| group.name == path);
        let mut above = std::iter::successors(Some(path), |path| parent(path));
        match () {
            () if check_path(path).is_err() => Seat::Nowhere,
            () if path == ROOT => Seat::At(None),
            () if makes && !is_known(path) && self.groups.len() >= RECORDED_MAX => Seat::Nowhere,
            () if makes || is_known(path) => Seat::At(Some(make(&mut self.groups, path))),
            () => Seat::Below(above.find(|path| is_known(path)).map(|path| make(&mut self.groups, path))),
        }
    }
}

/// Where the tasks of a path are; `None` is the root group.
#[derive(Clone, Copy)]
enum Seat {
    At(Option<TgId>),
    /// The group itself is not known.
    Below(Option<TgId>),
    Nowhere,
}

/// The row of the group at `path` below the root. It is made, and those above it, if it is not there, as `mkdir -p` does.
pub fn make(groups: &mut IndexVec<TgId, TaskGroupSpec>, path: &str) -> TgId {
    if let Some((id, _)) = groups.iter_enumerated().find(|row| row.1.name == path) {
        return id;
    }
    let parent = parent(path).map(|parent| make(groups, parent));
    groups.push(TaskGroupSpec::new(path, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_recording_are_made_with_those_above_them() {
        let task = TaskId::new;
        let paths = [(task(0), "/"), (task(1), "/a/b"), (task(2), "/a"), (task(3), "/c d"), (task(4), "/a/b"), (task(5), "/..")];
        let made = Memberships::of(None, paths.map(|(task, path)| (task, InGroup::Is(path))));
        let names: Vec<(&str, Option<u32>)> =
            made.groups.iter().map(|group| (group.name.as_str(), group.parent.map(TgId::get))).collect();
        assert_eq!(names, [("/a", None), ("/a/b", Some(0))]);
        let begins: Vec<(u32, u32)> = made.begins.into_iter().map(|(task, group)| (task.get(), group.get())).collect();
        assert_eq!((begins.as_slice(), made.left_out, made.nearest), ([(1, 1), (2, 0), (4, 1)].as_slice(), 2, 0));
        let many: Vec<(TaskId, String)> = (0..5000).map(|row| (task(row), format!("/g{row}"))).collect();
        let made = Memberships::of(None, many.iter().map(|(task, path)| (*task, InGroup::Is(path))));
        assert_eq!(
            (made.groups.len(), made.begins.len(), made.left_out),
            (RECORDED_MAX, RECORDED_MAX, 5000 - RECORDED_MAX as u64)
        );
    }

    #[test]
    fn a_task_that_comes_to_a_group_was_elsewhere_before() {
        let (one, other, group) = (TaskId::new(0), TaskId::new(1), |row| Some(TgId::new(row)));
        let told = [
            (one, InGroup::Comes("/a")),
            (other, InGroup::Is("/a/b")),
            (one, InGroup::Is("/c")),
            (other, InGroup::Comes("/")),
            (other, InGroup::Comes("no path")),
        ];
        let made = Memberships::of(None, told);
        assert_eq!(made.begins, [(other, TgId::new(1))]);
        assert_eq!(made.moves, [(0, one, group(0)), (2, one, group(2)), (3, other, None)]);
        assert_eq!(made.left_out, 1);
        // Of known groups none is made: who is below one of them is in it.
        let known = Some([TaskGroupSpec::new("/a", None)].into_iter().collect());
        let made = Memberships::of(known, told);
        assert_eq!((made.groups.len(), made.nearest), (1, 2));
        assert_eq!(made.begins, [(other, TgId::new(0))]);
        assert_eq!(made.moves, [(0, one, group(0)), (2, one, None), (3, other, None)]);
    }

    /// Model: 03 T01
    #[test]
    fn a_weight_of_100_is_1024_shares_and_others_are_in_proportion() {
        let rows = [
            (1, 10),
            (2, 20),
            (10, 102),
            (50, 512),
            (99, 1014),
            (100, 1024),
            (101, 1034),
            (200, 2048),
            (1000, 10_240),
            (10_000, 102_400),
        ];
        for (weight, shares) in rows {
            assert_eq!(weight_to_shares(weight), shares, "cpu.weight {weight}");
        }
    }

    /// Model: 03 T01
    #[test]
    fn the_weight_of_shares_is_clamped_in_newer_kernels_only() {
        for (shares, plain, clamped) in [
            (2, 0, 1),
            (3, 0, 1),
            (10, 1, 1),
            (15, 1, 1),
            (1024, 100, 100),
            (2048, 200, 200),
            (102_400, 10_000, 10_000),
            (262_144, 25_600, 10_000),
        ] {
            assert_eq!((shares_to_weight(shares, false), shares_to_weight(shares, true)), (plain, clamped), "{shares} shares");
        }
    }

    #[test]
    fn every_weight_reads_back_as_it_was_written() {
        assert!(WEIGHTS.into_iter().all(|weight| shares_to_weight(weight_to_shares(weight), false) == weight));
    }

    /// Model: 03 T01
    #[test]
    fn shares_are_read_as_the_nearest_nice_value() {
        for (shares, nice) in [(1024, 0), (2048, -3), (102_400, -20), (10, 19), (820, 1), (15, 19), (900, 1), (922, 0), (923, 0)]
        {
            assert_eq!(shares_to_nice(shares), nice, "{shares} shares");
        }
    }

    #[test]
    fn every_nice_reads_back_as_it_was_written() {
        assert!((-20..=19).all(|nice| shares_to_nice(nice_to_shares(nice)) == nice));
        assert_eq!([-20, 0, 19].map(nice_to_shares), [88_761, 1024, 15]);
    }

    #[test]
    fn shares_have_a_least_and_a_most() {
        assert_eq!([0, 1, 2, 1024, 262_144, 262_145].map(clamped_shares), [2, 2, 2, 1024, 262_144, 262_144]);
    }

    #[test]
    fn a_path_leads_straight_from_the_root() {
        for path in ["/", "/a", "/a/b.slice", "/web/api-1"] {
            assert_eq!(check_path(path), Ok(()));
        }
        for path in [
            "",
            "a",
            "a/b",
            "//",
            "/a/",
            "/a//b",
            "/a/../b",
            "/..",
            "/./a",
            "/a b",
            "/a\n",
            &"/a".repeat(17),
            &format!("/{}", "x".repeat(256)),
        ] {
            assert!(check_path(path).is_err(), "{path}");
        }
        assert_eq!([parent("/a/b/c"), parent("/a/b"), parent("/a")], [Some("/a/b"), Some("/a"), None]);
    }
}
