//! The core without its engine beside the slow model: random calls on one CPU, and after each of them the whole
//! state of both, field by field. Here tasks also have slices and policies that change.

use super::Setting;
use super::kernel::Protection;
use super::machine::Reference;
use super::queue::{Entity, Leave};
use super::random::{KERNELS, slice, turned};
use super::workload::Habit;
use crate::dice::Dice;
use fairground_model::{Digest, MachineView, Meter, NullSink, Policy, PrevState, Recorder, TaskSpec, WakeContext};
use fairground_sched::{Ctx, Profile, SCHED_CLOCK_AT_START, Sched, TaskState, WakeFlags, Waking};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, TaskId, Vruntime};
use std::fmt::Debug;

const CPU: CpuId = CpuId::new(0);
const TICK: u64 = 1_000_000;

/// A call. One that cannot be made as things are is passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Time passes, in ns.
    Wait(u64),
    /// The tick.
    Tick,
    /// A task begins.
    Fork(usize),
    /// A task that sleeps is woken.
    Wake(usize),
    /// schedule(), whether it is due or not.
    Schedule,
    /// The current task goes to sleep.
    Sleep,
    /// The current task ends.
    Exit,
    /// The current task yields.
    Yield,
    /// Another nice value.
    Nice(usize, i8),
    /// Another policy.
    Policy(usize, Policy),
    /// A slice of its own, or none.
    Slice(usize, Option<u64>),
}

/// A kernel and what is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calls {
    /// The kernel by name.
    pub kernel: &'static str,
    /// Switches that are turned: `NAME` or `NO_NAME`.
    pub switches: Vec<&'static str>,
    /// Tasks: nice value and policy.
    pub tasks: Vec<(i8, Policy)>,
    /// The calls.
    pub calls: Vec<Call>,
}

impl Calls {
    /// The calls of a seed.
    pub fn random(seed: u64) -> Calls {
        let mut dice = Dice::new(seed, 12);
        let kernel = dice.pick(&KERNELS);
        let switches = turned(&mut dice, kernel);
        let count = if dice.once_in(10) { dice.between(40, 80) } else { dice.between(1, 8) } as usize;
        let tasks: Vec<(i8, Policy)> = (0..count).map(|_| (nice(&mut dice), policy(&mut dice))).collect();
        let calls = (0..dice.between(10, 60) + 3 * count as u64).flat_map(|_| call(&mut dice, count)).collect();
        Calls { kernel, switches, tasks, calls }
    }

    fn without(&self, rows: std::ops::Range<usize>) -> Calls {
        let mut fewer = self.clone();
        fewer.calls.drain(rows);
        fewer
    }

    /// The fewest calls that were found of which `fails` still says so.
    fn shrunk(mut self, fails: impl Fn(&Calls) -> bool) -> Calls {
        let mut length = self.calls.len();
        while length > 0 {
            let starts = (0..=self.calls.len() - length.min(self.calls.len())).rev();
            match starts.map(|start| self.without(start..(start + length).min(self.calls.len()))).find(|fewer| fails(fewer)) {
                Some(fewer) if fewer.calls.len() < self.calls.len() => self = fewer,
                _ => length /= 2,
            }
        }
        for row in (0..self.switches.len()).rev() {
            let mut fewer = self.clone();
            fewer.switches.remove(row);
            if fails(&fewer) {
                self = fewer;
            }
        }
        self
    }
}

fn nice(dice: &mut Dice) -> i8 {
    dice.pick(&[0, 0, 0, 1, -1, 5, -5, 13, 19, -20])
}

fn policy(dice: &mut Dice) -> Policy {
    dice.pick(&[Policy::Normal, Policy::Normal, Policy::Normal, Policy::Normal, Policy::Batch, Policy::Idle])
}

/// A call, mostly after some time.
fn call(dice: &mut Dice, tasks: usize) -> Vec<Call> {
    let task = dice.index(tasks);
    let call = match dice.index(16) {
        0..3 => Call::Fork(task),
        3..6 => Call::Wake(task),
        6..8 => Call::Schedule,
        8..10 => Call::Sleep,
        10..12 => Call::Tick,
        12 => Call::Yield,
        13 => Call::Nice(task, nice(dice)),
        14 => Call::Slice(task, slice(dice)),
        _ if dice.once_in(3) => Call::Exit,
        _ => Call::Policy(task, policy(dice)),
    };
    match dice.index(4) {
        0 => vec![call],
        1 => vec![Call::Wait(dice.between(1, 5) * 1_000_000), call],
        _ => vec![Call::Wait(dice.time(1, 10_000_000)), call],
    }
}

/// The core, called by hand.
struct Core {
    sched: Sched,
    machine: MachineView,
    zero: Vruntime,
    now: u64,
}

