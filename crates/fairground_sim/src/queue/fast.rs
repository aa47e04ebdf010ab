//! The queue that runs use: a winner tree over CPUs, a short list of CPUs whose events are near, a timing wheel per CPU for
//! task timers.

use super::near_list::NearList;
use super::timer_wheel::TimerWheels;
use super::winner_tree::WinnerTree;
use super::{AT_SHIFT, CLASS_SHIFT, Class, EventQueue, NEVER, Slot, advanced, checked, fields, key, unpack};
use fairground_stdx::{CpuId, Id, Instant, TimerId};

/// The sources of one CPU, as the keys of their events.
#[derive(Clone, Debug)]
struct Sources {
    /// By [`Slot`].
    slots: [u64; 3],
    /// Hard expiry of the first timer.
    timer: u64,
    /// Interrupts and the tick are held back until here: the least keys that they may have.
    irqs_held: [u64; 2],
    /// The key of the CPU stands in the list of near events, and not in the tree.
    is_near: bool,
}

impl Sources {
    fn new(cpu: usize) -> Sources {
        Sources {
            slots: Slot::ALL.map(|slot| key(NEVER, slot.class(), cpu)),
            timer: key(NEVER, Class::Irq, cpu),
            irqs_held: [key(0, Class::Irq, cpu), key(0, Class::Tick, cpu)],
            is_near: false,
        }
    }
    /// The smallest key.
    #[inline]
    fn first(&self) -> u64 {
        let ([segment, ipi, tick], [irq_held, tick_held]) = (self.slots, self.irqs_held);
        segment.min(ipi.min(self.timer).max(irq_held)).min(tick.max(tick_held))
    }
    #[inline]
    fn set(&mut self, cpu: usize, slot: Slot, at: u64) {
        self.slots[slot as usize] = key(at, slot.class(), cpu);
    }
    #[inline]
    fn hold_irqs(&mut self, cpu: usize, until: u64) {
        self.irqs_held = [key(until, Class::Irq, cpu), key(until, Class::Tick, cpu)];
    }
}

/// An [`EventQueue`] in which moving a source costs a walk of log2(CPUs) steps at most, and arming
/// or cancelling a timer is O(1). Nothing is allocated after [`EventQueue::new`].
///
/// While an event is handled the sources of its CPU change several times, and those of others hardly ever. So the tree
/// learns of that CPU's changes once, when the next event is asked for.
///
/// A CPU that makes many steps of which each ends soon ([`EventQueue::busy_for_a_step`]) has its key in a list beside the
/// tree. Such a list is short, and the tree stays as it is all that time.
#[derive(Clone, Debug)]
pub(crate) struct FastQueue {
    now: u64,
    sources: Vec<Sources>,
    tree: WinnerTree,
    near: NearList,
    /// The CPU of the last event.
    handled: usize,
    /// Its sources have changed since; the tree or the list has its old key.
    stale: bool,
    /// The first CPU of a run of ticks, whose games are not played again yet, up to the CPU of the last event; else [`NO_RUN`].
    run_from: usize,
    timers: TimerWheels,
}

/// No run of ticks goes on.
const NO_RUN: usize = usize::MAX;

/// The instant of a key, [`Instant::MAX`] if it is no event.
#[inline]
fn instant(key: u64) -> Instant {
    Instant::MAX.min(Instant::from_ns(key >> AT_SHIFT))
}

