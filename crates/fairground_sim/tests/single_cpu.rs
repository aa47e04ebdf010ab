//! One CPU, exact ticks, no prices: what CFS does with hogs, to the nanosecond.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Log, hogs, one_cpu, run};
use fairground_stdx::Ns;

/// Three equal hogs at HZ 1000 and 250: every slice is 8 ms, strictly in turn.
///
/// Model: 02 T07
#[test]
fn three_equal_hogs_take_slices_of_8_ms_in_turn() {
    for hz in [1000, 250] {
        for profile in ["v4.20", "v4.20+align-vruntime"] {
            let log = run(one_cpu(hz, profile, hogs(&[0, 0, 0]), Ns::from_secs(1)));
            let stays = log.stays();
            assert!(stays.len() > 100, "{profile} at HZ {hz}: {} stays", stays.len());
            for (index, stay) in stays.iter().enumerate() {
                assert_eq!(stay.task as usize, index % 3, "{profile} at HZ {hz}, stay {index}");
                assert_eq!(stay.ns, 8_000_000, "{profile} at HZ {hz}, stay {index}");
            }
            assert_eq!(log.max_wait_ns(), 16_000_000);
        }
    }
}

#[test]
fn the_same_run_has_the_same_digest() {
    let digest = |seed| {
        let mut setup = one_cpu(250, "v5.19", hogs(&[0, 5, -5]), Ns::from_secs(1));
        setup.seed = seed;
        Log::of(setup).digest
    };
    assert_eq!(digest(1), digest(1));
}
