//! The limits of groups in the course of a run, and who is not stopped by one.

use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::GroupAct;
use crate::nouns::limits::{above_parent, too_much};
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::{CpuMax, Mistakes, TaskGroupSpec, TaskSet, TaskSpec};
use fairground_sched::Profile;
use fairground_stdx::{IndexVec, TgId};
use std::collections::BTreeMap;
/// The limits of all groups at one moment of the run.
pub(crate) struct Limits {
    groups: IndexVec<TgId, TaskGroupSpec>,
    v1: bool,
}

impl Limits {
    /// Those at the start.
    pub(crate) fn new(tasks: &TaskSet, v1: bool) -> Limits {
        // Where groups are wrong from the start, no later write makes it worse.
        Limits { groups: tasks.groups.clone(), v1: v1 && above_parent(&tasks.groups).is_none() }
    }

    /// Makes the writes among `rows` in order of time. Returns the whole limit that each leads to, by its place among them.
    pub(crate) fn write<'a>(
        &mut self,
        rows: impl IntoIterator<Item = &'a Spanned<At>>,
        m: &mut Mistakes,
    ) -> BTreeMap<usize, CpuMax> {
        let mut in_time: Vec<(usize, &Spanned<At>)> = rows.into_iter().enumerate().collect();
        in_time.sort_by_key(|row| row.1.value.time);
        let mut made = BTreeMap::new();
        for (place, Spanned { value: At { time, act }, span }) in in_time {
            let Act::Group(act @ (GroupAct::Limit(path, _) | GroupAct::Remove(path))) = act else { continue };
            let Some(id) = self.groups.iter_enumerated().find(|row| row.1.name == *path).map(|row| row.0) else { continue };
            let GroupAct::Limit(_, write) = act else {
                self.groups[id].limit = CpuMax::UNLIMITED;
                continue;
            };
            match write.on(self.groups[id].limit).and_then(|limit| self.set(id, limit)) {
                Ok(limit) => drop(made.insert(place, limit)),
                Err((message, hint)) => m.at(span.clone(), format!("`{act}` at {time} is refused (EINVAL): {message}"), hint),
            }
        }
        made
    }

    fn set(&mut self, id: TgId, limit: CpuMax) -> Result<CpuMax, Wrong> {
        let before = std::mem::replace(&mut self.groups[id].limit, limit);
        match above_parent(&self.groups).filter(|_| self.v1) {
            Some(child) => {
                self.groups[id].limit = before;
                Err(too_much(&self.groups[child].name))
            }
            None => Ok(limit),
        }
    }
}

/// Kernel threads in groups with a quota, where tasks stop on their way back to user mode: these never go there.
pub(crate) fn never_stopped(tasks: &TaskSet, profile: &Profile) -> Vec<String> {
    let limited = |group: &TgId| {
        let mut level = Some(*group);
        std::iter::from_fn(|| level.inspect(|&group| level = tasks.groups[group].parent))
            .any(|group| tasks.groups[group].limit.quota.is_some())
    };
    let note = |task: &TaskSpec| {
        let group = task.group.filter(|group| task.kthread && limited(group))?;
        Some(format!(
            "`{}` is a kernel thread in group `{}`: no quota stops it, it never returns to user mode",
            task.name, tasks.groups[group].name
        ))
    };
    match profile.throttle.dequeues_queues() {
        true => Vec::new(),
        false => tasks.tasks.iter().filter_map(note).collect(),
    }
}
