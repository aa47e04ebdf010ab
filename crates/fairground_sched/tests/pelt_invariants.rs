//! What must hold of load tracking whatever the inputs.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use fairground_sched::pelt::{
    CfsRqLoad, LOAD_AVG_MAX, PELT_MIN_DIVIDER, PeltClockRule, PeltFamily, Removed, RqClocks, Scale, SchedAvg, SeLoad,
    UtilEstRule, cap_scale,
};
use fairground_sched::seam::Seam;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// One update of an entity: time passed, whether it is queued, runs, and the tasks below it.
type Step = (u64, bool, bool, u64);

fn step() -> impl Strategy<Value = Step> {
    (0..20 * MS, any::<bool>(), any::<bool>(), 1..5u64)
        .prop_map(|(ns, queued, running, tasks)| (ns, queued || running, running, tasks))
}

fn scale() -> impl Strategy<Value = Scale> {
    (1..=1024u32, 1..=1024u32).prop_map(|(freq, cpu)| Scale { freq, cpu })
}

fn family() -> impl Strategy<Value = PeltFamily> {
    proptest::sample::select(PeltFamily::VARIANTS).prop_map(|row| row.1)
}

fn apply(family: PeltFamily, now: &mut u64, sa: &mut SchedAvg, (ns, on_rq, running, tasks): Step, scale: Scale) -> bool {
    *now += ns;
    let runnable = if family.counts_tasks() { tasks } else { 1024 };
    family.update_se(*now, sa, SeLoad { on_rq, runnable, running, weight: 1024 }, scale)
}

