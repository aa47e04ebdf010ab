//! One simulation: from a scenario to its report.

mod show;
mod worst;

pub use show::{run_document, run_page, run_tables, search_tables, shortened, speed, summary};
pub use worst::WorstWait;

use crate::schedstat;
use fairground_formats::schedstat::SchedStatFile;
use fairground_metrics::latency::SectionTime;
use fairground_metrics::{Metric, RunReport, RunStats};
use fairground_model::{Mistakes, Sink, SisStats, TaskSet, TimeSpent};
use fairground_scenario::{
    self as scenario, BandResult, Control, Error, Scenario,
    guard::{self, Broken, BrokenRun},
    metrics::{self, LockOutcome, PartOutcome, QuotaRow, quota_rows},
};
use fairground_sched::FreqReport;
use fairground_sim::{Counts, Ending, Flow, Setup, Simulation};
use fairground_stdx::{Instant, Log2Histogram, Ns};
use std::time::Duration;
use worst::Copies;

/// How a run is made, beside what decides its result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunOptions {
    /// Checks every invariant again and again.
    pub paranoid: bool,
    /// Stops before this event (ticks, switches and wake-ups are counted): the way to a broken invariant.
    pub stop_before_event: Option<u64>,
    /// The command line that makes this run, for the message of a broken invariant.
    pub command: String,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnding {
    /// It was complete.
    Complete(Ending),
    /// The caller stopped it.
    Interrupted,
    /// It reached the event before which it was to stop.
    AtEvent,
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Digest of the scenario.
    pub scenario_digest: u128,
    /// Digest of the records.
    pub digest: u128,
    /// The seed.
    pub seed: u64,
    /// Simulated time.
    pub simulated: Ns,
    /// What was counted.
    pub counts: Counts,
    /// Time that the run took here; never part of a result.
    pub wall: Duration,
    /// Why it ended.
    pub ending: RunEnding,
    /// The statistics.
    pub report: RunReport,
    /// Where the time of all CPUs went.
    pub spent: TimeSpent,
    /// The searches for an idle CPU.
    pub sis: SisStats,
    /// How long those took that came to a cache domain, us.
    pub idle_search_times: Log2Histogram,
    /// The tasks.
    pub tasks: TaskSet,
    /// The named numbers.
    pub metrics: Vec<Metric>,
    /// The scenario's expectations beside them.
    pub bands: Vec<BandResult>,
    /// The counters of /proc/schedstat at its end.
    pub schedstat: SchedStatFile,
    /// The groups that have, or had, a quota.
    pub quotas: Vec<QuotaRow>,
    /// The locks.
    pub locks: LockOutcome,
    /// CPU time by parts of programs.
    pub parts: PartOutcome,
    /// The policies with operating points.
    pub frequencies: Vec<FreqReport>,
    /// The worst wait, if any task waited.
    pub worst: Option<WorstWait>,
}

impl RunOutcome {
    /// Whether this is only the beginning of what was asked for.
    pub fn is_partial(&self) -> bool {
        !matches!(self.ending, RunEnding::Complete(_))
    }
    /// The part of the run in which its programs' measurements counted, as far as it came.
    pub fn window(&self) -> (Instant, Instant) {
        let (from, to) = self.tasks.window.unwrap_or((Instant::ZERO, self.end()));
        (from, to.min(self.end()).max(from))
    }
    /// When it ended.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.simulated
    }
    /// Whether every expectation holds.
    pub fn holds(&self) -> bool {
        self.bands.iter().all(BandResult::within)
    }
}

/// Longest simulated time between two looks at the flag that stops a run.
const BATCH_MAX: Ns = Ns::from_ms(100);
/// Shortest such time.
const BATCH_MIN: Ns = Ns::from_us(100);
/// A run is cut into about so many batches, for the progress bar.
const BATCHES: u64 = 500;
/// So many batches lie between two copies.
const BATCHES_PER_COPY: u64 = 10;

/// Runs a scenario. `sink` gets every record beside the statistics.
pub fn run(scenario: &Scenario, options: &RunOptions, sink: &mut dyn Sink, control: Control<'_>) -> Result<RunOutcome, Error> {
    simulate(scenario, options, sink, control, None)
}

