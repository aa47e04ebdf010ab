//! Tasks that always run get what their weights entitle them to, within one turn of each.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground_machine::machine::{TICK_RATES, tick_of};
use fairground_machine::{CostModel, Machine};
use fairground_model::policy::SCHED_PRIO_TO_WEIGHT;
use fairground_model::{Instr, Mode, NullSink, Program, TaskSet, TaskSpec};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, RngStream, StreamKind};

fn hogs(nices: &[i8]) -> TaskSet {
    let mut set = TaskSet::default();
    let program = set.programs.push(Program::from(vec![Instr::Run { work: Ns(u64::MAX), mode: Mode::User }]));
    for &nice in nices {
        let mut task = TaskSpec::new("hog", program);
        task.nice = nice;
        set.tasks.push(task);
    }
    set
}

fn weight(nice: i8) -> u64 {
    u64::from(SCHED_PRIO_TO_WEIGHT[(i16::from(nice) + 20) as usize])
}

/// How far a task can get ahead of the leftmost in one turn: it is picked as the leftmost, and the
/// tick that ends its slice comes at most a tick late. A new task starts a slice behind as well.
///
/// ```text
/// turn = (max(period * w / W, min_granularity) + tick + jitter) * 1024 / w
/// ```
fn longest_turn(profile: &Profile, nices: &[i8], late: u64) -> u64 {
    let at = profile.tunables.at(1);
    let count = nices.len() as u64;
    let period = if count > at.nr_latency { count * at.min_granularity_ns } else { at.latency_ns };
    let sum: u64 = nices.iter().map(|&nice| weight(nice)).sum();
    let turn = |nice| ((period * weight(nice) / sum).max(at.min_granularity_ns) + late + 1) * 1024 / weight(nice) + 1;
    nices.iter().map(|&nice| turn(nice)).max().unwrap_or(0)
}

#[test]
fn virtual_times_of_hogs_stay_together() {
    let mut dice = RngStream::new(1, StreamKind::Vopr, 6);
    for case in 0..200 {
        let nices: Vec<i8> = (0..dice.between(1, 10)).map(|_| dice.between(0, 39) as i8 - 20).collect();
        let kernel = ["v4.20", "v5.10", "v5.19", "v6.1"][dice.below(4) as usize];
        let profile = Profile::parse(kernel).unwrap().with_feature("NO_START_DEBIT").unwrap();
        let mut machine = Machine::preset("smp-1").unwrap();
        machine.hz = TICK_RATES[dice.below(4) as usize];
        machine.tick = tick_of(machine.hz);
        machine.tick_jitter = Ns(dice.below(2) * 300_000);
        machine.costs = CostModel::preset("zero").unwrap();
        let bound = longest_turn(&profile, &nices, machine.tick.0 + machine.tick_jitter.0);
        let setup = Setup { machine, profile, tasks: hogs(&nices), seed: case, duration: Ns::from_ms(3_000), paranoid: false };
        let mut simulation = Simulation::new(setup).unwrap();
        for step_ms in 1..=30 {
            simulation.run_until(Instant::from_ns(step_ms * 100_000_000), &mut NullSink).unwrap();
            let sched = simulation.sched();
            let floor = sched.cfs_rq(CpuId::new(0)).min_vruntime;
            let ahead = sched.task_ids().map(|task| sched.se(task).vruntime.since(floor)).max().unwrap();
            let (least, most) = (-1, bound as i64);
            assert!((least..=most).contains(&ahead), "case {case}, {kernel}, {nices:?}: {ahead} ahead, at most {bound}");
        }
    }
}
