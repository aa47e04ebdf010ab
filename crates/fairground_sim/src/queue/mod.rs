//! What happens next, and where.
//!
//! Every CPU has a fixed set of sources of events: the end of the stretch that it computes, an
//! interrupt from another CPU, its tick, and its queue of timers. A source is set, moved or
//! cleared in place; nothing stale ever comes out of the queue.
//!
//! # The order of events is a contract
//!
//! Events are ordered by the key `(at, class, cpu)`, and within one interrupt of one CPU by the
//! source's own id: the interrupt from another CPU first, then timers by hard expiry and their
//! row. The key is total and holds no insertion counter, so that neither another kind of queue nor
//! skipped ticks can change an order. The order of the classes is part of every digest.
//!
//! ```text
//!  63           12 11 10 9        0
//! +---------------+-----+----------+
//! |   at (ns)     |class|   cpu    |     one u64: comparing keys is comparing integers
//! +---------------+-----+----------+
//! ```
//!
//! `FastQueue` is what runs use; `HeapQueue` is a plain heap that gives the same sequence and
//! serves as its oracle. `Queue` is one of them, so that the engine is compiled once for both.

mod either;
mod fast;
mod heap;
mod near_list;
mod timer_wheel;
mod winner_tree;

#[cfg(test)]
mod tests;

pub(crate) use either::Queue;
pub use either::QueueKind;
use fast::FastQueue;
use heap::HeapQueue;

use fairground_stdx::{CpuId, CpuMask, Instant, TimerId};

/// What kind of event. At one instant lower classes come first, on all CPUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    /// A stretch of computing ends.
    Segment = 0,
    /// Task timers expire or an interrupt from another CPU arrives: one interrupt handles both.
    Irq = 1,
    /// The scheduler tick.
    Tick = 2,
}

/// A source of events of which every CPU has exactly one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// The end of the stretch that the CPU computes.
    Segment = 0,
    /// An interrupt sent by another CPU.
    Ipi = 1,
    /// The CPU's tick.
    Tick = 2,
}

impl Slot {
    /// All slots in order.
    pub(crate) const ALL: [Slot; 3] = [Slot::Segment, Slot::Ipi, Slot::Tick];

    /// The class of the slot's events.
    pub(crate) const fn class(self) -> Class {
        match self {
            Slot::Segment => Class::Segment,
            Slot::Ipi => Class::Irq,
            Slot::Tick => Class::Tick,
        }
    }
}

/// A queue of events: a clock that never goes back and, per CPU, the sources that can move it.
///
/// The engine's round is: [`advance`](EventQueue::advance), handle, then move or clear the source
/// that fired. A source that is left as it is fires again at once.
pub(crate) trait EventQueue: Clone {
    /// A queue for CPUs `0..nr_cpus` and timers `0..nr_timers`, with nothing set.
    fn new(nr_cpus: usize, nr_timers: usize) -> Self;

    /// The instant of the last event, [`Instant::ZERO`] before the first.
    fn now(&self) -> Instant;

    /// Sets, moves or clears (`None`) a slot of `cpu`.
    fn set(&mut self, cpu: CpuId, slot: Slot, at: Option<Instant>);

    /// When a slot of `cpu` fires.
    fn get(&self, cpu: CpuId, slot: Slot) -> Option<Instant>;

    /// Holds interrupts of `cpu` back until an instant: as long as the kernel has them off there,
    /// IPIs, timers and the tick wait, and are reported at `until` in their usual order. A call
    /// replaces the one before; with an instant that has passed, what was held comes now.
    fn hold_irqs(&mut self, cpu: CpuId, until: Instant);

    /// Until when interrupts of `cpu` are held back; may have passed.
    fn irqs_held_until(&self, cpu: CpuId) -> Instant;

    /// Whether an interrupt of `cpu` was due before now, and is held back.
    fn irq_is_late(&self, cpu: CpuId) -> bool {
        let timer = self.first_timer(cpu).map(|timer| timer.2);
        [self.get(cpu, Slot::Ipi), timer, self.get(cpu, Slot::Tick)].into_iter().flatten().any(|at| at < self.now())
    }

    /// A stretch with interrupts off: [`Slot::Segment`] fires at `until`, and interrupts wait till then.
    fn busy(&mut self, cpu: CpuId, until: Instant) {
        self.set(cpu, Slot::Segment, Some(until));
        self.hold_irqs(cpu, until);
    }

    /// As [`EventQueue::busy`], where the stretch is a step: one of many short ones that follow one another.
    fn busy_for_a_step(&mut self, cpu: CpuId, until: Instant) {
        self.busy(cpu, until);
    }
    /// The earliest event if it lies before `limit` and is the end of a step; the clock moves there. Beside its instant and
    /// its CPU stands what [`EventQueue::first_of_others`] says then. A queue that does not know steps has none.
    fn advance_to_step(&mut self, limit: Instant) -> Option<(Instant, CpuId, Instant)> {
        let _ = limit;
        None
    }
    /// The tick of `cpu` came: the next is due at `due`, and interrupts wait till `until`.
    fn ticked(&mut self, cpu: CpuId, due: Instant, until: Instant) {
        self.set(cpu, Slot::Tick, Some(due));
        self.hold_irqs(cpu, until);
    }

