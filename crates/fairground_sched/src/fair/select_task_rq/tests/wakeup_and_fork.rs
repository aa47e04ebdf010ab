//! Worked examples of wake-up placement, and forks.

use super::machine::{TestMachine, cpu, flat8, preset};
use crate::fair::select_task_rq::affine::WeightRule;
use crate::fair::select_task_rq::avg_idle::update_avg;
use crate::fair::select_task_rq::scan_budget::{age_wake_avg_idle, sis_prop_nr};
use crate::fair::select_task_rq::wakee::{WakeeFlips, is_wide};
use fairground_model::Reason;
use fairground_stdx::TaskId;

/// Model: 06 T02
#[test]
fn sis_prop_of_v5_19_divides_idle_time_by_the_scan_cost() {
    let nr = |idle, cost| sis_prop_nr(112, idle, cost);
    assert_eq!((nr(1_000, 8_000), nr(50_000, 8_000)), (13, 699));
    assert_eq!((nr(285, 7_999), nr(286, 7_999)), (4, 4));
}

/// With a counter of 13, twelve CPUs are looked at, from behind the target on.
///
/// Model: 06 T02
#[test]
fn a_search_of_v5_19_stops_at_its_limit() {
    let mut machine = TestMachine::new("v5.19", preset("llc112"));
    machine.busy(0..112);
    let task = TaskId::new(5);
    let llc = machine.sched.topology.cpus[cpu(0)].sd_llc.unwrap();
    let limit = |machine: &mut TestMachine| {
        machine.sched.topology.domains[llc].avg_scan_cost = 8_000;
        (machine.sched.rqs[cpu(0)].lb.wake_avg_idle, machine.sched.rqs[cpu(0)].lb.wake_stamp) = (1_000, machine.jiffies);
    };
    limit(&mut machine);
    let (chosen, looks) = machine.looks(|machine| machine.search(task, 0, 0));
    // One for all CPUs known by name, both threads of the previous CPU's core, then twelve.
    assert_eq!((chosen, looks), ((0, Reason::SelectTarget), 1 + 2 + 12));
    assert_eq!(machine.sched.topology.domains[llc].avg_scan_cost, 8_000);
    machine.sleep(TaskId::new(12));
    limit(&mut machine);
    assert_eq!(machine.search(task, 0, 0), (12, Reason::SelectIdleCpu));
    machine.busy([12]);
    machine.sleep(TaskId::new(13));
    limit(&mut machine);
    assert_eq!(machine.search(task, 0, 0), (0, Reason::SelectTarget));
}

/// Model: 06 T03
#[test]
fn sis_prop_of_v4_12_divides_a_512th_of_idle_time_by_the_scan_cost() {
    assert_eq!(1_000_000 / 512, 1_953);
    assert_eq!(sis_prop_nr(32, 1_953, 2_000), 31);
    assert_eq!(sis_prop_nr(112, 1_953, 8_000), 27);
    assert_eq!(sis_prop_nr(32, 100_000 / 512, 2_000), 4);
}

/// With the least counter the target and the two CPUs behind it are looked at, never a fourth.
///
/// Model: 06 T03
#[test]
fn a_search_of_v4_12_looks_at_three_cpus_at_least() {
    for (idle, chosen) in [(1, (1, Reason::SelectIdleCpu)), (2, (2, Reason::SelectIdleCpu)), (3, (0, Reason::SelectTarget))] {
        let mut machine = TestMachine::new("v4.12", flat8());
        machine.busy((0..8).filter(|&busy| busy != idle));
        machine.sched.rqs[cpu(0)].lb.avg_idle = 1;
        let llc = machine.sched.topology.cpus[cpu(0)].sd_llc.unwrap();
        machine.sched.topology.domains[llc].avg_scan_cost = 2_000;
        let (found, looks) = machine.looks(|machine| machine.search(TaskId::new(0), 0, 0));
        assert_eq!((found, looks), (chosen, 1 + u64::from(idle + 1).min(3)));
    }
}

/// Model: 06 T04
#[test]
fn wake_avg_idle_halves_with_each_jiffy() {
    let aged = |mut idle, mut stamp, jiffies| {
        age_wake_avg_idle(&mut stamp, &mut idle, jiffies);
        (idle, stamp)
    };
    assert_eq!(aged(500_000, 90, 100), (488, 100));
    assert_eq!(aged(1, 0, 1_000), (0, 1));
    assert_eq!(aged(0, 0, 1_000), (0, 0));
    assert_eq!(aged(77, 100, 100), (77, 100));
}

