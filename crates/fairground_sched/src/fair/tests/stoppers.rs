//! What a stopper on a CPU changes for the fair tasks there: it counts as one, is balanced for, and is who runs until it has left.

use super::bench::{Bench, CPU, MS};
use crate::core::{Arrival, Leaving};
use crate::{BalanceStep, Profile};
use fairground_model::{Policy, PrevState};
use fairground_stdx::{CpuId, CpuMask, Instant, TaskId};

const OTHER: CpuId = CpuId::new(1);

fn bench(kernel: &str) -> Bench {
    let profile = Profile::parse(kernel).unwrap();
    let sure = profile.clone().with_feature("NO_NI_RANDOM").unwrap_or(profile);
    Bench::with_cpus(sure.with_seam("newidle_batch", "imbalance").unwrap(), 2)
}

/// Four tasks on the other CPU, which may go to both.
fn four_elsewhere(bench: &mut Bench) -> [TaskId; 4] {
    bench.cpu = OTHER;
    let tasks = [0; 4].map(|_| bench.queued_in(None));
    for task in tasks {
        bench.sched.tasks[task].cpus_allowed = CpuMask::first_n(2).into();
    }
    bench.schedule();
    bench.cpu = CPU;
    tasks
}

fn balances(bench: &mut Bench) {
    while bench.call(|sched, cx| sched.newidle_balance(cx)) == BalanceStep::More {}
}

/// The running task of a CPU is no longer allowed there, so its stopper comes, which is the second task of that CPU.
#[test]
fn a_stopper_that_comes_for_the_running_task_has_its_cpu_tell_that_somebody_waits() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        assert!(!bench.sched.topology.overload, "{kernel}");
        bench.call(|sched, cx| sched.set_cpus_allowed(cx, task, CpuMask::only(OTHER)));
        assert_eq!(bench.sched.tasks[task].migration_pending, Some(OTHER), "{kernel}");
        assert!(bench.sched.topology.overload, "{kernel}");
    }
}

/// The stopper has moved the only task. Who comes with the newidle balance that follows finds the stopper, which is more urgent than anybody
/// and off its queue: nobody is asked to choose, and the next schedule() reads the clock.
#[test]
fn who_comes_as_the_stopper_leaves_finds_it_and_not_the_idle_task() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        bench.sched.tasks[task].cpus_allowed = CpuMask::first_n(2).into();
        bench.sched.tasks[task].migration_pending = Some(OTHER);
        assert_eq!(bench.call(|sched, cx| sched.schedule(cx)).next, None, "{kernel}");
        bench.sched.rqs[CPU].need_resched = false;
        let leaving = bench.call(|sched, cx| sched.schedule_start(cx));
        assert!(leaving.found_nothing(), "{kernel}");
        let comes = bench.normal(0);
        bench.call(|sched, cx| sched.check_preempt_curr(cx, CPU, comes, Arrival::Plain));
        let rq = &bench.sched.rqs[CPU];
        assert_eq!((rq.need_resched, rq.clock_skip.requested), (false, false), "{kernel}");
        let switch = bench.call(|sched, cx| sched.schedule_finish(cx, leaving)).unwrap();
        assert_eq!(switch.next, Some(comes), "{kernel}");
    }
}

/// A task that is called away, and one that waits: the CPU goes to the stopper first, and the next schedule() picks.
#[test]
fn who_follows_a_task_that_is_called_away_is_picked_when_that_has_gone() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut bench = bench(kernel);
        bench.normal(0);
        bench.normal(0);
        let task = bench.schedule();
        bench.sched.tasks[task].cpus_allowed = CpuMask::first_n(2).into();
        bench.sched.tasks[task].migration_pending = Some(OTHER);
        assert_eq!(bench.call(|sched, cx| sched.schedule(cx)).next, None, "{kernel}");
        assert_eq!(bench.sched.task(task).cpu, OTHER, "{kernel}");
        assert!(bench.sched.rqs[CPU].need_resched, "{kernel}");
        assert_ne!(bench.schedule(), task, "{kernel}");
    }
}

/// The stopper is woken while the only task of a CPU runs, and then that sleeps. Where the classes are asked from the fair one on, and go by
/// its queue alone, the CPU balances before it picks the stopper. That comes as far as the interval of the domain, and pulls nobody.
#[test]
fn a_cpu_balances_as_its_last_fair_task_leaves_for_a_stopper() {
    for (kernel, first) in [("v5.10", false), ("v6.1", false), ("v6.12", true), ("v6.18", true), ("v7.2", false)] {
        let mut bench = bench(kernel);
        let task = bench.normal(0);
        bench.schedule();
        let waiting = four_elsewhere(&mut bench);
        bench.now = Instant::from_ns(5 * MS);
        bench.sched.rqs[CPU].lb.push_cpu = Some(OTHER);
        bench.call(|sched, cx| sched.wake_stopper(cx, CPU));
        bench.sched.rqs[CPU].lb.next_balance = 1_000_000;
        bench.sched.rqs[CPU].lb.avg_idle = 1_000_000;
        let step: Result<_, Leaving> = bench.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Dead);
            sched.schedule_to_stopper(cx)
        });
        assert_eq!(step.is_err(), first, "{kernel}");
        if let Err(leaving) = step {
            balances(&mut bench);
            let lb = &bench.sched.rqs[CPU].lb;
            assert!(lb.next_balance < 1_000_000 && lb.idle_stamp == 0, "{kernel}");
            bench.call(|sched, cx| sched.schedule_stopper(cx, Some(leaving)));
        } else {
            assert_eq!(bench.sched.rqs[CPU].lb.next_balance, 1_000_000, "{kernel}");
        }
        assert!(bench.sched.rqs[CPU].stop_running && bench.sched.rqs[CPU].curr.is_none(), "{kernel}");
        assert!(waiting.iter().all(|&task| bench.sched.task(task).cpu == OTHER), "{kernel}");
        assert_ne!(bench.sched.rqs[CPU].curr, Some(task));
    }
}

/// A CPU that goes idle pulls half of four tasks. A server of fair tasks that is queued as the last of them leaves counts as a task, and
/// then nobody is pulled.
#[test]
fn a_server_that_is_queued_ends_a_newidle_balance() {
    for queued in [false, true] {
        let mut bench = bench("v6.12");
        bench.queued(Policy::Normal, 0);
        bench.schedule();
        let waiting = four_elsewhere(&mut bench);
        bench.now = Instant::from_ns(5 * MS);
        bench.sched.rqs[CPU].lb.avg_idle = 1_000_000;
        bench.call(|sched, cx| {
            sched.set_current_state(CPU, PrevState::Dead);
            sched.schedule_start(cx)
        });
        bench.sched.rqs[CPU].server_queued = queued;
        balances(&mut bench);
        let pulled = waiting.iter().filter(|&&task| bench.sched.task(task).cpu == CPU).count();
        assert_eq!((pulled, bench.sched.rqs[CPU].lb.idle_stamp), (if queued { 0 } else { 2 }, 0));
    }
}
