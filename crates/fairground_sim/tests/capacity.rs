//! Clamps, energy and lost capacity in whole runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, cpu, free_machine, repeat, setup, sleep, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Change, Instr, Reason, TaskSet, TraceEvent, UtilClamp};
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuMask, Ns};

fn asks(min: Option<u32>, max: Option<u32>) -> UtilClamp {
    UtilClamp { min, max }
}

/// A machine without prices, with 1000 ticks per second.
fn free(preset: &str) -> Machine {
    let mut machine = Machine::preset(preset).unwrap();
    (machine.hz, machine.tick) = (1000, Ns(MS));
    machine.costs = CostModel::preset("zero").unwrap();
    machine
}

/// Where a task ran, ns per CPU.
fn places(log: &Log, task: u32) -> Vec<u64> {
    let mut ran = vec![0; 16];
    let mut since: Option<(u64, usize)> = None;
    for (at, cpu, event) in &log.events {
        let TraceEvent::SchedSwitch { prev, next, .. } = event else { continue };
        if prev.is_some_and(|prev| prev.get() == task)
            && let Some((from, place)) = since.take()
        {
            ran[place] += at - from;
        }
        if next.is_some_and(|next| next.get() == task) {
            since = Some((*at, cpu.get() as usize));
        }
    }
    if let Some((from, place)) = since {
        ran[place] += log.end - from;
    }
    ran
}

fn chosen(log: &Log, reason: Reason) -> usize {
    let is = |event: &TraceEvent| matches!(event, TraceEvent::Decision(decision) if decision.reason == reason);
    log.events.iter().filter(|row| is(&row.2)).count()
}

/// A task that never sleeps, capped at 512 on the biggest CPU: its utilisation knows nothing of that.
///
/// Model: 04 T11
#[test]
fn a_cap_does_not_change_utilisation() {
    let mut set = TaskSet::default();
    let task = set.pinned("hog", 0, vec![work(u64::MAX / 2)]);
    set.tasks[task].clamp = asks(None, Some(512));
    let mut simulation = Simulation::new(setup(free_machine(1, 1000), "v5.19", set, 400 * MS)).unwrap();
    let mut log = Log::default();
    simulation.run(&mut log).unwrap();
    let sample = log.events.iter().rev().find_map(|row| match row.2 {
        TraceEvent::CfsSample { util_avg, .. } => Some(util_avg),
        _ => None,
    });
    assert!(sample.unwrap() >= 1020, "{sample:?}");
    assert_eq!(simulation.sched().effective_clamp(task), (0, 512));
}

