//! The files by which the CPU time of a cgroup is limited, of cgroup v2 and v1. A write changes part of the limit and keeps the rest.

use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::{CpuMax, Mistakes, TaskGroupSpec};
use fairground_stdx::{IndexVec, Ns, TgId};
use std::fmt;

/// A file that holds a part of a group's limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitFile {
    /// cpu.max of cgroup v2: quota and period.
    Max,
    /// cpu.max.burst of cgroup v2.
    MaxBurst,
    /// cpu.cfs_quota_us of cgroup v1.
    Quota,
    /// cpu.cfs_period_us of cgroup v1.
    Period,
    /// cpu.cfs_burst_us of cgroup v1.
    Burst,
}

impl LimitFile {
    /// All, by their names.
    pub(crate) const ALL: [(&str, LimitFile); 5] = [
        ("cpu.max", LimitFile::Max),
        ("cpu.max.burst", LimitFile::MaxBurst),
        ("cpu.cfs_quota_us", LimitFile::Quota),
        ("cpu.cfs_period_us", LimitFile::Period),
        ("cpu.cfs_burst_us", LimitFile::Burst),
    ];

    pub(crate) fn name(self) -> &'static str {
        LimitFile::ALL.iter().find(|row| row.1 == self).expect("invariant: each file is listed").0
    }
    /// Whether it holds a text, not a number.
    pub(crate) fn is_text(self) -> bool {
        self == LimitFile::Max
    }
    /// Whether it is a file of cgroup v1.
    pub(crate) fn is_v1(self) -> bool {
        matches!(self, LimitFile::Quota | LimitFile::Period | LimitFile::Burst)
    }
    /// Whether it holds what may be saved.
    pub(crate) fn is_burst(self) -> bool {
        matches!(self, LimitFile::MaxBurst | LimitFile::Burst)
    }
}

/// The file that holds a text.
pub(crate) const MAX: &str = "cpu.max";

/// What was written to one of the files; a group without a limit may have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitWrite {
    file: LimitFile,
    value: String,
}

impl LimitWrite {
    /// The value if the file takes it.
    pub(crate) fn new(file: LimitFile, value: &str) -> Result<LimitWrite, Wrong> {
        let words: Vec<&str> = value.split_whitespace().collect();
        let write = LimitWrite { file, value: words.join(" ") };
        write.on(CpuMax::UNLIMITED)?;
        Ok(write)
    }
    /// The write that makes one limit of another, if one is enough.
    pub(crate) fn between(before: CpuMax, after: CpuMax, v1: bool) -> Option<LimitWrite> {
        let us = |length: Ns| length.0 / 1000;
        let quota = |unlimited: &str| after.quota.map_or(unlimited.to_string(), |quota| us(quota).to_string());
        let (file, value) = match (v1, before.burst == after.burst) {
            (false, true) => (LimitFile::Max, format!("{} {}", quota("max"), us(after.period))),
            (false, false) => (LimitFile::MaxBurst, us(after.burst).to_string()),
            (true, true) if before.period == after.period => (LimitFile::Quota, quota("-1")),
            (true, true) => (LimitFile::Period, us(after.period).to_string()),
            (true, false) => (LimitFile::Burst, us(after.burst).to_string()),
        };
        LimitWrite::new(file, &value).ok().filter(|write| write.on(before) == Ok(after))
    }
    /// The file.
    pub fn file(&self) -> LimitFile {
        self.file
    }
    /// What the write makes of a limit.
    pub(crate) fn on(&self, limit: CpuMax) -> Result<CpuMax, Wrong> {
        let named = |message: &str| format!("{} {}: {message}", self.file.name(), self.value);
        if self.file.is_text() {
            return limit.written(&self.value).map_err(|(message, hint)| (named(&message), hint.to_string()));
        }
        let us = || {
            let us: Option<u64> = self.value.parse().ok();
            let hint = match self.file {
                LimitFile::Quota => "It takes a whole number of us, or -1 for no limit.",
                _ => "It takes a whole number of us.",
            };
            let no_number = || (named("no number of us"), hint.to_string());
            us.and_then(|us| us.checked_mul(1000)).map(Ns).ok_or_else(no_number)
        };
        let limit = match self.file {
            LimitFile::Quota if self.value == "-1" => CpuMax { quota: None, ..limit },
            LimitFile::Quota => CpuMax { quota: Some(us()?), ..limit },
            LimitFile::Period => CpuMax { period: us()?, ..limit },
            LimitFile::Max | LimitFile::MaxBurst | LimitFile::Burst => CpuMax { burst: us()?, ..limit },
        };
        limit.check().map(|()| limit).map_err(|refused| (named(refused.sentences().0), refused.sentences().1.to_string()))
    }
    /// As it stands in a table of TOML.
    pub(crate) fn toml(&self) -> String {
        let quote = if self.file.is_text() { "\"" } else { "" };
        format!("\"{}\" = {quote}{}{quote}", self.file.name(), self.value)
    }
}

