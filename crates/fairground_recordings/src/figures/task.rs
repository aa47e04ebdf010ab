//! Slices and waits of one measured task.

use fairground_metrics::Window;
use fairground_model::PrevState;
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// A task that waits for a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Since when.
    pub(super) since: Instant,
    /// Whether a wake-up began the wait; else a preemption did.
    pub(super) woken: bool,
}

/// What was seen of one measured task.
#[derive(Clone, Debug)]
pub(super) struct WorkloadTask {
    pub(super) name: String,
    pub(super) slices: Vec<Ns>,
    pub(super) wakeup_waits: Vec<Ns>,
    pub(super) max_wait: Ns,
    pub(super) preemptions: u64,
    pub(super) migrations: u64,
    pub(super) cpus: CpuMask,
    running: Option<(Instant, CpuId)>,
    waiting: Option<Wait>,
}

impl WorkloadTask {
    pub(super) fn new(name: String) -> WorkloadTask {
        WorkloadTask {
            name,
            slices: Vec::new(),
            wakeup_waits: Vec::new(),
            max_wait: Ns::ZERO,
            preemptions: 0,
            migrations: 0,
            cpus: CpuMask::EMPTY,
            running: None,
            waiting: None,
        }
    }
    /// A wait begins; the waking of a task that still runs begins none.
    pub(super) fn wait(&mut self, wait: Wait) {
        if self.running.is_none() {
            self.waiting = Some(wait);
        }
    }
    /// The task gets a CPU.
    pub(super) fn enter(&mut self, at: Instant, cpu: CpuId, window: Window) {
        self.running = Some((at, cpu));
        let Some(wait) = self.waiting.take() else { return };
        if wait.since < window.start || wait.since >= window.end {
            return;
        }
        let length = at.since(wait.since);
        self.max_wait = self.max_wait.max(length);
        if wait.woken {
            self.wakeup_waits.push(length);
        }
    }
    /// The task leaves its CPU, or the run ends.
    pub(super) fn leave(&mut self, at: Instant, state: PrevState, window: Window) {
        if let Some((since, cpu)) = self.running.take()
            && let Some(slice) = window.overlap(since, at)
        {
            self.slices.push(slice);
            self.cpus.insert(cpu);
            self.preemptions += u64::from(state == PrevState::Running);
        }
        self.waiting = (state == PrevState::Running).then_some(Wait { since: at, woken: false });
    }
    /// The sum of the slices.
    pub(super) fn runtime(&self) -> Ns {
        Ns(self.slices.iter().map(|slice| slice.0).sum())
    }
}
