//! Whose the probes of quota in a record are: of which group a period timer is that fires, and of which group and CPU a queue is that
//! is throttled or released. A record tells neither.
//!
//! ```text
//! a timer    fires once per period, on the CPU that started it            ─► trains of firings
//! a queue    is throttled while a task of its group runs on its CPU       ─► the groups of which it may be
//! a train    distributes runtime; the queues that are released then are of its group
//! ```

use fairground_conform::cpus_of_queues;
use fairground_model::{CpuMax, QuotaCall, QuotaProbe, TaskGroupSpec};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TgId};
use std::collections::{BTreeMap, BTreeSet};

/// A firing may be seen so much later than it was due.
const TIMER_LATENESS: Ns = Ns::from_us(500);
/// A queue is released within so much of the time at which runtime is distributed.
const RELEASE_LATENESS: Ns = Ns::from_us(300);
/// Distribution begins within so much of the firing of the timer.
const TIMER_LENGTH: Ns = Ns::from_ms(1);
/// One firing in so many may be missing: at the ends of the record, or while nobody used the group.
const MISSING_ONE_IN: usize = 4;
/// Of the throttles of a queue so many may be recorded with a task that is not on it: one that wakes somebody there.
const RARE_ONE_IN: u32 = 10;

/// A workload's groups, and who is in them.
pub(crate) struct Members<'a> {
    /// Parents first.
    pub(crate) groups: &'a IndexVec<TgId, TaskGroupSpec>,
    /// Process and the group in which it is.
    pub(crate) members: Vec<(u32, TgId)>,
}

/// The firings of one period timer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Train {
    period: Ns,
    /// Rows of the probes.
    firings: Vec<usize>,
}

/// Whose the probes are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct QuotaRecord {
    /// By the row of a probe: whose period timer that is.
    pub(crate) timers: BTreeMap<usize, TgId>,
    /// By the row of a probe: whose runtime is distributed there.
    sharings: BTreeMap<usize, TgId>,
    /// By the recorder's number of a queue.
    pub(crate) queues: BTreeMap<u32, (TgId, CpuId)>,
    /// By process: the groups with a quota above it.
    above: BTreeMap<u32, BTreeSet<TgId>>,
    /// When periods of each group begin: an instant of the record, a whole number of periods before or after.
    pub(crate) phases: BTreeMap<TgId, Instant>,
}

impl QuotaRecord {
    /// Reads it from the probes of a record, in order of time.
    pub(crate) fn read(probes: &[QuotaProbe], members: &Members<'_>) -> QuotaRecord {
        let trains = trains(probes, &members.periods());
        let sharings = sharings(probes, &trains);
        let seen = queues(probes, members);
        let votes = votes(probes, &sharings);
        let of_train = members.assign(&trains, &seen, &votes);
        let above = members.members.iter().map(|row| (row.0, members.above(row.0))).collect();
        let mut record = QuotaRecord { above, ..QuotaRecord::default() };
        for (train, &group) in trains.iter().zip(&of_train) {
            let Some(group) = group else { continue };
            record.phases.insert(group, train.phase(probes));
            record.timers.extend(train.firings.iter().map(|&row| (row, group)));
        }
        for (&queue, one) in &seen {
            let train = votes.get(&queue).and_then(most);
            let by_train = train.and_then(|train| of_train[train]).filter(|group| one.groups.contains(group));
            let alone = one.groups.first().filter(|_| one.groups.len() == 1);
            if let Some(group) = by_train.or(alone.copied()) {
                record.queues.insert(queue, (group, one.cpu));
            }
        }
        let of_timers = sharings.iter().filter_map(|sharing| Some((sharing.row, of_train[sharing.train]?)));
        record.sharings = of_timers.collect();
        record.add_slack(probes);
        record
    }

    /// What is handed out without a period timer is the group's whose queue is released next.
    fn add_slack(&mut self, probes: &[QuotaProbe]) {
        for (row, probe) in probes.iter().enumerate() {
            if probe.call != QuotaCall::DistributeBegins || self.sharings.contains_key(&row) {
                continue;
            }
            let near = probes[row..].iter().take_while(|other| other.at.since(probe.at) <= RELEASE_LATENESS);
            let released = near.filter_map(|other| match other.call {
                QuotaCall::Unthrottle { queue, .. } => self.queues.get(&queue).map(|queue| queue.0),
                _ => None,
            });
            if let Some(group) = released.into_iter().next() {
                self.sharings.insert(row, group);
            }
        }
    }

