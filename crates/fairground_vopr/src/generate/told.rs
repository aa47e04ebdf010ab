//! Systems of which a core beside ours is told all: free operations, ticks that never stop, fair tasks that no one moves by force.

use super::capacity::some_clamps;
use super::deadline::some_deadline;
use super::energy::{differing, phone, some_energy};
use super::frequencies::{some_schedutil, some_shares};
use super::hotplug::some_hotplug;
use super::machine::shape;
use super::real_time::some_real_time;
use super::{duration, groups, tasks};
use crate::dice::Dice;
use fairground_machine::machine::tick_of;
use fairground_machine::{CostModel, Machine, Regular};
use fairground_model::{Change, CpuMax, Instr, TaskSet};
use fairground_sched::Profile;
use fairground_stdx::Ns;

/// Which mechanisms a system has besides tasks on CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// None: hogs, sleepers, pipes, locks, forks, nice values, policies of the fair class, affinity from the start.
    Tasks,
    /// Groups, their weights, cpu.idle, and tasks that move between them.
    Groups,
    /// Groups with quotas too.
    Quotas,
    /// Real-time tasks besides fair ones, and changes between both classes; some run long enough for limits of the class.
    RealTime,
    /// Deadline tasks besides fair ones, and changes between both classes.
    Deadline,
    /// Groups, and utilization clamps of tasks and groups, at the beginning and later.
    Clamps,
    /// Tasks that call exec, and groups that are removed.
    Exec,
    /// Points of frequency, schedutil and the governors that choose once, and changes of them; clamps.
    Schedutil,
    /// CPUs whose frequency is set in mid-run.
    Frequency,
    /// CPUs that go off line and come back.
    Hotplug,
    /// CPUs that differ in capacity.
    Asymmetric,
    /// Those, with schedutil and power of each point: wake-ups go by energy.
    Energy,
}

impl Told {
    fn has_groups(self) -> bool {
        matches!(self, Told::Groups | Told::Quotas | Told::Clamps | Told::Exec)
    }
}

pub(crate) fn told(seed: u64, profile: &Profile, hz: u32, what: Told) -> (Machine, Ns, TaskSet) {
    let mut dice = Dice::new(seed, 30);
    let shape = match what {
        Told::Energy => phone(&mut dice),
        // Siblings are alike.
        Told::Asymmetric => Regular { threads: 1, ..shape(&mut dice) },
        _ => shape(&mut dice),
    };
    let mut machine = machine(shape, hz);
    machine.name = "random".into();
    if matches!(what, Told::Asymmetric | Told::Energy) {
        differing(&mut Dice::new(seed, 41), &mut machine);
    }
    let mut duration = duration(&mut Dice::new(seed, 31), machine.cpus.len());
    if what == Told::RealTime {
        duration = duration.max(past_limits(&mut Dice::new(seed, 34), machine.cpus.len()));
    }
    let mut set = tasks(&mut Dice::new(seed, 32), &machine, profile, duration);
    if what == Told::RealTime {
        some_real_time(&mut Dice::new(seed, 35), duration, &mut set);
    }
    if what == Told::Deadline {
        some_deadline(&mut Dice::new(seed, 36), &machine, duration, &mut set, 1);
    }
    if what.has_groups() {
        let mut dice = Dice::new(seed, 33);
        for _ in 0..8 {
            groups(&mut dice, profile, duration, &mut set);
            if !set.groups.is_empty() {
                break;
            }
        }
    }
    match what {
        Told::Schedutil => some_schedutil(&mut Dice::new(seed, 38), duration, &mut machine, &mut set),
        Told::Frequency => some_shares(&mut Dice::new(seed, 39), machine.cpus.len(), duration, &mut set),
        Told::Energy => some_energy(&mut Dice::new(seed, 42), duration, &mut machine, &mut set),
        Told::Hotplug => some_hotplug(&mut Dice::new(seed, 40), machine.cpus.len(), duration, &mut set),
        _ => {}
    }
    if what == Told::Clamps {
        some_clamps(&mut Dice::new(seed, 37), profile, machine.cpus.len(), duration, &mut set);
    }
    only_told(&mut set, what);
    (machine, duration, set)
}

/// Real-time tasks have 950 ms of each second, or a server lets fair ones run after as long: some small systems run longer.
fn past_limits(dice: &mut Dice, cpus: usize) -> Ns {
    if cpus <= 4 && dice.once_in(4) { Ns(dice.between(1_000_000_000, 2_300_000_000)) } else { Ns::ZERO }
}

fn machine(shape: Regular, hz: u32) -> Machine {
    let mut machine = Machine::new("random", shape.cpus(), Vec::new());
    let nodes = machine.cpus.iter().map(|cpu| cpu.node as usize + 1).max().unwrap_or(1);
    machine.distances = (0..nodes).map(|from| (0..nodes).map(|to| if from == to { 10 } else { 20 }).collect()).collect();
    (machine.hz, machine.tick, machine.nohz_idle) = (hz, tick_of(hz), false);
    // The build of a tree has none of it.
    machine.irq_time_accounting = false;
    machine.costs = CostModel::preset("zero").expect("invariant: a price list that comes with us");
    machine
}

/// Leaves out what no entry tells of, and what a core cannot do.
fn only_told(set: &mut TaskSet, what: Told) {
    set.changes.retain(|timed| match timed.change {
        Change::Nice { .. } => true,
        Change::Policy { policy, .. } => policy.is_fair() || matches!(what, Told::RealTime | Told::Deadline),
        Change::Group { .. } | Change::Shares { .. } | Change::GroupIdle { .. } => what.has_groups(),
        Change::Clamp { .. } | Change::GroupClamp { .. } => what == Told::Clamps,
        Change::RemoveGroup { .. } => what == Told::Exec,
        Change::Governor { .. } => matches!(what, Told::Schedutil | Told::Energy),
        Change::FreqCapacity { .. } => what == Told::Frequency,
        Change::Hotplug { .. } => what == Told::Hotplug,
        _ => false,
    });
    for instr in set.programs.iter_mut().flat_map(|program| &mut program.code) {
        let untold = matches!(instr, Instr::Exec) && what != Told::Exec
            || matches!(instr, Instr::ThreadClock { .. } | Instr::SetSlice { .. } | Instr::SetAffinity { .. });
        if untold {
            *instr = Instr::Yield;
        }
    }
    for task in set.tasks.iter_mut() {
        (task.first_cpu, task.slice) = (None, None);
    }
    if what != Told::Quotas {
        set.groups.iter_mut().for_each(|group| group.limit = CpuMax::UNLIMITED);
    }
}
