//! The core in its engine beside the slow model, on random workloads.

use super::workload::{Act, Change, Habit, What};
use super::{Fact, Reference, Setting};
use fairground_machine::machine::tick_of;
use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, Mode, Program, Sink, Start, TaskSet, TaskSpec, TimedChange, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Flow, Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId, Vruntime};

/// A random workload on a small machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// The kernel by name.
    pub kernel: &'static str,
    /// Switches that are turned: `NAME` or `NO_NAME`.
    pub switches: Vec<&'static str>,
    /// Another request than the kernel's, ns.
    pub base_slice: Option<u64>,
    /// CPUs.
    pub cpus: usize,
    /// Ticks per second.
    pub hz: u32,
    /// How much later each CPU ticks than the one before it, ns.
    pub tick_offset: u64,
    /// The tasks.
    pub habits: Vec<Habit>,
    /// What happens to them from outside, in order of time.
    pub changes: Vec<Change>,
    /// How long it runs, ns.
    pub duration: u64,
}

impl Workload {
    fn profile(&self) -> Result<Profile, String> {
        let mut profile = Profile::parse(self.kernel).map_err(|error| error.message)?;
        for switch in &self.switches {
            profile = profile.with_feature(switch).map_err(|error| error.message)?;
        }
        match self.base_slice {
            Some(slice) => profile.with_tunable("base_slice_ns", &slice.to_string()).map_err(|error| error.message),
            None => Ok(profile),
        }
    }

    pub(super) fn setting(&self) -> Option<Setting> {
        let mut setting = Setting::new(self.kernel, self.cpus, tick_of(self.hz).0)?;
        self.switches.iter().for_each(|switch| setting.turn(switch));
        self.base_slice.into_iter().for_each(|slice| setting.set_base_slice(slice));
        setting.set_tick_offset(self.tick_offset);
        Some(setting)
    }

    fn setup(&self) -> Result<Setup, String> {
        let mut machine = Machine::preset(&format!("smp-{}", self.cpus)).map_err(|error| format!("{error:?}"))?;
        (machine.hz, machine.tick, machine.tick_offset) = (self.hz, tick_of(self.hz), Ns(self.tick_offset));
        machine.costs = CostModel::preset("zero").map_err(|error| format!("{error:?}"))?;
        Ok(Setup {
            machine,
            profile: self.profile()?,
            tasks: self.task_set(),
            seed: 1,
            duration: Ns(self.duration),
            paranoid: true,
        })
    }

    fn task_set(&self) -> TaskSet {
        let mut set = TaskSet::default();
        for (row, habit) in self.habits.iter().enumerate() {
            let mut spec = TaskSpec::new(format!("task{row}"), set.programs.push(program(habit)));
            (spec.nice, spec.policy, spec.slice, spec.timer_slack) = (habit.nice, habit.policy, habit.slice.map(Ns), Ns::ZERO);
            spec.start = habit.start.map_or(Start::Forked, |at| Start::At(Instant::from_ns(at)));
            (spec.affinity, spec.first_cpu) = (Some(only(habit.cpu)), Some(CpuId::new(habit.cpu as u32)));
            set.tasks.push(spec);
        }
        set.changes = self.changes.iter().map(timed).collect();
        set
    }
}

fn only(cpu: usize) -> CpuMask {
    CpuMask::only(CpuId::new(cpu as u32))
}

fn program(habit: &Habit) -> Program {
    let instr = |act: &Act| match *act {
        Act::Run(time) => Instr::Run { work: Ns(time), mode: Mode::User },
        Act::Sleep(time) => Instr::Sleep { time: Ns(time) },
        Act::Yield => Instr::Yield,
        Act::Nice(nice) => Instr::SetNice { nice },
        Act::Slice(slice) => Instr::SetSlice { slice: slice.map(Ns) },
        Act::Fork(task) => Instr::Fork { task: TaskId::new(task as u32) },
    };
    let mut code: Vec<Instr> = habit.once.iter().chain(&habit.rounds).map(instr).collect();
    if !habit.rounds.is_empty() {
        code.push(Instr::Jump { to: habit.once.len() as u32 });
    }
    Program::from(code)
}

