//! Entities and queues as plain lists. Every sum is taken afresh, in 128 bits, whenever it is asked for.

use super::super::rules::Weight;
use super::kernel::{EmptyQueue, Kernel, Protection, Switches, Ties, Unprotected, Yield};

/// A task in virtual time. All times are in ns; virtual ones count from the first minimum of the queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entity {
    pub(super) weight: Weight,
    /// Its kernel divides by the weight itself.
    pub(super) divides: bool,
    pub(super) vruntime: i128,
    /// Measured from `vruntime` while `relative` is set.
    pub(super) deadline: i128,
    pub(super) relative: bool,
    /// What it was owed when it last left a queue.
    pub(super) lag: i128,
    pub(super) slice: u64,
    /// It asked for that slice itself.
    pub(super) own_slice: bool,
    /// The deadline that it was picked with, or the virtual time up to which it is protected.
    pub(super) protection: Option<i128>,
    pub(super) on_rq: bool,
    /// Asleep, but still on its queue.
    pub(super) delayed: bool,
}

impl Entity {
    pub(super) fn new(weight: Weight, slice: u64) -> Entity {
        Entity {
            weight,
            divides: false,
            vruntime: 0,
            deadline: 0,
            relative: false,
            lag: 0,
            slice,
            own_slice: false,
            protection: None,
            on_rq: false,
            delayed: false,
        }
    }

    pub(super) fn w(&self) -> i128 {
        i128::from(self.weight.weight)
    }

    fn virtual_time(&self, delta: u64) -> i128 {
        match self.divides {
            true => i128::from(delta) * 1024 / self.w(),
            false => i128::from(self.weight.virtual_time(delta)),
        }
    }

    /// The virtual length of its request.
    pub(super) fn request(&self) -> i128 {
        self.virtual_time(self.slice)
    }
}

/// How an entity leaves its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leave {
    /// To sleep: it may have to stay until its lag is used up.
    Sleep,
    /// To sleep, after it stayed.
    SleepAtLast,
    /// For ever.
    Exit,
    /// To come back at once, with another weight.
    Restore,
    /// For another queue.
    Move,
}

/// One queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Queue {
    /// Who waits, in order of arrival.
    pub(super) waiting: Vec<usize>,
    pub(super) curr: Option<usize>,
    pub(super) next_buddy: Option<usize>,
    /// The floor that an empty queue starts from again.
    pub(super) min_vruntime: i128,
}

/// Queues with all entities, and the rules between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fair {
    pub(super) kernel: Kernel,
    pub(super) has: Switches,
    /// The length of a tick.
    pub(super) tick: u64,
    pub(super) entities: Vec<Entity>,
    pub(super) queues: Vec<Queue>,
}

impl Fair {
    /// Everybody on a queue, the running entity last.
    pub(super) fn on_queue(&self, queue: usize) -> Vec<usize> {
        let Queue { waiting, curr, .. } = &self.queues[queue];
        waiting.iter().copied().chain(curr.filter(|&curr| self.entities[curr].on_rq)).collect()
    }

    /// Sum of weight * vruntime, and sum of weights.
    fn sums(&self, queue: usize) -> (i128, i128) {
        let all = self.on_queue(queue);
        let entities = all.iter().map(|&row| &self.entities[row]);
        entities.fold((0, 0), |(moment, weight), entity| (moment + entity.w() * entity.vruntime, weight + entity.w()))
    }

    /// The weighted average of virtual time, rounded down.
    pub(super) fn average(&self, queue: usize) -> i128 {
        match self.sums(queue) {
            (_, 0) => self.queues[queue].min_vruntime,
            (moment, weight) => moment.div_euclid(weight),
        }
    }

    /// Whether nothing is owed by `row`: its lag is not negative.
    pub(super) fn eligible(&self, queue: usize, row: usize) -> bool {
        let (moment, weight) = self.sums(queue);
        self.entities[row].vruntime * weight <= moment
    }

    /// The average, for who is placed by it: a queue that is left empty starts again from there.
    fn settle(&mut self, queue: usize) {
        if self.kernel.empty_queue == EmptyQueue::LastAsked {
            self.queues[queue].min_vruntime = self.average(queue);
        }
    }

