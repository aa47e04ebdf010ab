//! What is run: schbench beside a background load, in the root group or in a cgroup, before and after the patch.

use crate::runs::{refused, run_setup};
use fairground_machine::Machine;
use fairground_metrics::{PlatHistogram, RunStats};
use fairground_model::{DEFAULT_SHARES, Op, Sink, TaskGroupSpec, TaskSet, TraceEvent};
use fairground_scenario::{Error, metrics::marker_buckets};
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::{CpuId, Id, Instant, MarkerId, Ns, TaskId};
use fairground_workload::{Args, build};

/// The measured tree, as far as it can be told: see the module.
const MEASURED_TREE: &str = "v4.12+eager-siblings";
const RELEASED: &str = "v4.12";
const PATCH: &str = "independent-runnable";
const MACHINE: &str = "fb-16c32t";
/// The command's `-r 30`, and what the threads take to begin and to end.
const DURATION: Ns = Ns::from_secs(31);
/// How late ticks come at most.
const JITTER: Ns = Ns::from_us(10);
/// cpu.weight 10000, "the maximum weight".
const MAXIMUM: u64 = 102_400;

/// The cgroup in which schbench runs: how deep it lies, and what it and all above it weigh (cpu.shares).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Nest {
    depth: u32,
    shares: u64,
}

/// What is the same in the three runs that are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    /// What its rows are called; the main one has no name.
    pub(super) name: &'static str,
    /// Whether its ratios are judged.
    pub(super) judged: bool,
    tree: &'static str,
    nest: Nest,
    /// The background load in percent of the assumed one.
    background: u32,
    jitter: Ns,
}

const MAIN: Variant = Variant {
    name: "",
    judged: true,
    tree: MEASURED_TREE,
    nest: Nest { depth: 1, shares: MAXIMUM },
    background: 100,
    jitter: JITTER,
};

/// The main one first; the others without `--quick` only.
pub(super) const VARIANTS: &[Variant] = &[
    MAIN,
    Variant { name: "background_half", background: 50, ..MAIN },
    Variant { name: "background_double", background: 200, ..MAIN },
    Variant { name: "no_tick_jitter", jitter: Ns::ZERO, ..MAIN },
    Variant { name: "depth2", nest: Nest { depth: 2, shares: MAXIMUM }, ..MAIN },
    Variant { name: "depth3", nest: Nest { depth: 3, shares: MAXIMUM }, ..MAIN },
    Variant { name: "weight100", nest: Nest { depth: 1, shares: DEFAULT_SHARES }, ..MAIN },
    Variant { name: "v4.12_released", judged: false, tree: RELEASED, ..MAIN },
];

impl Variant {
    /// Whether this is the published measurement.
    pub(super) fn is_main(&self) -> bool {
        self.name.is_empty()
    }
    /// Root, cgroup, cgroup with the patch.
    pub(super) fn sides(&self) -> [Case; 3] {
        let case = |nest, patched| Case { variant: *self, nest, patched };
        [case(None, false), case(Some(self.nest), false), case(Some(self.nest), true)]
    }
}

/// One set-up, but for its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    variant: Variant,
    nest: Option<Nest>,
    patched: bool,
}

/// What an operation costs on the measured machine, in picoseconds.
pub(super) fn price_ps(op: Op) -> Result<u64, Error> {
    Ok(Machine::preset(MACHINE).map_err(refused)?.costs.price_ps(op))
}

/// One late wake-up: who, when it was woken, how late it ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) task: TaskId,
    pub(super) since: Instant,
    pub(super) until: Instant,
}

/// What a run gave.
pub(super) struct Measured {
    pub(super) seed: u64,
    /// The digest of the run.
    pub(super) digest: u128,
    pub(super) latencies: PlatHistogram,
    /// The longest waits of its workers, longest first.
    pub(super) worst: Vec<Late>,
}

