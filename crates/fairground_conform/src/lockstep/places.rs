//! Choices of CPUs: the core is asked, and the record's choice is explained.

use super::{Lockstep, Setup};
use crate::outcome::Kind;
use crate::places::{
    BirthPlace, Choice, Cursor, Era, Moves, PlaceRule, Placement, Unexplained, View, Wake, explain, explain_fork,
};
use crate::read::Reading;
use fairground_model::{MachineView, PrevState, TraceEvent, WakeContext};
use fairground_sched::{TaskState, WakeFlags, Waking};
use fairground_stdx::{CpuId, CpuMask, Instant, TaskId};
use std::collections::BTreeMap;

/// How late a record may be: where CPUs take turns on one host CPU, a round of all of them, and what one turn has left
/// to do.
const TURN_NS: u64 = 12_500;
const LATE_NS: u64 = 20_000;

/// Where the comparison of places stands.
pub(super) struct Places {
    pub(super) cursor: Cursor,
    era: Era,
    pub(super) machine: MachineView,
    /// The CPUs of tasks that may not use all.
    allowed: BTreeMap<TaskId, CpuMask>,
    pub(super) late: u64,
    /// The next wake-up to begin.
    next: usize,
    found: Placement,
    /// The next balance that moves tasks.
    pub(super) next_batch: usize,
    pub(super) moves: Moves,
}

/// How many records of its CPU are looked at to see whether a waker goes to sleep.
const LOOK_AHEAD: usize = 256;

impl Places {
    pub(super) fn new(reading: &Reading, setup: &Setup) -> Places {
        let machine = &setup.machine;
        Places {
            cursor: Cursor::new(&reading.occupancy),
            era: Era::of(&setup.profile),
            machine: machine.clone(),
            allowed: setup.allowed.iter().copied().collect(),
            late: TURN_NS * machine.cpus.len() as u64 + LATE_NS,
            next: 0,
            found: Placement::default(),
            next_batch: 0,
            moves: Moves::default(),
        }
    }
    pub(super) fn into_found(self) -> Placement {
        self.found
    }
}