    /// The probes of one group, and those of its tasks.
    pub(crate) fn of(&self, group: TgId, probes: &[QuotaProbe]) -> Vec<QuotaProbe> {
        let owner = |row: usize, probe: &QuotaProbe| match probe.call {
            QuotaCall::Throttle { queue, .. } | QuotaCall::Unthrottle { queue, .. } => self.queues.get(&queue).map(|row| row.0),
            QuotaCall::PeriodTimer => self.timers.get(&row).copied(),
            QuotaCall::DistributeBegins => self.sharings.get(&row).copied(),
            QuotaCall::DistributeEnds => None,
            QuotaCall::ThrottleWork { task } => self.above.get(&task)?.get(&group).copied(),
        };
        probes.iter().enumerate().filter(|(row, probe)| owner(*row, probe) == Some(group)).map(|row| *row.1).collect()
    }
}

impl Members<'_> {
    /// The groups with a quota.
    fn limited(&self) -> impl Iterator<Item = (TgId, &CpuMax)> {
        self.groups.iter_enumerated().map(|row| (row.0, &row.1.limit)).filter(|row| row.1.quota.is_some())
    }
    /// Their periods, the shortest first.
    fn periods(&self) -> Vec<Ns> {
        self.limited().map(|row| row.1.period).collect::<BTreeSet<Ns>>().into_iter().collect()
    }
    /// The groups with a quota by which a process may be held up; none if it is no member.
    fn above(&self, pid: u32) -> BTreeSet<TgId> {
        let own = self.members.iter().find(|row| row.0 == pid).map(|row| row.1);
        let path = std::iter::successors(own, |&group| self.groups[group].parent);
        path.filter(|&group| self.groups[group].limit.quota.is_some()).collect()
    }
    /// The group of each train, where only one is possible. A queue that it serves is of its group, and no two trains are of one group.
    fn assign(
        &self,
        trains: &[Train],
        seen: &BTreeMap<u32, SeenQueue>,
        votes: &BTreeMap<u32, BTreeMap<usize, u32>>,
    ) -> Vec<Option<TgId>> {
        let all = |period: Ns| self.limited().filter(|row| row.1.period == period).map(|row| row.0).collect::<BTreeSet<TgId>>();
        let mut possible: Vec<BTreeSet<TgId>> = trains.iter().map(|train| all(train.period)).collect();
        for (queue, one) in seen {
            if let Some(train) = votes.get(queue).and_then(most) {
                possible[train].retain(|group| one.groups.contains(group));
            }
        }
        let mut found: Vec<Option<TgId>> = vec![None; trains.len()];
        while let Some(train) = (0..trains.len()).find(|&train| found[train].is_none() && possible[train].len() == 1) {
            let group = possible[train].first().copied();
            found[train] = group;
            possible.iter_mut().for_each(|groups| groups.retain(|other| Some(*other) != group));
        }
        found
    }
}

impl Train {
    /// When its periods begin: what is seen comes late, never early.
    fn phase(&self, probes: &[QuotaProbe]) -> Instant {
        let (first, period) = (probes[self.firings[0]].at, self.period.0);
        let late = |at: Instant| {
            let beyond = at.since(first).0 % period;
            if beyond > period / 2 { -((period - beyond) as i64) } else { beyond as i64 }
        };
        let least = self.firings.iter().map(|&row| late(probes[row].at)).min().unwrap_or(0);
        Instant::from_ns(first.ns().saturating_add_signed(least))
    }
}

/// Puts the firings of timers together: the first one that is in no train yet begins one, of the shortest period that goes on from there.
fn trains(probes: &[QuotaProbe], periods: &[Ns]) -> Vec<Train> {
    let mut free: Vec<usize> =
        probes.iter().enumerate().filter(|row| row.1.call == QuotaCall::PeriodTimer).map(|row| row.0).collect();
    let mut trains = Vec::new();
    while let Some(&first) = free.first() {
        let trial = |period: Ns| {
            let firings = follow(probes, &free, first, period);
            let span = free.last().map_or(0, |&last| (probes[last].at.since(probes[first].at).0 / period.0) as usize + 1);
            (firings.len() * MISSING_ONE_IN >= span * (MISSING_ONE_IN - 1)).then_some(Train { period, firings })
        };
        match periods.iter().find_map(|&period| trial(period)) {
            Some(train) => {
                free.retain(|row| !train.firings.contains(row));
                trains.push(train);
            }
            None => drop(free.remove(0)),
        }
    }
    trains
}

/// The firings at whole periods after the first, rather those of its CPU, rather the earlier ones.
fn follow(probes: &[QuotaProbe], free: &[usize], first: usize, period: Ns) -> Vec<usize> {
    let start = probes[first];
    let mut firings = vec![first];
    let mut due = start.at + period;
    let last = free.last().map_or(start.at, |&last| probes[last].at);
    while due <= last + TIMER_LATENESS {
        let near = |row: &&usize| probes[**row].at.ns().abs_diff(due.ns()) <= TIMER_LATENESS.0;
        let found = free.iter().filter(near).min_by_key(|&&row| (probes[row].cpu != start.cpu, row));
        firings.extend(found.copied());
        due += period;
    }
    firings
}

