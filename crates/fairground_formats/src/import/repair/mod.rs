//! The repair of recordings: what the records prove but no recorder wrote is put between them.
//!
//! # The problem
//!
//! A trace begins in the middle, and recorders lose records. A task that is first seen when it gets a CPU became
//! runnable at some time before. A CPU whose next record is written by another task than the last switch chose must have
//! switched. Each consumer that guesses for itself guesses otherwise: one lets the task wait since time 0, and finds
//! waits of seconds; another loses the wait.
//!
//! # The rule
//!
//! All consumers read a recording through [`Repair`], and it makes no state of its own: it adds records, until what a
//! CPU does and what a task does follow from each other. There are two kinds of evidence.
//!
//! - *Who ran*: the task that a switch leaves, that ends, that forks, whose run time is accounted on an idle CPU, or that
//!   the recorder names as the CPU's current one. If it is not the one that the last switch chose, a switch is missing.
//! - *Who was runnable*: the task that a switch goes to. If it slept, was not seen yet, or waited elsewhere, a wake-up,
//!   a birth or a move is missing.
//!
//! # Where an added record stands: the latest moment that the record allows
//!
//! - A **wake-up, birth or move** stands directly before the switch that needs it. Any later, the switch would choose a task that
//!   is not there. So no wait is claimed that nothing shows. A CPU that idled meanwhile proves that the task did not wait
//!   there; the rule claims that in all cases.
//! - The **beginning of a wake-up** (`sched_waking`), where none is recorded, stands directly before the move or the `sched_wakeup` of
//!   a task that slept. Its waker is the task that ran there, unless the record says that an interrupt wrote it.
//! - A **switch to a task that was woken on an idle CPU** stands directly behind the wake-up: a CPU does not idle beside a runnable
//!   task.
//! - A **switch away** stands behind the last account of the task's run time: schedule() writes one, and whoever runs on is accounted
//!   again. Where run time is not recorded it stands before the wake-up of that same task, if there was one, else directly
//!   before the record that shows another task.
//! - **Both switches** of a task that was woken stand directly behind the wake-up if its CPU idled, else where that CPU begins to idle,
//!   if the task's next record is another wake-up.
//! - If a task waits on a CPU that was left so, the CPU did not idle: the task that the next record shows ran **from then on**, unless it
//!   slept later than that.
//! - Whoever was switched away so counts as **asleep** until a wake-up, or the next switch to it.
//!
//! A wake-up on an idle CPU and an account open a *place*. Records behind it are held back until the CPU's next records
//! fill it or close it, at most [`HELD_MAX`] of them.
//!
//! # What is not concluded
//!
//! That a CPU idles proves by itself nothing about a task whose wake-up is recorded: the quota of its group may be used up.
//!
//! A record without a gap goes through unchanged. Recorded sets and exports are tested for that.

mod held;
mod inferred;
mod known;
#[cfg(test)]
mod tests;

pub use inferred::Inferred;

use crate::import::assembler::waking_cause;
use crate::import::recording::GroupOf;
use fairground_model::{InGroup, PrevState, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Id, Instant, TaskId};
use held::{Held, Item, Owner, Place};
use known::{Cpu, State, Task};
use std::collections::BTreeMap;

/// Records that are held back at most.
const HELD_MAX: usize = 1 << 16;

/// Passes a recording on, with the records that follow from others.
pub struct Repair<'a> {
    sink: &'a mut dyn Sink,
    held: Held,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    /// For each CPU the tasks that were queued there and may wait still.
    queued: Vec<Vec<TaskId>>,
    context: Option<Option<TaskId>>,
    /// Where the next record, a wake-up, was written.
    interrupted: Option<WakeContext>,
    /// Whether beginnings of wake-ups are recorded.
    has_waking: bool,
    /// Tasks that were moved while they slept, before it was known whether these are recorded: the beginning that is missing there, if a
    /// wake-up follows. Else a balance moved one that stands on its queue still, in delayed dequeue.
    moved: BTreeMap<TaskId, (Place, CpuId, TraceEvent)>,
    inferred: Inferred,
}

