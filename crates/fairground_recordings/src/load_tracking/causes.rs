//! What happened between two rows of one entity or queue. The record does not say, but its neighbours do: a task whose next
//! row lies on another queue left one and joined the other, a group's queue that got load hands it up. Each such act, by our
//! functions and from the recorded states of those that took part, either gives the recorded state bit for bit or is not it.

use super::{LoadKind, LoadRow, average, updated};
use fairground_model::version::KernelVersion;
use fairground_sched::pelt::{GroupEntity, PeltClockRule, PeltFamily, Removed, SchedAvg};
use fairground_sched::seam::Seam;
use std::collections::{BTreeMap, BTreeSet};

/// Capacity of the CPUs that were recorded with groups.
const FULL: u32 = 1024;
/// The scaled-down weight of a kernel thread, whose entity is not recorded.
const THREAD_WEIGHT: u64 = 1024;
/// At most so many acts lie between two rows.
const MOST_ACTS: usize = 3;

/// The rules of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Which rules load tracking follows.
    pub family: PeltFamily,
    /// Which clock it reads.
    pub clock: PeltClockRule,
}

impl Rules {
    /// Those of a kernel.
    pub fn at(version: KernelVersion) -> Rules {
        Rules { family: PeltFamily::at(version), clock: PeltClockRule::at(version) }
    }
}

/// What happened between two rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// An entity joined the queue, or this entity joined one.
    Attached,
    /// An entity left the queue.
    Detached,
    /// A sleeper that had left the queue was subtracted.
    Removed,
    /// A group's entity took what happened on the group's queue.
    Propagated,
    /// A group's entity was given its weight anew.
    Reweighted,
    /// Several of these.
    Several,
    /// An entity joined the queue that is not recorded: the sums follow from the change of the averages.
    Stranger,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 7] =
        [Cause::Attached, Cause::Detached, Cause::Removed, Cause::Propagated, Cause::Reweighted, Cause::Several, Cause::Stranger];
}

/// How a row follows from the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Exact,
    After(Cause),
    Unexplained,
}

/// One act, with the states of those who take part beside the queue and the group's entity on it.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// An entity of these averages and this weight joins.
    Attach(SchedAvg, u64),
    /// An entity of this state leaves.
    Detach(SchedAvg, u64),
    /// An entity of this state, which left while it slept, is subtracted.
    Remove(SchedAvg),
    /// An entity that had no load, and is not recorded, is subtracted: what is left is put right all the same.
    NobodyLeft,
    /// The group's entity takes the state of the group's queue of this load, to which this sum came.
    Propagate { group: SchedAvg, group_weight: u64, sum: i64 },
    /// The group's entity gets its weight again.
    Reweight,
}

impl Act {
    const fn cause(self) -> Cause {
        match self {
            Act::Attach(..) => Cause::Attached,
            Act::Detach(..) => Cause::Detached,
            Act::Remove(_) | Act::NobodyLeft => Cause::Removed,
            Act::Propagate { .. } => Cause::Propagated,
            Act::Reweight => Cause::Reweighted,
        }
    }
    /// Whether it is about a group's entity.
    const fn is_of_group(self) -> bool {
        matches!(self, Act::Propagate { .. } | Act::Reweight)
    }
}

/// What a chain of acts works on.
#[derive(Clone, Copy)]
struct Place {
    queue: SchedAvg,
    /// The entity of a group on it, with its weights before and after.
    entity: SchedAvg,
    weights: (u64, u64),
    /// What came to the queue (left it, if negative).
    sum: i64,
}

/// What is known of an entity or queue.
#[derive(Clone, Copy)]
struct Known {
    /// Its last row.
    row: usize,
    /// The queue on which it was last.
    queue: Option<u32>,
    /// The state before the update of that row, and after it and what happened since.
    before: SchedAvg,
    now: SchedAvg,
}

/// A record, as far as it was read.
pub(super) struct Tracked<'r> {
    rules: Rules,
    rows: &'r [LoadRow],
    known: BTreeMap<u32, Known>,
    /// The row of the same number that comes next.
    next: Vec<Option<usize>>,
    /// What came to a queue or left it, and was not yet seen to reach the group's entity.
    sums: BTreeMap<u32, Vec<i64>>,
    queues: BTreeSet<u32>,
}

