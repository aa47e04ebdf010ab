//! What showed of balance when schedulers of kernels ran beside this one: a test for each, without a kernel.

use super::moves::{World, cpu};
use crate::Profile;
use crate::fair::balance::MigrationType;
use crate::fair::tests::bench::Bench;
use crate::topology::CpuIdleType;
use fairground_model::{MachineView, PrevState};
use fairground_stdx::{CpuId, CpuMask, Ns};

const MS: u64 = 1_000_000;

/// CPUs 0 and 1 have a cache, and 2 and 3 have one. CPU 2 has no task, and more load left than CPU 3 has with its two.
#[test]
fn a_cpu_without_tasks_may_be_the_busiest_one_up_to_v5_12() {
    for (kernel, expected) in [("v5.10", 2), ("v5.19", 3), ("v6.12", 3)] {
        let mut view = MachineView::flat(4, Ns(MS));
        for number in 0..4 {
            view.cpus[cpu(number)].llc = CpuMask::parse_list(if number < 2 { "0-1" } else { "2-3" }).unwrap();
        }
        let mut world = World::new(kernel, view);
        let all = world.all();
        for _ in 0..2 {
            world.queued(3, all);
        }
        let left = world.sched.rqs[cpu(2)].cfs;
        world.sched.pelt_cfs[left].load_avg = 5_000;
        let sd = world.sd(0, 1);
        let other = world.sched.topology.groups_of(sd).nth(1).unwrap();
        let mut env = world.env(sd, CpuIdleType::Idle);
        (env.migration, env.imbalance) = (MigrationType::Load, 10_000);
        let busiest = world.call(0, |sched, cx| sched.find_busiest_queue(cx, &env, other));
        assert_eq!(busiest, Some(cpu(expected)), "{kernel}");
        env.migration = MigrationType::Util;
        let busiest = world.call(0, |sched, cx| sched.find_busiest_queue(cx, &env, other));
        assert_eq!(busiest, Some(cpu(3)), "{kernel}: nothing could be detached");
    }
}

/// CPUs 0 to 2 have a cache, and 3 to 5 have one. CPU 1 has two tasks that must stay there, so CPU 0 marks their group for the balance above,
/// and looks again without CPU 1. It finds nothing then. Up to v5.3 that took the mark away, so nobody above ever saw it.
#[test]
fn a_group_stays_marked_where_only_bound_tasks_were_found_from_v5_4_on() {
    for (kernel, expected) in [("v5.1", false), ("v5.10", true), ("v5.19", true), ("v6.12", true)] {
        let mut view = MachineView::flat(6, Ns(MS));
        for number in 0..6 {
            view.cpus[cpu(number)].llc = CpuMask::parse_list(if number < 3 { "0-2" } else { "3-5" }).unwrap();
        }
        let mut world = World::new(kernel, view);
        for _ in 0..2 {
            world.queued(1, CpuMask::only(cpu(1)));
        }
        world.fully_used(1);
        let below = world.sd(0, 0);
        assert_eq!(world.balance(below), 0, "{kernel}");
        let above = world.sd(0, 1);
        let group = world.domain(above).first_group;
        assert_eq!(world.sched.topology.groups[group].imbalance, expected, "{kernel}");
    }
}

/// A CPU at half its capacity runs one task, and another one sleeps there with its dequeue put off: two tasks up to v6.13, one from then
/// on. One alone is moved away, also by the look of the tick.
#[test]
fn a_sleeper_that_is_queued_still_counts_beside_a_running_task_up_to_v6_13() {
    for (kernel, is_alone) in [("v6.12", false), ("v6.14", true), ("v6.18", true)] {
        let mut world = World::new(kernel, MachineView::flat(2, Ns(MS)));
        let all = world.all();
        for _ in 0..2 {
            world.queued(1, all);
        }
        world.sched.rqs[cpu(1)].lb.cpu_capacity = 512;
        let queue = world.sched.rqs[cpu(1)].cfs;
        assert_eq!(world.sched.cfs_rqs[queue].h_nr_running, 2);
        world.sched.cfs_rqs[queue].h_nr_runnable = 1;
        let mut env = world.env(world.sd(0, 0), CpuIdleType::NewlyIdle);
        env.src_cpu = Some(cpu(1));
        assert_eq!(world.call(1, |sched, _| sched.voluntary_active_balance(&env)), is_alone, "{kernel}");
        // Nobody who wants to run: up to v6.13 the sleeper is a reason still.
        let shared = world.sched.topology.cpus[cpu(1)].sd_llc_shared.unwrap();
        world.sched.topology.shared[shared].nr_busy_cpus = 1;
        (world.sched.rqs[cpu(1)].nr_running, world.sched.cfs_rqs[queue].h_nr_runnable) = (1, 0);
        world.sched.cfs_rqs[queue].h_nr_running = 1;
        assert_eq!(world.sched.wants_idle_help(cpu(1)), !is_alone, "{kernel}");
    }
}

/// One CPU has no domains. The load of a task in a group that has ended there is taken off as the CPU runs out of tasks, up to v5.16.
#[test]
fn a_newidle_balance_without_domains_ages_where_its_cost_is_fixed() {
    const CPU: CpuId = CpuId::new(0);
    for (kernel, left) in [("v5.10", 1024), ("v5.19", 2048), ("v6.12", 2048)] {
        let mut bench = Bench::new(Profile::parse(kernel).unwrap());
        let group = bench.group(None, 1024);
        let first = bench.queued_in(Some(group));
        assert_eq!(bench.schedule(), first);
        bench.queued_in(None);
        for _ in 0..2 {
            bench.sched.set_current_state(CPU, PrevState::Dead);
            bench.call(|sched, cx| sched.schedule(cx));
        }
        assert_eq!(bench.sched.cfs_avg(CPU).load_avg, left, "{kernel}");
    }
}