impl<'a> Repair<'a> {
    /// Hands everything on to `sink`.
    pub fn new(sink: &'a mut dyn Sink) -> Repair<'a> {
        let (held, cpus, tasks) = (Held::default(), Vec::new(), Vec::new());
        Repair {
            sink,
            held,
            cpus,
            tasks,
            queued: Vec::new(),
            context: None,
            interrupted: None,
            has_waking: false,
            moved: BTreeMap::new(),
            inferred: Inferred::default(),
        }
    }
    /// Ends the recording; says what was added.
    pub fn finish(mut self) -> Inferred {
        (0..self.cpus.len()).for_each(|cpu| self.close(CpuId::from_index(cpu)));
        (0..self.tasks.len()).for_each(|task| self.leave_idle(TaskId::from_index(task)));
        self.leave_moved();
        self.held.release(self.sink);
        self.inferred
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        if self.cpus.len() <= cpu.index() {
            self.cpus.resize(cpu.index() + 1, Cpu::default());
        }
        &mut self.cpus[cpu.index()]
    }
    fn task_row(&mut self, task: TaskId) -> &mut Task {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Task::default());
        }
        &mut self.tasks[task.index()]
    }
    fn open(&mut self, cpu: CpuId, place: Place, is_before_wakeup: bool) {
        self.close(cpu);
        self.held.open(place, Owner::Cpu(cpu));
        let row = self.cpu(cpu);
        (row.place, row.is_before_wakeup) = (Some(place), is_before_wakeup);
    }
    fn close(&mut self, cpu: CpuId) {
        let row = self.cpu(cpu);
        (row.is_before_wakeup, row.left) = (false, None);
        if let Some(place) = row.place.take() {
            self.held.close(place, Owner::Cpu(cpu));
        }
    }
    /// From now on `next` runs on `cpu`.
    fn on(&mut self, cpu: CpuId, next: Option<TaskId>, place: Place) {
        self.close(cpu);
        let row = self.cpu(cpu);
        (row.current, row.idle_since) = (Some(next), place.before);
        if let Some(next) = next {
            self.leave_idle(next);
            *self.task_row(next) = Task { state: State::Running(cpu), last_cpu: Some(cpu), ..Task::default() };
        }
    }
    /// `task` is queued on `cpu`.
    fn queue(&mut self, task: TaskId, cpu: CpuId, since: Place) {
        self.leave_idle(task);
        self.task_row(task).state = State::Queued(cpu, since);
        if self.queued.len() <= cpu.index() {
            self.queued.resize(cpu.index() + 1, Vec::new());
        }
        let (queued, tasks) = (&mut self.queued[cpu.index()], &self.tasks);
        if queued.len() == queued.capacity() {
            queued.retain(|&task| matches!(tasks[task.index()].state, State::Queued(on, _) if on == cpu));
            queued.sort_unstable();
            queued.dedup();
        }
        queued.push(task);
    }
    /// A CPU begins to idle at `place`: whoever was woken there is gone, or waits for the quota of its group. Others may have been about to
    /// sleep when they were stopped, and may be woken without having slept.
    fn idles(&mut self, cpu: CpuId, place: Place) {
        let Some(queued) = self.queued.get_mut(cpu.index()) else { return };
        for task in std::mem::take(queued) {
            let row = self.tasks[task.index()];
            if matches!(row.state, State::Queued(on, _) if on == cpu) && row.is_fresh && row.idled.is_none() {
                self.idles_beside(task, place);
            }
        }
    }
    /// The CPU that `task` was woken for idles from `place` on.
    fn idles_beside(&mut self, task: TaskId, place: Place) {
        self.task_row(task).idled = Some(place);
        self.held.open(place, Owner::Task(task));
    }
    /// What it means that a CPU idled beside `task` is known, or will never be.
    fn leave_idle(&mut self, task: TaskId) {
        if let Some(place) = self.task_row(task).idled.take() {
            self.held.close(place, Owner::Task(task));
        }
    }
    /// `task` did not wait where its CPU idled beside it: it had run and slept.
    fn had_slept(&mut self, task: TaskId) {
        let Task { state: State::Queued(cpu, _), idled: Some(place), .. } = *self.task_row(task) else { return };
        self.leave_idle(task);
        self.inferred.switches += 2;
        let (ran, slept) = ((None, PrevState::Running, Some(task)), (Some(task), PrevState::Sleeping, None));
        for (prev, prev_state, next) in [ran, slept] {
            self.held.insert(place, cpu, TraceEvent::SchedSwitch { prev, prev_state, next });
        }
        self.sleeps(task, place);
        self.task_row(task).last_cpu = Some(cpu);
    }
    fn sleeps(&mut self, task: TaskId, since: Place) {
        let row = self.task_row(task);
        (row.state, row.slept) = (State::Asleep, since.before);
    }

    /// A record at `here` shows that `who` runs on `cpu`.
    fn runs(&mut self, here: Place, cpu: CpuId, who: Option<TaskId>) {
        match self.cpu(cpu).current {
            Some(current) if current == who => {}
            Some(current) => self.switch_missing(here, cpu, current, who),
            // The first that is heard of a CPU: whoever was not heard of elsewhere has run there from the start.
            None => match who.filter(|&who| self.task_row(who).state != State::Unseen) {
                Some(who) => self.enter_idle(here, cpu, who),
                None => self.on(cpu, who, here),
            },
        }
    }
    fn switch_missing(&mut self, here: Place, cpu: CpuId, old: Option<TaskId>, who: Option<TaskId>) {
        let Some(old) = old else {
            return if let Some(who) = who {
                self.enter_idle(here, cpu, who)
            };
        };
        let Cpu { place, is_before_wakeup, .. } = *self.cpu(cpu);
        let place = place.unwrap_or(here);
        let takes_over = who.is_none_or(|who| match self.task_row(who).state {
            State::Queued(on, since) => on == cpu && since.before <= place.before,
            _ => place.before == here.before,
        });
        let next = who.filter(|_| takes_over);
        if let Some(next) = next {
            self.make_ready(here, cpu, next);
        }
        self.add_switch(place, cpu, (Some(old), PrevState::Sleeping), next);
        match is_before_wakeup {
            true => self.queue(old, cpu, place),
            false => self.sleeps(old, place),
        }
        if let Some(who) = who.filter(|_| !takes_over) {
            self.enter_idle(here, cpu, who);
        }
    }
    /// The switch of an idle CPU to `who` is missing.
    fn enter_idle(&mut self, here: Place, cpu: CpuId, who: TaskId) {
        let Cpu { idle_since, left, .. } = *self.cpu(cpu);
        let row = *self.task_row(who);
        if let Some((left, old)) = left.filter(|left| row.may_run_from(left.0)) {
            self.held.take_back(left, cpu);
            self.inferred.switches -= 1;
            self.make_ready(left, cpu, who);
            return self.add_switch(left, cpu, (Some(old), PrevState::Sleeping), Some(who));
        }
        let place = match row.state {
            State::Queued(on, since) if on == cpu && since.before >= idle_since => self.held.reachable(since),
            _ => {
                self.make_ready(here, cpu, who);
                here
            }
        };
        self.add_switch(place, cpu, (None, PrevState::Running), Some(who));
    }
    fn add_switch(&mut self, place: Place, cpu: CpuId, (prev, prev_state): (Option<TaskId>, PrevState), next: Option<TaskId>) {
        self.inferred.switches += 1;
        self.held.insert(place, cpu, TraceEvent::SchedSwitch { prev, prev_state, next });
        self.on(cpu, next, place);
        if let (Some(old), None) = (prev, next)
            && self.has_waiting(cpu)
        {
            self.open(cpu, place, false);
            self.cpu(cpu).left = Some((place, old));
        }
    }
    /// Whether somebody was queued on `cpu` and is not known to have left it.
    fn has_waiting(&self, cpu: CpuId) -> bool {
        let waits = |task: &TaskId| matches!(self.tasks[task.index()].state, State::Queued(on, _) if on == cpu);
        self.queued.get(cpu.index()).is_some_and(|queued| queued.iter().any(waits))
    }
    /// A record at `here` needs `task` runnable on `cpu`.
    fn make_ready(&mut self, here: Place, cpu: CpuId, task: TaskId) {
        let wakeup = TraceEvent::SchedWakeup { task, target_cpu: cpu };
        let event = match self.task_row(task).state {
            State::Unseen => {
                self.inferred.first_seen += 1;
                wakeup
            }
            State::Asleep => {
                self.inferred.wakeups += 1;
                wakeup
            }
            State::Made => {
                self.inferred.births += 1;
                TraceEvent::SchedWakeupNew { task, target_cpu: cpu }
            }
            State::Queued(orig_cpu, _) if orig_cpu != cpu => {
                self.inferred.moves += 1;
                TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu: cpu }
            }
            State::Running(elsewhere) if elsewhere != cpu => {
                self.switch_missing(here, elsewhere, Some(task), None);
                return self.make_ready(here, cpu, task);
            }
            State::Queued(..) | State::Running(_) | State::Waking | State::Dead => return,
        };
        self.held.insert(here, cpu, event);
        self.queue(task, cpu, here);
    }

    /// A record at `here` is part of a wake-up of a task that slept: it began there at the latest, by the doing of whoever runs.
    fn begin_waking(&mut self, here: Place, cpu: CpuId, task: TaskId, current: Option<Option<TaskId>>) {
        let moved = self.take_moved(task);
        if let Some(missing) = self.missing_waking(task, current) {
            let (place, writer, event) = moved.unwrap_or((here, cpu, missing));
            self.inferred.wakings += 1;
            self.held.insert(place, writer, event);
            self.task_row(task).state = State::Waking;
        }
    }
    /// The beginning of a wake-up of a task that slept, if these are not recorded.
    fn missing_waking(&mut self, task: TaskId, current: Option<Option<TaskId>>) -> Option<TraceEvent> {
        let row = *self.task_row(task);
        let (State::Asleep, Some(target_cpu), false) = (row.state, row.last_cpu, self.has_waking) else { return None };
        let (waker, context) = waking_cause(current.flatten(), self.interrupted);
        Some(TraceEvent::SchedWaking { task, target_cpu, waker, context })
    }
    /// A task that slept was moved at `here`.
    fn moved(&mut self, here: Place, cpu: CpuId, task: TaskId, current: Option<Option<TaskId>>) {
        self.take_moved(task);
        if let Some(missing) = self.missing_waking(task, current) {
            self.held.open(here, Owner::Moved(task));
            self.moved.insert(task, (here, cpu, missing));
        }
    }
    /// No wake-up follows any of these moves.
    fn leave_moved(&mut self) {
        while let Some((&task, _)) = self.moved.first_key_value() {
            self.take_moved(task);
        }
    }
    fn take_moved(&mut self, task: TaskId) -> Option<(Place, CpuId, TraceEvent)> {
        let moved = self.moved.remove(&task)?;
        self.held.close(moved.0, Owner::Moved(task));
        Some(moved)
    }

    fn switch(&mut self, (here, after): (Place, Place), cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.runs(here, cpu, prev.map(|row| row.0));
        self.cpu(cpu).has_switched = true;
        if prev.map(|row| row.0) == next {
            return;
        }
        if let Some(next) = next {
            self.make_ready(here, cpu, next);
        }
        match prev {
            Some((prev, PrevState::Running)) => self.queue(prev, cpu, after),
            Some((prev, prev_state)) => {
                let row = self.task_row(prev);
                row.slept = after.before;
                row.state = match prev_state {
                    PrevState::Dead => State::Dead,
                    _ if row.woken => State::Waking,
                    _ => State::Asleep,
                };
            }
            None => {}
        }
        self.on(cpu, next, after);
        if next.is_none() {
            self.idles(cpu, after);
        }
    }
    fn waking(&mut self, here: Place, task: TaskId, by_itself: bool) {
        self.had_slept(task);
        match self.task_row(task).state {
            State::Running(cpu) => {
                self.task_row(task).woken = true;
                if !by_itself {
                    self.open(cpu, here, true);
                }
            }
            State::Queued(..) | State::Dead => {}
            State::Unseen | State::Made | State::Asleep | State::Waking => self.task_row(task).state = State::Waking,
        }
    }
    fn wakeup(&mut self, (here, after): (Place, Place), task: TaskId, target_cpu: CpuId, by_itself: bool) {
        match self.task_row(task).state {
            State::Running(cpu) if cpu == target_cpu => {
                let is_open = std::mem::take(&mut self.task_row(task).woken);
                if !by_itself && !is_open {
                    self.open(cpu, here, true);
                }
                return;
            }
            State::Running(cpu) => self.switch_missing(here, cpu, Some(task), None),
            _ => {}
        }
        self.queue(task, target_cpu, after);
        self.task_row(task).is_fresh = true;
        if self.cpu(target_cpu).current == Some(None) {
            self.idles_beside(task, after);
            if self.cpu(target_cpu).place.is_none() {
                self.open(target_cpu, after, false);
            }
        }
    }
    fn account(&mut self, (here, after): (Place, Place), cpu: CpuId, task: TaskId) {
        let state = self.task_row(task).state;
        match state {
            State::Running(on) if on == cpu => self.open(cpu, after, false),
            State::Running(_) | State::Dead => {}
            State::Queued(on, _) if self.cpu(on).current == Some(None) => self.runs(here, on, Some(task)),
            State::Queued(..) => {}
            _ if self.cpu(cpu).current.is_none_or(|current| current.is_none()) => self.runs(here, cpu, Some(task)),
            _ => {}
        }
    }
    fn event(&mut self, places: (Place, Place), cpu: CpuId, event: &TraceEvent, current: Option<Option<TaskId>>) {
        let here = places.0;
        let by = |task: TaskId| current == Some(Some(task));
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                self.switch(places, cpu, prev.map(|prev| (prev, prev_state)), next);
            }
            TraceEvent::SchedWaking { task, waker, .. } => {
                if !self.has_waking {
                    self.has_waking = true;
                    self.leave_moved();
                }
                self.waking(here, task, by(task) || waker == Some(task));
            }
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                self.had_slept(task);
                self.begin_waking(here, cpu, task, current);
                self.wakeup(places, task, target_cpu, by(task));
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } => {
                self.moved(here, cpu, task, current);
                if let State::Queued(..) = self.task_row(task).state {
                    self.queue(task, dest_cpu, places.1);
                }
            }
            TraceEvent::SchedStatRuntime { task, .. } => self.account(places, cpu, task),
            TraceEvent::SchedProcessFork { parent, child } => {
                parent.into_iter().for_each(|parent| self.runs(here, cpu, Some(parent)));
                self.task_row(child).state = State::Made;
            }
            TraceEvent::SchedProcessExit { task } => self.runs(here, cpu, Some(task)),
            _ => {}
        }
    }
}