    /// Somebody has joined those that wait, or has left them; `again`: who has joined, and is the current one still, counts twice.
    fn waiting_changed(&mut self, queue: usize, again: Option<usize>) {
        if self.kernel.empty_queue != EmptyQueue::LastJoinedOrLeft {
            return;
        }
        let (mut moment, mut weight) = self.sums(queue);
        if let Some(entity) = again.map(|row| &self.entities[row]) {
            (moment, weight) = (moment + entity.w() * entity.vruntime, weight + entity.w());
        }
        if weight > 0 {
            self.queues[queue].min_vruntime = moment.div_euclid(weight);
        }
    }

    /// The lag of an entity on the queue, within two requests (or a tick, if that is more), or the largest of the queue and a tick.
    pub(super) fn lag(&self, queue: usize, row: usize) -> i128 {
        let entity = &self.entities[row];
        let largest = || self.on_queue(queue).into_iter().map(|row| self.entities[row].slice).max().unwrap_or(0);
        let limit = match self.kernel.lag_by_largest {
            true => largest() + self.tick,
            false => self.tick.max(2 * entity.slice),
        };
        let limit = entity.virtual_time(limit);
        (self.average(queue) - entity.vruntime).clamp(-limit, limit)
    }

    /// The lag that counts of an entity that may be a delayed sleeper.
    fn kept_lag(&self, queue: usize, row: usize) -> i128 {
        let (entity, lag) = (&self.entities[row], self.lag(queue, row));
        match (self.kernel.delayed_lag_bounded && entity.delayed, self.has.delay_zero) {
            (false, _) => lag,
            (true, false) => lag.max(entity.lag),
            (true, true) => lag.max(entity.lag).min(0),
        }
    }

    pub(super) fn raise_min_vruntime(&mut self, queue: usize) {
        if self.kernel.empty_queue != EmptyQueue::Floor {
            return;
        }
        if let Some(least) = self.on_queue(queue).into_iter().map(|row| self.entities[row].vruntime).min() {
            let floor = &mut self.queues[queue].min_vruntime;
            *floor = least.max(*floor);
        }
    }

    /// Gives an entity that is about to be queued its place, so that it has its old lag afterwards.
    pub(super) fn place(&mut self, queue: usize, row: usize, initial: bool) {
        self.settle(queue);
        let (_, weight) = self.sums(queue);
        let mut entity = self.entities[row];
        let mut lag = 0;
        if self.has.place_lag && weight > 0 {
            lag = entity.lag * (weight + entity.w()) / weight;
        }
        entity.vruntime = self.average(queue) - lag;
        if self.kernel.divides && entity.w() > weight && lag != 0 {
            // Heavier than all that are there: where it stands is nearer to the coming average.
            self.queues[queue].min_vruntime = entity.vruntime;
        }
        if entity.relative {
            (entity.relative, entity.deadline) = (false, entity.vruntime + entity.deadline);
        } else {
            let halved = initial && self.has.place_deadline_initial && self.kernel.first_request_lasts;
            entity.deadline = entity.vruntime + entity.request() / if halved { 2 } else { 1 };
        }
        self.entities[row] = entity;
    }

    /// Places and queues an entity.
    pub(super) fn enqueue(&mut self, queue: usize, row: usize, initial: bool) {
        self.place(queue, row, initial);
        self.entities[row].on_rq = true;
        self.queues[queue].waiting.push(row);
        self.waiting_changed(queue, None);
    }

    /// Takes an entity off its queue; false if it has to stay there, delayed.
    pub(super) fn dequeue(&mut self, queue: usize, row: usize, how: Leave) -> bool {
        self.queues[queue].next_buddy.take_if(|marked| *marked == row);
        if how == Leave::Sleep && self.has.delay_dequeue && !self.eligible(queue, row) {
            if self.kernel.delayed_lag_bounded {
                self.settle(queue);
                self.entities[row].lag = self.lag(queue, row);
            }
            self.entities[row].delayed = true;
            return false;
        }
        self.settle(queue);
        let lag = self.kept_lag(queue, row);
        let entity = &mut self.entities[row];
        entity.lag = lag;
        if how == Leave::SleepAtLast {
            entity.delayed = false;
            if self.has.delay_zero {
                entity.lag = lag.min(0);
            }
        }
        if matches!(how, Leave::Restore | Leave::Move) && self.has.place_rel_deadline {
            (entity.relative, entity.deadline) = (true, entity.deadline - entity.vruntime);
        }
        if self.queues[queue].curr != Some(row) {
            self.queues[queue].waiting.retain(|&other| other != row);
            self.waiting_changed(queue, None);
        }
        self.entities[row].on_rq = false;
        if how != Leave::Restore {
            self.raise_min_vruntime(queue);
        }
        true
    }