impl FastQueue {
    /// Changes the sources of `cpu`, and with them perhaps who is first.
    #[inline]
    fn change(&mut self, cpu: usize, change: impl FnOnce(&mut Sources)) {
        change(&mut self.sources[cpu]);
        if cpu == self.handled {
            self.stale = true;
        } else {
            self.move_key(cpu);
        }
    }
    /// The tree or the list takes over what has changed on `cpu`.
    #[inline(never)]
    fn move_key(&mut self, cpu: usize) {
        let sources = &self.sources[cpu];
        match sources.is_near {
            true => self.near.replace(cpu, sources.first()),
            false => self.tree.replace(cpu, sources.first()),
        }
    }
    /// The same, where mostly nothing has changed.
    #[inline(never)]
    fn settle_apart(&mut self) {
        self.settle();
    }
    /// The tree takes over what has changed on the CPU of the last event.
    #[inline(always)]
    fn settle(&mut self) {
        debug_assert!(self.run_from == NO_RUN, "a run of ticks goes on");
        if std::mem::take(&mut self.stale) {
            let sources = &mut self.sources[self.handled];
            if std::mem::take(&mut sources.is_near) {
                self.near.remove(self.handled);
            }
            self.tree.replace(self.handled, sources.first());
        }
    }
    /// The key of the next event, where nothing is stale.
    #[inline]
    fn first(&self) -> u64 {
        self.tree.min().min(self.near.first())
    }
    /// The smallest key of the CPUs beside `cpu`, where theirs are not stale.
    #[inline]
    fn first_key_of_others(&self, cpu: usize) -> u64 {
        match self.sources[cpu].is_near {
            true => self.tree.min().min(self.near.first_beside(cpu)),
            false => self.tree.min_beside(cpu).min(self.near.first()),
        }
    }
    /// The event of `key` is the next to be handled.
    #[inline]
    fn take(&mut self, key: u64) -> (Instant, Class, CpuId) {
        let event = fields(key);
        self.now = advanced(self.now, event.0);
        self.handled = event.2.index();
        event
    }
    /// Takes over a change of the first timer of `cpu`.
    fn timer_changed(&mut self, cpu: usize) {
        let at = self.timers.first(cpu).map_or(NEVER, |(_, _, hard)| hard);
        self.change(cpu, |sources| sources.timer = key(at, Class::Irq, cpu));
    }
}

