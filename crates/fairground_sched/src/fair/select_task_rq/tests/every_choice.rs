//! Rules beyond the worked examples of docs/model/06-wakeup-placement.md, and what holds for every choice.

use super::machine::{TestMachine, cpu, flat8, preset};
use crate::fair::select_task_rq::Wake;
use fairground_model::{Meter, Op, PrevState, Reason, Turns, WakeContext};
use fairground_stdx::{CpuMask, TaskId};
use proptest::prelude::*;

const KERNELS: [&str; 10] = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18"];

#[test]
fn a_task_bound_to_one_cpu_is_not_searched_for() {
    let mut machine = TestMachine::new("v6.1", flat8());
    let task = machine.sleeper(3);
    machine.busy([3]);
    machine.allow(task, "3");
    let (choice, looks) = machine.looks(|machine| machine.wake(task, 0, false));
    assert_eq!((choice, looks), ((3, Reason::SelectOnlyAllowed), 0));
}

#[test]
fn the_known_cpus_are_asked_in_order() {
    for kernel in KERNELS {
        let mut machine = TestMachine::new(kernel, flat8());
        let task = machine.sleeper(3);
        machine.sched.tasks[task].recent_used_cpu = cpu(6);
        machine.busy([5]);
        assert_eq!(machine.search(task, 0, 1), (1, Reason::SelectTargetIdle), "{kernel}");
        machine.busy([1]);
        assert_eq!(machine.search(task, 0, 1), (3, Reason::SelectPrevIdle), "{kernel}");
        machine.busy([3]);
        if kernel != "v4.12" {
            machine.sched.tasks[task].recent_used_cpu = cpu(6);
            assert_eq!(machine.search(task, 0, 1), (6, Reason::SelectRecent), "{kernel}");
        }
    }
}

#[test]
fn a_bound_kernel_thread_keeps_its_wakee_behind_it() {
    for (kernel, stacks) in [("v5.1", false), ("v5.10", true), ("v6.1", true), ("v6.18", true)] {
        let mut machine = TestMachine::new(kernel, flat8());
        let task = machine.sleeper(0);
        let kthread = machine.running(0);
        machine.allow(kthread, "0");
        let kept = |machine: &mut TestMachine, context| {
            machine.choose(task, 0, Wake::Ttwu { sync: false, context }) == (0, Reason::SelectKthread)
        };
        assert!(!kept(&mut machine, WakeContext::Task), "{kernel}: no kernel thread");
        machine.sched.tasks[kthread].kthread = true;
        assert_eq!(kept(&mut machine, WakeContext::Task), stacks, "{kernel}");
        assert!(!kept(&mut machine, WakeContext::Hardirq), "{kernel}: an interrupt wakes, not the thread");
        machine.busy([0]);
        assert!(!kept(&mut machine, WakeContext::Task), "{kernel}: the thread is not alone");
    }
}

/// The waker is alone on CPU 0, all others are busy too: only a synchronous wake-up pulls the wakee to it.
#[test]
fn an_exiting_waker_is_not_synchronous_from_v4_16_on() {
    for kernel in KERNELS {
        let mut machine = TestMachine::new(kernel, flat8());
        let (task, _waker) = (machine.sleeper(3), machine.running(0));
        machine.busy(1..8);
        assert_eq!(machine.wake(task, 0, true), (0, Reason::SelectTarget), "{kernel}");
        machine.sched.set_current_state(cpu(0), PrevState::Dead);
        let home = if kernel == "v4.12" { 0 } else { 3 };
        assert_eq!(machine.wake(task, 0, true), (home, Reason::SelectTarget), "{kernel}: it exits");
    }
}

/// Up to v5.13 the waker remembers its own CPU after an affine wake-up.
#[test]
fn an_affine_waker_remembers_its_cpu() {
    for (kernel, remembered) in [("v4.12", 6), ("v4.20", 0), ("v5.10", 0), ("v5.19", 6), ("v6.1", 6)] {
        let mut machine = TestMachine::new(kernel, flat8());
        let (task, waker) = (machine.sleeper(3), machine.running(0));
        machine.sched.tasks[waker].recent_used_cpu = cpu(6);
        machine.wake(task, 0, false);
        assert_eq!(machine.sched.tasks[waker].recent_used_cpu, cpu(remembered), "{kernel}");
    }
}

#[test]
fn cpus_of_idle_policy_are_as_good_as_idle_from_v5_7_on() {
    for (kernel, free) in [("v4.20", false), ("v5.1", false), ("v5.10", true), ("v6.1", true), ("v6.14", true)] {
        let mut machine = TestMachine::new(kernel, flat8());
        let task = machine.sleeper(3);
        let lazy = machine.running(3);
        machine.on(3, |sched, cx| sched.sched_setscheduler(cx, lazy, fairground_model::Policy::Idle)).unwrap();
        assert_eq!(machine.search(task, 0, 3) == (3, Reason::SelectPrevIdle), free, "{kernel}");
    }
}