proptest! {
    /// Utilisation stays within what the CPU can do, and sums within the series' maximum.
    #[test]
    fn signals_are_bounded(family in family(), scale in scale(), steps in prop::collection::vec(step(), 1..300)) {
        let (mut now, mut sa) = (0, SchedAvg::default());
        let top = match family {
            PeltFamily::A | PeltFamily::B => cap_scale(u64::from(scale.freq), scale.cpu),
            PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => 1024,
        };
        for step in steps {
            apply(family, &mut now, &mut sa, step, scale);
            prop_assert!(u64::from(sa.util_avg) <= top && sa.load_avg <= 1024);
            prop_assert!(u64::from(sa.util_sum) <= LOAD_AVG_MAX << 10 && sa.period_contrib < 1024);
        }
    }

    /// An update in between changes nothing if no period ends there, else at most what truncation takes.
    #[test]
    fn an_update_in_between_hardly_matters(
        family in family(), steps in prop::collection::vec(step(), 0..30), first in 0..40 * MS, second in 0..40 * MS, last in step(),
    ) {
        let (mut now, mut sa) = (0, SchedAvg::default());
        for step in steps {
            apply(family, &mut now, &mut sa, step, Scale::FULL);
        }
        let (_, on_rq, running, tasks) = last;
        let (mut once, mut twice) = (sa, sa);
        let mut end = now;
        apply(family, &mut end, &mut twice, (first, on_rq, running, tasks), Scale::FULL);
        apply(family, &mut end, &mut twice, (second, on_rq, running, tasks), Scale::FULL);
        let period_ended = apply(family, &mut now, &mut once, (first + second, on_rq, running, tasks), Scale::FULL);
        prop_assert_eq!((once.last_update_time, once.period_contrib), (twice.last_update_time, twice.period_contrib));
        let periods = (first + second) / (1 << 20) + 2;
        let weight = if family == PeltFamily::A { 1024 } else { 1 };
        let near = |a: u64, b: u64, unit: u64| a.abs_diff(b) <= periods * unit;
        prop_assert!(near(once.load_sum, twice.load_sum, weight), "{:?} {:?}", once, twice);
        prop_assert!(near(once.runnable_sum, twice.runnable_sum, 1024 * tasks));
        prop_assert!(near(once.util_sum.into(), twice.util_sum.into(), 1024));
        if !period_ended {
            prop_assert_eq!((once.load_sum, once.runnable_sum, once.util_sum), (twice.load_sum, twice.runnable_sum, twice.util_sum));
        }
    }

    /// Without anything to run every average only falls.
    #[test]
    fn idle_signals_fall(family in family(), steps in prop::collection::vec(step(), 1..60), idle in prop::collection::vec(0..20 * MS, 1..60)) {
        let (mut now, mut sa) = (0, SchedAvg::default());
        for step in steps {
            apply(family, &mut now, &mut sa, step, Scale::FULL);
        }
        // From here the weight's factor is that of every later update.
        family.update_blocked_se(now + 2 * MS, &mut sa, 1024, 1024, Scale::FULL);
        now += 2 * MS;
        for ns in idle {
            now += ns;
            let before = sa;
            family.update_blocked_se(now, &mut sa, 1024, 1024, Scale::FULL);
            prop_assert!(sa.load_avg <= before.load_avg && sa.runnable_avg <= before.runnable_avg && sa.util_avg <= before.util_avg);
        }
    }

    /// A clock that went back only resets the time.
    #[test]
    fn time_that_goes_back_is_harmless(family in family(), steps in prop::collection::vec(step(), 1..30), back in 1..50 * MS) {
        let (mut now, mut sa) = (100 * MS, SchedAvg::default());
        for step in steps {
            apply(family, &mut now, &mut sa, step, Scale::FULL);
        }
        let earlier = sa.last_update_time - back;
        let expected = SchedAvg { last_update_time: earlier, ..sa };
        let load = SeLoad { on_rq: true, runnable: 1, running: true, weight: 1024 };
        prop_assert!(!family.update_se(earlier, &mut sa, load, Scale::FULL));
        prop_assert_eq!(sa, expected);
    }

    /// Scaled time never goes back at an update and never leads clock_task.
    #[test]
    fn scaled_time_is_monotonic(
        rule in proptest::sample::select(PeltClockRule::VARIANTS).prop_map(|row| row.1),
        steps in prop::collection::vec((0..20 * MS, any::<bool>(), any::<bool>(), scale()), 1..200),
    ) {
        let (mut clocks, mut was_idle, mut shown) = (RqClocks::default(), true, 0);
        for (ns, idle, overloaded, scale) in steps {
            clocks.update(rule, ns, ns, was_idle, scale, || overloaded);
            prop_assert!(clocks.rq_clock_pelt() >= shown && clocks.clock_pelt <= clocks.clock_task);
            prop_assert_eq!(clocks.clock, clocks.clock_task);
            shown = clocks.rq_clock_pelt();
            if idle && !was_idle {
                clocks.enter_idle(rule, || overloaded);
            }
            was_idle = idle;
        }
    }

    /// While all tasks of a queue are updated with it, their utilisations add up to its own.
    #[test]
    fn tasks_add_up_to_their_queue(
        nr in 1..6usize, steps in prop::collection::vec((0..20 * MS, 0..8usize, any::<u8>()), 1..200),
    ) {
        let family = PeltFamily::D;
        let mut cfs = SchedAvg::default();
        let mut tasks = vec![SchedAvg::default(); nr];
        for task in &mut tasks {
            family.init_task(task, 1024);
            family.attach(&mut cfs, task, 1024);
        }
        let mut now = 0;
        for (ns, curr, queued) in steps {
            now += ns;
            let on_rq = |index: usize| index == curr || queued >> index & 1 == 1;
            let runnable = (0..nr).filter(|&index| on_rq(index)).count() as u64;
            family.update_cfs_rq(now, &mut cfs, CfsRqLoad { weight: 1024 * runnable, runnable, running: curr < nr }, Scale::FULL);
            for (index, task) in tasks.iter_mut().enumerate() {
                family.update_se(now, task, SeLoad { on_rq: on_rq(index), runnable: u64::from(on_rq(index)), running: index == curr, weight: 1024 }, Scale::FULL);
            }
            let sum = |value: fn(&SchedAvg) -> u64| tasks.iter().map(value).sum::<u64>();
            prop_assert!(sum(|task| task.util_avg.into()).abs_diff(cfs.util_avg.into()) <= nr as u64);
            prop_assert!(sum(|task| task.runnable_avg).abs_diff(cfs.runnable_avg) <= nr as u64);
            prop_assert!(sum(|task| task.load_avg).abs_diff(cfs.load_avg) <= nr as u64);
        }
    }

    /// Tasks that come and go leave sums that agree with the averages, and nothing when all are gone.
    #[test]
    fn attach_and_detach_leave_nothing(
        family in family(), steps in prop::collection::vec((0..20 * MS, 0..4usize, any::<bool>()), 1..100),
    ) {
        let (mut now, mut cfs, mut removed) = (0, SchedAvg::default(), Removed::default());
        let mut tasks = [(SchedAvg::default(), false); 4];
        for (task, _) in &mut tasks {
            family.init_task(task, 1024);
        }
        for (ns, index, by_box) in steps {
            now += ns;
            let attached = tasks.iter().filter(|task| task.1).count() as u64;
            family.consume_removed(&mut cfs, &mut removed);
            family.update_cfs_rq(now, &mut cfs, CfsRqLoad { weight: 1024 * attached, runnable: 1024 * attached.min(1), running: attached > 0 }, Scale::FULL);
            for (task, _) in tasks.iter_mut().filter(|task| task.1) {
                family.update_se(now, task, SeLoad { on_rq: true, runnable: 1, running: false, weight: 1024 }, Scale::FULL);
            }
            let (task, is_attached) = &mut tasks[index];
            match (*is_attached, by_box) {
                (false, _) => { family.attach(&mut cfs, task, 1024); }
                (true, false) => { family.detach(&mut cfs, task, 1024); }
                (true, true) => family.remove(&mut removed, task),
            }
            *is_attached = !*is_attached;
            if family == PeltFamily::D {
                prop_assert!(u64::from(cfs.util_avg) * PELT_MIN_DIVIDER <= u64::from(cfs.util_sum) + LOAD_AVG_MAX);
            }
        }
        family.consume_removed(&mut cfs, &mut removed);
        for (task, _) in tasks.iter().filter(|task| task.1) {
            family.detach(&mut cfs, task, 1024);
        }
        family.update_cfs_rq(now + 3_000 * MS, &mut cfs, CfsRqLoad { weight: 0, runnable: 0, running: false }, Scale::FULL);
        prop_assert_eq!((cfs.load_avg, cfs.util_avg, cfs.runnable_avg), (0, 0, 0));
    }

    /// What enqueues add to a queue's estimate dequeues take off again.
    #[test]
    fn estimates_balance(
        rule in proptest::sample::select(UtilEstRule::VARIANTS).prop_map(|row| row.1),
        cycles in prop::collection::vec((0..3usize, 0..=1024u32, 0..=1024u64), 1..60),
    ) {
        let (mut cfs, mut tasks) = (SchedAvg::default(), [SchedAvg::default(); 3]);
        for task in &tasks {
            rule.enqueue(&mut cfs, task);
        }
        for (index, util, runnable) in cycles {
            let task = &mut tasks[index];
            rule.dequeue(&mut cfs, task);
            (task.util_avg, task.runnable_avg) = (util, runnable);
            task.util_est.unchanged = false;
            rule.update(task, 1024, true);
            prop_assert!(rule.task_estimate(task) <= 1025);
            let stored = *task;
            task.util_avg = 0;
            rule.update(task, 1024, true);
            prop_assert!(!stored.util_est.unchanged || task.util_est == stored.util_est, "no sample twice");
            rule.enqueue(&mut cfs, task);
        }
        for task in &tasks {
            rule.dequeue(&mut cfs, task);
        }
        prop_assert_eq!(cfs.util_est.enqueued, 0);
    }
}

