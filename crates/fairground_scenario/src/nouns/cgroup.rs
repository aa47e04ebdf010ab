//! The files by which a CPU cgroup is weighed, of cgroup v2 and v1, and what is done to groups in mid-run.

use crate::nouns::clamps::{ClampFile, ClampWrite};
use crate::nouns::limits::{LimitFile, LimitWrite};
use crate::text::Wrong;
use fairground_model::TaskGroupSpec;
use fairground_model::cgroup::{self, PathError, ROOT, WEIGHTS};
use fairground_sched::fair::weight::SCHED_PRIO_TO_WEIGHT;
use fairground_stdx::nearest;
use fairground_stdx::{Id, IndexVec, TgId};
use std::fmt;

/// A file that holds a group's weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WeightFile {
    /// cpu.weight of cgroup v2.
    Weight,
    /// cpu.weight.nice of cgroup v2.
    Nice,
    /// cpu.shares of cgroup v1.
    Shares,
}

impl WeightFile {
    /// All, by their names.
    pub(crate) const ALL: [(&str, WeightFile); 3] =
        [("cpu.weight", WeightFile::Weight), ("cpu.weight.nice", WeightFile::Nice), ("cpu.shares", WeightFile::Shares)];

    pub(crate) fn name(self) -> &'static str {
        match self {
            WeightFile::Weight => "cpu.weight",
            WeightFile::Nice => "cpu.weight.nice",
            WeightFile::Shares => "cpu.shares",
        }
    }
}

/// A value that was written to one of the files; it is in the file's range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weight {
    /// Where it was written.
    pub file: WeightFile,
    /// The value in the unit of that file.
    pub value: i64,
}

impl Weight {
    /// The value if the file takes it.
    pub(crate) fn new(file: WeightFile, value: i64) -> Result<Weight, Wrong> {
        let fits = match file {
            WeightFile::Weight => u64::try_from(value).is_ok_and(|value| WEIGHTS.contains(&value)),
            WeightFile::Nice => (-20..=19).contains(&value),
            // Out of the range is no error there: the kernel takes the nearest that is in it.
            WeightFile::Shares => value >= 0,
        };
        let hint = match file {
            WeightFile::Weight => "A weight goes from 1 to 10000; 100 is the default.",
            WeightFile::Nice => "Nice values go from -20 (most CPU time) to 19.",
            WeightFile::Shares => "Shares go from 2 to 262144; 1024 is the default.",
        };
        match fits {
            true => Ok(Weight { file, value }),
            false => Err((format!("{} {value} does not exist", file.name()), hint.to_string())),
        }
    }

    /// The shares that a group has after this was written.
    pub fn shares(self) -> u64 {
        match self.file {
            WeightFile::Weight => cgroup::weight_to_shares(self.value.unsigned_abs()),
            WeightFile::Nice => nice_to_shares(self.value as i8),
            WeightFile::Shares => cgroup::clamped_shares(self.value.unsigned_abs()),
        }
    }
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

/// What is done to a group in mid-run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupAct {
    /// Moves the tasks of this name into the group: cgroup.procs.
    Move(String, String),
    /// Writes its weight.
    Weight(String, Weight),
    /// Writes a part of its limit.
    Limit(String, LimitWrite),
    /// Writes one of its utilization clamps.
    Clamp(String, ClampWrite),
    /// Writes its cpu.idle.
    Idle(String, bool),
    /// Removes it: rmdir.
    Remove(String),
}

/// As a `do` string.
impl fmt::Display for GroupAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupAct::Move(path, task) => write!(f, "{MOVE} {path} {task}"),
            GroupAct::Weight(path, weight) => write!(f, "{} {path} {}", weight.file.name(), weight.value),
            GroupAct::Limit(path, limit) => write!(f, "{} {path} {limit}", limit.file().name()),
            GroupAct::Clamp(path, clamp) => write!(f, "{} {path} {clamp}", clamp.file.name()),
            GroupAct::Idle(path, idle) => write!(f, "{IDLE} {path} {}", u8::from(*idle)),
            GroupAct::Remove(path) => write!(f, "{REMOVE} {path}"),
        }
    }
}

