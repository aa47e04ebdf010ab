//! A scenario with another limit of a group, or with another service: what `advise` runs.

use super::Scenario;
use crate::nouns::at::Act;
use crate::nouns::cgroup::GroupAct;
use fairground_model::{CpuMax, Digest, TaskSet};
use fairground_stdx::Ns;
use fairground_workload::service::Service;

impl Scenario {
    /// The paths of its groups, parents first.
    pub fn group_paths(&self) -> Vec<String> {
        self.groups.paths()
    }
    /// The limit with which the group at `path` starts; none if there is no such group.
    pub fn group_limit(&self, path: &str) -> Option<CpuMax> {
        self.groups.limit_of(path)
    }
    /// Whether the limit of the group at `path` changes during the run.
    pub fn changes_limit(&self, path: &str) -> bool {
        self.at.iter().any(|row| match &row.value.act {
            Act::Group(GroupAct::Write(changed, write)) => changed == path && write.write().is_limit(),
            Act::Group(GroupAct::Remove(changed)) => changed == path,
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
    /// The first service among its workloads, and its row.
    pub fn service(&self) -> Option<(usize, &Service)> {
        self.workloads.iter().enumerate().find_map(|(row, workload)| Some((row, workload.service.as_ref()?)))
    }
    /// The same with another service in a row. Sessions are not kept.
    pub fn with_service(&self, row: usize, service: Service) -> Scenario {
        let mut changed = self.clone();
        let Some(workload) = changed.workloads.get_mut(row) else { return changed };
        let group = workload.tasks.tasks.iter().find_map(|task| task.group);
        let mut digest = Digest::default();
        digest.bytes(format!("{service:?}").as_bytes());
        workload.canonical = format!("service_digest = \"{:032x}\"\n", digest.value());
        workload.tasks = service.tasks();
        workload.sessions = Vec::new();
        workload.put_into(group, &self.groups);
        workload.service = Some(service);
        changed
    }
    /// The same without the other workloads. The rest keeps its rows: the others have no tasks.
    pub fn with_workload_only(&self, row: usize) -> Scenario {
        (0..self.workloads.len())
            .filter(|other| *other != row)
            .fold(self.clone(), |changed, other| changed.with_tasks(other, TaskSet::default(), "none = true\n".to_string()))
    }
    /// The same with other tasks in a row, in the group of those that were there; `canonical` is how they stand in a canonical scenario.
    pub fn with_tasks(&self, row: usize, tasks: TaskSet, canonical: String) -> Scenario {
        let mut changed = self.clone();
        let Some(workload) = changed.workloads.get_mut(row) else { return changed };
        let group = workload.tasks.tasks.iter().find_map(|task| task.group);
        workload.canonical = canonical;
        workload.tasks = tasks;
        workload.sessions = Vec::new();
        workload.put_into(group, &self.groups);
        changed
    }
    /// The same with all that its tasks do so much later.
    pub fn delayed(&self, length: Ns) -> Scenario {
        let mut changed = self.clone();
        changed.workloads.iter_mut().for_each(|workload| workload.tasks.delay(length));
        changed.duration = Ns(changed.duration.0.saturating_add(length.0));
        changed
    }
}
