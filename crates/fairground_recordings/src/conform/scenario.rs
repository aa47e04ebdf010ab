//! What a scenario tells of a trace that was made by it, or of what ran on a machine as it describes: which task is in which group, what
//! groups weigh and may use, policies, slices and the CPUs that tasks may use. A trace tells none of that.

use fairground_conform::Recording;
use fairground_model::{Change, Instr, TaskGroupSpec, TaskInfo, TaskSet, TaskSpec, TimedChange};
use fairground_scenario::{Error, Overrides, Scenario};
use fairground_stdx::{CpuMask, Id, IndexVec, TaskId, TgId};
use std::path::Path;

/// What is told.
#[derive(Default)]
pub(super) struct Told {
    /// The groups, parents first.
    pub(super) groups: IndexVec<TgId, TaskGroupSpec>,
    /// The tasks of the trace that are in it, as they begin.
    pub(super) specs: Vec<(TaskId, TaskSpec)>,
    /// The CPUs that they may use, where not all.
    pub(super) allowed: Vec<(TaskId, CpuMask)>,
    /// What it does in mid-run that is not followed.
    pub(super) beyond: Option<String>,
}

/// A scenario under the flags of the comparison.
pub(super) fn load(path: &Path, overrides: &Overrides) -> Result<Scenario, Error> {
    Scenario::load(path, overrides)
}

/// What a scenario tells of the tasks of a recording.
pub(super) fn told(scenario: &Scenario, recording: &Recording) -> Told {
    let tasks = &recording.tasks;
    let set = scenario.tasks();
    let specs: Vec<(TaskId, TaskSpec)> =
        set.tasks.ids().filter_map(|row| Some((find(row, &set, tasks)?, set.tasks[row].clone()))).collect();
    let allowed = specs.iter().filter_map(|row| Some((row.0, row.1.affinity?))).collect();
    Told { groups: set.groups.clone(), specs, allowed, beyond: beyond(&set, recording.tells_moves()) }
}

/// The task of the trace that is row `row` of the scenario: of those with its name the one at its place, by process number.
fn find(row: TaskId, set: &TaskSet, tasks: &IndexVec<TaskId, TaskInfo>) -> Option<TaskId> {
    let name = &set.tasks[row].name;
    let place = set.tasks.ids().take(row.index()).filter(|&other| set.tasks[other].name == *name).count();
    let mut named: Vec<TaskId> = tasks.ids().filter(|&task| tasks[task].name == *name).collect();
    named.sort_by_key(|&task| tasks[task].pid);
    named.get(place).copied()
}

/// Changes in mid-run leave no record, but for tasks that go to another group where the recording tells that.
fn beyond(set: &TaskSet, tells_moves: bool) -> Option<String> {
    let moves = |instr: &Instr| matches!(instr, Instr::SetGroup { .. });
    let programs = !tells_moves && set.programs.iter().any(|program| program.code.iter().any(moves));
    let is_followed = |row: &TimedChange| tells_moves && matches!(row.change, Change::Group { .. });
    let what = match (set.changes.iter().all(is_followed), programs) {
        (true, false) => return None,
        (false, _) => "changes while it runs",
        (true, true) => "tasks that change their group",
    };
    Some(format!("the scenario has {what}: not followed yet, and nothing is held against a threshold"))
}
