//! Takes groups out of a case, and what is unusual out of those that stay.

use super::Search;
use crate::case::Case;
use fairground_model::{Change, DEFAULT_SHARES, Instr};
use fairground_stdx::{Id, TgId};

impl<F: FnMut(&Case) -> bool> Search<F> {
    pub(super) fn drop_groups(&mut self) {
        self.drop_rows(|case| case.tasks.groups.len(), remove_group);
    }

    pub(super) fn simpler_groups(&mut self) {
        for group in self.small.tasks.groups.ids().collect::<Vec<_>>() {
            self.attempt(|case| case.tasks.groups[group].shares = DEFAULT_SHARES);
            self.attempt(|case| {
                let about = |change: &Change| matches!(*change, Change::GroupIdle { group: of, .. } if of == group);
                case.tasks.changes.retain(|timed| !about(&timed.change));
                case.tasks.groups[group].idle = false;
            });
        }
    }
}

/// Takes a group out: who was in it is in the group above.
pub(super) fn remove_group(case: &mut Case, row: usize) {
    let gone = TgId::from_index(row);
    let above = case.tasks.groups[gone].parent;
    let renamed = |group: Option<TgId>| match group {
        Some(group) if group == gone => above,
        Some(group) => Some(TgId::from_index(group.index() - usize::from(group > gone))),
        None => None,
    };
    let rest = case.tasks.groups.iter_enumerated().filter(|group| group.0 != gone).map(|group| group.1.clone()).collect();
    case.tasks.groups = rest;
    for id in case.tasks.groups.ids().collect::<Vec<_>>() {
        let parent = renamed(case.tasks.groups[id].parent);
        let above = parent.map_or(String::new(), |parent| case.tasks.groups[parent].name.clone());
        let group = &mut case.tasks.groups[id];
        let name = group.name.rsplit_once('/').map_or("", |name| name.1);
        (group.name, group.parent) = (format!("{above}/{name}"), parent);
    }
    for task in case.tasks.tasks.iter_mut() {
        task.group = renamed(task.group);
    }
    for instr in case.tasks.programs.iter_mut().flat_map(|program| &mut program.code) {
        if let Instr::SetGroup { group } = instr {
            *group = renamed(*group);
        }
    }
    case.tasks.changes.retain(|timed| group_of(&timed.change) != Some(gone));
    for timed in &mut case.tasks.changes {
        match &mut timed.change {
            Change::Group { group, .. } => *group = renamed(*group),
            Change::Shares { group, .. }
            | Change::CpuMax { group, .. }
            | Change::GroupIdle { group, .. }
            | Change::GroupClamp { group, .. }
            | Change::RemoveGroup { group } => {
                *group = renamed(Some(*group)).unwrap_or(*group);
            }
            _ => {}
        }
    }
}

/// The group that a change is about.
fn group_of(change: &Change) -> Option<TgId> {
    match *change {
        Change::Shares { group, .. }
        | Change::CpuMax { group, .. }
        | Change::GroupClamp { group, .. }
        | Change::GroupIdle { group, .. }
        | Change::RemoveGroup { group } => Some(group),
        _ => None,
    }
}
