//! The integers of decay and of a single update, and the curves that they make.

use super::{FULL, MS, PERIOD_NS, Signal};
use fairground_sched::pelt::{
    LOAD_AVG_MAX, PELT_MIN_DIVIDER, PeltFamily, RUNNABLE_AVG_YN_INV, decay_load, pelt_divider, segments,
};

/// Model: 01 T01
#[test]
fn the_constants_follow_from_the_table_of_inverses() {
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

/// Model: 01 T02
#[test]
fn decay_load_halves_every_32_periods() {
    let known = [(1024, 1, 1002), (1024, 31, 523), (1024, 32, 511), (1024, 64, 255), (47_742, 1, 46_718), (47_742, 32, 23_870)];
    for (value, periods, left) in known.into_iter().chain([(1 << 20, 100, 120_193), (1_000_000_000_000, 2017, 0), (77, 0, 76)]) {
        assert_eq!(decay_load(value, periods), left, "decay({value}, {periods})");
    }
}

/// Model: 01 T03
#[test]
fn segments_sum_the_contributions_of_an_update() {
    let known = [(1, 1024, 0, 1002), (1, 1, 0, 0), (2, 1024, 0, 1981), (10, 500, 300, 8976), (32, 1024, 0, 23_359)];
    for (periods, head, tail, sum) in
        known.into_iter().chain([(345, 1024, 0, 46_692), (400, 1024, 0, 46_711), (2017, 1024, 1023, 47_741)])
    {
        assert_eq!(segments(periods, head, tail), sum, "segments({periods}, {head}, {tail})");
    }
}

/// Model: 01 T04
#[test]
fn long_and_short_updates_give_the_known_sums() {
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

/// Model: 01 T05
#[test]
fn utilisation_by_period_reaches_half_after_32_and_decays_alike() {
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

/// Model: 01 T06
#[test]
fn utilisation_by_millisecond_follows_the_known_ramp() {
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

/// Model: 01 T07
#[test]
fn the_closed_form_gives_the_known_numbers_of_periods() {
    let targets = [972, 486, 256];
    assert_eq!(targets.map(|u| closed_form(u, 1024)), [Some(138), Some(30), Some(13)]);
    assert_eq!(targets.map(|u| closed_form(u, 512)), [None, Some(138), Some(32)]);
    assert_eq!(targets.map(|u| closed_form(u, 1024).map(|n| 2 * n)), [Some(276), Some(60), Some(26)]);
}