/// Kernels up to v5.2 know no clamps, up to v5.3 none of groups: both are refused by name, with what contradicts itself.
#[test]
fn clamps_are_refused_where_the_kernel_has_none() {
    let mut set = TaskSet::default();
    let task = set.task("asks", vec![work(MS)]);
    set.tasks[task].clamp = asks(Some(600), Some(500));
    let group = set.groups.push(fairground_model::TaskGroupSpec {
        clamp: asks(Some(1), None),
        ..fairground_model::TaskGroupSpec::new("/group", None)
    });
    set.at(MS, Change::GroupClamp { group, clamp: asks(None, Some(1)) });
    set.at(MS, Change::Pressure { cpu: cpu(0), lost: 100 });
    let wrong = Simulation::new(setup(free_machine(1, 1000), "v5.1", set, 10 * MS)).err().unwrap().to_string();
    for part in
        ["task `asks` asks for a utilization clamp", "group `/group` has utilization clamps", "(EINVAL)", "no thermal pressure"]
    {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
}

/// A light task runs on a small CPU of Juno, a capped hog too; one that asks for much on a big one.
///
/// Model: 04 T13
#[test]
fn on_juno_light_and_capped_tasks_run_on_small_cpus() {
    for kernel in ["v5.10", "v5.19", "v6.1", "v6.14"] {
        let of = |clamp: UtilClamp, run: u64| {
            let mut set = TaskSet::default();
            let task = set.task("light", vec![work(run), sleep(16 * MS), repeat(60)]);
            set.tasks[task].clamp = clamp;
            set.tasks[task].first_cpu = Some(cpu(1));
            let log = Log::of(Setup { machine: free("juno-r0"), ..setup(free_machine(1, 1000), kernel, set, 1000 * MS) });
            let ran = places(&log, 0);
            (ran[1] + ran[2], ran[0] + ran[3..6].iter().sum::<u64>(), chosen(&log, Reason::SelectEnergy))
        };
        let (big, little, moves) = of(UtilClamp::NONE, MS / 2);
        assert!(little > 10 * big && moves > 0, "{kernel}: {big} ns on big CPUs, {little} ns on little ones, {moves} moves");
        let (big, little, _) = of(asks(Some(800), None), MS / 2);
        assert!(big > 10 * little, "{kernel}, at least 800: {big} ns on big CPUs, {little} ns on little ones");
    }
}

/// As soon as a CPU has more to do than it can the ordinary placement is back, and hogs get the big CPUs.
///
/// Model: 04 T13
#[test]
fn hogs_suspend_energy_aware_placement_and_get_the_big_cpus() {
    for kernel in ["v5.10", "v5.19", "v6.1", "v6.14"] {
        let mut set = TaskSet::default();
        (0..2).for_each(|row| {
            let task = set.task(&format!("hog{row}"), vec![work(u64::MAX / 2)]);
            set.tasks[task].first_cpu = Some(cpu(3 + row));
        });
        let log = Log::of(Setup { machine: free("juno-r0"), ..setup(free_machine(1, 1000), kernel, set, 1000 * MS) });
        for task in 0..2 {
            let ran = places(&log, task);
            assert!(ran[1] + ran[2] > 700 * MS, "{kernel}: hog {task} ran {ran:?}");
        }
    }
}

/// What a CPU has lost counts as its average: half of it after 32 ms, nearly all after 345 ms.
#[test]
fn lost_capacity_is_averaged() {
    for (kernel, left) in [("v5.1", 1024), ("v5.19", 820), ("v6.14", 820)] {
        let mut set = TaskSet::default();
        set.pinned("hog", 0, vec![work(u64::MAX / 2)]);
        if kernel != "v5.1" {
            set.at(100 * MS, Change::Pressure { cpu: cpu(0), lost: 205 });
        }
        let mut simulation = Simulation::new(setup(free_machine(2, 1000), kernel, set, 600 * MS)).unwrap();
        let mut log = Log::default();
        simulation.run(&mut log).unwrap();
        let (average, capacity) = simulation.sched().hw_load_avg(cpu(0));
        assert!(average.abs_diff(1024 - left) <= 1 && capacity.abs_diff(left) <= 1, "{kernel}: {average} lost, {capacity} left");
    }
    let mut set = TaskSet::default();
    set.pinned("hog", 0, vec![work(u64::MAX / 2)]);
    set.at(100 * MS, Change::Pressure { cpu: cpu(0), lost: 512 });
    let mut simulation = Simulation::new(setup(free_machine(1, 1000), "v5.19", set, 132 * MS)).unwrap();
    simulation.run(&mut Log::default()).unwrap();
    let (average, _) = simulation.sched().hw_load_avg(cpu(0));
    assert!(average.abs_diff(256) <= 12, "{average} of 512 after 32 ms");
}

/// Requests in mid-run, in programs, by groups, hotplug and moves: all under every check.
#[test]
fn clamps_hold_together_whatever_happens() {
    for kernel in ["v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18"] {
        let mut set = TaskSet::default();
        let group = set.groups.push(fairground_model::TaskGroupSpec::new("/group", None));
        for row in 0..6_u64 {
            let code = vec![
                work((row + 1) * MS),
                Instr::SetClamp { clamp: asks(Some(100 * row as u32), Some(1024 - 100 * row as u32)) },
                sleep(2 * MS),
                work(MS),
                repeat(40),
            ];
            let task = set.task(&format!("task{row}"), code);
            set.tasks[task].group = (row % 2 == 0).then_some(group);
            set.at(20 * MS + row, Change::Clamp { task, clamp: asks(None, Some(300)) });
            set.at(30 * MS + row, Change::Group { task, group: (row % 2 == 1).then_some(group) });
            set.at(40 * MS + row, Change::Affinity { task, cpus: CpuMask::only(cpu(row as u32)) });
        }
        set.at(25 * MS, Change::GroupClamp { group, clamp: asks(Some(512), Some(700)) });
        set.at(35 * MS, Change::GroupClamp { group, clamp: asks(None, Some(200)) });
        set.at(50 * MS, Change::Hotplug { cpu: cpu(1), online: false });
        set.at(60 * MS, Change::Hotplug { cpu: cpu(1), online: true });
        set.at(70 * MS, Change::Pressure { cpu: cpu(2), lost: 300 });
        let of =
            |set: TaskSet| Log::of(Setup { machine: free("juno-r0"), ..setup(free_machine(1, 1000), kernel, set, 300 * MS) });
        assert_eq!(of(set.clone()).digest, of(set).digest, "{kernel}");
    }
}