/// Model: 06 T05
#[test]
fn an_average_moves_an_eighth_towards_its_sample() {
    for (mut avg, sample, expected) in [(1_000_000, 200_000, 900_000), (0, 799, 99), (8_000, 30_000, 10_750)] {
        update_avg(&mut avg, sample);
        assert_eq!(avg, expected);
    }
}

/// A wake-up of an idle CPU takes its idle time into the average, within twice the cost of balancing.
///
/// Model: 06 T05
#[test]
fn a_wake_up_takes_the_idle_time_of_its_cpu_into_the_average() {
    let mut machine = TestMachine::new("v5.19", flat8());
    let lb = |machine: &TestMachine| {
        let lb = &machine.sched.rqs[cpu(3)].lb;
        (lb.avg_idle, lb.wake_avg_idle, lb.wake_stamp, lb.idle_stamp)
    };
    let end_idle_of = |machine: &mut TestMachine, ns: u64| {
        let clock = machine.sched.rqs[cpu(3)].clocks.clock;
        machine.sched.rqs[cpu(3)].lb.idle_stamp = clock - ns;
        machine.on(0, |sched, cx| sched.update_avg_idle(cx, cpu(3)));
    };
    end_idle_of(&mut machine, 200_000);
    assert_eq!(lb(&machine), (900_000, 450_000, 100, 0));
    end_idle_of(&mut machine, 50_000_000);
    assert_eq!(lb(&machine), (1_000_000, 500_000, 100, 0));
    machine.on(0, |sched, cx| sched.update_avg_idle(cx, cpu(3)));
    assert_eq!(lb(&machine), (1_000_000, 500_000, 100, 0));
}

fn weight_rule(this_load: i64, prev_load: i64, task_load: i64, sync_waker: Option<i64>) -> WeightRule {
    WeightRule { this_load, prev_load, this_capacity: 1024, prev_capacity: 1024, task_load, sync_waker, bias: Some(117) }
}

/// Model: 06 T06
#[test]
fn wake_affine_prefers_the_cpu_with_less_effective_load() {
    assert!(!weight_rule(1024, 2048, 1024, None).prefers_this());
    assert!(weight_rule(0, 2048, 1024, None).prefers_this());
    assert!(weight_rule(1024, 2048, 1024, Some(1024)).prefers_this());
    assert!(!weight_rule(1000, 1024, 1024, Some(1000)).prefers_this());
    // Less than the task itself on the previous CPU: the difference is signed.
    assert!(!weight_rule(0, 100, 1024, None).prefers_this());
    // A waker with more load than its CPU leaves nothing to compare.
    assert!(weight_rule(1000, 0, 1024, Some(1001)).prefers_this());
    let unbiased = WeightRule { bias: None, ..weight_rule(0, 2048, 1024, None) };
    assert!(!unbiased.prefers_this());
    // 100 * 1024 * 1024 < 108 * 1024 * 971, but not with 970.
    assert!(!weight_rule(0, 970 - 24 + 1024, 1024, None).prefers_this());
    assert!(weight_rule(0, 949 + 1024, 1024, None).prefers_this());
    assert!(!weight_rule(0, 948 + 1024, 1024, None).prefers_this());
}

/// Which of the waker's and the previous CPU a wake-up of a task of `prev` from CPU 0 goes towards.
fn affine(machine: &mut TestMachine, task: TaskId, sync: bool) -> u32 {
    let placing = machine.placing(task, 0, sync);
    let mut next = machine.sched.topology.cpus[cpu(0)].base;
    while let Some(sd) = next.filter(|&sd| !machine.sched.topology.domains[sd].span.contains(placing.prev)) {
        next = machine.sched.topology.domains[sd].parent;
    }
    let sd = next.expect("a domain of both");
    machine.on(0, |sched, cx| sched.wake_affine(cx, &placing, sd)).get()
}

