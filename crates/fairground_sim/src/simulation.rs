//! A run: what goes in, the loop, what comes out.

use crate::cache::Caches;
use crate::check::check;
use crate::cpu::{Cpu, Doing, Then};
use crate::ending::{Counts, Ending, RunEnd, Stopped};
use crate::faults::Pages;
use crate::idle::IdleDevice;
use crate::klocks::Klocks;
use crate::locks::Locks;
use crate::memory::Memory;
use crate::net::{Elsewhere, Socket};
use crate::noise::{Noise, sources};
use crate::other_core::Beside;
use crate::parts::Parts;
use crate::pipe::Pipe;
use crate::queue::{Class, Queue, QueueKind};
use crate::script::{Scripted, script_of};
use crate::slice_ext::SliceExts;
use crate::softirq::Softirqs;
use crate::task::SimTask;
use crate::tick::{Jiffies, TickClock};
use crate::timers::{dl_tasks, nr_timers};
use fairground_machine::Machine;
use fairground_model::{
    Change, CpuMax, Digest, MachineView, Mistakes, NullSink, Op, Program, Recorder, Section, Sink, Start, TaskInfo, TaskSet,
};
use fairground_sched::profile::ProfileError;
use fairground_sched::{Profile, Request, Sched};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, PipeId, ProgramId, SockId, TaskId, TgId};
use std::collections::VecDeque;

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub profile: Profile,
    /// The workload.
    pub tasks: TaskSet,
    /// The seed of all random streams.
    pub seed: u64,
    /// How long the run lasts, if its tasks do not end before.
    pub duration: Ns,
    /// Whether every invariant is checked again and again: slow, for tests.
    pub paranoid: bool,
}

/// Whether there is more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// The run goes on.
    More,
    /// The run is over.
    Done,
}

/// What a look at the next event came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// It was handled.
    Event,
    /// It lies behind the instant that was asked for.
    Later,
    /// The run is over.
    Over,
}

/// Steps that a program may take at one instant before it counts as stuck.
pub(crate) const STEPS_AT_ONE_INSTANT: u32 = 1_000_000;

/// A machine with its scheduler and tasks, in mid-run. A clone continues to the same digest.
#[derive(Clone)]
pub struct Simulation {
    pub(crate) machine: Machine,
    pub(crate) view: MachineView,
    pub(crate) sched: Sched,
    pub(crate) queue: Queue,
    pub(crate) cpus: IndexVec<CpuId, Cpu>,
    pub(crate) tasks: IndexVec<TaskId, SimTask>,
    pub(crate) programs: IndexVec<ProgramId, Program>,
    pub(crate) pipes: IndexVec<PipeId, Pipe>,
    pub(crate) socks: IndexVec<SockId, Socket>,
    pub(crate) softirqs: IndexVec<CpuId, Softirqs>,
    pub(crate) elsewhere: Elsewhere,
    /// The thread that each CPU has for softirqs, if there is one.
    pub(crate) ksoftirqd: IndexVec<CpuId, TaskId>,
    pub(crate) memory: Memory,
    pub(crate) pages: Pages,
    pub(crate) parts: Parts,
    pub(crate) slices: SliceExts,
    pub(crate) locks: Locks,
    pub(crate) klocks: Klocks,
    pub(crate) caches: Caches,
    /// What disturbs the CPUs.
    pub(crate) noise: Vec<Noise>,
    pub(crate) requests: Vec<Request>,
    pub(crate) script: Vec<Scripted>,
    pub(crate) script_next: usize,
    pub(crate) now: Instant,
    pub(crate) jiffies: Jiffies,
    pub(crate) live_tasks: usize,
    /// How many tasks have timers of the deadline class.
    pub(crate) dl_tasks: usize,
    pub(crate) ticks: u64,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) beside: Beside,
    /// Up to where a CPU may go on by itself when its own next event is the first of all.
    pub(crate) horizon: Instant,
    /// Whether ticks of one instant may follow one another without the loop: nobody looks at the run between two events.
    pub(crate) ticks_in_a_row: bool,
    /// Set when there may be no more to do: all tasks have ended, or the run stopped.
    pub(crate) over: bool,
    end: Instant,
    pub(crate) paranoid: bool,
    pub(crate) unchecked: u32,
    digest: Digest,
    ended: Option<RunEnd>,
}

