//! What the tests of the fair class share: a scheduler without an engine.

use crate::fair::Lead;
use crate::fair::place::Placement;
use crate::task::TaskState;
use crate::{Ctx, Profile, Request, Sched};
use fairground_model::{
    Digest, MachineView, Meter, NullSink, Policy, Reason, Recorder, Sink, TaskGroupSpec, TaskSpec, TraceEvent,
};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, TaskId, TgId, Vruntime};

pub(in crate::fair) const CPU: CpuId = CpuId::new(0);
pub(in crate::fair) const MS: u64 = 1_000_000;

/// A scheduler on one CPU and a clock turned by hand.
pub(in crate::fair) struct Bench {
    pub(in crate::fair) sched: Sched,
    pub(in crate::fair) machine: MachineView,
    pub(in crate::fair) meter: Meter,
    pub(in crate::fair) requests: Vec<Request>,
    pub(in crate::fair) now: Instant,
    /// The CPU that calls.
    pub(in crate::fair) cpu: CpuId,
}

/// Keeps what was decided.
#[derive(Default)]
pub(in crate::fair) struct Decisions(pub(in crate::fair) Vec<Reason>);

impl Sink for Decisions {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(decision) = event {
            self.0.push(decision.reason);
        }
    }
}

impl Bench {
    pub(in crate::fair) fn new(profile: Profile) -> Bench {
        Bench::with_cpus(profile, 1)
    }

    /// As [`Bench::new`] with more CPUs; the first one calls until `cpu` is another.
    pub(in crate::fair) fn with_cpus(profile: Profile, cpus: usize) -> Bench {
        let machine = MachineView { irq_time_accounting: true, ..MachineView::flat(cpus, Ns(MS)) };
        let sched = Sched::new(profile, &machine);
        Bench { sched, machine, meter: Meter::free(), requests: Vec::new(), now: Instant::ZERO, cpu: CPU }
    }

    /// A group with those shares.
    pub(in crate::fair) fn group(&mut self, parent: Option<TgId>, shares: u64) -> TgId {
        let name = format!("/group{}", self.sched.groups.len());
        self.sched.add_group(&TaskGroupSpec { shares, ..TaskGroupSpec::new(name, parent) })
    }

    /// A task of a group, forked and queued on the calling CPU.
    pub(in crate::fair) fn queued_in(&mut self, group: Option<TgId>) -> TaskId {
        let mut spec = TaskSpec::new("task", ProgramId::new(0));
        spec.group = group;
        let task = self.sched.add_task(&spec, CpuMask::only(self.cpu));
        self.call(|sched, cx| sched.sched_fork(cx, None, task));
        let cpu = self.cpu;
        self.call(|sched, cx| sched.wake_up_new_task(cx, task, Some(cpu)));
        task
    }

    pub(in crate::fair) fn call_with<R>(
        &mut self,
        sink: &mut dyn Sink,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        let mut digest = Digest::default();
        let mut rec = Recorder::new(&mut digest, sink);
        let mut cx = Ctx {
            now: self.now,
            cpu: self.cpu,
            jiffies: self.now.ns() / self.machine.tick.ns(),
            until: Instant::MAX,
            switched: None,
            machine: &self.machine,
            meter: &mut self.meter,
            requests: &mut self.requests,
            trace: &mut rec,
        };
        call(&mut self.sched, &mut cx)
    }

    pub(in crate::fair) fn call<R>(&mut self, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        self.call_with(&mut NullSink, call)
    }

    /// A task of that policy and nice value, forked and queued.
    pub(in crate::fair) fn queued(&mut self, policy: Policy, nice: i8) -> TaskId {
        let task = self.forked(policy, nice);
        self.call(|sched, cx| sched.wake_up_new_task(cx, task, Some(CPU)));
        task
    }

    /// A task that has its first virtual time, but is not queued yet.
    pub(in crate::fair) fn forked(&mut self, policy: Policy, nice: i8) -> TaskId {
        let mut spec = TaskSpec::new("task", ProgramId::new(0));
        (spec.policy, spec.nice) = (policy, nice);
        let task = self.sched.add_task(&spec, CpuMask::only(CPU));
        self.call(|sched, cx| sched.sched_fork(cx, None, task));
        task
    }

    pub(in crate::fair) fn normal(&mut self, nice: i8) -> TaskId {
        self.queued(Policy::Normal, nice)
    }

    /// A task of that nice value that asked for a slice of its own before it was queued.
    pub(in crate::fair) fn queued_with_slice(&mut self, nice: i8, slice: Ns) -> TaskId {
        let task = self.forked(Policy::Normal, nice);
        self.call(|sched, cx| sched.set_slice(cx, task, Some(slice)));
        self.call(|sched, cx| sched.wake_up_new_task(cx, task, Some(CPU)));
        task
    }

    pub(in crate::fair) fn vruntime(&self, task: TaskId) -> u64 {
        self.sched.se(task).vruntime.0
    }

    /// Moves a task in virtual time, in the order of the queue too if it waits there.
    pub(in crate::fair) fn set_vruntime(&mut self, task: TaskId, ns: u64) {
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

    pub(in crate::fair) fn set_min_vruntime(&mut self, ns: u64) {
        let root = self.sched.rqs[CPU].cfs;
        self.sched.cfs_rqs[root].min_vruntime = Vruntime(ns);
    }

    pub(in crate::fair) fn slice(&mut self, task: TaskId) -> u64 {
        self.sched.sched_slice(self.sched.se_of(task))
    }

    pub(in crate::fair) fn place(&mut self, task: TaskId, why: Placement) -> u64 {
        let (root, se) = (self.sched.rqs[CPU].cfs, self.sched.se_of(task));
        self.call(|sched, cx| sched.place_entity(cx, root, se, why));
        self.vruntime(task)
    }

    pub(in crate::fair) fn lead(&mut self, curr: TaskId, wakee: TaskId) -> Lead {
        let (curr, wakee) = (self.sched.se_of(curr), self.sched.se_of(wakee));
        self.sched.wakeup_preempt_entity(curr, wakee)
    }

    pub(in crate::fair) fn schedule(&mut self) -> TaskId {
        self.call(|sched, cx| sched.schedule(cx)).next.expect("a task is runnable")
    }

    /// The tick at `ns`; schedules if that is due, and tells who runs then.
    pub(in crate::fair) fn tick(&mut self, ns: u64) -> TaskId {
        self.now = Instant::from_ns(ns);
        self.call(|sched, cx| sched.sched_tick(cx));
        if self.sched.rq(self.cpu).resched_on_user_return() {
            self.schedule()
        } else {
            self.sched.rq(self.cpu).curr.expect("a task runs")
        }
    }
}
