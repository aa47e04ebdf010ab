//! What a run over a tree cannot have yet, said by name before it begins.

use fairground_model::{Change, GovernorKind, Mistakes, TimedChange};
use fairground_sim::Setup;
use fairground_stdx::Ns;
use std::collections::BTreeSet;

/// Refuses what the engine cannot ask of the tree `name`, which was built with `hz` ticks per second.
pub(super) fn check(setup: &Setup, name: &str, hz: u32) -> Result<(), Mistakes> {
    let mut wrong = Mistakes::default();
    if setup.machine.hz != hz {
        wrong.whole(
            format!("the machine ticks {} times a second, and kernel `{name}` was built for {hz}", setup.machine.hz),
            format!(
                "Add `--set machine.hz={hz}`, or build the tree with `--config FILE`, where FILE has the line CONFIG_HZ_{}=y.",
                setup.machine.hz
            ),
        );
    }
    for what in missing(setup) {
        wrong.whole(
            format!("kernel `{name}`: a run over a tree cannot have {what} yet"),
            "Leave it out, or take a profile of ours: docs/kernel-core.md lists what trees lack.",
        );
    }
    wrong.or(())
}

fn missing(setup: &Setup) -> BTreeSet<&'static str> {
    let tasks = &setup.tasks;
    let mut found = BTreeSet::new();
    let mut note = |is: bool, what: &'static str| {
        if is {
            found.insert(what);
        }
    };
    let policies = &setup.machine.policies;
    let governors = || {
        let later = tasks.changes.iter().filter_map(|timed| match &timed.change {
            Change::Governor { governor, .. } => Some(governor.kind),
            _ => None,
        });
        policies.iter().map(|policy| policy.governor.kind).chain(later)
    };
    let is_part_of_drivers = |kind| matches!(kind, GovernorKind::Ondemand | GovernorKind::Conservative);
    note(governors().any(is_part_of_drivers), "governors `ondemand` and `conservative`, which are no part of kernel/sched,");
    let has_schedutil = governors().any(|kind| kind == GovernorKind::Schedutil);
    let offline = |timed: &TimedChange| matches!(timed.change, Change::Hotplug { .. });
    note(has_schedutil && tasks.changes.iter().any(offline), "CPUs that go off line under schedutil");
    note(setup.machine.round_of_turns > Ns::ZERO, "CPUs that take turns, as on emulated machines");
    for timed in &tasks.changes {
        match &timed.change {
            Change::Pressure { .. } => note(true, "CPUs that lose capacity"),
            Change::Watchdog { .. } => note(true, "watchdogs"),
            Change::Nice { .. }
            | Change::Policy { .. }
            | Change::Affinity { .. }
            | Change::Slice { .. }
            | Change::Group { .. }
            | Change::Shares { .. }
            | Change::CpuMax { .. }
            | Change::RemoveGroup { .. }
            | Change::Hotplug { .. }
            | Change::FreqCapacity { .. }
            | Change::Governor { .. }
            | Change::Clamp { .. }
            | Change::GroupClamp { .. }
            | Change::GroupIdle { .. }
            | Change::Feature(_) => {}
        }
    }
    found
}
