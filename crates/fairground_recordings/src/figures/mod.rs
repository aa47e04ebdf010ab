//! The figures of a recorded set: what its `summary.json` holds, from the records of any run.
//!
//! The rules were found by recomputing the recorded sets and hold for each of them to the last digit:
//!
//! * **Window.** Everything is taken from `start ..= end`, except that a wait counts if it *begins*
//!   in `start .. end`, whenever it ends.
//! * **Slice.** A task's uninterrupted stay on a CPU, cut to the window. Run time is their sum.
//! * **Wait.** From `sched_waking` (or the first queueing, or the preemption) to the switch to the task.
//! * **Wake to run.** The waits that a waking or a first queueing began.
//! * **Preemptions.** Slices with a part in the window whose end left the task runnable.
//! * **Switches** are those of all tasks; all else is of the measured ones.
//! * **Percentiles** are those of [`fairground_metrics::percentile::percentile`].
//! * **runtime_cv.** Population standard deviation over mean of the tasks' run times, four digits.
//! * **group_share.** Run time of a group's tasks over that of all, four digits; of groups that have tasks themselves.
//! * **Reports of the programs.** The markers `latency`, `response` and `first_run` of a task `p00`
//!   give `p00.maxlat_ns`, `p00.avglat_ns`, `p00.maxresp_ns` …; the marker `jobs` gives `p00.jobs`. The marker `answer`
//!   gives those of a `wl msg`: `wakes`, `jobs`, `p50_ns` … `max_ns`.
//! * **Quota** (`bandwidth.…`): throttles, releases and period timers within the window; what a queue had used beyond its quota when it was
//!   throttled.
//! * **Load tracking**, on request: see `load.rs`.

mod check;
mod figure;
mod load;
mod quota;
mod reported;
mod show;
mod summary;
mod task;

pub use check::{Check, CheckedRow, ExpectRow, SkippedRow};
pub use figure::{Figure, FigureMap};
pub use show::{expect_json, expect_table, figures_json};

use fairground_metrics::Window;
use fairground_model::{MarkerSpec, PrevState, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, MarkerId, TaskId};
use load::LoadSamples;
use quota::Quotas;
use reported::Reported;
use task::{Wait, WorkloadTask};

/// Computes the figures of a set. Keeps each slice of a measured task, as exact percentiles need
/// them, so it is for recorded experiments of seconds, not for runs of hours ([`fairground_metrics::RunStats`]).
#[derive(Clone, Debug)]
pub struct Figures {
    window: Window,
    measured: Vec<TaskId>,
    /// Indexed by task; `None` = not measured.
    tasks: Vec<Option<WorkloadTask>>,
    /// Tasks and the groups in which they are.
    groups: Vec<(TaskId, String)>,
    switches: u64,
    quotas: Quotas,
    reported: Reported,
    /// Samples of load tracking, if figures of it are asked for.
    load: Option<LoadSamples>,
}

impl Figures {
    /// Figures of the `measured` tasks within a window.
    pub fn new(window: Window, measured: impl IntoIterator<Item = TaskId>) -> Figures {
        let (reported, load) = (Reported::default(), None);
        let (none, tasks, groups) = (Vec::new(), Vec::new(), Vec::new());
        let mut figures =
            Figures { window, measured: none, tasks, groups, switches: 0, quotas: Quotas::default(), reported, load };
        measured.into_iter().for_each(|task| figures.measure(task));
        figures
    }
    /// Also takes the measurements that the workload's programs make.
    pub fn with_markers(mut self, markers: &IndexVec<MarkerId, MarkerSpec>) -> Figures {
        self.reported = Reported::new(markers);
        self
    }
    /// Also takes the shares of groups: tasks with the path of their group, without a slash before it.
    pub(crate) fn with_groups(mut self, groups: impl IntoIterator<Item = (TaskId, String)>) -> Figures {
        self.groups = groups.into_iter().collect();
        self
    }
    /// Also takes the figures of load tracking (`pelt.…`): samples are wanted then. `capacities` are those of the
    /// CPUs in order, of 1024 at most; a CPU that is not in it has 1024.
    pub fn with_load(mut self, capacities: impl IntoIterator<Item = u32>) -> Figures {
        self.load = Some(LoadSamples::new(capacities.into_iter().collect()));
        self
    }
    /// The figures of a run that ended at `end`, by name.
    pub fn finish(mut self, end: Instant) -> FigureMap {
        for task in self.tasks.iter_mut().flatten() {
            task.leave(end, PrevState::Sleeping, self.window);
        }
        let mut tasks: Vec<(TaskId, WorkloadTask)> = Vec::new();
        for &id in &self.measured {
            let row = self.tasks.get_mut(Id::index(id)).and_then(Option::take);
            tasks.extend(row.map(|row| (id, row)));
        }
        let mut figures = summary::summary(&tasks, self.switches);
        summary::group_shares(&tasks, &self.groups, &mut figures);
        self.quotas.add_to(&mut figures);
        self.reported.add_to(&tasks, &mut figures);
        self.reported.add_answers(&tasks, &mut figures);
        if let Some(load) = &self.load {
            load.add_to(&tasks, self.window, &mut figures);
        }
        figures
    }

    fn measure(&mut self, task: TaskId) {
        let index = Id::index(task);
        if self.tasks.len() <= index {
            self.tasks.resize(index + 1, None);
        }
        if self.tasks[index].is_none() {
            self.tasks[index] = Some(WorkloadTask::new(format!("task{task}")));
            self.measured.push(task);
        }
    }
    fn row(&mut self, task: TaskId) -> Option<&mut WorkloadTask> {
        self.tasks.get_mut(Id::index(task))?.as_mut()
    }
    fn switch(&mut self, at: Instant, cpu: CpuId, prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) {
        let window = self.window;
        self.switches += u64::from(window.holds(at));
        if let Some(row) = prev.and_then(|task| self.row(task)) {
            row.leave(at, prev_state, window);
        }
        if let Some(row) = next.and_then(|task| self.row(task)) {
            row.enter(at, cpu, window);
        }
    }
}

impl Sink for Figures {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        if let Some(row) = self.row(task) {
            row.name.clone_from(&info.name);
        }
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, .. } | TraceEvent::SchedWakeupNew { task, .. } => {
                if let Some(row) = self.row(task) {
                    row.wait(Wait { since: at, woken: true });
                }
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => self.switch(at, cpu, prev, prev_state, next),
            TraceEvent::SchedMigrateTask { task, .. } if self.window.holds(at) => {
                if let Some(row) = self.row(task) {
                    row.migrations += 1;
                }
            }
            TraceEvent::Marker { task, marker, value } if self.row(task).is_some() => self.reported.record(task, marker, value),
            TraceEvent::SeSample { task, util_avg } if self.row(task).is_some() => {
                if let Some(load) = &mut self.load {
                    load.record(at, cpu, task, util_avg);
                }
            }
            TraceEvent::SchedStatRuntime { task, runtime, .. } if self.window.holds(at) && self.row(task).is_some() => {
                self.quotas.ran(runtime);
            }
            TraceEvent::Decision(decision) if self.window.holds(at) => self.quotas.record(decision),
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        self.load.is_some()
    }
}

#[cfg(test)]
mod tests;
