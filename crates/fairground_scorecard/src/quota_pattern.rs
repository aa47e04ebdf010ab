//! When the queues of a group are throttled, period by period: in a recording, and in our own run of it.
//!
//! No amount is compared here (`conform` does that), but what each period looks like: how many queues are throttled, how often each of
//! them, and how long after the refill. A period begins where the period timer fires.

use fairground::run::{RunOptions, run};
use fairground_metrics::Window;
use fairground_model::{Decision, QuotaCall, QuotaProbe, Reason, Sink, TaskSet, TraceEvent, Who};
use fairground_recordings::{
    RecordedSet,
    conform::{RecordedQuotas, recorded_quotas},
    last_group,
};
use fairground_scenario::{Control, Error, Overrides};
use fairground_stdx::{CpuId, Instant, Ns, TaskId, TgId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Periods after the start that are left out: until then what queues had left before it counts.
const SETTLING_PERIODS: usize = 2;

/// A queue that is throttled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Throttled {
    /// How long after the refill.
    pub phase: Ns,
    /// Whose queue.
    pub cpu: CpuId,
}

/// The throttles of one group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pattern {
    /// The whole periods, each with its throttles in order of time.
    pub periods: Vec<Vec<Throttled>>,
    /// Tasks that stopped on their way back to user mode in them.
    pub throttle_works: u64,
}

impl Pattern {
    /// The median of how long after the refill the first, the second, … queue is throttled, where at least half of the periods have
    /// so many.
    pub fn phases(&self) -> Vec<Ns> {
        let rank = |rank: usize| {
            let mut phases: Vec<Ns> = self.periods.iter().filter_map(|period| Some(period.get(rank)?.phase)).collect();
            phases.sort_unstable();
            (phases.len() * 2 >= self.periods.len()).then(|| phases.get(phases.len() / 2).copied()).flatten()
        };
        (0..).map_while(rank).collect()
    }
    /// The least and the largest number of throttles in a period.
    pub fn per_period(&self) -> (usize, usize) {
        let counts = || self.periods.iter().map(Vec::len);
        (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
    }
    /// The least and the largest number of times that a queue is throttled in a period in which it is.
    pub fn per_period_and_queue(&self) -> (usize, usize) {
        let times = |period: &[Throttled], cpu| period.iter().filter(|other| other.cpu == cpu).count();
        let all = || self.periods.iter().flat_map(|period| period.iter().map(|one| times(period, one.cpu)));
        (all().min().unwrap_or(0), all().max().unwrap_or(0))
    }
    fn add(&mut self, other: Pattern) {
        self.periods.extend(other.periods);
        self.throttle_works += other.throttle_works;
    }
}

/// A recording's pattern and ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patterns {
    /// As recorded.
    pub recorded: Pattern,
    /// Our runs, one for each seed.
    pub ours: Vec<Pattern>,
    /// The tick: who is charged when follows it.
    pub tick: Ns,
}

impl Patterns {
    /// Our pattern over all seeds.
    pub fn all_ours(&self) -> Pattern {
        let mut all = Pattern::default();
        self.ours.iter().cloned().for_each(|one| all.add(one));
        all
    }
    /// The largest distance between the phases of the same rank, if both have the same number of ranks.
    pub fn farthest(&self) -> Option<Ns> {
        let (recorded, ours) = (self.recorded.phases(), self.all_ours().phases());
        let distances = recorded.iter().zip(&ours).map(|(a, b)| Ns(a.0.abs_diff(b.0)));
        (recorded.len() == ours.len()).then(|| distances.max()).flatten()
    }
}

/// The patterns of each group of a recorded set that has a quota, by its path, ours with the seeds 1 to `seeds`. Groups whose period
/// timer is not told in the record are left out.
pub fn patterns_of_set(folder: &Path, overrides: &Overrides, seeds: u64) -> Result<Vec<(String, Patterns)>, Error> {
    let Some(RecordedQuotas { groups, window }) = recorded_quotas(folder)? else { return Ok(Vec::new()) };
    let of_record = |(path, probes): &(String, Vec<QuotaProbe>)| {
        let recorded = Gatherer::of_record(probes).pattern(window);
        (path.clone(), Patterns { recorded, ours: Vec::new(), tick: Ns::ZERO })
    };
    let mut patterns: Vec<(String, Patterns)> = groups.iter().map(of_record).collect();
    for seed in 1..=seeds {
        let set = RecordedSet::open(folder, &Overrides { seed: Some(seed), ..overrides.clone() })?;
        let mut run_of = Gatherers::new(&set.scenario.tasks(), &patterns);
        run(&set.scenario, &RunOptions::default(), &mut run_of, Control::none())?;
        for (gatherer, (_, patterns)) in run_of.0.iter().zip(&mut patterns) {
            patterns.ours.push(gatherer.pattern(set.window));
            patterns.tick = set.scenario.machine.tick;
        }
    }
    Ok(patterns)
}

/// One for each group of a run.
struct Gatherers(Vec<Gatherer>);

impl Gatherers {
    fn new(tasks: &TaskSet, patterns: &[(String, Patterns)]) -> Gatherers {
        let of = |path: &String| {
            let group = tasks.groups.iter_enumerated().find(|row| row.1.name == *path).map(|row| row.0);
            let above = |task| std::iter::successors(last_group(tasks, task), |&group| tasks.groups[group].parent);
            let members = tasks.tasks.ids().filter(|&task| above(task).any(|above| Some(above) == group)).collect();
            Gatherer { group, members, ..Gatherer::default() }
        };
        Gatherers(patterns.iter().map(|row| of(&row.0)).collect())
    }
}