/// A call of distribute_cfs_runtime(): its row, when it began, and up to when releases may be its.
struct Sharing {
    row: usize,
    from: Instant,
    until: Instant,
    train: usize,
}

/// The calls that period timers made.
fn sharings(probes: &[QuotaProbe], trains: &[Train]) -> Vec<Sharing> {
    let mut of_timer: BTreeMap<CpuId, (Instant, usize)> = BTreeMap::new();
    let mut open: BTreeMap<CpuId, usize> = BTreeMap::new();
    let mut sharings: Vec<Sharing> = Vec::new();
    for (row, probe) in probes.iter().enumerate() {
        match probe.call {
            QuotaCall::PeriodTimer => {
                let train = trains.iter().position(|train| train.firings.contains(&row));
                of_timer.remove(&probe.cpu);
                of_timer.extend(train.map(|train| (probe.cpu, (probe.at, train))));
            }
            QuotaCall::DistributeBegins => {
                let timer = of_timer.get(&probe.cpu).filter(|timer| probe.at.since(timer.0) <= TIMER_LENGTH);
                open.remove(&probe.cpu);
                if let Some(&(_, train)) = timer {
                    open.insert(probe.cpu, sharings.len());
                    sharings.push(Sharing { row, from: probe.at, until: probe.at + RELEASE_LATENESS, train });
                }
            }
            QuotaCall::DistributeEnds => {
                if let Some(index) = open.remove(&probe.cpu) {
                    sharings[index].until = probe.at + RELEASE_LATENESS;
                }
            }
            _ => {}
        }
    }
    sharings
}

/// For each queue: how often a train may have served it. Of several that may have, the one that began last.
fn votes(probes: &[QuotaProbe], sharings: &[Sharing]) -> BTreeMap<u32, BTreeMap<usize, u32>> {
    let mut votes: BTreeMap<u32, BTreeMap<usize, u32>> = BTreeMap::new();
    for probe in probes {
        if let QuotaCall::Unthrottle { queue, .. } = probe.call {
            let may = |sharing: &&Sharing| sharing.from <= probe.at && probe.at <= sharing.until;
            if let Some(sharing) = sharings.iter().rev().find(may) {
                *votes.entry(queue).or_default().entry(sharing.train).or_default() += 1;
            }
        }
    }
    votes
}

/// Who has most votes, the first of equals.
fn most(votes: &BTreeMap<usize, u32>) -> Option<usize> {
    votes.iter().rev().max_by_key(|row| row.1).map(|row| *row.0)
}

/// What the throttles of a queue tell of it.
struct SeenQueue {
    cpu: CpuId,
    /// The groups with a quota above all members that ran as it was throttled.
    groups: BTreeSet<TgId>,
}

/// Where each queue is, and of which groups it may be. One that was only ever throttled while no member ran tells nothing.
fn queues(probes: &[QuotaProbe], members: &Members<'_>) -> BTreeMap<u32, SeenQueue> {
    let mut seen: BTreeMap<u32, SeenQueue> = BTreeMap::new();
    for (queue, cpu) in cpus_of_queues(probes, |pid| !members.above(pid).is_empty()) {
        let mut kinds: BTreeMap<BTreeSet<TgId>, u32> = BTreeMap::new();
        for probe in probes {
            if let QuotaCall::Throttle { queue: other, current, .. } = probe.call
                && (other, probe.cpu) == (queue, cpu)
            {
                *kinds.entry(members.above(current)).or_default() += 1;
            }
        }
        kinds.remove(&BTreeSet::new());
        if kinds.is_empty() {
            continue;
        }
        seen.insert(queue, SeenQueue { cpu, groups: in_common(&kinds) });
    }
    seen
}

