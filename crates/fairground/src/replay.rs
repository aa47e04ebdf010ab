//! `replay`: a recorded trace on another machine or under another kernel.

use crate::null_test::NullTest;
use crate::run::{RunOutcome, run_document};
use fairground_machine::Machine;
use fairground_metrics::{Metric, RunReport, RunStats};
use fairground_model::Op;
use fairground_recordings::{System, beside, profile_of_release};
use fairground_report::run::metrics_json;
use fairground_report::units::format_metric;
use fairground_report::{Cell, Document, Table, columns};
use fairground_scenario::trace_file::{Survey, TraceFile};
use fairground_scenario::{Error, Overrides, Parts, Scenario, Source, Workload};
use fairground_sched::profile::Profile;
use fairground_stdx::{IndexVec, Instant, Ns, TaskId};
use fairground_workload::replay::{Causes, Charges, Making};
use serde_json::json;
use std::path::Path;

/// A replay may take so many times as long as what was recorded, as the machine may be smaller or slower.
const LONGEST_FACTOR: u64 = 16;

/// A trace made ready to run again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What is run.
    pub scenario: Scenario,
    /// The recording, without its events.
    pub trace: TraceFile,
    /// The numbers of the recording itself.
    pub recorded: Vec<Metric>,
    /// The statistics of the recording itself.
    pub statistics: RunReport,
    /// For each task of the recording its row in the scenario, if it took part.
    pub task_of: IndexVec<TaskId, Option<TaskId>>,
    /// What the sleeps of the recording were taken for.
    pub causes: Causes,
}

impl Replay {
    /// Reads a trace and makes tasks of it. Where no flag says otherwise, machine and kernel are those of the
    /// recording, as far as it tells them. `strict` turns warnings about the recording into an error.
    pub fn load(path: &Path, overrides: &Overrides, strict: bool) -> Result<Replay, Error> {
        Replay::of(&Survey::of(path, true)?, overrides, strict)
    }
    /// The same with a gap that is longer than all the rest of the recording; else such a recording is cut there.
    pub fn load_across_gaps(path: &Path, overrides: &Overrides, strict: bool) -> Result<Replay, Error> {
        Replay::of(&Survey::of(path, false)?, overrides, strict)
    }
    fn of(survey: &Survey, overrides: &Overrides, strict: bool) -> Result<Replay, Error> {
        let trace = survey.file.clone();
        if strict && !trace.trace.stats.is_clean() {
            let warnings: Vec<String> = trace.trace.stats.warnings().map(ToString::to_string).collect();
            return Err(Error::one(
                trace.name,
                format!("the recording is dirty: {}", warnings.join("; ")),
                "Leave out --strict to go on with notes.",
            ));
        }
        let mut notes = trace.notes();
        notes.extend(survey.said.clone());
        if let Some(changes) = trace.trace.stats.kinds.get("cpu_frequency") {
            notes.push(format!("{changes} recorded changes of frequency are not used: a burst is so much work as it took time"));
        }
        let folder = trace.path.parent().unwrap_or(Path::new(""));
        let system = System::find(folder).ok();
        let machine = match (overrides.machine.is_some(), &system) {
            (true, _) => None,
            (false, Some(system)) => Some(system.machine(overrides, &mut notes)?),
            (false, None) => Some(machine_of(&trace, &mut notes)?),
        };
        let profile = if overrides.profile.is_some() { None } else { Some(profile_of(system.as_ref(), &trace, &mut notes)?) };
        let source = Source { name: trace.path.display().to_string(), text: String::new() };
        let mut parts = Parts::new(source, machine, overrides)?;
        let (mut making, mut stats) =
            (Making::charging(parts.machine.as_ref().map_or(Charges::default(), charges_of)), stats_of(&trace));
        survey.read_into(&mut (&mut making, &mut stats))?;
        let made = making.finish(parts.nr_cpus());
        let (task_of, causes) = (made.task_of.clone(), made.causes);
        let workload = Workload::replayed(&trace, parts.nr_cpus(), made);
        let length = workload.duration.unwrap_or_default();
        let duration = Ns(length.0.saturating_mul(LONGEST_FACTOR).saturating_add(1_000_000_000).min(Instant::MAX.ns()));
        parts.title = Some(format!("replay of {}", trace.name));
        parts.duration = Some(duration);
        parts.profile = profile;
        parts.workloads = vec![workload];
        parts.notes.splice(0..0, notes);
        let scenario = parts.build()?;
        let statistics = stats.finish(trace.trace.stats.last_at);
        let recorded = statistics.metrics();
        Ok(Replay { scenario, trace, recorded, statistics, task_of, causes })
    }
    /// The replay held against the recording: a null test, if nothing was changed.
    pub fn null_test(&self, outcome: &RunOutcome) -> NullTest {
        NullTest::new(&self.statistics, &outcome.report, &self.task_of)
    }
    /// The document of `replay --json`.
    pub fn document(&self, outcome: &RunOutcome) -> Document {
        let mut document = run_document(&self.scenario, outcome);
        let stats = &self.trace.trace.stats;
        document
            .set("command", "replay")
            .set("inputs", vec![json!({ "name": self.trace.name, "digest": format!("{:032x}", self.trace.digest) })])
            .set("recorded", metrics_json(&self.recorded))
            .set("sleep_causes", self.causes_table().to_json())
            .set("null_test", self.null_test(outcome).table(true).to_json())
            .set("import", json!({ "format": stats.format, "events": stats.events, "skipped": stats.skipped, "lost_events": stats.lost_events }))
            .set("recording", stats.quality_json());
        document
    }
    /// What the sleeps were taken for: how many, their share in hundredths of a percent, and what the replay does about each.
    pub fn causes_table(&self) -> Table {
        let columns = columns![left "sleeps ended by" "cause", right "count", right "share" "share_percent", right "confidence" "confidence_percent", left "in the replay" "replay"];
        let mut table = Table::new("sleep_causes", "What the sleeps of the recording were taken for", columns);
        let sum = self.causes.sum().max(1);
        for (cause, count, replay) in self.causes.rows().into_iter().filter(|row| row.1 > 0) {
            let share = u64::try_from(u128::from(count) * 10_000 / u128::from(sum)).unwrap_or(0);
            let is_judged = cause == Causes::MESSAGE;
            let confidence = if is_judged { Cell::percent(self.causes.confidence_permille * 10) } else { Cell::none() };
            table.push(vec![cause.into(), Cell::count(count), Cell::percent(share), confidence, replay.into()]);
        }
        table
    }
    /// The recording's numbers beside those of the replay.
    pub fn table(&self, replayed: &[Metric]) -> Table {
        let columns = columns![left "metric", right "recorded", right "replayed"];
        let mut table = Table::new("replay", "Recorded and replayed", columns);
        for metric in &self.recorded {
            let cell = |metric: &Metric| Cell::new(format_metric(metric.value, metric.unit), metric.value);
            let ours = replayed.iter().find(|other| other.name == metric.name).map_or_else(Cell::empty, cell);
            table.push(vec![metric.name.clone().into(), cell(metric), ours]);
        }
        table
    }
}