#[test]
fn a_box_is_emptied_at_the_next_update_not_before() {
    for (_, family) in PeltFamily::VARIANTS {
        let (mut cfs, mut task, mut removed) = (SchedAvg::default(), SchedAvg::default(), Removed::default());
        family.init_task(&mut task, 1024);
        task.util_avg = 300;
        family.attach(&mut cfs, &mut task, 1024);
        family.remove(&mut removed, &mut task);
        assert_eq!((cfs.load_avg, task.last_update_time, removed.nr), (1024, 0, 1));
        assert!(family.consume_removed(&mut cfs, &mut removed).is_some());
        assert_eq!((cfs.load_avg, cfs.util_avg, removed), (0, 0, Removed::default()));
        assert_eq!(family.consume_removed(&mut cfs, &mut removed), None);
    }
}

#[test]
fn runnable_load_of_the_older_families() {
    for family in [PeltFamily::A, PeltFamily::B, PeltFamily::C] {
        let (mut cfs, mut task) = (SchedAvg::default(), SchedAvg::default());
        family.init_task(&mut task, 1024);
        family.attach(&mut cfs, &mut task, 1024);
        assert_eq!(cfs.runnable_avg, 0);
        family.enqueue_runnable_load(&mut cfs, &task, 1024);
        assert_eq!((cfs.runnable_avg, cfs.runnable_sum), (1024, cfs.load_sum), "{family:?}");
        family.dequeue_runnable_load(&mut cfs, &task, 1024);
        family.dequeue_runnable_load(&mut cfs, &task, 1024);
        assert_eq!((cfs.runnable_avg, cfs.runnable_sum), (0, 0));
    }
}
