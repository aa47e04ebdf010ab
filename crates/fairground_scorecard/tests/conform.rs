//! `conform` against recordings of real kernels: all sets, and samples in a form of their own.
#![allow(clippy::panic, reason = "a test stops where it fails")]

use fairground::run::{RunOptions, run};
use fairground::{input::RunInput, output::Outputs};
use fairground_conform::{Kind, Lockstep, Recording, Setup};
use fairground_model::Sink;
use fairground_recordings::conform::{ConformOptions, Conformance, conform, percent};
use fairground_scenario::{Control, Overrides};
use fairground_stdx::{RngStream, StreamKind};
use fairground_testing::{experiments, experiments_of, recording};
use std::path::{Path, PathBuf};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conform")
}

fn compare(path: &Path, change: impl FnOnce(&mut ConformOptions)) -> Conformance {
    let mut options = ConformOptions::default();
    change(&mut options);
    conform(path, &options, Control::none()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All kinds of a recording agree, and so does each virtual time.
fn assert_agrees(made: &Conformance) {
    for row in made.headlines() {
        assert_eq!(row.tally.agree, row.tally.decisions, "{} of {}", row.name, made.name);
    }
}

#[test]
fn samples_of_cfs_agree_in_every_decision_and_every_nanosecond() {
    for set in ["k5.10-hogs-1cpu/a_mix_1", "k6.1-hogs-1cpu/a_nice3_1", "k6.1-hogs-2cpu/a_3on2"] {
        let made = compare(&samples().join(set), |_| ());
        assert_agrees(&made);
        assert!(made.row(Kind::Pick).all.decisions > 100 && made.outcome.vruntimes.compared > 800, "{set}");
        assert!(made.outcome.mismatches.is_empty() && made.no_threshold.is_none());
        let errors = made.outcome.shares.iter().map(|share| share.ran.0.abs_diff(share.given.0));
        assert_eq!(errors.max(), Some(0));
    }
}

#[test]
fn samples_of_eevdf_agree_but_for_unknown_lags() {
    for set in ["k6.12-hogs-1cpu/a_mix_1b", "k6.18-hogs-1cpu/a_eq3_1"] {
        let made = compare(&samples().join(set), |options| options.fit = true);
        for kind in [Kind::TickPreempt, Kind::WakeupPreempt, Kind::UpdatePreempt] {
            assert_eq!(made.row(kind).all.agree, made.row(kind).all.decisions, "{kind:?} of {set}");
        }
        let wrong = |outcome: &fairground_conform::Outcome| {
            let row = outcome.kinds[&Kind::Pick].all;
            row.decisions - row.agree
        };
        assert!(wrong(&made.outcome) <= 4, "{set}");
        assert!(made.outcome.mismatches.iter().all(|mismatch| !mismatch.unknown_lag.is_empty()), "{set}");
        if let Some(fit) = &made.fitted {
            assert!(wrong(&fit.outcome) < wrong(&made.outcome), "{set}");
        }
    }
}

#[test]
fn a_wrong_kernel_shows() {
    let set = samples().join("k6.1-hogs-1cpu/a_nice3_1");
    let wrong = |change: fn(&mut Overrides)| {
        let made = compare(&set, |options| change(&mut options.overrides));
        assert!(!made.below(99.0).is_empty());
        made
    };
    let latency = wrong(|flags| flags.set = vec!["sched_latency_ns=12000000".to_string()]);
    assert!(latency.row(Kind::TickPreempt).all.agree < latency.row(Kind::TickPreempt).all.decisions);
    let mismatch = latency.outcome.mismatches.first().expect("there are disagreements");
    let text = fairground_recordings::conform::explain(&latency, mismatch);
    assert!(text.contains("recorded:") && text.contains("rule:") && text.contains("vruntime"), "{text}");
    let credit = wrong(|flags| flags.features = vec!["NO_GENTLE_FAIR_SLEEPERS".to_string()]);
    assert!(credit.outcome.vruntimes.exact < credit.outcome.vruntimes.compared);
    let debit = wrong(|flags| flags.features = vec!["NO_START_DEBIT".to_string()]);
    assert!(debit.outcome.vruntimes.exact < debit.outcome.vruntimes.compared);
    wrong(|flags| flags.profile = Some("v6.12".to_string()));
}

/// What our own simulator writes agrees with the core that made it.
#[test]
fn our_own_runs_agree_under_every_kernel() {
    let set = samples().join("k6.1-hogs-1cpu/a_nice3_1");
    for kernel in ["v5.10", "v6.1", "v6.6", "v6.12", "v6.18"] {
        let overrides = Overrides { profile: Some(kernel.to_string()), ..Overrides::default() };
        let RunInput::Set(set) = RunInput::open(&set, &overrides).expect("the sample can be run") else {
            panic!("a folder of a set is one")
        };
        let file = std::env::temp_dir().join(format!("fairground-conform-{}-{kernel}.csv", std::process::id()));
        let mut outputs = Outputs::for_run(std::slice::from_ref(&file), &set.scenario).expect("a file can be written");
        let outcome = run(&set.scenario, &RunOptions::default(), &mut outputs, Control::none()).expect("it runs");
        assert!(!outcome.is_partial());
        outputs.finish(true).expect("it is written");
        let made = compare(&file, |options| options.overrides = overrides);
        std::fs::remove_file(&file).expect("it is there");
        assert_agrees(&made);
        assert!(made.row(Kind::Pick).all.decisions > 100, "{kernel}");
    }
}

/// A recording without the events whose numbers are `lost`.
fn thinned(set: &Path, mut lost: impl FnMut(usize) -> bool) -> Recording {
    let trace = fairground_scenario::trace_file::TraceFile::load(set).expect("a sample is a trace").trace;
    let mut recording = Recording::default();
    trace.tasks.iter_enumerated().for_each(|(task, info)| recording.task(task, info));
    for (number, (at, cpu, event)) in trace.events.iter().enumerate() {
        if !lost(number + 1) {
            recording.record(*at, *cpu, event);
        }
    }
    recording
}

const THINNED: [(&str, &str); 5] = [
    ("k5.10-hogs-1cpu/a_mix_1", "v5.10"),
    ("k6.1-hogs-2cpu/a_3on2", "v6.1"),
    ("k6.1-hogs-2cpu/a_3on2", "v6.6"),
    ("k6.12-hogs-1cpu/a_mix_1b", "v6.12"),
    ("k6.18-hogs-1cpu/a_eq3_1", "v6.18"),
];

fn walked(recording: &Recording, kernel: &str) -> fairground_conform::Outcome {
    let setup = Setup {
        profile: fairground_sched::Profile::parse(kernel).expect("a modelled kernel"),
        machine: fairground_machine::Machine::preset("smp-2").expect("a preset").view(),
        tick: None,
        keep: 3,
        lags: Vec::new(),
        specs: Vec::new(),
        allowed: Vec::new(),
        groups: fairground_stdx::IndexVec::new(),
        members: Vec::new(),
        begins: Vec::new(),
        moves: Vec::new(),
        learns: false,
    };
    let mut lockstep = Lockstep::new(recording, &setup);
    lockstep.advance(usize::MAX);
    let outcome = lockstep.finish();
    assert_eq!(outcome.records, recording.records.len() as u64);
    outcome
}

#[test]
fn lost_records_are_noted_and_break_nothing() {
    for (set, kernel) in THINNED {
        for lost in [2, 3, 5, 7, 11, 31] {
            let outcome = walked(&thinned(&samples().join(set), |number| number % lost == 0), kernel);
            assert!(!outcome.facts.is_empty(), "{set} without every {lost}th record");
        }
    }
}

#[test]
fn records_lost_at_random_break_nothing() {
    for (row, (set, kernel)) in THINNED.into_iter().enumerate() {
        for seed in 0..40 {
            let mut dice = RngStream::new(seed, StreamKind::Vopr, row as u32);
            let (rate, from) = (2 + dice.below(60), dice.below(200));
            walked(&thinned(&samples().join(set), |number| (number as u64) < from || dice.below(rate) == 0), kernel);
        }
    }
}

#[test]
fn a_trace_of_an_unknown_kernel_needs_a_profile() {
    let file = std::env::temp_dir().join(format!("fairground-conform-{}-bare.csv.zst", std::process::id()));
    std::fs::copy(samples().join("k6.1-hogs-1cpu/a_nice3_1/trace.csv.zst"), &file).expect("a sample can be copied");
    let error = conform(&file, &ConformOptions::default(), Control::none()).expect_err("no kernel is known");
    assert!(error.to_string().contains("--profile"), "{error}");
    let made = compare(&file, |options| options.overrides.profile = Some("v6.1".to_string()));
    std::fs::remove_file(&file).expect("it is there");
    assert!(made.notes.iter().any(|note| note.contains("smp-1")), "{:?}", made.notes);
}

#[test]
fn a_folder_without_a_trace_says_what_to_give() {
    let family = samples().join("k6.1-hogs-1cpu");
    let error = conform(&family, &ConformOptions::default(), Control::none()).expect_err("a family is no experiment");
    assert!(error.to_string().contains("no trace.csv.zst in this folder"), "{error}");
}

/// A sample as it would lie in a family of this name on CPUs that differ in capacity.
fn with_two_capacities(family: &str) -> PathBuf {
    let sample = samples().join("k6.1-hogs-2cpu");
    let folder = std::env::temp_dir().join(format!("fairground-conform-{}", std::process::id())).join(family);
    for part in ["system", "a_3on2"] {
        std::fs::create_dir_all(folder.join(part)).expect("a folder can be made");
        for entry in std::fs::read_dir(sample.join(part)).expect("a folder of the sample").flatten() {
            std::fs::copy(entry.path(), folder.join(part).join(entry.file_name())).expect("a file can be copied");
        }
    }
    let debug = folder.join("system/debug_sched.txt");
    let text = std::fs::read_to_string(&debug).unwrap_or_default();
    std::fs::write(debug, text + "./domains/cpu0/domain0/flags: SD_ASYM_CPUCAPACITY\n").expect("a file can be written");
    folder.join("a_3on2")
}

#[test]
fn capacities_that_the_topology_does_not_tell_are_those_of_the_flag_then_of_the_name() {
    let set = with_two_capacities("x-1half-1full");
    let note = |capacities: Option<&str>| {
        let made = compare(&set, |options| options.overrides.capacities = capacities.map(str::to_string));
        let about =
            made.notes.iter().find_map(|note| note.split_once("capacities of CPUs, which the recorded topology does not tell: "));
        about.expect("a note on capacities").1.to_string()
    };
    assert_eq!(note(None), "0=512,1=1024 by the name of the family, `x-1half-1full`");
    assert_eq!(note(Some("0=1024")), "0=1024 by --capacities; 1=1024 by the name of the family, `x-1half-1full`");
    for (wrong, part) in [("2=512", "there are no CPUs 2"), ("0=0", "`0` is no capacity"), ("0,1", "`0,1` has no capacity")] {
        let overrides = Overrides { capacities: Some(wrong.to_string()), ..Overrides::default() };
        let options = ConformOptions { overrides, ..ConformOptions::default() };
        let error = conform(&set, &options, Control::none()).expect_err("it must be refused").to_string();
        assert!(error.contains(part) && error.contains("hint: "), "{error}");
    }
    std::fs::remove_dir_all(set.parent().expect("a family")).expect("it is there");
}

/// What fits where depends on capacities: with all CPUs taken as equal the record is explained worse.
#[test]
fn capacities_of_the_flag_reach_the_core() {
    let family = experiments(|set| set == "karm6.1-asym-4half-4full");
    let strict = |capacities: Option<&str>| {
        let sums = family.iter().map(|set| {
            let made = compare(set, |options| options.overrides.capacities = capacities.map(str::to_string));
            made.outcome.placement.sums(false).2
        });
        sums.sum::<u64>()
    };
    assert_eq!(strict(Some("0-3=512,4-7=1024")), strict(None));
    assert!(strict(Some("0-7=1024")) < strict(None), "{} and {}", strict(Some("0-7=1024")), strict(None));
}

/// The least agreement per family of sets: picks, each side of ticks and of wake-ups, in percent.
const WANTED: &[(&str, f64, f64)] = &[
    ("k5.10-hogs-1cpu", 100.0, 100.0),
    ("k5.10-hogs-2cpu", 100.0, 100.0),
    ("k5.10-hogs-8cpu", 100.0, 100.0),
    ("k5.10-press-12cpu", 99.5, 98.5),
    ("k6.1-hogs-1cpu", 100.0, 100.0),
    ("k6.1-hogs-2cpu", 99.5, 100.0),
    ("k6.1-hogs-2x4cpu", 100.0, 100.0),
    ("k6.1-hogs-4x2smt", 100.0, 100.0),
    ("k6.1-hogs-8cpu", 99.9, 98.0),
    ("k6.1-many-32cpu", 100.0, 100.0),
    ("k6.12-hogs-1cpu", 99.5, 99.0),
    ("k6.12-hogs-2x4cpu", 99.5, 99.0),
    ("k6.12-hogs-4x2smt", 99.5, 99.0),
    ("k6.12-press-8cpu", 99.5, 93.0),
    ("k6.18-hogs-1cpu", 99.0, 99.0),
    ("karm6.1-asym-4half-4full", 99.0, 99.0),
    ("karm6.1-pelt-4half-4full", 100.0, 100.0),
];

#[test]
fn families_of_recorded_sets_reach_their_agreement() {
    for &(family, picks, sides) in WANTED {
        let made: Vec<Conformance> = experiments(|set| set == family).iter().map(|set| compare(set, |_| ())).collect();
        let sum = |kind: Kind, part: fn(&fairground_conform::KindTally) -> fairground_conform::Tally| {
            let rows: Vec<_> = made.iter().map(|one| part(&one.row(kind))).collect();
            percent(rows.iter().map(|row| row.agree).sum(), rows.iter().map(|row| row.decisions).sum())
        };
        assert!(sum(Kind::Pick, |row| row.all) >= picks, "picks of {family}");
        for kind in [Kind::TickPreempt, Kind::WakeupPreempt] {
            assert!(sum(kind, |row| row.did) >= sides, "{kind:?} of {family}, where the kernel did");
            assert!(sum(kind, |row| row.did_not) >= sides, "{kind:?} of {family}, where the kernel did not");
        }
        let (exact, compared) =
            made.iter().fold((0, 0), |sum, one| (sum.0 + one.outcome.vruntimes.exact, sum.1 + one.outcome.vruntimes.compared));
        assert!(percent(exact, compared) >= 99.5, "virtual times of {family}: {exact} of {compared}");
    }
}

/// A set that `cargo xtask record` wrote: groups of weight 100 and 300 on two CPUs.
#[test]
fn a_set_of_the_recorder_in_this_tree_agrees() {
    let made = compare(&recording("k6.12-weights-2cpu/g_w13_2"), |_| ());
    let (picks, ticks) = (made.row(Kind::Pick).all, made.row(Kind::TickPreempt).all);
    assert!(picks.decisions > 900 && percent(picks.agree, picks.decisions) >= 90.0, "{picks:?}");
    assert!(ticks.decisions > 900 && ticks.agree == ticks.decisions, "{ticks:?}");
}

#[test]
fn every_recorded_set_goes_through() {
    for set in experiments(|_| true) {
        let made = compare(&set, |_| ());
        assert!(made.outcome.records > 0 && !made.interrupted, "{}", set.display());
        let document = fairground_recordings::conform::document(&made).to_string();
        assert!(document.contains("\"throttle\""));
    }
}

/// Choices and moves of the recorded hog, press and message sets: what is allowed, possible, and how many move.
#[test]
fn places_of_recorded_sets_are_explained() {
    const KERNELS: [&str; 4] = ["k5.10", "k6.1", "k6.12", "k6.18"];
    let recorded = [("hogs-8cpu", 85, &KERNELS[..]), ("press-12cpu", 60, &KERNELS), ("press-8cpu", 70, &KERNELS[1..])];
    for (family, strict, kernels) in recorded.into_iter().chain([("msg-8cpu", 60, &KERNELS[1..3])]) {
        for kernel in kernels {
            let sets = experiments_of(&recording(&format!("{kernel}-{family}")));
            let (mut choices, mut allowed, mut same, mut sizes) = (0, 0, 0, (0, 0));
            for set in &sets {
                let made = compare(set, |_| ());
                let sums = made.outcome.placement.sums(false);
                (choices, allowed, same) = (choices + sums.0, allowed + sums.1, same + sums.2);
                let kind = made.outcome.moves.kind();
                let size = made.outcome.moves.rule(fairground_conform::BatchRule::Size);
                assert!(kind.agree * 100 >= kind.decisions * 95, "{}: {kind:?}", made.name);
                sizes = (sizes.0 + size.agree, sizes.1 + size.decisions);
            }
            assert!(sizes.0 * 100 >= sizes.1 * 90, "{kernel}-{family}: {sizes:?} balances of the right size");
            assert!(allowed * 1000 >= choices * 995, "{kernel}-{family}: {allowed} of {choices} allowed");
            assert!(same * 100 >= choices * strict, "{kernel}-{family}: {same} of {choices} the same");
        }
    }
}