pub(crate) const MOVE: &str = "cgroup.procs";
pub(crate) const IDLE: &str = "cpu.idle";
pub(crate) const REMOVE: &str = "rmdir";
/// The words that begin the change of a group.
pub(crate) const VERBS: [&str; 13] = [
    MOVE,
    "cpu.weight",
    "cpu.weight.nice",
    "cpu.shares",
    IDLE,
    REMOVE,
    "cpu.max",
    "cpu.max.burst",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.cfs_burst_us",
    "cpu.uclamp.min",
    "cpu.uclamp.max",
];
/// Those of them that write a number.
pub(crate) const VALUES: [&str; 8] = [
    "cpu.weight",
    "cpu.weight.nice",
    "cpu.shares",
    IDLE,
    "cpu.max.burst",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.cfs_burst_us",
];
/// The forms of the changes, for hints.
pub(crate) const FORMS: &str = "\"cgroup.procs /GROUP TASK\", \"cpu.weight /GROUP 200\", \"cpu.weight.nice /GROUP -5\", \"cpu.shares /GROUP 2048\", \"cpu.idle /GROUP 1\", \"cpu.max /GROUP 50000 100000\", \"cpu.uclamp.max /GROUP 50%\", \"rmdir /GROUP\"";

/// The change that begins with `verb`, one of [`VERBS`]: the path of the group comes first, as when a command names the file.
pub(crate) fn act(verb: &str, rest: &str) -> Result<GroupAct, Wrong> {
    let (path, value) = rest.split_once(char::is_whitespace).map_or((rest, ""), |row| (row.0, row.1.trim()));
    if path.is_empty() || (value.is_empty() != (verb == REMOVE)) {
        return Err((format!("`{verb} {rest}` is incomplete or too long"), format!("Forms: {FORMS}.")));
    }
    self::path(path)?;
    if verb == MOVE {
        return Ok(GroupAct::Move(path.to_string(), value.to_string()));
    }
    if path == ROOT {
        return Err((
            format!("`{verb}` of the root group"),
            "The root group has no such file: name a group below it.".to_string(),
        ));
    }
    let path = path.to_string();
    if let Some((_, file)) = WeightFile::ALL.iter().find(|row| row.0 == verb) {
        return Ok(GroupAct::Weight(path, Weight::new(*file, number(verb, value)?)?));
    }
    if let Some((_, file)) = LimitFile::ALL.iter().find(|row| row.0 == verb) {
        return Ok(GroupAct::Limit(path, LimitWrite::new(*file, value)?));
    }
    if let Some((_, file)) = ClampFile::ALL.iter().find(|row| row.0 == verb) {
        return Ok(GroupAct::Clamp(path, ClampWrite::new(*file, value)?));
    }
    match verb {
        IDLE => Ok(GroupAct::Idle(path, idle(number(verb, value)?)?)),
        _ => Ok(GroupAct::Remove(path)),
    }
}

fn number(file: &str, value: &str) -> Result<i64, Wrong> {
    value.parse().map_err(|_| (format!("`{value}` is no value for `{file}`"), "It takes a whole number.".to_string()))
}

/// 0 or 1.
pub(crate) fn idle(value: i64) -> Result<bool, Wrong> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err((
            format!("{IDLE} {value} does not exist"),
            "0 is an ordinary group, 1 one that runs when no other wants to.".to_string(),
        )),
    }
}

/// Checks a path.
pub(crate) fn path(path: &str) -> Result<(), Wrong> {
    cgroup::check_path(path).map_err(|PathError { message, hint }| (message, hint))
}

/// The row of the group at `path` among `known`; none is the root.
pub(crate) fn find(path: &str, known: &[String]) -> Result<Option<TgId>, Wrong> {
    self::path(path)?;
    if path == ROOT {
        return Ok(None);
    }
    let missing = || {
        let hint = match nearest::nearest(path, known.iter().map(String::as_str)) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("Declare it: `[[group]]` with `path = \"{path}\"`."),
        };
        (format!("there is no group `{path}`"), hint)
    };
    known.iter().position(|name| name == path).map(|row| Some(Id::from_index(row))).ok_or_else(missing)
}

/// The paths of groups in the order of their rows.
pub(crate) fn paths(groups: &IndexVec<TgId, TaskGroupSpec>) -> Vec<String> {
    groups.iter().map(|group| group.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn shares_out_of_range_are_taken_to_the_nearest() {
        let shares = |value| Weight::new(WeightFile::Shares, value).unwrap().shares();
        assert_eq!([0, 2, 1024, i64::MAX].map(shares), [2, 2, 1024, 262_144]);
    }
}