/// The same, with a copy of the run from before its worst wait; none if that began with the run, or a kernel tree decides.
pub fn run_with_copy(
    scenario: &Scenario,
    options: &RunOptions,
    sink: &mut dyn Sink,
    control: Control<'_>,
) -> Result<(RunOutcome, Option<Simulation>), Error> {
    let mut copies = Copies::default();
    let outcome = simulate(scenario, options, sink, control, Some(&mut copies))?;
    let copy = outcome.worst.as_ref().and_then(|worst| copies.before(worst.from));
    Ok((outcome, copy))
}

/// The run at its beginning: our core decides, or the kernel tree that the profile names.
pub fn begin(setup: Setup) -> Result<Simulation, Mistakes> {
    #[cfg(target_os = "linux")]
    if let Some(tree) = setup.profile.clone().tree() {
        return crate::tree::simulation(setup, tree);
    }
    Simulation::new(setup)
}

fn simulate(
    scenario: &Scenario,
    options: &RunOptions,
    sink: &mut dyn Sink,
    control: Control<'_>,
    copies: Option<&mut Copies>,
) -> Result<RunOutcome, Error> {
    let mut setup = scenario.setup()?;
    // What a kernel tree remembers cannot be copied.
    let copies = copies.filter(|_| setup.profile.tree().is_none());
    setup.paranoid = options.paranoid;
    let tasks = setup.tasks.clone();
    let built = guard::catch(|| begin(setup)).map_err(|broken| Error::Broken(Box::new(broken)))?;
    let mut simulation = built.map_err(|mistakes| scenario.wrong(mistakes))?;
    let mut stats =
        RunStats::new(Instant::ZERO, scenario.machine.cpus.len()).with_markers(&tasks.markers).measured_in(tasks.window);
    let began = std::time::Instant::now();
    let ended = guard::catch(|| {
        let mut heard = Heard { stats: &mut stats, sink, tasks: &tasks, copies };
        heard.with(|sink| simulation.introduce(sink));
        drive(&mut simulation, &mut heard, options.stop_before_event, control)
    });
    let wall = began.elapsed();
    let ending = ended_well(ended, &simulation, scenario, options)?;
    let mut report = stats.finish(simulation.now());
    book_kernel_time(&mut report, &simulation);
    let locks = LockOutcome::of(&simulation, &tasks);
    let quotas = quota_rows(&simulation);
    let parts = PartOutcome::of(&simulation, &tasks);
    let metrics = metrics::metrics(&report, &tasks, &locks, &parts, &quotas);
    let worst = WorstWait::of(&report, &tasks);
    Ok(RunOutcome {
        worst,
        scenario_digest: scenario.digest(),
        digest: simulation.digest(),
        seed: scenario.seed,
        simulated: simulation.now().since(Instant::ZERO),
        counts: simulation.counts(),
        wall,
        ending,
        bands: scenario::check(&scenario.bands, &metrics),
        schedstat: schedstat::snapshot(simulation.sched(), simulation.jiffies()),
        quotas,
        locks,
        parts,
        frequencies: simulation.sched().freq_reports(simulation.now()),
        spent: simulation.time_spent(),
        sis: simulation.sched().sis_stats(),
        idle_search_times: simulation.sched().idle_search_times().clone(),
        report,
        metrics,
        tasks,
    })
}

/// What is left of a run of which only a sink was asked.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Digest of the records up to where it ended.
    pub digest: u128,
    /// Simulated time.
    pub simulated: Ns,
    /// What was counted.
    pub counts: Counts,
    /// The groups that have, or had, a quota.
    pub quotas: Vec<QuotaRow>,
    /// Why it ended.
    pub ending: MeasuredEnding,
}

/// Why such a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeasuredEnding {
    /// It was complete.
    Complete,
    /// What was asked was decided before.
    Decided,
    /// The caller stopped it.
    Interrupted,
}

