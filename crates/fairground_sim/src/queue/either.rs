//! One of the two queues.

use super::{Class, EventQueue, FastQueue, HeapQueue, Slot};
use fairground_stdx::{CpuId, Instant, TimerId};

/// Which queue of events a run has. Both give the same sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// The one that is made for it.
    Fast,
    /// The standard heap: slow and obviously right.
    Heap,
}

/// A queue of either kind. An engine that is generic over its queue would be compiled again in each crate that runs it.
#[derive(Clone)]
pub(crate) enum Queue {
    Fast(FastQueue),
    Heap(Box<HeapQueue>),
}

/// Keeps calls of the plain heap out of the engine's code, where the fast queue's are to be inlined.
#[cold]
#[inline(never)]
fn slowly<T>(call: impl FnOnce() -> T) -> T {
    call()
}

/// Hands calls of [`EventQueue`] on to whichever it is.
macro_rules! hand_on {
    (
        reading { $($name:ident(&self $(, $input:ident: $of:ty)*) -> $result:ty;)* }
        changing { $($changes:ident(&mut self $(, $given:ident: $kind:ty)*) $(-> $gives:ty)?;)* }
    ) => {
        $(
            #[inline(always)]
            pub(crate) fn $name(&self $(, $input: $of)*) -> $result {
                match self {
                    Queue::Fast(queue) => queue.$name($($input),*),
                    Queue::Heap(queue) => slowly(|| queue.$name($($input),*)),
                }
            }
        )*
        $(
            #[inline(always)]
            pub(crate) fn $changes(&mut self $(, $given: $kind)*) $(-> $gives)? {
                match self {
                    Queue::Fast(queue) => queue.$changes($($given),*),
                    Queue::Heap(queue) => slowly(|| queue.$changes($($given),*)),
                }
            }
        )*
    };
}

impl Queue {
    /// A queue for CPUs `0..nr_cpus` and timers `0..nr_timers`, with nothing set.
    pub(crate) fn new(kind: QueueKind, nr_cpus: usize, nr_timers: usize) -> Queue {
        match kind {
            QueueKind::Fast => Queue::Fast(FastQueue::new(nr_cpus, nr_timers)),
            QueueKind::Heap => Queue::Heap(Box::new(HeapQueue::new(nr_cpus, nr_timers))),
        }
    }

    /// Whether it is the fast one.
    pub(crate) fn is_fast(&self) -> bool {
        matches!(self, Queue::Fast(_))
    }

    hand_on! {
        reading {
            get(&self, cpu: CpuId, slot: Slot) -> Option<Instant>;
            irqs_held_until(&self, cpu: CpuId) -> Instant;
            irq_is_late(&self, cpu: CpuId) -> bool;
            first_timer(&self, cpu: CpuId) -> Option<(TimerId, Instant, Instant)>;
            peek(&self) -> Option<(Instant, Class, CpuId)>;
        }
        changing {
            set(&mut self, cpu: CpuId, slot: Slot, at: Option<Instant>);
            hold_irqs(&mut self, cpu: CpuId, until: Instant);
            busy(&mut self, cpu: CpuId, until: Instant);
            busy_for_a_step(&mut self, cpu: CpuId, until: Instant);
            advance_to_step(&mut self, limit: Instant) -> Option<(Instant, CpuId, Instant)>;
            ticked(&mut self, cpu: CpuId, due: Instant, until: Instant);
            ticked_in_stretch(&mut self, cpu: CpuId, due: Instant, until: Instant, end: impl FnOnce(Instant) -> Instant);
            next_tick(&mut self) -> Option<CpuId>;
            end_of_ticks(&mut self);
            idle(&mut self, cpu: CpuId);
            advance_if_next(&mut self, cpu: CpuId, until: Instant, limit: Instant) -> bool;
            advance_before(&mut self, limit: Instant) -> Option<(Instant, Class, CpuId)>;
            arm_timer(&mut self, cpu: CpuId, timer: TimerId, soft: Instant, hard: Instant);
            cancel_timer(&mut self, timer: TimerId) -> bool;
            first_of_others(&mut self, cpu: CpuId) -> Instant;
            expire_timer(&mut self, cpu: CpuId) -> Option<TimerId>;
        }
    }
}
