//! The same calls to the core and to the model, and the whole state of both after each.

use super::calls::{Call, Calls};
use super::model::{Leaving, Model, Seen, Who};
use super::{picks, tree};
use fairground_model::{
    Decision, Digest, MachineView, Meter, Policy, PrevState, Reason, Recorder, Sink, TaskGroupSpec, TaskSpec, TraceEvent,
    WakeContext,
};
use fairground_sched::pelt::SchedAvg;
use fairground_sched::{Ctx, Profile, SCHED_CLOCK_AT_START, Sched, TaskState, WakeFlags, Waking};
use fairground_stdx::{CfsRqId, CpuId, CpuMask, Id, Instant, Ns, ProgramId, SeId, TaskId, TgId};
use std::fmt::Debug;

const TICK: u64 = 1_000_000;

/// The core, called by hand.
struct Core {
    sched: Sched,
    machine: MachineView,
    now: u64,
    decisions: Decisions,
}

/// What was decided in a call.
#[derive(Default)]
struct Decisions(Vec<Decision>);

impl Sink for Decisions {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(decision) = event {
            self.0.push(*decision);
        }
    }
}

/// What a call did that the model has to be told.
enum Done {
    Nothing,
    /// Somebody who slept on its queue was woken there.
    Requeued,
    /// Who was current, and is now.
    Switch(Option<usize>, Option<usize>),
}

fn cpu_id(cpu: usize) -> CpuId {
    CpuId::from_index(cpu)
}

fn task_id(task: usize) -> TaskId {
    TaskId::from_index(task)
}

fn group_id(group: usize) -> TgId {
    TgId::from_index(group)
}

impl Core {
    fn new(calls: &Calls) -> Result<Core, String> {
        let profile = Profile::parse(calls.kernel).map_err(|error| error.message)?;
        let machine = MachineView::flat(calls.cpus, Ns(TICK));
        let mut sched = Sched::new(profile, &machine);
        for (row, &(parent, shares, idle)) in calls.groups.iter().enumerate() {
            sched.add_group(&TaskGroupSpec { shares, idle, ..TaskGroupSpec::new(format!("/g{row}"), parent.map(group_id)) });
        }
        for &(group, nice, idle) in &calls.tasks {
            let mut spec = TaskSpec::new("task", ProgramId::new(0));
            (spec.nice, spec.group) = (nice, group.map(group_id));
            spec.policy = if idle { Policy::Idle } else { Policy::Normal };
            sched.add_task(&spec, CpuMask::first_n(calls.cpus));
        }
        Ok(Core { sched, machine, now: 0, decisions: Decisions::default() })
    }

    fn call<R>(&mut self, cpu: usize, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let (mut digest, mut meter, mut requests) = (Digest::default(), Meter::free(), Vec::new());
        let mut trace = Recorder::new(&mut digest, &mut self.decisions);
        let now = Instant::from_ns(self.now);
        let mut cx = Ctx {
            now,
            cpu: cpu_id(cpu),
            jiffies: self.now / TICK,
            until: Instant::MAX,
            switched: None,
            machine: &self.machine,
            meter: &mut meter,
            requests: &mut requests,
            trace: &mut trace,
        };
        call(&mut self.sched, &mut cx)
    }

    fn state(&self, task: usize) -> TaskState {
        self.sched.task(task_id(task)).state
    }

    fn curr(&self, cpu: usize) -> Option<usize> {
        self.sched.rq(cpu_id(cpu)).curr.map(Id::index)
    }

    fn cpu_of(&self, task: usize) -> usize {
        self.sched.task(task_id(task)).cpu.index()
    }

