//! Recorded sets of an arm64 kernel on four CPUs of capacity 512 and four of 1024: placement, misfit and load tracking.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use fairground_recordings::figures::CheckedRow;
use fairground_scenario::Overrides;
use fairground_scorecard::judge::median_distance;
use fairground_scorecard::simulation::{Simulated, simulate};
use std::path::Path;

const PELT: &str = "karm6.1-pelt-4half-4full";
const ASYM: &str = "karm6.1-asym-4half-4full";

/// Our figures of one recorded experiment, with those recorded.
fn checked(folder: &Path) -> Vec<CheckedRow> {
    match simulate(folder, &Overrides::default(), 1).unwrap() {
        Simulated::Ran(mut checks) => checks.remove(0).rows,
        Simulated::Refused(why) => panic!("{}: {why:?}", folder.display()),
    }
}

/// The figures of all experiments of a family.
fn all(folder: &Path) -> Vec<CheckedRow> {
    fairground_testing::experiments_of(folder).iter().flat_map(|set| checked(set)).collect()
}

#[test]
fn nine_of_ten_figures_on_cpus_of_two_capacities_lie_inside_and_half_of_them_near() {
    for name in [PELT, ASYM] {
        let folder = fairground_testing::recording(name);
        let rows = all(&folder);
        let inside = rows.iter().filter(|row| row.inside()).count();
        let outside: Vec<&CheckedRow> = rows.iter().filter(|row| !row.inside()).collect();
        assert!(inside * 10 >= rows.len() * 9, "{name}: {inside} of {}, not {outside:#?}", rows.len());
        assert!(median_distance(&rows).unwrap() <= 0.5, "{name}: {:?}", median_distance(&rows));
    }
}

/// A task that computes comes to 256, 486 and 972 after 14.0, 31.2 and 144.8 ms of clock_pelt. At half capacity that clock is half as
/// fast: 28.0, 62.4 and 289.5 ms of time. Recorded at ticks of 4 ms.
#[test]
fn utilisation_rises_within_a_tick_of_the_recorded_kernel_at_full_and_at_half_capacity() {
    let folder = fairground_testing::recording(PELT);
    for (set, slower, wanted_ms) in [("b_ramp_full", 1.0, [14.0, 31.2, 144.8]), ("b_ramp_half", 2.0, [28.0, 62.4, 289.5])] {
        let rows = checked(&folder.join(set));
        for (target, wanted) in [256, 486, 972].into_iter().zip(wanted_ms) {
            let figure = format!("pelt.ramp_reaches.{target}.linear_ms");
            let row = rows.iter().find(|row| row.figure == figure).unwrap();
            let ours = row.ours.unwrap().to_f64() * slower;
            assert!((ours - wanted).abs() <= 4.0, "{set}: {target} after {ours} ms");
            assert!((ours - row.value.to_f64() * slower).abs() <= 4.0, "{set}: {target} after {ours} ms");
        }
    }
}
