//! The series of October 2018 as it was mailed (`v4.20+clock-pelt`) beside what was merged (`v5.1`): the signals in which they differ.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, MS, busy_until, cpu, setup, sleep, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Change, NullSink, Start, TaskSet, TimedChange, cgroup};
use fairground_sim::Simulation;
use fairground_stdx::{Instant, Ns, TaskId};

const MAILED: &str = "v4.20+clock-pelt";
const MERGED: &str = "v5.1";

/// One CPU with ticks of 1 ms on which nothing costs anything.
fn machine(capacity: u32, freq_capacity: u32) -> Machine {
    let mut machine = Machine::preset("smp-1").unwrap();
    machine.hz = 1000;
    machine.tick = Ns(MS);
    machine.costs = CostModel::preset("zero").unwrap();
    (machine.cpus[cpu(0)].capacity, machine.cpus[cpu(0)].freq_capacity) = (capacity, freq_capacity);
    machine
}

/// The state of a run at that time.
fn at(kernel: &str, machine: &Machine, set: &TaskSet, ms: u64) -> Simulation {
    let mut simulation = Simulation::new(setup(machine.clone(), kernel, set.clone(), 10_000 * MS)).unwrap();
    simulation.run_until(Instant::from_ns(ms * MS), &mut NullSink).unwrap();
    simulation
}

/// `clock_pelt`: the mailed series multiplies by the frequency first, the merged one by the capacity. A tick of 1 ms is 348,352 or
/// 348,351 ns of it.
#[test]
fn the_order_of_the_two_factors_shows_in_the_last_digit_of_clock_pelt() {
    let mut set = TaskSet::default();
    set.task("busy", vec![work(10_000 * MS)]);
    let gone = |kernel| {
        let clock = |ms| at(kernel, &machine(446, 819), &set, ms).sched().rq(cpu(0)).clocks.clock_pelt;
        clock(201) - clock(101)
    };
    assert_eq!([gone(MAILED), gone(MERGED)], [34_835_200, 34_835_100]);
}

/// A frequency that is set from outside reads no clock: the time since the last tick goes by the new one. A whole tick at 1024, and one at
/// 512 of 1024, though that was set in its middle.
#[test]
fn time_since_the_last_reading_goes_by_the_new_frequency() {
    let mut set = TaskSet::default();
    set.task("busy", vec![work(10_000 * MS)]);
    let change = Change::FreqCapacity { cpu: cpu(0), freq_capacity: 512 };
    set.changes.push(TimedChange { at: Instant::from_ns(100 * MS + MS / 2), change });
    let clock = |ms| at("v6.1", &machine(1024, 1024), &set, ms).sched().rq(cpu(0)).clocks.clock_pelt;
    assert_eq!(clock(102) - clock(100), MS + MS / 2);
}

/// `util_avg` and `lost_idle_time`: the mailed series asks at each update of an idle CPU's clock whether its idle time is lost, and
/// while it says yes nothing decays, so that it says yes again. The merged one asks when the CPU goes idle.
#[test]
fn utilisation_of_a_cpu_that_was_busy_for_long_stands_still_while_it_idles_only_as_mailed() {
    let mut set = TaskSet::default();
    set.task("long", [busy_until(2_000 * MS).to_vec(), vec![sleep(40 * MS), work(100 * MS)]].concat());
    let seen = |kernel| {
        let run = at(kernel, &machine(1024, 1024), &set, 2_041);
        (run.sched().se_avg(TaskId::new(0)).util_avg, run.sched().rq(cpu(0)).clocks.lost_idle_time / MS)
    };
    let (mailed, merged) = (seen(MAILED), seen(MERGED));
    assert_eq!(mailed, (1024, 40));
    assert!((430..=480).contains(&merged.0) && merged.1 == 0, "{merged:?}");
}

/// `load_avg` of a group: what its queue ran is taken for a time by dividing by the CPU's capacity in the mailed series, which left
/// that line of v4.20 alone, and by 1024 in the merged one. On half a CPU the former is twice the time that there was. (Right after, sums of 47,742 stand over a divider of at least 46,718.)
#[test]
fn a_group_on_a_small_cpu_has_twice_its_load_only_as_mailed() {
    let mut set = TaskSet::default();
    let group = cgroup::make(&mut set.groups, "/group");
    let busy = set.task("busy", vec![work(10_000 * MS)]);
    // A second task is born into the group: its load goes up to the group's entity.
    let guest = set.task("guest", vec![work(MS)]);
    set.tasks[guest].start = Start::At(Instant::from_ns(1_500 * MS));
    for task in [busy, guest] {
        set.tasks[task].group = Some(group);
    }
    let load = |kernel| {
        let run = at(kernel, &machine(512, 1024), &set, 1_501);
        let sched = run.sched();
        let group = sched.entity_ids().find(|&se| sched.entity(se).my_q.is_some()).unwrap();
        sched.entity_avg(group).load_avg
    };
    assert!(load(MAILED) > 1_900 && load(MERGED) <= 1_046, "{} and {}", load(MAILED), load(MERGED));
}