    fn allows(&self, call: Call) -> bool {
        let lives = |group: usize| !self.sched.group(group_id(group)).removed;
        match call {
            Call::Fork(task, _) => {
                self.state(task) == TaskState::New
                    && self.sched.task(task_id(task)).group.is_none_or(|group| lives(group.index()))
            }
            Call::Wake(task, _) => matches!(self.state(task), TaskState::Asleep | TaskState::Delayed),
            Call::Sleep(cpu) | Call::Exit(cpu) => self.curr(cpu).is_some(),
            Call::Migrate(task, cpu) => {
                matches!(self.state(task), TaskState::Queued | TaskState::Delayed) && self.cpu_of(task) != cpu
            }
            Call::Move(task, group) => !matches!(self.state(task), TaskState::New | TaskState::Dead) && group.is_none_or(lives),
            Call::Nice(task, _) => !matches!(self.state(task), TaskState::New | TaskState::Dead),
            Call::Shares(group, _) | Call::Idle(group, _) | Call::Remove(group) => lives(group),
            Call::Wait(_) | Call::Tick(_) | Call::Schedule(_) | Call::Blocked(_) => true,
        }
    }

    fn make(&mut self, call: Call) -> Result<Done, String> {
        self.decisions.0.clear();
        match call {
            Call::Wait(time) => self.now += time,
            Call::Tick(cpu) => self.call(cpu, |sched, cx| sched.sched_tick(cx)),
            Call::Fork(task, cpu) => {
                self.call(cpu, |sched, cx| {
                    sched.sched_fork(cx, None, task_id(task));
                    sched.wake_up_new_task(cx, task_id(task), Some(cpu_id(cpu)));
                });
            }
            Call::Wake(task, cpu) => {
                let requeued = self.call(cpu, |sched, cx| {
                    let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
                    match sched.ttwu_select(cx, task_id(task), flags) {
                        Waking::Selected(_) => {
                            sched.ttwu_activate(cx, task_id(task), cpu_id(cpu));
                            false
                        }
                        _ => true,
                    }
                });
                return Ok(if requeued { Done::Requeued } else { Done::Nothing });
            }
            Call::Schedule(cpu) => return self.schedule(cpu),
            Call::Sleep(cpu) | Call::Exit(cpu) => {
                let state = if matches!(call, Call::Sleep(_)) { PrevState::Sleeping } else { PrevState::Dead };
                self.sched.set_current_state(cpu_id(cpu), state);
                return self.schedule(cpu);
            }
            Call::Migrate(task, cpu) => {
                let from = self.cpu_of(task);
                self.call(from, |sched, cx| sched.detach_task(cx, task_id(task), cpu_id(cpu)));
                self.call(cpu, |sched, cx| sched.attach_task(cx, task_id(task)));
            }
            Call::Nice(task, nice) => self.call(0, |sched, cx| sched.set_user_nice(cx, task_id(task), nice)),
            Call::Move(task, group) => {
                self.call(0, |sched, cx| sched.sched_move_task(cx, task_id(task), group.map(group_id)));
            }
            Call::Shares(group, shares) => {
                self.call(0, |sched, cx| sched.sched_group_set_shares(cx, group_id(group), shares));
            }
            Call::Idle(group, idle) => self.call(0, |sched, cx| sched.sched_group_set_idle(cx, group_id(group), idle)),
            Call::Remove(group) => {
                let _busy = self.call(0, |sched, cx| sched.remove_group(cx, group_id(group)));
            }
            Call::Blocked(cpu) => self.call(cpu, |sched, cx| sched.update_blocked_averages(cx, cpu_id(cpu))),
        }
        Ok(Done::Nothing)
    }

