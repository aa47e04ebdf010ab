//! The groups of a comparison: those of the recorded host, and what is said of them.

use fairground_formats::ImportStats;
use fairground_formats::fgr::Snapshot;
use fairground_model::TaskGroupSpec;
use fairground_model::cgroup::Memberships;
use fairground_stdx::{IndexVec, TgId};

/// The groups of a host when it was recorded.
pub(super) fn of_host(begin: &Snapshot, notes: &mut Vec<String>) -> IndexVec<TgId, TaskGroupSpec> {
    let (groups, left_out) = begin.specs();
    let limited = groups.iter().filter(|group| group.limit.quota.is_some()).count();
    notes.push(format!("{} groups with their weights are those of the recording, {limited} of them with a quota", groups.len()));
    if left_out > 0 {
        notes.push(format!("{left_out} groups of the recording have a path or a limit that no group can have, or are too many"));
    }
    groups
}

/// What a trace tells of groups, and what not.
pub(super) fn note(memberships: &Memberships, is_trace_alone: bool, stats: &ImportStats) -> Option<String> {
    let Memberships { groups, begins, moves, nearest, left_out } = memberships;
    if stats.grouped_tasks == 0 {
        return is_trace_alone.then(|| {
            "a trace does not tell groups (cgroups, autogroups): all tasks count as tasks of the root group; `--scenario` tells them".to_string()
        });
    }
    let mut note = match is_trace_alone {
        true => format!(
            "groups are those of the trace, {} of them, each of weight 100 and with cpu control, as the trace does not tell either",
            groups.len()
        ),
        false => "who is in which group is told by the trace too".to_string(),
    };
    note += &format!(": {} tasks begin in one", begins.len());
    if !moves.is_empty() {
        note += &format!(
            "; {} moves between groups are followed (an event names one task: the other threads of its process stay, unless the record \
             tells of them)",
            moves.len()
        );
    }
    if *nearest > 0 {
        note += &format!("; {nearest} times a group was named that is not among the known ones: the nearest one above it counts");
    }
    if *left_out > 0 {
        note += &format!("; {left_out} rows name no possible path of a group, or one beyond the 4,096th: not followed");
    }
    Some(note)
}