    /// As [`EventQueue::ticked`], and the end of the stretch that `cpu` computes, if it has one, moves as `end` says.
    fn ticked_in_stretch(&mut self, cpu: CpuId, due: Instant, until: Instant, end: impl FnOnce(Instant) -> Instant) {
        self.ticked(cpu, due, until);
        if let Some(at) = self.get(cpu, Slot::Segment) {
            self.set(cpu, Slot::Segment, Some(end(at)));
        }
    }
    /// After a tick that has changed nothing but the sources of its own CPU: the CPU that follows it in number, if its tick is the next
    /// event, at the same instant. A queue that does not know runs of ticks has none. Behind the last tick of a run stands
    /// [`EventQueue::end_of_ticks`].
    fn next_tick(&mut self) -> Option<CpuId> {
        None
    }
    /// A run of ticks is over.
    fn end_of_ticks(&mut self) {}

    /// `cpu` goes idle without a tick: nothing but an interrupt is due there.
    fn idle(&mut self, cpu: CpuId) {
        self.set(cpu, Slot::Segment, None);
        self.set(cpu, Slot::Tick, None);
    }

    /// Whether the end of the stretch of `cpu` at `until` is the first of all events and lies before
    /// `limit`; if so the clock moves there, as if it had been taken out.
    fn advance_if_next(&mut self, cpu: CpuId, until: Instant, limit: Instant) -> bool {
        let is_next = until < limit && self.peek() == Some((until, Class::Segment, cpu));
        if is_next {
            self.advance();
        }
        is_next
    }

    /// The earliest event if it lies before `limit`; the clock moves there.
    fn advance_before(&mut self, limit: Instant) -> Option<(Instant, Class, CpuId)> {
        if self.peek()?.0 < limit { self.advance() } else { None }
    }

    /// Queues `timer` on `cpu`. The interrupt comes at `hard`; one that comes from
    /// `soft` on may take the timer along. A timer is queued once at most.
    ///
    /// Kernel: hrtimer.c hrtimer_start_range_ns(), v4.12–
    fn arm_timer(&mut self, cpu: CpuId, timer: TimerId, soft: Instant, hard: Instant);

    /// Takes `timer` out, wherever it is queued; false if there is none.
    fn cancel_timer(&mut self, timer: TimerId) -> bool;

    /// The timer of `cpu` with the smallest `(hard, timer)`, as `(timer, soft, hard)`.
    fn first_timer(&self, cpu: CpuId) -> Option<(TimerId, Instant, Instant)>;

    /// The earliest event.
    fn peek(&self) -> Option<(Instant, Class, CpuId)>;

    /// When the earliest event of the CPUs beside `cpu` comes; [`Instant::MAX`] if there is none.
    fn first_of_others(&mut self, cpu: CpuId) -> Instant;

    /// The earliest event; the clock moves there.
    fn advance(&mut self) -> Option<(Instant, Class, CpuId)>;

    /// Takes the first timer of `cpu` out if an interrupt at `now` may expire it.
    ///
    /// Timers stand in order of hard expiry, and the walk ends at the first whose soft expiry lies
    /// ahead, even if a later one could be taken.
    ///
    /// Kernel: hrtimer.c __hrtimer_run_queues(), v4.12–
    fn expire_timer(&mut self, cpu: CpuId) -> Option<TimerId> {
        let (timer, soft, _) = self.first_timer(cpu)?;
        if soft > self.now() {
            return None;
        }
        self.cancel_timer(timer);
        Some(timer)
    }
}

/// Bits of a key below the instant.
const AT_SHIFT: u32 = 12;
/// Bits of a key below the class.
const CLASS_SHIFT: u32 = 10;
/// In place of ns: later than every instant, and still small enough to be shifted into a key.
const NEVER: u64 = u64::MAX >> AT_SHIFT;

const _: () = assert!(Instant::MAX.ns() < NEVER);
const _: () = assert!(CpuMask::CAPACITY <= 1 << CLASS_SHIFT);

/// The key of an event, or a key above those of all events if `at` is [`NEVER`].
#[inline]
const fn key(at: u64, class: Class, cpu: usize) -> u64 {
    at << AT_SHIFT | (class as u64) << CLASS_SHIFT | cpu as u64
}

/// The event of a key, if it is one.
#[inline]
fn unpack(key: u64) -> Option<(Instant, Class, CpuId)> {
    (key >> AT_SHIFT != NEVER).then(|| fields(key))
}

/// The fields of a key.
#[inline]
fn fields(key: u64) -> (Instant, Class, CpuId) {
    const BY_BITS: [Class; 4] = [Class::Segment, Class::Irq, Class::Tick, Class::Tick];
    let class = BY_BITS[(key >> CLASS_SHIFT & 3) as usize];
    (Instant::from_ns(key >> AT_SHIFT), class, CpuId::new((key & ((1 << CLASS_SHIFT) - 1)) as u32))
}

/// The ns of a source, [`NEVER`] for none. No run lasts beyond [`Instant::MAX`], so what is due later never comes. An instant before
/// `now` is our own bug.
#[inline]
fn checked(now: u64, at: Option<Instant>) -> u64 {
    let Some(at) = at else { return NEVER };
    assert!(now <= at.ns(), "an event at {} ns is set when the clock shows {now} ns", at.ns());
    if at > Instant::MAX { NEVER } else { at.ns() }
}

/// The clock after an event of the source at `at`.
#[inline]
fn advanced(now: u64, at: Instant) -> u64 {
    assert!(now <= at.ns(), "time goes back from {now} ns to {} ns", at.ns());
    at.ns()
}