impl Lockstep<'_> {
    /// The wake-up that begins with the present record.
    pub(super) fn next_wake(&mut self) -> Option<Wake> {
        let wake = self.reading.wakes.get(self.places.next).copied();
        self.places.next += usize::from(wake.is_some());
        wake.filter(|wake| wake.is_whole() && !self.rows[wake.task].pinned)
    }

    /// A wake-up begins: the core is asked where the wakee shall run. Tasks that were still queued make no choice.
    pub(super) fn choose(&mut self, at: Instant, wake: &Wake) {
        let (task, this, prev) = (wake.task, wake.this, wake.prev);
        let state = self.state(task);
        let flags = self.flags_of(wake);
        let core = match state {
            TaskState::Asleep | TaskState::OffCpuPending => {
                let busy = self.curr(prev).is_some();
                self.world.idle_until(prev, if busy { self.world.clocks[prev] } else { at });
                match self.world.call(this, prev, |sched, cx| sched.ttwu_select_following(cx, task, flags)) {
                    Waking::Selected(cpu) => cpu,
                    _ => return,
                }
            }
            _ if wake.moved || !self.rows[task].known => {
                self.world.call(this, prev, |sched, cx| sched.ask_select_task_rq(cx, task, prev, flags))
            }
            TaskState::Delayed => return self.fact("wake-ups of sleepers in delayed dequeue: no CPU is chosen"),
            _ => return,
        };
        let choice = Choice {
            this,
            prev,
            recorded: wake.target,
            by_task: wake.waker.is_some(),
            by_kthread: wake.waker.is_some_and(|waker| self.rows[waker].pinned),
            recent: self.rows[task].recent,
            allowed: self.places.allowed.get(&task).copied().unwrap_or(self.places.machine.online),
        };
        let recent = choice.recent;
        let rule = self.explain(wake, &choice);
        let agree = core == wake.target;
        self.places.found.count(rule, agree);
        self.kinds.entry(Kind::SelectCpu).or_default().all.count(agree);
        if !rule.is_allowed() {
            self.unexplained(Unexplained {
                at,
                task,
                fork: false,
                this,
                prev,
                recent,
                recorded: wake.target,
                core,
                queues: Vec::new(),
            });
        }
        match agree && self.told.calls {
            true => self.keep_recent(wake),
            false => self.learn_recent(wake, rule),
        }
        if !wake.moved {
            self.on_its_way(task, wake.target);
        }
    }

    /// A chosen CPU counts as busy from now on; the wakee arrives there later.
    pub(super) fn on_its_way(&mut self, task: TaskId, target: CpuId) {
        self.arrived(task);
        self.rows[task].coming = Some(target);
        self.world.sched.follow_wake_list(task, target, false);
    }

    /// The wakee is on its way no longer.
    pub(super) fn arrived(&mut self, task: TaskId) {
        if let Some(target) = self.rows[task].coming.take() {
            self.world.sched.follow_wake_list(task, target, true);
        }
    }

    fn explain(&mut self, wake: &Wake, choice: &Choice) -> PlaceRule {
        self.count_held();
        let reading = &*self.reading;
        let places = &mut self.places;
        places.cursor.advance(&reading.occupancy, wake.began as usize);
        let walk = |view: &View| explain(choice, view, &places.machine, places.era);
        let until = |late| places.cursor.until(&reading.occupancy, self.recording, wake.this, wake.decided, late);
        if let Some(rule) = walk(&places.cursor.exact(wake.this)).or_else(|| walk(&until(None))) {
            return rule;
        }
        let view = until(Some(places.late));
        match walk(&view) {
            Some(PlaceRule::RecentUnknown) => PlaceRule::RecentUnknown,
            Some(_) => PlaceRule::Timing,
            // A sleeper that never left the queue: its CPU has not been idle since.
            None if places.era.delays && !wake.moved && !view.may_idle.contains(wake.prev) => PlaceRule::DelayedDequeue,
            None => PlaceRule::Unexplained,
        }
    }

    /// What the record tells of how the wake-up came. The sync flag is not recorded: writers to a pipe set it, and their
    /// next act is often to read, that is to sleep.
    fn flags_of(&self, wake: &Wake) -> WakeFlags {
        match wake.waker {
            Some(waker) => WakeFlags { sync: self.sleeps_soon(wake, waker), context: WakeContext::Task },
            None => WakeFlags { sync: false, context: WakeContext::Hardirq },
        }
    }

    /// Whether the waker goes to sleep when it leaves its CPU next. That a wakee preempts it meanwhile tells nothing.
    fn sleeps_soon(&self, wake: &Wake, waker: TaskId) -> bool {
        let order = &self.reading.order;
        let mut next = order.next(wake.began as usize);
        for _ in 0..LOOK_AHEAD {
            let Some(index) = next else { break };
            if let TraceEvent::SchedSwitch { prev: Some(prev), prev_state, .. } = self.recording.records[index].event
                && prev == waker
            {
                match order.prev_state(index, prev_state) {
                    PrevState::Running => {}
                    state => return state == PrevState::Sleeping,
                }
            }
            next = order.next(index);
        }
        false
    }

    /// What the choice does to recent_used_cpu, if it came to look at it. The core is told.
    fn learn_recent(&mut self, wake: &Wake, rule: PlaceRule) {
        let looked = !matches!(rule, PlaceRule::PrevIdle | PlaceRule::ThisIdle | PlaceRule::PerCpuKthread);
        let on_hit = self.places.era.recent.is_kept_on_hit();
        if looked && (!on_hit || rule == PlaceRule::Recent) {
            self.rows[wake.task].recent = Some(wake.prev);
        }
        // That of whoever runs there, even if an interrupt wakes.
        let current = self.cpus[wake.this].running.filter(|_| on_hit);
        if let Some(current) = current {
            self.rows[current].recent = Some(wake.this);
        }
        for task in [Some(wake.task), current].into_iter().flatten() {
            if let Some(recent) = self.rows[task].recent {
                self.world.sched.follow_recent_used_cpu(task, recent);
            }
        }
    }

    /// The core made the recorded choice and knows all of our own record: recent_used_cpu is what it left there.
    fn keep_recent(&mut self, wake: &Wake) {
        for task in [Some(wake.task), self.cpus[wake.this].running].into_iter().flatten() {
            self.rows[task].recent = Some(self.world.sched.task(task).recent_used_cpu);
        }
    }

    /// A child that `parent` made gets its first place.
    pub(super) fn choose_for_child(&mut self, index: usize, writer: CpuId, at: Instant, task: TaskId, target: CpuId) {
        let (Some(made), true) = (self.rows[task].made_at, self.cpus.len() > 1) else { return };
        let prev = self.world.sched.task(task).cpu;
        let core = self.world.call(writer, prev, |sched, cx| sched.ask_select_task_rq_fork(cx, task));
        self.count_held();
        let reading = &*self.reading;
        let places = &mut self.places;
        places.cursor.advance(&reading.occupancy, made as usize);
        let birth = BirthPlace { recorded: target };
        let walk = |view: &View| explain_fork(birth, view, &places.machine);
        let until = |late| places.cursor.until(&reading.occupancy, self.recording, writer, index as u32 - 1, late);
        let rule = walk(&places.cursor.exact(writer)).or_else(|| walk(&until(None)));
        let rule = rule.or_else(|| walk(&until(Some(places.late))).map(|_| PlaceRule::ForkTiming));
        let rule = rule.unwrap_or(PlaceRule::ForkUnexplained);
        self.places.found.count(rule, core == target);
        if !rule.is_allowed() {
            let (this, recorded) = (writer, target);
            self.unexplained(Unexplained { at, task, fork: true, this, prev, recent: None, recorded, core, queues: Vec::new() });
        }
    }

    /// Keeps a choice that no reading explains, with the queues as recorded.
    fn unexplained(&mut self, row: Unexplained) {
        if self.places.found.unexplained.len() < self.keep {
            let queues = self.places.cursor.queues().iter().map(|queue| (queue.nr, queue.runs)).collect();
            self.places.found.unexplained.push(Unexplained { queues, ..row });
        }
    }
}
