//! The files of a CPU cgroup, of cgroup v1 and v2: one row each.
//!
//! Whoever reads or writes such a file goes through its row: scenario files, rt-app files, the scripts of recorded sets, flags. What was
//! written is a [`FileWrite`]. What it means is a [`GroupWrite`], which is the same for all files that are names of one value.

use super::{WEIGHTS, clamped_shares, nice_to_shares, shares_to_nice, shares_to_weight, weight_to_shares};
use crate::mistake::Wrong;
use crate::task_set::{Change, TaskGroupSpec};
use crate::util_clamp::{UtilClamp, clamp_of_percent, percent, percent_of_clamp};
use crate::{CpuMax, Refused};
use fairground_stdx::{Ns, TgId, nearest};
use std::fmt;
use std::mem::discriminant;
use std::ops::RangeInclusive;

/// The version of cgroup that has a file. The CPU controller of a machine is in one of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// cgroup v1.
    V1,
    /// cgroup v2.
    V2,
}

/// What a write to a file does to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupWrite {
    /// Its weight, as cpu.shares tells it.
    Shares(u64),
    /// Whether it runs only when no sibling wants to.
    Idle(bool),
    /// Quota, or none, and period; without one the period stays.
    Max(Option<Ns>, Option<Ns>),
    /// Quota, or none.
    Quota(Option<Ns>),
    /// Period.
    Period(Ns),
    /// What may be carried over above the quota.
    Burst(Ns),
    /// The least that its tasks ask for, in 1/1024 of the biggest CPU.
    ClampMin(u32),
    /// The most that its tasks ask for, in 1/1024 of the biggest CPU.
    ClampMax(u32),
}

/// A row of the table.
pub struct GroupFile {
    /// The kernel's name.
    pub name: &'static str,
    /// The version that has it; `None` if both have.
    pub version: Option<Version>,
    /// How its values look.
    pub form: Form,
    /// A value that it takes.
    pub example: &'static str,
    /// What it takes, as a sentence.
    pub sentence: &'static str,
}

