//! The rules of load balance, held against the moves of a record.
//!
//! ```text
//! kind      the CPU could balance like that then: it ran empty, or a tick was due; and it was its turn
//! batch     to an empty CPU go (busiest - own) / 2 tasks, or one where newidle stops after the first
//! source    the CPU with the most tasks; the heaviest one for a busy CPU
//! busy      source weight > mean > own weight, and 100 * source > imbalance_pct * own
//! ```

use super::occupancy::Queue;
use super::{Batch, MoveKind, View};
use crate::outcome::Tally;
use fairground_model::MachineView;
use fairground_sched::Sched;
use fairground_sched::topology::SdFlags;
use fairground_stdx::{CpuId, CpuMask, IndexVec, SdId};

/// A question about a balance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BatchRule {
    /// To an empty CPU: as many tasks as the rule says.
    Size,
    /// To an empty CPU: from the CPU with the most tasks.
    MostTasks,
    /// To a busy CPU: source weight > mean > own weight.
    Mean,
    /// To a busy CPU: the source is heavier by more than imbalance_pct.
    ImbalancePct,
    /// To a busy CPU: the source is the heaviest.
    Heaviest,
}

impl BatchRule {
    /// All in the order of tables.
    pub const ALL: [BatchRule; 5] =
        [BatchRule::Size, BatchRule::MostTasks, BatchRule::Mean, BatchRule::ImbalancePct, BatchRule::Heaviest];
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            BatchRule::Size => "batch_size",
            BatchRule::MostTasks => "source_most_tasks",
            BatchRule::Mean => "busy_mean",
            BatchRule::ImbalancePct => "busy_imbalance_pct",
            BatchRule::Heaviest => "busy_heaviest",
        }
    }
}

/// Moves of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MoveTally {
    /// Tasks moved.
    pub moves: u64,
    /// Balances that moved them.
    pub batches: u64,
    /// Moves of which the record can tell whether their kind was possible, and those of which it was.
    pub kind: Tally,
}

/// All moves of runnable tasks outside wake-ups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moves {
    /// By kind, in the order of [`MoveKind::ALL`].
    pub kinds: [MoveTally; MoveKind::ALL.len()],
    /// By question, in the order of [`BatchRule::ALL`]; those that the record can answer.
    pub rules: [Tally; BatchRule::ALL.len()],
    /// Batches between caches: how many tasks these move depends on utilisations, which are not recorded.
    pub between_caches: u64,
}

impl Moves {
    /// The moves of a kind.
    pub fn of(&self, kind: MoveKind) -> MoveTally {
        self.kinds[kind as usize]
    }
    /// The batches that a question was about.
    pub fn rule(&self, rule: BatchRule) -> Tally {
        self.rules[rule as usize]
    }
    /// All moves whose kind could be judged.
    pub fn kind(&self) -> Tally {
        let add = |sum: Tally, row: &MoveTally| Tally {
            decisions: sum.decisions + row.kind.decisions,
            agree: sum.agree + row.kind.agree,
        };
        self.kinds.iter().fold(Tally::default(), add)
    }
    fn count(&mut self, rule: BatchRule, agree: bool) {
        self.rules[rule as usize].count(agree);
    }
}

/// What is known where a batch begins.
pub(crate) struct Scene<'a> {
    pub(crate) queues: &'a IndexVec<CpuId, Queue>,
    /// What other CPUs may have been like, as their records may be late.
    pub(crate) view: View,
    pub(crate) machine: &'a MachineView,
    pub(crate) sched: &'a Sched,
    /// Whether a tick of a CPU that would balance lies close before; unknown without a phase.
    pub(crate) after_tick: Option<bool>,
    /// Tasks of the source at one moment or another: the fewest and the most.
    pub(crate) source: (u32, u32),
}

/// Holds a batch against the rules.
pub(crate) fn judge(batch: &Batch, scene: &Scene<'_>, found: &mut Moves) {
    let moved = u64::from(batch.moved);
    let row = &mut found.kinds[batch.kind as usize];
    row.moves += moved;
    row.batches += 1;
    if let Some(possible) = scene.kind_is_possible(batch) {
        row.kind.decisions += moved;
        row.kind.agree += if possible { moved } else { 0 };
    }
    if !batch.kind.is_balance() {
        return;
    }
    let Some(domain) = scene.domain(batch) else { return };
    if scene.own_tasks(batch) == 0 {
        match scene.expected(batch, domain) {
            Some((fewest, most)) => found.count(BatchRule::Size, (fewest..=most).contains(&batch.moved)),
            None => found.between_caches += 1,
        }
        found.count(BatchRule::MostTasks, scene.has_most_tasks(batch, domain));
    } else {
        let (mean, pct, heaviest) = scene.weights(batch, domain);
        found.count(BatchRule::Mean, mean);
        found.count(BatchRule::ImbalancePct, pct);
        found.count(BatchRule::Heaviest, heaviest);
    }
}

