//! Recordings from which records were taken away by rule, against the whole ones: what readers make of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_conform::Kind;
use fairground_formats::{Inferred, WriterOptions, writer_with};
use fairground_metrics::timehist::{ReadyMark, SchedLatency};
use fairground_model::{PrevState, TraceEvent};
use fairground_recordings::conform::{ConformOptions, conform, percent};
use fairground_scenario::trace_file::{self, TraceFile};
use fairground_scenario::{Control, Overrides};
use fairground_stdx::{Id, TaskId};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a recorder does not write.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Nothing,
    /// The wake-ups of tasks that had not run yet.
    FirstWakeups,
    /// The first two fifths.
    Beginning,
    /// Two of three switches from the idle task.
    FromIdle,
    /// The switches with which every third task goes to sleep.
    SleepsOfSome,
    /// All sched_waking.
    Waking,
    /// Births, ends and moves.
    Lives,
    /// Accounts of run time, and with them virtual times.
    Runtime,
    /// The first two fifths, and accounts of run time: what a phone records, begun in the middle.
    BeginningAndRuntime,
}

/// The parts of a trace that are left, as trace text in a file of its own.
fn degraded(whole: &TraceFile, profile: &str, loss: Loss) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{profile}-{loss:?}.txt"));
    let mut text = Vec::new();
    let mut writer = writer_with("txt", Box::new(&mut text), &WriterOptions::default()).unwrap();
    for (task, info) in whole.trace.tasks.iter_enumerated() {
        writer.task(task, info);
    }
    whole.trace.events.iter().for_each(|(at, cpu, event)| writer.record(*at, *cpu, event));
    writer.finish().unwrap();
    // The lines tell who ran: that stays true where others are missing.
    let text = String::from_utf8(text).unwrap();
    let (heading, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let total = lines.len();
    assert_eq!(total, whole.trace.events.len());
    let mut left = heading;
    let mut ran: BTreeSet<TaskId> = BTreeSet::new();
    for (number, ((_, _, event), line)) in whole.trace.events.iter().zip(lines).enumerate() {
        let is_lost = match (loss, *event) {
            (
                Loss::FirstWakeups,
                TraceEvent::SchedWaking { task, .. }
                | TraceEvent::SchedWakeup { task, .. }
                | TraceEvent::SchedWakeupNew { task, .. },
            ) => !ran.contains(&task),
            (Loss::Runtime | Loss::BeginningAndRuntime, TraceEvent::SchedStatRuntime { .. }) => true,
            (Loss::Beginning | Loss::BeginningAndRuntime, _) => number * 5 < total * 2,
            (Loss::FromIdle, TraceEvent::SchedSwitch { prev: None, .. }) => number % 3 > 0,
            (Loss::SleepsOfSome, TraceEvent::SchedSwitch { prev: Some(prev), prev_state, .. }) => {
                prev.index() % 3 == 0 && prev_state != PrevState::Running
            }
            (Loss::Waking, TraceEvent::SchedWaking { .. }) => true,
            (
                Loss::Lives,
                TraceEvent::SchedProcessFork { .. }
                | TraceEvent::SchedProcessExit { .. }
                | TraceEvent::SchedMigrateTask { .. }
                | TraceEvent::SchedWakeupNew { .. },
            ) => true,
            _ => false,
        };
        if let TraceEvent::SchedSwitch { prev, next, .. } = *event {
            ran.extend(prev.into_iter().chain(next));
        }
        if !is_lost {
            left.push(line);
        }
    }
    fs::write(&path, left.join("\n") + "\n").unwrap();
    path
}

/// What readers make of a trace.
#[derive(Debug)]
struct Score {
    picks: f64,
    preemptions: f64,
    waited_ms: u64,
    inferred: Inferred,
}

fn score(path: &Path, profile: &str) -> Score {
    let overrides = Overrides { profile: Some(profile.to_string()), ..Overrides::default() };
    let options = ConformOptions { overrides, keep: 1, ..ConformOptions::default() };
    let made = conform(path, &options, Control::none()).unwrap();
    let of = |kind: Kind| {
        let row = made.row(kind).all;
        percent(row.agree, row.decisions)
    };
    let mut latency = SchedLatency::new(ReadyMark::Wakeup);
    let stats = trace_file::open(path).unwrap().read_into(&mut latency).unwrap();
    let waited_ns: u64 = latency.finish(false).rows.iter().map(|row| row.total.0).sum();
    let (picks, preemptions) = (of(Kind::Pick), of(Kind::WakeupPreempt));
    Score { picks, preemptions, waited_ms: waited_ns / 1_000_000, inferred: stats.inferred }
}

/// How many points of picks and of preemptions a loss may cost, and whether waits stay.
const fn costs(loss: Loss) -> (f64, f64, bool) {
    match loss {
        Loss::Nothing => (0.01, 0.01, true),
        Loss::FromIdle | Loss::SleepsOfSome => (1.0, 1.0, true),
        Loss::Waking => (6.0, 6.0, true),
        Loss::FirstWakeups => (8.0, 4.0, false),
        // Places before the record are learnt from the first decisions.
        Loss::Beginning => (3.0, 5.0, false),
        Loss::Lives => (14.0, 5.0, true),
        // Ticks cannot be told: a reschedule that one asked for counts as that of a wake-up close to it.
        Loss::Runtime => (10.0, 35.0, true),
        Loss::BeginningAndRuntime => (12.0, 25.0, false),
    }
}

#[test]
fn what_is_missing_costs_few_answers() {
    for (set, profile) in [("k6.1-press-8cpu", "v6.1"), ("k6.12-hogs-8cpu", "v6.12"), ("k5.10-hackbench-8cpu", "v5.10")] {
        let folder = fairground_testing::experiments_of(&fairground_testing::recording(set)).remove(0);
        let whole = TraceFile::load(&folder).unwrap();
        let best = score(&degraded(&whole, profile, Loss::Nothing), profile);
        assert_eq!(best.inferred.sum(), 0, "{set}");
        let losses = [
            Loss::FirstWakeups,
            Loss::Beginning,
            Loss::FromIdle,
            Loss::SleepsOfSome,
            Loss::Waking,
            Loss::Lives,
            Loss::Runtime,
            Loss::BeginningAndRuntime,
            Loss::Nothing,
        ];
        for loss in losses {
            let found = score(&degraded(&whole, profile, loss), profile);
            let (picks, preemptions, waits_stay) = costs(loss);
            assert!(found.picks >= best.picks - picks, "{set} {loss:?}: {found:?}, whole {best:?}");
            assert!(found.preemptions >= best.preemptions - preemptions, "{set} {loss:?}: {found:?}, whole {best:?}");
            let differ_by = found.waited_ms.abs_diff(best.waited_ms) as f64 / best.waited_ms as f64;
            assert!(!waits_stay || differ_by < 0.02, "{set} {loss:?}: {found:?}, whole {best:?}");
        }
    }
}
