//! The clock of load tracking: scaling, lost idle time, time of interrupts.

use super::{FULL, HALF_FREQ, MS};
use fairground_sched::pelt::{CfsRqLoad, PeltClockRule, PeltFamily, RqClocks, Scale, SchedAvg, cap_scale};

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

/// Model: 01 T10
#[test]
fn an_overloaded_cpu_loses_the_idle_time_that_a_slow_one_catches_up_in() {
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

/// Model: 01 T10
#[test]
fn the_patch_as_mailed_freezes_the_clock_of_an_overloaded_cpu() {
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

/// Model: 01 T10
#[test]
fn a_busy_cpu_counts_as_overloaded_after_a_time_that_grows_as_its_capacity_shrinks() {
    for (capacity, first_ms, util) in [(1024, 195, 1005), (512, 367, 1000), (256, 734, 1000)] {
        let mut cpu = Cpu::new(PeltClockRule::RqClockPelt, capacity);
        let reached = (1..=1000).find(|_| {
            cpu.millisecond(false);
            cpu.overloaded()
        });
        assert_eq!((reached, cpu.cfs.util_avg), (Some(first_ms), util), "capacity {capacity}");
    }
}

/// Model: 01 T13
#[test]
fn the_clock_is_scaled_by_capacity_first_and_in_the_patch_as_mailed_by_frequency() {
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

/// Model: 01 T14
#[test]
fn interrupt_time_is_accounted_in_two_steps() {
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
