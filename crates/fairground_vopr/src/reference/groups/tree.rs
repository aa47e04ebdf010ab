//! Groups, their queues and entities as plain rows, and what load does on a single queue.

use super::rules::{Propagation, Rules};
use fairground_sched::pelt::{CfsRqLoad, LOAD_AVG_MAX, PELT_MIN_DIVIDER, PeltFamily, Scale, SchedAvg, SeLoad};

/// A group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) parent: Option<usize>,
    pub(super) shares: u64,
    pub(super) idle: bool,
    pub(super) load_avg: u64,
    /// Its weight, or that of a group in it, was written when it was made.
    pub(super) written: bool,
}

/// The queue of a group, or of the root, on a CPU.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) cpu: usize,
    pub(super) group: Option<usize>,
    /// The entity that stands for it.
    pub(super) entity: Option<usize>,
    pub(super) avg: SchedAvg,
    /// What left while it slept: tasks, load, utilisation, and time runnable or runnable tasks.
    pub(super) gone: (u32, u64, u64, u64),
    pub(super) told: u64,
    pub(super) told_at: u64,
    /// Something came or went for good, and how much of time.
    pub(super) changed: bool,
    pub(super) change: i64,
    pub(super) curr: Option<usize>,
    pub(super) tasks: u32,
    pub(super) runnable: u32,
    pub(super) load: u64,
    pub(super) second_load: u64,
    pub(super) nr: u32,
}

/// A task, or a group on a CPU.
#[derive(Clone, Debug)]
pub(super) struct Entity {
    /// The queue on which it stands, or would.
    pub(super) queue: usize,
    /// The queue for which it stands.
    pub(super) below: Option<usize>,
    pub(super) weight: u64,
    pub(super) second: u64,
    pub(super) avg: SchedAvg,
    pub(super) on: bool,
    pub(super) delayed: bool,
}

fn less(from: &mut u64, what: u64) {
    *from = from.saturating_sub(what);
}

fn plus(to: &mut u64, what: i64) {
    *to = to.saturating_add_signed(what);
}

/// What sums are divided by.
pub(super) fn divider(family: PeltFamily, avg: &SchedAvg) -> u64 {
    if family == PeltFamily::A { LOAD_AVG_MAX } else { PELT_MIN_DIVIDER + u64::from(avg.period_contrib) }
}

/// Whether the averages count runnable tasks.
fn counts(family: PeltFamily) -> bool {
    matches!(family, PeltFamily::D | PeltFamily::DWhole)
}

/// No sum is less than its average needs. Up to v6.18 the comparison sees 32 bits of each, and leaves no more.
fn lifted(family: PeltFamily, sum: u64, avg: u64) -> u64 {
    let needed = avg * PELT_MIN_DIVIDER;
    match family {
        PeltFamily::D => (sum % (1 << 32)).max(needed % (1 << 32)),
        _ => sum.max(needed),
    }
}

fn lift(family: PeltFamily, avg: &mut SchedAvg) {
    avg.load_sum = lifted(family, avg.load_sum, avg.load_avg);
    avg.runnable_sum = lifted(family, avg.runnable_sum, avg.runnable_avg);
    avg.util_sum = avg.util_sum.max(avg.util_avg * PELT_MIN_DIVIDER as u32);
}

impl Queue {
    pub(super) fn new(cpu: usize, group: Option<usize>, entity: Option<usize>) -> Queue {
        Queue {
            cpu,
            group,
            entity,
            avg: SchedAvg::default(),
            gone: (0, 0, 0, 0),
            told: 0,
            told_at: 0,
            changed: false,
            change: 0,
            curr: None,
            tasks: 0,
            runnable: 0,
            load: 0,
            second_load: 0,
            nr: 0,
        }
    }

    /// Something came (`time` > 0) or went for good.
    pub(super) fn changes(&mut self, time: i64) {
        if self.entity.is_some() {
            self.changed = true;
            self.change += time;
        }
    }

