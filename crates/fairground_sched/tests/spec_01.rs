//! Load tracking, number by number: each test is an item of the specification's list for this part.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use fairground_sched::pelt::{
    CfsRqLoad, GroupEntity, LOAD_AVG_MAX, PELT_MIN_DIVIDER, PeltClockRule, PeltFamily, PostInit, RUNNABLE_AVG_YN_INV, RqClocks,
    Scale, SchedAvg, SeLoad, UtilEstRule, cap_scale, decay_load, pelt_divider, segments,
};

const PERIOD_NS: u64 = 1 << 20;
const MS: u64 = 1_000_000;
const FULL: Scale = Scale::FULL;
const HALF_FREQ: Scale = Scale { freq: 512, cpu: 1024 };
const HALF_CPU: Scale = Scale { freq: 1024, cpu: 512 };

/// An always queued nice-0 entity that runs or waits, on a clock that the test moves.
#[derive(Clone, Copy)]
struct Signal {
    family: PeltFamily,
    scale: Scale,
    now: u64,
    sa: SchedAvg,
}

impl Signal {
    fn new(family: PeltFamily, scale: Scale) -> Signal {
        Signal { family, scale, now: 0, sa: SchedAvg::default() }
    }
    fn step(&mut self, ns: u64, running: bool) -> u32 {
        self.now += ns;
        let runnable = if running { 1 } else { 0 };
        self.family.update_se(self.now, &mut self.sa, SeLoad { on_rq: running, runnable, running, weight: 1024 }, self.scale);
        self.sa.util_avg
    }
}

#[test]
fn spec_01_t01_constants_and_table() {
    assert_eq!((LOAD_AVG_MAX, PELT_MIN_DIVIDER), (47_742, 46_718));
    for (n, value) in [(0, 4_294_967_295), (1, 4_202_935_002), (16, 0xb504_f333), (31, 2_194_507_416)] {
        assert_eq!(RUNNABLE_AVG_YN_INV[n], value, "y^{n}");
    }
    let (mut sum, mut turns) = (1024, 0);
    loop {
        let next = 1024 + ((sum * u64::from(RUNNABLE_AVG_YN_INV[1])) >> 32);
        turns += 1;
        if next == sum {
            break;
        }
        sum = next;
    }
    assert_eq!((sum, turns), (LOAD_AVG_MAX, 347));
}

#[test]
fn spec_01_t02_decay() {
    let known = [(1024, 1, 1002), (1024, 31, 523), (1024, 32, 511), (1024, 64, 255), (47_742, 1, 46_718), (47_742, 32, 23_870)];
    for (value, periods, left) in known.into_iter().chain([(1 << 20, 100, 120_193), (1_000_000_000_000, 2017, 0), (77, 0, 76)]) {
        assert_eq!(decay_load(value, periods), left, "decay({value}, {periods})");
    }
}

#[test]
fn spec_01_t03_segments() {
    let known = [(1, 1024, 0, 1002), (1, 1, 0, 0), (2, 1024, 0, 1981), (10, 500, 300, 8976), (32, 1024, 0, 23_359)];
    for (periods, head, tail, sum) in
        known.into_iter().chain([(345, 1024, 0, 46_692), (400, 1024, 0, 46_711), (2017, 1024, 1023, 47_741)])
    {
        assert_eq!(segments(periods, head, tail), sum, "segments({periods}, {head}, {tail})");
    }
}

