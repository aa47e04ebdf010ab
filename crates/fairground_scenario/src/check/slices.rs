//! Slices of tasks' own: which kernels know them, and what becomes of one that is too short or too long.

use crate::nouns::at::{Act, At};
use crate::nouns::workload::Workload;
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::{Instr, Mistakes, Program};
use fairground_sched::profile::Profile;
use fairground_stdx::Ns;
use std::collections::BTreeSet;

/// A slice that the kernel would not look at, as message and hint.
pub(crate) fn unknown(task: &str, profile: &Profile) -> Wrong {
    (
        format!("task `{task}` asks for a slice of its own, and profile `{}` knows none", profile.name),
        "Kernels have them from v6.12 on (sched_runtime of sched_setattr): choose such a profile, or leave the slice out."
            .to_string(),
    )
}

/// Finds workloads that ask for slices where the kernel knows none: one mistake for each.
pub(crate) fn check(workloads: &[Workload], profile: &Profile, m: &mut Mistakes) {
    if profile.task_slice.is_custom() {
        return;
    }
    for workload in workloads {
        let asked = workload.tasks.slices();
        let Some(&(task, _)) = asked.first() else { continue };
        let (message, hint) = unknown(&workload.tasks.tasks[task].name, profile);
        workload.mistake(task, message, hint, m);
    }
}

/// Finds workloads that ask for extensions of slices where the kernel has none: one mistake for each.
pub(crate) fn check_extensions(workloads: &[Workload], profile: &Profile, m: &mut Mistakes) {
    if profile.slice_extension.is_there() || profile.tree().is_some() {
        return;
    }
    for workload in workloads {
        let set = &workload.tasks;
        let asks = |program: &Program| program.code.iter().any(|instr| matches!(instr, Instr::SliceExt { .. }));
        let Some((task, spec)) = set.tasks.iter_enumerated().find(|(_, spec)| asks(&set.programs[spec.program])) else {
            continue;
        };
        let message = format!("task `{}` asks for slice extensions, and profile `{}` has none", spec.name, profile.name);
        workload.mistake(
            task,
            message,
            "Kernels have them from v7.0 on (rseq): choose such a profile, or leave `slice-ext` out.",
            m,
        );
    }
}

/// Who asks for which slice, by name.
fn asked(workload: &Workload) -> impl Iterator<Item = (&str, Option<Ns>)> {
    let named = |(task, slice)| (workload.tasks.tasks[task].name.as_str(), slice);
    workload.tasks.slices().into_iter().map(named)
}

/// Says which slices the kernel cuts, each length once.
pub(crate) fn cut(workloads: &[Workload], at: &[Spanned<At>], profile: &Profile) -> Vec<String> {
    let changed = at.iter().filter_map(|row| match &row.value.act {
        Act::Slice(task, slice) => Some((task.as_str(), *slice)),
        _ => None,
    });
    let asked = workloads.iter().flat_map(asked).chain(changed);
    let mut known = BTreeSet::new();
    let mut notes = Vec::new();
    for (task, slice) in asked.filter_map(|(task, slice)| Some((task, slice?))) {
        let granted = profile.task_slice.granted(slice).unwrap_or(slice);
        if granted != slice && known.insert(slice) {
            notes.push(format!("the slice {slice} of task `{task}` becomes {granted}: kernels allow 100us to 100ms"));
        }
    }
    notes
}
