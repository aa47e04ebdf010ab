//! Random whole systems, and the alarm itself.

use fairground_model::{Change, NullSink, Policy, TimedChange};
use fairground_scenario::{Overrides, Scenario};
use fairground_sim::Simulation;
use fairground_stdx::TaskId;
use fairground_vopr::{Case, Coverage, Failure, failure_of, run_case, run_case_watched};
use std::path::Path;

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

/// A few hundred of the cases that the nightly run goes on with.
#[test]
fn random_systems_hold_every_invariant() {
    let (wakeups, migrations) = run_seeds(0..270).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(wakeups > 10_000 && migrations > 1_000, "the cases are too tame: {wakeups} wake-ups, {migrations} migrations");
}

/// Seeds that together reach every rule, each among the first that reach a rare one (`fairground vopr --seed 1 --runs 3500 --rules` tells them).
/// Other draws of the generator need others.
const REACH_ALL: [u64; 17] = [4, 10, 12, 17, 19, 27, 29, 40, 91, 141, 146, 190, 287, 315, 479, 610, 2197];

#[test]
fn every_rule_decides_in_some_system() {
    let mut coverage = Coverage::default();
    for seed in REACH_ALL {
        coverage.add(&run_case(seed).unwrap_or_else(|failure| panic!("seed {seed}: {failure}")).coverage);
    }
    let missed: Vec<&str> = coverage.missed().map(|rule| rule.slug()).collect();
    assert!(missed.is_empty(), "no system reaches {missed:?}: choose other seeds");
}

/// Cases with deadline tasks, of which those above have few.
#[test]
fn random_systems_with_deadline_tasks_hold_every_invariant() {
    let is_deadline = |timed: &TimedChange| matches!(timed.change, Change::Policy { policy: Policy::Deadline(_), .. });
    let has_deadline = |seed: &u64| {
        let tasks = Case::random(*seed).tasks;
        tasks.changes.iter().any(is_deadline) || tasks.tasks.iter().any(|task| task.policy.deadline().is_some())
    };
    for seed in (1_000..).filter(has_deadline).take(120) {
        run_case(seed).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}

/// A million events of systems with quotas: what came into each pool is in it, with a CPU, used, or lost by a rule. That is among
/// what is checked all the time.
///
/// Model: 10 T19
#[test]
#[ignore = "takes minutes: for the nightly run"]
fn no_quota_comes_or_goes_unseen() {
    let has_quota = |seed: &u64| Case::random(*seed).tasks.groups.iter().any(|group| group.limit.quota.is_some());
    let mut events = 0;
    for seed in (0..).filter(has_quota) {
        let report = run_case(seed).unwrap_or_else(|failure| panic!("{failure}"));
        events += report.counts.events();
        if events >= 1_000_000 {
            return;
        }
    }
}

/// What a failing case is handed on as must be the case.
#[test]
fn cases_read_back_from_their_scenario_files() {
    for seed in 0..1_000 {
        let case = Case::random(seed);
        let text = case.to_string();
        let scenario = Scenario::parse("case.toml", &text, Path::new(""), &Overrides::default());
        let scenario = scenario.unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}\n{text}"));
        assert_eq!(Case::of_scenario(&scenario).unwrap(), case, "seed {seed}:\n{text}");
    }
}

/// Where the time of all CPUs went, asked in the middle of whatever goes on.
fn account_adds_up(simulation: &Simulation) -> Result<(), String> {
    let spent = simulation.time_spent();
    let rows: i128 = spent.rows().iter().map(|row| row.ns).sum();
    if rows == i128::from(spent.all.0) { Ok(()) } else { Err(format!("{rows} ns, not {}", spent.all.0)) }
}

