//! Averages, lags, newidle balance and wake-ups of Linux 7.2.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use super::bench::{Bench, CPU, Decisions, MS};
use crate::fair::CfsRq;
use crate::topology::NewidleRate;
use crate::{Profile, WakeFlags, Waking};
use fairground_model::reason::Question;
use fairground_model::{Policy, PrevState, Reason, WakeContext};
use fairground_stdx::{CpuMask, Ns, TaskId, Vruntime};

/// Model: 14 T02
#[test]
fn full_weights_give_the_same_average() {
    for (kernel, scale) in [("v6.18", 1), ("v7.2", 1024)] {
        let profile = Profile::parse(kernel).unwrap();
        let weight = |small: u64| profile.avg_weight(small << 10);
        assert_eq!((weight(1024), weight(335)), (1024 * scale, 335 * scale), "{kernel}");
        let mut queue = CfsRq::new(CPU);
        queue.min_vruntime = Vruntime(0);
        queue.avg_vruntime_add(Vruntime(0), weight(1024));
        queue.avg_vruntime_add(Vruntime(1_000_001), weight(335));
        assert_eq!(queue.averages(&profile, None).avg_vruntime(), Vruntime(246_505), "{kernel}");
        queue.move_zero_of_averages(Vruntime(246_505));
        assert_eq!(queue.averages(&profile, None).avg_vruntime(), Vruntime(246_505), "{kernel}: from its own average");
    }
}

#[test]
fn zero_of_the_averages_follows_who_asks_for_them() {
    let mut bench = Bench::new(Profile::parse("v7.2").unwrap());
    let (first, root) = (bench.normal(0), bench.sched.rqs[CPU].cfs);
    bench.normal(5);
    bench.schedule();
    for ms in 1..20 {
        bench.tick(ms * MS);
        let _ = bench.call(|sched, cx| sched.update_entity_lag(cx, root, sched.se_of(first)));
        let queue = &bench.sched.cfs_rqs[root];
        assert_eq!(queue.min_vruntime, bench.sched.averages(root).avg_vruntime());
        bench.sched.check().unwrap();
    }
}

/// A slice of 0.7 ms runs and one of 20 ms waits, or the other way round, far from each other in virtual time.
///
/// Model: 14 T03
#[test]
fn the_lag_limit_is_the_largest_slice_and_a_tick() {
    for (kernel, of_short, of_long) in [("v6.18", 4 * MS, 40 * MS), ("v7.2", 24 * MS, 24 * MS)] {
        let mut bench = Bench::new(Profile::parse(kernel).unwrap());
        bench.machine.tick = Ns(4 * MS);
        let (short, long) = (bench.normal(0), bench.queued_with_slice(0, Ns(20 * MS)));
        let running = bench.schedule();
        let root = bench.sched.rqs[CPU].cfs;
        let se = bench.sched.se_of(running);
        bench.sched.ses[se].vruntime = bench.sched.ses[se].vruntime.plus(1_000 * MS);
        for (task, limit) in [(short, of_short), (long, of_long)] {
            let se = bench.sched.se_of(task);
            let _ = bench.call(|sched, cx| sched.update_entity_lag(cx, root, se));
            assert_eq!(bench.sched.ses[se].vlag.unsigned_abs(), limit, "{kernel} {task:?}");
            assert_eq!(bench.sched.ses[se].vlag < 0, task == running, "{kernel} {task:?}");
        }
    }
}

/// Model: 14 T04
#[test]
fn rare_callers_of_newidle_balance_get_tries_for_their_time() {
    let after = |now: Option<u64>| {
        let mut rate = NewidleRate { call: 0, success: 0, ratio: 512, stamp: 0 };
        for _ in 0..1024 {
            rate.count(0, now);
        }
        (rate.ratio, rate.call)
    };
    assert_eq!(after(Some(2_000 * MS)), (476, 512));
    assert_eq!(after(Some(250 * MS)), (59, 512));
    assert_eq!(after(None), (0, 512), "NO_NI_RATE");
    assert_eq!(after(Some(60_000 * MS)).0, 1024, "no more than that");
}

/// A hog alone has run 1 ms of its second request of 3 ms, and is protected no more, when a task is forked whose first request ends
/// before.
fn fork_beside_a_hog(kernel: &str, slice: Option<Ns>) -> Reason {
    let profile = Profile::parse(kernel).unwrap().with_tunable("sched_base_slice_ns", "3ms").unwrap();
    let mut bench = Bench::new(profile.with_feature("NO_RUN_TO_PARITY").unwrap());
    bench.normal(0);
    bench.schedule();
    bench.tick(2 * MS);
    bench.tick(3 * MS);
    let child = bench.forked(Policy::Normal, 0);
    if slice.is_some() {
        bench.call(|sched, cx| sched.set_slice(cx, child, slice));
    }
    let mut decisions = Decisions::default();
    bench.call_with(&mut decisions, |sched, cx| sched.wake_up_new_task(cx, child, Some(CPU)));
    let mut answers = decisions.0.into_iter().filter(|reason| reason.question() == Question::WakeupPreempt);
    answers.next_back().unwrap()
}

