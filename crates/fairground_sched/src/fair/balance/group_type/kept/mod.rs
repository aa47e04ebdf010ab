//! Statistics of groups, kept from one balance to the next.
//!
//! ```text
//! a CPU changes ─► its difference goes into the sums of its groups ─► they are classified anew and get another rank
//! ```
//!
//! On a large machine that is nearly busy, CPUs go idle far more often than the machine changes: between two newidle
//! balances only a few CPUs have. What is counted is the kernel's walk over all CPUs.

mod check;
mod rank;
mod seats;

use super::cpu_stat::{CpuStat, exchange};
use super::pick::Candidate;
use super::{LbEnv, SdLbStats, SgLbStats};
use crate::Sched;
use crate::ctx::Ctx;
use crate::topology::{CpuIdleType, SchedDomain, SchedGroup};
use fairground_model::Op;
use fairground_stdx::{CpuId, CpuMask, IndexVec, SgId, SgRingId};
use rank::{Rank, Ranks};
use seats::Seats;

/// What is kept of all groups.
#[derive(Clone, Debug)]
pub(crate) struct GroupStats {
    /// CPUs that have changed since they were last read.
    changed: CpuMask,
    /// Which groups a CPU is in; `None`: nothing is known.
    seats: Option<Seats>,
    /// What the sums have of each CPU.
    cpus: IndexVec<CpuId, CpuStat>,
    rings: IndexVec<SgRingId, Ring>,
}

/// The statistics of a group, as an idle balancer of another group sees it.
#[derive(Clone, Copy, Debug)]
struct Row {
    stat: SgLbStats,
    /// CPUs that may be too weak for their only task.
    reduced_cpus: u64,
    /// The sums have changed, the type has not followed yet.
    stale: bool,
}

/// What is kept of the groups that domains of one level and span share.
#[derive(Clone, Debug)]
struct Ring {
    /// Its first place in the table of rings. Places within it are counted from there.
    start: u32,
    groups: Vec<SgId>,
    rows: Vec<Row>,
    ranks: Ranks,
    /// Places of groups that are stale.
    stale: Vec<usize>,
    total_load: u64,
    total_capacity: u64,
    total_util: u64,
    /// CPUs on which tasks wait.
    overloaded_cpus: u64,
    /// Either all its groups are cores of several threads, or none is.
    alike: bool,
}

impl Ring {
    /// The place of a domain's own group.
    fn local(&self, domain: &SchedDomain) -> usize {
        (domain.ring_start - self.start) as usize
    }

    /// A CPU of the group at `place`, which the sums have as `old`, is as `new` says.
    // Per CPU that has changed, as the reading.
    #[inline(always)]
    fn exchange(&mut self, place: usize, old: &CpuStat, new: &CpuStat) {
        let row = &mut self.rows[place];
        row.stat.replace(old, new);
        exchange(&mut row.reduced_cpus, old.reduced, new.reduced);
        exchange(&mut self.total_load, old.load, new.load);
        exchange(&mut self.total_util, old.util, new.util);
        exchange(&mut self.overloaded_cpus, old.overloaded, new.overloaded);
        if !row.stale {
            row.stale = true;
            self.stale.push(place);
        }
    }

    /// The sums of the group at `place` are complete: type and rank follow. `needs` is what makes other CPUs help it.
    fn classify(&mut self, place: usize, imbalance_pct: u32, group: &SchedGroup, needs: (bool, u64)) {
        let row = &mut self.rows[place];
        let stat = &mut row.stat;
        exchange(&mut self.total_capacity, stat.sums.group_capacity, group.capacity);
        stat.sums.group_capacity = group.capacity;
        (stat.group_smt_balance, stat.group_misfit_task_load) = needs;
        stat.classify(imbalance_pct, group.imbalance);
        row.stale = false;
        self.ranks.set(place, Rank::of(stat, self.alike));
    }
}

impl Row {
    /// A group none of whose CPUs is in the sums yet.
    fn without_cpus(group: &SchedGroup) -> Row {
        Row { stat: SgLbStats::without_cpus(group), reduced_cpus: 0, stale: false }
    }
}

impl GroupStats {
    /// Nothing is known.
    pub(crate) const fn new() -> GroupStats {
        GroupStats { changed: CpuMask::EMPTY, seats: None, cpus: IndexVec::new(), rings: IndexVec::new() }
    }

    /// Marks the sums of a CPU's groups as out of date: its tasks, averages, idleness, capacity or a group mark changed.
    #[inline]
    pub(crate) fn cpu_changes(&mut self, cpu: CpuId) {
        self.changed.insert(cpu);
    }

    /// Discards all kept sums, because groups or rules have changed.
    pub(crate) fn forget(&mut self) {
        self.seats = None;
    }