/// A choice that may not be used is replaced by the first usable CPU of the same node, else by the first one; who has none left goes to
/// the first CPU of all.
#[test]
fn a_forbidden_or_lost_choice_is_replaced() {
    let mut machine = TestMachine::new("v6.1", preset("spr-2x56"));
    let task = machine.sleeper(60);
    machine.allow(task, "1,58,70");
    assert_eq!(machine.wake(task, 60, false), (58, Reason::SelectFallback));
    machine.sched.rqs[cpu(58)].online = false;
    assert_eq!(machine.wake(task, 60, false), (70, Reason::SelectFallback));
    machine.sched.rqs[cpu(70)].online = false;
    assert_eq!(machine.wake(task, 60, false), (1, Reason::SelectFallback));
    machine.sched.rqs[cpu(1)].online = false;
    assert_eq!(machine.wake(task, 60, false), (0, Reason::SelectFallback));
    assert_eq!(*machine.sched.tasks[task].cpus_allowed, CpuMask::first_n(224));
}

/// Tasks start one per core first, then on the siblings; within a core where the CPU was idle last.
#[test]
fn forks_go_to_idle_cores_first() {
    for kernel in KERNELS {
        let mut machine = TestMachine::new(kernel, preset("lap8"));
        let parent = machine.running(0);
        let mut cores = CpuMask::only(cpu(0));
        for nr in 1..8 {
            let chosen = fork(&mut machine, parent);
            let core = chosen % 4;
            assert_eq!(cores.contains(cpu(core)), nr >= 4, "{kernel}: fork {nr} on CPU {chosen}");
            cores.insert(cpu(core));
        }
        assert_eq!((0..8).map(|nr| machine.sched.rqs[cpu(nr)].nr_running).collect::<Vec<_>>(), [1; 8], "{kernel}");
    }
}

/// Where a child of `parent` on CPU 0 starts, and runs from then on.
fn fork(machine: &mut TestMachine, parent: TaskId) -> u32 {
    let spec = fairground_model::TaskSpec::new("child", fairground_stdx::ProgramId::new(0));
    let child = machine.sched.add_task(&spec, CpuMask::first_n(machine.view.cpus.len()));
    let chosen = machine.on(0, |sched, cx| {
        sched.sched_fork(cx, Some(parent), child);
        sched.wake_up_new_task(cx, child, None)
    });
    // Some load on that CPU, as its first tick would show it.
    let cfs = machine.sched.rqs[chosen].cfs;
    let avg = &mut machine.sched.pelt_cfs[cfs];
    (avg.load_avg, avg.runnable_avg, avg.util_avg) = (1024, 1024, 900);
    machine.on(chosen.get(), |sched, cx| sched.schedule(cx));
    chosen.get()
}

/// Of the CPUs of the idlest group: the shallowest idle state goes first, then the one that became idle last.
#[test]
fn a_child_goes_where_waking_is_cheapest() {
    for (exit_latencies, idle_stamps, expected) in [
        ([500, 500, 100, 500], [1_000, 1_000, 1, 1_000], 6),
        ([500, 500, 500, 500], [1_000, 3_000, 2_000, 1_000], 5),
        ([0, 0, 0, 0], [1_000, 1_000, 1_000, 1_001], 7),
        ([0, 0, 0, 700], [1_000, 1_000, 1_000, 1], 7),
    ] {
        let mut machine = TestMachine::new("v6.1", preset("hikey"));
        let parent = machine.running(0);
        for (place, number) in (4..8).enumerate() {
            let lb = &mut machine.sched.rqs[cpu(number)].lb;
            (lb.idle_exit_latency, lb.idle_stamp) = (exit_latencies[place], idle_stamps[place]);
        }
        assert_eq!(fork(&mut machine, parent), expected);
    }
}

#[test]
fn tasks_fit_the_cpus_they_are_given() {
    let mut view = preset("hikey");
    for number in 0..4 {
        view.cpus[cpu(number)].capacity = 446;
    }
    for (kernel, found) in [("v5.10", 5), ("v5.19", 5), ("v6.1", 5), ("v6.14", 5)] {
        let mut machine = TestMachine::new(kernel, view.clone());
        let task = machine.sleeper(1);
        let se = machine.sched.tasks[task].se;
        machine.busy([4]);
        machine.sched.pelt_se[se].util_avg = 600;
        assert_eq!(machine.search(task, 1, 1), (found, Reason::SelectIdleCapacity), "{kernel}");
        machine.sched.pelt_se[se].util_avg = 100;
        assert_eq!(machine.search(task, 1, 1).0, 1, "{kernel}: a small task stays");
        // None fits: the biggest of the idle ones.
        machine.busy([5, 6, 7]);
        machine.sched.pelt_se[se].util_avg = 600;
        assert_eq!(machine.search(task, 1, 2), (2, Reason::SelectIdleCapacity), "{kernel}");
    }
}

