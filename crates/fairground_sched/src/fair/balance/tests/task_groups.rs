//! Which core balance takes when the tasks are in a group, with and without the patch.

use super::moves::{World, cpu};
use crate::fair::group::Tell;
use crate::pelt::LOAD_AVG_MAX;
use crate::topology::CpuIdleType;
use fairground_machine::Machine;
use fairground_model::{MachineView, PrevState, TaskGroupSpec, TaskSpec};
use fairground_stdx::{Ns, ProgramId, TgId};

/// cpu.weight 10000 as shares.
const MOST: u64 = 102_400;
/// The loads of a worker that is queued and of one that slept for a short time.
const LOAD: u64 = 600;
const BLOCKED: u64 = 560;
/// The threads of the cores A, with a worker too many, and C. The first thread of core 0 balances.
const A: [u32; 2] = [1, 17];
const C: [u32; 2] = [2, 18];

fn worker(world: &mut World, on: u32, group: Option<TgId>, load: u64) {
    let spec = TaskSpec { group, ..TaskSpec::new("worker", ProgramId::new(0)) };
    let task = world.sched.add_task(&spec, world.all());
    world.call(on, |sched, cx| sched.sched_fork(cx, None, task));
    let avg = &mut world.sched.pelt_se[world.sched.tasks[task].se];
    (avg.load_avg, avg.load_sum) = (load, load * LOAD_AVG_MAX);
    world.call(on, |sched, cx| sched.wake_up_new_task(cx, task, Some(cpu(on))));
}

/// One worker runs on each thread of A and C. On A another one waits, on each thread of C one slept shortly ago.
fn workers(kernel: &str, grouped: bool) -> World {
    let mut world = World::new(kernel, Machine::preset("fb-16c32t").unwrap().view());
    let group =
        grouped.then(|| world.sched.add_group(&TaskGroupSpec { shares: MOST, ..TaskGroupSpec::new("/group".to_string(), None) }));
    for thread in C {
        worker(&mut world, thread, group, BLOCKED);
        world.call(thread, |sched, cx| sched.schedule(cx));
        world.sched.set_current_state(cpu(thread), PrevState::Sleeping);
        world.call(thread, |sched, cx| sched.schedule(cx));
    }
    for thread in [A, C].concat() {
        worker(&mut world, thread, group, LOAD);
        world.call(thread, |sched, cx| sched.schedule(cx));
    }
    worker(&mut world, A[0], group, LOAD);
    for thread in [A, C].concat() {
        let entity = group.and_then(|group| world.sched.group_on(group, cpu(thread)));
        entity.into_iter().for_each(|(_, se)| world.call(thread, |sched, cx| sched.update_load_avg(cx, se, Tell::Group)));
    }
    world
}

fn loads(world: &World) -> [u64; 4] {
    [A[0], A[1], C[0], C[1]].map(|thread| world.sched.weighted_cpuload(cpu(thread)))
}

/// The first CPU of the core that idle CPU 0 takes tasks from, how many it moves, and how often balance failed.
fn balanced(mut world: World) -> (u32, u32, u32) {
    let sd = world.sd(0, 1);
    let mut env = world.env(sd, CpuIdleType::Idle);
    let busiest = world.call(0, |sched, cx| sched.busiest_group_by_load(cx, &mut env)).unwrap();
    let core = world.sched.topology.groups[busiest].cpus[0];
    let moved = world.balance(sd);
    world.check();
    (core.get(), moved, world.domain(sd).nr_balance_failed)
}

