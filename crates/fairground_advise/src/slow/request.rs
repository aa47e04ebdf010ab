//! One request and where it was.

use fairground_stdx::{Instant, Ns, TaskId};

/// Where a request, or a thread, is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No worker has taken it yet.
    Queued,
    /// Its worker runs.
    Running,
    /// Its worker could run and waits for a CPU.
    Waiting,
    /// Its worker could run but for the quota.
    Throttled,
    /// Its worker waits for something else.
    Asleep,
}

/// All states in the order of tables.
pub const STATES: [State; 5] = [State::Queued, State::Running, State::Waiting, State::Throttled, State::Asleep];

impl State {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            State::Queued => "waiting for a worker",
            State::Running => "running",
            State::Waiting => "waiting for a CPU",
            State::Throttled => "throttled",
            State::Asleep => "asleep",
        }
    }
    /// In documents and pages.
    pub const fn key(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Waiting => "waiting",
            State::Throttled => "throttled",
            State::Asleep => "asleep",
        }
    }
}

/// A stretch of time in one state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// From.
    pub from: Instant,
    /// To.
    pub to: Instant,
    /// In which state.
    pub state: State,
}

impl Span {
    /// What of it lies between two instants.
    pub(super) fn within(self, from: Instant, to: Instant) -> Option<Span> {
        let cut = Span { from: self.from.max(from), to: self.to.min(to), ..self };
        (cut.from < cut.to).then_some(cut)
    }
}

/// A request that was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Who served it.
    pub worker: TaskId,
    /// When it came.
    pub arrived: Instant,
    /// When it was done.
    pub done: Instant,
    /// How long it was in each of [`STATES`].
    pub parts: [Ns; STATES.len()],
}

impl Request {
    /// How long it took.
    pub fn latency(&self) -> Ns {
        self.done.since(self.arrived)
    }
}

/// How long spans are in each state.
pub(super) fn parts(spans: &[Span]) -> [Ns; STATES.len()] {
    let mut parts = [Ns::ZERO; STATES.len()];
    spans.iter().for_each(|span| parts[span.state as usize] += span.to.since(span.from));
    parts
}
