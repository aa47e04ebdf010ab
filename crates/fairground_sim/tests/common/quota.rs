//! Groups with a quota, on machines where nothing but computing takes time.

use super::{Build, MS, free_machine, profile, work};
use fairground_model::{CpuMax, NullSink, TaskGroupSpec, TaskSet};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{Instant, Ns, TaskId, TgId};

pub(crate) const HOG: u64 = u64::MAX;

/// A group with a limit in ms.
pub(crate) fn group(set: &mut TaskSet, name: &str, parent: Option<TgId>, quota_ms: u64, period_ms: u64) -> TgId {
    let limit = CpuMax { quota: Some(Ns::from_ms(quota_ms)), period: Ns::from_ms(period_ms), burst: Ns::ZERO };
    set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new(name, parent) })
}

/// A hog of a group on one CPU.
pub(crate) fn hog(set: &mut TaskSet, group: TgId, cpu: u32) -> TaskId {
    let task = set.pinned(&format!("hog{cpu}"), cpu, vec![work(HOG)]);
    set.tasks[task].group = Some(group);
    task
}

/// All periods begin at whole multiples of them.
pub(crate) fn in_phase(name: &str) -> Profile {
    profile(name).with_seam("period_phase", "boot").unwrap()
}

pub(crate) fn simulation(set: TaskSet, cpus: usize, hz: u32, profile: Profile, ms: u64) -> Simulation {
    let setup =
        Setup { machine: free_machine(cpus, hz), profile, tasks: set, seed: 1, duration: Ns::from_ms(ms), paranoid: true };
    Simulation::new(setup).unwrap()
}

/// CPU time of each task in each stretch of `step` ms, in us.
pub(crate) fn shares(simulation: &mut Simulation, tasks: &[TaskId], step: u64, steps: u64) -> Vec<Vec<u64>> {
    let mut before = vec![0; tasks.len()];
    let mut rows = Vec::new();
    for index in 1..=steps {
        simulation.run_until(Instant::from_ns(index * step * MS), &mut NullSink).unwrap();
        let now = Instant::from_ns(index * step * MS);
        let ran: Vec<u64> = tasks.iter().map(|&task| ran(simulation, task, now)).collect();
        rows.push(ran.iter().zip(&before).map(|(now, before)| (now - before) / 1_000).collect());
        before = ran;
    }
    rows
}

/// What a task has run up to now, the stretch that is not accounted yet included.
pub(crate) fn ran(simulation: &Simulation, task: TaskId, now: Instant) -> u64 {
    let se = simulation.sched().se(task);
    let row = simulation.sched().task(task);
    let running = simulation.sched().rq(row.cpu).curr == Some(task);
    se.sum_exec_runtime + if running { now.saturating_since(se.accounted_until()).0 } else { 0 }
}