/// How the values of a file look, what they mean, and the way back; not every meaning has a value.
pub enum Form {
    /// Whole numbers in a range.
    Number(RangeInclusive<i64>, fn(i64) -> GroupWrite, fn(GroupWrite) -> Option<i64>),
    /// Words that a regular expression matches.
    Text(&'static str, fn(&str) -> Result<GroupWrite, String>, fn(GroupWrite) -> Option<String>),
}

/// The row of a file that holds a number. `$read` makes the value of a number, `$show` a number of the value, if there is one.
macro_rules! number {
    ($name:literal $version:expr, $range:expr, $kind:ident($read:expr, $show:expr), $example:literal, $sentence:literal) => {
        GroupFile {
            name: $name,
            version: $version,
            form: Form::Number(
                $range,
                |number| GroupWrite::$kind($read(number)),
                |write| if let GroupWrite::$kind(value) = write { $show(value) } else { None },
            ),
            example: $example,
            sentence: $sentence,
        }
    };
}

/// The row of a clamp, which is a share of the biggest CPU.
macro_rules! clamp {
    ($name:literal, $kind:ident, $example:literal) => {
        GroupFile {
            name: $name,
            version: None,
            form: Form::Text(
                "^ *(max|[0-9]+(\\.[0-9]{1,2})?%?) *$",
                |text| Ok(GroupWrite::$kind(clamp_of_percent(percent(text)?))),
                |write| if let GroupWrite::$kind(value) = write { Some(percent_of_clamp(value)) } else { None },
            ),
            example: $example,
            sentence: "Write a percentage with at most two decimals, such as \"20\" or \"12.50\", or \"max\".",
        }
    };
}

const V1: Option<Version> = Some(Version::V1);
const V2: Option<Version> = Some(Version::V2);
/// Most us that are a number of ns.
const MICROS: i64 = i64::MAX / 1000;

/// All files, in the order in which those of a new group are written: who is idle takes no weight, and a burst is held against the quota.
pub static FILES: &[GroupFile] = &[
    number!("cpu.idle" None, 0..=1, Idle(|number| number == 1, |idle| Some(i64::from(idle))),
        "1", "0 is an ordinary group, 1 one that runs when no other wants to."),
    number!("cpu.weight" V2, 1..=10_000, Shares(|number: i64| weight_to_shares(number.unsigned_abs()), weight_of),
        "200", "A weight goes from 1 to 10000; 100 is the default."),
    number!("cpu.weight.nice" V2, -20..=19, Shares(|number| nice_to_shares(number as i8), nice_of),
        "-5", "Nice values go from -20 (most CPU time) to 19."),
    // Out of its range is no error there: the kernel takes the nearest that is in it.
    number!("cpu.shares" V1, 0..=i64::MAX, Shares(|number: i64| clamped_shares(number.unsigned_abs()), |shares: u64| i64::try_from(shares).ok()),
        "2048", "Shares go from 2 to 262144; 1024 is the default."),
    GroupFile {
        name: "cpu.max",
        version: V2,
        form: Form::Text("^ *(max|[0-9]+)( +[0-9]+)? *$", read_max, show_max),
        example: "50000 100000",
        sentence: "Write the quota or `max`, and perhaps the period, both in us: \"50000 100000\".",
    },
    number!("cpu.cfs_quota_us" V1, -1..=MICROS, Quota(|number| (number >= 0).then(|| ns(number)), |quota: Option<Ns>| quota.map_or(Some(-1), us)),
        "50000", "It takes a whole number of us, or -1 for no limit."),
    number!("cpu.cfs_period_us" V1, 0..=MICROS, Period(ns, us), "100000", "It takes a whole number of us."),
    number!("cpu.max.burst" V2, 0..=MICROS, Burst(ns, us), "20000", "It takes a whole number of us."),
    number!("cpu.cfs_burst_us" V1, 0..=MICROS, Burst(ns, us), "20000", "It takes a whole number of us."),
    clamp!("cpu.uclamp.min", ClampMin, "20%"),
    clamp!("cpu.uclamp.max", ClampMax, "50%"),
];

/// The cpu.weight that gives these shares.
fn weight_of(shares: u64) -> Option<i64> {
    let weight = shares_to_weight(shares, false);
    (WEIGHTS.contains(&weight) && weight_to_shares(weight) == shares).then_some(weight.cast_signed())
}

/// The cpu.weight.nice that gives these shares.
fn nice_of(shares: u64) -> Option<i64> {
    let nice = shares_to_nice(shares);
    (nice_to_shares(nice) == shares).then_some(i64::from(nice))
}

fn ns(us: i64) -> Ns {
    Ns::from_us(us.unsigned_abs())
}

/// A length in whole us.
fn us(length: Ns) -> Option<i64> {
    length.0.is_multiple_of(1000).then_some((length.0 / 1000).cast_signed())
}

/// A quota or `max`, and perhaps a period.
///
/// Kernel: core.c cpu_period_quota_parse(), v4.15–
fn read_max(text: &str) -> Result<GroupWrite, String> {
    let number = |word: &str| {
        let us = word.parse().ok().filter(|us| (0..=MICROS).contains(us));
        us.map(ns).ok_or_else(|| format!("`{word}` is no number of us"))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let (quota, period) = match words[..] {
        [quota] => (quota, None),
        [quota, period] => (quota, Some(number(period)?)),
        _ => return Err("neither a quota nor a quota and a period".to_string()),
    };
    let quota = if quota == "max" { None } else { Some(number(quota)?) };
    Ok(GroupWrite::Max(quota, period))
}

fn show_max(write: GroupWrite) -> Option<String> {
    let GroupWrite::Max(quota, period) = write else { return None };
    let quota = quota.map_or(Some("max".to_string()), |quota| us(quota).map(|us| us.to_string()))?;
    Some(match period {
        Some(period) => format!("{quota} {}", us(period)?),
        None => quota,
    })
}

/// The row of a file.
pub fn by_name(name: &str) -> Option<&'static GroupFile> {
    FILES.iter().find(|file| file.name == name)
}

/// What a write of `text` to the file of that name is, if a new group takes it.
pub fn read(name: &str, text: &str) -> Result<FileWrite, Wrong> {
    let unknown = || (format!("there is no file `{name}`"), nearest::hint(name, "Files are", FILES.iter().map(|file| file.name)));
    by_name(name).ok_or_else(unknown)?.read(text)
}

/// The limit that a new group has after `text` was written to cpu.max.
pub fn read_limit(text: &str) -> Result<CpuMax, Wrong> {
    let mut group = TaskGroupSpec::new(super::ROOT, None);
    read("cpu.max", text)?.on(&mut group)?;
    Ok(group.limit)
}

impl GroupFile {
    /// Whether its values are words; else they are numbers.
    pub fn is_text(&self) -> bool {
        matches!(self.form, Form::Text(..))
    }