/// Model: 14 T06
#[test]
fn a_forked_task_preempts_only_with_a_shorter_slice() {
    assert_eq!(fork_beside_a_hog("v6.18", None), Reason::WakeDeadlinePreempts);
    assert_eq!(fork_beside_a_hog("v7.2", None), Reason::WakeNewWaits);
    for kernel in ["v6.18", "v7.2"] {
        assert_eq!(fork_beside_a_hog(kernel, Some(Ns(MS))), Reason::WakeShortPreempts, "{kernel}");
    }
}

/// A sleeper wakes beside a hog that has run 1 ms of its request of 3 ms, by a synchronous wake-up or another. As a heavy task it has the
/// earlier deadline. The answer, and who is picked next.
struct SyncWakeup {
    migration_cost_ns: u64,
    nice: i8,
    cpus: u32,
    sync: bool,
    from_list: bool,
}

const WAKEUP: SyncWakeup = SyncWakeup { migration_cost_ns: 500_000, nice: -10, cpus: 1, sync: true, from_list: false };

impl SyncWakeup {
    fn bench(&self, features: &[&str]) -> (Bench, TaskId, TaskId) {
        let profile = Profile::parse("v7.2").unwrap().with_tunable("sched_base_slice_ns", "3ms").unwrap();
        let profile = profile.with_tunable("sched_migration_cost_ns", &self.migration_cost_ns.to_string()).unwrap();
        let with = |profile: Profile, name: &&str| profile.with_feature(name).unwrap();
        let mut bench = Bench::with_cpus(features.iter().fold(profile, with), 2);
        let sleeper = bench.normal(self.nice);
        bench.sched.tasks[sleeper].cpus_allowed = CpuMask::first_n(self.cpus as usize).into();
        bench.schedule();
        bench.sched.set_current_state(CPU, PrevState::Sleeping);
        bench.call(|sched, cx| sched.schedule(cx));
        let hog = bench.normal(0);
        assert_eq!(bench.schedule(), hog);
        bench.tick(MS);
        (bench, sleeper, hog)
    }

    fn wakes(&self, bench: &mut Bench, sleeper: TaskId) -> Reason {
        let flags = WakeFlags { sync: self.sync, context: WakeContext::Task };
        let mut decisions = Decisions::default();
        bench.call_with(&mut decisions, |sched, cx| {
            assert!(matches!(sched.ttwu_select(cx, sleeper, flags), Waking::Selected(_)));
            match self.from_list {
                true => {
                    sched.ttwu_queue_wakelist(cx, sleeper, false);
                    sched.sched_ttwu_pending(cx);
                }
                false => sched.ttwu_activate(cx, sleeper, CPU),
            }
        });
        bench.sched.check().unwrap();
        let mut answers = decisions.0.into_iter().filter(|reason| reason.question() == Question::WakeupPreempt);
        answers.next_back().unwrap()
    }

    fn answer(&self) -> Reason {
        let (mut bench, sleeper, hog) = self.bench(&["NEXT_BUDDY"]);
        let end = bench.sched.se(hog).vprot;
        let reason = self.wakes(&mut bench, sleeper);
        assert_eq!(bench.sched.cfs_rqs[bench.sched.rqs[CPU].cfs].next, Some(bench.sched.se_of(sleeper)));
        assert_eq!(bench.sched.se(hog).vprot, end, "nothing else changes");
        assert_eq!(bench.schedule(), sleeper, "at the next pick");
        reason
    }
}

/// The running entity has just been accounted, so that it has run for 0 ns: a quarter of 3 ns is 0.
#[test]
fn a_buddy_woken_synchronously_waits_for_its_waker() {
    let answer = |migration_cost_ns, cpus| SyncWakeup { migration_cost_ns, cpus, ..WAKEUP }.answer();
    assert_eq!(answer(500_000, 1), Reason::WakeSyncWaits);
    assert_eq!(answer(0, 1), Reason::WakeSyncPreempts);
    assert_eq!(
        (answer(3, 1), answer(3, 2), answer(4, 2)),
        (Reason::WakeSyncWaits, Reason::WakeSyncPreempts, Reason::WakeSyncWaits)
    );
    assert_eq!(SyncWakeup { migration_cost_ns: 0, nice: 0, ..WAKEUP }.answer(), Reason::WakeSyncWaits, "a later deadline");
    assert_eq!(SyncWakeup { sync: false, ..WAKEUP }.answer(), Reason::WakeDeadlinePreempts);
    assert_eq!(SyncWakeup { from_list: true, ..WAKEUP }.answer(), Reason::WakeDeadlinePreempts, "a list does not tell");
}

#[test]
fn only_a_new_buddy_waits_for_its_waker() {
    let (mut bench, sleeper, _) = WAKEUP.bench(&["NO_NEXT_BUDDY"]);
    assert_eq!(WAKEUP.wakes(&mut bench, sleeper), Reason::WakeProtected);
    let (mut bench, sleeper, _) = WAKEUP.bench(&["NEXT_BUDDY", "NO_PICK_BUDDY"]);
    let other = bench.normal(-15);
    let buddy = bench.sched.se_of(other);
    bench.sched.set_next_buddy(buddy);
    assert_eq!(WAKEUP.wakes(&mut bench, sleeper), Reason::WakeProtected);
    assert_eq!(bench.sched.cfs_rqs[bench.sched.rqs[CPU].cfs].next, Some(buddy), "its deadline is earlier");
}
