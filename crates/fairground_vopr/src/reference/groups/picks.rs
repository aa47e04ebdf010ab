//! Who runs next, by definition: on each level, from the root down, a search through everything that stands there.

use fairground_model::features::Feat;
use fairground_sched::seam::{Pick, Protection};
use fairground_sched::{Profile, Sched};
use fairground_stdx::{CfsRqId, CpuId, SeId};

/// What stands on one level at a pick.
struct Level<'a> {
    profile: &'a Profile,
    sched: &'a Sched,
    entities: Vec<SeId>,
    curr: Option<SeId>,
    /// Virtual time counts from here.
    zero: u64,
}

impl Level<'_> {
    fn at(&self, se: SeId) -> i128 {
        i128::from(self.sched.entity(se).vruntime.0.wrapping_sub(self.zero) as i64)
    }

    fn deadline(&self, se: SeId) -> i128 {
        i128::from(self.sched.entity(se).deadline.0.wrapping_sub(self.zero) as i64)
    }

    fn weight(&self, se: SeId) -> i128 {
        i128::from((self.sched.entity(se).load.weight() >> 10).max(2))
    }

    /// It has not had more than its share: the weighted distances of all from it sum to 0 or more.
    fn eligible(&self, se: SeId) -> bool {
        let lag: i128 = self.entities.iter().map(|&other| (self.at(other) - self.at(se)) * self.weight(other)).sum();
        lag >= 0
    }

    fn protected(&self, se: SeId, before: &Sched) -> bool {
        let (vprot, entity) = (before.entity(se).vprot, self.sched.entity(se));
        match self.profile.protection {
            Protection::None => false,
            Protection::DeadlineMark => self.profile.feats.has(Feat::RUN_TO_PARITY) && vprot == entity.deadline,
            Protection::Vprot | Protection::VprotInLag => vprot.since(entity.vruntime) > 0,
        }
    }

    /// Those of whom any may be picked: with equal keys the order of a tree decides, which is not looked at here.
    fn best(&self, queue: CfsRqId, before: &Sched) -> Vec<SeId> {
        if self.entities.len() == 1 {
            return self.entities.clone();
        }
        let marks = before.queue(queue);
        let smallest = |keys: &dyn Fn(SeId) -> i128, of: &[SeId]| -> Vec<SeId> {
            let least = of.iter().map(|&se| keys(se)).min();
            of.iter().copied().filter(|&se| Some(keys(se)) == least).collect()
        };
        if self.profile.pick == Pick::Leftmost {
            return match (marks.next, marks.last, marks.skip) {
                (None, None, None) => smallest(&|se| self.at(se), &self.entities),
                _ => self.entities.clone(),
            };
        }
        let honours = if self.profile.pick == Pick::EligibleByVruntime { Feat::NEXT_BUDDY } else { Feat::PICK_BUDDY };
        if let Some(buddy) = marks.next.filter(|&se| self.profile.feats.has(honours) && self.eligible(se)) {
            return vec![buddy];
        }
        if let Some(curr) = self.curr.filter(|&se| self.eligible(se) && self.protected(se, before)) {
            return vec![curr];
        }
        let eligible: Vec<SeId> = self.entities.iter().copied().filter(|&se| self.eligible(se)).collect();
        smallest(&|se| self.deadline(se), &eligible)
    }
}

/// Whether `path`, the entities from the root's down to the last that was looked at, is what a search finds on `cpu` as
/// `sched` is. Marks and protection are those `before` the pick, and so are those that run.
pub(super) fn check(sched: &Sched, before: &Sched, cpu: CpuId, path: &[SeId]) -> Result<(), String> {
    let mut queue = sched.rq(cpu).cfs;
    for (depth, &picked) in path.iter().enumerate() {
        let on = |&se: &SeId| sched.entity(se).on_rq && sched.entity(se).cfs_rq == queue;
        let entities: Vec<SeId> = sched.entity_ids().filter(on).collect();
        let curr = before.queue(queue).curr.filter(|se| entities.contains(se));
        let zero = sched.queue(queue).min_vruntime.0;
        let level = Level { profile: sched.profile(), sched, entities, curr, zero };
        let best = level.best(queue, before);
        if !best.contains(&picked) {
            return Err(format!("on level {depth} of CPU {cpu} the core picked {picked:?}, a search finds {best:?}"));
        }
        match sched.entity(picked).my_q {
            Some(below) => queue = below,
            None => return Ok(()),
        }
    }
    Ok(())
}
