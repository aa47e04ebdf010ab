//! In which files of groups a run is written: those of cgroup v1 or of v2.

use super::Unwritable;
use crate::nouns::cgroup::{Weight, WeightFile};
use crate::nouns::limits::{LimitWrite, above_parent};
use fairground_model::cgroup::{WEIGHTS, shares_to_weight, weight_to_shares};
use fairground_model::{Change, CpuMax, TaskGroupSpec};
use fairground_sim::Setup;
use fairground_stdx::{IndexVec, Ns, TgId};

/// The files, and the groups as they stand after what was written so far.
pub(crate) struct Files {
    v1: bool,
    groups: IndexVec<TgId, TaskGroupSpec>,
}

impl Files {
    /// cpu.shares has room for every weight and cpu.weight has not, but v1 refuses some limits: v2 is taken where there are limits
    /// and all weights are found there.
    pub(crate) fn of(setup: &Setup) -> Result<Files, Unwritable> {
        let set = &setup.tasks;
        let changes = || set.changes.iter().map(|timed| &timed.change);
        let limits = set.groups.iter().any(|group| group.limit != CpuMax::UNLIMITED)
            || changes().any(|change| matches!(change, Change::CpuMax { .. }));
        let mut shares = set.groups.iter().map(|group| group.shares).chain(changes().filter_map(|change| match change {
            Change::Shares { shares, .. } => Some(*shares),
            _ => None,
        }));
        let files = Files { v1: !limits || shares.any(|shares| weight(shares).is_none()), groups: set.groups.clone() };
        files.check().map(|()| files)
    }

    pub(crate) fn weight(&self, shares: u64) -> Weight {
        match weight(shares).filter(|_| !self.v1) {
            Some(value) => Weight { file: WeightFile::Weight, value },
            None => Weight { file: WeightFile::Shares, value: shares.cast_signed() },
        }
    }

    /// What leads from no limit to that one.
    pub(crate) fn limits(&self, limit: CpuMax) -> Vec<LimitWrite> {
        let mut before = CpuMax::UNLIMITED;
        let period = CpuMax { period: limit.period, ..CpuMax::UNLIMITED };
        let quota = CpuMax { quota: limit.quota, ..period };
        let steps = if self.v1 { vec![period, quota, limit] } else { vec![quota, limit] };
        let mut writes = Vec::new();
        for step in steps.into_iter().filter(|step| *step != CpuMax::UNLIMITED) {
            writes.extend(LimitWrite::between(before, step, self.v1).filter(|_| step != before));
            before = step;
        }
        writes
    }

    /// The one write that makes that limit of what the group had.
    pub(crate) fn write(&mut self, group: TgId, limit: CpuMax) -> Result<LimitWrite, Unwritable> {
        let before = std::mem::replace(&mut self.groups[group].limit, limit);
        self.check()?;
        let write = LimitWrite::between(before, limit, self.v1);
        write.ok_or_else(|| {
            Unwritable(format!("a change of the limit of `{}` that takes more than one write", self.groups[group].name))
        })
    }

    fn check(&self) -> Result<(), Unwritable> {
        let whole = |length: Ns| length.0.is_multiple_of(1000);
        let odd = |group: &&TaskGroupSpec| {
            let CpuMax { quota, period, burst } = group.limit;
            !(whole(quota.unwrap_or_default()) && whole(period) && whole(burst))
        };
        if let Some(group) = self.groups.iter().find(odd) {
            return Err(Unwritable(format!("the limit of `{}`, which is not in whole us", group.name)));
        }
        match above_parent(&self.groups).filter(|_| self.v1) {
            Some(id) => {
                let name = &self.groups[id].name;
                Err(Unwritable(format!("a weight that cgroup v2 does not have beside the limit of `{name}`, which v1 refuses")))
            }
            None => Ok(()),
        }
    }
}

/// The cpu.weight that gives these shares.
fn weight(shares: u64) -> Option<i64> {
    let weight = shares_to_weight(shares, false);
    (WEIGHTS.contains(&weight) && weight_to_shares(weight) == shares).then_some(weight.cast_signed())
}
