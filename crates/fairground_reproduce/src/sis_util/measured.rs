//! What a run measures between its warm-up and its end, and how that is kept.

use super::case::Measure;
use crate::kept::Numbers;
use crate::runs::{refused, stopped};
use fairground_metrics::PlatHistogram;
use fairground_model::{Op, OpTime, PrevState, Sink, SisStats, TaskSet, TimeSpent, TraceEvent};
use fairground_scenario::Error;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, IndexVec, Instant, Log2Histogram, MarkerId, Ns, TaskId};

/// What a run gave in its measured part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Measured {
    pub(super) digest: u128,
    /// How long that part was.
    pub(super) length: Ns,
    /// Thousandths of what is measured: per second, or us.
    pub(super) value: u64,
    pub(super) sis: SisStats,
    /// How long searches of the cache domain took, us.
    pub(super) times: Log2Histogram,
    /// How many CPUs the last of them may have looked at.
    pub(super) nr_idle_scan: u32,
    /// How often a run-queue lock was handed to somebody who spun for it.
    pub(super) handovers: u64,
    /// 99th percentile of the time from one measurement of a task to its next, us: of a transaction of netperf.
    pub(super) p99_us: u64,
    /// Switches away from tasks that could run.
    pub(super) involuntary: u64,
    /// Where the time went up to the end of the warm-up, and up to that of the run.
    pub(super) spent: [TimeSpent; 2],
    pub(super) wakeups: u64,
    pub(super) cpus: u64,
}

pub(super) fn new_simulation(setup: Setup) -> Result<Simulation, Error> {
    Simulation::new(setup).map_err(refused)
}

/// Runs a set-up; all but the digest and the time spent counts from the end of the warm-up on.
pub(super) fn run_setup(setup: Setup, measure: Measure, warmup: Ns) -> Result<Measured, Error> {
    run_begun(setup, measure, warmup, new_simulation)
}

/// The same with a run that is begun by the caller.
pub(super) fn run_begun(
    setup: Setup,
    measure: Measure,
    warmup: Ns,
    begin: impl FnOnce(Setup) -> Result<Simulation, Error>,
) -> Result<Measured, Error> {
    let mut run = Run::begin(setup, measure, warmup, begin)?;
    run.measure(run.most)?;
    Ok(run.measured())
}

/// A run past its warm-up.
pub(super) struct Run {
    simulation: Simulation,
    watch: Watch,
    /// What had been counted at the end of the warm-up.
    before: Counted,
    warmup: Ns,
    /// How long it has been measured, and how long at most.
    length: Ns,
    most: Ns,
    cpus: u64,
}

impl Run {
    pub(super) fn begin(
        mut setup: Setup,
        measure: Measure,
        warmup: Ns,
        begin: impl FnOnce(Setup) -> Result<Simulation, Error>,
    ) -> Result<Run, Error> {
        let (from, to) = (Instant::ZERO + warmup, Instant::ZERO + setup.duration);
        let cpus = setup.machine.cpus.len() as u64;
        setup.tasks.window = Some((from, to));
        let mut watch = Watch::new(&setup.tasks, measure, from);
        let mut simulation = begin(setup)?;
        simulation.run_until(from, &mut watch).map_err(stopped)?;
        let before = Counted::of(&simulation);
        Ok(Run { simulation, watch, before, warmup, length: Ns(0), most: to.since(from), cpus })
    }
    /// Goes on until it has been measured for `length`.
    pub(super) fn measure(&mut self, length: Ns) -> Result<(), Error> {
        self.length = length.min(self.most);
        // The last events of a run are those at its end.
        let at = if length < self.most { Instant::ZERO + self.warmup + length } else { Instant::MAX };
        self.simulation.run_until(at, &mut self.watch).map_err(stopped)?;
        Ok(())
    }
    pub(super) fn value(&self) -> u64 {
        self.watch.value(self.length)
    }
    pub(super) fn measured(&self) -> Measured {
        let (before, after) = (&self.before, Counted::of(&self.simulation));
        Measured {
            digest: self.simulation.digest(),
            length: self.length,
            value: self.value(),
            sis: after.sis.since(&before.sis),
            times: after.times.since(&before.times),
            nr_idle_scan: self.simulation.sched().nr_idle_scan(CpuId::new(0)).unwrap_or(0),
            handovers: after.handovers - before.handovers,
            p99_us: self.watch.between.percentile(99_000).0,
            involuntary: self.watch.involuntary,
            spent: [before.spent.clone(), after.spent],
            wakeups: after.wakeups - before.wakeups,
            cpus: self.cpus,
        }
    }
}

