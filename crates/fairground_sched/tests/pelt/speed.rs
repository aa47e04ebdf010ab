//! What a lower frequency or capacity does to the utilisation of a task, by family.

use super::{FULL, HALF_CPU, HALF_FREQ, MS, PERIOD_NS, Signal};
use fairground_sched::pelt::{PeltClockRule, PeltFamily, RqClocks, Scale};

/// Number of steps until utilisation reaches each target, on a clock scaled by `clock_scale`.
fn steps_to(family: PeltFamily, scale: Scale, clock_scale: Scale, step_ns: u64) -> [Option<u64>; 3] {
    let mut clocks = RqClocks::default();
    let mut signal = Signal::new(family, scale);
    let mut reached = [None; 3];
    for n in 1..=4000 {
        clocks.update(PeltClockRule::RqClockPelt, step_ns, step_ns, false, clock_scale, || false);
        let util = signal.step(clocks.rq_clock_pelt() - signal.now, true);
        for (row, target) in [972, 486, 256].into_iter().enumerate() {
            if reached[row].is_none() && util >= target {
                reached[row] = Some(n);
            }
        }
    }
    reached
}

/// Model: 01 T08
#[test]
fn half_the_speed_doubles_the_time_to_a_utilisation_with_a_scaled_clock_only() {
    let check = |step_ns, unit, full, half_freq: [Option<u64>; 3], half_cpu, half_clock| {
        let times = |family, scale, clock_scale| steps_to(family, scale, clock_scale, step_ns).map(|n| n.map(|n| n * unit));
        assert_eq!(times(PeltFamily::D, FULL, FULL), full, "full, step {step_ns}");
        assert_eq!(times(PeltFamily::B, FULL, FULL), full, "full, old formula, step {step_ns}");
        assert_eq!(times(PeltFamily::B, HALF_FREQ, FULL), half_freq, "half frequency, old formula, step {step_ns}");
        assert_eq!(times(PeltFamily::B, HALF_CPU, FULL), half_cpu, "half capacity, old formula, step {step_ns}");
        assert_eq!(times(PeltFamily::C, HALF_CPU, HALF_CPU), half_clock, "half capacity, scaled clock, step {step_ns}");
        assert_eq!(times(PeltFamily::D, HALF_FREQ, HALF_FREQ), half_clock, "half frequency, scaled clock, step {step_ns}");
    };
    let all = |a, b, c| [Some(a), Some(b), Some(c)];
    let old = |b, c| [None, Some(b), Some(c)];
    check(PERIOD_NS, 1, all(137, 30, 14), old(137, 32), old(137, 32), all(274, 60, 28));
    check(MS, 1, all(144, 32, 14), old(145, 34), old(144, 34), all(288, 63, 28));
    check(4 * MS, 4, all(148, 32, 16), old(148, 36), old(148, 36), all(292, 64, 28));
    assert_eq!(steps_to(PeltFamily::A, FULL, FULL, MS), all(153, 32, 15));
    assert_eq!(steps_to(PeltFamily::A, HALF_FREQ, FULL, MS), old(153, 35));
    assert_eq!(steps_to(PeltFamily::A, FULL, HALF_CPU, MS), all(326, 66, 30));
}

/// Utilisation at the ends of the run and the idle part after 60 cycles of `run` periods in `cycle`.
fn periodic(family: PeltFamily, scale: Scale, run: u64, cycle: u64) -> (u32, u32) {
    let mut signal = Signal::new(family, scale);
    let (mut high, mut low) = (0, 0);
    for _ in 0..60 {
        high = (0..run).map(|_| signal.step(PERIOD_NS, true)).last().unwrap();
        low = (run..cycle).map(|_| signal.step(PERIOD_NS, false)).last().unwrap();
    }
    (high, low)
}

/// Model: 01 T09
#[test]
fn a_periodic_task_settles_between_known_bounds() {
    // Run periods, cycle, integer model, closed form in thousandths where it is stated.
    let table = [
        (2, 8, (273, 239), Some((272_868, 239_612))),
        (5, 10, (540, 484), Some((539_699, 484_301))),
        (10, 20, (567, 457), Some((567_236, 456_764))),
        (8, 16, (556, 468), None),
        (16, 32, (600, 424), Some((599_845, 424_155))),
        (20, 100, (407, 71), Some((406_628, 71_882))),
        (50, 100, (765, 259), None),
        (15, 25, (679, 547), None),
        (10, 100, (225, 32), None),
        (1, 2, (479, 469), None),
        (8, 32, (326, 193), None),
        (5, 20, (299, 216), None),
        (4, 16, (290, 223), None),
    ];
    let near = |thousandths: u32, model: u32| thousandths.abs_diff(model * 1000) < 1000;
    for (run, cycle, model, formula) in table {
        assert_eq!(periodic(PeltFamily::D, FULL, run, cycle), model, "{run} of {cycle}");
        if let Some((high, low)) = formula {
            assert!(near(high, model.0) && near(low, model.1), "{run} of {cycle}");
        }
    }
    for (run, cycle, model) in [(16, 32, (300, 212)), (10, 20, (283, 228)), (8, 16, (278, 234))] {
        assert_eq!(periodic(PeltFamily::B, HALF_FREQ, run, cycle), model, "half, old formula, {run} of {cycle}");
    }
}

/// A task that runs half of each `2 * run` wall periods on a CPU of half capacity, by its scaled clock.
fn periodic_on_half_a_cpu(run: u64, cycle: u64) -> (u32, u32) {
    let mut clocks = RqClocks::default();
    let mut signal = Signal::new(PeltFamily::C, HALF_CPU);
    let (mut high, mut low) = (0, 0);
    for _ in 0..60 {
        for part in 0..cycle {
            let idle = part >= 2 * run;
            clocks.update(PeltClockRule::RqClockPelt, PERIOD_NS, PERIOD_NS, idle, HALF_CPU, || false);
            let util = signal.step(clocks.rq_clock_pelt() - signal.now, !idle);
            if part + 1 == 2 * run {
                high = util;
            }
            low = util;
        }
    }
    (high, low)
}

/// Model: 01 T12
#[test]
fn half_capacity_is_invariant_with_a_scaled_clock() {
    for (run, cycle, model) in [(8, 32, (326, 193)), (5, 20, (299, 216)), (4, 16, (290, 223))] {
        assert_eq!(periodic(PeltFamily::C, FULL, run, cycle), model);
        assert_eq!(periodic_on_half_a_cpu(run, cycle), model, "{run} of {cycle}");
    }
}

/// Model: 01 T15
#[test]
fn scaling_each_contribution_loses_what_a_scaled_clock_keeps() {
    let mut signal = Signal::new(PeltFamily::B, HALF_FREQ);
    assert!((0..200_000).all(|_| signal.step(1024, true) == 0));

    let mut clocks = RqClocks::default();
    let mut signal = Signal::new(PeltFamily::C, HALF_FREQ);
    let reached = (1..=200_000).find(|_| {
        clocks.update(PeltClockRule::RqClockPelt, 1024, 1024, false, HALF_FREQ, || false);
        signal.step(clocks.rq_clock_pelt() - signal.now, true) >= 486
    });
    assert_eq!(reached.map(|n| n * 1024), Some(60 * PERIOD_NS));
}