    /// A delayed entity wakes up: it is queued as if it had never slept, but gains nothing by that.
    pub(super) fn requeue(&mut self, queue: usize, row: usize) {
        if self.kernel.delayed_lag_bounded {
            self.settle(queue);
            let (kept, is) = (self.kept_lag(queue, row), self.average(queue) - self.entities[row].vruntime);
            self.entities[row].lag = kept;
            if kept != is {
                self.queues[queue].waiting.retain(|&other| other != row);
                self.enqueue(queue, row, false);
            }
        } else if self.has.delay_zero {
            self.settle(queue);
            if self.lag(queue, row) > 0 {
                self.queues[queue].waiting.retain(|&other| other != row);
                self.waiting_changed(queue, None);
                self.entities[row].lag = 0;
                self.enqueue(queue, row, false);
            }
        }
        self.entities[row].delayed = false;
    }

    /// Another weight for an entity that is on no queue: what it is owed and asks for is scaled.
    pub(super) fn reweight(&mut self, row: usize, weight: Weight) {
        let entity = &mut self.entities[row];
        let old = std::mem::replace(&mut entity.weight, weight);
        let (old, new) = (i128::from(old.weight), entity.w());
        entity.lag = entity.lag * old / new;
        if entity.relative && self.kernel.scales_requests {
            entity.deadline = entity.deadline * old / new;
        }
    }

    /// Charges the running entity; whether it has to give way.
    pub(super) fn charge(&mut self, queue: usize, row: usize, runtime: u64) -> bool {
        let entity = &mut self.entities[row];
        entity.vruntime += entity.virtual_time(runtime);
        let expired = entity.vruntime >= entity.deadline;
        if expired {
            entity.deadline = entity.vruntime + entity.request();
        }
        if expired {
            self.settle(queue);
        }
        self.raise_min_vruntime(queue);
        let stops = match self.kernel.unprotected {
            Unprotected::GoesOn => false,
            Unprotected::StopsIfNotEligible => self.has.preempt_short && !self.protected(row) && !self.eligible(queue, row),
            Unprotected::Stops => !self.protected(row),
        };
        let resched = self.on_queue(queue).len() > 1 && (expired || stops);
        if resched {
            self.queues[queue].next_buddy.take_if(|marked| *marked == row);
        }
        resched
    }

    pub(super) fn protected(&self, row: usize) -> bool {
        let entity = &self.entities[row];
        match self.kernel.protection {
            Protection::UntilDeadlineMoves => entity.protection == Some(entity.deadline),
            Protection::UpToVprot => entity.protection.is_some_and(|vprot| vprot > entity.vruntime),
        }
    }

    fn smallest_slice(&self, queue: usize) -> Option<u64> {
        self.on_queue(queue).into_iter().map(|row| self.entities[row].slice).min()
    }

    /// A waiting entity gets the CPU.
    pub(super) fn set_next(&mut self, queue: usize, row: usize) {
        let slice = match self.has.run_to_parity {
            true => self.smallest_slice(queue).unwrap_or(u64::MAX),
            false => self.kernel.base_slice,
        };
        self.queues[queue].next_buddy.take_if(|marked| *marked == row);
        self.queues[queue].waiting.retain(|&other| other != row);
        self.waiting_changed(queue, None);
        self.queues[queue].curr = Some(row);
        let entity = &mut self.entities[row];
        let mut protection = entity.deadline;
        if self.kernel.protection == Protection::UpToVprot && slice < entity.slice {
            protection = protection.min(entity.vruntime + entity.virtual_time(slice));
        }
        entity.protection = Some(protection);
    }

    /// The running entity loses the CPU.
    pub(super) fn put_prev(&mut self, queue: usize) {
        let Queue { waiting, curr, .. } = &mut self.queues[queue];
        let back = curr.take().filter(|&row| self.entities[row].on_rq);
        waiting.extend(back);
        if back.is_some() {
            self.waiting_changed(queue, back);
        }
    }

    /// Who runs next, a delayed entity too.
    pub(super) fn pick_next(&self, queue: usize) -> Option<usize> {
        let honoured = if self.kernel.has_pick_buddy { self.has.pick_buddy } else { self.has.next_buddy };
        let buddy = self.queues[queue].next_buddy.filter(|&row| honoured && self.eligible(queue, row));
        buddy.or_else(|| self.pick(queue, true))
    }