    /// schedule() without balance, whose pick is checked.
    fn schedule(&mut self, cpu: usize) -> Result<Done, String> {
        let leaving = self.call(cpu, |sched, cx| sched.schedule_begin(cx));
        let mut before =
            Core { sched: self.sched.clone(), machine: self.machine.clone(), now: self.now, decisions: Decisions::default() };
        let marks = before.sched.clone();
        before.call(cpu, |sched, cx| sched.settle(cx));
        let switch = self.call(cpu, |sched, cx| sched.schedule_finish(cx, leaving));
        let switch = switch.ok_or("asks for a balance, though none was made")?;
        if let Some(prev) = switch.prev.filter(|_| switch.prev != switch.next) {
            self.sched.finish_task_switch(prev);
        }
        let first = self.decisions.0.iter().find(|decision| decision.reason == Reason::PickDelayed);
        if let Some(sleeper) = first {
            let se = self.entity_of(Core::who(sleeper.a, cpu));
            picks::check(&before.sched, &before.sched, cpu_id(cpu), &self.path(se))?;
        }
        if let Some(next) = switch.next {
            let path = self.path(self.sched.task(next).se);
            let marks = if first.is_none() { &before.sched } else { &marks };
            let sleeper = path.iter().find(|&&se| self.sched.entity(se).sched_delayed);
            if let Some(sleeper) = sleeper {
                return Err(format!("{sleeper:?} sleeps and was picked"));
            }
            if first.is_none() {
                picks::check(&before.sched, marks, cpu_id(cpu), &path)?;
            }
        } else if self.sched.cfs_rq(cpu_id(cpu)).nr_running != 0 {
            return Err(format!("nothing was picked on CPU {cpu}, where something is queued"));
        }
        Ok(Done::Switch(switch.prev.map(Id::index), switch.next.map(Id::index)))
    }

    /// The entities from the root's level down to `se`.
    fn path(&self, se: SeId) -> Vec<SeId> {
        let mut path = vec![se];
        while let Some(parent) = self.sched.entity(path[0]).parent {
            path.insert(0, parent);
        }
        path
    }

    fn who(id: u32, cpu: usize) -> Who {
        match Decision::who(id) {
            fairground_model::Who::Task(task) => Who::Task(task.index()),
            fairground_model::Who::Group(group) => Who::Group(group.index(), cpu),
        }
    }

    fn entity_of(&self, who: Who) -> SeId {
        match who {
            Who::Task(task) => self.sched.task(task_id(task)).se,
            Who::Group(group, cpu) => self.sched.group_on(group_id(group), cpu_id(cpu)).expect("invariant: it is used there").1,
        }
    }

    /// What the model takes from the core after a call that concerned `cpu`.
    fn seen(&self, cpu: usize, idle_clock: Vec<Option<(u64, u64)>>) -> Seen {
        let rule = self.sched.profile().pelt_clock;
        let delays = self.decisions.0.iter().filter_map(|decision| {
            let leaves = match decision.reason {
                Reason::PickDelayed => true,
                Reason::DelayRequeue | Reason::DelayZero => false,
                _ => return None,
            };
            Some((Core::who(decision.a, cpu), leaves))
        });
        let delayed = self.sched.entity_ids().filter(|&se| self.sched.entity(se).sched_delayed).map(|se| self.who_is(se));
        Seen {
            clock: self.sched.cpu_ids().map(|cpu| self.sched.rq(cpu).clocks.pelt(rule)).collect(),
            idle_clock,
            now: self.now + SCHED_CLOCK_AT_START,
            delays: delays.collect(),
            delayed: delayed.collect(),
        }
    }

    fn who_is(&self, se: SeId) -> Who {
        let entity = self.sched.entity(se);
        match (entity.task, entity.tg) {
            (Some(task), _) => Who::Task(task.index()),
            (_, group) => {
                Who::Group(group.expect("invariant: it is a group").index(), self.sched.queue(entity.cfs_rq).cpu.index())
            }
        }
    }

    /// Of each idle CPU: its clock of load tracking when it went idle, and the time since.
    fn idle_clocks(&self) -> Vec<Option<(u64, u64)>> {
        let now = self.now + SCHED_CLOCK_AT_START;
        let clock = |cpu| {
            let rq = self.sched.rq(cpu);
            rq.curr.is_none().then(|| (rq.clocks.clock_pelt_idle, now - rq.clocks.clock_idle))
        };
        self.sched.cpu_ids().map(clock).collect()
    }