/// Model: 06 T07
#[test]
fn wake_affine_prefers_an_idle_previous_cpu_before_an_idle_waker_cpu() {
    for kernel in ["v4.20", "v5.10", "v5.19", "v6.1", "v6.14"] {
        let mut machine = TestMachine::new(kernel, flat8());
        let task = machine.sleeper(3);
        // This idle, prev idle, same cache.
        assert_eq!(affine(&mut machine, task, false), 3, "{kernel}");
        machine.busy([3]);
        assert_eq!(affine(&mut machine, task, false), 0, "{kernel}");
        // A sync waker alone on its CPU.
        let waker = machine.running(0);
        assert_eq!(affine(&mut machine, task, true), 0, "{kernel}");
        // With a second task the loads decide: this has more.
        machine.busy([0]);
        let load = |machine: &mut TestMachine, number: u32, load_avg: u64| {
            let cfs = machine.sched.rqs[cpu(number)].cfs;
            let avg = &mut machine.sched.pelt_cfs[cfs];
            (avg.load_avg, avg.runnable_avg) = (load_avg, load_avg);
        };
        load(&mut machine, 0, 4096);
        load(&mut machine, 3, 1024);
        machine.sched.pelt_se[machine.sched.tasks[waker].se].load_avg = 0;
        assert_eq!(affine(&mut machine, task, true), 3, "{kernel}");
        load(&mut machine, 3, 40_960);
        assert_eq!(affine(&mut machine, task, true), 0, "{kernel}");
        for (feature, target) in [("NO_WA_WEIGHT", 3), ("NO_WA_IDLE", 3)] {
            machine = machine.with_feature(feature);
            assert_eq!(affine(&mut machine, task, true), target, "{kernel} {feature}");
        }
    }
}

/// A previous CPU that is idle in another cache is kept from v5.11 on; before the loads decide.
///
/// Model: 06 T07
#[test]
fn an_idle_previous_cpu_in_another_cache_is_kept_from_v5_11_on() {
    for (kernel, target) in [("v4.20", 0), ("v5.10", 0), ("v5.19", 64), ("v6.1", 64)] {
        let mut machine = TestMachine::new(kernel, preset("spr-2x56"));
        let task = machine.sleeper(64);
        machine.busy([0, 0]);
        let cfs = machine.sched.rqs[cpu(64)].cfs;
        (machine.sched.pelt_cfs[cfs].load_avg, machine.sched.pelt_cfs[cfs].runnable_avg) = (90_000, 90_000);
        assert_eq!(affine(&mut machine, task, false), target, "{kernel}");
    }
}

/// In v4.12 the waker's CPU is the target whenever both share a cache, whatever runs there.
///
/// Model: 06 T07
#[test]
fn wake_affine_of_v4_12_always_pulls_within_a_cache() {
    let mut machine = TestMachine::new("v4.12", flat8());
    let task = machine.sleeper(3);
    machine.busy([0, 0, 0]);
    assert_eq!(affine(&mut machine, task, false), 0);
    // Between nodes: nothing runs on the waker's node.
    let mut machine = TestMachine::new("v4.12", preset("spr-2x56"));
    let task = machine.sleeper(64);
    assert_eq!(affine(&mut machine, task, false), 0);
    // The waker's node has load and the other, without the task, has none.
    let cfs = machine.sched.rqs[cpu(1)].cfs;
    machine.sched.pelt_cfs[cfs].runnable_avg = 1024;
    assert_eq!(affine(&mut machine, task, false), 64);
}

/// Model: 06 T08
#[test]
fn a_wake_up_is_wide_if_both_flip_counts_reach_the_cache_size() {
    assert!(is_wide(16, 256, 16) && is_wide(256, 16, 16));
    assert!(!is_wide(15, 10_000, 16) && !is_wide(16, 255, 16));
    let mut flips = WakeeFlips { last: None, flips: 8, decay_ts: Some(0) };
    let (one, other) = (TaskId::new(1), TaskId::new(2));
    flips.record(one, false, 1_000);
    assert_eq!((flips.flips, flips.decay_ts), (9, Some(0)));
    flips.record(one, true, 1_001);
    assert_eq!((flips.flips, flips.decay_ts), (4, Some(1_001)));
    flips.record(other, false, 1_002);
    assert_eq!((flips.flips, flips.decay_ts), (5, Some(1_001)));
}

/// Flips are halved once when more than HZ jiffies have passed, however many more.
///
/// Model: 06 T08
#[test]
fn wakee_flips_are_halved_once_after_a_second() {
    for (passed, flips) in [(1_000, 8), (1_001, 4), (9_000, 4)] {
        let mut machine = TestMachine::new("v6.1", flat8());
        let (waker, wakee) = (machine.running(0), machine.sleeper(1));
        machine.sched.tasks[waker].wakees = WakeeFlips { last: Some(wakee), flips: 8, decay_ts: Some(machine.jiffies) };
        machine.jiffies += passed;
        machine.on(0, |sched, cx| sched.record_wakee(cx, wakee));
        assert_eq!(machine.sched.tasks[waker].wakees.flips, flips, "{passed}");
    }
}

