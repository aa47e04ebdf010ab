//! Lag over sleeps, and delayed dequeue.

use super::{DELAYING, EEVDF, with_slice};
use crate::Sched;
use crate::fair::tests::bench::{Bench, CPU, MS};
use crate::task::TaskState;
use fairground_model::{PrevState, Reason};
use fairground_stdx::{CpuId, CpuMask, Ns};

/// Sums of weighted lags are part of `Sched::check`, which runs here after every act.
///
/// Model: 02 T13
#[test]
fn lag_survives_sleep() {
    for kernel in EEVDF {
        for (nice, others) in [(0, vec![0]), (0, vec![0, 0, 0]), (5, vec![0, -5]), (-5, vec![0, 5, 10]), (19, vec![0, 0])] {
            // With delayed dequeue a negative lag is slept off; it is kept without.
            let profile = with_slice(kernel, "3ms");
            let profile = if kernel == "v6.6" { profile } else { profile.with_feature("NO_DELAY_DEQUEUE").unwrap() };
            let mut bench = Bench::new(profile);
            others.iter().for_each(|&nice| {
                bench.normal(nice);
            });
            let sleeper = bench.normal(nice);
            let mut now = 0;
            let mut slept = 0;
            let mut curr = bench.schedule();
            for tick in 1..200 {
                now += MS + 137 * tick;
                curr = bench.tick(now);
                bench.sched.check().unwrap();
                if curr != sleeper {
                    continue;
                }
                now += 300_000;
                bench.at(now);
                curr = bench.current_leaves(PrevState::Sleeping).0.unwrap();
                let kept = bench.sched.se(sleeper).vlag;
                bench.wakes(sleeper);
                let lag = bench.lag(sleeper);
                assert!((lag - kept).abs() <= 2, "{kernel} nice {nice} among {others:?}: {kept} became {lag}");
                slept += 1;
            }
            assert!(slept > 0 && bench.sched.rq(CPU).curr == Some(curr), "{kernel} nice {nice} among {others:?}");
        }
    }
}

/// Model: 02 T13
#[test]
fn lag_is_limited_to_two_slices_or_a_tick() {
    // Nice 0, slice 3 ms: at most 6 ms either way; a slice of 0.7 ms: one tick of 4 ms.
    for (slice, tick_ms, limit) in [("3ms", 1, 6 * MS), ("700us", 4, 4 * MS), ("700us", 1, 1_400_000)] {
        let mut bench = Bench::new(with_slice("v6.12", slice));
        bench.machine.tick = Ns::from_ms(tick_ms);
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(50 * MS);
        bench.call(|sched, cx| sched.sched_tick(cx));
        let cfs_rq = bench.sched.rqs[CPU].cfs;
        for (task, sign) in [(a, -1), (b, 1)] {
            let se = bench.sched.se_of(task);
            bench.call(|sched, cx| sched.update_entity_lag(cx, cfs_rq, se));
            assert_eq!(bench.sched.se(task).vlag, sign * limit as i64, "slice {slice}, tick {tick_ms} ms");
        }
    }
}

/// Model: 02 T15
#[test]
fn a_sleeper_with_negative_lag_stays_queued_until_it_is_eligible() {
    for kernel in DELAYING {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let (a, b, c) = (bench.normal(0), bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(MS);
        // A has run 1 ms, the average is 1/3 ms: its lag is negative and it stays.
        let (next, decisions) = bench.current_leaves(PrevState::Sleeping);
        assert_eq!(next, Some(b));
        assert_eq!(decisions, [Reason::DelayDequeue, Reason::PickEligibleDeadline], "{kernel}");
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Delayed, (3, 2)), "{kernel}");
        assert_eq!(bench.sched.rq(CPU).nr_running, 3);
        // B ends in the same way, but an end is never delayed.
        bench.at(2 * MS);
        let (next, decisions) = bench.current_leaves(PrevState::Dead);
        assert_eq!((next, bench.state(b)), (Some(c), TaskState::Dead), "{kernel}");
        assert!(!decisions.contains(&Reason::DelayDequeue), "{kernel}");
        // C runs until it is behind A, which is picked then, and leaves.
        let mut now = 2 * MS;
        while bench.state(a) == TaskState::Delayed {
            now += MS;
            assert_eq!(bench.tick(now), c, "{kernel}");
            assert!(now < 20 * MS, "{kernel}");
        }
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Asleep, (1, 1)), "{kernel}");
        assert_eq!(bench.sched.rq(CPU).nr_running, 1);
        assert_eq!(bench.sched.se(a).vlag, 0, "{kernel}: DELAY_ZERO");
    }
}