fn timed(change: &Change) -> TimedChange {
    let task = TaskId::new(change.task as u32);
    let what = match change.what {
        What::Nice(nice) => fairground_model::Change::Nice { task, nice },
        What::Slice(slice) => fairground_model::Change::Slice { task, slice: slice.map(Ns) },
        What::Move(cpu) => fairground_model::Change::Affinity { task, cpus: only(cpu) },
    };
    TimedChange { at: Instant::from_ns(change.at), change: what }
}

/// Keeps the facts of the core.
struct Facts {
    zero: Vruntime,
    facts: Vec<Fact>,
}

impl Sink for Facts {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let row = |task: TaskId| task.get() as usize;
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => {
                let (prev, next, cpu) = (prev.map(row), next.map(row), cpu.get() as usize);
                self.facts.push(Fact::Switch { at: at.ns(), cpu, prev, next });
            }
            TraceEvent::SchedStatRuntime { task, runtime, vruntime: Some(vruntime) } => {
                let vruntime = i128::from(vruntime.since(self.zero));
                self.facts.push(Fact::Ran { task: row(task), runtime: runtime.0, vruntime });
            }
            _ => {}
        }
    }
}

/// Runs both on the workload of a seed; the number of facts, or where they part in the smallest workload that
/// was found to do so.
pub fn compare(seed: u64) -> Result<usize, String> {
    let workload = Workload::random(seed);
    compare_workload(&workload).map_err(|difference| {
        let small = workload.shrunk(|smaller| compare_workload(smaller).is_err());
        let difference = compare_workload(&small).err().unwrap_or(difference);
        format!("seed {seed}: {difference}\n{small:#?}")
    })
}

/// Runs both on a workload; the number of facts, or where they part.
pub fn compare_workload(workload: &Workload) -> Result<usize, String> {
    let mut simulation = Simulation::new(workload.setup()?).map_err(|mistakes| format!("refused: {mistakes:?}"))?;
    let setting = workload.setting().ok_or("the slow model does not know this kernel")?;
    let mut reference = Reference::new(&setting, &workload.habits, &workload.changes);
    let mut core = Facts { zero: simulation.sched().cfs_rq(CpuId::new(0)).min_vruntime, facts: Vec::new() };
    simulation.introduce(&mut core);
    let (mut row, mut more) = (0, true);
    while more {
        more = simulation.step(&mut core).map_err(|stopped| stopped.to_string())? == Flow::More;
        while reference.facts().len() < core.facts.len() && reference.step(workload.duration) {}
        while row < core.facts.len() {
            if core.facts.get(row) != reference.facts().get(row) {
                return Err(difference(&simulation, &core.facts, &reference, row));
            }
            row += 1;
        }
    }
    match reference.run(workload.duration).get(row) {
        None => Ok(row),
        Some(_) => Err(difference(&simulation, &core.facts, &reference, row)),
    }
}

/// Both sides at the first fact in which they differ.
fn difference(simulation: &Simulation, core: &[Fact], reference: &Reference, row: usize) -> String {
    let slow = reference.facts();
    let mut text = format!("fact {row}: the core has {:?}, the model {:?}\nbefore:\n", core.get(row), slow.get(row));
    for fact in &slow[row.saturating_sub(10)..row.min(slow.len())] {
        text += &format!("  {fact:?}\n");
    }
    text += "the core:\n";
    let sched = simulation.sched();
    for cpu in sched.cpu_ids() {
        text += &format!("  {:?}\n", sched.cfs_rq(cpu));
    }
    for task in sched.task_ids() {
        text += &format!("  {task:?} {:?} {:?}\n", sched.task(task).state, sched.se(task));
    }
    text + &format!("the model:\n{}", reference.state())
}