    /// The earliest deadline among those to whom something is owed; a protected running entity goes on.
    pub(super) fn pick(&self, queue: usize, protect: bool) -> Option<usize> {
        if let [only] = self.on_queue(queue)[..] {
            return Some(only);
        }
        let curr = self.queues[queue].curr.filter(|&row| self.entities[row].on_rq && self.eligible(queue, row));
        // With a field of its own the protection is only shorter without RUN_TO_PARITY, not gone.
        let protect = protect && (self.has.run_to_parity || self.kernel.protection == Protection::UpToVprot);
        if let Some(row) = curr.filter(|&row| protect && self.protected(row)) {
            return Some(row);
        }
        let waiting = self.queues[queue].waiting.iter().copied().filter(|&row| self.eligible(queue, row));
        let mut candidates: Vec<usize> = waiting.collect();
        match self.kernel.ties {
            Ties::RunningThenVruntime => {
                candidates.sort_by_key(|&row| self.entities[row].vruntime);
                candidates.splice(0..0, curr);
            }
            Ties::ArrivalThenRunning => candidates.extend(curr),
        }
        candidates.into_iter().min_by_key(|&row| self.entities[row].deadline)
    }

    /// Whether a wakee with a shorter request may end the protection of the running entity (kernels with a mark).
    pub(super) fn ends_protection(&self, queue: usize, wakee: usize, curr: usize) -> bool {
        let (short, long) = (&self.entities[wakee], &self.entities[curr]);
        self.has.preempt_short
            && short.slice < long.slice
            && self.eligible(queue, wakee)
            && (short.deadline < long.deadline || !self.eligible(queue, curr))
    }

    /// The wakee is not picked: the running entity is protected for the smallest request on the queue from now on.
    pub(super) fn shrink_protection(&mut self, queue: usize, curr: usize) {
        let slice = self.smallest_slice(queue).unwrap_or(u64::MAX);
        let entity = &mut self.entities[curr];
        let until = entity.vruntime + entity.virtual_time(slice.min(entity.slice));
        entity.protection = entity.protection.map(|vprot| vprot.min(until));
    }

    /// Nothing protects an entity any more from where it is. One that is placed further back while it runs may be before the mark again.
    pub(super) fn cancel_protection(&mut self, row: usize) {
        let entity = &mut self.entities[row];
        entity.protection = match self.kernel.protection {
            Protection::UntilDeadlineMoves => None,
            Protection::UpToVprot => entity.protection.map(|vprot| vprot.min(entity.vruntime)),
        };
    }

    /// Does a just queued entity preempt the running one?
    pub(super) fn wins(&mut self, queue: usize, wakee: usize, curr: usize) -> bool {
        match self.kernel.protection {
            Protection::UntilDeadlineMoves => {
                if self.ends_protection(queue, wakee, curr) {
                    self.entities[curr].protection = None;
                }
                self.pick(queue, true) == Some(wakee)
            }
            Protection::UpToVprot => {
                let short = self.has.preempt_short && self.entities[wakee].slice < self.entities[curr].slice;
                let wins = self.pick(queue, !short) == Some(wakee);
                if wins && short {
                    self.cancel_protection(curr);
                } else if !wins && short && self.has.run_to_parity {
                    self.shrink_protection(queue, curr);
                }
                wins
            }
        }
    }

    /// The wakee is to be the next buddy, unless the present one has the earlier deadline (kernels in which forks wait).
    pub(super) fn offer_buddy(&mut self, queue: usize, wakee: usize) {
        let before = |buddy: usize| self.entities[buddy].deadline < self.entities[wakee].deadline;
        if !self.queues[queue].next_buddy.is_some_and(before) {
            self.queues[queue].next_buddy = Some(wakee);
        }
    }

    /// The running entity yields.
    pub(super) fn yields(&mut self, queue: usize, row: usize) {
        self.queues[queue].next_buddy.take_if(|marked| *marked == row);
        let eligible = self.eligible(queue, row);
        let entity = &mut self.entities[row];
        match self.kernel.yields {
            Yield::PutsDeadlineOff => entity.deadline += entity.request(),
            Yield::ForfeitsRequest if eligible => {
                entity.vruntime = entity.deadline;
                entity.deadline += entity.request();
                self.settle(queue);
                self.raise_min_vruntime(queue);
            }
            Yield::ForfeitsRequest => {}
        }
    }
}
