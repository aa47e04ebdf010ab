//! What is kept is what a walk over the CPUs gives.

use super::{Rank, Ring};
use crate::Sched;
use crate::check::{Broken, hold};
use crate::fair::balance::LbEnv;
use crate::fair::balance::group_type::{SdLbStats, SgLbStats};
use crate::topology::CpuIdleType;
use fairground_stdx::SgId;

impl Sched {
    /// What is kept of groups none of whose CPUs has changed is what they give now, and the ranks name the busiest.
    pub(in crate::fair::balance) fn check_group_stats(&self) -> Result<(), Broken> {
        let Some(seats) = &self.group_stats.seats else { return Ok(()) };
        for sd in self.rqs.ids().flat_map(|cpu| self.topology.domains_of(cpu)) {
            let Some(ring) = seats.ring_of(sd).map(|ring| &self.group_stats.rings[ring]) else { continue };
            let domain = &self.topology.domains[sd];
            let env = LbEnv::new(sd, domain.cpu, CpuIdleType::NewlyIdle, domain.span, Vec::new());
            self.check_ring(&env, ring)?;
        }
        Ok(())
    }

    fn check_ring(&self, env: &LbEnv, ring: &Ring) -> Result<(), Broken> {
        let domain = &self.topology.domains[env.sd];
        for place in 0..ring.rows.len() {
            self.check_kept_group(env, ring, place)?;
        }
        let sum = |part: fn(&SgLbStats) -> u64| ring.rows.iter().map(|row| part(&row.stat)).sum::<u64>();
        let sums = (sum(|stat| stat.group_load), sum(|stat| stat.sums.group_capacity), sum(|stat| stat.sums.group_util));
        let overloaded = domain.span.iter().filter(|&cpu| self.group_stats.cpus[cpu].overloaded > 0).count() as u64;
        let right = (ring.total_load, ring.total_capacity, ring.total_util) == sums && ring.overloaded_cpus == overloaded;
        hold(right, || format!("what is kept of {:?} in all is wrong", env.sd))?;
        if !ring.stale.is_empty() {
            // Ranks follow when somebody balances here.
            return Ok(());
        }
        let ranked = self.busiest_kept(ring, ring.local(domain)).map(|place| ring.groups[place]);
        let compared = self.busiest_by_comparison(env, ring);
        hold(ranked == compared, || format!("{:?}: by rank the busiest group is {ranked:?}, compared {compared:?}", env.sd))
    }

    fn check_kept_group(&self, env: &LbEnv, ring: &Ring, place: usize) -> Result<(), Broken> {
        let (row, group) = (&ring.rows[place], &self.topology.groups[ring.groups[place]]);
        hold(ring.stale.contains(&place) == row.stale, || format!("{:?}: place {place} is stale, or not", env.sd))?;
        if row.stale || group.span.intersects(&self.group_stats.changed) {
            return Ok(());
        }
        let mut now = SgLbStats::without_cpus(group);
        group.cpus.iter().for_each(|&cpu| now.add(&self.cpu_stat(cpu)));
        self.look_for_needs(env, group, &mut now);
        now.classify(self.topology.domains[env.sd].imbalance_pct, group.imbalance);
        let ranked = ring.ranks.get(place) == Rank::of(&row.stat, ring.alike);
        hold(row.stat == now && ranked, || format!("what is kept of {} for {:?} is not what it gives now", group.span, env.sd))
    }

    /// The busiest of the groups as they are kept, each compared in full with the best so far.
    fn busiest_by_comparison(&self, env: &LbEnv, ring: &Ring) -> Option<SgId> {
        let local = ring.local(&self.topology.domains[env.sd]);
        let mut sds = SdLbStats::new(ring.groups[local]);
        for place in (local + 1..ring.rows.len()).chain(0..local) {
            self.note_if_busier(env, &mut sds, ring.groups[place], &ring.rows[place].stat);
        }
        sds.busiest
    }
}