impl Core {
    fn new(calls: &Calls) -> Result<Core, String> {
        let mut profile = Profile::parse(calls.kernel).map_err(|error| error.message)?;
        for switch in &calls.switches {
            profile = profile.with_feature(switch).map_err(|error| error.message)?;
        }
        let only = CpuMask::only(CPU);
        let machine = MachineView::flat(1, Ns(TICK));
        let mut sched = Sched::new(profile, &machine);
        for &(nice, policy) in &calls.tasks {
            let mut spec = TaskSpec::new("task", ProgramId::new(0));
            (spec.nice, spec.policy) = (nice, policy);
            sched.add_task(&spec, only);
        }
        let zero = sched.cfs_rq(CPU).min_vruntime;
        Ok(Core { sched, machine, zero, now: 0 })
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let (mut digest, mut meter, mut requests) = (Digest::default(), Meter::free(), Vec::new());
        let mut sink = NullSink;
        let mut trace = Recorder::new(&mut digest, &mut sink);
        let now = Instant::from_ns(self.now);
        let mut cx = Ctx {
            now,
            cpu: CPU,
            jiffies: now.ns() / TICK,
            until: Instant::MAX,
            switched: None,
            machine: &self.machine,
            meter: &mut meter,
            requests: &mut requests,
            trace: &mut trace,
        };
        call(&mut self.sched, &mut cx)
    }

    fn schedule(&mut self) {
        let switch = self.call(|sched, cx| sched.schedule(cx));
        if let Some(prev) = switch.prev {
            self.sched.finish_task_switch(prev);
        }
    }

    fn make(&mut self, call: Call) {
        let id = |task: usize| TaskId::new(task as u32);
        match call {
            Call::Wait(time) => self.now += time,
            Call::Tick => self.call(|sched, cx| sched.sched_tick(cx)),
            Call::Fork(task) => self.call(|sched, cx| {
                sched.sched_fork(cx, sched.rq(CPU).curr, id(task));
                sched.wake_up_new_task(cx, id(task), Some(CPU));
            }),
            Call::Wake(task) => self.call(|sched, cx| {
                let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
                if let Waking::Selected(cpu) = sched.ttwu_select(cx, id(task), flags) {
                    sched.ttwu_activate(cx, id(task), cpu);
                }
            }),
            Call::Schedule => self.schedule(),
            Call::Sleep | Call::Exit => {
                let state = if call == Call::Sleep { PrevState::Sleeping } else { PrevState::Dead };
                self.sched.set_current_state(CPU, state);
                self.schedule();
            }
            Call::Yield => {
                self.call(|sched, cx| sched.sched_yield(cx));
                self.schedule();
            }
            Call::Nice(task, nice) => self.call(|sched, cx| sched.set_user_nice(cx, id(task), nice)),
            Call::Policy(task, policy) => {
                let done = self.call(|sched, cx| sched.sched_setscheduler(cx, id(task), policy));
                assert!(done.is_ok(), "invariant: only deadline tasks are refused: {policy:?}");
            }
            Call::Slice(task, slice) => self.call(|sched, cx| sched.set_slice(cx, id(task), slice.map(Ns))),
        }
    }

    /// The clock of the queue, which lags behind until somebody reads the time. (A schedule() that a wake-up asked for
    /// goes by the reading of the wake-up.)
    fn clock(&self) -> u64 {
        self.sched.rq(CPU).clocks.clock_task - SCHED_CLOCK_AT_START
    }

    /// Whether a call can be made as things are.
    fn allows(&self, call: Call) -> bool {
        let state = |task: usize| self.sched.task(TaskId::new(task as u32)).state;
        match call {
            Call::Fork(task) => state(task) == TaskState::New,
            Call::Wake(task) => matches!(state(task), TaskState::Asleep | TaskState::Delayed),
            Call::Sleep | Call::Exit | Call::Yield => self.sched.rq(CPU).curr.is_some(),
            _ => true,
        }
    }

    /// Whether the core is as the model, or the first field in which it is not.
    fn agrees(&self, model: &Reference) -> Result<(), String> {
        let (rq, cfs, queue) = (self.sched.rq(CPU), self.sched.cfs_rq(CPU), &model.fair.queues[0]);
        same("the current task", rq.curr.map(row), queue.curr)?;
        same("the next buddy", self.buddy(), queue.next_buddy)?;
        same("the number of entities", cfs.nr_running as usize, model.fair.on_queue(0).len())?;
        same("min_vruntime", self.since_zero(cfs.min_vruntime), queue.min_vruntime)?;
        let (fast, slow) = ((rq.need_resched, rq.need_resched_lazy), (model.cpus[0].resched, model.cpus[0].resched_lazy));
        same("need_resched, need_resched_lazy", fast, slow)?;
        if let Some(curr) = rq.curr {
            same("whether the current task is protected", self.protects(curr, model), model.fair.protected(row(curr)))?;
        }
        self.sched.task_ids().zip(&model.fair.entities).try_for_each(|(task, slow)| self.task_agrees(task, slow))
    }

