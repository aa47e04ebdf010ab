//! What the tests of the fair class share: a scheduler without an engine.

use super::Lead;
use super::place::Placement;
use crate::task::TaskState;
use crate::{Ctx, Profile, Request, Sched};
use fairground_model::{Digest, MachineView, Meter, NullSink, Policy, Reason, Recorder, Sink, TaskSpec, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, TaskId, Vruntime};

pub(super) const CPU: CpuId = CpuId::new(0);
pub(super) const MS: u64 = 1_000_000;

/// A scheduler on one CPU and a clock turned by hand.
pub(super) struct Bench {
    pub(super) sched: Sched,
    pub(super) machine: MachineView,
    pub(super) meter: Meter,
    pub(super) requests: Vec<Request>,
    pub(super) now: Instant,
}

/// Keeps what was decided.
#[derive(Default)]
pub(super) struct Decisions(pub(super) Vec<Reason>);

impl Sink for Decisions {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(decision) = event {
            self.0.push(decision.reason);
        }
    }
}

impl Bench {
    pub(super) fn new(profile: Profile) -> Bench {
        let machine = MachineView { irq_time_accounting: true, ..MachineView::flat(1, Ns(MS)) };
        Bench { sched: Sched::new(profile, &machine), machine, meter: Meter::free(), requests: Vec::new(), now: Instant::ZERO }
    }

    pub(super) fn call_with<R>(&mut self, sink: &mut dyn Sink, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let mut digest = Digest::default();
        let mut rec = Recorder::new(&mut digest, sink);
        let mut cx = Ctx {
            now: self.now,
            cpu: CPU,
            jiffies: self.now.ns() / self.machine.tick.ns(),
            machine: &self.machine,
            meter: &mut self.meter,
            requests: &mut self.requests,
            trace: &mut rec,
        };
        call(&mut self.sched, &mut cx)
    }

    pub(super) fn call<R>(&mut self, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        self.call_with(&mut NullSink, call)
    }

    /// A task of that policy and nice value, forked and queued.
    pub(super) fn queued(&mut self, policy: Policy, nice: i8) -> TaskId {
        let task = self.forked(policy, nice);
        self.call(|sched, cx| sched.wake_up_new_task(cx, task, Some(CPU)));
        task
    }

    /// A task that has its first virtual time, but is not queued yet.
    pub(super) fn forked(&mut self, policy: Policy, nice: i8) -> TaskId {
        let mut spec = TaskSpec::new("task", ProgramId::new(0));
        (spec.policy, spec.nice) = (policy, nice);
        let task = self.sched.add_task(&spec, CpuMask::only(CPU));
        self.call(|sched, cx| sched.sched_fork(cx, None, task));
        task
    }

    pub(super) fn normal(&mut self, nice: i8) -> TaskId {
        self.queued(Policy::Normal, nice)
    }

    /// A task of that nice value that asked for a slice of its own before it was queued.
    pub(super) fn queued_with_slice(&mut self, nice: i8, slice: Ns) -> TaskId {
        let task = self.forked(Policy::Normal, nice);
        self.call(|sched, cx| sched.set_slice(cx, task, Some(slice)));
        self.call(|sched, cx| sched.wake_up_new_task(cx, task, Some(CPU)));
        task
    }

    pub(super) fn vruntime(&self, task: TaskId) -> u64 {
        self.sched.se(task).vruntime.0
    }

    /// Moves a task in virtual time, in the order of the queue too if it waits there.
    pub(super) fn set_vruntime(&mut self, task: TaskId, ns: u64) {
        let se = self.sched.se_of(task);
        let root = self.sched.rqs[CPU].cfs;
        let waits = self.sched.tasks[task].state == TaskState::Queued;
        let timeline = &mut self.sched.cfs_rqs[root].timeline;
        if waits {
            assert!(timeline.remove(self.sched.ses[se].vruntime, se));
            timeline.insert(Vruntime(ns), se);
        }
        self.sched.ses[se].vruntime = Vruntime(ns);
    }

    pub(super) fn set_min_vruntime(&mut self, ns: u64) {
        let root = self.sched.rqs[CPU].cfs;
        self.sched.cfs_rqs[root].min_vruntime = Vruntime(ns);
    }

    pub(super) fn slice(&mut self, task: TaskId) -> u64 {
        self.sched.sched_slice(self.sched.se_of(task))
    }

    pub(super) fn place(&mut self, task: TaskId, why: Placement) -> u64 {
        let (root, se) = (self.sched.rqs[CPU].cfs, self.sched.se_of(task));
        self.call(|sched, cx| sched.place_entity(cx, root, se, why));
        self.vruntime(task)
    }

    pub(super) fn lead(&mut self, curr: TaskId, wakee: TaskId) -> Lead {
        let (curr, wakee) = (self.sched.se_of(curr), self.sched.se_of(wakee));
        self.sched.wakeup_preempt_entity(curr, wakee)
    }

    pub(super) fn schedule(&mut self) -> TaskId {
        self.call(|sched, cx| sched.schedule(cx)).next.expect("a task is runnable")
    }

    /// The tick at `ns`; schedules if that is due, and tells who runs then.
    pub(super) fn tick(&mut self, ns: u64) -> TaskId {
        self.now = Instant::from_ns(ns);
        self.call(|sched, cx| sched.sched_tick(cx));
        if self.sched.rq(CPU).resched_on_user_return() { self.schedule() } else { self.sched.rq(CPU).curr.expect("a task runs") }
    }
}
