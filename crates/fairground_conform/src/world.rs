//! The core with what stands around it: a machine, clocks that the record sets, and an ear for what it says.

use fairground_model::{Decision, Digest, MachineView, Meter, Recorder, Sink, TraceEvent};
use fairground_sched::{Ctx, Profile, Request, Sched};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId, Vruntime};

/// An account of run time that the core made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub(crate) task: TaskId,
    pub(crate) runtime: Ns,
    pub(crate) vruntime: Option<Vruntime>,
}

/// Keeps what the core said during one call.
#[derive(Default)]
pub(crate) struct Ear {
    pub(crate) accounts: Vec<Account>,
    pub(crate) decisions: Vec<Decision>,
}

impl Sink for Ear {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
                self.accounts.push(Account { task, runtime, vruntime });
            }
            TraceEvent::Decision(decision) => self.decisions.push(decision),
            _ => {}
        }
    }
}

/// An hrtick timer: for when it was set by the clock of its queue, which interrupts hold up, and by that of the record.
#[derive(Clone, Copy, Default)]
struct Hrtick {
    set: Option<Instant>,
    fires: Option<Instant>,
}

/// The core and its surroundings.
pub(crate) struct World {
    pub(crate) sched: Sched,
    pub(crate) ear: Ear,
    /// The clock of each CPU's run queue: real time while it is idle, sums of recorded run time while it is busy.
    pub(crate) clocks: IndexVec<CpuId, Instant>,
    /// The time of the record that is looked at.
    pub(crate) at: Instant,
    /// The record tells clocks: timestamps move none.
    pub(crate) clocks_are_told: bool,
    hrticks: IndexVec<CpuId, Hrtick>,
    machine: MachineView,
    meter: Meter,
    /// What the core asked for during the last call.
    pub(crate) requests: Vec<Request>,
    digest: Digest,
}

impl World {
    pub(crate) fn new(profile: Profile, machine: MachineView) -> World {
        let nr_cpus = machine.cpus.len();
        World {
            sched: Sched::new(profile, &machine),
            ear: Ear::default(),
            clocks: IndexVec::filled(Instant::ZERO, nr_cpus),
            at: Instant::ZERO,
            clocks_are_told: false,
            hrticks: IndexVec::filled(Hrtick::default(), nr_cpus),
            machine,
            meter: Meter::free(),
            requests: Vec::new(),
            digest: Digest::default(),
        }
    }
    /// Calls the core. It runs on `cpu`; the clock that it reads is that of the queue of `clock_of`.
    pub(crate) fn call<R>(&mut self, cpu: CpuId, clock_of: CpuId, entry: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        self.ear.accounts.clear();
        self.ear.decisions.clear();
        // Interrupts and waits that the core asks for are in the record already.
        self.requests.clear();
        let result = self.enter(cpu, clock_of, entry);
        if self.sched.hrtick_csd_pending(clock_of) {
            self.enter(clock_of, clock_of, Sched::hrtick_csd);
        }
        self.set_hrtick(clock_of);
        result
    }
    fn enter<R>(&mut self, cpu: CpuId, clock_of: CpuId, entry: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let mut trace = Recorder::new(&mut self.digest, &mut self.ear);
        let mut cx = Ctx {
            now: self.clocks[clock_of],
            cpu,
            jiffies: self.clocks[clock_of].ns() / self.machine.tick.ns(),
            until: Instant::MAX,
            switched: None,
            machine: &self.machine,
            meter: &mut self.meter,
            requests: &mut self.requests,
            trace: &mut trace,
        };
        let result = entry(&mut self.sched, &mut cx);
        self.meter.take_ps();
        result
    }
    fn set_hrtick(&mut self, cpu: CpuId) {
        let set = self.sched.hrtick_expiry(cpu);
        if set != self.hrticks[cpu].set {
            let fires = set.map(|set| self.at + set.saturating_since(self.clocks[cpu]));
            self.hrticks[cpu] = Hrtick { set, fires };
        }
    }
    /// Whether the hrtick timer of `cpu` has fired by now.
    pub(crate) fn hrtick_fired(&self, cpu: CpuId) -> bool {
        self.hrticks[cpu].fires.is_some_and(|fires| fires <= self.at)
    }
    /// How far the clock of `cpu` is ahead of the others.
    pub(crate) fn clock_ahead(&self, cpu: CpuId) -> Ns {
        self.machine.cpus[cpu].clock_ahead
    }
    /// The clock of an idle CPU follows real time.
    pub(crate) fn idle_until(&mut self, cpu: CpuId, at: Instant) {
        if !self.clocks_are_told {
            self.clocks[cpu] = self.clocks[cpu].max(at);
        }
    }
}
