//! The same tasks under our core and our engine, without prices.

use super::driver::{Job, Switch};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, Mode, Program, Sink, TaskSet, TaskSpec, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Flow, Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

#[derive(Default)]
struct Seen {
    switches: Vec<(u64, u32, Option<TaskId>, Option<TaskId>)>,
    wakeups: Vec<(u64, u32, u32)>,
}

impl Sink for Seen {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => self.switches.push((at.ns(), cpu.get(), prev, next)),
            TraceEvent::SchedWakeup { task, target_cpu } => self.wakeups.push((at.ns(), task.get(), target_cpu.get())),
            _ => {}
        }
    }
}

fn program(job: Job) -> Program {
    let run = Instr::Run { work: Ns(if job.sleep_ns == 0 { u64::MAX } else { job.run_ns }), mode: Mode::User };
    let mut code = vec![run];
    if job.sleep_ns > 0 {
        code.push(Instr::Sleep { time: Ns(job.sleep_ns) });
        code.push(Instr::Repeat { counter: 0, times: u64::MAX, to: 0 });
    }
    Program::from(code)
}

/// A run of ours, not yet begun.
pub(crate) fn simulation(profile: Profile, jobs: &[Job], cpus: usize, length_ns: u64) -> Simulation {
    let mut machine = Machine::preset(&format!("smp-{cpus}")).unwrap();
    (machine.hz, machine.tick, machine.nohz_idle) = (250, Ns(super::driver::TICK_NS), false);
    machine.costs = CostModel::preset("zero").unwrap();
    let mut tasks = TaskSet::default();
    for (row, &job) in jobs.iter().enumerate() {
        let program = tasks.programs.push(program(job));
        let mut task = TaskSpec::new(format!("t{row}"), program);
        (task.nice, task.timer_slack) = (job.nice, Ns(0));
        tasks.tasks.push(task);
    }
    Simulation::new(Setup { machine, profile, tasks, seed: 1, duration: Ns(length_ns), paranoid: false }).unwrap()
}

/// All switches of a run, and each wake-up: when, who, and on which CPU.
pub(crate) fn switches(mut simulation: Simulation) -> (Vec<Switch>, Vec<(u64, u32, u32)>) {
    let (mut seen, mut all) = (Seen::default(), Vec::new());
    loop {
        let flow = simulation.step(&mut seen).unwrap();
        let sched = simulation.sched();
        let numbers =
            |task: Option<TaskId>| task.map_or((0, 0), |task| (sched.se(task).vruntime.0, sched.se_avg(task).util_avg.into()));
        for (at_ns, cpu, prev, next) in seen.switches.drain(..) {
            let row = |task: Option<TaskId>| task.map(TaskId::get);
            let (prev_numbers, next_numbers) = (numbers(prev), numbers(next));
            all.push(Switch { at_ns, cpu, prev: row(prev), next: row(next), prev_numbers, next_numbers });
        }
        if flow == Flow::Done {
            return (all, seen.wakeups);
        }
    }
}