    /// What a write of `text` is, if a new group takes it.
    pub fn read(&'static self, text: &str) -> Result<FileWrite, Wrong> {
        let text = text.trim();
        let write = match &self.form {
            Form::Text(_, read, _) => read(text),
            Form::Number(range, read, _) => match text.parse() {
                Ok(number) if number < *range.start() => Err(format!("less than {}", range.start())),
                Ok(number) if number > *range.end() => Err(format!("more than {}", range.end())),
                Ok(number) => Ok(read(number)),
                Err(_) => Err("no whole number".to_string()),
            },
        };
        let wrong = |why| (format!("{} {text}: {why}", self.name), self.sentence.to_string());
        let write = FileWrite { file: self, write: write.map_err(wrong)? };
        write.on(&mut TaskGroupSpec::new(super::ROOT, None)).map(|()| write)
    }

    /// The value that does this; `None` if the file has none.
    fn show(&self, write: GroupWrite) -> Option<String> {
        match &self.form {
            Form::Number(_, _, show) => show(write).map(|number| number.to_string()),
            Form::Text(_, _, show) => show(write),
        }
    }
}

impl PartialEq for GroupFile {
    fn eq(&self, other: &GroupFile) -> bool {
        self.name == other.name
    }
}

impl Eq for GroupFile {}

impl fmt::Debug for GroupFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What was written to a file; it is in the file's range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileWrite {
    file: &'static GroupFile,
    write: GroupWrite,
}

impl FileWrite {
    /// The first file of a version by which that is written, if there is one.
    pub fn of(write: GroupWrite, version: Version) -> Option<FileWrite> {
        let has = |file: &&GroupFile| file.version.is_none_or(|of| of == version) && file.show(write).is_some();
        FILES.iter().find(has).map(|file| FileWrite { file, write })
    }