/// Runs a scenario for what `sink` takes from it, without the statistics: for callers that make hundreds of runs and ask each for little.
/// `setup` is that of the scenario, perhaps with another seed. The run ends as soon as `is_decided` says that the rest changes nothing.
pub fn measure<S: Sink>(
    scenario: &Scenario,
    setup: Setup,
    sink: &mut S,
    is_decided: impl Fn(&S) -> bool,
    control: Control<'_>,
) -> Result<Measured, Error> {
    let options = RunOptions::default();
    let built = guard::catch(|| begin(setup)).map_err(|broken| Error::Broken(Box::new(broken)))?;
    let mut simulation = built.map_err(|mistakes| scenario.wrong(mistakes))?;
    let ended = guard::catch(|| {
        simulation.introduce(sink);
        let mut batches = Batches::of(&simulation);
        loop {
            let until = batches.next(&simulation);
            if simulation.run_until(until, sink)? == Flow::Done {
                return Ok(MeasuredEnding::Complete);
            }
            if is_decided(sink) {
                return Ok(MeasuredEnding::Decided);
            }
            if control.stopped() {
                return Ok(MeasuredEnding::Interrupted);
            }
        }
    });
    let ending = ended_well(ended, &simulation, scenario, &options)?;
    Ok(Measured {
        digest: simulation.digest(),
        simulated: simulation.now().since(Instant::ZERO),
        counts: simulation.counts(),
        quotas: quota_rows(&simulation),
        ending,
    })
}

/// What a run came to, if it neither got stuck nor broke an invariant.
fn ended_well<T>(
    ended: Result<Result<T, fairground_sim::Stopped>, Broken>,
    simulation: &Simulation,
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<T, Error> {
    match ended {
        Ok(Ok(ending)) => Ok(ending),
        Ok(Err(stopped)) => Err(scenario.stopped(&stopped)),
        Err(broken) => Err(Error::Broken(Box::new(located(broken, simulation, scenario, options)))),
    }
}

/// Books the kernel time that the engine counted: it is not in the stream unless a sink asks for samples.
fn book_kernel_time(report: &mut RunReport, simulation: &Simulation) {
    for cpu in &mut report.cpus {
        for (section, count, time) in simulation.kernel_time(cpu.cpu) {
            if let Some(row) = cpu.sections.iter_mut().find(|row| row.0 == section) {
                row.1 = SectionTime { count, time };
            }
        }
    }
}

/// Who gets the records of a run, and the copies that are kept of it.
struct Heard<'a> {
    stats: &'a mut RunStats,
    sink: &'a mut dyn Sink,
    tasks: &'a TaskSet,
    copies: Option<&'a mut Copies>,
}

impl Heard<'_> {
    /// Does something with all who listen.
    fn with<R>(&mut self, act: impl FnOnce(&mut dyn Sink) -> R) -> R {
        if self.sink.listens() { act(&mut (&mut *self.stats, &mut *self.sink)) } else { act(self.stats) }
    }
    /// Looks at the run before a batch.
    fn look(&mut self, simulation: &Simulation, batch: u64) {
        if let Some(copies) = self.copies.as_mut().filter(|_| batch.is_multiple_of(BATCHES_PER_COPY)) {
            copies.take(simulation, self.stats, self.tasks);
        }
    }
}

/// A run is cut into batches, so that it can be stopped and watched.
struct Batches {
    each: Ns,
    until: Instant,
}

impl Batches {
    fn of(simulation: &Simulation) -> Batches {
        let each = Ns((simulation.end().ns() / BATCHES).clamp(BATCH_MIN.0, BATCH_MAX.0));
        Batches { each, until: Instant::ZERO }
    }
    /// Where the next one ends. Past the end of the run nothing is left but to finish, however far away the next event would be.
    fn next(&mut self, simulation: &Simulation) -> Instant {
        self.until = if self.until >= simulation.end() { Instant::MAX } else { self.until + self.each };
        self.until
    }
}

/// Runs in batches.
fn drive(
    simulation: &mut Simulation,
    heard: &mut Heard<'_>,
    stop_before: Option<u64>,
    control: Control<'_>,
) -> Result<RunEnding, fairground_sim::Stopped> {
    let total = simulation.end().ns();
    let mut batches = Batches::of(simulation);
    for nr in 0.. {
        heard.look(simulation, nr);
        let until = batches.next(simulation);
        let flow = match stop_before {
            None => heard.with(|sink| simulation.run_until(until, sink))?,
            Some(limit) => {
                let flow = heard.with(|sink| step_until(simulation, sink, until, limit))?;
                if flow == Flow::More && simulation.counts().events() >= limit {
                    return Ok(RunEnding::AtEvent);
                }
                flow
            }
        };
        control.at(simulation.now().ns().min(total), total);
        if flow == Flow::Done {
            let end = simulation.ended().expect("invariant: a run that is done has an end");
            return Ok(RunEnding::Complete(end.ending));
        }
        if control.stopped() {
            break;
        }
    }
    Ok(RunEnding::Interrupted)
}