impl EventQueue for FastQueue {
    fn new(nr_cpus: usize, nr_timers: usize) -> FastQueue {
        FastQueue {
            now: 0,
            sources: (0..nr_cpus).map(Sources::new).collect(),
            tree: WinnerTree::new(nr_cpus),
            near: NearList::new(),
            handled: 0,
            stale: false,
            run_from: NO_RUN,
            timers: TimerWheels::new(nr_cpus, nr_timers),
        }
    }
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }
    #[inline]
    fn set(&mut self, cpu: CpuId, slot: Slot, at: Option<Instant>) {
        let (cpu, at) = (cpu.index(), checked(self.now, at));
        self.change(cpu, |sources| sources.set(cpu, slot, at));
    }
    #[inline]
    fn get(&self, cpu: CpuId, slot: Slot) -> Option<Instant> {
        Some(unpack(self.sources[cpu.index()].slots[slot as usize])?.0)
    }
    #[inline]
    fn hold_irqs(&mut self, cpu: CpuId, until: Instant) {
        let (cpu, until) = (cpu.index(), until.ns().max(self.now).min(NEVER));
        self.change(cpu, |sources| sources.hold_irqs(cpu, until));
    }
    fn irqs_held_until(&self, cpu: CpuId) -> Instant {
        fields(self.sources[cpu.index()].irqs_held[0]).0
    }
    #[inline]
    fn irq_is_late(&self, cpu: CpuId) -> bool {
        let Sources { slots: [_, ipi, tick], timer, .. } = self.sources[cpu.index()];
        ipi.min(timer).min(tick) >> AT_SHIFT < self.now
    }
    #[inline(always)]
    fn busy(&mut self, cpu: CpuId, until: Instant) {
        let (cpu, until) = (cpu.index(), checked(self.now, Some(until)));
        self.change(cpu, |sources| {
            sources.set(cpu, Slot::Segment, until);
            sources.hold_irqs(cpu, until);
        });
    }
    #[inline(always)]
    fn busy_for_a_step(&mut self, cpu: CpuId, until: Instant) {
        let (cpu, until) = (cpu.index(), checked(self.now, Some(until)));
        let sources = &mut self.sources[cpu];
        sources.set(cpu, Slot::Segment, until);
        sources.hold_irqs(cpu, until);
        // Nothing else is due before the end of a stretch with interrupts off.
        let first = key(until, Class::Segment, cpu);
        if std::mem::replace(&mut sources.is_near, true) {
            self.near.replace(cpu, first);
        } else {
            self.tree.replace(cpu, key(NEVER, Class::Segment, cpu));
            self.near.insert(first);
        }
        self.stale &= cpu != self.handled;
    }
    #[inline(always)]
    fn advance_to_step(&mut self, limit: Instant) -> Option<(Instant, CpuId, Instant)> {
        if self.stale {
            self.settle_apart();
        }
        let (first, others) = (self.near.first(), self.tree.min());
        let is_step = first >> CLASS_SHIFT & 3 == Class::Segment as u64;
        if !is_step || first > others || first >> AT_SHIFT >= limit.ns().min(NEVER) {
            return None;
        }
        let (at, _, cpu) = self.take(first);
        Some((at, cpu, instant(others.min(self.near.second()))))
    }
    #[inline]
    fn ticked(&mut self, cpu: CpuId, due: Instant, until: Instant) {
        let (cpu, due, until) = (cpu.index(), checked(self.now, Some(due)), until.ns().min(NEVER));
        self.change(cpu, |sources| {
            sources.set(cpu, Slot::Tick, due);
            sources.hold_irqs(cpu, until);
        });
    }
    #[inline(always)]
    fn ticked_in_stretch(&mut self, cpu: CpuId, due: Instant, until: Instant, end: impl FnOnce(Instant) -> Instant) {
        let now = self.now;
        let (cpu, due, until) = (cpu.index(), checked(now, Some(due)), until.ns().min(NEVER));
        self.change(cpu, |sources| {
            sources.set(cpu, Slot::Tick, due);
            sources.hold_irqs(cpu, until);
            if let Some((at, ..)) = unpack(sources.slots[Slot::Segment as usize]) {
                sources.set(cpu, Slot::Segment, checked(now, Some(end(at))));
            }
        });
    }
    #[inline]
    fn next_tick(&mut self) -> Option<CpuId> {
        let (cpu, next) = (self.handled, self.handled + 1);
        let follows = next < self.sources.len() && self.tree.key_of(next) == key(self.now, Class::Tick, next);
        // Somebody was interrupted at this very instant: that comes first.
        if !follows || self.tree.min() < key(self.now, Class::Tick, 0) || self.sources[cpu].is_near {
            return None;
        }
        self.tree.seat(cpu, self.sources[cpu].first());
        self.run_from = self.run_from.min(cpu);
        (self.handled, self.stale) = (next, false);
        Some(CpuId::from_index(next))
    }
    #[inline]
    fn end_of_ticks(&mut self) {
        if self.run_from != NO_RUN {
            self.tree.play_from(std::mem::replace(&mut self.run_from, NO_RUN), self.handled);
        }
    }
    #[inline]
    fn idle(&mut self, cpu: CpuId) {
        let cpu = cpu.index();
        self.change(cpu, |sources| {
            sources.set(cpu, Slot::Segment, NEVER);
            sources.set(cpu, Slot::Tick, NEVER);
        });
    }
    #[inline]
    fn advance_before(&mut self, limit: Instant) -> Option<(Instant, Class, CpuId)> {
        self.settle();
        let first = self.first();
        (first >> AT_SHIFT < limit.ns().min(NEVER)).then(|| self.take(first))
    }
    #[inline(always)]
    fn advance_if_next(&mut self, cpu: CpuId, until: Instant, limit: Instant) -> bool {
        self.settle();
        let first = self.first();
        let is_next = until < limit && first == key(until.ns(), Class::Segment, cpu.index());
        if is_next {
            self.take(first);
        }
        is_next
    }
    fn arm_timer(&mut self, cpu: CpuId, timer: TimerId, soft: Instant, hard: Instant) {
        let ns = checked(self.now, Some(hard.min(Instant::MAX)));
        assert!(soft <= hard, "the soft expiry of {timer:?} lies behind its hard expiry");
        if self.timers.arm(cpu.index(), timer.get(), soft.ns(), ns) {
            self.timer_changed(cpu.index());
        }
    }
    fn cancel_timer(&mut self, timer: TimerId) -> bool {
        let Some(cpu) = self.timers.cpu_of(timer.get()) else { return false };
        if self.timers.remove(cpu, timer.get(), self.now) {
            self.timer_changed(cpu);
        }
        true
    }
    #[inline]
    fn first_timer(&self, cpu: CpuId) -> Option<(TimerId, Instant, Instant)> {
        // Asked at every tick, and mostly in vain: the wheel's own rows need not be touched for that.
        unpack(self.sources[cpu.index()].timer)?;
        let (timer, soft, hard) = self.timers.first(cpu.index())?;
        Some((TimerId::new(timer), Instant::from_ns(soft), Instant::from_ns(hard)))
    }
    #[inline]
    fn peek(&self) -> Option<(Instant, Class, CpuId)> {
        unpack(match self.stale {
            true => self.first_key_of_others(self.handled).min(self.sources[self.handled].first()),
            false => self.first(),
        })
    }
    #[inline]
    fn first_of_others(&mut self, cpu: CpuId) -> Instant {
        if self.stale {
            self.settle_apart();
        }
        instant(self.first_key_of_others(cpu.index()))
    }
    #[inline]
    fn advance(&mut self) -> Option<(Instant, Class, CpuId)> {
        self.settle();
        let first = self.first();
        unpack(first)?;
        Some(self.take(first))
    }
}