    fn task_agrees(&self, task: TaskId, slow: &Entity) -> Result<(), String> {
        let se = self.sched.se(task);
        let fast = (task, se.on_rq, se.sched_delayed, se.slice, i128::from(se.load.weight() >> 10));
        same("task, queued, delayed, slice, weight", fast, (task, slow.on_rq, slow.delayed, slow.slice, slow.w()))?;
        if self.sched.task(task).state == TaskState::New {
            return Ok(());
        }
        let deadline = if se.rel_deadline { i128::from(se.deadline.0 as i64) } else { self.since_zero(se.deadline) };
        let fast = (task, self.since_zero(se.vruntime), deadline, se.rel_deadline);
        same("task, vruntime, deadline, rel_deadline", fast, (task, slow.vruntime, slow.deadline, slow.relative))?;
        match se.on_rq {
            true => Ok(()),
            false => same("task, vlag", (task, i128::from(se.vlag)), (task, slow.lag)),
        }
    }

    fn since_zero(&self, time: Vruntime) -> i128 {
        i128::from(time.since(self.zero))
    }

    fn buddy(&self) -> Option<usize> {
        let marked = self.sched.cfs_rq(CPU).next?;
        self.sched.task_ids().find(|&task| marked == self.sched.task(task).se).map(row)
    }

    fn protects(&self, curr: TaskId, model: &Reference) -> bool {
        let se = self.sched.se(curr);
        match model.fair.kernel.protection {
            Protection::UntilDeadlineMoves => se.vprot == se.deadline,
            Protection::UpToVprot => se.vprot.since(se.vruntime) > 0,
        }
    }
}

fn row(task: TaskId) -> usize {
    task.get() as usize
}

fn same<T: PartialEq + Debug>(what: &str, core: T, model: T) -> Result<(), String> {
    if core == model { Ok(()) } else { Err(format!("{what}: the core has {core:?}, the model {model:?}")) }
}

/// The same call to the model.
fn make(model: &mut Reference, call: Call) {
    let curr = model.fair.queues[0].curr;
    match call {
        Call::Wait(_) => {}
        Call::Tick => model.tick(0),
        Call::Fork(task) => model.fork(task, curr),
        Call::Wake(task) => model.wake(task),
        Call::Schedule => model.schedule(0, None),
        Call::Sleep => model.schedule(0, Some(Leave::Sleep)),
        Call::Exit => model.schedule(0, Some(Leave::Exit)),
        Call::Yield => {
            curr.into_iter().for_each(|task| model.yields(0, task));
            model.schedule(0, None);
        }
        Call::Nice(task, nice) => model.set_nice(0, task, nice),
        Call::Policy(task, policy) => model.set_policy(0, task, policy),
        Call::Slice(task, slice) => model.set_slice(0, task, slice),
    }
}

/// Makes the calls of a seed to both; the number of calls that could be made, or where they part in the fewest calls
/// that were found to do so.
pub fn compare_calls(seed: u64) -> Result<usize, String> {
    let calls = Calls::random(seed);
    run(&calls).map_err(|difference| {
        let small = calls.shrunk(|fewer| run(fewer).is_err());
        let difference = run(&small).err().unwrap_or(difference);
        format!("seed {seed}: {difference}\n{small:#?}")
    })
}

fn run(calls: &Calls) -> Result<usize, String> {
    let mut core = Core::new(calls)?;
    let mut setting = Setting::new(calls.kernel, 1, TICK).ok_or("the slow model does not know this kernel")?;
    calls.switches.iter().for_each(|switch| setting.turn(switch));
    let habits: Vec<Habit> = calls.tasks.iter().map(|&(nice, policy)| Habit { nice, policy, ..Habit::hog() }).collect();
    let mut model = Reference::new(&setting, &habits, &[]);
    let mut made = 0;
    for &call in &calls.calls {
        if !core.allows(call) {
            continue;
        }
        let before = model.clone();
        core.make(call);
        model.now = core.clock();
        make(&mut model, call);
        made += 1;
        let held = core.sched.check().map_err(|broken| broken.0).and_then(|()| core.agrees(&model));
        held.map_err(|difference| {
            let (before, after) = (before.state(), model.state());
            format!("after call {made}, {call:?}: {difference}\nbefore:\n{before}after:\n{after}")
        })?;
    }
    Ok(made)
}
