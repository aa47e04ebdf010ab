//! Random whole systems, and the alarm itself.

use fairground_sim::Simulation;
use fairground_vopr::{Case, Failure, fails, run_case, run_case_watched};

/// Runs the cases of all seeds; wake-ups and migrations in all, to see that something happens in them.
fn run_seeds(seeds: std::ops::Range<u64>) -> Result<(u64, u64), Box<Failure>> {
    let (mut wakeups, mut migrations) = (0, 0);
    for seed in seeds {
        let report = run_case(seed)?;
        wakeups += report.counts.wakeups;
        migrations += report.counts.migrations;
    }
    Ok((wakeups, migrations))
}

#[test]
fn random_systems_hold_every_invariant() {
    let (wakeups, migrations) = run_seeds(0..3_000).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(wakeups > 50_000 && migrations > 2_000, "the cases are too tame: {wakeups} wake-ups, {migrations} migrations");
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn very_many_random_systems_hold_every_invariant() {
    run_seeds(3_000..300_000).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A rule that does not hold: the alarm must ring, with the seed and a case that still fails.
fn never_two_at_once(simulation: &Simulation) -> Result<(), String> {
    let sched = simulation.sched();
    match sched.cpu_ids().find(|&cpu| sched.rq(cpu).nr_running > 1) {
        Some(cpu) => Err(format!("CPU {cpu} has two runnable tasks")),
        None => Ok(()),
    }
}

#[test]
fn a_broken_rule_is_found_and_made_small() {
    let seed = (0..).find(|&seed| fails(&Case::random(seed), never_two_at_once)).unwrap();
    let failure = run_case_watched(seed, never_two_at_once).expect_err("the rule is broken");
    let text = failure.to_string();
    assert!(text.contains("two runnable tasks") && text.contains(&format!("run_case({seed})")), "{text}");
    assert!(fails(&failure.case, never_two_at_once));
    let size = |case: &Case| {
        let code: usize = case.tasks.programs.iter().map(|program| program.code.len()).sum();
        code + case.tasks.tasks.len() + case.tasks.changes.len() + case.changes.len()
    };
    assert!(size(&failure.case) < size(&Case::random(seed)), "{text}");
    assert!(failure.case.duration < Case::random(seed).duration, "{text}");
}

/// A panic inside of a run is a failure too, not the end of the hunt.
#[test]
fn a_panic_is_a_failure() {
    let failure = run_case_watched(1, |simulation| {
        assert!(simulation.now().ns() == 0, "time passes");
        Ok(())
    });
    assert!(failure.expect_err("time does pass").to_string().contains("panicked: time passes"));
}

#[test]
fn a_seed_is_a_case() {
    assert_eq!(Case::random(5), Case::random(5));
    assert_ne!(Case::random(5), Case::random(6));
    let case = Case::random(7).to_string();
    assert!(case.contains("seed 7") && case.contains("task 0"), "{case}");
}
