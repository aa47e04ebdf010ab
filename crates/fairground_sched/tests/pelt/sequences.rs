//! A thousand random updates, against figures of an independent program.

use fairground_sched::pelt::{PeltClockRule, PeltFamily, RqClocks, Scale, SchedAvg, SeLoad};

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
                PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => tasks,
            };
            family.update_se(now, &mut sa, SeLoad { on_rq, runnable, running, weight: 1024 }, scale);
            (now, sa)
        })
        .collect()
}

/// Model: 01 T18
#[test]
fn a_thousand_random_updates_end_in_the_known_sums() {
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

/// Model: 01 T18
#[test]
fn a_thousand_random_updates_end_at_the_known_clock() {
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