/// What a replay on this machine charges its tasks for beside their work, by the price list of its fastest CPU.
///
/// A replayed task waits for another one in a read from a pipe and wakes it by a write, so that is what it pays.
pub fn charges_of(machine: &Machine) -> Charges {
    let price = |ops: &[Op]| Ns(ops.iter().map(|op| machine.costs.price_ps(*op)).sum::<u64>() / 1000);
    Charges {
        // The leaving task's dequeue is paid behind the switch.
        switch: price(&[Op::Dequeue, Op::PickSwitch, Op::MmSwitch]),
        wait: price(&[Op::Syscall, Op::RecvBlock]),
        waited: price(&[Op::PipeOp]),
        sleep: price(&[Op::Syscall, Op::TimerProgram]),
        wake: price(&[Op::Syscall, Op::PipeOp]),
        woken: price(&[Op::TtwuBase, Op::Enqueue]),
        remote: price(&[Op::IpiSend]),
        interrupt: price(&[Op::HrtimerIrq, Op::TtwuBase, Op::Enqueue]),
        fork: price(&[Op::Fork]),
    }
}

/// The machine of the recording's container, or as many equal CPUs as the recording names.
pub fn machine_of(trace: &TraceFile, notes: &mut Vec<String>) -> Result<Machine, Error> {
    let cpus = usize::try_from(trace.trace.stats.nr_cpus()).unwrap_or(usize::MAX);
    let container = trace.trace.stats.container.as_ref();
    if let Some(machine) = container.and_then(|known| beside::machine_of(known, cpus, notes)) {
        return Ok(machine);
    }
    let name = format!("smp-{}", trace.trace.stats.nr_cpus().max(1));
    notes.push(format!("no machine given: {name}, after the CPUs that the recording names"));
    Machine::preset(&name).map_err(|wrong| Error::input("--machine", "", wrong))
}

/// The recorded kernel's profile, or the default where the kernel is not known or not modelled yet.
pub fn profile_of(system: Option<&System>, trace: &TraceFile, notes: &mut Vec<String>) -> Result<Profile, Error> {
    let (release, container) = (trace.trace.stats.kernel_release.as_deref(), trace.trace.stats.container.as_ref());
    let cpus = usize::try_from(trace.trace.stats.nr_cpus()).unwrap_or(usize::MAX);
    if let Some(profile) = container.and_then(|known| beside::profile_of(known, release, cpus, notes)) {
        return Ok(profile);
    }
    let recorded = system.map(|system| system.profile(&mut Vec::new()));
    if let (Some(Ok(_)), Some(system)) = (&recorded, system) {
        return system.profile(notes);
    }
    if let Some(profile) = release.and_then(|release| profile_of_release(release, notes)) {
        return Ok(profile);
    }
    let reason = match recorded {
        Some(Err(Error::Input(files))) => {
            files.iter().flat_map(|file| &file.mistakes.0).map(|mistake| mistake.message.clone()).collect()
        }
        _ => vec!["the recording does not tell its kernel".to_string()],
    };
    notes.push(format!("profile {}: {}", Profile::DEFAULT, reason.join("; ")));
    Profile::parse(Profile::DEFAULT).map_err(|wrong| Error::one("--profile", wrong.message, wrong.hint))
}

/// For the numbers of the recording itself, which has not been read yet.
fn stats_of(trace: &TraceFile) -> RunStats {
    let cpus = usize::try_from(trace.trace.stats.nr_cpus()).unwrap_or(0);
    RunStats::new(trace.trace.stats.first_at, cpus)
}
