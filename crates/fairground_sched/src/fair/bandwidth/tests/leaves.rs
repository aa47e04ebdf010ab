//! Which queues are on the list of those that are aged, below a throttled one and after its release.

use crate::Profile;
use crate::fair::tests::bench::{Bench, MS};
use fairground_model::{CpuMax, PrevState};
use fairground_stdx::{CfsRqId, CpuId, Ns, TgId};

/// A group with a group in it, and the queue of the lower one; a task waits there, and the upper one is throttled.
fn throttled(kernel: &str) -> (Bench, TgId, CfsRqId) {
    let mut bench = Bench::new(Profile::parse(kernel).unwrap());
    let upper = bench.group(None, 1024);
    let lower = bench.group(Some(upper), 1024);
    let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
    bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, upper, limit));
    let task = bench.queued_in(Some(lower));
    let pool = bench.sched.pool(upper).unwrap();
    pool.runtime = 0;
    pool.reset(CpuId::new(0), 0);
    let queue = bench.sched.groups[upper].queues[CpuId::new(0)].unwrap();
    assert!(bench.call(|sched, cx| sched.throttle_cfs_rq(cx, queue)));
    let below = bench.sched.se(task).cfs_rq;
    assert_eq!([queue, below].map(|queue| bench.sched.cfs_rqs[queue].on_list), [false; 2], "{kernel}");
    (bench, lower, queue)
}

#[test]
fn a_task_that_comes_below_a_throttled_queue_lists_it_and_those_above_in_v5_10() {
    for (kernel, listed) in [("v5.10", true), ("v6.1", false)] {
        let (mut bench, lower, queue) = throttled(kernel);
        let task = bench.queued_in(Some(lower));
        let below = bench.sched.se(task).cfs_rq;
        assert_eq!([queue, below].map(|queue| bench.sched.cfs_rqs[queue].on_list), [listed; 2], "{kernel}");
    }
}

/// The queue has load and no task when it is released.
#[test]
fn a_released_queue_without_tasks_is_not_listed_in_v5_10() {
    for (kernel, listed) in [("v5.10", false), ("v5.19", true), ("v6.1", true)] {
        let mut bench = Bench::new(Profile::parse(kernel).unwrap());
        let group = bench.group(None, 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
        let task = bench.queued_in(Some(group));
        let queue = bench.sched.se(task).cfs_rq;
        assert_eq!(bench.schedule(), task);
        bench.sched.set_current_state(CpuId::new(0), PrevState::Sleeping);
        bench.call(|sched, cx| sched.schedule(cx));
        bench.call(|sched, cx| sched.throttle_below(cx, group, CpuId::new(0)));
        assert!(!bench.sched.cfs_rqs[queue].on_list);
        bench.call(|sched, cx| sched.unthrottle_below(cx, group, CpuId::new(0)));
        assert!(bench.sched.pelt_cfs[queue].load_avg > 0);
        assert_eq!(bench.sched.cfs_rqs[queue].on_list, listed, "{kernel}");
    }
}
