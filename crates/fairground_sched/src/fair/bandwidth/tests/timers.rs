//! The period timer, the slack timer, and the load-tracking clock of a throttled queue.

use crate::fair::bandwidth::{CfsBandwidth, PeriodTick};
use crate::fair::tests::bench::{Bench, MS};
use crate::{Profile, Request};
use fairground_model::CpuMax;
use fairground_stdx::{CpuId, Instant, Ns, TgId};

fn bench(name: &str, quota: u64, period: u64) -> (Bench, TgId) {
    let profile = Profile::parse(name).unwrap().with_seam("period_phase", "boot").unwrap();
    let mut bench = Bench::with_cpus(profile, 2);
    let group = bench.group(None, 1024);
    let limit = CpuMax { quota: Some(Ns(quota)), period: Ns(period), burst: Ns::ZERO };
    bench.call(|sched, cx| sched.tg_set_cfs_bandwidth(cx, group, limit));
    (bench, group)
}

fn pool(bench: &mut Bench, group: TgId) -> &mut CfsBandwidth {
    bench.sched.pool(group).unwrap()
}

/// The interrupt of a period timer takes 1.2 periods each time that it looks: period and quota are doubled at the fourth.
///
/// Model: 10 T09
#[test]
fn a_period_that_is_too_short_is_doubled() {
    let (doubled, stretched, kept) = (
        |period| after_four_looks("v6.1", period),
        |period| after_four_looks("v5.1", period),
        |period| after_four_looks("v4.20", period),
    );
    assert_eq!(doubled(MS * 2), (MS * 4, MS * 2));
    assert_eq!(doubled(499 * MS), (998 * MS, 499 * MS));
    assert_eq!(doubled(500 * MS), (500 * MS, 250 * MS));
    assert_eq!(stretched(128 * MS), (147 * MS, 147 * MS / 2));
    assert_eq!(stretched(900 * MS), (1000 * MS, 500 * MS));
    assert_eq!(kept(2 * MS), (2 * MS, MS));
}

fn after_four_looks(profile: &str, period: u64) -> (u64, u64) {
    let (mut bench, group) = bench(profile, period / 2, period);
    let mut tick = PeriodTick::new(group);
    bench.now = Instant::from_ns(period);
    for _ in 0..4 {
        assert!(bench.call(|sched, cx| sched.sched_cfs_period_timer(cx, &mut tick)));
        bench.now = Instant::from_ns(bench.now.ns() + period * 6 / 5);
    }
    let limit = pool(&mut bench, group).limit;
    (limit.period.0, limit.quota.unwrap().0)
}

/// One CPU is throttled, the other one gives back.
///
/// Model: 10 T10
#[test]
fn slack_is_handed_out_unless_a_refill_is_near() {
    let armed = |gives_back: u64, at: u64| {
        let (mut bench, group) = bench("v6.1", 20 * MS, 100 * MS);
        bench.cpu = CpuId::new(1);
        let task = bench.queued_in(Some(group));
        let pool = pool(&mut bench, group);
        pool.runtime = 0;
        pool.line_up(CpuId::new(0));
        pool.accounts[CpuId::new(1)].remaining = (gives_back + MS) as i64;
        bench.now = Instant::from_ns(at);
        bench.requests.clear();
        let queue = bench.sched.se(task).cfs_rq;
        bench.call(|sched, cx| {
            // Nobody is left there.
            sched.cfs_rqs[queue].nr_running = 0;
            sched.return_cfs_rq_runtime(cx, queue);
        });
        let slack = |request: &Request| match *request {
            Request::SlackTimer { at, .. } => Some(at.ns()),
            _ => None,
        };
        (bench.requests.iter().find_map(slack), super::timers::pool(&mut bench, group).runtime)
    };
    assert_eq!(armed(4 * MS, 90 * MS), (None, 4 * MS), "less than a slice");
    assert_eq!(armed(6 * MS, 92_900_000), (Some(97_900_000), 6 * MS));
    assert_eq!(armed(6 * MS, 93_100_000), (None, 6 * MS), "less than 7 ms up to the refill");
}

/// A queue is throttled when its last task has gone; 40 ms later one comes, 20 ms later it is released.
#[test]
fn throttled_time_begins_with_the_throttle_or_with_who_waits() {
    let counted = |name: &str| {
        let (mut bench, group) = bench(name, 20 * MS, 100 * MS);
        let cpu = bench.cpu;
        let queue = bench.call(|sched, cx| sched.group_queue(Some(group), cx.cpu));
        let used_up = pool(&mut bench, group);
        (used_up.runtime, used_up.accounts[cpu].remaining) = (0, 0);
        bench.now = Instant::from_ns(10 * MS);
        bench.call(|sched, cx| {
            sched.update_rq_clock(cx, cpu);
            assert!(sched.check_cfs_rq_runtime(cx, queue));
        });
        bench.now = Instant::from_ns(50 * MS);
        bench.queued_in(Some(group));
        pool(&mut bench, group).accounts[cpu].remaining = 1;
        bench.now = Instant::from_ns(70 * MS);
        bench.call(|sched, cx| sched.unthrottle_cfs_rq(cx, queue));
        pool(&mut bench, group).stats.throttled_time
    };
    assert_eq!(["v6.1", "v6.6", "v6.14"].map(counted), [Ns(60 * MS), Ns(20 * MS), Ns(20 * MS)]);
}

/// 100 ms of running at half capacity, then 40 ms throttled while others run: what the clock of the queue's load tracking shows, ms.
///
/// Model: 01 T19
#[test]
fn the_load_tracking_clock_of_a_throttled_queue_stands_still() {
    let shown = |name: &str| {
        let (mut bench, group) = bench(name, 20 * MS, 100 * MS);
        let task = bench.queued_in(Some(group));
        let (cpu, queue) = (bench.cpu, bench.sched.se(task).cfs_rq);
        let start = crate::ctx::SCHED_CLOCK_AT_START;
        let at = |bench: &mut Bench, task_ms: u64, pelt_ms: u64| {
            let clocks = &mut bench.sched.rqs[cpu].clocks;
            (clocks.clock_task, clocks.clock_pelt, clocks.lost_idle_time) = (start + task_ms * MS, start + pelt_ms * MS, 0);
        };
        let read = |bench: &Bench| (bench.sched.cfs_rq_clock_pelt(queue) - start) / MS;
        at(&mut bench, 100, 50);
        let before = read(&bench);
        bench.call(|sched, cx| sched.throttle_below(cx, group, cpu));
        let within = read(&bench);
        at(&mut bench, 140, 70);
        bench.call(|sched, cx| sched.unthrottle_below(cx, group, cpu));
        [before, within, read(&bench)]
    };
    assert_eq!(["v4.20+clock-pelt", "v5.1"].map(shown), [[50, 100, 30]; 2]);
    assert_eq!(shown("v5.19"), [50; 3]);
}
