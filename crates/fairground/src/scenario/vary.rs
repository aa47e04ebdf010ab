//! A scenario with another limit of a group, or with other settings of a workload: what `advise` runs.

use super::at::Act;
use super::cgroup::GroupAct;
use super::{Scenario, Workload};
use crate::error::Error;
use fairground_model::CpuMax;
use fairground_workload::{Arg, Args};

impl Scenario {
    /// The paths of its groups, parents first.
    pub fn group_paths(&self) -> Vec<String> {
        self.groups.all_paths()
    }
    /// The limit with which the group at `path` starts; none if there is no such group.
    pub fn group_limit(&self, path: &str) -> Option<CpuMax> {
        self.groups.limit_of(path)
    }
    /// Whether the limit of the group at `path` changes during the run.
    pub fn changes_limit(&self, path: &str) -> bool {
        self.at.iter().any(|row| match &row.value.act {
            Act::Group(GroupAct::Limit(changed, _) | GroupAct::Remove(changed)) => changed == path,
            _ => false,
        })
    }
    /// The same with another limit of the group at `path`.
    pub fn with_group_limit(&self, path: &str, limit: CpuMax) -> Scenario {
        let mut changed = self.clone();
        changed.groups.set_limit(path, limit);
        let own = changed.workloads.iter_mut().flat_map(|workload| workload.tasks.groups.iter_mut());
        own.filter(|group| group.name == path).for_each(|group| group.limit = limit);
        changed
    }
    /// The place and the settings of the first workload of this name.
    pub fn workload_args(&self, name: &str) -> Option<(usize, &Args)> {
        let rows = self.workloads.iter().enumerate();
        rows.filter_map(|(row, workload)| workload.named.as_ref().map(|named| (row, named)))
            .find(|(_, named)| named.0 == name)
            .map(|(row, named)| (row, &named.1))
    }
    /// The same with settings of the workload in a row changed. Sessions are not kept.
    pub fn with_workload_args(&self, row: usize, changes: &[(&str, String)]) -> Result<Scenario, Error> {
        let Some(workload) = self.workloads.get(row) else { return Ok(self.clone()) };
        let Some((name, args)) = &workload.named else { return Ok(self.clone()) };
        let mut args = args.clone();
        for (key, value) in changes {
            args.0.retain(|arg| arg.key != *key);
            args.0.push(Arg { key: (*key).to_string(), value: value.clone(), span: None });
        }
        let mut made = Workload::named(name, &args).map_err(|wrong| self.wrong(wrong))?;
        let group = workload.tasks.tasks.iter().find_map(|task| task.group);
        made.put_into(group, &self.groups);
        let mut changed = self.clone();
        changed.workloads[row] = made;
        Ok(changed)
    }
}
