//! In which files of groups a run is written: those of cgroup v1 or of v2.

use super::Unwritable;
use crate::check::group_states::above_parent;
use fairground_model::cgroup::{FileWrite, GroupWrite, Version};
use fairground_model::{Change, CpuMax, TaskGroupSpec};
use fairground_sim::Setup;
use fairground_stdx::{IndexVec, TgId};

/// The files, and the groups as they stand after what was written so far.
pub(crate) struct Files {
    version: Version,
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
        let has_v2 = |shares| FileWrite::of(GroupWrite::Shares(shares), Version::V2).is_some();
        let version = if limits && shares.all(has_v2) { Version::V2 } else { Version::V1 };
        let files = Files { version, groups: set.groups.clone() };
        files.check().map(|()| files)
    }

    /// The writes that make a group as it is at the start.
    pub(crate) fn of_group(&self, group: &TaskGroupSpec) -> Result<Vec<FileWrite>, Unwritable> {
        let writes = GroupWrite::between(&TaskGroupSpec::new("", None), group, self.version);
        writes.into_iter().map(|write| self.write(write, group)).collect()
    }

    /// The one write that is a change of a group.
    pub(crate) fn change(&mut self, id: TgId, change: &Change) -> Result<FileWrite, Unwritable> {
        let before = self.groups[id].limit;
        let writes: Vec<GroupWrite> = match *change {
            Change::Shares { shares, .. } => vec![GroupWrite::Shares(shares)],
            Change::GroupIdle { idle, .. } => vec![GroupWrite::Idle(idle)],
            Change::GroupClamp { clamp, .. } => {
                clamp.min.map(GroupWrite::ClampMin).into_iter().chain(clamp.max.map(GroupWrite::ClampMax)).collect()
            }
            Change::CpuMax { limit, .. } => {
                self.groups[id].limit = limit;
                self.check()?;
                GroupWrite::of_limit(before, limit, self.version)
            }
            _ => Vec::new(),
        };
        match writes[..] {
            [write] => self.write(write, &self.groups[id]),
            _ => Err(Unwritable(format!("a change of `{}` that takes more than one write", self.groups[id].name))),
        }
    }

    fn write(&self, write: GroupWrite, group: &TaskGroupSpec) -> Result<FileWrite, Unwritable> {
        let odd = || Unwritable(format!("{write:?} of `{}`, for which no file has a value", group.name));
        FileWrite::of(write, self.version).ok_or_else(odd)
    }

    fn check(&self) -> Result<(), Unwritable> {
        match above_parent(&self.groups).filter(|_| self.version == Version::V1) {
            Some(id) => {
                let name = &self.groups[id].name;
                Err(Unwritable(format!("a weight that cgroup v2 does not have beside the limit of `{name}`, which v1 refuses")))
            }
            None => Ok(()),
        }
    }
}