    /// Whether the core is as the model, or the first field in which it is not.
    fn agrees(&mut self, model: &Model) -> Result<(), String> {
        for (row, group) in model.groups.iter().enumerate() {
            let core = self.sched.group(group_id(row));
            same(
                &format!("group {row}: load_avg, shares, idle"),
                (core.load_avg, core.shares, core.idle),
                (group.load_avg, group.shares, group.idle),
            )?;
        }
        for (&(group, cpu), &queue) in &model.at {
            let id = match group {
                None => self.sched.rq(cpu_id(cpu)).cfs,
                Some(group) => self.sched.group_on(group_id(group), cpu_id(cpu)).ok_or("a queue is missing")?.0,
            };
            let name = format!("queue of {group:?} on CPU {cpu}");
            self.queue_agrees(id, &model.queues[queue]).map_err(|differs| format!("{name}: {differs}"))?;
        }
        for (row, entity) in model.entities.iter().enumerate() {
            let who = model.who[row];
            let se = self.entity_of(who);
            self.entity_agrees(se, entity).map_err(|differs| format!("{who:?}: {differs}"))?;
        }
        for (row, task) in model.tasks.iter().enumerate().filter(|(row, _)| self.state(*row) != TaskState::New) {
            let entity = &model.entities[task.entity];
            let slow = entity.avg.load_avg * model.h_load(entity.queue) / (model.queues[entity.queue].avg.load_avg + 1);
            // On a copy, which has not kept what it worked out earlier in this jiffy.
            let mut copy =
                Core { sched: self.sched.clone(), machine: self.machine.clone(), now: self.now, decisions: Decisions::default() };
            copy.now += 1 << 40;
            let fast = copy.call(0, |sched, cx| sched.task_h_load(cx, task_id(row)));
            same(&format!("h_load of task {row}"), fast, slow)?;
        }
        Ok(())
    }

    fn queue_agrees(&self, id: CfsRqId, slow: &tree::Queue) -> Result<(), String> {
        let fast = self.sched.queue(id);
        same("load, entities", (fast.load.weight(), fast.nr_running), (slow.load, slow.nr))?;
        same("tasks, runnable", (fast.h_nr_running, fast.h_nr_runnable), (slow.tasks, slow.runnable))?;
        same("second load", fast.runnable_weight, slow.second_load)?;
        same("averages", averages(self.sched.queue_avg(id)), averages(&slow.avg))?;
        same("told", fast.tg_load_avg_contrib, slow.told)?;
        same("to propagate", (fast.propagate, fast.prop_runnable_sum), (slow.changed, slow.change))
    }

    fn entity_agrees(&self, se: SeId, slow: &tree::Entity) -> Result<(), String> {
        let fast = self.sched.entity(se);
        same(
            "weight, queued, delayed",
            (fast.load.weight(), fast.on_rq, fast.sched_delayed),
            (slow.weight, slow.on, slow.delayed),
        )?;
        same("second weight", fast.runnable_weight, slow.second)?;
        same("averages", averages(self.sched.entity_avg(se)), averages(&slow.avg))
    }
}