impl Sink for Gatherers {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let TraceEvent::Decision(decision) = event else { return };
        let of_quota = [Reason::PeriodTimer, Reason::Throttle, Reason::ThrottleWork].contains(&decision.reason);
        if of_quota {
            self.0.iter_mut().for_each(|gatherer| gatherer.decision(at, cpu, *decision));
        }
    }
}

/// Gathers what happens to the quota of a group.
#[derive(Default)]
struct Gatherer {
    group: Option<TgId>,
    /// Its tasks, those of groups below as well.
    members: BTreeSet<TaskId>,
    refills: Vec<Instant>,
    throttles: Vec<(Instant, CpuId)>,
    works: Vec<Instant>,
}

impl Gatherer {
    /// A call of throttle_cfs_rq() that got runtime after all is none: no release follows it.
    fn of_record(probes: &[QuotaProbe]) -> Gatherer {
        let mut gatherer = Gatherer::default();
        let mut pending = BTreeMap::new();
        for probe in probes {
            match probe.call {
                QuotaCall::PeriodTimer => gatherer.refills.push(probe.at),
                QuotaCall::ThrottleWork { .. } => gatherer.works.push(probe.at),
                QuotaCall::Throttle { queue, .. } => drop(pending.insert(queue, (probe.at, probe.cpu))),
                QuotaCall::Unthrottle { queue, .. } => gatherer.throttles.extend(pending.remove(&queue)),
                QuotaCall::DistributeBegins | QuotaCall::DistributeEnds => {}
            }
        }
        gatherer.throttles.sort_unstable();
        gatherer
    }

    /// What our own run decided.
    fn decision(&mut self, at: Instant, cpu: CpuId, decision: Decision) {
        match (decision.reason, Decision::who(decision.a)) {
            (Reason::PeriodTimer, Who::Group(group)) if Some(group) == self.group => self.refills.push(at),
            (Reason::Throttle, Who::Group(group)) if Some(group) == self.group => self.throttles.push((at, cpu)),
            (Reason::ThrottleWork, Who::Task(task)) if self.members.contains(&task) => self.works.push(at),
            _ => {}
        }
    }

    fn pattern(&self, window: Window) -> Pattern {
        let refills: Vec<Instant> = self.refills.iter().copied().filter(|&at| window.start <= at && at <= window.end).collect();
        let Some(whole) = refills.get(SETTLING_PERIODS..).filter(|whole| !whole.is_empty()) else { return Pattern::default() };
        let is_in = |at: Instant| whole[0] <= at && at < whole[whole.len() - 1];
        let mut pattern = Pattern { periods: vec![Vec::new(); whole.len() - 1], throttle_works: 0 };
        for &(at, cpu) in self.throttles.iter().filter(|row| is_in(row.0)) {
            let period = whole.partition_point(|&refill| refill <= at) - 1;
            pattern.periods[period].push(Throttled { phase: at.since(whole[period]), cpu });
        }
        pattern.throttle_works = self.works.iter().filter(|&&at| is_in(at)).count() as u64;
        pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * MS)
    }

    fn gathered(throttles: &[(u64, u32)]) -> Gatherer {
        Gatherer {
            refills: (0..=5).map(|period| at(period * 100)).collect(),
            throttles: throttles.iter().map(|&(ms, cpu)| (at(ms), CpuId::new(cpu))).collect(),
            works: vec![at(150), at(250), at(499), at(500)],
            ..Gatherer::default()
        }
    }

    fn whole() -> Window {
        Window { start: at(0), end: at(500) }
    }

    #[test]
    fn throttles_belong_to_the_period_in_which_they_are() {
        let pattern = gathered(&[(110, 0), (201, 1), (203, 2), (302, 2), (404, 1), (408, 2), (501, 1)]).pattern(whole());
        let phases: Vec<Vec<u64>> =
            pattern.periods.iter().map(|period| period.iter().map(|one| one.phase.0 / MS).collect()).collect();
        assert_eq!(phases, [vec![1, 3], vec![2], vec![4, 8]]);
        assert_eq!((pattern.per_period(), pattern.per_period_and_queue(), pattern.throttle_works), ((1, 2), (1, 1), 2));
        assert_eq!(gathered(&[(201, 1), (203, 1), (302, 2)]).pattern(whole()).per_period_and_queue(), (1, 2));
        assert_eq!(pattern.phases(), [Ns::from_ms(2), Ns::from_ms(8)], "two of three periods have a second");
        assert_eq!(Gatherer::default().pattern(whole()), Pattern::default());
    }

    #[test]
    fn the_same_number_of_ranks_is_compared() {
        let of = |throttles: &[(u64, u32)]| gathered(throttles).pattern(whole());
        let patterns = |ours: &[(u64, u32)]| Patterns {
            recorded: of(&[(202, 0), (206, 1), (302, 0), (306, 1), (402, 0), (406, 1)]),
            ours: vec![of(ours)],
            tick: Ns::from_ms(4),
        };
        assert_eq!(patterns(&[(203, 0), (209, 1), (303, 1), (309, 0), (403, 0), (409, 1)]).farthest(), Some(Ns::from_ms(3)));
        assert_eq!(patterns(&[(203, 0), (303, 1), (403, 0)]).farthest(), None);
    }

    #[test]
    fn a_call_that_found_runtime_is_no_throttle() {
        let probe = |ms: u64, call| QuotaProbe { at: at(ms), cpu: CpuId::new(3), call };
        let throttle = QuotaCall::Throttle { queue: 7, remaining: -1, current: 1 };
        let probes = [
            probe(201, throttle),
            probe(205, throttle),
            probe(300, QuotaCall::Unthrottle { queue: 7, remaining: 1 }),
            probe(305, throttle),
        ];
        assert_eq!(Gatherer::of_record(&probes).throttles, [(at(205), CpuId::new(3))]);
    }
}