#[test]
fn spec_01_t04_one_jump_and_three_steps() {
    let mut signal = Signal::new(PeltFamily::D, FULL);
    signal.step(33_554_432, true);
    assert_eq!((signal.sa.load_sum, signal.sa.util_sum, signal.sa.util_avg), (23_359, 23_919_616, 512));

    let mut signal = Signal::new(PeltFamily::D, FULL);
    signal.step(1_000_000_000, true);
    let sa = signal.sa;
    assert_eq!((sa.period_contrib, sa.last_update_time), (690, 999_999_488));
    assert_eq!((sa.load_sum, sa.util_sum, sa.util_avg), (47_408, 48_545_792, 1024));

    let mut signal = Signal::new(PeltFamily::D, FULL);
    signal.step(MS, true);
    let sa = signal.sa;
    assert_eq!((sa.period_contrib, sa.last_update_time, sa.util_sum, sa.util_avg), (976, 999_424, 999_424, 0));
    signal.step(MS, true);
    let sa = signal.sa;
    assert_eq!((sa.period_contrib, sa.last_update_time), (929, 1_999_872));
    assert_eq!((sa.load_sum, sa.util_sum, sa.util_avg, pelt_divider(&sa)), (1930, 1_976_408, 41, 47_647));
    signal.step(MS, false);
    assert_eq!((signal.sa.period_contrib, signal.sa.util_sum, signal.sa.util_avg), (881, 1_934_057, 40));
}

#[test]
fn spec_01_t05_ramp_and_decay_by_period() {
    let ramp = [(1, 21), (2, 43), (4, 85), (8, 163), (13, 251), (14, 268), (16, 300), (29, 478), (30, 489), (31, 501), (32, 512)];
    let later =
        [(64, 768), (96, 896), (128, 960), (136, 971), (137, 972), (138, 973), (160, 992), (200, 1011), (256, 1020), (300, 1023)];
    let mut signal = Signal::new(PeltFamily::D, FULL);
    let curve: Vec<u32> = (0..400).map(|_| signal.step(PERIOD_NS, true)).collect();
    for (n, util) in ramp.into_iter().chain(later) {
        assert_eq!(curve[n - 1], util, "ramp {n}");
    }
    assert_eq!(curve.iter().position(|&util| util == 1024), Some(322));

    let decay = [(1, 1002), (2, 981), (8, 861), (16, 724), (31, 523), (32, 512), (33, 501), (64, 256), (96, 128), (128, 64)];
    let curve: Vec<u32> = (0..320).map(|_| signal.step(PERIOD_NS, false)).collect();
    for (n, util) in decay.into_iter().chain([(160, 32), (192, 16), (256, 4), (320, 1)]) {
        assert_eq!(curve[n - 1], util, "decay {n}");
    }
}

#[test]
fn spec_01_t06_ramp_by_millisecond() {
    let ramp = [(2, 41), (4, 81), (8, 156), (10, 191), (13, 241), (14, 257), (30, 473), (32, 495), (50, 659), (64, 751)];
    let mut signal = Signal::new(PeltFamily::D, FULL);
    let curve: Vec<u32> = (0..276).map(|_| signal.step(MS, true)).collect();
    for (n, util) in ramp.into_iter().chain([(100, 894), (138, 965), (143, 971), (144, 972), (200, 1008), (276, 1021)]) {
        assert_eq!(curve[n - 1], util, "{n} ms");
    }
}

/// log2(numerator / denominator) with 32 binary places; the quotient is at least 1.
fn log2_fixed(numerator: u128, denominator: u128) -> u64 {
    let mut x = (numerator << 60) / denominator;
    let mut log = 0;
    while x >= 2 << 60 {
        (x, log) = (x >> 1, log + 1);
    }
    for _ in 0..32 {
        x = (x * x) >> 60;
        log <<= 1;
        if x >= 2 << 60 {
            (x, log) = (x >> 1, log + 1);
        }
    }
    log
}

/// Time to `util` of `whole` by the closed form, in periods, to nearest; nothing if it is never reached.
fn closed_form(util: u128, whole: u128) -> Option<u64> {
    let rounded = |log: u64| (32 * log + (1 << 31)) >> 32;
    (util < whole).then(|| rounded(log2_fixed(whole, whole - util)))
}

