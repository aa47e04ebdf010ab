//! A sink that follows the threads of a group: in which state each is, and which request it is at.

use super::request::{Request, Span, State, parts};
use fairground_model::{Decision, Instr, PrevState, Reason, Sink, TaskSet, TraceEvent, Who};
use fairground_stdx::{CpuId, Id, Instant, MarkerId, Ns, TaskId, TgId};

/// One thread.
#[derive(Clone)]
struct Thread {
    /// The limited group and those around it, if the thread is in it.
    groups: Option<Vec<TgId>>,
    state: State,
    since: Instant,
    cpu: CpuId,
    /// What it did since it was done with its last request.
    history: Vec<Span>,
    /// When it was done with that.
    last_done: Instant,
    /// When it was first woken afterwards.
    woken: Option<Instant>,
    /// Its stretches in the span that is kept.
    kept: Vec<Span>,
}

/// Follows the threads of one group.
pub(super) struct Watch {
    threads: Vec<Thread>,
    marker: Option<MarkerId>,
    /// Which groups are throttled on which CPU, and since when.
    out: Vec<Vec<(TgId, Instant)>>,
    /// The group whose stalls are listed.
    group: Option<TgId>,
    stalls: Vec<Ns>,
    requests: Vec<Request>,
    /// From when on stretches of all threads are kept.
    keep_from: Option<Instant>,
}

impl Watch {
    /// Follows the threads in the group at `path` or below it; `marker` is the name of what measures a request.
    pub(super) fn new(tasks: &TaskSet, path: &str, marker: &str, cpus: usize) -> Watch {
        let group = tasks.groups.iter_enumerated().find(|row| row.1.name == path).map(|row| row.0);
        let thread = |spec: &fairground_model::TaskSpec| {
            let leaves = tasks.programs[spec.program].code.contains(&Instr::SetGroup { group: None });
            let chain = chain(tasks, spec.group);
            let is_inside = !leaves && group.is_some_and(|group| chain.contains(&group));
            Thread {
                groups: is_inside.then_some(chain),
                state: State::Asleep,
                since: Instant::ZERO,
                cpu: CpuId::new(0),
                history: Vec::new(),
                last_done: Instant::ZERO,
                woken: None,
                kept: Vec::new(),
            }
        };
        Watch {
            threads: tasks.tasks.iter().map(thread).collect(),
            marker: tasks.markers.iter_enumerated().find(|row| row.1.name == marker).map(|row| row.0),
            out: vec![Vec::new(); cpus],
            group,
            stalls: Vec::new(),
            requests: Vec::new(),
            keep_from: None,
        }
    }
    /// From now on what all threads do is kept.
    pub(super) fn keep(&mut self, from: Instant) {
        self.keep_from = Some(from);
    }
    /// The requests that were done, and how long queues of the group stood still.
    pub(super) fn finish(self) -> (Vec<Request>, Vec<Ns>) {
        (self.requests, self.stalls)
    }
    /// What each thread of the group did in the span that was kept, up to `to`.
    pub(super) fn lanes(mut self, to: Instant) -> Vec<(TaskId, Vec<Span>)> {
        (0..self.threads.len()).for_each(|row| self.change(row, to, |thread| thread.state));
        let inside = self.threads.into_iter().enumerate().filter(|row| row.1.groups.is_some());
        inside.map(|(row, thread)| (TaskId::from_index(row), thread.kept)).collect()
    }