/// The second of who has woken nobody yet begins with its first wake-up, wherever that is in the run.
#[test]
fn the_first_wake_up_begins_the_second_of_a_waker() {
    let mut machine = TestMachine::new("v6.1", flat8());
    let (waker, wakee) = (machine.running(0), machine.sleeper(1));
    machine.jiffies = 800;
    machine.on(0, |sched, cx| sched.record_wakee(cx, wakee));
    machine.sched.tasks[waker].wakees.flips = 8;
    let mut flips_at = |jiffies| {
        machine.jiffies = jiffies;
        machine.on(0, |sched, cx| sched.record_wakee(cx, wakee));
        machine.sched.tasks[waker].wakees.flips
    };
    assert_eq!([flips_at(1_001), flips_at(1_800), flips_at(1_801)], [8, 8, 4]);
}

/// An interrupt that finds a CPU idle wakes in the name of its idle task.
///
/// Model: 06 T08
#[test]
fn the_idle_task_is_a_waker_too() {
    let mut machine = TestMachine::new("v6.1", flat8());
    let (one, other) = (machine.sleeper(1), machine.sleeper(2));
    for wakee in [one, other, one] {
        machine.on(0, |sched, cx| sched.record_wakee(cx, wakee));
    }
    assert_eq!(machine.sched.rqs[cpu(0)].lb.idle_wakees.flips, 3);
}

/// Model: 06 T09
#[test]
fn the_search_begins_at_its_target_and_wraps() {
    // CPUs 2 and 6 are idle; the search for a wakee of CPU 5 begins at the target, or behind it.
    for (kernel, target, found) in
        [("v4.12", 3, 6), ("v4.20", 7, 2), ("v5.10", 3, 6), ("v5.19", 3, 6), ("v5.19", 7, 2), ("v6.1", 5, 6), ("v6.14", 6, 6)]
    {
        let mut machine = TestMachine::new(kernel, flat8());
        machine.busy([0, 1, 3, 4, 5, 7]);
        assert_eq!(machine.search(TaskId::new(4), 0, target).0, found, "{kernel}");
    }
}

/// The target itself is the first CPU of a search up to v5.12, and the last one after.
///
/// Model: 06 T09
#[test]
fn the_target_is_looked_at_first_up_to_v5_12_and_last_after() {
    for (kernel, looks) in [("v4.12", 2), ("v5.10", 2), ("v5.19", 1), ("v6.1", 1)] {
        let mut machine = TestMachine::new(kernel, flat8());
        machine.busy((0..8).filter(|&busy| busy != 4));
        let (found, counted) = machine.looks(|machine| machine.search(TaskId::new(0), 0, 3));
        assert_eq!((found, counted), ((4, Reason::SelectIdleCpu), 1 + looks), "{kernel}");
    }
}

/// Model: 06 T09
#[test]
fn only_allowed_cpus_are_chosen() {
    for kernel in ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.14"] {
        let mut machine = TestMachine::new(kernel, flat8());
        machine.busy([0, 5]);
        let task = TaskId::new(1);
        machine.allow(task, "0,3,5");
        assert_eq!(machine.search(task, 0, 5), (3, Reason::SelectIdleCpu), "{kernel}");
    }
}

/// An idle thread of a busy core is taken if there is no idle core, which is known from then on.
///
/// Model: 06 T09
#[test]
fn an_idle_thread_of_a_busy_core_is_taken_if_no_core_is_idle() {
    for kernel in ["v5.19", "v6.1", "v6.6", "v6.14"] {
        let mut machine = TestMachine::new(kernel, preset("lap8"));
        // Cores {0,4} {1,5} {2,6} {3,7}: a busy thread on each.
        machine.busy([0, 4, 1, 5, 2, 7]);
        let task = TaskId::new(0);
        let shared = machine.sched.topology.cpus[cpu(0)].sd_llc_shared.unwrap();
        machine.sched.topology.shared[shared].has_idle_cores = true;
        assert_eq!(machine.search(task, 0, 0), (6, Reason::SelectIdleCpu), "{kernel}");
        assert!(!machine.sched.topology.shared[shared].has_idle_cores, "{kernel}");
    }
}

