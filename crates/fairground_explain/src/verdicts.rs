//! Balances on behalf of idle CPUs that could have taken the waiting task, and why they did not.

use super::cause::Cause;
use super::watch::Step;
use fairground_model::{BalanceFinding, BalancePass, BalanceVerdict, Refusal, TaskRefusal, Verdict};
use fairground_sched::{GroupReading, LoadReading, Sched};
use fairground_sim::{Flow, Simulation, Stopped};
use fairground_stdx::{CpuId, Instant, SdId, TaskId};

/// Balances of one delay that are made again with true loads.
const RETRIED_AT_MOST: usize = 64;
/// Steps in which a balance that is made again must come to an end.
const STEPS_OF_A_BALANCE: u32 = 1000;
/// A load is read wrong if it is off by more than a sixteenth of what is queued: PELT's own rounding is far less.
const WRONG_BY: u64 = 16;
/// So many wrong loads are kept of a balance.
const MISREAD_AT_MOST: usize = 8;

/// A balance that did not bring the task to an idle CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Miss {
    /// When.
    pub at: Instant,
    /// What it came to.
    pub verdict: BalanceVerdict,
    /// Why it left the waiting task, if it looked at it.
    pub refusal: Option<Refusal>,
    /// What that means.
    pub cause: Cause,
    /// The loads that it read wrong: of the CPU where the task waits, and of the busiest queue if that is another.
    pub misread: Vec<Misread>,
    /// The step of the run, counted from the beginning of the watch.
    step: u64,
    /// Where the task waited.
    waits_on: CpuId,
}

/// A load that was read wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misread {
    /// Of a CPU.
    pub load: LoadReading,
    /// Those of groups on that CPU that count wrong in it, outer ones first.
    pub groups: Vec<GroupReading>,
}

/// Collects the balances of one delay.
pub(super) struct Misses {
    task: TaskId,
    steps: u64,
    rows: Vec<Miss>,
}

impl Misses {
    pub(super) fn new(task: TaskId) -> Misses {
        Misses { task, steps: 0, rows: Vec::new() }
    }

    /// One step of the run is over; `queued`: before it the task waited on `cpu`.
    pub(super) fn step(&mut self, simulation: &Simulation, step: &Step, queued: bool, cpu: CpuId) {
        self.steps += 1;
        if !queued {
            return;
        }
        let refusal = step.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Task(TaskRefusal { task, refusal, .. }) if *task == self.task => Some(*refusal),
            _ => None,
        });
        for verdict in &step.verdicts {
            if let Verdict::Balance(verdict) = verdict
                && concerns(simulation.sched(), self.task, cpu, verdict)
                && let Some(cause) = cause_of(verdict, cpu, refusal)
            {
                let (at, verdict) = (simulation.now(), *verdict);
                let misread = misread(simulation.sched(), &verdict, cpu);
                self.rows.push(Miss { at, verdict, refusal, cause, misread, step: self.steps, waits_on: cpu });
            }
        }
    }

    /// The misses in order of time. Where a load was read wrong, the balance is made again from a copy of the run in
    /// which it reads what is queued: if it then comes to the task's CPU, the statistic misled it. `start` is the run at
    /// the beginning of the watch.
    pub(super) fn judged(mut self, start: &Simulation) -> Result<Vec<Miss>, Stopped> {
        let mut run = start.clone();
        let mut steps = 0;
        let suspects = self.rows.iter_mut().filter(|miss| !miss.misread.is_empty() && miss.may_be_misled());
        for miss in suspects.take(RETRIED_AT_MOST) {
            while steps + 1 < miss.step {
                run.step(&mut fairground_model::NullSink)?;
                steps += 1;
            }
            if comes_to(run.clone(), &miss.verdict, miss.waits_on)? {
                miss.cause = Cause::MisledStatistic;
            } else {
                miss.misread.clear();
            }
        }
        Ok(self.rows)
    }
}

impl Miss {
    /// Whether it went by loads and came to nothing, or to another queue.
    fn may_be_misled(&self) -> bool {
        matches!(self.cause, Cause::NoImbalance | Cause::OtherQueue | Cause::NotMovable)
            && self.verdict.source != Some(self.waits_on)
    }
}

