//! What the records told so far of each task and each CPU.

use super::held::Place;
use fairground_stdx::{CpuId, TaskId};

/// What a task does, as far as the records tell.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Unseen,
    /// Made, not queued yet.
    Made,
    Asleep,
    /// Being woken: it is not told yet on which CPU it will be queued.
    Waking,
    Queued(CpuId, Place),
    Running(CpuId),
    Dead,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Task {
    pub(super) state: State,
    /// A wake-up began while it still ran.
    pub(super) woken: bool,
    /// Where it ran last.
    pub(super) last_cpu: Option<CpuId>,
    /// It was woken and has not run since: no further wake-up can come.
    pub(super) is_fresh: bool,
    /// Where the CPU that it waits for idled first.
    pub(super) idled: Option<Place>,
    /// The number of the first item since it slept last.
    pub(super) slept: u64,
}

impl Task {
    /// Whether nothing that is known of it forbids that it runs from `place` on, on a CPU of which no record tells.
    pub(super) fn may_run_from(&self, place: Place) -> bool {
        match self.state {
            State::Unseen => true,
            State::Asleep => self.slept <= place.before,
            State::Queued(_, since) => since.before <= place.before,
            State::Made | State::Waking | State::Running(_) | State::Dead => false,
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Cpu {
    /// Who runs there (`None` inside: nobody), once that is known.
    pub(super) current: Option<Option<TaskId>>,
    /// A switch of it was recorded.
    pub(super) has_switched: bool,
    /// The number of the first item since it idles.
    pub(super) idle_since: u64,
    /// Where a missing switch would have to stand, if not at the end.
    pub(super) place: Option<Place>,
    /// Where a task left it unseen, and who, while another one waited there.
    pub(super) left: Option<(Place, TaskId)>,
    /// The place is before a wake-up of the current task.
    pub(super) is_before_wakeup: bool,
}
