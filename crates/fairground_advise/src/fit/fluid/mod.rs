//! A service under a quota as a fluid: one queue of requests, workers on CPUs, and the quota of each CPU.
//!
//! What stays of the kernel is where quota lies: a pool that is filled each period, slices that CPUs take from it, debts, what an idle
//! CPU keeps, and ticks as the moments at which a debt is seen. Wake-ups, preemption and placement are left out: workers of one CPU
//! share it evenly. A test holds it against the simulator, of which a run costs a hundred times as much.

mod slot;

use fairground_model::CpuMax;
use slot::{Event, Slot};
use std::collections::VecDeque;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    /// When it comes, ns from the start.
    pub(super) arrival: u64,
    /// The CPU time that it needs, ns.
    pub(super) demand: u64,
}

/// Who serves requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Server {
    pub(super) workers: u64,
    pub(super) cpus: u64,
    pub(super) limit: CpuMax,
}

/// What cpu.stat would have counted, with the time of each request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Flow {
    /// CPU time, ns.
    pub(super) used: u64,
    /// Periods in which the timer ran.
    pub(super) periods: u64,
    /// Those at whose end a CPU was throttled.
    pub(super) throttled: u64,
    /// Time in which CPUs were, ns, over all of them.
    pub(super) throttled_time: u64,
    /// Sum of the squares of the CPU time of each period, µs².
    pub(super) squares: u128,
    /// From arrival to answer, of all that are done, ns.
    pub(super) latencies: Vec<u64>,
    /// Requests that still wait for a worker at the end.
    pub(super) waiting: u64,
}

/// A run is given up once it has counted more than this: it cannot come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Most {
    pub(super) throttled: u64,
    pub(super) throttled_time: u64,
}

impl Most {
    /// Whatever comes.
    pub(super) const ANY: Most = Most { throttled: u64::MAX, throttled_time: u64::MAX };
}

/// What a CPU is topped up to. Kernel: `sched_cfs_bandwidth_slice_us`.
const SLICE_NS: i64 = 5_000_000;
/// What a CPU keeps when it goes idle. Kernel: `min_cfs_rq_runtime`.
const KEPT_NS: i64 = 1_000_000;
/// From one tick to the next, at which a debt is seen: HZ = 250.
const TICK_NS: u64 = 4_000_000;

/// The quota of a group that has a limit.
struct Pool {
    quota: i64,
    burst: i64,
    left: i64,
    /// Throttled CPUs in the order in which they came.
    throttled: VecDeque<usize>,
    /// Whether the timer runs, and whether nothing was taken since it fired last.
    active: bool,
    idle: bool,
}

impl Pool {
    /// Tops up to `to`; whether there is anything then.
    fn assign(&mut self, runtime_remaining: &mut i64, to: i64) -> bool {
        let amount = (to - *runtime_remaining).min(self.left).max(0);
        self.active = true;
        if amount > 0 {
            self.idle = false;
        }
        self.left -= amount;
        *runtime_remaining += amount;
        *runtime_remaining > 0
    }
}

/// The state between two events.
struct Model<'a> {
    requests: &'a [Request],
    now: u64,
    slots: Vec<Slot>,
    pool: Option<Pool>,
    /// Workers without a request.
    free: u64,
    /// The slot that was idle longest is taken next: workers queue for requests.
    next_slot: usize,
    /// Requests that have come, and those of them that a worker has taken.
    come: usize,
    taken: usize,
    used_before: u64,
    flow: Flow,
}

/// Runs the requests up to `end`; none if it was given up.
pub(super) fn run(requests: &[Request], server: Server, end: u64, most: Most) -> Option<Flow> {
    let pool = |quota: i64| Pool {
        quota,
        burst: server.limit.burst.0.cast_signed(),
        left: quota,
        throttled: VecDeque::new(),
        active: false,
        idle: false,
    };
    let mut model = Model {
        requests,
        now: 0,
        slots: (0..server.workers.min(server.cpus).max(1)).map(|_| Slot::default()).collect(),
        pool: server.limit.quota.map(|quota| pool(quota.0.cast_signed())),
        free: server.workers,
        next_slot: 0,
        come: 0,
        taken: 0,
        used_before: 0,
        flow: Flow { latencies: Vec::with_capacity(requests.len()), ..Flow::default() },
    };
    let period = server.limit.period.0.max(1);
    let mut boundary = period;
    while model.now < end {
        model.step(boundary.min(end));
        if model.now == boundary {
            model.period_ends();
            boundary += period;
            let flow = &model.flow;
            if flow.throttled > most.throttled || flow.throttled_time > most.throttled_time {
                return None;
            }
        }
    }
    model.flow.waiting = (model.come - model.taken) as u64;
    Some(model.flow)
}