#[test]
fn the_account_of_time_adds_up_after_every_event() {
    for seed in 0..40 {
        run_case_watched(seed, account_adds_up).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

fn case_of(text: &str) -> Case {
    let scenario = Scenario::parse("case.toml", text, Path::new(""), &Overrides::default()).expect("the text is a scenario");
    Case::of_scenario(&scenario).expect("its tasks can run")
}

/// A throttled task stays with a CPU that goes off line. It leaves the deadline class then, is queued there, and nobody takes it away.
#[test]
fn who_leaves_the_deadline_class_on_a_cpu_that_is_off_line_waits_there() {
    for kernel in ["v4.20", "v5.10", "v5.19", "v6.12", "v7.2"] {
        for policy in ["fifo:50", "normal"] {
            let case = case_of(&format!(
                r#"
                title = "left behind"
                duration = "30ms"
                [machine]
                cores = 3
                hz = 1000
                costs = "zero"
                [profile]
                kernel = "{kernel}"
                [[workload]]
                tasks = [
                    {{ name = "task", policy = "deadline:806693ns/60ms", program = ["run 700us", "jump 0"] }},
                    {{ name = "timer", cpus = "2", program = ["run 500us", "timer r0 1ms absolute", "jump 0"] }},
                ]
                [[at]]
                time = "9ms"
                do = "offline 0"
                [[at]]
                time = "20ms"
                do = "policy task {policy}"
                "#
            ));
            assert_eq!(failure_of(&case, |_| Ok(())), None, "{kernel}, {policy}");
        }
    }
}

/// A throttled task leaves the deadline class and comes back before its next period: it goes on as it is, and is not charged.
#[test]
fn who_comes_back_to_the_deadline_class_too_soon_is_not_charged() {
    for kernel in ["v4.20", "v5.1", "v6.18"] {
        let case = case_of(&format!(
            r#"
            title = "back too soon"
            duration = "50ms"
            [machine]
            cores = 1
            hz = 1000
            costs = "zero"
            [profile]
            kernel = "{kernel}"
            [[workload]]
            tasks = [{{ name = "task", program = ["run 10s"] }}]
            [[at]]
            time = "6ms"
            do = "policy task deadline:16586876ns/109434489ns"
            [[at]]
            time = "29ms"
            do = "policy task idle"
            [[at]]
            time = "40ms"
            do = "policy task deadline:27053756ns/49622647ns/189404326ns"
        "#
        ));
        let mut simulation = Simulation::new(case.setup()).unwrap();
        simulation.run(&mut NullSink).unwrap();
        let ran = simulation.sched().se(TaskId::new(0)).sum_exec_runtime;
        // It ran from 0 to 23 ms, where a tick saw that its runtime was over, and from 29 ms to the end; the last 10 ms nobody counted.
        assert_eq!(ran, 34_000_000, "{kernel}");
        assert_eq!(failure_of(&case, |_| Ok(())), None, "{kernel}");
    }
}

/// A real-time task gets another nice value, which counts with its next change of policy. Its lag stays what it was by the old weight.
#[test]
fn who_gets_another_weight_in_another_class_keeps_its_lag() {
    let case = case_of(
        r#"
        title = "old lag"
        duration = "40ms"
        [machine]
        cores = 1
        hz = 1000
        costs = "zero"
        [profile]
        kernel = "v6.18"
        [[workload]]
        tasks = [{ name = "other", program = ["run 10s"] }, { name = "task", nice = 19, program = ["run 10s"] }]
        [[at]]
        time = "10ms"
        do = "policy task rr:2"
        [[at]]
        time = "20ms"
        do = "nice task 0"
        [[at]]
        time = "30ms"
        do = "policy task rr:1"
    "#,
    );
    assert_eq!(failure_of(&case, |_| Ok(())), None);
}

/// The running deadline task moves to another group when its deadline has passed: put back it has a later one than who waits, and nobody
/// looks.
#[test]
fn who_is_put_back_with_a_new_deadline_runs_on() {
    let case = case_of(
        r#"
        title = "new deadline"
        duration = "200ms"
        [machine]
        cores = 1
        freq_capacity = 100
        hz = 1000
        costs = "zero"
        [profile]
        kernel = "v4.20"
        [[group]]
        path = "/g0"
        [[workload]]
        tasks = [
            { name = "waits", policy = "deadline:21962854ns/105924716ns:reclaim", program = ["run 10s"] },
            { name = "runs", group = "/g0", policy = "deadline:16154008ns/113843200ns", program = ["run 10s"] },
        ]
        [[at]]
        time = "120ms"
        do = "cgroup.procs / runs"
    "#,
    );
    assert_eq!(failure_of(&case, |_| Ok(())), None);
}

/// Each operation costs 1 us at full speed, and 105 ms here: to wake somebody takes longer than interrupts are off elsewhere.
#[test]
fn who_is_woken_on_a_very_slow_cpu_is_so_for_long() {
    let case = case_of(
        r#"
        title = "slow"
        duration = "4s"
        [machine]
        cores = 1
        capacity = 1
        freq_capacity = 10
        hz = 1000
        costs = "unit"
        [profile]
        kernel = "v4.12"
        [[workload]]
        tasks = [{ name = "sleeper", kthread = true, program = ["sleep 1ms", "jump 0"] }]
    "#,
    );
    assert_eq!(failure_of(&case, |_| Ok(())), None);
}

/// A page fault is in the kernel, where nothing preempts here. The clock was read for the wake-up, and the switch does not read it again, so
/// who comes next is charged from the wake-up on.
#[test]
fn who_waits_for_a_page_fault_is_charged_for_it() {
    let case = case_of(
        r#"
        title = "fault"
        duration = "20ms"
        [machine]
        cores = 1
        hz = 1000
        costs = "zero"
        [profile]
        kernel = "v6.6"
        [[workload]]
        tasks = [
            { name = "sleeper", program = ["sleep 10us", "jump 0"] },
            { name = "faults", program = ["fault 14us..14us", "jump 0"] },
        ]
    "#,
    );
    assert_eq!(failure_of(&case, |_| Ok(())), None);
}

/// The records of caches begin with all CPUs of their domain. Here CPU 2 has another one, so it counts as busy in that of the others.
#[test]
fn a_cpu_with_a_record_of_its_own_counts_as_busy_in_the_cache() {
    let case = case_of(
        r#"
        title = "capacities"
        duration = "20ms"
        [machine]
        costs = "zero"
        cpu = [
            { id = 0, core = 0, cluster = 0, llc = 0, package = 0, node = 0, capacity = 1024 },
            { id = 1, core = 1, cluster = 0, llc = 0, package = 0, node = 0, capacity = 512 },
            { id = 2, core = 2, cluster = 1, llc = 0, package = 0, node = 0, capacity = 512 },
        ]
        [profile]
        kernel = "v7.2"
        [[workload]]
        tasks = [{ name = "sleeper", count = 4, program = ["run 1ms", "sleep 1ms", "jump 0"] }]
    "#,
    );
    assert_eq!(failure_of(&case, |_| Ok(())), None);
}

/// The server of fair tasks uses up its runtime as its CPU chooses, after the fair class was asked: the task that was picked for it runs on,
/// and the real-time task waits until somebody asks for a reschedule again.
#[test]
fn who_was_picked_for_a_server_without_runtime_runs_on() {
    let case = case_of(
        r#"
        title = "served late"
        duration = "1100ms"
        [machine]
        cores = 1
        hz = 250
        costs = "zero"
        [profile]
        kernel = "v7.2"
        [[workload]]
        tasks = [
            { name = "real-time", policy = "rr:1", start = "33816164ns", program = ["run 10000s"] },
            { name = "fair", program = ["run 190us", "kernel 500us", "jump 0"] },
            { name = "idle", policy = "idle", start = "412967043ns", program = ["run 3us", "jump 0"] },
            { name = "timer", nice = -5, start = "412967043ns", program = ["run 3500ns", "timer r0 100us absolute", "jump 0"] },
        ]
    "#,
    );
    assert_eq!(failure_of(&case, |_| Ok(())), None);
}

/// CPUs take turns of 1 ms, so a spinner looks at a lock later than its round says.
#[test]
fn who_spins_waits_for_the_turn_of_his_cpu() {
    assert_eq!(failure_of(&case_of(include_str!("cases/turns.toml")), |_| Ok(())), None);
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
    let seed = (0..).find(|&seed| failure_of(&Case::random(seed), never_two_at_once).is_some()).unwrap();
    let failure = run_case_watched(seed, never_two_at_once).expect_err("the rule is broken");
    let text = failure.to_string();
    assert!(text.contains("two runnable tasks") && text.contains(&format!("run_case({seed})")), "{text}");
    assert!(failure_of(&failure.case, never_two_at_once).is_some());
    let case = &failure.case;
    let code: usize = case.tasks.programs.iter().map(|program| program.code.len()).sum();
    assert!(case.tasks.tasks.len() <= 2 && code <= 3 && case.tasks.changes.is_empty(), "{text}");
    assert!(case.machine.cpus.len() == 1 && text.lines().count() <= 40, "{text}");
    assert_eq!(failure.replay("f.toml"), "fairground vopr --replay f.toml");
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
    assert!(case.contains("seed = 7") && case.contains("task0"), "{case}");
}