impl Case {
    /// The set-up of a run.
    pub(super) fn setup(&self, seed: u64) -> Result<Setup, Error> {
        let patch = if self.patched { format!("+{PATCH}") } else { String::new() };
        let name = format!("{}{patch}", self.variant.tree);
        let profile = Profile::parse(&name).map_err(|error| Error::one(&name, error.message, error.hint))?;
        let mut machine = Machine::preset(MACHINE).map_err(refused)?;
        machine.tick_jitter = self.variant.jitter;
        let tasks = self.tasks(machine.cpus.len())?;
        Ok(Setup { machine, profile, tasks, seed, duration: DURATION, paranoid: false })
    }

    fn tasks(&self, cpus: usize) -> Result<TaskSet, Error> {
        let command =
            [("message-threads", "2"), ("threads", "16"), ("sleeptime", "10000"), ("cputime", "15000"), ("runtime", "30")];
        let mut set = build("schbench-2016", &Args::of(&command)).map_err(refused)?;
        let mut above = None;
        let Nest { depth, shares } = self.nest.unwrap_or(Nest { depth: 0, shares: 0 });
        for level in 1..=depth {
            let name = (1..=level).map(|level| format!("/level{level}")).collect::<String>();
            above = Some(set.groups.push(TaskGroupSpec { shares, ..TaskGroupSpec::new(name, above) }));
        }
        set.tasks.iter_mut().for_each(|task| task.group = above);
        let (scale, kthreads) = (self.variant.background.to_string(), cpus.to_string());
        let management = [("tasks", "8"), ("kthreads", kthreads.as_str()), ("scale", &scale)];
        let mut beside = build("management", &Args::of(&management)).map_err(refused)?;
        beside.tasks.iter_mut().for_each(|task| task.measured = false);
        set.append(beside);
        Ok(set)
    }

    /// Runs once.
    pub(super) fn run(&self, seed: u64) -> Result<Measured, Error> {
        let setup = self.setup(seed)?;
        let tasks = setup.tasks.clone();
        let stats = RunStats::new(Instant::ZERO, setup.machine.cpus.len()).with_markers(&tasks.markers).measured_in(tasks.window);
        let mut sinks = Watch { stats, lates: Lates::of(&tasks) };
        let digest = run_setup(setup, &mut sinks)?;
        let report = sinks.stats.finish(Instant::ZERO + DURATION);
        let latency = tasks.markers.iter_enumerated().find(|row| row.1.name == "schbench_latency_us").map(|row| row.0);
        let latency: MarkerId = latency.expect("invariant: schbench measures its latency");
        let latencies = marker_buckets(&report, &tasks, &(0..tasks.tasks.len()), latency);
        Ok(Measured { seed, digest, latencies, worst: sinks.lates.worst })
    }
}

struct Watch {
    stats: RunStats,
    lates: Lates,
}

impl Sink for Watch {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.stats.record(at, cpu, event);
        self.lates.record(at, cpu, event);
    }
}

/// How many of a run's longest waits are kept.
const KEPT: usize = 10;

/// Keeps the longest waits of measured tasks after a wake-up, past the first second, when all begin.
struct Lates {
    measured: Vec<bool>,
    woken: Vec<Option<Instant>>,
    worst: Vec<Late>,
}

impl Lates {
    fn of(tasks: &TaskSet) -> Lates {
        let measured: Vec<bool> = tasks.tasks.iter().map(|task| task.measured).collect();
        Lates { woken: vec![None; measured.len()], measured, worst: Vec::new() }
    }
}

impl Sink for Lates {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWakeup { task, .. } if self.measured[task.index()] && at.ns() > 1_000_000_000 => {
                self.woken[task.index()] = Some(at);
            }
            TraceEvent::SchedSwitch { next: Some(task), .. } => {
                let Some(since) = self.woken[task.index()].take() else { return };
                let place = self.worst.partition_point(|late| late.until.since(late.since) >= at.since(since));
                if place < KEPT {
                    self.worst.insert(place, Late { task, since, until: at });
                    self.worst.truncate(KEPT);
                }
            }
            _ => {}
        }
    }
}