/// A wholly idle core goes before an idle thread of a busy one.
///
/// Model: 06 T09
#[test]
fn an_idle_core_goes_before_an_idle_thread() {
    for kernel in ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.14"] {
        let mut machine = TestMachine::new(kernel, preset("lap8"));
        let (a, b) = (machine.running(3), machine.running(7));
        machine.busy([0, 4, 1, 2]);
        machine.sleep(a);
        let shared = machine.sched.topology.cpus[cpu(0)].sd_llc_shared.unwrap();
        assert!(!machine.sched.topology.shared[shared].has_idle_cores, "{kernel}: the sibling is busy");
        machine.sleep(b);
        assert!(machine.sched.topology.shared[shared].has_idle_cores, "{kernel}");
        assert_eq!(machine.search(TaskId::new(2), 0, 0), (3, Reason::SelectIdleCore), "{kernel}");
    }
}

/// New domains know of no idle core. An idle CPU that is to choose and has nobody picks the idle task again: up to v6.11 that notes its
/// core, and later it goes on as if nobody had asked.
#[test]
fn the_idle_task_that_is_picked_again_notes_its_core_up_to_v6_11() {
    for (kernel, noted) in [("v5.10", true), ("v6.1", true), ("v6.6", true), ("v6.12", false), ("v7.2", false)] {
        let mut machine = TestMachine::new(kernel, preset("lap8"));
        let shared = machine.sched.topology.cpus[cpu(3)].sd_llc_shared.unwrap();
        assert!(!machine.sched.topology.shared[shared].has_idle_cores, "{kernel}");
        // A queued server of the fair class counts as a task, so the CPU is asked to pick.
        machine.sched.rqs[cpu(3)].server_queued = kernel == "v6.12";
        machine.on(3, |sched, cx| sched.schedule(cx));
        machine.sched.rqs[cpu(3)].server_queued = false;
        assert_eq!(machine.sched.topology.shared[shared].has_idle_cores, noted, "{kernel}");
        let task = machine.running(3);
        machine.sleep(task);
        assert!(machine.sched.topology.shared[shared].has_idle_cores, "{kernel}: a task has gone");
    }
}

/// Model: 06 T10
#[test]
fn recent_used_cpu_is_set_on_a_hit_in_v4_20_and_always_in_v5_19() {
    for (kernel, after_miss, after_hit) in [("v4.12", 7, 7), ("v4.20", 7, 2), ("v5.10", 7, 2), ("v5.19", 2, 2), ("v6.1", 2, 2)] {
        let mut machine = TestMachine::new(kernel, flat8());
        let (task, blocker) = (machine.sleeper(2), machine.running(7));
        machine.busy([0, 2]);
        machine.sched.tasks[task].recent_used_cpu = cpu(7);
        machine.search(task, 0, 0);
        assert_eq!(machine.sched.tasks[task].recent_used_cpu, cpu(after_miss), "{kernel} miss");
        machine.sleep(blocker);
        machine.sched.tasks[task].recent_used_cpu = cpu(7);
        let (found, reason) = machine.search(task, 0, 0);
        assert_eq!((found == 7) && reason == Reason::SelectRecent, kernel != "v4.12", "{kernel}: {found} {reason:?}");
        assert_eq!(machine.sched.tasks[task].recent_used_cpu, cpu(after_hit), "{kernel} hit");
    }
}

/// v5.14 to v5.19 ask of the previous CPU whether the recent one is allowed.
///
/// Model: 06 T10
#[test]
fn v5_19_asks_whether_the_previous_cpu_is_allowed_instead_of_the_recent_one() {
    for (kernel, allowed, taken) in
        [("v5.19", "0,2", true), ("v5.19", "0,7", false), ("v6.1", "0,2", false), ("v6.1", "0,7", true)]
    {
        let mut machine = TestMachine::new(kernel, flat8());
        let task = machine.sleeper(2);
        machine.busy([0, 2]);
        machine.sched.tasks[task].recent_used_cpu = cpu(7);
        machine.allow(task, allowed);
        assert_eq!(machine.search(task, 0, 0).1 == Reason::SelectRecent, taken, "{kernel} {allowed}");
    }
}

/// The memory starts with the CPU on which the parent forked.
///
/// Model: 06 T10
#[test]
fn recent_used_cpu_of_a_child_is_the_cpu_of_its_parent() {
    let mut machine = TestMachine::new("v6.1", flat8());
    let parent = machine.running(5);
    let spec = fairground_model::TaskSpec::new("child", fairground_stdx::ProgramId::new(0));
    let child = machine.sched.add_task(&spec, fairground_stdx::CpuMask::first_n(8));
    let chosen = machine.on(5, |sched, cx| {
        sched.sched_fork(cx, Some(parent), child);
        sched.wake_up_new_task(cx, child, None)
    });
    assert_ne!(chosen, cpu(5));
    assert_eq!(machine.sched.tasks[child].recent_used_cpu, cpu(5));
}