impl fmt::Display for LimitWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)
    }
}

/// The writes to files of cgroup v2 that make a limit.
pub(crate) fn writes(limit: CpuMax) -> Vec<LimitWrite> {
    let us = |length: Ns| length.0 / 1000;
    let quota = limit.quota.map_or("max".to_string(), |quota| us(quota).to_string());
    let mut writes = vec![LimitWrite { file: LimitFile::Max, value: format!("{quota} {}", us(limit.period)) }];
    if limit.burst > Ns::ZERO {
        writes.push(LimitWrite { file: LimitFile::MaxBurst, value: us(limit.burst).to_string() });
    }
    writes
}

/// What all writes together make of no limit; the first that cannot be beside those before it is named.
pub(crate) fn together(writes: &[Spanned<LimitWrite>], m: &mut Mistakes) -> CpuMax {
    // A period alone is always right, and a burst is held against the quota, whichever stands first.
    let mut order: Vec<&Spanned<LimitWrite>> = writes.iter().collect();
    order.sort_by_key(|write| write.value.file.is_burst());
    order.iter().fold(CpuMax::UNLIMITED, |limit, write| match write.value.on(limit) {
        Ok(limit) => limit,
        Err((message, hint)) => {
            m.at(write.span.clone(), message, hint);
            limit
        }
    })
}

/// A group whose quota per period is more than that of a group above it, which cgroup v1 refuses.
///
/// Kernel: core.c tg_cfs_schedulable_down(), v4.12–
pub(crate) fn above_parent(groups: &IndexVec<TgId, TaskGroupSpec>) -> Option<TgId> {
    let mut tightest: IndexVec<TgId, Option<u64>> = IndexVec::new();
    for (id, group) in groups.iter_enumerated() {
        let above = group.parent.and_then(|parent| tightest[parent]);
        let own = group.limit.ratio();
        if above.is_some_and(|above| own.is_some_and(|own| own > above)) {
            return Some(id);
        }
        tightest.push(own.or(above));
    }
    None
}

