//! How large a whole scenario may be: its tasks, steps and groups in sum. Each of them takes memory as soon as it is read, so the sum is
//! looked at after each workload, and no further one is read once it is too large.

use crate::nouns::workload::Workload;
use fairground_model::Mistakes;
use std::ops::Range;

/// Most tasks of a scenario.
pub(crate) const TASKS_MAX: u64 = 100_000;
/// Most steps of all programs, each program counted once however many tasks run it.
const STEPS_MAX: u64 = 1_000_000;
/// Most groups of all workloads: each has those that the scenario declares besides its own.
const GROUPS_MAX: u64 = 1_000_000;
/// Most rows of `[[group]]`.
pub(crate) const GROUP_ROWS_MAX: usize = 10_000;

/// What was read so far.
#[derive(Default)]
pub(crate) struct Size {
    tasks: u64,
    steps: u64,
    groups: u64,
}

impl Size {
    /// Adds a workload; says whether there is room for more.
    pub(crate) fn add(&mut self, workload: &Workload, span: &Range<usize>, m: &mut Mistakes) -> bool {
        let set = &workload.tasks;
        self.tasks += set.tasks.len() as u64;
        self.steps += set.programs.iter().map(|program| program.code.len() as u64).sum::<u64>();
        self.groups += set.groups.len() as u64;
        let rows = [("tasks", self.tasks, TASKS_MAX), ("steps", self.steps, STEPS_MAX), ("groups", self.groups, GROUPS_MAX)];
        let over = rows.into_iter().find(|(_, found, most)| found > most);
        if let Some((what, found, most)) = over {
            let message = format!("with this workload the scenario has {found} {what}, more than {most}");
            m.at(
                span.clone(),
                message,
                format!("At most {most} {what} in all workloads together; no further workload was read."),
            );
        }
        over.is_none()
    }
}