impl Simulation {
    /// A run at its beginning, with the event queue that is made for it.
    pub fn new(setup: Setup) -> Result<Simulation, Mistakes> {
        Simulation::with_queue(QueueKind::Fast, setup)
    }
    /// A run at its beginning, with an event queue of the caller's choice.
    pub fn with_queue(kind: QueueKind, setup: Setup) -> Result<Simulation, Mistakes> {
        Simulation::build(kind, setup, Beside::Nobody)
    }

    pub(crate) fn build(kind: QueueKind, setup: Setup, beside: Beside) -> Result<Simulation, Mistakes> {
        setup.machine.validate()?;
        if !beside.leads() {
            let ours = setup.profile.rules_are_ours();
            ours.map_err(|wrong| Mistakes::one(wrong.message, wrong.hint))?;
        }
        let Setup { mut machine, profile, tasks: mut set, seed, duration, paranoid } = setup;
        machine.start_governors();
        set.add_ksoftirqd(machine.cpus.len());
        let allowed = check(&machine, &profile, &set, duration)?;
        let mut sched = Sched::new(profile, &machine.view());
        sched.set_seed(seed);
        if beside.leads() {
            sched.begin_led();
        }
        let priced = |op| machine.costs.price_ps(op) > 0;
        if [Op::ScanDirty, Op::ScanSocket, Op::ScanContend].into_iter().any(priced) {
            sched.track_lines(&machine.view(), priced(Op::ScanContend));
        }
        for group in set.groups.iter() {
            sched.add_group(group);
        }
        set.policies().for_each(|policy| sched.expect_policy(policy));
        if set.moves_below_quotas() {
            sched.expect_moves_below_quotas();
        }
        let later = set.changes.iter().filter_map(|timed| match &timed.change {
            Change::Governor { governor, .. } => Some(governor.kind),
            _ => None,
        });
        machine.policies.iter().map(|policy| policy.governor.kind).chain(later).for_each(|kind| sched.expect_governor(kind));
        sched.make_room(set.tasks.iter().map(|spec| spec.group));
        for (spec, &cpus) in set.tasks.iter().zip(allowed.iter()) {
            let task = sched.add_task(spec, cpus);
            if spec.start == Start::Asleep || spec.elsewhere {
                sched.begin_asleep(task);
            }
        }
        let limits: Vec<(TgId, CpuMax)> = set.groups.iter_enumerated().map(|(id, group)| (id, group.limit)).collect();
        let script = script_of(&set);
        let tasks = set.tasks.iter_enumerated().map(|(id, spec)| SimTask::new(id, spec, seed)).collect();
        let cpus = machine.cpus.ids().map(|cpu| new_cpu(&machine, cpu, seed)).collect();
        let noise = sources(&set.noise, &machine, seed);
        let elsewhere = Elsewhere::new(&set, &machine);
        let socks = set.socks.iter().zip(set.elsewhere().iter()).map(|(spec, &there)| Socket::new(spec, there)).collect();
        let dl_tasks = dl_tasks(&set);
        let nr_timers = nr_timers(set.tasks.len(), dl_tasks, set.groups.len(), &machine);
        let mut simulation = Simulation {
            view: machine.view(),
            queue: Queue::new(kind, machine.cpus.len(), nr_timers + noise.len() + beside.nr_timers() + 2 * machine.cpus.len()),
            noise,
            jiffies: Jiffies::new(machine.tick),
            pipes: set.pipes.iter().map(Pipe::new).collect(),
            klocks: Klocks::new(&set),
            parts: Parts::new(&set),
            slices: SliceExts::new(&set, machine.cpus.len()),
            pages: Pages::new(&set, machine.cpus.len()),
            memory: Memory::new(set.words),
            locks: if beside.leads() { Locks::default() } else { Locks::new(&machine) },
            caches: Caches::new(&machine),
            softirqs: machine.cpus.ids().map(|_| Softirqs::new(!set.socks.is_empty())).collect(),
            socks,
            elsewhere,
            live_tasks: set.tasks.len() - set.ksoftirqd.len(),
            dl_tasks,
            ksoftirqd: set.ksoftirqd,
            programs: set.programs,
            end: Instant::ZERO + duration,
            requests: Vec::with_capacity(machine.cpus.len()),
            machine,
            sched,
            cpus,
            tasks,
            script,
            script_next: 0,
            now: Instant::ZERO,
            ticks: 0,
            stopped: None,
            beside,
            horizon: Instant::ZERO,
            ticks_in_a_row: false,
            over: false,
            paranoid,
            unchecked: 0,
            digest: Digest::default(),
            ended: None,
        };
        simulation.machine.cpus.ids().for_each(|cpu| simulation.set_prices(cpu));
        match simulation.beside.leads() {
            true => simulation.begin_beside()?,
            false => limits.into_iter().for_each(|(group, limit)| simulation.sched.begin_with_limit(group, limit)),
        }
        simulation.begin_idle();
        simulation.arm_first_timers();
        simulation.arm_noise();
        Ok(simulation)
    }