    /// update_cfs_rq_load_avg(): what left is subtracted, then it is aged.
    pub(super) fn age(&mut self, rules: &Rules, now: u64) -> bool {
        let (nr, load, util, time) = std::mem::take(&mut self.gone);
        if nr > 0 {
            let by = divider(rules.family, &self.avg);
            let avg = &mut self.avg;
            less(&mut avg.load_avg, load);
            less(&mut avg.load_sum, load * by);
            avg.util_avg = avg.util_avg.saturating_sub(util as u32);
            avg.util_sum = avg.util_sum.saturating_sub((util * by) as u32);
            let change = match rules.family {
                PeltFamily::A => 0,
                PeltFamily::B | PeltFamily::C => -(time as i64),
                PeltFamily::DSynced => unreachable!("invariant: no profile of this model has it"),
                PeltFamily::D | PeltFamily::DWhole => {
                    less(&mut avg.runnable_avg, time);
                    less(&mut avg.runnable_sum, time * by);
                    lift(rules.family, avg);
                    (-((time * by) as i64)).div_euclid(1024)
                }
            };
            self.changes(change);
        }
        let weight = rules.down(self.load);
        let runnable = match rules.propagation {
            Propagation::Averages | Propagation::AveragesAndRunnableLoad => weight,
            Propagation::RunnableSum => rules.down(self.second_load),
            Propagation::RunnableSumAndCounts => u64::from(self.runnable),
        };
        let load = CfsRqLoad { weight, runnable, running: self.curr.is_some() };
        rules.family.update_cfs_rq(now, &mut self.avg, load, Scale::FULL) || nr > 0
    }

    /// The averages of an entity come to the queue: attach_entity_load_avg().
    pub(super) fn attach(&mut self, rules: &Rules, weight: u64, se: &mut SchedAvg) {
        let family = rules.family;
        se.last_update_time = self.avg.last_update_time;
        let mut whole = se.load_sum;
        if family != PeltFamily::A {
            se.period_contrib = self.avg.period_contrib;
            let by = divider(family, se);
            se.util_sum = se.util_avg * by as u32;
            whole = se.load_avg * by;
            if counts(family) {
                se.runnable_sum = se.runnable_avg * by;
                se.load_sum = if weight < whole { whole / weight } else { 1 };
                self.avg.runnable_avg += se.runnable_avg;
                self.avg.runnable_sum += se.runnable_sum;
            } else {
                se.load_sum = whole.checked_div(weight).unwrap_or(by);
                se.runnable_sum = se.load_sum;
            }
            whole = weight * se.load_sum;
        }
        self.avg.load_avg += se.load_avg;
        self.avg.load_sum += whole;
        if family == PeltFamily::DWhole {
            self.avg.load_sum = lifted(family, self.avg.load_sum, self.avg.load_avg);
        }
        self.avg.util_avg += se.util_avg;
        self.avg.util_sum += se.util_sum;
        self.changes(if family == PeltFamily::A { 0 } else { se.load_sum as i64 });
    }

    /// The averages of an entity leave the queue: detach_entity_load_avg().
    pub(super) fn detach(&mut self, rules: &Rules, weight: u64, se: &SchedAvg) {
        let (family, avg) = (rules.family, &mut self.avg);
        less(&mut avg.load_avg, se.load_avg);
        less(&mut avg.load_sum, if family == PeltFamily::A { se.load_sum } else { weight * se.load_sum });
        avg.util_avg = avg.util_avg.saturating_sub(se.util_avg);
        avg.util_sum = avg.util_sum.saturating_sub(se.util_sum);
        if counts(family) {
            less(&mut avg.runnable_avg, se.runnable_avg);
            less(&mut avg.runnable_sum, se.runnable_sum);
            lift(rules.family, avg);
        }
        self.changes(if family == PeltFamily::A { 0 } else { -(se.load_sum as i64) });
    }

