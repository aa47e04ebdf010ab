//! Follows the records and writes the tracks. Whatever is missing or contradicts itself is counted
//! and completed in the way that keeps most of the recording.

use super::cause::Messages;
use super::charges::Charges;
use super::track::{Act, Ender, Origin, State, Track};
use super::turns::{Side, Turns};
use fairground_model::{PrevState, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, Ns, TaskId};
use std::collections::BTreeMap;

/// How often something was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    /// Wake-ups by a running task, kept in the wake graph.
    pub(super) by_task: u64,
    /// Wake-ups of a task that was awake, dropped.
    pub(super) awake: u64,
    /// Sleeps whose end has no sched_waking record, ended at the time of the next sign of life.
    pub(super) no_waking: u64,
    /// Records that say that a task was on a CPU, or had left it, without the switch to tell.
    pub(super) no_switch: u64,
    /// Run intervals that begin with a sched_stat_runtime record.
    pub(super) by_runtime: u64,
    /// Forks that cannot be: of a known task, or by one that is not running.
    pub(super) odd_forks: u64,
    /// Records of ended tasks.
    pub(super) after_death: u64,
    /// Records of tasks that nobody introduced, or of idle tasks.
    pub(super) strangers: u64,
    /// Records whose time lies before that of an earlier one.
    pub(super) back_in_time: u64,
    /// Records later than the longest run.
    pub(super) too_late: u64,
}

/// The state of following.
pub(super) struct Follower<'t> {
    /// Which tasks were introduced and are no idle tasks.
    introduced: IndexVec<TaskId, bool>,
    /// Whose wake-ups and forks count as those of a task; all others come from outside.
    members: Option<&'t IndexVec<TaskId, bool>>,
    /// What a replay charges.
    pub(super) charges: Charges,
    /// Wake-ups in soft interrupts.
    pub(super) messages: Messages,
    /// Who woke whom.
    pub(super) turns: Turns,
    pub(super) tracks: IndexVec<TaskId, Track>,
    current: BTreeMap<CpuId, TaskId>,
    /// CPUs with a switch record so far.
    switched: BTreeMap<CpuId, Instant>,
    pub(super) counts: Counts,
    /// The time of the first record.
    zero: Option<Instant>,
    /// The time of the latest record, after the first.
    pub(super) now: Instant,
}

impl Default for Follower<'_> {
    fn default() -> Self {
        Follower {
            introduced: IndexVec::new(),
            members: None,
            charges: Charges::default(),
            messages: Messages::default(),
            turns: Turns::default(),
            tracks: IndexVec::new(),
            current: BTreeMap::new(),
            switched: BTreeMap::new(),
            counts: Counts::default(),
            zero: None,
            now: Instant::ZERO,
        }
    }
}

