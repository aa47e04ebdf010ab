//! The lockstep: the recorded events drive the core, each recorded decision is put to it, and then the record is
//! followed.
//!
//! # The problem
//!
//! A trace was written by the kernel that made the decisions, but it is no list of decisions. To keep the running task
//! may leave no line. A timestamp is taken after the clock was read. What happened before the first record is unknown.
//! Still a disagreement must mean "our rule is wrong", not "the trace was misread".
//!
//! # What goes wrong otherwise
//!
//! - A simulation beside the recording agrees until its first different choice. After that it is another run, and
//!   nothing can be compared.
//! - Clocks set from timestamps are some 100 ns late. Virtual times drift apart, and ties fall the other way.
//! - A reader that takes "no switch" for "no reschedule" counts each task that was kept as a decision to go on.
//! - A model whose state is overwritten by the record cannot be wrong.
//!
//! # The rule
//!
//! ```text
//! record ─► what was it part of? (crate::read) ─► the entry point of the core that the kernel came through
//!       at a decision: ask the core ─► count agree or differ ─► do what the record says
//! ```
//!
//! - **Time** comes from run time. Each `sched_stat_runtime` is one update_curr(); the clock of that CPU is set so that
//!   the core's own update_curr() sees the same length. Lengths are exact and add up, timestamps do not.
//! - **State** is the core's own. Virtual times are compared after each update and never copied. There is one
//!   exception: tasks and queues whose past lies before the record, at first sight.
//! - **Decisions** near each other share one outcome, within 60 us, or 250 us with several CPUs. Where the record fits
//!   both answers the decision is *unclear*, and is counted as an agreement that proves nothing.
//! - **Run time error**: from a wrong answer until the next question on that CPU, recorded run time is booked to the
//!   task that the core would have run.
//!
//! # What changed in the records
//!
//! - up to v6.7: `sched_stat_runtime` has the virtual time ("sched: Remove vruntime from trace_sched_stat_runtime()")
//! - v6.12 "sched/fair: Implement delayed dequeue": a task that sleeps may be queued still, and its wake-up makes no
//!   choice
//! - v6.13, recorded in 6.18 "sched: Add Lazy preemption model": another CPU's request shows at the next tick
//!
//! # The parts
//!
//! This file walks through the records. `accounts.rs`: run time and clocks. `wake.rs`: wake-ups and forks. `switch.rs`:
//! schedule(). `decide.rs`: questions, their outcome, the verdict. `first_sight.rs`: what lies before the record;
//! `guess.rs`: what nothing tells of it; `class.rs`: tasks of other classes.
//! `queue.rs` and `moves.rs`: migrations; `places.rs`: choices of CPUs; `groups.rs`: tasks that go to a group; `quota.rs`:
//! queues that are throttled and released. Quota accounts are replayed apart from this, in `crate::quota`.
//!
//! # Read also
//!
//! docs/conform.md (how to run it, what each figure means), docs/model/15-conformance-notes.md and
//! 16-recordings-placement.md, recordings/ORACLE.md; Documentation/trace/events.rst.

mod accounts;
mod class;
mod decide;
mod first_sight;
mod groups;
mod guess;
mod moves;
mod places;
mod queue;
mod quota;
mod switch;
#[cfg(test)]
mod tests;
mod told;
mod wake;

use crate::outcome::{Kind, KindTally, Mismatch, Outcome, Share, Tally, VruntimeError, Vruntimes};
use crate::read::{Known, Mark, Reading, is_fair};
use crate::recording::{Record, Recording};
use crate::world::World;
use class::Other;
use decide::{Group, Patience};
use fairground_model::{MachineView, Start, TaskGroupSpec, TaskInfo, TaskSpec, TraceEvent};
use fairground_sched::{Leaving, Profile, TaskState};
use fairground_stdx::{CpuId, CpuMask, IndexVec, Instant, Ns, ProgramId, TaskId, TgId, Vruntime};
use guess::Guess;
use places::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use told::Told;

/// What a comparison is made with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The kernel.
    pub profile: Profile,
    /// The machine; it has all CPUs that the recording names.
    pub machine: MachineView,
    /// Length of a tick, if it is known.
    pub tick: Option<Ns>,
    /// How many disagreements are kept with their state.
    pub keep: usize,
    /// Lags with which tasks slept before the record began (EEVDF); 0 for all others.
    pub lags: Vec<(TaskId, i64)>,
    /// Tasks of which a scenario tells what they are when they begin.
    pub specs: Vec<(TaskId, TaskSpec)>,
    /// Tasks that may use some CPUs only, where something other than the trace tells.
    pub allowed: Vec<(TaskId, CpuMask)>,
    /// The CPU cgroups, parents first.
    pub groups: IndexVec<TgId, TaskGroupSpec>,
    /// Tasks that go to a group while the record runs; what they do around it shows when.
    pub members: Vec<(TaskId, TgId)>,
    /// Tasks that the record tells to be in a group when it begins.
    pub begins: Vec<(TaskId, TgId)>,
    /// Tasks that go to a group where the record tells it, in order.
    pub moves: Vec<GroupMove>,
    /// Whether places in virtual time that nothing tells are learnt from the first decisions that depend on them.
    pub learns: bool,
}