/// The groups above all tasks that ran as a queue was throttled, but for rare ones: somebody may be woken there. If there are none, those
/// of most throttles.
fn in_common(kinds: &BTreeMap<BTreeSet<TgId>, u32>) -> BTreeSet<TgId> {
    let all: u32 = kinds.values().sum();
    let usual = kinds.iter().filter(|row| row.1 * RARE_ONE_IN >= all).map(|row| row.0.clone());
    let common = usual.reduce(|all, one| all.intersection(&one).copied().collect()).unwrap_or_default();
    let usual_by_far = kinds.iter().find(|row| row.1 * 2 > all).map(|row| row.0.clone());
    if common.is_empty() { usual_by_far.unwrap_or_default() } else { common }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// P with A and B below, each of 100 ms, and a group without a quota.
    fn groups() -> IndexVec<TgId, TaskGroupSpec> {
        let limit = CpuMax { quota: Some(Ns::from_ms(20)), period: Ns::from_ms(100), burst: Ns::ZERO };
        let group = |name: &str, parent| TaskGroupSpec { limit, ..TaskGroupSpec::new(name, parent) };
        let (p, free) = (Some(TgId::new(0)), TaskGroupSpec::new("/free", None));
        [group("/P", None), group("/P/A", p), group("/P/B", p), free].into_iter().collect()
    }

    fn probe(ns: u64, cpu: u32, call: QuotaCall) -> QuotaProbe {
        QuotaProbe { at: Instant::from_ns(ns), cpu: CpuId::new(cpu), call }
    }

    /// A firing on `cpu` that releases the queues.
    fn serves(ns: u64, cpu: u32, queues: &[u32]) -> Vec<QuotaProbe> {
        let released = |&queue: &u32| probe(ns + 9 * US, queue % 2, QuotaCall::Unthrottle { queue, remaining: 1 });
        let begins = [probe(ns, cpu, QuotaCall::PeriodTimer), probe(ns + US, cpu, QuotaCall::DistributeBegins)];
        let ends = probe(ns + 8 * US, cpu, QuotaCall::DistributeEnds);
        begins.into_iter().chain([ends]).chain(queues.iter().map(released)).collect()
    }

    fn throttled(ns: u64, cpu: u32, queue: u32, current: u32) -> QuotaProbe {
        probe(ns, cpu, QuotaCall::Throttle { queue, remaining: -1, current })
    }

    fn read(periods: impl Fn(u64) -> Vec<QuotaProbe>) -> (QuotaRecord, Vec<QuotaProbe>) {
        let mut probes: Vec<QuotaProbe> = (0..5).flat_map(|period| periods(period * 100 * MS)).collect();
        probes.sort_by_key(|probe| probe.at);
        let members = vec![(10, TgId::new(1)), (11, TgId::new(2)), (12, TgId::new(3))];
        (QuotaRecord::read(&probes, &Members { groups: &groups(), members }), probes)
    }

    /// Process 10 of A is on CPU 0, 11 of B on CPU 1. Queues 0 and 1 are of P, 2 is of A; B is never throttled.
    #[test]
    fn timers_and_queues_of_nested_groups_are_told_apart() {
        let (record, probes) = read(|at| {
            let at = at + 7 * MS;
            let late = at % 300 / 10 * US;
            let stops =
                [throttled(at, 0, 0, 10), throttled(at + US, 0, 2, 10), throttled(at, 1, 1, 11), throttled(at + 1, 0, 1, 12)];
            let served = [serves(at + 30 * MS + late, 1, &[0, 1]), serves(at + 60 * MS, 0, &[2]), serves(at + 61 * MS, 1, &[])];
            stops.into_iter().chain(served.concat()).collect()
        });
        let of = |group: u32, cpu: u32| (TgId::new(group), CpuId::new(cpu));
        assert_eq!(record.queues, [(0, of(0, 0)), (1, of(0, 1)), (2, of(1, 0))].into());
        let phases: Vec<(u32, u64)> = record.phases.iter().map(|row| (row.0.get(), row.1.ns())).collect();
        assert_eq!(phases, [(0, 37 * MS), (1, 67 * MS), (2, 68 * MS)], "they come late, never early");
        let timers = probes.iter().filter(|probe| probe.call == QuotaCall::PeriodTimer).count();
        assert_eq!((record.timers.len(), timers), (15, 15));
    }

    #[test]
    fn timers_that_fire_together_are_told_by_their_cpus() {
        let (record, _) = read(|at| [serves(at + MS, 0, &[2]), serves(at + MS + 20 * US, 1, &[])].concat());
        assert!(record.timers.is_empty() && record.queues.is_empty(), "two timers, three groups, and no throttle that tells");
        let trains = |periods: &[u64], firings: &[(u64, u32)]| {
            let probes: Vec<QuotaProbe> = firings.iter().map(|&(ms, cpu)| probe(ms * MS, cpu, QuotaCall::PeriodTimer)).collect();
            let periods: Vec<Ns> = periods.iter().map(|&ms| Ns::from_ms(ms)).collect();
            super::trains(&probes, &periods).into_iter().map(|train| (train.period.0 / MS, train.firings)).collect::<Vec<_>>()
        };
        let both = [(0, 0), (0, 1), (50, 1), (100, 1), (100, 0), (150, 1), (200, 0), (200, 1)];
        assert_eq!(trains(&[50, 100], &both), [(50, vec![0, 2, 4, 5, 6]), (100, vec![1, 3, 7])]);
        assert_eq!(trains(&[100], &[(0, 0), (0, 1), (100, 1), (100, 0)]), [(100, vec![0, 3]), (100, vec![1, 2])]);
        assert_eq!(trains(&[100], &[(0, 0), (30, 0), (130, 0), (230, 0)]), [(100, vec![1, 2, 3])], "a single firing is no train");
    }
}