impl<'t> Follower<'t> {
    pub(super) fn new(infos: &IndexVec<TaskId, TaskInfo>) -> Follower<'t> {
        let mut follower = Follower::default();
        infos.iter_enumerated().for_each(|(task, info)| follower.introduce(task, info));
        follower
    }
    /// The same of nobody so far, for a replay that charges so much.
    pub(super) fn charging(charges: Charges) -> Follower<'t> {
        Follower { charges, ..Follower::default() }
    }
    /// The same where only some of the tasks are looked at, and when they slept.
    pub(super) fn of_members(infos: &IndexVec<TaskId, TaskInfo>, members: &'t IndexVec<TaskId, bool>) -> Follower<'t> {
        let mut follower = Follower { members: Some(members), ..Follower::new(infos) };
        follower.tracks.iter_mut().for_each(|track| track.keeps_sleeps = true);
        follower
    }
    /// A task has this name and these numbers from now on.
    pub(super) fn introduce(&mut self, task: TaskId, info: &TaskInfo) {
        self.introduced.extend_to(task.index() + 1, false);
        self.tracks.extend_to(task.index() + 1, Track { charges: self.charges, ..Track::default() });
        self.introduced[task] = !info.name.starts_with("swapper/");
    }
    /// Takes the next record.
    pub(super) fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let zero = *self.zero.get_or_insert(at);
        let at = Instant::from_ns(at.ns().saturating_sub(zero.ns()));
        if at > Instant::MAX {
            self.counts.too_late += 1;
            return;
        }
        self.counts.back_in_time += u64::from(at < self.now);
        self.now = self.now.max(at);
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => self.switch(cpu, prev, prev_state, next),
            TraceEvent::SchedWaking { task, target_cpu, waker, context } => self.waking(cpu, task, target_cpu, waker, context),
            TraceEvent::SchedWakeup { task, target_cpu } => self.wakeup(task, target_cpu),
            TraceEvent::SchedWakeupNew { task, .. } => self.wakeup_new(task),
            TraceEvent::SchedStatRuntime { task, runtime, .. } => self.stat_runtime(cpu, task, runtime),
            TraceEvent::SchedProcessFork { parent, child } => self.fork(cpu, parent, child),
            TraceEvent::SchedProcessExit { task } => {
                if self.known(task) {
                    self.seen_running(cpu, task);
                }
            }
            // A move says nothing of what the task does; the rest is of our own making.
            TraceEvent::SchedMigrateTask { .. }
            | TraceEvent::CpuFrequency { .. }
            | TraceEvent::Decision(_)
            | TraceEvent::KernelWarn(_)
            | TraceEvent::KernelSection { .. }
            | TraceEvent::Marker { .. }
            | TraceEvent::CfsSample { .. }
            | TraceEvent::SeSample { .. }
            | TraceEvent::QueueAct { .. } => {}
        }
    }
    /// The end: everything that still runs has run until now.
    pub(super) fn finish(&mut self) {
        let now = self.now;
        self.tracks.iter_mut().for_each(|track| track.finish(now));
    }

    /// Whether what the task does to others is followed.
    fn is_inside(&self, task: TaskId) -> bool {
        self.members.is_none_or(|members| members.get(task).is_some_and(|is_member| *is_member))
    }
    /// Whether the task was introduced, is no idle task and has not ended.
    fn known(&mut self, task: TaskId) -> bool {
        let introduced = self.introduced.get(task).is_some_and(|introduced| *introduced);
        if !introduced {
            self.counts.strangers += 1;
        } else if self.tracks[task].state == State::Dead {
            self.counts.after_death += 1;
            return false;
        }
        introduced
    }
    fn switch(&mut self, cpu: CpuId, prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) {
        let now = self.now;
        if let Some(&old) = self.current.get(&cpu)
            && Some(old) != prev
        {
            self.displaced(cpu, old);
        }
        if let Some(prev) = prev
            && self.known(prev)
        {
            self.seen_running(cpu, prev);
            let state = match prev_state {
                PrevState::Running => State::Runnable,
                PrevState::Sleeping | PrevState::DiskSleep | PrevState::IdleWait => State::Asleep,
                PrevState::Dead => State::Dead,
            };
            self.tracks[prev].leave(now, state);
            self.tracks[prev].waits_for_device = prev_state == PrevState::DiskSleep;
        }
        self.current.remove(&cpu);
        self.switched.insert(cpu, now);
        if let Some(next) = next
            && self.known(next)
        {
            match self.tracks[next].state {
                State::Asleep => self.woke_unseen(next),
                State::Running(..) => {
                    self.counts.no_switch += 1;
                    self.tracks[next].leave(now, State::Runnable);
                }
                State::Unseen | State::Runnable | State::Lost | State::Dead => {}
            }
            self.tracks[next].run_from(cpu, now);
            self.current.insert(cpu, next);
        }
    }
    /// Another task turns out to be on the CPU on which `old` was: it left at an unknown time after
    /// its last account.
    fn displaced(&mut self, cpu: CpuId, old: TaskId) {
        if let State::Running(on, since) = self.tracks[old].state
            && on == cpu
        {
            self.counts.no_switch += 1;
            self.tracks[old].leave(since, State::Lost);
        }
    }
    fn occupy(&mut self, cpu: CpuId, task: TaskId) {
        if let Some(old) = self.current.insert(cpu, task).filter(|&old| old != task) {
            self.displaced(cpu, old);
        }
    }
    /// A record shows that the task is on this CPU now.
    fn seen_running(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.now;
        match self.tracks[task].state {
            State::Running(on, _) if on == cpu => return,
            // Before the first switch of a CPU its task has run from the start.
            State::Unseen if !self.switched.contains_key(&cpu) => self.tracks[task].run_from(cpu, Instant::ZERO),
            State::Unseen => self.tracks[task].run_from(cpu, now),
            State::Asleep => {
                self.counts.no_switch += 1;
                self.woke_unseen(task);
                self.tracks[task].run_from(cpu, now);
            }
            State::Running(..) => {
                self.counts.no_switch += 1;
                self.tracks[task].leave(now, State::Runnable);
                self.tracks[task].run_from(cpu, now);
            }
            State::Runnable | State::Lost | State::Dead => {
                self.counts.no_switch += 1;
                self.tracks[task].run_from(cpu, now);
            }
        }
        self.occupy(cpu, task);
    }
    /// A sleep ended without a record of the wake-up.
    fn woke_unseen(&mut self, task: TaskId) {
        self.counts.no_waking += 1;
        self.sleep_until_now(task, Ender::Unknown, false);
    }
    fn sleep_until_now(&mut self, task: TaskId, by: Ender, by_task: bool) {
        let now = self.now;
        let track = &mut self.tracks[task];
        let slept = now.saturating_since(track.left).0;
        // Of a sleep that began before the recording the length is not known.
        let is_whole = track.state == State::Asleep;
        let act = match is_whole && track.waits_for_device && by != Ender::Unknown {
            true => Act::Device(slept),
            false => {
                Act::Until { at: now.ns(), slept: if is_whole { u32::try_from(slept).unwrap_or(u32::MAX) } else { u32::MAX }, by }
            }
        };
        self.ends(task, act, by_task);
    }
    fn ends(&mut self, task: TaskId, act: Act, by_task: bool) {
        self.tracks[task].sleep(act, self.now, by_task);
        self.tracks[task].state = State::Runnable;
    }
    fn waking(&mut self, cpu: CpuId, task: TaskId, target_cpu: CpuId, waker: Option<TaskId>, context: WakeContext) {
        if !self.known(task) {
            return;
        }
        match self.tracks[task].state {
            State::Unseen => {
                self.tracks[task].first_cpu = Some(target_cpu);
            }
            State::Asleep | State::Lost => {}
            State::Running(..) | State::Runnable => {
                // The kernel writes this record only for a task that was about to sleep. An interrupt on its own CPU, in which the task
                // itself counts as the waker, is that of a timer which was due before it was set.
                self.counts.awake += 1;
                let is_known = !matches!(self.tracks[task].state, State::Running(on, _) if on == cpu);
                self.tracks[task].again(self.now, is_known);
                return;
            }
            State::Dead => {
                self.counts.awake += 1;
                return;
            }
        }
        let other = waker.filter(|&waker| context == WakeContext::Task && waker != task);
        let running = other.filter(|&waker| self.is_inside(waker)).filter(|&waker| self.known(waker));
        if let Some(waker) = running {
            self.counts.by_task += 1;
            self.acts_now(cpu, waker, Act::Wake(task));
            self.charge_remote(cpu, waker, target_cpu);
            self.ends(task, Act::Await, true);
            self.takes_turns(waker, task);
            return;
        }
        // Of chosen threads only what they do themselves is followed.
        let is_soft = context == WakeContext::Softirq && self.members.is_none();
        // An uninterruptible sleeper waits for a device, whoever the interrupt hit.
        let may_be_sent = is_soft && !self.tracks[task].waits_for_device;
        let beside = waker.filter(|&waker| may_be_sent && waker != task).filter(|&waker| self.known(waker));
        match beside {
            Some(sender) => {
                self.messages.beside(task, sender);
                self.acts_now(cpu, sender, Act::Send(task));
                self.charge_remote(cpu, sender, target_cpu);
                self.ends(task, Act::Message { sender, at: self.now.ns() }, false);
                self.takes_turns(sender, task);
            }
            None => {
                if is_soft {
                    self.messages.by_idle(task);
                }
                if let Some(interrupted) = self.current.get(&cpu).copied().filter(|_| other.is_none()) {
                    self.tracks[interrupted].debt += self.charges.interrupt.0;
                }
                let by = if context == WakeContext::Hardirq { Ender::Timer } else { Ender::Outside };
                self.sleep_until_now(task, by, other.is_some());
            }
        }
    }
    /// One task has woken another: both have just got an act for that.
    fn takes_turns(&mut self, waker: TaskId, wakee: TaskId) {
        if self.members.is_none() {
            let side = |task: TaskId| Side { task, ran: self.tracks[task].ran_in_all, place: self.tracks[task].acts.len() - 1 };
            self.turns.wakes(side(waker), side(wakee));
        }
    }
    fn charge_remote(&mut self, cpu: CpuId, waker: TaskId, target_cpu: CpuId) {
        if target_cpu != cpu {
            self.tracks[waker].debt += self.charges.remote.0;
        }
    }
    /// A task on a CPU does something.
    fn acts_now(&mut self, cpu: CpuId, task: TaskId, act: Act) {
        self.seen_running(cpu, task);
        self.tracks[task].spend(self.now);
        self.tracks[task].act(act);
    }
    /// Follows sched_waking; alone it is the only sign of the wake-up.
    fn wakeup(&mut self, task: TaskId, target_cpu: CpuId) {
        if !self.known(task) {
            return;
        }
        match self.tracks[task].state {
            State::Unseen => {
                self.tracks[task].first_cpu = Some(target_cpu);
                self.woke_unseen(task);
            }
            State::Asleep | State::Lost => self.woke_unseen(task),
            State::Running(..) | State::Runnable | State::Dead => {}
        }
    }
    fn wakeup_new(&mut self, task: TaskId) {
        if self.known(task) && self.tracks[task].state == State::Unseen {
            self.born(task, Origin::Outside(self.now));
        }
    }
    fn born(&mut self, task: TaskId, origin: Origin) {
        self.tracks[task].origin = origin;
        self.tracks[task].state = State::Runnable;
    }
    /// Run time is accounted. A task of which no switch told that it runs began so long ago.
    fn stat_runtime(&mut self, cpu: CpuId, task: TaskId, runtime: Ns) {
        if !self.known(task) || runtime == Ns::ZERO {
            return;
        }
        let begin = Instant::from_ns(self.now.ns().saturating_sub(runtime.0));
        let busy = self.current.contains_key(&cpu);
        match self.tracks[task].state {
            State::Running(..) => {
                self.tracks[task].spend(self.now);
                return;
            }
            State::Unseen if !busy && !self.switched.contains_key(&cpu) => {
                self.tracks[task].run_from(cpu, Instant::ZERO);
                self.current.insert(cpu, task);
                return;
            }
            // Accounts are also made from other CPUs: only on a CPU without a task is this one new.
            State::Unseen | State::Runnable | State::Lost | State::Asleep if !busy => {}
            _ => return,
        }
        self.counts.by_runtime += 1;
        if self.tracks[task].state == State::Asleep {
            self.counts.no_waking += 1;
            let act = Act::Until { at: begin.ns(), slept: u32::MAX, by: Ender::Unknown };
            self.tracks[task].sleep(act, begin, false);
        }
        self.tracks[task].run_from(cpu, begin);
        self.current.insert(cpu, task);
    }
    fn fork(&mut self, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        if !self.known(child) {
            return;
        }
        if self.tracks[child].state != State::Unseen || parent == Some(child) {
            self.counts.odd_forks += 1;
            return;
        }
        match parent.filter(|&parent| self.is_inside(parent)).filter(|&parent| self.known(parent)) {
            Some(parent) => {
                self.acts_now(cpu, parent, Act::Fork(child));
                self.born(child, Origin::Forked);
            }
            None => self.born(child, Origin::Outside(self.now)),
        }
    }
}

/// The rows of a table in which a task took part.
pub(super) fn took_part(tracks: &IndexVec<TaskId, Track>) -> impl Iterator<Item = (TaskId, &Track)> {
    tracks
        .as_slice()
        .iter()
        .enumerate()
        .filter(|row| row.1.state != State::Unseen)
        .map(|(row, track)| (TaskId::from_index(row), track))
}