/// Up to v5.6 a task that is too big for one of both CPUs takes the slow path.
#[test]
fn wake_cap_sends_big_tasks_the_slow_way() {
    let mut view = preset("hikey");
    for number in 0..4 {
        view.cpus[cpu(number)].capacity = 446;
    }
    for (kernel, capped) in [("v4.12", true), ("v4.20", true), ("v5.10", false)] {
        let mut machine = TestMachine::new(kernel, view.clone());
        let task = machine.sleeper(1);
        let se = machine.sched.tasks[task].se;
        for (util, expected) in [(600, capped), (100, false)] {
            machine.sched.pelt_se[se].util_avg = util;
            let placing = machine.placing(task, 5, false);
            assert_eq!(machine.on(5, |sched, cx| sched.wake_cap(cx, &placing)), expected, "{kernel} {util}");
        }
    }
}

/// From v6.7 on the target's cluster is searched first, and idle CPUs outside of it are second choice.
#[test]
fn clusters_are_searched_first() {
    let clustered = || {
        let mut view = flat8();
        for number in 0..8 {
            let first = number / 4 * 4;
            view.cpus[cpu(number)].cluster = Some((first..first + 4).map(cpu).collect());
        }
        view
    };
    for (kernel, prev_first) in [("v6.6", true), ("v6.14", false)] {
        let mut machine = TestMachine::new(kernel, clustered());
        let task = machine.sleeper(6);
        machine.busy([0, 1, 2, 5]);
        let expected = if prev_first { (6, Reason::SelectPrevIdle) } else { (3, Reason::SelectIdleCpu) };
        assert_eq!(machine.search(task, 0, 1), expected, "{kernel}");
        machine.busy([3, 4, 7]);
        assert_eq!(machine.search(task, 0, 1).0, 6, "{kernel}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// Whatever the state: the choice is allowed and on line; an idle previous CPU is kept if the target is busy; an
    /// idle target is taken.
    #[test]
    fn choices_keep_their_promises(
        kernel in 0..KERNELS.len(),
        name in prop::sample::select(vec!["lap8", "vm8", "hikey", "box12", "vm8-nollc"]),
        busy in any::<u16>(),
        allowed in 1_u16..,
        (this, prev, sync, context) in (0_u32..8, 0_u32..8, any::<bool>(), 0_usize..2),
    ) {
        let mut machine = TestMachine::new(KERNELS[kernel], preset(name));
        let cpus = machine.view.cpus.len() as u32;
        let task = machine.sleeper(prev);
        machine.busy((0..cpus).filter(|number| busy >> number & 1 == 1));
        let mask: CpuMask = (0..cpus).filter(|number| allowed >> number & 1 == 1).map(cpu).collect();
        prop_assume!(mask.contains(cpu(prev)));
        machine.sched.tasks[task].cpus_allowed = mask.into();
        let context = [WakeContext::Task, WakeContext::Hardirq][context];
        let idle = |machine: &TestMachine, number: u32| machine.sched.available_idle_cpu(cpu(number));
        let any_near = mask.iter().any(|near| {
            idle(&machine, near.get()) && machine.sched.topology.cpus_share_cache(near, cpu(prev))
        });
        let (chosen, reason) = machine.choose(task, this, Wake::Ttwu { sync, context });
        prop_assert!(mask.contains(cpu(chosen)), "{reason:?}");
        if idle(&machine, prev) && machine.sched.topology.cpus_share_cache(cpu(this), cpu(prev)) {
            prop_assert!(idle(&machine, chosen), "{reason:?} {chosen}");
            prop_assert!(chosen == prev || chosen == this, "{reason:?} {chosen}");
        }
        // A search without a limit finds what is there.
        let searched = machine.sched.topology.cpus_share_cache(cpu(this), cpu(prev));
        if any_near && searched && KERNELS[kernel].starts_with("v6") {
            prop_assert!(idle(&machine, chosen), "{reason:?} {chosen}");
        }
    }
}

/// Where CPUs take turns a search takes the time of the others too, and counts as that expensive.
#[test]
fn a_search_measures_itself_by_its_turns() {
    let cost = |turns: Turns| {
        let mut machine = TestMachine::new("v5.10", flat8());
        machine.busy(0..8);
        machine.sched.rqs[cpu(0)].lb.avg_idle = 1_000_000;
        let mut prices = [0; Op::COUNT];
        prices[Op::ScanCpu as usize] = 80_000;
        machine.meter = Meter::new(prices);
        machine.meter.set_turns(turns);
        let (_, looks) = machine.looks(|machine| machine.search(TaskId::new(5), 0, 0));
        let llc = machine.sched.topology.cpus[cpu(0)].sd_llc.unwrap();
        (looks, machine.sched.topology.domains[llc].avg_scan_cost)
    };
    let (looks, alone) = cost(Turns::ALONE);
    // Turns of 100 us, of which 300 ns are left, and 700 us of others between them: one border lies in the search.
    let (same, turned) = cost(Turns { wait: 0, left: 300, length: 100_000, between: 700_000 });
    assert!(looks > 4 && alone > 0);
    assert_eq!((same, turned), (looks, alone + 700_000 / 8));
}