    /// An entity's runnable load comes, or goes, and with it the second weight of v4.15 to v5.6.
    pub(super) fn runnable_load(&mut self, rules: &Rules, entity: &Entity, comes: bool) {
        let counts = match rules.propagation {
            Propagation::Averages | Propagation::RunnableSum => true,
            Propagation::AveragesAndRunnableLoad => entity.below.is_none(),
            Propagation::RunnableSumAndCounts => false,
        };
        if !counts {
            return;
        }
        let second = entity.second();
        let (avg, sum) = match rules.propagation {
            Propagation::RunnableSum => (entity.avg.runnable_avg, rules.down(second) * entity.avg.runnable_sum),
            _ => (entity.avg.load_avg, entity.avg.load_sum),
        };
        if comes {
            self.second_load += second;
            self.avg.runnable_avg += avg;
            self.avg.runnable_sum += sum;
        } else {
            self.second_load -= second;
            less(&mut self.avg.runnable_avg, avg);
            less(&mut self.avg.runnable_sum, sum);
        }
    }
}

impl Entity {
    /// Its second weight: that of a task is its weight.
    pub(super) fn second(&self) -> u64 {
        if self.below.is_some() { self.second } else { self.weight }
    }

    /// The averages of an entity age: __update_load_avg_se().
    pub(super) fn age(&mut self, rules: &Rules, now: u64, running: bool) {
        let weight = rules.down(self.weight);
        let runnable = match (rules.propagation, self.below) {
            (Propagation::Averages, _) | (Propagation::AveragesAndRunnableLoad, None) => 0,
            (Propagation::AveragesAndRunnableLoad, Some(_)) | (Propagation::RunnableSum, None) => weight,
            (Propagation::RunnableSum, Some(_)) => rules.down(self.second),
            (Propagation::RunnableSumAndCounts, _) if self.delayed => 0,
            (Propagation::RunnableSumAndCounts, None) => 1,
            (Propagation::RunnableSumAndCounts, Some(_)) => self.second,
        };
        let load = SeLoad { on_rq: self.on, running, runnable, weight };
        rules.family.update_se(now, &mut self.avg, load, Scale::FULL);
    }

    pub(super) fn age_blocked(&mut self, rules: &Rules, now: u64) {
        let weight = rules.down(self.weight);
        rules.family.update_blocked_se(now, &mut self.avg, weight, weight, Scale::FULL);
    }

    /// reweight_entity(): the load on the queue follows the weight (not family A).
    pub(super) fn reweigh(&mut self, rules: &Rules, queue: &mut Queue, weight: u64, second: u64) {
        if self.on {
            queue.load -= self.weight;
            if rules.propagation == Propagation::RunnableSum {
                queue.runnable_load(rules, self, false);
            }
        }
        let keeps_averages = rules.family == PeltFamily::A;
        if !keeps_averages {
            less(&mut queue.avg.load_avg, self.avg.load_avg);
            less(&mut queue.avg.load_sum, rules.down(self.weight) * self.avg.load_sum);
        }
        if counts(rules.family) {
            // Recorded on 6.1: what is left of the sum is no less than the average needs at the start of a period.
            queue.avg.load_sum = lifted(rules.family, queue.avg.load_sum, queue.avg.load_avg);
        }
        self.weight = weight;
        if rules.propagation == Propagation::RunnableSum && self.below.is_some() {
            self.second = second;
        }
        if !keeps_averages {
            let by = divider(rules.family, &self.avg);
            self.avg.load_avg = rules.down(weight) * self.avg.load_sum / by;
            if rules.propagation == Propagation::RunnableSum {
                self.avg.runnable_avg = rules.down(second) * self.avg.runnable_sum / by;
            }
            queue.avg.load_avg += self.avg.load_avg;
            queue.avg.load_sum += rules.down(weight) * self.avg.load_sum;
            if rules.family == PeltFamily::DWhole {
                queue.avg.load_sum = lifted(rules.family, queue.avg.load_sum, queue.avg.load_avg);
            }
        }
        if self.on {
            queue.load += self.weight;
            if rules.propagation == Propagation::RunnableSum {
                queue.runnable_load(rules, self, true);
            }
        }
    }