    /// Where it was written.
    pub fn file(&self) -> &'static GroupFile {
        self.file
    }

    /// What it does.
    pub fn write(&self) -> GroupWrite {
        self.write
    }

    /// Whether both write the same value of a group, be it by files of two names.
    pub fn is_beside(&self, other: &FileWrite) -> bool {
        discriminant(&self.write) == discriminant(&other.write)
    }

    /// Writes it to a group, or says why the kernel would refuse it. What the file does not hold stays.
    pub fn on(&self, group: &mut TaskGroupSpec) -> Result<(), Wrong> {
        let wrong = |(message, hint): (&str, &str)| (format!("{} {self}: {message}", self.file.name), hint.to_string());
        let mut limit = group.limit;
        match self.write {
            GroupWrite::Shares(_) if group.idle => {
                let hint = "Leave one of both out, or write `cpu.idle` 0 before.";
                return Err(wrong(("the weight of an idle group is fixed", hint)));
            }
            GroupWrite::Shares(shares) => group.shares = shares,
            GroupWrite::Idle(idle) => group.idle = idle,
            GroupWrite::Max(quota, period) => (limit.quota, limit.period) = (quota, period.unwrap_or(limit.period)),
            GroupWrite::Quota(quota) => limit.quota = quota,
            GroupWrite::Period(period) => limit.period = period,
            GroupWrite::Burst(burst) => limit.burst = burst,
            GroupWrite::ClampMin(min) => group.clamp.min = Some(min),
            GroupWrite::ClampMax(max) => group.clamp.max = Some(max),
        }
        if limit != group.limit {
            limit.check().map_err(Refused::sentences).map_err(wrong)?;
            group.limit = limit;
        }
        Ok(())
    }

    /// The change of a run that this write is; `after` is the group after it.
    pub fn change(&self, group: TgId, after: &TaskGroupSpec) -> Change {
        match self.write {
            GroupWrite::Shares(shares) => Change::Shares { group, shares },
            GroupWrite::Idle(idle) => Change::GroupIdle { group, idle },
            GroupWrite::ClampMin(min) => Change::GroupClamp { group, clamp: UtilClamp { min: Some(min), max: None } },
            GroupWrite::ClampMax(max) => Change::GroupClamp { group, clamp: UtilClamp { min: None, max: Some(max) } },
            GroupWrite::Max(..) | GroupWrite::Quota(_) | GroupWrite::Period(_) | GroupWrite::Burst(_) => {
                Change::CpuMax { group, limit: after.limit }
            }
        }
    }
}

/// The value.
impl fmt::Display for FileWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file.show(self.write).expect("invariant: the file has a value for what was written to it"))
    }
}

impl GroupWrite {
    /// Whether it changes the limit.
    pub fn is_limit(self) -> bool {
        matches!(self, GroupWrite::Max(..) | GroupWrite::Quota(_) | GroupWrite::Period(_) | GroupWrite::Burst(_))
    }

    /// The writes that make one group of another, in the order of the files. The weight of an idle group is not looked at.
    pub fn between(before: &TaskGroupSpec, after: &TaskGroupSpec, version: Version) -> Vec<GroupWrite> {
        let mut writes = Vec::new();
        writes.extend((before.idle != after.idle).then_some(GroupWrite::Idle(after.idle)));
        writes.extend((before.shares != after.shares && !after.idle).then_some(GroupWrite::Shares(after.shares)));
        if before.limit != after.limit {
            writes.extend(GroupWrite::of_limit(before.limit, after.limit, version));
        }
        writes.extend(after.clamp.min.filter(|_| before.clamp.min != after.clamp.min).map(GroupWrite::ClampMin));
        writes.extend(after.clamp.max.filter(|_| before.clamp.max != after.clamp.max).map(GroupWrite::ClampMax));
        writes
    }