/// Model: 07 T15b
#[test]
fn the_core_with_a_waiting_worker_of_a_group_is_relieved_only_with_the_patch() {
    let root = workers("v4.12", false);
    assert_eq!(loads(&root), [1200, 600, 600, 600]);
    assert_eq!(balanced(root), (A[0], 1, 0));

    // The workers that sleep count on C. The one that waits on A has just woken: that shows only as its group's entity ages.
    let mut cgroup = workers("v4.12", true);
    let root = cgroup.sched.rqs[cpu(A[0])].cfs;
    cgroup.sched.pelt_cfs[root].runnable_avg = LOAD;
    cgroup.sched.group_stats.cpu_changes(cpu(A[0]));
    assert_eq!(loads(&cgroup), [600, 600, 1160, 1160]);
    assert_eq!(balanced(cgroup), (C[0], 0, 1), "nobody waits there");

    // With the patch those who sleep do not count: three tasks are more than two.
    let patched = workers("v4.12+independent-runnable", true);
    let [waits, runs, other, another] = loads(&patched);
    assert!(waits + runs > other + another, "{waits} + {runs}, {other} + {another}");
    assert_eq!(balanced(patched), (A[0], 1, 0));
}

/// A task of a group that has had more than its share, beside another one of the group. On the idle thread's CPU a root task is queued, and
/// nobody of the group: there is nobody whom it would have to let pass.
#[test]
fn who_waits_on_the_queue_of_the_same_group_counts_for_eligibility() {
    for kernel in ["v6.14", "v6.18", "v7.2"] {
        for (beside_root_task, stays) in [(true, false), (false, true)] {
            let mut world = World::new(kernel, MachineView::flat(2, Ns::from_ms(1)));
            let group = world.sched.add_group(&TaskGroupSpec { shares: MOST, ..TaskGroupSpec::new("/group".to_string(), None) });
            worker(&mut world, 1, Some(group), LOAD);
            worker(&mut world, 1, Some(group), LOAD);
            worker(&mut world, 1, Some(group), LOAD);
            world.call(1, |sched, cx| sched.schedule(cx));
            worker(&mut world, 0, if beside_root_task { None } else { Some(group) }, LOAD);
            let waits = world.sched.cfs_tasks_candidate(cpu(1)).unwrap();
            let (queue, se) = (world.sched.se(waits).cfs_rq, world.sched.se_of(waits));
            world.sched.level(se).dequeue_from_order();
            world.sched.ses[se].vruntime = world.sched.ses[se].vruntime.plus(50_000_000);
            world.sched.level(se).enqueue_in_order();
            assert!(!world.sched.averages(queue).eligible(world.sched.ses[se].vruntime), "{kernel}");
            let sd = world.sd(0, 0);
            let mut env = world.env(sd, CpuIdleType::Idle);
            let moves = world.call(0, |sched, cx| {
                sched.rqs[cpu(1)].clocks.clock_task += 1_000_000_000;
                sched.can_migrate_task(cx, &mut env, cpu(1), waits)
            });
            assert_eq!(!moves, stays, "{kernel}, a root task: {beside_root_task}");
        }
    }
}

/// Three of the four tasks of CPU 1 may not leave it, and stand first: only v6.6 of mainline, which looks at as many as were queued and on
/// while all were pinned, comes to the fourth when two have been queued. The stable kernels 6.1.187 and 6.12 stop.
#[test]
fn a_look_ends_with_the_tasks_that_were_queued() {
    for (kernel, moved) in [("v5.10", 0), ("v6.1", 0), ("v6.6", 1), ("v6.12", 0), ("v7.2", 0)] {
        let mut world = World::new(kernel, MachineView::flat(2, Ns::from_ms(1)));
        for _ in 0..4 {
            worker(&mut world, 1, None, LOAD);
        }
        let mut first = world.sched.cfs_tasks_candidate(cpu(1));
        for _ in 0..3 {
            let task = first.unwrap();
            world.sched.tasks[task].cpus_allowed = fairground_stdx::CpuMask::only(cpu(1)).into();
            first = world.sched.cfs_tasks_after(task);
        }
        let sd = world.sd(0, 0);
        let mut env = world.env(sd, CpuIdleType::Idle);
        (env.loop_max, env.imbalance, env.all_pinned, env.src_cpu) = (2, 1, true, Some(cpu(1)));
        env.migration = super::super::MigrationType::Task;
        let detached = world.call(0, |sched, cx| {
            sched.rqs[cpu(1)].clocks.clock_task += 1_000_000_000;
            sched.detach_tasks(cx, &mut env, cpu(1))
        });
        assert_eq!(detached, moved, "{kernel}");
    }
}