impl Scene<'_> {
    /// Tasks of the destination; a CPU that is about to go idle still counts its leaving one.
    fn own_tasks(&self, batch: &Batch) -> u32 {
        let nr = self.queues[batch.to].nr;
        if batch.kind == MoveKind::Newidle { nr.saturating_sub(1) } else { nr }
    }

    /// Whether the CPU could balance like that at this moment. Nobody can tell what a stopper was called for.
    fn kind_is_possible(&self, batch: &Batch) -> Option<bool> {
        let has_spare_task = self.source.1 >= 2;
        match batch.kind {
            MoveKind::Newidle => Some(has_spare_task && self.own_tasks(batch) == 0),
            MoveKind::BusyTick | MoveKind::IdleTick | MoveKind::NoTick => {
                Some(self.after_tick? && has_spare_task && self.should_we_balance(batch))
            }
            MoveKind::Stopper => None,
            MoveKind::Other => Some(false),
        }
    }

    /// Within the destination's group the first idle CPU balances, else the first of all.
    ///
    /// Kernel: fair.c should_we_balance(), v4.12–
    fn should_we_balance(&self, batch: &Batch) -> bool {
        let Some(domain) = self.domain(batch) else { return false };
        let group = self.group(domain, batch.to);
        if group.weight() == 1 {
            return batch.kind == MoveKind::BusyTick || self.view.may_idle.contains(batch.to);
        }
        let surely_idle = |cpu: CpuId| !self.view.may_busy.contains(cpu);
        let first_idle = group.iter().find(|&cpu| surely_idle(cpu));
        match batch.kind {
            MoveKind::BusyTick => first_idle.is_none() && group.first() == Some(batch.to),
            _ => self.view.may_idle.contains(batch.to) && first_idle.is_none_or(|first| first >= batch.to || self.is_smt(first)),
        }
    }

    /// Threads of busy cores wait for wholly idle cores (v6.6 on), so that they are not the first.
    fn is_smt(&self, cpu: CpuId) -> bool {
        self.machine.cpus[cpu].smt.weight() > 1
    }

    /// The smallest domain of the destination that holds the source too.
    fn domain(&self, batch: &Batch) -> Option<SdId> {
        let topology = self.sched.topology();
        topology.domains_of(batch.to).find(|&sd| topology.domains[sd].span.contains(batch.from))
    }

    /// The group of `cpu` in a domain.
    fn group(&self, domain: SdId, cpu: CpuId) -> CpuMask {
        let topology = self.sched.topology();
        let mut groups = topology.groups_of(domain).map(|group| topology.groups[group].span);
        groups.find(|span| span.contains(cpu)).unwrap_or(CpuMask::only(cpu))
    }

    /// How many tasks go to an empty CPU: the fewest and the most, by what the source may have had. None where
    /// utilisation decides.
    ///
    /// Kernel: fair.c calculate_imbalance(), detach_tasks(), v5.5–
    fn expected(&self, batch: &Batch, domain: SdId) -> Option<(u32, u32)> {
        let one = batch.kind == MoveKind::Newidle && self.sched.newidle_detaches_one();
        if one {
            return Some((1, 1));
        }
        let topology = self.sched.topology();
        if !topology.domains[domain].flags.has(SdFlags::SHARE_LLC) && self.group(domain, batch.from).weight() > 1 {
            return None;
        }
        let sum = |cpu: CpuId| self.group(domain, cpu).iter().map(|cpu| self.queues[cpu].nr).sum::<u32>();
        let leaving = u32::from(batch.kind == MoveKind::Newidle);
        let own = sum(batch.to).saturating_sub(leaving);
        let others = sum(batch.from) - self.queues[batch.from].nr;
        let half = |nr: u32| ((others + nr).saturating_sub(own) / 2).min(nr.saturating_sub(1));
        Some((half(self.source.0), half(self.source.1)))
    }

    fn has_most_tasks(&self, batch: &Batch, domain: SdId) -> bool {
        let span = self.sched.topology().domains[domain].span;
        let others = span.iter().filter(|&cpu| cpu != batch.to && cpu != batch.from);
        others.map(|cpu| self.queues[cpu].nr).max().unwrap_or(0) <= self.source.1
    }

    /// Source above the mean above the destination; by more than imbalance_pct; and the heaviest of all.
    fn weights(&self, batch: &Batch, domain: SdId) -> (bool, bool, bool) {
        let domain = &self.sched.topology().domains[domain];
        let weight = |cpu: CpuId| self.sched.queue_weight(cpu);
        let span: Vec<u64> = domain.span.iter().map(weight).collect();
        let (from, to) = (weight(batch.from), weight(batch.to));
        let (sum, cpus) = (span.iter().sum::<u64>(), span.len() as u64);
        let mean = from * cpus > sum && sum > to * cpus;
        let heaviest = span.iter().all(|&other| other <= from);
        (mean, 100 * from > u64::from(domain.imbalance_pct) * to, heaviest)
    }
}
