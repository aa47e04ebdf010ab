//! The order of the steps in which an entity comes onto its queue.

use crate::fair::steps::watched;
use crate::fair::tests::bench::Bench;
use crate::{Profile, WakeFlags, Waking};
use fairground_model::{PrevState, WakeContext};
use fairground_stdx::{CpuId, SeId};

const CPU: CpuId = CpuId::new(0);

/// The only task of a group, which sleeps: neither is on its queue. The entity of the group, too.
fn asleep(kernel: &str) -> (Bench, SeId, impl FnOnce(&mut Bench)) {
    let mut bench = Bench::with_cpus(Profile::parse(kernel).unwrap(), 1);
    let group = bench.group(None, 1024);
    let task = bench.queued_in(Some(group));
    bench.schedule();
    bench.sched.set_current_state(CPU, PrevState::Sleeping);
    bench.call(|sched, cx| sched.schedule(cx));
    let se = bench.sched.group_on(group, CPU).unwrap().1;
    assert!(!bench.sched.ses[se].on_rq, "{kernel}: alone, nobody's dequeue is delayed");
    let wake = move |bench: &mut Bench| {
        let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
        let waking = bench.call(|sched, cx| sched.ttwu_select(cx, task, flags));
        assert!(matches!(waking, Waking::Selected(_)));
        bench.call(|sched, cx| sched.ttwu_activate(cx, task, CPU));
    };
    (bench, se, wake)
}

/// The steps of the task's level, and after them those of its group's.
fn steps(kernel: &str) -> [Vec<&'static str>; 2] {
    let (mut bench, _, wake) = asleep(kernel);
    let made = watched(|| wake(&mut bench));
    let starts: Vec<usize> = (0..made.len()).filter(|&at| made[at] == "update_curr").collect();
    assert_eq!((starts.len(), starts[0]), (2, 0), "{kernel}: {made:?}");
    [made[..starts[1]].to_vec(), made[starts[1]..].to_vec()]
}

/// What all steps of a level are in one kernel; a task has no second weight, no count of tasks and no shares.
fn assert_steps(kernel: &str, group: &[&'static str]) {
    let of_groups_only = ["se_update_runnable", "update_cfs_group"];
    let task: Vec<&str> = group.iter().filter(|step| !of_groups_only.contains(step)).copied().collect();
    assert_eq!(steps(kernel), [task, group.to_vec()], "{kernel}");
}

const QUEUED: [&str; 2] = ["__enqueue_entity", "list_add_leaf_cfs_rq"];

/// Model: 03 T03
#[test]
fn enqueue_entity_takes_its_steps_in_the_order_of_each_kernel() {
    let order = |steps: &[&'static str]| [&["update_curr", "update_load_avg"], steps, &QUEUED].concat();
    for kernel in ["v4.12", "v4.20", "v5.1"] {
        let steps = ["update_cfs_group", "enqueue_runnable_load_avg", "account_entity_enqueue", "place_entity"];
        assert_steps(kernel, &order(&steps));
    }
    for kernel in ["v5.19", "v6.1"] {
        let steps = ["se_update_runnable", "update_cfs_group", "account_entity_enqueue", "place_entity"];
        assert_steps(kernel, &order(&steps));
    }
    // EEVDF places before the queue counts the newcomer: its average must not hold it yet.
    for kernel in ["v6.6", "v6.14", "v6.18"] {
        let steps = ["se_update_runnable", "update_cfs_group", "place_entity", "account_entity_enqueue"];
        assert_steps(kernel, &order(&steps));
    }
}

/// With the patch groups do not count in runnable load when they are queued: tasks do.
///
/// Model: 03 T03
#[test]
fn with_the_patch_a_group_that_is_queued_adds_no_runnable_load() {
    let counts = steps("v4.12+independent-runnable").map(|level| level.contains(&"enqueue_runnable_load_avg"));
    assert_eq!(counts, [true, false]);
}

/// v4.12 adds the runnable load before the weight changes, later kernels after it. Family A's averages do not follow the
/// weight, so that both orders are one.
///
/// Model: 03 T03
#[test]
fn runnable_load_and_weight_commute_in_v4_12() {
    let (mut bench, se, wake) = asleep("v4.12");
    wake(&mut bench);
    bench.sched.level(se).dequeue_runnable_load_avg();
    let mut other = Bench::with_cpus(Profile::parse("v4.12").unwrap(), 1);
    other.sched = bench.sched.clone();
    // Another weight than now.
    let group = bench.sched.ses[se].tg.unwrap();
    for bench in [&mut bench, &mut other] {
        bench.sched.groups[group].shares = 3 << 20;
        bench.sched.ses[se].on_rq = false;
    }
    bench.call(|sched, cx| sched.update_cfs_group(cx, se));
    bench.sched.level(se).enqueue_runnable_load_avg();
    other.sched.level(se).enqueue_runnable_load_avg();
    other.call(|sched, cx| sched.update_cfs_group(cx, se));
    let state = |bench: &Bench| (bench.sched.ses[se].load.weight(), bench.sched.pelt_se[se], *bench.sched.cfs_avg(CPU));
    assert_eq!(state(&bench), state(&other));
    assert_eq!(state(&bench).0, 3 << 20);
}