    /// The stretch up to now ends, and another one begins.
    fn change(&mut self, row: usize, at: Instant, next: impl Fn(&Thread) -> State) {
        let keep_from = self.keep_from;
        let Some(thread) = self.threads.get_mut(row).filter(|thread| thread.groups.is_some()) else { return };
        if thread.since < at {
            let span = Span { from: thread.since, to: at, state: thread.state };
            push(&mut thread.history, span);
            if let Some(cut) = keep_from.and_then(|from| span.within(from, at)) {
                push(&mut thread.kept, cut);
            }
        }
        thread.state = next(thread);
        thread.since = thread.since.max(at);
    }
    /// A thread can run on a CPU: it waits for that, or for quota.
    fn runnable(&mut self, task: TaskId, cpu: CpuId, at: Instant) {
        if let Some(thread) = self.threads.get_mut(task.index()) {
            thread.cpu = cpu;
        }
        self.weigh(task.index(), at);
    }
    fn weigh(&mut self, row: usize, at: Instant) {
        let Some(thread) = self.threads.get(row) else { return };
        let out = &self.out[thread.cpu.index()];
        let is_out = thread.groups.as_ref().is_some_and(|groups| out.iter().any(|row| groups.contains(&row.0)));
        self.change(row, at, |_| if is_out { State::Throttled } else { State::Waiting });
    }
    fn quota(&mut self, at: Instant, cpu: CpuId, group: TgId, is_out: bool) {
        let Some(out) = self.out.get_mut(cpu.index()) else { return };
        let place = out.iter().position(|row| row.0 == group);
        match (is_out, place) {
            (true, None) => out.push((group, at)),
            (false, Some(place)) => {
                let (_, since) = out.remove(place);
                if Some(group) == self.group {
                    self.stalls.push(at.since(since));
                }
            }
            _ => return,
        }
        for row in 0..self.threads.len() {
            let thread = &self.threads[row];
            if thread.cpu == cpu && matches!(thread.state, State::Waiting | State::Throttled) {
                self.weigh(row, at);
            }
        }
    }
    /// A request is done. Its worker took it when it was done with the one before, if it came earlier than that; else when it was woken
    /// for it, or at once if it was on its way to look for work.
    fn done(&mut self, task: TaskId, at: Instant, latency: u64) {
        self.change(task.index(), at, |thread| thread.state);
        let Some(thread) = self.threads.get_mut(task.index()).filter(|thread| thread.groups.is_some()) else { return };
        let arrived = Instant::from_ns(at.ns().saturating_sub(latency));
        let taken = match thread.woken {
            _ if thread.last_done >= arrived => thread.last_done,
            Some(woken) => woken.max(arrived),
            None => arrived,
        };
        let spans: Vec<Span> = spans(&thread.history, arrived, taken, at);
        self.requests.push(Request { worker: task, arrived, done: at, parts: parts(&spans) });
        thread.history.clear();
        thread.last_done = at;
        thread.woken = None;
    }
}

/// The time of a request in stretches: until it was taken, then what its worker did.
pub(super) fn spans(history: &[Span], arrived: Instant, taken: Instant, done: Instant) -> Vec<Span> {
    let queued = Span { from: arrived, to: taken, state: State::Queued }.within(arrived, done);
    queued.into_iter().chain(history.iter().filter_map(|span| span.within(taken, done))).collect()
}

/// Appends a stretch; one that goes on in the same state becomes longer.
fn push(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if last.state == span.state && last.to == span.from => last.to = span.to,
        _ => spans.push(span),
    }
}

/// A group and those above it.
fn chain(tasks: &TaskSet, group: Option<TgId>) -> Vec<TgId> {
    let mut chain = Vec::new();
    let mut next = group;
    while let Some(id) = next {
        chain.push(id);
        next = tasks.groups[id].parent;
    }
    chain
}

impl Sink for Watch {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, .. } => {
                if let Some(thread) = self.threads.get_mut(task.index()) {
                    thread.woken.get_or_insert(at);
                }
            }
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                self.runnable(task, target_cpu, at);
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } => {
                let state = self.threads.get(task.index()).map(|thread| thread.state);
                if matches!(state, Some(State::Waiting | State::Throttled)) {
                    self.runnable(task, dest_cpu, at);
                }
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    match prev_state {
                        PrevState::Running => self.runnable(prev, cpu, at),
                        _ => self.change(prev.index(), at, |_| State::Asleep),
                    }
                }
                if let Some(next) = next {
                    if let Some(thread) = self.threads.get_mut(next.index()) {
                        thread.cpu = cpu;
                    }
                    self.change(next.index(), at, |_| State::Running);
                }
            }
            TraceEvent::Marker { task, marker, value } if Some(marker) == self.marker => self.done(task, at, value),
            TraceEvent::Decision(Decision { reason: reason @ (Reason::Throttle | Reason::Unthrottle), a, b }) => {
                let Who::Group(group) = Decision::who(a) else { return };
                let is_out = reason == Reason::Throttle;
                self.quota(at, if is_out { cpu } else { CpuId::new(b) }, group, is_out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_request_is_queued_until_its_worker_takes_it() {
        let history = [
            Span { from: at(0), to: at(10), state: State::Running },
            Span { from: at(10), to: at(60), state: State::Throttled },
            Span { from: at(60), to: at(70), state: State::Running },
        ];
        let made = spans(&history, at(2), at(5), at(65));
        let ms: Vec<u64> = parts(&made).iter().map(|part| part.0 / 1_000_000).collect();
        assert_eq!(ms, [3, 10, 0, 50, 0]);
        // Whatever is missing in the history, parts never exceed the whole.
        assert_eq!(parts(&spans(&[], at(2), at(90), at(65))).iter().map(|part| part.0).sum::<u64>(), 63_000_000);
    }
}