#[test]
fn spec_01_t07_closed_form_table() {
    let targets = [972, 486, 256];
    assert_eq!(targets.map(|u| closed_form(u, 1024)), [Some(138), Some(30), Some(13)]);
    assert_eq!(targets.map(|u| closed_form(u, 512)), [None, Some(138), Some(32)]);
    assert_eq!(targets.map(|u| closed_form(u, 1024).map(|n| 2 * n)), [Some(276), Some(60), Some(26)]);
}

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

#[test]
fn spec_01_t08_time_to_utilisation() {
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

#[test]
fn spec_01_t09_periodic_tasks() {
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

/// A CPU of some capacity whose only task runs and then leaves it idle, updated each millisecond.
struct Cpu {
    rule: PeltClockRule,
    scale: Scale,
    clocks: RqClocks,
    cfs: SchedAvg,
}

impl Cpu {
    fn new(rule: PeltClockRule, capacity: u32) -> Cpu {
        Cpu { rule, scale: Scale { freq: 1024, cpu: capacity }, clocks: RqClocks::default(), cfs: SchedAvg::default() }
    }
    fn overloaded(&self) -> bool {
        self.rule.overloaded(&self.cfs, &SchedAvg::default(), &SchedAvg::default())
    }
    fn millisecond(&mut self, idle: bool) -> u32 {
        let overloaded = self.overloaded();
        self.clocks.update(self.rule, MS, MS, idle, self.scale, || overloaded);
        let busy = u64::from(!idle);
        PeltFamily::C.update_cfs_rq(
            self.clocks.rq_clock_pelt(),
            &mut self.cfs,
            CfsRqLoad { weight: 1024 * busy, runnable: 1024 * busy, running: !idle },
            self.scale,
        );
        self.cfs.util_avg
    }
    fn run(&mut self, ms: u64) -> u32 {
        (0..ms).map(|_| self.millisecond(false)).last().unwrap()
    }
    /// Goes idle; utilisation after each of the milliseconds that follow.
    fn idle(&mut self, ms: u64) -> Vec<u32> {
        let overloaded = self.overloaded();
        self.clocks.enter_idle(self.rule, || overloaded);
        (0..ms).map(|_| self.millisecond(true)).collect()
    }
}

#[test]
fn spec_01_t10_lost_idle_time() {
    for rule in [PeltClockRule::RqClockPelt, PeltClockRule::ClockPeltAsMailed, PeltClockRule::RqClockPeltIdle] {
        let mut cpu = Cpu::new(rule, 512);
        assert_eq!((cpu.run(20), cpu.clocks.clock_pelt), (182, 10 * MS), "{rule:?}");
        assert_eq!((cpu.idle(1), cpu.clocks.clock_pelt, cpu.clocks.lost_idle_time), (vec![152], 21 * MS, 0), "{rule:?}");
        let after: Vec<u32> = (2..=40).map(|_| cpu.millisecond(true)).collect();
        assert_eq!([10, 20, 40].map(|ms| after[ms - 2]), [126, 102, 68], "{rule:?}");
    }
    for (capacity, lost, second) in [(512, 1_000_000_000, 982), (1024, 0, 983)] {
        let mut cpu = Cpu::new(PeltClockRule::RqClockPelt, capacity);
        assert_eq!(cpu.run(2000), 1024);
        let after = cpu.idle(40);
        assert_eq!([1, 2, 10, 20, 40].map(|ms| after[ms - 1]), [1003, second, 833, 677, 448]);
        assert_eq!(cpu.clocks.lost_idle_time, lost);
    }
}

#[test]
fn spec_01_t10_frozen_clock_of_the_patch_as_mailed() {
    let mut cpu = Cpu::new(PeltClockRule::ClockPeltAsMailed, 512);
    assert_eq!((cpu.run(2000), cpu.cfs.util_sum), (1024, 48_566_620));
    for ms in 0..100 {
        assert_eq!((cpu.idle(1), cpu.clocks.lost_idle_time), (vec![1024], (1001 + ms) * MS));
        assert_eq!(cpu.clocks.rq_clock_pelt(), 1_000_000_000);
    }
    let mut cpu = Cpu::new(PeltClockRule::ClockPeltAsMailed, 1024);
    cpu.run(2000);
    assert!(cpu.idle(100).iter().all(|&util| util == 1024));
}

#[test]
fn spec_01_t10_when_a_cpu_counts_as_overloaded() {
    for (capacity, first_ms, util) in [(1024, 195, 1005), (512, 367, 1000), (256, 734, 1000)] {
        let mut cpu = Cpu::new(PeltClockRule::RqClockPelt, capacity);
        let reached = (1..=1000).find(|_| {
            cpu.millisecond(false);
            cpu.overloaded()
        });
        assert_eq!((reached, cpu.cfs.util_avg), (Some(first_ms), util), "capacity {capacity}");
    }
}

#[test]
fn spec_01_t11_birth() {
    // Capacity, queue's utilisation and load, weight; estimate from v6.12 on and before.
    let table = [
        (1024, 0, 0, 1024, 512, 512),
        (1024, 512, 1024, 1024, 256, 256),
        (1024, 512, 1024, 15, 7, 256),
        (1024, 900, 2048, 1024, 62, 62),
        (1024, 1024, 4096, 1024, 0, 0),
        (512, 100, 1024, 1024, 99, 206),
        (446, 0, 0, 1024, 223, 223),
        (1024, 200, 100, 1024, 412, 412),
    ];
    for (capacity, util_avg, load_avg, weight, small, large) in table {
        let cfs = SchedAvg { util_avg, load_avg, ..SchedAvg::default() };
        let born = |rule| {
            let mut sa = SchedAvg::default();
            PeltFamily::D.init_task(&mut sa, weight);
            PeltFamily::D.post_init(rule, &mut sa, &cfs, capacity, weight << 10);
            assert_eq!((sa.load_avg, sa.runnable_avg), (weight, u64::from(sa.util_avg)));
            sa.util_avg
        };
        assert_eq!(born(PostInit::ScaledDownWeight), small);
        assert_eq!((born(PostInit::FairOnly), born(PostInit::CpuCapacity)), (large, large));
        if capacity == 1024 {
            assert_eq!(born(PostInit::FullScale), large);
        }
    }
    let mut cfs = SchedAvg::default();
    let forks: Vec<u32> = (0..10)
        .map(|_| {
            let mut sa = SchedAvg::default();
            PeltFamily::D.init_task(&mut sa, 1024);
            PeltFamily::D.post_init(PostInit::CpuCapacity, &mut sa, &cfs, 1024, 1024 << 10);
            PeltFamily::D.attach(&mut cfs, &mut sa, 1024);
            sa.util_avg
        })
        .collect();
    assert_eq!(forks, [512, 256, 128, 64, 32, 16, 8, 4, 2, 1]);
}

#[test]
fn spec_01_t11_birth_in_the_older_families() {
    let (mut a, mut b, mut c) = (SchedAvg::default(), SchedAvg::default(), SchedAvg::default());
    PeltFamily::A.init_task(&mut a, 1024);
    PeltFamily::A.post_init(PostInit::FullScale, &mut a, &SchedAvg::default(), 512, 1024 << 10);
    assert_eq!((a.load_avg, a.load_sum, a.period_contrib, a.runnable_avg), (1024, 1024 * 47_742, 1023, 0));
    assert_eq!((a.util_avg, a.util_sum), (512, 512 * 47_742));
    PeltFamily::B.init_task(&mut b, 1024);
    assert_eq!((b.load_avg, b.load_sum, b.period_contrib, b.runnable_avg), (1024, 0, 1023, 1024));
    PeltFamily::C.init_task(&mut c, 1024);
    assert_eq!((c.load_avg, c.load_sum, c.period_contrib, c.runnable_avg), (1024, 0, 0, 1024));
}

/// Values stored after each activation that ends with the utilisation of a sample.
fn samples(rule: UtilEstRule, samples: impl IntoIterator<Item = (u32, usize)>) -> Vec<u32> {
    let mut task = SchedAvg::default();
    let mut stored = Vec::new();
    for (util, times) in samples {
        for _ in 0..times {
            task.util_avg = util;
            task.util_est.unchanged = false;
            rule.update(&mut task, 1024, true);
            stored.push(task.util_est.ewma);
        }
    }
    stored
}

#[test]
fn spec_01_t11_estimated_utilisation() {
    let one = samples(UtilEstRule::SingleValue, [(400, 2), (300, 14), (500, 1), (100, 8)]);
    assert_eq!(one[..11], [400, 400, 375, 356, 342, 331, 323, 317, 312, 309, 309]);
    assert!(one[11..16].iter().all(|&value| value == 309));
    assert_eq!(one[16..], [500, 400, 325, 268, 226, 194, 170, 152, 139]);

    let two = samples(UtilEstRule::FlagInSample, [(400, 14), (300, 9)]);
    assert_eq!(two[..14], [100, 175, 231, 273, 305, 329, 347, 360, 370, 377, 383, 387, 390, 392]);
    assert_eq!(two[14..], [369, 352, 339, 329, 322, 316, 312, 309, 309]);
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

#[test]
fn spec_01_t12_half_capacity_is_invariant_with_a_scaled_clock() {
    for (run, cycle, model) in [(8, 32, (326, 193)), (5, 20, (299, 216)), (4, 16, (290, 223))] {
        assert_eq!(periodic(PeltFamily::C, FULL, run, cycle), model);
        assert_eq!(periodic_on_half_a_cpu(run, cycle), model, "{run} of {cycle}");
    }
}

#[test]
fn spec_01_t13_order_of_scaling() {
    let scaled = |rule| {
        let mut clocks = RqClocks::default();
        clocks.update(rule, MS, MS, false, Scale { freq: 819, cpu: 446 }, || false);
        clocks.clock_pelt
    };
    assert_eq!(scaled(PeltClockRule::RqClockPelt), 348_351);
    assert_eq!(scaled(PeltClockRule::RqClockPeltIdle), 348_351);
    assert_eq!(scaled(PeltClockRule::ClockPeltAsMailed), 348_352);
    assert_eq!(cap_scale(cap_scale(MS, 446), 819), 348_351);
}

#[test]
fn spec_01_t14_irq_time_is_two_steps() {
    for family in [PeltFamily::B, PeltFamily::C, PeltFamily::D] {
        let (mut irq, mut steps) = (SchedAvg::default(), SchedAvg::default());
        assert!(family.update_irq(10 * MS, &mut irq, MS, FULL));
        family.update_class(9 * MS, &mut steps, false, FULL);
        family.update_class(10 * MS, &mut steps, true, FULL);
        // Only the utilisation of interrupts is kept: nothing reads the other two.
        let expected = SchedAvg { load_sum: 0, load_avg: 0, runnable_sum: 0, runnable_avg: 0, ..steps };
        assert_eq!(irq, expected, "{family:?}");
        assert!(irq.util_avg > 0);
    }
    let (mut scaled, mut half) = (SchedAvg::default(), SchedAvg::default());
    PeltFamily::D.update_irq(10 * MS, &mut scaled, MS, HALF_FREQ);
    PeltFamily::D.update_irq(10 * MS, &mut half, MS / 2, FULL);
    assert_eq!(scaled, half);
    let mut none = SchedAvg::default();
    assert!(!PeltFamily::A.update_irq(10 * MS, &mut none, MS, FULL) && !PeltFamily::A.update_class(MS, &mut none, true, FULL));
    assert_eq!(none, SchedAvg::default());
}

#[test]
fn spec_01_t15_truncation_trap_of_scaled_contributions() {
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

#[test]
fn spec_01_t17_attach() {
    for (load_avg, weight, load_sum) in [(1024, 1024, 47_218), (10, 88_761, 5), (1, 88_761, 1)] {
        let mut cfs = SchedAvg { period_contrib: 500, last_update_time: 77, ..SchedAvg::default() };
        let mut se = SchedAvg { util_avg: 300, load_avg, runnable_avg: 310, ..SchedAvg::default() };
        assert_eq!(PeltFamily::D.attach(&mut cfs, &mut se, weight), load_sum);
        assert_eq!((se.util_sum, se.load_sum, se.runnable_sum), (14_165_400, load_sum as u64, 310 * 47_218));
        assert_eq!((se.last_update_time, se.period_contrib), (77, 500));
        assert_eq!((cfs.load_sum, cfs.util_sum, cfs.runnable_avg), (weight * se.load_sum, 14_165_400, 310));
    }
}

#[test]
fn spec_01_t17_propagate_utilisation() {
    let mut parent = SchedAvg { period_contrib: 200, util_avg: 400, util_sum: 20_000_000, ..SchedAvg::default() };
    let mut se = SchedAvg { util_avg: 100, util_sum: 4_691_800, ..SchedAvg::default() };
    let group = SchedAvg { util_avg: 250, ..SchedAvg::default() };
    PeltFamily::D.propagate_util(&mut parent, &mut se, &group);
    assert_eq!((se.util_avg, se.util_sum), (250, 11_729_500));
    assert_eq!((parent.util_avg, parent.util_sum), (550, 27_037_700));
}

#[test]
fn spec_01_t17_propagate_load() {
    let rows = [(PeltFamily::D, 20_000, 46_918, 512), (PeltFamily::B, 20_000, 47_742, 512), (PeltFamily::C, 20_000, 47_742, 512)];
    for (family, sum, time, load_avg) in rows {
        let mut parent = SchedAvg { period_contrib: 200, ..SchedAvg::default() };
        let mut se = SchedAvg { load_sum: 30_000, util_sum: 10_000_000, ..SchedAvg::default() };
        let entity = GroupEntity { se: &mut se, weight: 512, runnable_weight: 512, on_rq: true };
        family.propagate_load(PeltClockRule::RqClockPelt, &mut parent, entity, (&SchedAvg::default(), 1024), sum, 1024);
        assert_eq!((se.load_sum, se.load_avg), (time, load_avg), "{family:?}");
        let moved = if family == PeltFamily::D { 512 * PELT_MIN_DIVIDER } else { 512 * (time - 30_000) };
        assert_eq!((parent.load_avg, parent.load_sum), (load_avg, moved), "{family:?}");
    }
    for (family, load_avg) in [(PeltFamily::D, 272), (PeltFamily::B, 268), (PeltFamily::C, 268)] {
        let mut parent = SchedAvg { period_contrib: 200, load_avg: 1000, load_sum: 47_000_000, ..SchedAvg::default() };
        let mut se = SchedAvg { load_sum: 46_918, load_avg: 512, util_sum: 10_000_000, ..SchedAvg::default() };
        let group = SchedAvg { load_sum: 1024 * 25_000, ..SchedAvg::default() };
        let entity = GroupEntity { se: &mut se, weight: 512, runnable_weight: 512, on_rq: true };
        family.propagate_load(PeltClockRule::RqClockPelt, &mut parent, entity, (&group, 1024), -20_000, 1024);
        assert_eq!((se.load_sum, se.load_avg), (25_000, load_avg), "{family:?}");
        assert_eq!(parent.load_avg, 1000 - 512 + load_avg, "{family:?}");
    }
}

/// The generator of the golden sequences.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
    fn delta(&mut self) -> u64 {
        (self.next() >> 33) % 5_000_000
    }
}

/// One entity under a family for 1000 steps; its clock and state after each.
fn golden(family: PeltFamily) -> Vec<(u64, SchedAvg)> {
    let (mut random, mut now, mut sa) = (Lcg(1), 0, SchedAvg::default());
    let scale = Scale { freq: 700, cpu: 800 };
    (0..1000)
        .map(|_| {
            now += random.delta();
            let bits = random.next() >> 40;
            let running = bits & 1 == 1;
            let on_rq = running || bits >> 1 & 1 == 1;
            let tasks = u64::from(on_rq) * (1 + (bits >> 2 & 3));
            let runnable = match family {
                PeltFamily::A => 0,
                PeltFamily::B | PeltFamily::C => 1024,
                PeltFamily::DSynced | PeltFamily::D => tasks,
            };
            family.update_se(now, &mut sa, SeLoad { on_rq, runnable, running, weight: 1024 }, scale);
            (now, sa)
        })
        .collect()
}

#[test]
fn spec_01_t18_golden_sequences() {
    use PeltFamily::{A, B, C, D};
    let states =
        [(10, 28_585_054, 28_584_960, 267), (100, 268_252_603, 268_252_160, 845), (1000, 2_489_992_903, 2_489_992_192, 657)];
    let sums = [
        (A, [(10_316_292, 0, 5_568_467), (21_619_724, 0, 13_481_218), (30_703_616, 0, 16_188_444)]),
        (B, [(10_071, 10_071, 5_568_467), (21_104, 21_104, 13_481_218), (29_976, 29_976, 16_188_444)]),
        (C, [(14_736, 14_736, 10_429_378), (30_884, 30_884, 25_247_478), (43_866, 43_866, 30_321_389)]),
        (D, [(14_736, 26_124_138, 10_429_378), (30_884, 68_737_178, 25_247_478), (43_866, 120_814_827, 30_321_389)]),
    ];
    let averages = [
        (A, [(216, 0, 116), (452, 0, 282), (643, 0, 339)]),
        (B, [(219, 219, 118), (454, 454, 283), (647, 647, 341)]),
        (C, [(321, 321, 221), (664, 664, 530), (948, 948, 640)]),
        (D, [(321, 556, 221), (664, 1445, 530), (948, 2550, 640)]),
    ];
    for ((family, sums), (_, averages)) in sums.into_iter().zip(averages) {
        let run = golden(family);
        for (row, (steps, now, last_update, contrib)) in states.into_iter().enumerate() {
            let (at, sa) = run[steps - 1];
            assert_eq!((at, sa.last_update_time, sa.period_contrib), (now, last_update, contrib), "{family:?} {steps}");
            assert_eq!((sa.load_sum, sa.runnable_sum, sa.util_sum), sums[row], "{family:?} {steps}");
            assert_eq!((sa.load_avg, sa.runnable_avg, sa.util_avg), averages[row], "{family:?} {steps}");
        }
    }
}

#[test]
fn spec_01_t18_golden_clock() {
    for (rule, hundredth) in [(PeltClockRule::RqClockPelt, 240_163_514), (PeltClockRule::ClockPeltAsMailed, 240_163_515)] {
        let (mut random, mut clocks) = (Lcg(7), RqClocks::default());
        let run: Vec<(u64, u64)> = (0..1000)
            .map(|_| {
                let delta = random.delta();
                let bits = random.next() >> 40;
                let freq = [177, 368, 622, 819, 1024][((bits >> 8) % 5) as usize];
                clocks.update(rule, delta, delta, bits % 10 < 3, Scale { freq, cpu: 446 }, || false);
                (clocks.clock_task, clocks.clock_pelt)
            })
            .collect();
        assert_eq!(run[9], (22_841_156, 18_119_160));
        assert_eq!(run[99], (242_859_043, hundredth));
        assert_eq!(run[999], (2_468_549_958, 2_464_810_770));
        assert_eq!(clocks.lost_idle_time, 0);
    }
}