fn step_until(
    simulation: &mut Simulation,
    sink: &mut dyn Sink,
    until: Instant,
    limit: u64,
) -> Result<Flow, fairground_sim::Stopped> {
    while simulation.now() < until && simulation.counts().events() < limit {
        if simulation.step(sink)? == Flow::Done {
            return Ok(Flow::Done);
        }
    }
    Ok(Flow::More)
}

fn located(mut broken: Broken, simulation: &Simulation, scenario: &Scenario, options: &RunOptions) -> Broken {
    // The event in which the invariant broke may have been counted already.
    let events = simulation.counts().events();
    let command =
        if options.command.is_empty() { format!("fairground run {}", scenario.name()) } else { options.command.clone() };
    broken.run = Some(BrokenRun {
        at_ns: simulation.now().ns(),
        events,
        scenario_digest: scenario.digest(),
        seed: scenario.seed,
        replay: format!("{command} --stop-before-event {}", events.saturating_sub(1)),
    });
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::{NullSink, TraceEvent};
    use fairground_scenario::{Overrides, Progress};
    use fairground_stdx::CpuId;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    const TEXT: &str = "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"5.19\"\n\
                        [[workload]]\ntasks = [{ name = \"a\", hog = true, count = 2 }]\n";

    fn scenario() -> Scenario {
        Scenario::parse("t.toml", TEXT, Path::new(""), &Overrides::default()).unwrap()
    }

    /// A sink that breaks an invariant of its own after some records.
    struct Breaks(u64);
    impl Sink for Breaks {
        fn record(&mut self, _at: Instant, _cpu: CpuId, _event: &TraceEvent) {
            assert!(self.0 > 0, "invariant: this sink takes few records");
            self.0 -= 1;
        }
    }

    #[test]
    fn a_broken_invariant_names_time_event_scenario_seed_and_the_way_back() {
        let scenario = scenario();
        let Err(Error::Broken(broken)) = run(&scenario, &RunOptions::default(), &mut Breaks(100), Control::none()) else {
            panic!("it must be caught");
        };
        assert_eq!(broken.message, "invariant: this sink takes few records");
        let run = broken.run.as_ref().unwrap();
        assert!(run.at_ns > 0 && run.events > 0);
        assert_eq!((run.scenario_digest, run.seed), (scenario.digest(), 1));
        assert_eq!(run.replay, format!("fairground run t.toml --stop-before-event {}", run.events - 1));
        assert!(broken.to_string().contains("to stop one event before: "));
    }

    /// A sink that counts what it gets.
    struct Counts(u64);
    impl Sink for Counts {
        fn record(&mut self, _at: Instant, _cpu: CpuId, _event: &TraceEvent) {
            self.0 += 1;
        }
    }

    #[test]
    fn a_run_is_the_same_whether_anybody_listens() {
        let run_into = |sink: &mut dyn Sink| run(&scenario(), &RunOptions::default(), sink, Control::none()).unwrap();
        let (mut listener, mut nobody) = (Counts(0), NullSink);
        let [heard, unheard] = [run_into(&mut listener), run_into(&mut nobody)];
        assert!(listener.0 > 100, "{}", listener.0);
        assert_eq!((heard.digest, &heard.metrics), (unheard.digest, &unheard.metrics));
        assert!(!crate::output::Outputs::default().listens());
    }

    struct StopsAtOnce<'a>(&'a AtomicBool, AtomicU64);
    impl Progress for StopsAtOnce<'_> {
        fn at(&self, done: u64, total: u64) {
            self.1.store(done * 1000 / total, Ordering::Relaxed);
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_run_can_be_stopped_between_batches() {
        let stop = AtomicBool::new(false);
        let progress = StopsAtOnce(&stop, AtomicU64::new(0));
        let outcome = run(&scenario(), &RunOptions::default(), &mut NullSink, Control::new(&stop, &progress)).unwrap();
        assert_eq!(outcome.ending, RunEnding::Interrupted);
        assert!(outcome.is_partial() && outcome.simulated < Ns::from_ms(100));
        assert!(progress.1.into_inner() < 100);
    }

    #[test]
    fn batches_do_not_change_a_run() {
        let scenario = scenario();
        let whole = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
        let mut simulation = Simulation::new(scenario.setup().unwrap()).unwrap();
        simulation.run(&mut NullSink).unwrap();
        assert_eq!(simulation.digest(), whole.digest);
        assert_eq!(whole.ending, RunEnding::Complete(Ending::Duration));
    }
}
