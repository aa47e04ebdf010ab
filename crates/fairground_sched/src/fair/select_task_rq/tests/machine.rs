//! What tests of placement share: a scheduler on a machine of many CPUs, without an engine.

use crate::fair::select_task_rq::{Placing, Wake};
use crate::{Ctx, Profile, Request, Sched};
use fairground_machine::Machine;
use fairground_model::features::FeatWrite;
use fairground_model::{Digest, MachineView, Meter, Op, PrevState, Reason, Recorder, Sink, TaskSpec, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, TaskId};

pub(crate) const JIFFY: Ns = Ns::from_ms(1);

pub(crate) fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}

/// CPU 0 to 7 under one cache, without siblings.
pub(crate) fn flat8() -> MachineView {
    MachineView::flat(8, JIFFY)
}

pub(crate) fn preset(name: &str) -> MachineView {
    Machine::preset(name).expect("a preset").view()
}

/// Keeps the rules that chose CPUs.
#[derive(Default)]
struct Choices(Vec<Reason>);

impl Sink for Choices {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(decision) = event {
            self.0.push(decision.reason);
        }
    }
}

pub(crate) struct TestMachine {
    pub(crate) sched: Sched,
    pub(crate) view: MachineView,
    pub(crate) meter: Meter,
    pub(crate) jiffies: u64,
    pub(crate) now: Instant,
    requests: Vec<Request>,
    choices: Choices,
}

impl TestMachine {
    pub(crate) fn new(kernel: &str, view: MachineView) -> TestMachine {
        TestMachine::of(Profile::parse(kernel).expect("a kernel"), view)
    }

    pub(crate) fn of(profile: Profile, view: MachineView) -> TestMachine {
        let sched = Sched::new(profile, &view);
        let (meter, requests, choices) = (Meter::free(), Vec::new(), Choices::default());
        TestMachine { sched, view, meter, jiffies: 100, now: Instant::from_ns(1_000_000), requests, choices }
    }

    pub(crate) fn with_feature(mut self, feature: &str) -> TestMachine {
        self.sched.set_feature(FeatWrite::parse(feature).expect("a feature"));
        self
    }

    pub(crate) fn on<R>(&mut self, this: u32, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let mut digest = Digest::default();
        let mut recorder = Recorder::new(&mut digest, &mut self.choices);
        let mut cx = Ctx {
            now: self.now,
            cpu: cpu(this),
            jiffies: self.jiffies,
            until: Instant::MAX,
            switched: None,
            machine: &self.view,
            meter: &mut self.meter,
            requests: &mut self.requests,
            trace: &mut recorder,
        };
        call(&mut self.sched, &mut cx)
    }

    /// A task that may use all CPUs and runs on `number`.
    pub(crate) fn running(&mut self, number: u32) -> TaskId {
        let spec = TaskSpec::new("task", ProgramId::new(0));
        let task = self.sched.add_task(&spec, CpuMask::first_n(self.view.cpus.len()));
        self.begin(number, task);
        task
    }

    /// A task is forked and queued on `number`, and runs there if nobody else does.
    pub(crate) fn begin(&mut self, number: u32, task: TaskId) {
        self.on(number, |sched, cx| {
            sched.sched_fork(cx, None, task);
            sched.wake_up_new_task(cx, task, Some(cx.cpu));
            if sched.rq(cx.cpu).curr.is_none() {
                sched.schedule(cx);
            }
        });
    }

    pub(crate) fn busy(&mut self, cpus: impl IntoIterator<Item = u32>) {
        cpus.into_iter().for_each(|number| {
            self.running(number);
        });
    }

    /// A task that ran on `number` and sleeps.
    pub(crate) fn sleeper(&mut self, number: u32) -> TaskId {
        let task = self.running(number);
        self.sleep(task);
        task
    }

    /// The only task of its CPU goes to sleep.
    pub(crate) fn sleep(&mut self, task: TaskId) {
        let prev = self.sched.task(task).cpu;
        self.on(prev.get(), |sched, cx| {
            sched.set_current_state(prev, PrevState::Sleeping);
            sched.schedule(cx);
            sched.finish_task_switch(task);
        });
    }

    pub(super) fn placing(&self, task: TaskId, this: u32, sync: bool) -> Placing {
        Placing { task, this: cpu(this), prev: self.sched.task(task).cpu, sync, in_task: true }
    }

    /// Chooses a CPU for a sleeper that a task on `this` wakes; with the rule.
    pub(crate) fn wake(&mut self, task: TaskId, this: u32, sync: bool) -> (u32, Reason) {
        self.choose(task, this, Wake::Ttwu { sync, context: WakeContext::Task })
    }

    pub(crate) fn choose(&mut self, task: TaskId, this: u32, wake: Wake) -> (u32, Reason) {
        self.choices.0.clear();
        let chosen = self.on(this, |sched, cx| sched.select_task_rq_at_once(cx, task, wake));
        (chosen.get(), *self.choices.0.last().expect("a choice has a rule"))
    }

    /// The idle search alone, for `target`.
    pub(crate) fn search(&mut self, task: TaskId, this: u32, target: u32) -> (u32, Reason) {
        let placing = self.placing(task, this, false);
        let (chosen, reason) =
            self.on(this, |sched, cx| sched.place_near(cx, &placing, cpu(target), false)).expect("chosen at once");
        (chosen.get(), reason)
    }

    /// Run queues looked at by what `act` does.
    pub(crate) fn looks<R>(&mut self, act: impl FnOnce(&mut TestMachine) -> R) -> (R, u64) {
        let before = self.meter.total(Op::ScanCpu);
        let result = act(self);
        (result, self.meter.total(Op::ScanCpu) - before)
    }

    pub(crate) fn allow(&mut self, task: TaskId, cpus: &str) {
        self.sched.tasks[task].cpus_allowed = CpuMask::parse_list(cpus).expect("a list").into();
    }
}
