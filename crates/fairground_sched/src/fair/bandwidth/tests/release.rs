//! The release of a throttled queue, step by step.

use crate::Profile;
use crate::fair::bandwidth::Distribution;
use crate::fair::tests::bench::{Bench, MS};
use fairground_model::CpuMax;
use fairground_stdx::{CpuId, Ns};

/// A queue is paid for by another CPU; before its own releases it, a task in the kernel uses up what it got.
///
/// Model: 11 T05
#[test]
fn a_queue_that_uses_up_its_runtime_before_its_release_stays_throttled() {
    let mut bench = Bench::with_cpus(Profile::parse("v6.18").unwrap(), 2);
    let group = bench.group(None, 1024);
    let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
    bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
    let (timer, own) = (CpuId::new(0), CpuId::new(1));
    bench.cpu = own;
    let task = bench.queued_in(Some(group));
    let queue = bench.sched.se(task).cfs_rq;
    let pool = bench.sched.pool(group).unwrap();
    pool.runtime = 0;
    pool.reset(own, 0);
    assert!(bench.call(|sched, cx| sched.throttle_cfs_rq(cx, queue)));

    let distribute = |bench: &mut Bench| {
        bench.cpu = timer;
        bench.sched.pool(group).unwrap().runtime = 10 * MS;
        let mut distribution = Distribution::new(group, 1);
        while bench.call(|sched, cx| sched.distribute_cfs_runtime(cx, &mut distribution)) {}
        bench.cpu = own;
        bench.sched.pool(group).unwrap().accounts[own].remaining
    };
    assert_eq!(distribute(&mut bench), 1);
    bench.call(|sched, cx| sched.account_cfs_rq_runtime(cx, queue, Ns(10_000)));
    assert!(bench.call(|sched, cx| sched.cfsb_csd_unthrottle(cx)));
    let pool = bench.sched.pool(group).unwrap();
    assert_eq!((pool.accounts[own].throttled, pool.times_in_line(own), pool.accounts[own].remaining), (true, 1, -9_999));

    assert_eq!(distribute(&mut bench), 1, "10 us are paid, 1 ns of which was there");
    assert!(bench.call(|sched, cx| sched.cfsb_csd_unthrottle(cx)));
    assert!(!bench.sched.pool(group).unwrap().accounts[own].throttled);
}

/// In v7.2 who is set to run on a throttled queue is marked. One that another CPU has paid for has 1 ns, and marks nobody.
#[test]
fn a_throttled_queue_that_is_paid_for_marks_nobody_in_v7_2() {
    for (left, marked) in [(0, true), (1, false)] {
        let mut bench = Bench::new(Profile::parse("v7.2").unwrap());
        let group = bench.group(None, 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
        let task = bench.queued_in(Some(group));
        let queue = bench.sched.se(task).cfs_rq;
        let cpu = CpuId::new(0);
        let pool = bench.sched.pool(group).unwrap();
        pool.runtime = 0;
        pool.reset(cpu, 0);
        assert!(bench.call(|sched, cx| sched.throttle_cfs_rq(cx, queue)));
        bench.sched.pool(group).unwrap().reset(cpu, left);
        assert_eq!(bench.schedule(), task);
        assert_eq!(bench.sched.user_work_due(cpu), marked, "{left} ns");
    }
}

/// The only task of a throttled queue went to another group, and waits on the idle CPU. The release of the queue asks that to choose only
/// if the queue has something to age, and up to v5.12 not even then.
#[test]
fn a_release_of_an_empty_queue_asks_nobody_to_choose() {
    const CPU: CpuId = CpuId::new(0);
    for (kernel, load, asks) in
        [("v5.10", 0, false), ("v5.10", 9, false), ("v6.1", 9, true), ("v6.12", 0, false), ("v6.12", 9, true)]
    {
        let mut bench = Bench::with_cpus(Profile::parse(kernel).unwrap(), 1);
        let group = bench.group(None, 1024);
        let below = bench.group(Some(group), 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, below, limit));
        let [above, queue] = [group, below].map(|group| {
            bench.sched.group_queue(Some(group), CPU);
            bench.sched.group_on(group, CPU).unwrap().0
        });
        let pool = bench.sched.pool(below).unwrap();
        pool.runtime = 0;
        pool.reset(CPU, 0);
        assert!(bench.call(|sched, cx| sched.throttle_cfs_rq(cx, queue)), "{kernel}");
        bench.normal(0);
        bench.sched.rqs[CPU].need_resched = false;
        bench.sched.pelt_cfs[queue].load_sum = load;
        bench.sched.pool(below).unwrap().reset(CPU, 1);
        bench.call(|sched, cx| sched.unthrottle_cfs_rq(cx, queue));
        assert_eq!(bench.sched.rqs[CPU].need_resched, asks, "{kernel}, load {load}");
        assert_eq!(bench.sched.cfs_rqs[above].on_list, asks, "{kernel}, load {load}: the branch is complete");
        assert_eq!(bench.sched.rqs[CPU].leaf_branch, None, "{kernel}, load {load}");
    }
}

/// Two groups, one in the other, are throttled while a task of the inner one runs on. Up to 7.1 the release of the outer one alone charges
/// nobody. In 7.2 it charges who runs, though the inner one stays throttled.
#[test]
fn a_release_charges_who_runs_below_another_throttled_queue_in_v7_2() {
    const CPU: CpuId = CpuId::new(0);
    for (kernel, charges) in [("v6.18", false), ("v7.2", true)] {
        let mut bench = Bench::new(Profile::parse(kernel).unwrap());
        let outer = bench.group(None, 1024);
        let inner = bench.group(Some(outer), 1024);
        let limit = CpuMax { quota: Some(Ns(20 * MS)), period: Ns(100 * MS), burst: Ns::ZERO };
        let task = bench.queued_in(Some(inner));
        assert_eq!(bench.schedule(), task);
        let [above, below] = [outer, inner].map(|group| {
            bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
            let queue = bench.sched.groups[group].queues[CPU].unwrap();
            let pool = bench.sched.pool(group).unwrap();
            pool.runtime = 0;
            pool.reset(CPU, 0);
            assert!(bench.call(|sched, cx| sched.throttle_cfs_rq(cx, queue)), "{kernel}");
            queue
        });
        let before = bench.sched.se(task).vruntime;
        bench.now += Ns(MS);
        bench.sched.pool(outer).unwrap().reset(CPU, 5 * MS as i64);
        bench.call(|sched, cx| sched.update_rq_clock(cx, CPU));
        bench.call(|sched, cx| sched.unthrottle_cfs_rq(cx, above));
        assert!(bench.sched.throttle_count(below) == 1, "{kernel}");
        assert_eq!(bench.sched.se(task).vruntime != before, charges, "{kernel}");
    }
}
