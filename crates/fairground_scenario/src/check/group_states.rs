//! The files of groups in the course of a run, and who is not stopped by a limit.

use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::GroupAct;
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::cgroup::{FileWrite, Version};
use fairground_model::{Change, Mistakes, TaskGroupSpec, TaskSet, TaskSpec};
use fairground_sched::Profile;
use fairground_stdx::{IndexVec, TgId};
use std::collections::BTreeMap;

/// All groups at one moment of the run.
pub(crate) struct GroupStates {
    groups: IndexVec<TgId, TaskGroupSpec>,
    v1: bool,
}

impl GroupStates {
    /// Those at the start.
    pub(crate) fn new(tasks: &TaskSet, version: Option<Version>) -> GroupStates {
        // Where groups are wrong from the start, no later write makes it worse.
        let v1 = version == Some(Version::V1) && above_parent(&tasks.groups).is_none();
        GroupStates { groups: tasks.groups.clone(), v1 }
    }

    /// Makes the writes among `rows` in order of time. Returns the change that each is, by its place among them.
    pub(crate) fn write<'a>(
        &mut self,
        rows: impl IntoIterator<Item = &'a Spanned<At>>,
        m: &mut Mistakes,
    ) -> BTreeMap<usize, Change> {
        let mut in_time: Vec<(usize, &Spanned<At>)> = rows.into_iter().enumerate().collect();
        in_time.sort_by_key(|row| row.1.value.time);
        let mut made = BTreeMap::new();
        for (place, Spanned { value: At { time, act }, span }) in in_time {
            let Act::Group(act) = act else { continue };
            let Some(id) = self.groups.iter_enumerated().find(|row| row.1.name == act.path()).map(|row| row.0) else { continue };
            match act {
                GroupAct::Move(..) => {}
                GroupAct::Remove(path) => self.groups[id] = TaskGroupSpec::new(path.clone(), self.groups[id].parent),
                GroupAct::Write(_, write) => match self.set(id, write) {
                    Ok(change) => drop(made.insert(place, change)),
                    Err((message, hint)) => m.at(span.clone(), format!("`{act}` at {time} is refused (EINVAL): {message}"), hint),
                },
            }
        }
        made
    }

    fn set(&mut self, id: TgId, write: &FileWrite) -> Result<Change, Wrong> {
        let before = self.groups[id].clone();
        write.on(&mut self.groups[id])?;
        if let Some(child) = above_parent(&self.groups).filter(|_| self.v1) {
            self.groups[id] = before;
            return Err(too_much(&self.groups[child].name));
        }
        Ok(write.change(id, &self.groups[id]))
    }
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