/// Whether a balance could have brought the task from `cpu` to the CPU on whose behalf it was made.
fn concerns(sched: &Sched, task: TaskId, cpu: CpuId, verdict: &BalanceVerdict) -> bool {
    let in_domain = verdict.domain.is_none_or(|domain| sched.topology().domains[domain].span.contains(cpu));
    let idle = verdict.pass != BalancePass::BusyTick;
    idle && in_domain && verdict.dst_cpu != cpu && sched.task(task).cpus_allowed.contains(verdict.dst_cpu)
}

fn cause_of(verdict: &BalanceVerdict, cpu: CpuId, refusal: Option<Refusal>) -> Option<Cause> {
    let here = verdict.source == Some(cpu);
    Some(match verdict.finding {
        BalanceFinding::NobodyWaits => Cause::NobodyWaits,
        BalanceFinding::ShortIdle => Cause::NewidleGate,
        BalanceFinding::NoNewidle | BalanceFinding::Dice => Cause::NewidleOff,
        BalanceFinding::EnergyFirst => Cause::EnergyFirst,
        BalanceFinding::NotDue => Cause::NotDue,
        BalanceFinding::Serialized | BalanceFinding::OtherBalances => Cause::OtherBalances,
        BalanceFinding::NoBusiestGroup | BalanceFinding::Balanced | BalanceFinding::NoBusiestQueue => Cause::NoImbalance,
        // It took from here, be it another task.
        BalanceFinding::Moved if here => return None,
        BalanceFinding::NothingMoved | BalanceFinding::OneTask if here => match refusal {
            Some(Refusal::Hot) => Cause::CacheHot,
            Some(Refusal::TooMuch | Refusal::TooLittle) => Cause::NoImbalance,
            _ => Cause::NotMovable,
        },
        BalanceFinding::Moved | BalanceFinding::NothingMoved | BalanceFinding::OneTask => Cause::OtherQueue,
    })
}

/// The loads that a balance reads wrong, of the CPUs that it compares: that of the waiting task first, then by how wrong
/// they are, and no more than [`MISREAD_AT_MOST`].
fn misread(sched: &Sched, verdict: &BalanceVerdict, cpu: CpuId) -> Vec<Misread> {
    let Some(domain) = verdict.domain else { return Vec::new() };
    let looked_at = sched.topology().domains[domain].span;
    let readings = looked_at.iter().map(|cpu| sched.load_reading(cpu, domain, verdict.pass));
    let mut wrong: Vec<LoadReading> = readings.filter(|row| is_wrong(row.read, row.queued)).collect();
    wrong.sort_by_key(|row| (row.cpu != cpu, std::cmp::Reverse(row.read.abs_diff(row.queued))));
    wrong.truncate(MISREAD_AT_MOST);
    let of_groups = |row: &LoadReading| {
        let groups = sched.group_readings(row.cpu);
        groups.into_iter().filter(|group| is_wrong(group.read, group.queued)).collect()
    };
    wrong.into_iter().map(|load| Misread { groups: of_groups(&load), load }).collect()
}

fn is_wrong(read: u64, queued: u64) -> bool {
    read.abs_diff(queued) * WRONG_BY > queued.max(1)
}

/// Whether a balance that reads what is queued comes to the queue of `cpu`. `run` is one step before it.
fn comes_to(mut run: Simulation, verdict: &BalanceVerdict, cpu: CpuId) -> Result<bool, Stopped> {
    run.read_queued_loads();
    let same = |found: &BalanceVerdict, domain: Option<SdId>| found.dst_cpu == verdict.dst_cpu && found.domain == domain;
    let mut step = Step::default();
    for _ in 0..STEPS_OF_A_BALANCE {
        step.clear();
        if run.step(&mut step)? == Flow::Done {
            return Ok(false);
        }
        let found = step.verdicts.iter().find_map(|found| match found {
            Verdict::Balance(found) if same(found, verdict.domain) => Some(found.source == Some(cpu)),
            _ => None,
        });
        if let Some(comes) = found {
            return Ok(comes);
        }
    }
    Ok(false)
}