/// A task goes to another group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupMove {
    /// The number of the first event behind it.
    pub before: usize,
    /// When it was written.
    pub at: Instant,
    /// The CPU that wrote it.
    pub writer: CpuId,
    /// The task.
    pub task: TaskId,
    /// Its group; `None` is the root group.
    pub group: Option<TgId>,
}

/// An account that was read and that the next call of the core shall make.
#[derive(Clone, Copy)]
struct Owed {
    task: TaskId,
    runtime: Ns,
    vruntime: Option<Vruntime>,
}

/// What the drive knows of a CPU beside the core.
struct Cpu {
    /// The task that runs by the record, of any class.
    running: Option<TaskId>,
    owed: Option<Owed>,
    /// How far the queue's clock is behind the records.
    behind: Ns,
    /// When the last account was written.
    owed_at: Instant,
    /// The account that comes next and goes by the present reading of the clock.
    ahead: Option<usize>,
    /// A schedule() between its halves, while tasks are pulled here.
    leaving: Option<Leaving>,
    /// It looked for somebody to run, and found nobody.
    found_nobody: bool,
    /// Tasks that this CPU took off a queue and has not queued yet.
    in_flight: Vec<TaskId>,
    /// Questions whose outcome the record has not shown yet.
    group: Option<Group>,
    /// Whether the floor of virtual time is known for certain.
    floor_known: bool,
    /// Whether it is known at least roughly.
    floor_guessed: bool,
    /// Whom the core would have run since its last differing answer.
    instead: Option<Option<TaskId>>,
    /// Queues that are throttled by what this CPU does next: of which group, on which CPU.
    exhausted: Vec<(TgId, CpuId)>,
    /// What ran here stops for want of quota.
    quota_stop: bool,
    /// An hrtick was taken for the tick that comes next.
    tick_comes: bool,
}

/// What the drive knows of a task beside the core.
#[derive(Clone, Copy, Default)]
struct Row {
    fair: bool,
    prio: i32,
    /// Where it is while it is not fair, and how often another one of less priority got the CPU since.
    other: Other,
    passed_over: u32,
    /// Whether the core has heard of it.
    known: bool,
    /// It slept before the record began.
    unknown_past: bool,
    /// Its place in virtual time, where nothing tells it.
    guess: Option<Guess>,
    /// The priority that it gets at its first own act, where that is not its parent's.
    nice_due: Option<i8>,
    /// Its run time since it last woke.
    ran_since_wakeup: Ns,
    /// It was taken off a queue and has not arrived on the next one.
    in_flight: bool,
    /// It is being woken, and was bound to another CPU for that.
    bound: bool,
    /// Its end was announced; it has not left its autogroup yet.
    exiting: bool,
    /// It may run on one CPU only: it makes no choice.
    pinned: bool,
    /// The CPU that it is on its way to.
    coming: Option<CpuId>,
    /// Its recent_used_cpu, if the record tells.
    recent: Option<CpuId>,
    /// The record that made it.
    made_at: Option<u32>,
}

/// A comparison under way.
pub struct Lockstep<'r> {
    recording: &'r Recording,
    reading: Rc<Reading>,
    world: World,
    cpus: IndexVec<CpuId, Cpu>,
    rows: IndexVec<TaskId, Row>,
    shares: IndexVec<TaskId, Share>,
    kinds: BTreeMap<Kind, KindTally>,
    vruntimes: Vruntimes,
    vruntime_errors: Vec<VruntimeError>,
    mismatches: Vec<Mismatch>,
    keep: usize,
    lags: Vec<(TaskId, i64)>,
    learns: bool,
    /// Groups with groups in them.
    groups_above: BTreeSet<TgId>,
    /// How often the place of a group on a CPU was learnt; `None` is that of the root group's tasks beside groups.
    lessons_of_groups: BTreeMap<(CpuId, Option<TgId>), u8>,
    /// Picks beside a waiting task of another class than the fair one.
    classes: Tally,
    facts: BTreeMap<&'static str, u64>,
    patience: Patience,
    places: Places,
    next: usize,
    next_prio: usize,
    next_act: usize,
    /// Whether any task is in a group: what groups weigh depends on when loads are aged.
    has_groups: bool,
    /// How long after the account that it makes an arrival on a queue was last written.
    enqueue_lag: Ns,
    /// When loads that are left on idle CPUs are aged next.
    next_blocked: Instant,
    /// Accounts that acts of quota before them have made.
    taken: BTreeSet<usize>,
    /// Tasks that go to a group at an account that the move makes.
    joins: BTreeMap<usize, (TaskId, Option<TgId>)>,
    /// Tasks that go to a group where the record tells it, and the next of them.
    moves: Vec<GroupMove>,
    next_move: usize,
    /// For each task that goes to another group the numbers of the events before which it does, in order.
    changes_of_group: BTreeMap<TaskId, Vec<usize>>,
    told: Told,
}