impl Numbers for Measured {
    fn numbers(&self) -> Vec<u128> {
        let sis = self.sis;
        let mut numbers = vec![self.digest];
        let of_run = [
            self.length.0,
            self.value,
            self.nr_idle_scan.into(),
            self.handovers,
            self.p99_us,
            self.involuntary,
            self.wakeups,
            self.cpus,
        ];
        let of_searches = [sis.sis_search, sis.sis_scanned, sis.sis_domain_search, sis.sis_failed];
        numbers.extend(of_run.iter().chain(&of_searches).map(|&number| u128::from(number)));
        numbers.extend(self.times.buckets().map(|(_, count)| u128::from(count)));
        for spent in &self.spent {
            numbers.extend([spent.all, spent.tasks, spent.idle].map(|time| u128::from(time.0)));
            numbers.extend(spent.ops.iter().flat_map(|op| [u128::from(op.count), op.ps]));
            numbers.extend([spent.beyond_ps, spent.cut_off_ps]);
        }
        numbers
    }
    fn from_numbers(numbers: &mut dyn Iterator<Item = u128>) -> Option<Measured> {
        let digest = numbers.next()?;
        let [length, value, nr_idle_scan, handovers, p99_us, involuntary, wakeups, cpus] = small(numbers)?;
        let [sis_search, sis_scanned, sis_domain_search, sis_failed] = small(numbers)?;
        Some(Measured {
            digest,
            length: Ns(length),
            value,
            sis: SisStats { sis_search, sis_scanned, sis_domain_search, sis_failed },
            times: Log2Histogram::of_counts(small(numbers)?),
            nr_idle_scan: u32::try_from(nr_idle_scan).ok()?,
            handovers,
            p99_us,
            involuntary,
            spent: [time_spent(numbers)?, time_spent(numbers)?],
            wakeups,
            cpus,
        })
    }
}

/// The next numbers, each of which fits into 64 bits.
fn small<const N: usize>(numbers: &mut dyn Iterator<Item = u128>) -> Option<[u64; N]> {
    let read: Vec<u64> = numbers.take(N).map(|number| number.try_into().ok()).collect::<Option<_>>()?;
    read.try_into().ok()
}

fn time_spent(numbers: &mut dyn Iterator<Item = u128>) -> Option<TimeSpent> {
    let [all, tasks, idle] = small(numbers)?.map(Ns);
    let mut ops = [OpTime::default(); Op::COUNT];
    for op in &mut ops {
        let [count] = small(numbers)?;
        *op = OpTime { count, ps: numbers.next()? };
    }
    Some(TimeSpent { all, tasks, idle, ops, beyond_ps: numbers.next()?, cut_off_ps: numbers.next()? })
}

/// What is counted from the beginning of a run on.
struct Counted {
    sis: SisStats,
    times: Log2Histogram,
    handovers: u64,
    wakeups: u64,
    spent: TimeSpent,
}

impl Counted {
    fn of(simulation: &Simulation) -> Counted {
        Counted {
            sis: simulation.sched().sis_stats(),
            times: simulation.sched().idle_search_times().clone(),
            handovers: [Op::LockHandoff, Op::LockHandoffSocket].into_iter().map(|op| simulation.op_total(op)).sum(),
            wakeups: simulation.counts().wakeups,
            spent: simulation.time_spent(),
        }
    }
}

/// Adds up what the benchmark measures. The whole statistics of a run would take longer than the run.
struct Watch {
    measure: Measure,
    marker: Option<MarkerId>,
    from: Instant,
    sum: u64,
    values: PlatHistogram,
    /// When each task measured last, and us from one time to the next.
    last: IndexVec<TaskId, Instant>,
    between: PlatHistogram,
    involuntary: u64,
}

impl Watch {
    fn new(tasks: &TaskSet, measure: Measure, from: Instant) -> Watch {
        let (Measure::Rate(name) | Measure::P90(name)) = measure;
        let marker = tasks.markers.iter_enumerated().find(|row| row.1.name == name).map(|row| row.0);
        let last = tasks.tasks.iter().map(|_| from).collect();
        let (values, between) = (PlatHistogram::default(), PlatHistogram::default());
        Watch { measure, marker, from, sum: 0, values, last, between, involuntary: 0 }
    }
    fn value(&self, length: Ns) -> u64 {
        match self.measure {
            Measure::P90(_) => self.values.percentile(90_000).0 * 1000,
            Measure::Rate(_) => {
                let per_second = u128::from(self.sum) * 1_000_000_000_000 / u128::from(length.0.max(1));
                u64::try_from(per_second).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Sink for Watch {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Marker { task, marker, value } if Some(marker) == self.marker && at >= self.from => {
                match self.measure {
                    Measure::Rate(_) => self.sum += value,
                    Measure::P90(_) => self.values.record(value),
                }
                let last = std::mem::replace(&mut self.last[task], at);
                self.between.record(at.since(last).0 / 1000);
            }
            TraceEvent::SchedSwitch { prev: Some(_), prev_state: PrevState::Running, .. } if at >= self.from => {
                self.involuntary += 1;
            }
            _ => {}
        }
    }
}