    /// A CPU is as `new` says from now on.
    // Per CPU that has changed, as the reading.
    #[inline(always)]
    fn exchange(&mut self, cpu: CpuId, new: &CpuStat) {
        let Some(seats) = &self.seats else { return };
        let old = &mut self.cpus[cpu];
        for seat in seats.of(cpu) {
            self.rings[seat.ring].exchange(seat.place, old, new);
        }
        *old = *new;
    }
}

impl Sched {
    /// The ring in which the statistics of the domain's groups are kept, if they depend on nothing but the CPUs in them.
    pub(super) fn kept_ring(&mut self, env: &LbEnv) -> Option<SgRingId> {
        if env.idle == CpuIdleType::NotIdle || self.overload_needs_overutilized() {
            return None;
        }
        if self.group_stats.seats.is_none() {
            self.seat_cpus();
        }
        let ring = self.group_stats.seats.as_ref()?.ring_of(env.sd)?;
        self.topology.domains[env.sd].span.is_subset(&env.cpus).then_some(ring)
    }

    /// The sums of a domain, from those kept of its groups.
    pub(super) fn add_up_kept_groups(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv, ring: SgRingId, sds: &mut SdLbStats) {
        self.read_changed_cpus(env);
        while let Some(place) = self.group_stats.rings[ring].stale.pop() {
            self.classify_kept(env, ring, place);
        }
        let (domain, ring) = (&self.topology.domains[env.sd], &self.group_stats.rings[ring]);
        cx.meter.count_n(Op::LbCpu, u64::from(domain.span_weight));
        let local = ring.local(domain);
        sds.local_stat = ring.rows[local].stat;
        sds.local_stat.become_local(domain.imbalance_pct, self.topology.groups[sds.local].imbalance);
        if let Some(busiest) = self.busiest_kept(ring, local) {
            (sds.busiest, sds.busiest_stat) = (Some(ring.groups[busiest]), ring.rows[busiest].stat);
        }
        (sds.total_load, sds.total_capacity, sds.total_util) = (ring.total_load, ring.total_capacity, ring.total_util);
        sds.overload = ring.overloaded_cpus > 0;
    }

    /// Reads the CPUs of a domain that have changed.
    fn read_changed_cpus(&mut self, env: &LbEnv) {
        let mut from = 0;
        while let Some(cpu) = self.group_stats.changed.next_from_and(&self.topology.domains[env.sd].span, from) {
            from = cpu.get() + 1;
            self.group_stats.changed.remove(cpu);
            self.read_cpu(cpu);
        }
    }

    // Not within the loop, whose registers it needs.
    #[inline(never)]
    fn read_cpu(&mut self, cpu: CpuId) {
        let stat = self.cpu_stat(cpu);
        self.group_stats.exchange(cpu, &stat);
    }

    /// The type and the rank of a group follow its sums.
    #[inline(never)]
    fn classify_kept(&mut self, env: &LbEnv, ring: SgRingId, place: usize) {
        let kept = &self.group_stats.rings[ring];
        let (group, row) = (&self.topology.groups[kept.groups[place]], &kept.rows[place]);
        let smt_balance = self.group_smt(env, &row.stat, group);
        let misfit = if row.reduced_cpus > 0 { self.greatest_misfit(env, group) } else { 0 };
        let pct = self.topology.domains[env.sd].imbalance_pct;
        self.group_stats.rings[ring].classify(place, pct, group, (smt_balance, misfit));
    }

    /// The place of the busiest group of a ring beside that at `local`: the first in the order of the ring among those
    /// of the highest rank, unless the full comparison prefers a later one.
    fn busiest_kept(&self, ring: &Ring, local: usize) -> Option<usize> {
        let highest = Some(ring.ranks.highest_beside(local)).filter(|&rank| rank != Rank::NO_TASKS)?;
        let candidate =
            |place: usize| Candidate { group: &self.topology.groups[ring.groups[place]], stat: &ring.rows[place].stat };
        let mut busiest = None;
        for (mut from, end) in [(local + 1, ring.rows.len()), (0, local)] {
            while let Some(place) = ring.ranks.next_of(highest, from).filter(|&place| place < end) {
                from = place + 1;
                let best = busiest.map(candidate);
                if best.is_none_or(|best| self.is_busier_within_type(&best, &candidate(place))) {
                    busiest = Some(place);
                }
            }
        }
        busiest
    }
}

impl SgLbStats {
    /// The same group as its own CPUs see it: what makes others help it does not count.
    fn become_local(&mut self, imbalance_pct: u32, imbalance_flag: bool) {
        (self.group_asym_packing, self.group_smt_balance, self.group_misfit_task_load) = (false, false, 0);
        self.classify(imbalance_pct, imbalance_flag);
    }
}
