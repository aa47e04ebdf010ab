//! Planted delays: each scenario of `data/delays/` makes a worker wait for one known reason, which `explain` must name.
//! That the reason is the real one is shown too: without it the delay is much shorter.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use fairground_explain::{Cause, Delay, ExplainOptions, Explanation, Keeps, Kind, Pairs, Who, explain, story, tables};
use fairground_scenario::{Control, Overrides, Scenario};
use fairground_sim::GaveWay;
use fairground_stdx::Ns;
use std::path::Path;

/// What takes the cause away.
enum Without {
    /// A change from the state in which the worker woke.
    WhatIf(&'static str),
    /// Another text in the scenario: the worst delay of that run is compared.
    Text(&'static str, &'static str),
}
use Without::{Text, WhatIf};

/// A scenario, the cause that was planted, what takes it away, and how many percent of the delay may be left then.
const PLANTED: &[(&str, Cause, Without, u64)] = &[
    ("affinity", Cause::Affinity, WhatIf("affinity worker 0-1"), 10),
    ("batch-policy", Cause::BatchPolicy, WhatIf("policy worker other"), 10),
    ("cache-hot", Cause::CacheHot, WhatIf("sched_migration_cost_ns=0"), 20),
    ("cpu-offline", Cause::CpuOffline, WhatIf("online 1"), 10),
    ("deadline", Cause::Deadline, WhatIf("policy control other"), 20),
    ("deadline-throttled", Cause::DeadlineThrottled, WhatIf("policy worker fifo:50"), 10),
    (
        "delayed-dequeue",
        Cause::DelayedDequeue,
        Text("NO_RUN_TO_PARITY", "NO_RUN_TO_PARITY\", \"NO_DELAY_DEQUEUE\", \"NO_PLACE_LAG"),
        50,
    ),
    ("earlier-deadline", Cause::EarlierDeadline, WhatIf("slice worker 100us"), 20),
    ("group-still-high", Cause::MisledStatistic, WhatIf("queued-load"), 60),
    ("group-still-high-nested", Cause::MisledStatistic, WhatIf("queued-load"), 60),
    ("heavier-task", Cause::HeavierTask, WhatIf("nice heavy 0"), 10),
    ("holders-of-one-name", Cause::LockHolderPreempted, WhatIf(fairground_explain::NO_HOLDER_PREEMPTION), 60),
    ("idle-exit", Cause::IdleExit, Text("deepest", "shallowest"), 15),
    ("idle-policy", Cause::IdlePolicy, Text("policy = \"idle\"", "nice = 0"), 10),
    ("interrupt", Cause::Interrupt, WhatIf(fairground_explain::NO_INTERRUPTS), 10),
    ("irqs-off", Cause::IrqsOff, Text("irqoff 5ms", "run 5ms"), 50),
    ("kernel-section", Cause::KernelSection, Text("kernel 8ms", "run 8ms"), 10),
    (
        "kernel-thread",
        Cause::KernelThread,
        Text("\"kernel 8ms\", \"sleep 4ms\"], kthread = true", "\"run 8ms\", \"sleep 4ms\"]"),
        10,
    ),
    ("lock-held", Cause::LockHeld, Text("run 9ms", "run 1ms"), 30),
    ("lock-holder-asleep", Cause::LockHolderAsleep, Text("sleep 9ms", "sleep 1ms"), 30),
    ("lock-holder-preempted", Cause::LockHolderPreempted, WhatIf("policy heavy idle"), 70),
    ("lock-holder-throttled", Cause::LockHolderThrottled, WhatIf("cpu.max /pod max"), 10),
    ("misled-statistic", Cause::MisledStatistic, WhatIf("queued-load"), 60),
    ("newidle-gate", Cause::NewidleGate, WhatIf("sched_migration_cost_ns=0"), 10),
    ("no-wakeup-preemption", Cause::NoWakeupPreemption, WhatIf("WAKEUP_PREEMPTION"), 10),
    ("not-due", Cause::NotDue, Text("\"exit\"], cpus = \"0\"", "\"exit\"], cpus = \"0-1\""), 10),
    (
        "other-cache",
        Cause::OtherCache,
        Text("core = 2, llc = 1 }, { core = 3, llc = 1", "core = 2, llc = 0 }, { core = 3, llc = 0"),
        10,
    ),
    ("preempt-off", Cause::PreemptOff, Text("nopreempt 6ms", "run 6ms"), 70),
    ("protected", Cause::Protected, WhatIf("NO_RUN_TO_PARITY"), 10),
    ("queue-length", Cause::QueueLength, Text("count = 6", "count = 2"), 60),
    ("real-time", Cause::RealTime, WhatIf("policy urgent other"), 40),
    ("rt-throttled", Cause::RtThrottled, WhatIf("policy spinner other"), 10),
    ("search-cut", Cause::SearchCut, WhatIf("NO_SIS_PROP"), 10),
    ("shorter-slice", Cause::ShorterSlice, WhatIf("slice worker 100us"), 40),
    ("sleeper-credit", Cause::SleeperCredit, Text("NO_GENTLE_FAIR_SLEEPERS", "GENTLE_FAIR_SLEEPERS"), 80),
    ("spin-back-off", Cause::SpinBackOff, Text("rounds 1 ", "rounds 100000 "), 10),
    ("spin-holder-preempted", Cause::LockHolderPreempted, Text("\"fault 500ns\"", "\"run 500ns\""), 50),
    ("stolen", Cause::Stolen, WhatIf(fairground_explain::NO_STEAL), 10),
    ("throttled", Cause::Throttled, WhatIf("cpu.max /pod max"), 10),
    ("throttled-mid-run", Cause::Throttled, WhatIf("cpu.max /pod max"), 10),
    ("throttled-parent", Cause::Throttled, WhatIf("cpu.max /tenant max"), 10),
    ("tick", Cause::TickGranularity, Text("hz     = 100", "hz     = 1000"), 40),
    ("timer-late", Cause::TimerLate, WhatIf("slack worker 0ns"), 10),
    ("unfinished", Cause::RealTime, WhatIf("policy urgent other"), 10),
    ("wakeup-granularity", Cause::WithinWakeupGranularity, WhatIf("sched_wakeup_granularity_ns=0"), 10),
];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/delays/{name}.toml"));
    std::fs::read_to_string(path).unwrap()
}

