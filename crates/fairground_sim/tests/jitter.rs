//! The reference jitter model: late ticks make CFS break the turn, and the aligned rule keeps it.
//!
//! The model begins a new slice at every pick, also when the running task is picked again. Kernels with
//! CONFIG_FAIR_GROUP_SCHED do not; the second test shows that there the waits differ only in detail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Log, hogs, one_cpu};
use fairground_stdx::Ns;

/// Longest wait in ns of `n` hogs in 2000 ms, where the first wait counts from 0.
fn longest_waits_with(repeated_pick: &str, n: usize, hz: u32, profile: &str) -> (Vec<u64>, String) {
    let mut setup = one_cpu(hz, profile, hogs(&vec![0; n]), Ns::from_ms(2000));
    setup.profile = setup.profile.with_seam("repeated_pick", repeated_pick).unwrap();
    (setup.machine.tick_jitter, setup.machine.tick_jitter_seed) = (Ns(300_000), Some(12345));
    let log = Log::of(setup);
    let stays = log.stays();
    let mut waits = vec![0; n];
    let mut left = vec![0; n];
    for stay in &stays {
        let task = stay.task as usize;
        waits[task] = waits[task].max(stay.from - left[task]);
        left[task] = stay.from + stay.ns;
    }
    let order = stays.iter().take(24).map(|stay| char::from(b'A' + stay.task as u8)).collect();
    (waits, order)
}

fn longest_waits(n: usize, hz: u32, profile: &str) -> (Vec<u64>, String) {
    longest_waits_with("renews-slice", n, hz, profile)
}

#[test]
fn kernels_with_group_scheduling_keep_the_slice_of_a_repeated_pick() {
    let keeps = |profile| longest_waits_with("keeps-slice", 3, 250, profile).0;
    assert_eq!(keeps("v4.20"), [35_950_167, 40_125_304, 32_215_480]);
    assert_eq!(keeps("v4.20+align-vruntime"), longest_waits(3, 250, "v4.20+align-vruntime").0);
}

/// Model: 02 T09
#[test]
fn aligned_vruntimes_shorten_the_longest_wait_under_jittering_ticks() {
    let (stock, aligned) = ("v4.20", "v4.20+align-vruntime");
    assert_eq!(longest_waits(3, 1000, stock).0, [26_062_659, 25_978_473, 26_105_002]);
    assert_eq!(longest_waits(3, 1000, aligned).0, [18_197_136, 18_166_615, 18_120_467]);
    assert_eq!(longest_waits(3, 250, stock).0, [32_215_480, 40_008_148, 40_125_304]);
    assert_eq!(longest_waits(3, 250, aligned).0, [24_025_760, 24_044_299, 24_116_779]);
    assert_eq!(longest_waits(3, 1000, stock).1, "ABCBACBCABCABCABCABCACBA");
    assert_eq!(longest_waits(3, 1000, aligned).1, "ABCABCABCABCABCABCABCABC");
    let expected = [
        (3, [40_125_304, 24_116_779, 26_105_002, 18_197_136]),
        (4, [48_141_359, 24_274_525, 31_824_280, 21_140_655]),
        (5, [64_137_503, 32_281_396, 40_079_566, 21_253_739]),
        (6, [55_840_504, 40_097_355, 36_862_402, 25_162_042]),
    ];
    for (n, waits) in expected {
        let longest = |hz, profile| longest_waits(n, hz, profile).0.into_iter().max().unwrap();
        let got = [longest(250, stock), longest(250, aligned), longest(1000, stock), longest(1000, aligned)];
        assert_eq!(got, waits, "n = {n}");
    }
}