impl Sink for Repair<'_> {
    fn epoch(&mut self, clock_ns: u64) {
        self.sink.epoch(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.held.push(Item::Task(task, info.clone()));
        self.held.release(self.sink);
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.held.push(Item::Group(GroupOf::of(at, cpu, task, group)));
        self.held.release(self.sink);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let here = self.held.end(at);
        let after = Place { before: here.before + 1, at };
        let current = self.context.take();
        // Before a CPU's first switch some writers do not know who runs there.
        let is_evidence = self.cpu(cpu).has_switched && !matches!(event, TraceEvent::SchedSwitch { .. });
        if let Some(current) = current.filter(|_| is_evidence) {
            self.runs(here, cpu, current);
        }
        let current = current.or(self.cpu(cpu).current);
        self.event((here, after), cpu, event, current);
        self.interrupted = None;
        self.held.push(Item::Record(at, cpu, *event));
        match self.held.holds_too_much(HELD_MAX) {
            Some(Owner::Cpu(cpu)) => self.close(cpu),
            Some(Owner::Task(task)) => self.leave_idle(task),
            Some(Owner::Moved(task)) => drop(self.take_moved(task)),
            None => {}
        }
        self.held.release(self.sink);
    }
    fn context(&mut self, _cpu: CpuId, current: Option<TaskId>) {
        self.context = Some(current);
    }
    fn interrupted(&mut self, context: WakeContext) {
        self.interrupted = Some(context);
    }
    fn listens(&self) -> bool {
        self.sink.listens()
    }
    fn wants_samples(&self) -> bool {
        self.sink.wants_samples()
    }
}