type Averages = [(&'static str, u64); 8];

fn averages(avg: &SchedAvg) -> Averages {
    [
        ("last_update_time", avg.last_update_time),
        ("period_contrib", u64::from(avg.period_contrib)),
        ("load_avg", avg.load_avg),
        ("load_sum", avg.load_sum),
        ("util_avg", u64::from(avg.util_avg)),
        ("util_sum", u64::from(avg.util_sum)),
        ("runnable_avg", avg.runnable_avg),
        ("runnable_sum", avg.runnable_sum),
    ]
}

fn same<T: PartialEq + Debug>(what: &str, core: T, model: T) -> Result<(), String> {
    if core == model { Ok(()) } else { Err(format!("{what}:\n  the core has  {core:?}\n  the model     {model:?}")) }
}

/// The same call to the model.
fn make(model: &mut Model, call: Call, done: &Done, core: &Core, before: &[(TaskState, i8)]) {
    let queued = |task: usize| matches!(before[task].0, TaskState::Running | TaskState::Queued | TaskState::Delayed);
    let running = |task: usize| before[task].0 == TaskState::Running;
    match call {
        Call::Wait(_) => {}
        Call::Tick(cpu) => core.curr(cpu).into_iter().for_each(|task| model.tick(task)),
        Call::Fork(task, cpu) => model.start(task, model.tasks[task].cpu, cpu),
        Call::Wake(task, cpu) => match done {
            Done::Requeued => model.requeue(task),
            _ => model.wake(task, cpu),
        },
        Call::Schedule(_) | Call::Sleep(_) | Call::Exit(_) => {
            let Done::Switch(prev, next) = *done else { return };
            if let Some(task) = prev.filter(|_| !matches!(call, Call::Schedule(_))) {
                model.dequeue(task, Leaving { sleeps: true, may_delay: matches!(call, Call::Sleep(_)), migrates: false });
            }
            for (who, _) in model.seen.delays.clone().into_iter().filter(|row| row.1) {
                model.complete(who);
            }
            if prev != next {
                model.switch(prev, next);
            }
            if let Some(task) = prev.filter(|_| matches!(call, Call::Exit(_))) {
                model.end(task);
            }
        }
        Call::Migrate(task, cpu) => model.migrate(task, cpu),
        Call::Nice(task, nice) => {
            let weight = core.sched.se(task_id(task)).load.weight();
            if nice != before[task].1 {
                model.change_weight(task, weight, queued(task), running(task));
            }
        }
        Call::Move(task, group) => {
            if model.tasks[task].group != group {
                model.change_group(task, group, queued(task), running(task));
            }
        }
        Call::Shares(group, shares) => {
            if !model.groups[group].idle {
                model.set_shares(group, shares, false);
            }
        }
        Call::Idle(group, idle) => {
            if model.groups[group].idle != idle {
                model.groups[group].idle = idle;
                model.set_shares(group, 1024, idle);
            }
        }
        Call::Remove(group) => {
            if core.sched.group(group_id(group)).removed {
                model.remove_group(group);
            }
        }
        Call::Blocked(cpu) => model.age_blocked(cpu),
    }
}

/// Makes the calls of a seed to both; the number of calls that could be made, or where they part in the fewest calls
/// that were found to do so.
pub fn compare(seed: u64) -> Result<usize, String> {
    let calls = Calls::random(seed);
    run(&calls).map_err(|difference| {
        let small = calls.shrunk(|fewer| run(fewer).is_err());
        let difference = run(&small).err().unwrap_or(difference);
        format!("seed {seed}: {difference}\n{small:?}")
    })
}

/// Makes calls to both.
fn run(calls: &Calls) -> Result<usize, String> {
    let mut core = Core::new(calls)?;
    let mut model = Model::new(calls.kernel, calls.cpus);
    for &(parent, shares, idle) in &calls.groups {
        model.add_group(parent, shares, idle);
    }
    for (row, &(group, ..)) in calls.tasks.iter().enumerate() {
        model.add_task(group, 0, core.sched.se(task_id(row)).load.weight());
    }
    let mut made = 0;
    for &call in &calls.calls {
        if !core.allows(call) {
            continue;
        }
        let states: Vec<_> = (0..calls.tasks.len()).map(|task| (core.state(task), core.sched.task(task_id(task)).nice)).collect();
        let cpu = match call {
            Call::Tick(cpu) | Call::Fork(_, cpu) | Call::Wake(_, cpu) | Call::Schedule(cpu) | Call::Sleep(cpu) => cpu,
            Call::Exit(cpu) | Call::Blocked(cpu) | Call::Migrate(_, cpu) => cpu,
            Call::Nice(task, _) | Call::Move(task, _) => core.cpu_of(task),
            Call::Wait(_) | Call::Shares(..) | Call::Idle(..) | Call::Remove(_) => 0,
        };
        let idle_clocks = core.idle_clocks();
        let at = |difference: String| format!("call {made}, {call:?}: {difference}");
        let done = core.make(call).map_err(at)?;
        model.seen = core.seen(cpu, idle_clocks);
        make(&mut model, call, &done, &core, &states);
        made += 1;
        let at = |difference: String| format!("after call {made}, {call:?}: {difference}");
        core.sched.check().map_err(|broken| at(broken.0))?;
        core.agrees(&model).map_err(at)?;
    }
    Ok(made)
}
