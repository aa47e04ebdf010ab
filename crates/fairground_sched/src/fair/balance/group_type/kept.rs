//! Statistics of groups, kept until a CPU of the group changes.
//!
//! On a large machine that is nearly busy, CPUs go idle far more often than the machine changes: between two newidle
//! balances only a few CPUs have. Their groups are added up anew, the others are as they were. What is counted is the
//! kernel's walk over all CPUs.

use super::{LbEnv, SdLbStats, SgLbStats};
use crate::Sched;
use crate::check::{Broken, hold};
use crate::ctx::Ctx;
use crate::topology::{CpuIdleType, SdFlags};
use fairground_model::Op;
use fairground_stdx::{CpuId, CpuMask, SgId};

/// What is kept of all groups.
#[derive(Clone, Debug)]
pub(crate) struct GroupStats {
    /// CPUs that have changed since their groups were last added up.
    changed: CpuMask,
    /// By place in the table of rings.
    rows: Vec<Row>,
}

/// The statistics of a group as an idle balancer of another group sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    /// They are those of now.
    fresh: bool,
    stat: SgLbStats,
    /// Some CPU has two tasks or more.
    overload: bool,
}

impl Row {
    const STALE: Row = Row { fresh: false, stat: SgLbStats::IDLEST, overload: false };
}

impl GroupStats {
    /// Nothing is known.
    pub(crate) const fn new() -> GroupStats {
        GroupStats { changed: CpuMask::EMPTY, rows: Vec::new() }
    }

    /// A CPU has changed: its tasks, its averages, whether it is idle, its capacity, or a mark of its groups.
    #[inline]
    pub(crate) fn cpu_changes(&mut self, cpu: CpuId) {
        self.changed.insert(cpu);
    }

    /// Nothing of what is kept holds any more: there are other groups, or other rules.
    pub(crate) fn forget(&mut self) {
        self.rows.clear();
    }
}

impl Sched {
    /// Whether the statistics of the domain's groups depend on nothing but the CPUs in them: groups do not intersect,
    /// all their CPUs are looked at, none is better than another, and the domain is not one of before a hotplug.
    pub(super) fn keeps_group_stats(&self, env: &LbEnv) -> bool {
        let domain = &self.topology.domains[env.sd];
        let special = SdFlags::NUMA.with(SdFlags::ASYM_PACKING).with(SdFlags::ASYM_CPUCAPACITY);
        env.idle != CpuIdleType::NotIdle
            && !domain.flags.intersects(special)
            && domain.span.is_subset(&env.cpus)
            && self.topology.domains_of(domain.cpu).any(|sd| sd == env.sd)
    }

    /// The sums of a domain, from those kept of its groups.
    pub(super) fn add_up_kept_groups(&mut self, cx: &mut Ctx<'_, '_>, env: &LbEnv, local: SgId) -> (SdLbStats, bool) {
        self.refresh_group_stats(env);
        let domain = &self.topology.domains[env.sd];
        cx.meter.count_n(Op::LbCpu, u64::from(domain.span_weight));
        let own = &self.group_stats.rows[domain.ring_start as usize];
        let local_stat = own.stat.as_local(domain.imbalance_pct, self.topology.groups[local].imbalance);
        let (mut sds, mut overload) = (SdLbStats::of_local(local, local_stat), own.overload);
        for place in (domain.ring_start + 1..domain.groups.end).chain(domain.groups.start..domain.ring_start) {
            let row = &self.group_stats.rows[place as usize];
            overload |= row.overload;
            self.add_group(env, &mut sds, self.topology.rings[place as usize], &row.stat);
        }
        (sds, overload)
    }

    /// Adds up the groups of a domain that have changed.
    fn refresh_group_stats(&mut self, env: &LbEnv) {
        self.note_changed_groups();
        for place in self.topology.domains[env.sd].groups.clone() {
            if !self.group_stats.rows[place as usize].fresh {
                self.group_stats.rows[place as usize] = self.group_row(env, place);
            }
        }
    }

    /// The groups of CPUs that have changed are stale.
    fn note_changed_groups(&mut self) {
        let GroupStats { changed, rows } = &mut self.group_stats;
        rows.resize(self.topology.rings.len(), Row::STALE);
        for cpu in std::mem::replace(changed, CpuMask::EMPTY).iter() {
            for sd in self.topology.domains_of(cpu) {
                rows[self.topology.domains[sd].ring_start as usize].fresh = false;
            }
        }
    }

    fn group_row(&self, env: &LbEnv, place: u32) -> Row {
        let group = self.topology.rings[place as usize];
        let mut overload = false;
        let (mut stat, _) = self.add_up_cpus(env, group, false, &mut overload);
        let group = &self.topology.groups[group];
        stat.group_smt_balance = self.group_smt(env, &stat, group);
        stat.classify(self.topology.domains[env.sd].imbalance_pct, group.imbalance);
        Row { fresh: true, stat, overload }
    }

    /// What is kept of groups none of whose CPUs has changed is what they give now.
    pub(in super::super) fn check_group_stats(&self) -> Result<(), Broken> {
        for sd in self.rqs.ids().flat_map(|cpu| self.topology.domains_of(cpu)) {
            let domain = &self.topology.domains[sd];
            let env = LbEnv::new(sd, domain.cpu, CpuIdleType::NewlyIdle, domain.span, Vec::new());
            if self.group_stats.rows.is_empty() || !self.keeps_group_stats(&env) {
                continue;
            }
            for place in domain.groups.clone() {
                let (kept, group) = (&self.group_stats.rows[place as usize], self.topology.rings[place as usize]);
                let unchanged = !self.topology.groups[group].span.intersects(&self.group_stats.changed);
                hold(!kept.fresh || !unchanged || *kept == self.group_row(&env, place), || {
                    format!("what is kept of {group:?} for {sd:?} is not what it gives now")
                })?;
            }
        }
        Ok(())
    }
}

impl SgLbStats {
    /// The same group as its own CPUs see it: what makes others help it does not count.
    fn as_local(&self, imbalance_pct: u32, imbalance_flag: bool) -> SgLbStats {
        let mut stat = SgLbStats { group_asym_packing: false, group_smt_balance: false, group_misfit_task_load: 0, ..*self };
        stat.classify(imbalance_pct, imbalance_flag);
        stat
    }
}