/// Model: 06 T11
#[test]
fn an_idle_sibling_of_the_previous_cpu_is_found() {
    for (kernel, looks) in [("v5.19", 2), ("v6.1", 1), ("v6.14", 1)] {
        let mut machine = TestMachine::new(kernel, preset("lap8"));
        machine.busy([0, 4, 1, 6, 3, 7]);
        // The previous CPU 1 is busy, its sibling 5 idle.
        let (found, counted) = machine.looks(|machine| machine.search(TaskId::new(2), 0, 0));
        assert_eq!((found, counted), ((5, Reason::SelectIdleSmt), 1 + looks), "{kernel}");
    }
    // Up to v5.12 the target's siblings come last.
    let mut machine = TestMachine::new("v4.20", preset("lap8")).with_feature("SIS_AVG_CPU");
    machine.busy([0, 1, 5, 2, 6, 3, 7]);
    let llc = machine.sched.topology.cpus[cpu(0)].sd_llc.unwrap();
    machine.sched.topology.domains[llc].avg_scan_cost = 1_000_000;
    assert_eq!(machine.search(TaskId::new(1), 0, 0), (4, Reason::SelectIdleSmt));
}

/// Model: 06 T11
#[test]
fn a_pending_wake_up_makes_a_cpu_busy() {
    let mut machine = TestMachine::new("v6.1", flat8());
    let (task, other) = (machine.sleeper(3), machine.sleeper(4));
    machine.busy([0]);
    assert_eq!(machine.search(task, 0, 0), (3, Reason::SelectPrevIdle));
    machine.sched.rqs[cpu(3)].wake_list.push(other);
    machine.sched.note_idleness(cpu(3));
    assert_eq!(machine.search(task, 0, 0), (1, Reason::SelectIdleCpu));
}

/// Children that never block, of a parent that goes on: how many start on its node before the other one is chosen.
fn children_that_stay(kernel: &str) -> usize {
    let mut machine = TestMachine::new(kernel, preset("spr-2x56"));
    let parent = machine.running(0);
    let here = machine.view.cpus[cpu(0)].llc;
    for stayed in 0..224 {
        let spec = fairground_model::TaskSpec::new("child", fairground_stdx::ProgramId::new(0));
        let child = machine.sched.add_task(&spec, fairground_stdx::CpuMask::first_n(224));
        let chosen = machine.on(0, |sched, cx| {
            sched.sched_fork(cx, Some(parent), child);
            sched.wake_up_new_task(cx, child, None)
        });
        if !here.contains(chosen) {
            return stayed;
        }
        machine.on(chosen.get(), |sched, cx| sched.schedule(cx));
    }
    224
}

/// v5.19: while the node's tasks with the child are at most imb_numa_nr = 28. From v6.0 on the idle CPUs of both nodes
/// must also differ by no more than two.
///
/// Model: 06 T13
#[test]
fn children_stay_on_the_parents_node_up_to_the_numa_allowance() {
    assert_eq!(children_that_stay("v5.19"), 27);
    assert_eq!(children_that_stay("v6.14"), 2);
    assert_eq!(children_that_stay("v6.1"), 2);
    // v5.10: as long as there is an idle CPU.
    assert_eq!(children_that_stay("v5.10"), 111);
}

/// A child that may use one CPU of each of two cores, one of them its busy parent's. By all CPUs the other core has more idle ones;
/// by those that the child may use both have one, and it stays near.
#[test]
fn a_child_counts_only_the_cpus_that_it_may_use_where_kernels_do() {
    for (kernel, chosen) in [("v5.10", 5), ("v6.1", 4), ("v6.6", 5), ("v6.12", 4), ("v6.14", 5), ("v6.18", 5), ("v7.2", 4)] {
        let mut machine = TestMachine::new(kernel, preset("lap8"));
        let parent = machine.running(0);
        let spec = fairground_model::TaskSpec::new("child", fairground_stdx::ProgramId::new(0));
        let allowed = fairground_stdx::CpuMask::parse_list("4,5").unwrap();
        let child = machine.sched.add_task(&spec, allowed);
        let target = machine.on(0, |sched, cx| {
            sched.sched_fork(cx, Some(parent), child);
            sched.wake_up_new_task(cx, child, None)
        });
        assert_eq!(target, cpu(chosen), "{kernel}");
    }
}
