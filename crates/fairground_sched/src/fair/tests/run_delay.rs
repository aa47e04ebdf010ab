//! What tasks and CPUs count as waiting.

use super::bench::{Bench, CPU};
use crate::{Profile, WakeFlags, Waking};
use fairground_model::{Policy, PrevState, WakeContext};
use fairground_stdx::{Instant, TaskId};

impl Bench {
    fn clock_at(&mut self, ns: u64) -> &mut Bench {
        self.now = Instant::from_ns(ns);
        self
    }
    fn sleeps(&mut self) {
        self.sched.set_current_state(CPU, PrevState::Sleeping);
        self.call(|sched, cx| sched.schedule(cx));
    }
    fn is_woken(&mut self, task: TaskId) {
        let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
        let waking = self.call(|sched, cx| sched.ttwu_select(cx, task, flags));
        let Waking::Selected(target) = waking else { panic!("{waking:?}") };
        self.call(|sched, cx| sched.ttwu_activate(cx, task, target));
    }
}

/// Woken at 10, in at 14, asleep at 20, woken at 25, in at 31, out at 40: a delay of 4 + 6 = 10 in two timeslices. A
/// batch task waits for the other one to sleep.
///
/// Model: 08 T07
#[test]
fn run_delay_is_the_sum_of_all_waits_on_the_queue() {
    let mut bench = Bench::new(Profile::parse("v5.19").unwrap());
    let task = bench.queued(Policy::Batch, 0);
    assert_eq!(bench.schedule(), task);
    bench.clock_at(1).sleeps();
    let other = bench.clock_at(2).normal(0);
    assert_eq!(bench.schedule(), other);
    let (info, rq) = (bench.sched.task(task).sched_info, bench.sched.rq(CPU).stats);
    bench.clock_at(10).is_woken(task);
    bench.clock_at(14).sleeps();
    bench.clock_at(20).sleeps();
    bench.clock_at(21).is_woken(other);
    assert_eq!(bench.schedule(), other);
    bench.clock_at(25).is_woken(task);
    bench.clock_at(31).sleeps();
    bench.clock_at(40).sleeps();
    let (info_after, rq_after) = (bench.sched.task(task).sched_info, bench.sched.rq(CPU).stats);
    assert_eq!((info_after.run_delay - info.run_delay, info_after.pcount - info.pcount), (10, 2));
    assert_eq!((rq_after.run_delay - rq.run_delay, rq_after.pcount - rq.pcount), (10, 3), "the other one never waited");
    assert_eq!(rq_after.rq_cpu_time - rq.rq_cpu_time, 12 + 6 + 10 + 9);
    assert_eq!((rq_after.sched_count - rq.sched_count, rq_after.sched_goidle - rq.sched_goidle), (5, 2));
    assert_eq!((rq_after.ttwu_count - rq.ttwu_count, rq_after.ttwu_local - rq.ttwu_local), (3, 3));
}

/// A task that was preempted waits from then on; one whose nice value changes while it waits goes on waiting.
#[test]
fn a_change_of_weight_does_not_end_a_wait() {
    for profile in ["v4.12", "v6.14"] {
        let mut bench = Bench::new(Profile::parse(profile).unwrap());
        let (a, b) = (bench.normal(0), bench.normal(0));
        let first = bench.schedule();
        let waiting = if first == a { b } else { a };
        bench.clock_at(1_000_000).call(|sched, cx| sched.set_user_nice(cx, waiting, 5));
        bench.call(|sched, cx| sched.set_user_nice(cx, first, 5));
        // A schedule() after a preemption reuses the last reading of the clock: that of a tick.
        bench.clock_at(50_000_000).call(|sched, cx| sched.sched_tick(cx));
        bench.sleeps();
        let info = bench.sched.task(waiting).sched_info;
        assert_eq!((info.run_delay, info.pcount), (50_000_000, 1), "{profile}");
        assert_eq!(bench.sched.task(first).sched_info.run_delay, 0, "{profile}");
    }
}