/// Model: 02 T15
#[test]
fn delay_zero_drops_the_lag_gained_while_asleep() {
    for (feature, keeps) in [("DELAY_ZERO", false), ("NO_DELAY_ZERO", true)] {
        let mut bench = Bench::new(with_slice("v6.12", "3ms").with_feature(feature).unwrap());
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(MS);
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        bench.tick(4 * MS);
        assert_eq!(bench.state(a), TaskState::Asleep, "B has run 3 ms, A 1 ms");
        assert_eq!(bench.sched.se(a).vlag, if keeps { MS as i64 } else { 0 }, "{feature}");
    }
}

/// Model: 02 T15
#[test]
fn a_task_that_is_woken_while_delayed_is_requeued() {
    for (wakes_at, reason, lag) in [(1_500_000, Reason::DelayRequeue, -250_000), (2_600_000, Reason::DelayZero, 0)] {
        let mut bench = Bench::new(with_slice("v6.12", "3ms"));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(MS);
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        assert_eq!(bench.counts(), (2, 1));
        // Time passes, but nobody accounts B: the requeue goes by what was accounted before.
        bench.at(wakes_at);
        if reason == Reason::DelayZero {
            bench.call(|sched, cx| sched.sched_tick(cx));
        }
        let decisions = bench.wakes(a);
        assert!(decisions.contains(&reason), "{decisions:?}");
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Queued, (2, 2)));
        assert!((bench.lag(a) - lag).abs() <= 1, "{reason:?}: {}", bench.lag(a));
        assert_eq!(bench.sched.nr_wakeups(), 1);
    }
}

/// A delayed sleeper keeps sleeping through changes of nice value and CPU.
///
/// Model: 02 T15
#[test]
fn a_delayed_task_sleeps_on_through_changes_of_nice_value_and_cpu() {
    for kernel in DELAYING {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(2 * MS);
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        let lag = bench.lag(a);
        bench.call(|sched, cx| sched.set_user_nice(cx, a, 5));
        bench.sched.check().unwrap();
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Delayed, (2, 1)), "{kernel}");
        // What it owes stays: weight * lag; the average moves with the weights, so to within rounding of the clamp.
        let (before, after) = (lag * 1024, bench.lag(a) * 335);
        assert!((before - after).abs() < 4096, "{kernel}: {before} {after}");
        bench.wakes(a);
        assert_eq!(bench.state(a), TaskState::Queued, "{kernel}");
    }
}

/// A running task may no longer use its CPU, and goes to sleep before it can be moved.
///
/// Model: 02 T15
#[test]
fn a_delayed_task_leaves_a_forbidden_cpu() {
    let other = CpuId::new(1);
    for kernel in DELAYING {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let view = bench.machine.cpus[CPU].clone();
        bench.machine.cpus.push(view);
        bench.machine.online = CpuMask::first_n(2);
        bench.sched = Sched::new(with_slice(kernel, "3ms"), &fairground_model::MachineView::flat(2, Ns(MS)));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(2 * MS);
        bench.call(|sched, cx| sched.set_cpus_allowed(cx, a, CpuMask::only(other)));
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        assert_eq!((bench.state(a), bench.sched.task(a).cpu, bench.counts()), (TaskState::Delayed, other, (1, 1)), "{kernel}");
        assert_eq!(bench.sched.cfs_rq(other).nr_running, 1, "{kernel}");
    }
}