/// What to say of such a group.
pub(crate) fn too_much(path: &str) -> Wrong {
    let hint = "In cgroup v1 quota / period of a group is at most that of every group above; cgroup v2 (cpu.max) takes more.";
    (format!("group `{path}` would get more CPU time than a group above it"), hint.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: &str, value: &str) -> Result<LimitWrite, Wrong> {
        LimitWrite::new(LimitFile::ALL.iter().find(|row| row.0 == file).unwrap().1, value)
    }

    #[test]
    fn what_a_file_takes() {
        for (file, value) in [
            ("cpu.max", "max"),
            ("cpu.max", "max 100000"),
            ("cpu.max", "1000  1000000"),
            ("cpu.max.burst", "0"),
            ("cpu.max.burst", "18446744073709551"),
            ("cpu.cfs_quota_us", "-1"),
            ("cpu.cfs_quota_us", "1000"),
            ("cpu.cfs_period_us", "1000"),
            ("cpu.cfs_burst_us", "5"),
        ] {
            assert!(write(file, value).is_ok(), "{file} {value}");
        }
        for (file, value, part) in [
            ("cpu.max", "", "is no cpu.max"),
            ("cpu.max", "999", "below 1 ms"),
            ("cpu.max", "5000 2000000", "longer than 1 s"),
            ("cpu.max", "max 10", "the period is below 1 ms"),
            ("cpu.max.burst", "-1", "no number of us"),
            ("cpu.max.burst", "99999999999999999999", "no number of us"),
            ("cpu.cfs_quota_us", "-2", "no number of us"),
            ("cpu.cfs_quota_us", "0", "the quota is below 1 ms"),
            ("cpu.cfs_quota_us", "max", "no number of us"),
            ("cpu.cfs_period_us", "0", "the period is below 1 ms"),
            ("cpu.cfs_period_us", "1000001", "longer than 1 s"),
            ("cpu.cfs_burst_us", "much", "no number of us"),
        ] {
            let (message, hint) = write(file, value).unwrap_err();
            assert!(message.contains(part) && message.starts_with(file) && !hint.is_empty(), "{file} {value}: {message}");
        }
    }

    #[test]
    fn a_write_keeps_what_it_does_not_name() {
        let us = |quota, period, burst| CpuMax {
            quota: Some(Ns::from_us(quota)),
            period: Ns::from_us(period),
            burst: Ns::from_us(burst),
        };
        let limit = us(20_000, 50_000, 10_000);
        for (file, value, after) in [
            ("cpu.max", "30000", Some(us(30_000, 50_000, 10_000))),
            ("cpu.max", "10000 20000", Some(us(10_000, 20_000, 10_000))),
            ("cpu.max", "9999", None),
            ("cpu.max", "max", Some(CpuMax { quota: None, ..limit })),
            ("cpu.max.burst", "20000", Some(us(20_000, 50_000, 20_000))),
            ("cpu.max.burst", "20001", None),
            ("cpu.cfs_quota_us", "-1", Some(CpuMax { quota: None, ..limit })),
            ("cpu.cfs_quota_us", "9999", None),
            ("cpu.cfs_period_us", "20000", Some(us(20_000, 20_000, 10_000))),
            ("cpu.cfs_burst_us", "0", Some(us(20_000, 50_000, 0))),
        ] {
            let made = write(file, value).unwrap().on(limit);
            assert_eq!(made.as_ref().ok(), after.as_ref(), "{file} {value}: {made:?}");
        }
    }

    #[test]
    fn one_write_leads_from_a_limit_to_the_next() {
        let limit = |quota: Option<u64>, period, burst| CpuMax {
            quota: quota.map(Ns::from_us),
            period: Ns::from_us(period),
            burst: Ns::from_us(burst),
        };
        let before = limit(Some(20_000), 50_000, 0);
        for (after, v2, v1) in [
            (before, Some("\"cpu.max\" = \"20000 50000\""), Some("\"cpu.cfs_quota_us\" = 20000")),
            (limit(None, 50_000, 0), Some("\"cpu.max\" = \"max 50000\""), Some("\"cpu.cfs_quota_us\" = -1")),
            (limit(Some(20_000), 1_000, 0), Some("\"cpu.max\" = \"20000 1000\""), Some("\"cpu.cfs_period_us\" = 1000")),
            (limit(Some(30_000), 1_000, 0), Some("\"cpu.max\" = \"30000 1000\""), None),
            (limit(Some(20_000), 50_000, 7), Some("\"cpu.max.burst\" = 7"), Some("\"cpu.cfs_burst_us\" = 7")),
            (limit(Some(30_000), 50_000, 7), None, None),
        ] {
            let made = [false, true].map(|v1| LimitWrite::between(before, after, v1).map(|write| write.toml()));
            assert_eq!(made, [v2.map(str::to_string), v1.map(str::to_string)]);
        }
    }
}