    /// update_tg_cfs_util() and the two beside it: utilisation, runnable tasks and load of the queue `below` reach the entity and `above`.
    pub(super) fn take(&mut self, rules: &Rules, above: &mut Queue, below: &Queue, change: i64, share: u64) {
        let (d, parent, group) = (counts(rules.family), &mut above.avg, &below.avg);
        let by = if d { divider(rules.family, parent) } else { LOAD_AVG_MAX };
        let util = i64::from(group.util_avg) - i64::from(self.avg.util_avg);
        if util != 0 {
            let sum = group.util_avg * by as u32;
            let moved = i64::from(sum) - i64::from(self.avg.util_sum);
            (self.avg.util_avg, self.avg.util_sum) = (group.util_avg, sum);
            parent.util_avg = (i64::from(parent.util_avg) + util).max(0) as u32;
            parent.util_sum = match d {
                true => ((i64::from(parent.util_sum) + moved).max(0) as u32).max(parent.util_avg * PELT_MIN_DIVIDER as u32),
                false => parent.util_avg * LOAD_AVG_MAX as u32,
            };
        }
        let tasks = group.runnable_avg as i64 - self.avg.runnable_avg as i64;
        if d && tasks != 0 {
            let sum = if rules.family == PeltFamily::D { group.runnable_avg * by % (1 << 32) } else { group.runnable_avg * by };
            let moved = sum as i64 - self.avg.runnable_sum as i64;
            (self.avg.runnable_avg, self.avg.runnable_sum) = (group.runnable_avg, sum);
            plus(&mut parent.runnable_avg, tasks);
            plus(&mut parent.runnable_sum, moved);
            parent.runnable_sum = lifted(rules.family, parent.runnable_sum, parent.runnable_avg);
        }
        match rules.propagation {
            Propagation::Averages | Propagation::AveragesAndRunnableLoad => self.take_average(rules, above, share),
            Propagation::RunnableSum | Propagation::RunnableSumAndCounts => self.take_time(rules, above, below, change, by),
        }
    }

    fn take_average(&mut self, rules: &Rules, above: &mut Queue, share: u64) {
        let delta = share as i64 - self.avg.load_avg as i64;
        if delta == 0 {
            return;
        }
        (self.avg.load_avg, self.avg.load_sum) = (share, share * LOAD_AVG_MAX);
        plus(&mut above.avg.load_avg, delta);
        above.avg.load_sum = above.avg.load_avg * LOAD_AVG_MAX;
        if rules.propagation == Propagation::Averages && self.on {
            plus(&mut above.avg.runnable_avg, delta);
            above.avg.runnable_sum = above.avg.runnable_avg * LOAD_AVG_MAX;
        }
    }

    fn take_time(&mut self, rules: &Rules, above: &mut Queue, below: &Queue, change: i64, by: u64) {
        if change == 0 {
            return;
        }
        let weight = rules.down(self.weight);
        let time = match change > 0 {
            true => (self.avg.load_sum + change as u64).min(by),
            false => self.avg.load_sum.min(below.avg.load_sum.checked_div(rules.down(below.load)).unwrap_or(0)),
        };
        let time = time.max(u64::from(self.avg.util_sum >> 10));
        let load = weight * time / by;
        let delta = load as i64 - self.avg.load_avg as i64;
        let d = counts(rules.family);
        if d && delta == 0 {
            return;
        }
        plus(&mut above.avg.load_avg, delta);
        plus(&mut above.avg.load_sum, (weight * time) as i64 - (weight * self.avg.load_sum) as i64);
        (self.avg.load_avg, self.avg.load_sum) = (load, time);
        if d {
            above.avg.load_sum = lifted(rules.family, above.avg.load_sum, above.avg.load_avg);
            return;
        }
        let second = rules.down(self.second);
        let runnable = second * time / by;
        let delta = runnable as i64 - self.avg.runnable_avg as i64;
        // Sic: the weight, not the second one (4.20).
        let moved = (second * time) as i64 - (weight * self.avg.runnable_sum) as i64;
        (self.avg.runnable_avg, self.avg.runnable_sum) = (runnable, time);
        if self.on {
            plus(&mut above.avg.runnable_avg, delta);
            plus(&mut above.avg.runnable_sum, moved);
        }
    }
}