    /// Another core that leads begins too. It has the limits of groups, and ours has none.
    fn begin_beside(&mut self) -> Result<(), Mistakes> {
        self.beside.begin(&self.sched).map_err(|why| {
            let mut mistakes = Mistakes::default();
            mistakes.whole(why, "Run the scenario with a profile of ours.");
            mistakes
        })
    }

    /// All CPUs idle when a run begins: with their ticks, or long without.
    fn begin_idle(&mut self) {
        let mut sink = NullSink;
        let mut digest = self.digest;
        let mut rec = Recorder::new(&mut digest, &mut sink);
        for cpu in self.machine.cpus.ids() {
            self.enter_idle_state(cpu);
            match self.machine.nohz_idle {
                true => self.core(&mut rec, cpu, |sched, cx| sched.nohz_balance_enter_idle(cx)),
                false => self.start_tick(cpu),
            }
        }
        self.digest = digest;
    }

    /// Introduces all tasks to a sink: before the first record, and again for a sink that comes later.
    pub fn introduce(&self, sink: &mut dyn Sink) {
        for (id, task) in self.tasks.iter_enumerated() {
            sink.task(id, &task.info);
        }
    }

    /// Runs to the end.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Result<RunEnd, Stopped> {
        self.introduce(sink);
        while self.run_until(Instant::MAX, sink)? == Flow::More {}
        Ok(self.ended.expect("invariant: a run that is done has an end"))
    }

    /// Handles all events before `at` (or to the end of the run, if that comes first).
    pub fn run_until(&mut self, at: Instant, sink: &mut dyn Sink) -> Result<Flow, Stopped> {
        let mut digest = self.digest;
        let mut rec = Recorder::new(&mut digest, sink);
        if self.beside.leads() {
            rec.without_decisions();
        }
        let flow = loop {
            self.horizon = self.horizon_before(at);
            self.choose_short_ways(true);
            while !self.over
                && let Some(event) = self.queue.advance_before(self.horizon)
            {
                self.handle(&mut rec, event);
            }
            match self.next_round(&mut rec, at) {
                Round::Event => {}
                Round::Later => break Flow::More,
                Round::Over => break Flow::Done,
            }
        };
        self.digest = digest;
        self.stopped.clone().map_or(Ok(flow), Err)
    }

    /// Handles one event.
    pub fn step(&mut self, sink: &mut dyn Sink) -> Result<Flow, Stopped> {
        let mut digest = self.digest;
        let mut rec = Recorder::new(&mut digest, sink);
        if self.beside.leads() {
            rec.without_decisions();
        }
        let mut flow = Flow::More;
        self.horizon = Instant::ZERO;
        self.choose_short_ways(false);
        if !self.over
            && let Some(event) = self.queue.advance_before(self.horizon_before(Instant::MAX))
        {
            self.handle(&mut rec, event);
        } else if self.next_round(&mut rec, Instant::MAX) == Round::Over {
            flow = Flow::Done;
        }
        self.digest = digest;
        self.stopped.clone().map_or(Ok(flow), Err)
    }

    /// Up to where events of CPUs can be handled one after another: what is scripted comes before
    /// everything else of its instant.
    pub(crate) fn horizon_before(&self, before: Instant) -> Instant {
        let scripted = self.script.get(self.script_next).map_or(Instant::MAX, |row| row.at);
        before.min(self.end).min(scripted).min(self.elsewhere.next().unwrap_or(Instant::MAX))
    }

    /// Part of the loop itself: there is one event or more per phase of the kernel.
    #[inline(always)]
    fn handle(&mut self, rec: &mut Recorder<'_>, (at, class, mut cpu): (Instant, Class, CpuId)) {
        self.now = at;
        if self.machine.round_of_turns > Ns::ZERO && self.waits_for_turn(class, cpu) {
            return;
        }
        let in_kernel = match class {
            Class::Segment => self.stretch_ends(rec, &mut cpu),
            Class::Irq => self.interrupt(cpu),
            Class::Tick if self.ticks_in_a_row && !self.klocks.are_in_use() => self.ticks(rec, &mut cpu),
            Class::Tick => self.tick(rec, cpu),
        };
        if in_kernel {
            self.kernel(rec, cpu);
        }
        if self.klocks.are_in_use() {
            self.klocks.settle(self.now, &self.sched);
            self.klocks.tell(rec, self.now, cpu);
        }
        self.check_again_and_again();
    }

    /// Chooses how ticks and switches go until something scripted happens: in the core the short way, where no other core has a part in
    /// the run, and ticks here, if that is wanted and nobody checks between two events, one after the other without the loop. A run with
    /// the plain heap does neither: it is the oracle of both.
    fn choose_short_ways(&mut self, in_a_row: bool) {
        let quick = self.queue.is_fast() && matches!(self.beside, Beside::Nobody);
        self.sched.choose_short_ways(quick);
        self.ticks_in_a_row = quick && in_a_row && self.machine.round_of_turns == Ns::ZERO && !self.paranoid;
    }

    /// Whether somebody looks at the run between any two events.
    pub(crate) fn is_watched(&self) -> bool {
        self.paranoid || self.klocks.are_in_use()
    }

    /// No event of a CPU lies before the horizon: the next scripted act, or the end.
    fn next_round(&mut self, rec: &mut Recorder<'_>, before: Instant) -> Round {
        if self.ended.is_some() || self.stopped.is_some() {
            return Round::Over;
        }
        if self.live_tasks == 0 && (self.noise.is_empty() || !self.tasks.is_empty()) {
            return self.finish(rec, self.now, Ending::AllExited);
        }
        let scripted = self.script.get(self.script_next).map(|row| row.at);
        let elsewhere = self.elsewhere.next();
        if self.queue.peek().is_none() && scripted.is_none() && elsewhere.is_none() {
            return self.finish(rec, self.now, Ending::NothingLeft);
        }
        let horizon = self.horizon_before(before);
        if scripted == Some(horizon) && horizon < self.end && horizon < before {
            self.now = horizon;
            self.run_script(rec);
            self.klocks.settle(self.now, &self.sched);
            return Round::Event;
        }
        if elsewhere == Some(horizon) && horizon < self.end && horizon < before {
            self.now = horizon;
            self.run_elsewhere(rec);
            return if self.stopped.is_some() { Round::Over } else { Round::Event };
        }
        if horizon == self.end {
            return self.finish(rec, self.end, Ending::Duration);
        }
        Round::Later
    }

    #[cold]
    fn finish(&mut self, rec: &mut Recorder<'_>, at: Instant, ending: Ending) -> Round {
        self.now = at;
        self.klocks.settle(self.now, &self.sched);
        for cpu in self.machine.cpus.ids() {
            self.core_from_outside(rec, cpu, |sched, cx| sched.settle(cx));
        }
        self.ended = Some(RunEnd { at, ending });
        Round::Over
    }

    /// From now on an overlay of the profile holds too: for the question what it would have done from this state.
    pub fn add_overlay(&mut self, name: &str) -> Result<(), ProfileError> {
        self.sched.add_overlay(name)
    }
    /// From now on another form of the profile holds, for the same question; `change` is what it is called.
    pub fn change_profile(&mut self, changed: Profile, change: &str) -> Result<(), ProfileError> {
        self.sched.change_profile(changed, change)
    }
    /// What if balance read the load that is queued on each CPU? From now on, until the next account of load, it does.
    pub fn read_queued_loads(&mut self) {
        self.sched.read_queued_loads();
    }
    /// The present instant.
    pub fn now(&self) -> Instant {
        self.now
    }
    /// How the run ended, if it has.
    pub fn ended(&self) -> Option<RunEnd> {
        self.ended
    }
    /// When the run ends at the latest.
    pub fn end(&self) -> Instant {
        self.end
    }
    /// 128 bits over every record so far: equal digests, equal runs.
    pub fn digest(&self) -> u128 {
        self.digest.value()
    }
    /// What happened so far, in numbers.
    pub fn counts(&self) -> Counts {
        Counts {
            ticks: self.ticks,
            switches: self.sched.nr_switches(),
            wakeups: self.sched.nr_wakeups(),
            migrations: self.sched.nr_migrations(),
        }
    }
    /// How often an operation was counted, on all CPUs.
    pub fn op_total(&self, op: Op) -> u64 {
        self.cpus.iter().map(|cpu| cpu.meter.total(op)).sum()
    }
    /// How often each section of the kernel ran on `cpu` and for how long in all, in the order of
    /// [`Section::ALL`].
    pub fn kernel_time(&self, cpu: CpuId) -> impl Iterator<Item = (Section, u64, Ns)> + '_ {
        Section::ALL.into_iter().zip(self.cpus[cpu].kernel_time).map(|(section, (count, time))| (section, count, time))
    }
    /// The kernel's count of ticks.
    pub fn jiffies(&self) -> u64 {
        self.jiffies.count()
    }
    /// Makes the queues of all groups on all CPUs now, as a kernel has them, and not at their first use. Only time and memory of the
    /// run differ.
    pub fn make_group_queues(&mut self) {
        self.sched.make_group_queues();
    }
    /// The scheduler, to look at.
    pub fn sched(&self) -> &Sched {
        &self.sched
    }
    /// The name and numbers of a task.
    pub fn task_info(&self, task: TaskId) -> &TaskInfo {
        &self.tasks[task].info
    }
}

fn new_cpu(machine: &Machine, cpu: CpuId, seed: u64) -> Cpu {
    Cpu {
        doing: Doing::Idle,
        then: Then::Resume,
        interrupted: None,
        stolen: None,
        idle: IdleDevice::default(),
        spinner: None,
        spins_since: Instant::ZERO,
        busy_siblings: 0,
        wake_q: VecDeque::new(),
        nohz_kick: false,
        computes_from: Instant::ZERO,
        meter: machine.costs.meter(&machine.cpus[cpu]),
        carry_ps: 0,
        tick: TickClock::new(machine, cpu, seed),
        turn_at: Instant::ZERO,
        kernel_time: Default::default(),
        booked_until: Instant::ZERO,
        idle_time: Ns::ZERO,
        idle_since: Instant::ZERO,
        steps_at: (Instant::ZERO, 0),
        steps_since: (Instant::ZERO, 0),
    }
}