impl Model<'_> {
    /// Up to the next event, at most to `to`.
    fn step(&mut self, to: u64) {
        let arrival = self.requests.get(self.come).map_or(u64::MAX, |request| request.arrival);
        let is_limited = self.pool.is_some();
        let next = self.slots.iter().filter_map(|slot| slot.next(self.now, is_limited)).min();
        let to = to.min(arrival.max(self.now)).min(next.unwrap_or(u64::MAX));
        let passed = to - self.now;
        self.now = to;
        for slot in self.slots.iter_mut().filter(|slot| !slot.busy.is_empty()) {
            if slot.throttled {
                self.flow.throttled_time += passed;
            } else {
                self.flow.used += passed;
                slot.pass(passed, self.now, is_limited);
            }
        }
        // Only when all have come to this moment: what one gives back lets others run.
        for place in 0..self.slots.len() {
            match std::mem::replace(&mut self.slots[place].event, Event::None) {
                Event::None => {}
                Event::Done => self.answer(place),
                Event::UsedUp => self.pay(place),
            }
        }
        while self.requests.get(self.come).is_some_and(|request| request.arrival <= self.now) {
            self.come += 1;
        }
        self.take();
    }
    /// Answers what is done on a CPU; one that has no more goes idle and gives back what it does not keep.
    fn answer(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        while let Some(arrival) = slot.done() {
            self.flow.latencies.push(self.now - arrival);
            self.free += 1;
        }
        let Some(pool) = &mut self.pool else { return };
        if slot.busy.is_empty() && slot.runtime_remaining > KEPT_NS {
            pool.left += slot.runtime_remaining - KEPT_NS;
            slot.runtime_remaining = KEPT_NS;
            if pool.left > SLICE_NS && !pool.throttled.is_empty() {
                self.distribute();
            }
        }
    }
    /// A CPU whose runtime_remaining is used up takes a slice. Where there is none it runs on until a tick sees it.
    fn pay(&mut self, place: usize) {
        let (slot, Some(pool)) = (&mut self.slots[place], &mut self.pool) else { return };
        if pool.assign(&mut slot.runtime_remaining, SLICE_NS) {
            return;
        }
        let tick = self.now.div_ceil(TICK_NS) * TICK_NS;
        if tick == self.now {
            slot.throttled = true;
            pool.throttled.push_back(place);
        }
        slot.tick = tick;
    }
    /// Workers take what waits: on an idle CPU, or else on the one with the fewest of them.
    fn take(&mut self) {
        while self.taken < self.come && self.free > 0 {
            let request = self.requests[self.taken];
            (self.taken, self.free) = (self.taken + 1, self.free - 1);
            let count = self.slots.len();
            let in_turn = (0..count).map(|step| (self.next_slot + step) % count);
            let place = in_turn.min_by_key(|&place| self.slots[place].busy.len()).unwrap_or(0);
            self.next_slot = (place + 1) % count;
            let slot = &mut self.slots[place];
            let was_idle = slot.busy.is_empty();
            slot.begin(request);
            if let Some(pool) = self.pool.as_mut().filter(|_| was_idle && slot.runtime_remaining <= 0) {
                // A CPU that is woken without runtime_remaining is throttled at once, whatever the tick.
                if !pool.assign(&mut slot.runtime_remaining, SLICE_NS) {
                    slot.throttled = true;
                    pool.throttled.push_back(place);
                }
            }
        }
    }
    /// Pays the debts of throttled CPUs in their order, as far as the pool goes.
    fn distribute(&mut self) {
        let Some(pool) = &mut self.pool else { return };
        while let Some(&place) = pool.throttled.front().filter(|_| pool.left > 0) {
            let slot = &mut self.slots[place];
            if !pool.assign(&mut slot.runtime_remaining, 1) {
                break;
            }
            slot.throttled = false;
            pool.throttled.pop_front();
        }
    }
    /// The timer fires. It stops at the second firing in a row between which nothing was taken.
    fn period_ends(&mut self) {
        let used_us = u128::from((self.flow.used - self.used_before) / 1000);
        self.flow.squares += used_us * used_us;
        self.used_before = self.flow.used;
        let Some(pool) = self.pool.as_mut().filter(|pool| pool.active) else { return };
        let is_throttled = !pool.throttled.is_empty();
        self.flow.periods += 1;
        self.flow.throttled += u64::from(is_throttled);
        pool.left = (pool.left + pool.quota).min(pool.quota + pool.burst);
        pool.active = is_throttled || !pool.idle;
        pool.idle = !is_throttled;
        self.distribute();
    }
}

impl Flow {
    /// A percentile, ns; requests that still wait are later than all that are done.
    pub(super) fn percentile(&mut self, permille: u64) -> u64 {
        let done = self.latencies.len() as u64;
        let rank = ((done + self.waiting) * permille).div_ceil(1000).max(1);
        if done == 0 || rank > done {
            return super::super::bootstrap::NEVER;
        }
        *self.latencies.select_nth_unstable(rank as usize - 1).1
    }
}