fn worker(what_if: Option<&str>) -> ExplainOptions {
    let what_if = what_if.map(str::to_string).into_iter().collect();
    ExplainOptions { task: Some("worker".into()), what_if, ..ExplainOptions::default() }
}

fn explained(name: &str, text: &str, options: &ExplainOptions) -> Explanation {
    let scenario =
        Scenario::parse(name, text, Path::new(""), &Overrides::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    explain(&scenario, options, Control::none()).unwrap_or_else(|error| panic!("{name}: {error}")).unwrap().late().unwrap()
}

/// No running kernel takes another HZ: the run begins with it.
#[test]
fn a_change_of_hz_is_made_from_the_beginning() {
    let late = explained("tick", &text("tick"), &worker(Some("machine.hz=1000")));
    let outcome = &late.proof.outcomes[0];
    assert_eq!(outcome.delay, None);
    assert!(outcome.whole.unwrap().0 * 2 <= late.one.delay.length().0, "{outcome:?}");
    assert_eq!(late.remedy(), Some(outcome));
}

/// The holder, where it gave way, and who had its CPU.
#[test]
fn a_spin_for_a_lock_whose_holder_was_preempted_after_a_fault_is_told_with_all_three() {
    let late = explained("spin", &text("spin-holder-preempted"), &worker(None));
    let longest = late.one.parts.rows().iter().max_by_key(|part| part.time).unwrap();
    let Who::Holder(holder, Keeps::Task(instead, place)) = longest.who else { panic!("{:?}", late.one.parts.rows()) };
    assert_eq!((late.names.task(holder), late.names.task(instead), place), ("owner", "guest", Some(GaveWay::AfterFault)));
    assert!(story(&late).contains("owner, preempted at the exit of a fault, while guest had its CPU"), "{}", story(&late));
}

/// Its section takes 5 ms: so long the worker waits at most, if nobody takes the holder's CPU meanwhile.
#[test]
fn a_holder_that_keeps_its_cpu_is_waited_for_no_longer_than_its_section() {
    let late =
        explained("holders-of-one-name", &text("holders-of-one-name"), &worker(Some(fairground_explain::NO_HOLDER_PREEMPTION)));
    let outcome = &late.proof.outcomes[0];
    assert!(late.one.delay.length() > Ns::from_ms(12), "{:?}", late.one.delay);
    assert!(outcome.delay.unwrap() <= Ns::from_ms(5) && outcome.whole.unwrap() <= Ns::from_ms(5), "{outcome:?}");
}

/// A word that is no overlay may have been meant for what no kernel has.
#[test]
fn a_wrong_word_is_answered_with_what_can_be_taken_away() {
    let scenario = Scenario::parse("tick", &text("tick"), Path::new(""), &Overrides::default()).unwrap();
    let error = explain(&scenario, &worker(Some("no-holders")), Control::none()).unwrap_err().to_string();
    assert!(
        error.contains("there is no overlay `no-holders`") && error.contains(fairground_explain::NO_HOLDER_PREEMPTION),
        "{error}"
    );
}

/// Each task is the late one's namesake: what makes others yield makes it yield, too.
#[test]
fn holders_that_bear_the_late_tasks_name_are_found_out() {
    let text = text("holders-of-one-name").replace("\"worker\"", "\"server\"");
    let late = explained("one-name", &text, &ExplainOptions::default());
    let suspect = late.proof.suspects.iter().find(|row| row.cause == Cause::LockHolderPreempted).unwrap();
    let (change, saved) = suspect.removal.as_ref().unwrap();
    assert_eq!((change.as_str(), late.one.cause), (fairground_explain::NO_HOLDER_PREEMPTION, Cause::LockHolderPreempted));
    assert!(saved.0 * 2 >= late.one.delay.length().0, "{saved:?} of {:?}", late.one.delay);
}

/// A worker waits behind sixty others: each has less than a twentieth of the time, all together nearly all.
#[test]
fn many_short_parts_are_told_together() {
    let text = "duration = \"2s\"\n[machine]\npreset = \"smp-1\"\ncosts = \"zero\"\n[profile]\nkernel = \"6.12\"\n[[workload]]\n\
                tasks = [{ name = \"hog\", hog = true, count = 60 }, { name = \"worker\", policy = \"batch\", do = [\"run 20ms\", \"sleep 1ms\"] }]\n";
    let late = explained("crowd", text, &worker(None));
    let rows = late.one.parts.rows();
    assert!(rows.len() > 40, "{}", rows.len());
    let tables = tables(&late);
    let of = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
    assert_eq!(of("parts").rows().len(), 40);
    let notes = of("parts").notes();
    assert!(notes[0].starts_with(&format!("the longest 40; {} more have ", rows.len() - 40)), "{notes:?}");
    let causes: Vec<Cause> = Cause::ALL.iter().copied().filter(|&cause| late.one.parts.of(cause) > Ns::ZERO).collect();
    assert_eq!(of("causes").rows().len(), causes.len());
    let story = story(&late);
    assert!(story.contains(" parts: ") && story.contains("; the longest "), "{story}");
}

/// A message is written every 2 ms, and the work for it takes 5: what nobody has read at the end waits longest.
#[test]
fn a_message_that_nobody_reads_is_a_delay() {
    let text = r#"
        seed = 1
        duration = "100ms"
        [machine]
        preset = "smp-2"
        [profile]
        kernel = "6.12"
        [[workload]]
        pipes = { inbox = 64 }
        tasks = [
            { name = "client", do = ["sleep 2ms", "write inbox"], cpus = "1" },
            { name = "server", do = ["read inbox", "run 5ms"], cpus = "0" },
        ]
    "#;
    let late = explained("inbox", text, &ExplainOptions::default());
    let Delay { kind, ran, request, until, .. } = late.one.delay;
    assert_eq!((kind, ran, request.map(|row| row.read)), (Kind::Request, false, Some(None)));
    assert_eq!((late.one.cause, until.ns()), (Cause::WorkersBusy, 100_000_000));
    assert_eq!(late.one.parts.total(), late.one.delay.length(), "each nanosecond is in one part");
    let story = story(&late);
    assert!(
        story.starts_with("A request had waited for ") && story.contains("nobody had read it at the end of the run"),
        "{story}"
    );
}

/// The quota makes the longest delays, and a real-time task one that is nearly as long: one change is not enough, and both causes are
/// named.
/// Names need not differ: who is meant is told by process ids, and only where names leave it open.
#[test]
fn tasks_of_one_name_are_told_apart() {
    let twins = r#"
duration = "1s"
[machine]
preset = "smp-1"
[profile]
kernel = "6.12"
[[workload]]
tasks = [{ name = "w", run = "1ms", sleep = "5ms" }, { name = "w", run = "1ms", sleep = "7ms" }, { name = "h", hog = true }]
"#;
    let told = |task: &str| {
        let options = ExplainOptions { task: Some(task.to_string()), ..ExplainOptions::default() };
        let told = story(&explained("twins", twins, &options));
        told.lines().next().unwrap().split(" was late").next().unwrap().to_string()
    };
    assert_eq!([told("1000"), told("w:1000")], ["w:1000", "w:1000"]);
    assert_eq!([told("1001"), told("w:1001")], ["w:1001", "w:1001"]);
    assert!(["w:1000", "w:1001"].contains(&told("w").as_str()));
    let text = twins.replacen("name = \"w\"", "name = \"v\"", 1);
    let named = explained("named", &text, &ExplainOptions { task: Some("w".to_string()), ..ExplainOptions::default() });
    assert!(story(&named).starts_with("w was late"), "{}", story(&named));
}

#[test]
fn two_causes_are_named_together() {
    let text = r#"
        seed = 1
        duration = "600ms"
        [machine]
        preset = "smp-1"
        [profile]
        kernel = "6.12"
        [[group]]
        path = "/pod"
        "cpu.max" = "50000 100000"
        [[workload]]
        tasks = [
            { name = "worker", do = ["run 1ms", "sleep 20us"], group = "/pod" },
            { name = "other", program = ["sleep 309ms", "run 44ms", "exit"], policy = "fifo:5" },
        ]
    "#;
    let late = explained("two", text, &worker(None));
    let (other, _) = late.proof.also.unwrap_or_else(|| panic!("{:?}", late.proof.outcomes));
    assert_eq!((late.one.cause, other), (Cause::Throttled, Cause::RealTime));
    let remedy = late.remedy().unwrap();
    assert!(remedy.change.contains("cpu.max /pod max") && remedy.change.contains("policy other other"), "{remedy:?}");
    assert!(story(&late).contains("has another cause, which must go too"), "{}", story(&late));
}

/// Four jobs of one real-time priority take turns on one CPU: whoever yields, another one waits as long. So levers with which a run
/// must begin are tried, and hold with other seeds.
const TURNS: &str = r#"
    seed = 3
    duration = "400ms"
    [machine]
    preset = "smp-1"
    [profile]
    kernel = "6.12"
    [[workload]]
    tasks = [{ name = "job", do = ["run 5ms", "sleep 9ms"], count = 4, policy = "fifo:10" }]
"#;

#[test]
fn more_cpus_are_tried_last_and_hold_with_other_seeds() {
    let late = explained("turns", TURNS, &ExplainOptions::default());
    let remedy = late.remedy().unwrap_or_else(|| panic!("{:?}", late.proof.outcomes));
    assert_eq!(remedy.change, "cpus=2", "{:?}", late.proof.outcomes);
    assert!(remedy.whole.unwrap().0 * 2 <= late.one.delay.length().0, "{remedy:?}");
    assert_eq!(remedy.pairs, Some(Pairs { hold: 4, of: 4 }));
    assert!(late.proof.untried.is_empty());
    let story = story(&late);
    assert!(story.contains("With 4 of 4 other seeds it is shorter with it, too."), "{story}");
}

#[test]
fn a_number_of_cpus_is_asked_for() {
    let asked = |change: &str| ExplainOptions { what_if: vec![change.to_string()], ..ExplainOptions::default() };
    let late = explained("turns", TURNS, &asked("cpus=4"));
    let outcome = &late.proof.outcomes[0];
    assert!(outcome.whole.unwrap().0 * 10 <= late.one.delay.length().0, "{outcome:?}");
    let scenario = Scenario::parse("turns", TURNS, Path::new(""), &Overrides::default()).unwrap();
    for (change, part) in [("cpus=0", "no such number of CPUs"), ("cpus=x", "no such number"), ("cpus=100000", "no such number")]
    {
        let error = explain(&scenario, &asked(change), Control::none()).unwrap_err().to_string();
        assert!(error.contains(part), "{change}: {error}");
    }
}

/// What runs on CPUs that go off line moves to others, and does not come back at once if they are put on line again: so that they never
/// left is what is tried.
#[test]
fn cpus_that_went_off_line_a_moment_ago_are_named() {
    let text = r#"
        seed = 221893
        duration = "900ms"
        [machine]
        preset = "smp-4"
        hz = 250
        [profile]
        kernel = "6.14"
        [[workload]]
        tasks = [
            { name = "worker", do = ["run 7614us", "sleep 535us"] },
            { name = "hog", hog = true, count = 3, start = "1ms" },
        ]
        [[at]]
        time = "118670us"
        do = "offline 1-3"
    "#;
    let late = explained("shrunk", text, &worker(None));
    assert_eq!(late.one.cause, Cause::CpuOffline, "{:?}", late.proof.suspects);
    assert_eq!(late.remedy().map(|row| row.change.as_str()), Some("online 1-3"), "{:?}", late.proof.outcomes);
}

/// Many tasks have their turns before the late one. A rule by which it was behind one of them for a seventh of the time is no cause.
#[test]
fn why_one_of_many_was_ahead_is_a_detail() {
    let crowd = r#"
        seed = 946078
        duration = "400ms"
        [machine]
        sockets = 2
        cores = 1
        threads = 1
        hz = 250
        [profile]
        kernel = "6.14"
        preemption = "full"
        [[workload]]
        tasks = [
            { name = "worker", do = ["run 2ms", "sleep 726us"] },
            { name = "others", do = ["run 2533us", "sleep 50us"], count = 20, start = "1ms" },
        ]
    "#;
    let late = explained("crowd", crowd, &worker(None));
    assert!(late.one.parts.of(Cause::DelayedDequeue) > Ns::ZERO, "{:?}", late.shares());
    assert_eq!(late.one.cause, Cause::EarlierDeadline, "{:?}", late.shares());

    let collector = r#"
        seed = 258436
        duration = "2500ms"
        [machine]
        preset = "smp-3"
        hz = 300
        [profile]
        kernel = "4.20"
        [[workload]]
        name = "service"
        args = { every = "3773us", service = "2859us", spread = "const", workers = 12, cpus = "0-1", client-cpus = "2", gc-threads = 12, gc-every = "1s", gc-work = "926ms" }
    "#;
    let late = explained("collector", collector, &ExplainOptions::default());
    assert!(late.one.parts.of(Cause::SleeperCredit) > Ns::ZERO, "{:?}", late.shares());
    assert_eq!(late.one.cause, Cause::QueueLength, "{:?}", late.shares());
    // All of the crowd yield, not only those whose turn came before the late one's.
    let yields = |change: &str| (0..12).all(|number| change.contains(&format!("policy gc{number:02} idle")));
    assert!(late.proof.outcomes.iter().any(|row| yields(&row.change)), "{:?}", late.proof.outcomes);
}

#[test]
fn each_planted_cause_is_named_and_is_real() {
    let mut wrong = Vec::new();
    for (name, cause, without, left_pct) in PLANTED {
        let text = text(name);
        let explanation = explained(name, &text, &worker(None));
        let one = &explanation.one;
        assert_eq!(one.parts.total(), one.delay.length(), "{name}: each nanosecond is in one part");
        if one.cause != *cause {
            wrong.push(format!("{name}: {:?} and not {cause:?}, of {:?}", one.cause, one.causes()));
        }
        let delay = match without {
            WhatIf(change) => explained(name, &text, &worker(Some(change))).proof.outcomes[0].delay.unwrap_or(Ns(u64::MAX)),
            Text(with, without) => {
                assert!(text.contains(with), "{name} has no {with}");
                explained(name, &text.replace(with, without), &worker(None)).one.delay.length()
            }
        };
        if delay.0.saturating_mul(100) > one.delay.length().0 * left_pct {
            wrong.push(format!("{name}: without its cause the delay of {} is {delay}", one.delay.length()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(PLANTED.len() >= 40);
}

#[test]
fn every_planted_scenario_is_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/delays");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let planted: Vec<&str> = PLANTED.iter().map(|row| row.0).collect();
    assert_eq!(names, planted);
}

/// The planted delays in a group, and the group: it lies below the root, or below another.
const IN_GROUPS: &[(&str, &str)] = &[("group-still-high", "/b"), ("group-still-high-nested", "/x/b")];

/// In v4.12 the load of a group's entity follows what happens below it by ageing only.
#[test]
fn the_statistic_of_a_group_that_misleads_is_named() {
    for (name, path) in IN_GROUPS {
        let explanation = explained(name, &text(name), &worker(None));
        let miss = explanation.one.misses.iter().find(|miss| miss.cause == Cause::MisledStatistic).unwrap();
        let groups: Vec<_> = miss.misread.iter().flat_map(|row| &row.groups).collect();
        assert!(groups.iter().any(|group| group.read > group.queued), "{name}: {groups:?}");
        let story = fairground_explain::story(&explanation);
        assert!(story.contains(&format!("load_avg of group {path} stood at")), "{story}");
    }
}

/// With the patch that lets runnable load go up by itself no balance is misled: from the wake-up on, or all the time.
#[test]
fn a_group_does_not_mislead_with_the_patch() {
    for (name, _) in IN_GROUPS {
        let joined = explained(name, &text(name), &worker(Some("independent-runnable")));
        let with = joined.proof.outcomes[0].delay.unwrap();
        assert!(with.0 * 100 <= joined.one.delay.length().0 * 60, "{name}: {with}");
        let patched = text(name).replace("\"4.12\"", "\"4.12+independent-runnable\"");
        let one = explained(name, &patched, &worker(None)).one;
        assert!(!one.causes().contains(&Cause::MisledStatistic), "{name}: {:?}", one.causes());
        assert!(one.misses.iter().all(|miss| miss.misread.is_empty()), "{name}: {:?}", one.misses);
        assert_eq!(one.delay.length(), with, "{name}: as if it had been there from the start");
    }
}

/// Two groups are compared where they stand on one queue, whatever lies in them.
#[test]
fn it_is_told_between_which_groups_a_rule_decided() {
    let text = "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\nhz = 1000\ncosts = \"zero\"\n[profile]\nkernel = \"5.19\"\n\
        [[group]]\npath = \"/out/a\"\n[[group]]\npath = \"/out/b/deep\"\n[[workload]]\ntasks = [\n\
        { name = \"hog\", hog = true, group = \"/out/b/deep\" },\n\
        { name = \"worker\", do = [\"run 3ms\", \"sleep 100us\"], group = \"/out/a\" }]\n";
    let explanation = explained("groups", text, &worker(None));
    let part = explanation.one.parts.rows().iter().max_by_key(|part| part.time).unwrap();
    let meeting = part.meeting.unwrap();
    let names = &explanation.names;
    assert_eq!(
        (meeting.level, names.entity(meeting.ran), names.entity(meeting.waited)),
        (2, "group /out/b".into(), "group /out/a".into())
    );
    let story = fairground_explain::story(&explanation);
    assert!(story.contains("worker in /out/a was late"), "{story}");
    assert!(story.contains("hog in /out/b/deep on CPU 0"), "{story}");
}