    /// The writes that lead from one limit to another; where both are equal, one that changes nothing.
    pub fn of_limit(before: CpuMax, after: CpuMax, version: Version) -> Vec<GroupWrite> {
        let (quota, period) = (before.quota != after.quota, before.period != after.period);
        let mut writes = Vec::new();
        match version {
            Version::V1 => {
                writes.extend(period.then_some(GroupWrite::Period(after.period)));
                writes.extend((quota || before == after).then_some(GroupWrite::Quota(after.quota)));
            }
            Version::V2 if quota || period || before == after => writes.push(GroupWrite::Max(after.quota, Some(after.period))),
            Version::V2 => {}
        }
        writes.extend((before.burst != after.burst).then_some(GroupWrite::Burst(after.burst)));
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CLAMP_MAX;

    fn limit(quota: Option<u64>, period: u64, burst: u64) -> CpuMax {
        CpuMax { quota: quota.map(Ns::from_us), period: Ns::from_us(period), burst: Ns::from_us(burst) }
    }

    #[test]
    fn what_a_row_takes_it_prints_and_finds_again() {
        for file in FILES {
            let write = file.read(file.example).unwrap();
            let again = file.read(&write.to_string()).unwrap();
            assert_eq!((again, again.to_string()), (write, write.to_string()));
            assert!(by_name(file.name).is_some() && file.sentence.ends_with('.'), "{file:?}");
            let version = file.version.unwrap_or(Version::V2);
            let found = FileWrite::of(write.write, version).unwrap();
            assert_eq!((found.write, found.file.version), (write.write, file.version));
        }
    }

    #[test]
    fn what_a_file_takes_and_what_it_refuses() {
        for (file, value, shown) in [
            ("cpu.weight", "10000", "10000"),
            ("cpu.weight.nice", "-20", "-20"),
            ("cpu.shares", "1", "2"),
            ("cpu.shares", "9223372036854775807", "262144"),
            ("cpu.idle", "0", "0"),
            ("cpu.max", "max", "max"),
            ("cpu.max", "max 100000", "max 100000"),
            ("cpu.max", " 1000  1000000", "1000 1000000"),
            ("cpu.max.burst", "0", "0"),
            ("cpu.max.burst", "9223372036854775", "9223372036854775"),
            ("cpu.cfs_quota_us", "-1", "-1"),
            ("cpu.cfs_quota_us", "1000", "1000"),
            ("cpu.cfs_period_us", "1000", "1000"),
            ("cpu.cfs_burst_us", "5", "5"),
            ("cpu.uclamp.min", "0", "0.00"),
            ("cpu.uclamp.min", "12.5", "12.50"),
            ("cpu.uclamp.min", "12.50%", "12.50"),
            ("cpu.uclamp.max", "max", "100.00"),
        ] {
            assert_eq!(read(file, value).map(|write| write.to_string()), Ok(shown.to_string()), "{file} {value}");
        }
        for (file, value, part) in [
            ("cpu.weight", "0", ": less than 1"),
            ("cpu.weight", "10001", ": more than 10000"),
            ("cpu.weight", "much", ": no whole number"),
            ("cpu.weight.nice", "20", ": more than 19"),
            ("cpu.idle", "2", ": more than 1"),
            ("cpu.max", "", "neither a quota nor"),
            ("cpu.max", "1 2 3", "neither a quota nor"),
            ("cpu.max", "a", "`a` is no number of us"),
            ("cpu.max", "-1", "`-1` is no number of us"),
            ("cpu.max", "20000 a", "`a` is no number of us"),
            ("cpu.max", "18446744073709551", "is no number of us"),
            ("cpu.max", "999", "the quota is below 1 ms"),
            ("cpu.max", "5000 2000000", "longer than 1 s"),
            ("cpu.max", "max 10", "the period is below 1 ms"),
            ("cpu.max.burst", "-1", ": less than 0"),
            ("cpu.max.burst", "99999999999999999999", ": no whole number"),
            ("cpu.cfs_quota_us", "-2", ": less than -1"),
            ("cpu.cfs_quota_us", "0", "the quota is below 1 ms"),
            ("cpu.cfs_period_us", "0", "the period is below 1 ms"),
            ("cpu.cfs_period_us", "1000001", "longer than 1 s"),
            ("cpu.uclamp.min", "100.01", "ERANGE"),
            ("cpu.uclamp.min", "99999999999", "ERANGE"),
            ("cpu.uclamp.min", "12.345", "EINVAL"),
            ("cpu.uclamp.min", "", "EINVAL"),
            ("cpu.uclamp.max", ".5", "EINVAL"),
            ("cpu.uclamp.max", "-1", "EINVAL"),
        ] {
            let (message, hint) = read(file, value).unwrap_err();
            let begin = format!("{file} {value}: ");
            assert!(message.starts_with(&begin) && message.contains(part) && !hint.is_empty(), "{file} {value}: {message}");
        }
        assert_eq!(read("cpu.weigth", "1").unwrap_err().1, "Did you mean `cpu.weight`?");
    }

    #[test]
    fn a_write_keeps_what_it_does_not_name() {
        let before = limit(Some(20_000), 50_000, 10_000);
        for (file, value, after) in [
            ("cpu.max", "30000", Some(limit(Some(30_000), 50_000, 10_000))),
            ("cpu.max", "10000 20000", Some(limit(Some(10_000), 20_000, 10_000))),
            ("cpu.max", "9999", None),
            ("cpu.max", "max", Some(limit(None, 50_000, 10_000))),
            ("cpu.max.burst", "20000", Some(limit(Some(20_000), 50_000, 20_000))),
            ("cpu.max.burst", "20001", None),
            ("cpu.cfs_quota_us", "-1", Some(limit(None, 50_000, 10_000))),
            ("cpu.cfs_quota_us", "9999", None),
            ("cpu.cfs_period_us", "20000", Some(limit(Some(20_000), 20_000, 10_000))),
            ("cpu.cfs_burst_us", "0", Some(limit(Some(20_000), 50_000, 0))),
        ] {
            let mut group = TaskGroupSpec { limit: before, ..TaskGroupSpec::new("/a", None) };
            let done = read(file, value).unwrap().on(&mut group);
            assert_eq!(done.is_ok(), after.is_some(), "{file} {value}: {done:?}");
            assert_eq!(group.limit, after.unwrap_or(before), "{file} {value}");
        }
        let mut idle = TaskGroupSpec { idle: true, ..TaskGroupSpec::new("/a", None) };
        assert!(
            read("cpu.weight", "100").unwrap().on(&mut idle).unwrap_err().0.contains("cpu.weight 100: the weight of an idle")
        );
    }

    #[test]
    fn writes_lead_from_a_limit_to_the_next() {
        let before = limit(Some(20_000), 50_000, 0);
        for (after, v2, v1) in [
            (before, "cpu.max 20000 50000", "cpu.cfs_quota_us 20000"),
            (limit(None, 50_000, 0), "cpu.max max 50000", "cpu.cfs_quota_us -1"),
            (limit(Some(20_000), 1_000, 0), "cpu.max 20000 1000", "cpu.cfs_period_us 1000"),
            (limit(Some(30_000), 1_000, 0), "cpu.max 30000 1000", "cpu.cfs_period_us 1000, cpu.cfs_quota_us 30000"),
            (limit(Some(20_000), 50_000, 7), "cpu.max.burst 7", "cpu.cfs_burst_us 7"),
            (
                limit(Some(30_000), 50_000, 7),
                "cpu.max 30000 50000, cpu.max.burst 7",
                "cpu.cfs_quota_us 30000, cpu.cfs_burst_us 7",
            ),
        ] {
            let made = [Version::V2, Version::V1].map(|version| {
                let writes = GroupWrite::of_limit(before, after, version).into_iter();
                let writes = writes.map(|write| FileWrite::of(write, version).unwrap());
                writes.map(|write| format!("{} {write}", write.file.name)).collect::<Vec<_>>().join(", ")
            });
            assert_eq!(made, [v2, v1]);
        }
        assert_eq!(FileWrite::of(GroupWrite::Burst(Ns(1_001)), Version::V2), None, "no whole us");
        assert_eq!(FileWrite::of(GroupWrite::Shares(1025), Version::V2), None);
    }

    #[test]
    fn every_clamp_is_written_so_that_it_reads_back() {
        for clamp in 0..=CLAMP_MAX {
            let write = FileWrite::of(GroupWrite::ClampMax(clamp), Version::V2).unwrap();
            assert_eq!(read("cpu.uclamp.max", &write.to_string()), Ok(write));
        }
    }
}
