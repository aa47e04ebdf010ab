//! Utilization clamps that the kernel does not know, or that contradict one another.

use crate::nouns::at::{Act, At};
use crate::nouns::clamps::contradiction;
use crate::nouns::workload::Workload;
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::{Mistakes, TaskSet, UtilClamp};
use fairground_sched::profile::Profile;
use std::collections::BTreeMap;
/// A clamp of a task that the kernel would not look at, as message and hint.
pub(crate) fn unknown(task: &str, profile: &Profile) -> Wrong {
    let message = format!("task `{task}` asks for a utilization clamp, and profile `{}` knows none", profile.name);
    (message, "Kernels have them from v5.3 on: choose such a profile, or leave the clamp out.".to_string())
}

/// Finds workloads whose tasks ask for clamps where the kernel knows none: one mistake for each.
pub(crate) fn check(workloads: &[Workload], profile: &Profile, m: &mut Mistakes) {
    for workload in workloads {
        if let Some(task) = workload.tasks.asks_for_clamp().filter(|_| !profile.uclamp.has_tasks()) {
            let (message, hint) = unknown(&workload.tasks.tasks[task].name, profile);
            workload.mistake(task, message, hint, m);
        }
    }
}

/// Goes through the changes in order of time: tasks that would ask for more at least than at most.
pub(crate) fn check_changes(rows: &[Spanned<At>], tasks: &TaskSet, profile: Option<&Profile>, m: &mut Mistakes) {
    let mut in_time: Vec<&Spanned<At>> = rows.iter().collect();
    in_time.sort_by_key(|row| row.value.time);
    let mut asked: BTreeMap<&str, UtilClamp> = BTreeMap::new();
    for Spanned { value: At { act, .. }, span } in in_time {
        let Act::Clamp(task, clamp) = act else { continue };
        if let Some(profile) = profile.filter(|profile| !profile.uclamp.has_tasks()) {
            let (message, hint) = unknown(task, profile);
            m.at(span.clone(), message, hint);
            continue;
        }
        let first = || tasks.tasks.iter().find(|row| row.name == *task).map_or(UtilClamp::NONE, |row| row.clamp);
        let now = asked.entry(task).or_insert_with(first);
        let wanted = now.with(*clamp);
        if wanted.is_valid() {
            *now = wanted;
        } else {
            let (message, hint) = contradiction(wanted);
            m.at(span.clone(), format!("task `{task}`: {message}"), hint);
        }
    }
}
