//! Copies of a core of a kernel tree in mid-run.

use super::builds::core;
use super::driver::{Driver, Job};

const MS: u64 = 1_000_000;

#[test]
fn a_copy_in_mid_run_goes_on_as_the_run_itself() {
    let hog = |nice| Job { nice, run_ns: MS, sleep_ns: 0 };
    let sleeper = |nr: u64| Job { nice: 0, run_ns: 300_000 + 70_000 * nr, sleep_ns: 2_000_000 + 130_000 * nr };
    let jobs: Vec<Job> = [hog(0), hog(5), hog(-3)].into_iter().chain((0..6).map(sleeper)).collect();
    for series in ["6.1", "6.12"] {
        let begun = || {
            let mut driver = Driver::new(core(series), 4);
            driver.start(&jobs);
            driver
        };
        let mut straight = begun();
        straight.run(400 * MS);
        let mut run = begun();
        run.run(150 * MS);
        let mut copy = run.clone();
        // One after the other, and by turns.
        run.run(400 * MS);
        copy.run(200 * MS);
        let mut third = copy.clone();
        for until in [250, 300, 400] {
            third.run(until * MS);
            copy.run(until * MS);
        }
        assert!(straight.switches.len() > 500, "{series}: {}", straight.switches.len());
        for other in [&run, &copy, &third] {
            assert!(straight.switches == other.switches && straight.wakeups == other.wakeups, "{series}");
        }
    }
}