impl<'r> Lockstep<'r> {
    /// Reads the recording and sets the core up as it was at its beginning.
    pub fn new(recording: &'r Recording, setup: &Setup) -> Lockstep<'r> {
        let known = Known::of(&setup.profile, setup.tick);
        let reading = Reading::new(recording, setup.machine.cpus.len(), known);
        Lockstep::over(recording, Rc::new(reading), setup)
    }
    /// The same with a reading that was made before.
    pub fn over(recording: &'r Recording, reading: Rc<Reading>, setup: &Setup) -> Lockstep<'r> {
        let nr_cpus = setup.machine.cpus.len();
        let mut cpus = IndexVec::new();
        for cpu in setup.machine.cpus.ids() {
            cpus.push(Cpu {
                running: reading.start.running[cpu],
                owed: None,
                behind: Ns::ZERO,
                owed_at: Instant::ZERO,
                ahead: None,
                leaving: None,
                found_nobody: false,
                in_flight: Vec::new(),
                group: None,
                floor_known: false,
                floor_guessed: false,
                instead: None,
                exhausted: Vec::new(),
                quota_stop: false,
                tick_comes: false,
            });
        }
        let places = Places::new(&reading, setup);
        let mut drive = Lockstep {
            recording,
            reading,
            world: World::new(setup.profile.clone(), setup.machine.clone()),
            cpus,
            rows: IndexVec::new(),
            shares: IndexVec::filled(Share::default(), recording.tasks.len()),
            kinds: Kind::ALL.into_iter().map(|kind| (kind, KindTally::default())).collect(),
            vruntimes: Vruntimes::default(),
            vruntime_errors: Vec::new(),
            mismatches: Vec::new(),
            keep: setup.keep,
            lags: setup.lags.clone(),
            learns: setup.learns,
            lessons_of_groups: BTreeMap::new(),
            groups_above: setup.groups.iter().filter_map(|group| group.parent).collect(),
            classes: Tally::default(),
            facts: BTreeMap::new(),
            patience: Patience::new(nr_cpus),
            places,
            next: 0,
            next_prio: 0,
            next_act: 0,
            has_groups: !setup.groups.is_empty(),
            enqueue_lag: Ns::ZERO,
            next_blocked: Instant::ZERO,
            taken: BTreeSet::new(),
            joins: BTreeMap::new(),
            moves: setup.moves.clone(),
            next_move: 0,
            changes_of_group: BTreeMap::new(),
            told: Told::default(),
        };
        for group in setup.groups.iter() {
            drive.world.sched.add_group(group);
        }
        drive.begin_told();
        drive.follow_limits(setup);
        drive.add_tasks(setup);
        drive.find_joins(&setup.members);
        drive.find_accounts_of_moves();
        drive.find_changes_of_group();
        drive.adopt_start();
        drive
    }
    /// How many records there are.
    pub fn len(&self) -> usize {
        self.recording.records.len()
    }
    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.recording.records.is_empty()
    }
    /// Walks through the next `count` records; returns how many have been walked through in all.
    pub fn advance(&mut self, count: usize) -> usize {
        let end = self.len().min(self.next.saturating_add(count));
        while self.next < end {
            self.prio_changes();
            self.group_moves();
            self.acts();
            self.grant_tells(self.recording.records[self.next].cpu);
            self.record(self.next);
            self.end_exhausted(self.next);
            self.next += 1;
        }
        self.next
    }
    /// Ends the comparison: questions without an outcome in the record are left aside.
    pub fn finish(mut self) -> Outcome {
        for cpu in self.cpus.ids() {
            self.settle(cpu);
            self.drop_group(cpu, "preemption questions without an outcome before the record ends");
        }
        Outcome {
            kinds: self.kinds,
            moves: self.places.moves,
            placement: self.places.into_found(),
            vruntimes: self.vruntimes,
            vruntime_errors: self.vruntime_errors,
            shares: self.shares,
            classes: self.classes,
            mismatches: self.mismatches,
            facts: self.facts,
            records: self.next as u64,
        }
    }

    fn add_tasks(&mut self, setup: &Setup) {
        let online = setup.machine.online;
        for (id, info) in self.recording.tasks.iter_enumerated() {
            let fair = is_fair(&self.recording.tasks, id);
            let told = setup.specs.iter().find(|row| row.0 == id && fair).map(|row| &row.1);
            let allowed = told.and_then(|spec| spec.affinity).map(|mask| mask.and(&online)).filter(|mask| !mask.is_empty());
            let only = setup.allowed.iter().any(|row| row.0 == id && row.1.weight() == 1)
                || allowed.is_some_and(|mask| mask.weight() == 1);
            let pinned = !fair || only || self.cpus.len() == 1 || self.recording.is_per_cpu_thread(id);
            let slept = told.is_some_and(|spec| spec.start == Start::Asleep);
            self.rows.push(Row { fair, prio: info.prio, pinned, known: slept, ..Row::default() });
            let mut spec = told.cloned().unwrap_or_else(|| TaskSpec::new(info.name.clone(), ProgramId::new(0)));
            spec.nice = if fair { nice_of(info) } else { 0 };
            spec.group = setup.begins.iter().find(|row| row.0 == id).map(|row| row.1).or(spec.group);
            self.world.sched.add_task(&spec, allowed.unwrap_or(online));
            if slept {
                self.world.sched.begin_asleep(id);
            }
        }
    }
    /// Priorities that changed before the next record.
    fn prio_changes(&mut self) {
        while let Some(change) = self.recording.prio_changes.get(self.next_prio).filter(|change| change.before <= self.next) {
            self.next_prio += 1;
            self.rows[change.task].prio = change.prio;
            match (self.rows[change.task].fair, nice_of_prio(change.prio)) {
                (true, Some(nice)) => self.set_nice(change.task, nice),
                (false, None) => {}
                _ => self.change_class(change.task, change.prio),
            }
        }
    }
    fn set_nice(&mut self, task: TaskId, nice: i8) {
        if self.world.sched.task(task).nice != nice {
            let cpu = self.world.sched.task(task).cpu;
            self.world.call(cpu, cpu, |sched, cx| sched.set_user_nice(cx, task, nice));
            self.hear_accounts(cpu);
        }
    }

    fn record(&mut self, index: usize) {
        let Record { at, cpu, event } = self.recording.records[index];
        self.world.at = at;
        if !self.reading.has_runtime {
            self.timestamp(cpu, at, &event);
        }
        match event {
            TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
                self.account(index, Owed { task, runtime, vruntime });
            }
            TraceEvent::SchedWaking { task, target_cpu, .. } => self.waking(cpu, at, task, target_cpu),
            TraceEvent::SchedWakeup { task, target_cpu } => self.wakeup(index, cpu, at, task, target_cpu),
            TraceEvent::SchedProcessFork { parent, child } => self.fork(index, cpu, at, parent, child),
            TraceEvent::SchedWakeupNew { task, target_cpu } => self.wakeup_new(index, cpu, at, task, target_cpu),
            TraceEvent::SchedSwitch { prev, prev_state, next } => self.switch(index, cpu, at, (prev, prev_state), next),
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                self.migrate(index, cpu, at, task, (orig_cpu, dest_cpu));
            }
            TraceEvent::SchedProcessExit { task } => self.rows[task].exiting = true,
            _ => {}
        }
    }
    /// Without accounts of run time, timestamps move the clocks of the CPUs that an event is about.
    fn timestamp(&mut self, cpu: CpuId, at: Instant, event: &TraceEvent) {
        self.world.idle_until(cpu, at);
        match *event {
            TraceEvent::SchedWakeup { target_cpu, .. } | TraceEvent::SchedWakeupNew { target_cpu, .. } => {
                self.world.idle_until(target_cpu, at);
            }
            TraceEvent::SchedMigrateTask { orig_cpu, dest_cpu, .. } => {
                self.world.idle_until(orig_cpu, at);
                self.world.idle_until(dest_cpu, at);
            }
            _ => {}
        }
    }

    fn fact(&mut self, what: &'static str) {
        *self.facts.entry(what).or_insert(0) += 1;
    }
    fn mark(&self, index: usize) -> Mark {
        self.reading.marks[index]
    }
    fn state(&self, task: TaskId) -> TaskState {
        self.world.sched.task(task).state
    }
    /// The fair task that is current on `cpu`, by the core.
    fn curr(&self, cpu: CpuId) -> Option<TaskId> {
        self.world.sched.rq(cpu).curr
    }
}

fn nice_of(info: &TaskInfo) -> i8 {
    nice_of_prio(info.prio).unwrap_or(0)
}

/// The nice value of a priority of the fair class.
fn nice_of_prio(prio: i32) -> Option<i8> {
    (100..140).contains(&prio).then(|| i8::try_from(prio - 120).unwrap_or(0))
}