impl<'r> Tracked<'r> {
    pub(super) fn new(rules: Rules, rows: &'r [LoadRow]) -> Tracked<'r> {
        let mut later: BTreeMap<u32, usize> = BTreeMap::new();
        let mut next: Vec<Option<usize>> = rows.iter().enumerate().rev().map(|row| later.insert(row.1.id, row.0)).collect();
        next.reverse();
        let queues = rows.iter().filter(|row| row.kind == LoadKind::Queue).map(|row| row.id).collect();
        Tracked { rules, rows, known: BTreeMap::new(), next, sums: BTreeMap::new(), queues }
    }

    /// How the state of a row follows from what is known; `None` if it is the first of its entity or queue.
    pub(super) fn compare(&mut self, index: usize) -> Option<Verdict> {
        let row = &self.rows[index];
        let known = *self.known.get(&row.id)?;
        let found = average(&row.before);
        if known.now == found {
            return Some(Verdict::Exact);
        }
        Some(match row.kind {
            LoadKind::Task | LoadKind::Blocked => self.task(row, known.now, found),
            LoadKind::Group => self.group(row, found),
            LoadKind::Queue => self.queue(row, index, found),
        })
    }

    /// Makes the update of a row.
    pub(super) fn update(&mut self, index: usize) {
        let row = &self.rows[index];
        let queue = row.queue.or_else(|| self.known.get(&row.id)?.queue);
        let known = Known { row: index, queue, before: average(&row.before), now: updated(self.rules.family, row) };
        self.known.insert(row.id, known);
    }

    /// A task's own row: it joined a queue, whose times and place in the period are those of the row.
    fn task(&self, row: &LoadRow, mut se: SchedAvg, found: SchedAvg) -> Verdict {
        let SchedAvg { last_update_time, period_contrib, .. } = found;
        let mut queue = SchedAvg { last_update_time, period_contrib, ..SchedAvg::default() };
        self.rules.family.attach(&mut queue, &mut se, row.input.weight);
        if se == found { Verdict::After(Cause::Attached) } else { Verdict::Unexplained }
    }

    /// A row of a group's entity: it took what happened below, or its weight.
    fn group(&mut self, row: &LoadRow, found: SchedAvg) -> Verdict {
        let Some(above) = row.queue.filter(|id| self.known.contains_key(id)) else { return Verdict::Unexplained };
        let acts: Vec<Act> = self.acts_of_group(row).collect();
        let start = self.place(above, row, |known| known.now);
        let Some((chain, end)) = self.search(start, &acts, |place| place.entity == found) else { return Verdict::Unexplained };
        self.set(above, end.queue);
        self.add_sum(above, end.sum);
        Verdict::After(cause_of(&chain))
    }

    /// A queue's row: entities joined or left it, or a group's entity on it changed.
    fn queue(&mut self, row: &LoadRow, index: usize, found: SchedAvg) -> Verdict {
        let tasks: Vec<Act> = self.acts_of_tasks(row, index).collect();
        let entities: Vec<LoadRow> = self.groups_on(row.id).map(|known| self.rows[known.row]).collect();
        if entities.is_empty() {
            let alone = Place { queue: self.known[&row.id].now, entity: SchedAvg::default(), weights: (0, 0), sum: 0 };
            return self.settle(row, alone, None, &tasks, found);
        }
        for entity in entities {
            let acts: Vec<Act> = tasks.iter().copied().chain(self.acts_of_group(&entity)).collect();
            // The entity's row of this very update may stand before the queue's.
            for state in [|known: &Known| known.now, |known: &Known| known.before] {
                let start = self.place(row.id, &entity, state);
                let verdict = self.settle(row, start, Some(entity.id), &acts, found);
                if verdict != Verdict::Unexplained {
                    return verdict;
                }
            }
        }
        Verdict::Unexplained
    }

    /// Looks for acts that give a queue's state, and keeps what else they changed.
    fn settle(&mut self, row: &LoadRow, start: Place, entity: Option<u32>, acts: &[Act], found: SchedAvg) -> Verdict {
        if let Some((chain, end)) = self.search(start, acts, |place| place.queue == found) {
            self.add_sum(row.id, end.sum);
            let of_group = chain.iter().any(|act| act.is_of_group());
            if let Some(id) = entity.filter(|id| of_group && self.known[id].now == start.entity) {
                self.set(id, end.entity);
            }
            return Verdict::After(cause_of(&chain));
        }
        match self.stranger(start.queue, found) {
            true => Verdict::After(Cause::Stranger),
            false => Verdict::Unexplained,
        }
    }

    /// Whether an entity that is not recorded joined the queue: the averages changed by its averages, and its sums follow from
    /// these. One that left has sums of its own, which no record tells.
    fn stranger(&self, mut queue: SchedAvg, found: SchedAvg) -> bool {
        let mut se = SchedAvg {
            load_avg: found.load_avg.wrapping_sub(queue.load_avg),
            runnable_avg: found.runnable_avg.wrapping_sub(queue.runnable_avg),
            util_avg: found.util_avg.wrapping_sub(queue.util_avg),
            ..SchedAvg::default()
        };
        let whole = u64::from(FULL);
        if se.load_avg > whole || se.runnable_avg > whole || se.util_avg > FULL {
            return false;
        }
        self.rules.family.attach(&mut queue, &mut se, THREAD_WEIGHT);
        queue == found
    }

    /// The shortest chain of acts after which the place is as asked.
    fn search(&self, start: Place, acts: &[Act], is_found: impl Fn(&Place) -> bool) -> Option<(Vec<Act>, Place)> {
        let mut chains = vec![(Vec::new(), start)];
        for _ in 0..MOST_ACTS {
            let mut longer = Vec::new();
            for (chain, place) in &chains {
                for &act in acts {
                    let after = self.act(*place, act);
                    let chain: Vec<Act> = chain.iter().copied().chain([act]).collect();
                    if is_found(&after) {
                        return Some((chain, after));
                    }
                    longer.push((chain, after));
                }
            }
            chains = longer;
        }
        None
    }

    fn act(&self, mut place: Place, act: Act) -> Place {
        let Rules { family, clock } = self.rules;
        match act {
            Act::Attach(mut se, weight) => place.sum += family.attach(&mut place.queue, &mut se, weight),
            Act::Detach(se, weight) => place.sum += family.detach(&mut place.queue, &se, weight),
            Act::NobodyLeft => return self.act(place, Act::Remove(SchedAvg::default())),
            Act::Remove(mut se) => {
                let mut removed = Removed::default();
                family.remove(&mut removed, &mut se);
                place.sum += family.consume_removed(&mut place.queue, &mut removed).unwrap_or(0);
            }
            Act::Propagate { group, group_weight, sum } => {
                let (queue, se) = (&mut place.queue, &mut place.entity);
                family.propagate_util(queue, se, &group);
                family.propagate_runnable(queue, se, &group);
                let weight = place.weights.0;
                let entity = GroupEntity { se, weight, runnable_weight: weight, on_rq: false };
                family.propagate_load(clock, queue, entity, (&group, group_weight), sum, FULL);
                place.sum += sum;
            }
            Act::Reweight => {
                let (old, new) = place.weights;
                family.reweight(&mut place.queue, &mut place.entity, old, new, new);
                place.weights.0 = new;
            }
        }
        place
    }

    /// A queue and a group's entity on it, of which this is the last or present row.
    fn place(&self, queue: u32, entity: &LoadRow, state: impl Fn(&Known) -> SchedAvg) -> Place {
        let known = &self.known[&entity.id];
        let old = self.rows[known.row].input.weight;
        Place { queue: self.known[&queue].now, entity: state(known), weights: (old, entity.input.weight), sum: 0 }
    }

    /// What may have happened to a group's entity, of which this is a row.
    fn acts_of_group<'s>(&'s self, entity: &LoadRow) -> impl Iterator<Item = Act> + 's {
        let above = entity.queue;
        let below = self.queues.iter().filter(move |id| Some(**id) != above && self.known.contains_key(id));
        let propagations = below.flat_map(move |id| {
            let known = self.known[id];
            let following = self.next[known.row].map(|next| &self.rows[next]);
            let states = [Some((known.now, self.rows[known.row].input.weight)), following.map(of_row)];
            let sums = self.sums.get(id).map(Vec::as_slice).unwrap_or_default();
            states
                .into_iter()
                .flatten()
                .flat_map(move |(group, group_weight)| sums.iter().map(move |&sum| Act::Propagate { group, group_weight, sum }))
        });
        propagations.chain([Act::Reweight])
    }

    /// The tasks that may have joined the queue of this row, or left it.
    fn acts_of_tasks<'s>(&'s self, row: &LoadRow, index: usize) -> impl Iterator<Item = Act> + 's {
        let queue = row.id;
        let joins = self.rows[index..].iter().enumerate().filter_map(move |(offset, later)| {
            let is_next = self.known.get(&later.id).is_none_or(|known| self.next[known.row] == Some(index + offset));
            let joins =
                later.kind == LoadKind::Task && later.queue == Some(queue) && is_next && self.is_first(index + offset, index);
            joins.then(|| Act::Attach(average(&later.before), later.input.weight))
        });
        let is_task = |known: &&Known| matches!(self.rows[known.row].kind, LoadKind::Task | LoadKind::Blocked);
        let tasks = self.known.values().filter(move |known| known.queue == Some(queue)).filter(is_task);
        let leaves = tasks.flat_map(|known| [Act::Detach(known.now, self.rows[known.row].input.weight), Act::Remove(known.now)]);
        joins.chain(leaves).chain([Act::NobodyLeft])
    }

    /// Whether the row is the first of its number from `index` on.
    fn is_first(&self, row: usize, index: usize) -> bool {
        !self.rows[index..row].iter().any(|earlier| earlier.id == self.rows[row].id)
    }

    /// The entities of groups on a queue.
    fn groups_on(&self, queue: u32) -> impl Iterator<Item = &Known> {
        let is_on = move |row: &LoadRow| row.kind == LoadKind::Group && row.queue == Some(queue);
        self.known.values().filter(move |known| is_on(&self.rows[known.row]))
    }

    fn set(&mut self, id: u32, now: SchedAvg) {
        self.known.entry(id).and_modify(|known| known.now = now);
    }

    fn add_sum(&mut self, queue: u32, sum: i64) {
        if sum != 0 {
            let sums = self.sums.entry(queue).or_default();
            sums.retain(|known| *known != sum);
            sums.push(sum);
        }
    }
}

fn of_row(row: &LoadRow) -> (SchedAvg, u64) {
    (average(&row.before), row.input.weight)
}

fn cause_of(chain: &[Act]) -> Cause {
    let mut causes = chain.iter().map(|act| act.cause());
    let first = causes.next().expect("invariant: a chain has an act");
    if causes.all(|cause| cause == first) { first } else { Cause::Several }
}
