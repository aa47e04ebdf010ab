//! Task timers: per CPU a hierarchical timing wheel, all of them over one table of timers.
//!
//! A wheel has nine levels of 64 slots. With `elapsed` a time that no queued timer precedes, a timer
//! lies on the level of the highest base-64 digit in which its hard expiry differs from `elapsed`,
//! in the slot of that digit:
//!
//! ```text
//! level 2   digit of 4096 ns    | | |x| | ... |   farther away than anything on level 1
//! level 1   digit of   64 ns    | | | |x| ... |   farther away than anything on level 0
//! level 0   digit of    1 ns    |x| | | | ... |   all timers of a slot expire at the same ns
//! ```
//!
//! So the first timer is in the first slot of the lowest level that has any. Two rules give it
//! without a search: the head of every list is its first timer, and lists on level 0 are sorted.
//! When the clock enters a slot of a higher level, its list is spread over the levels below; each
//! timer goes down at most eight times in its life.
//!
//! The slots of a wheel take 2.3 KiB, less than 1 MiB for 384 CPUs, so they are not made lazily.
//!
//! Kernel: hrtimer.c hrtimer_cpu_base, v4.12– (there a red-black tree in the same order)

/// Binary digits of a slot number.
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Levels that cover every instant: 9 × 6 = 54 bits.
const LEVELS: usize = 9;
/// In place of a row: no timer.
const NONE: u32 = u32::MAX;

/// The timer of one task.
#[derive(Clone, Copy, Debug)]
struct Timer {
    hard: u64,
    soft: u64,
    /// Neighbours in the ring of its slot.
    next: u32,
    prev: u32,
    /// The CPU on which it is queued, [`Timer::IDLE`] if it is not.
    cpu: u16,
    /// Level × 64 + slot.
    place: u16,
}

impl Timer {
    const IDLE: u16 = u16::MAX;
}

/// One CPU's wheel.
#[derive(Clone, Debug)]
struct Wheel {
    /// No queued timer expires before; moves when the first timer leaves.
    elapsed: u64,
    /// The first timer.
    first: u32,
    /// A bit per level that is not empty.
    levels: u32,
    /// A bit per slot that is not empty.
    occupied: [u64; LEVELS],
    /// The first timer of each slot.
    heads: [u32; LEVELS * SLOTS],
}

/// The wheels of all CPUs and the timers of all tasks.
#[derive(Clone, Debug)]
pub(super) struct TimerWheels {
    wheels: Vec<Wheel>,
    timers: Vec<Timer>,
    /// Timers on their way to lower levels; kept to be reused.
    moving: Vec<u32>,
}

impl TimerWheels {
    /// Empty wheels for `nr_cpus` CPUs and `nr_timers` tasks.
    pub(super) fn new(nr_cpus: usize, nr_timers: usize) -> TimerWheels {
        let wheel = Wheel { elapsed: 0, first: NONE, levels: 0, occupied: [0; LEVELS], heads: [NONE; LEVELS * SLOTS] };
        let timer = Timer { hard: 0, soft: 0, next: NONE, prev: NONE, cpu: Timer::IDLE, place: 0 };
        TimerWheels { wheels: vec![wheel; nr_cpus], timers: vec![timer; nr_timers], moving: Vec::with_capacity(nr_timers) }
    }
    /// The CPU on which the timer of `task` is queued.
    #[inline]
    pub(super) fn cpu_of(&self, task: u32) -> Option<usize> {
        let cpu = self.timers[task as usize].cpu;
        (cpu != Timer::IDLE).then_some(usize::from(cpu))
    }
    /// The first timer of `cpu` as (task, soft, hard).
    #[inline]
    pub(super) fn first(&self, cpu: usize) -> Option<(u32, u64, u64)> {
        let task = self.wheels[cpu].first;
        let timer = self.timers.get(task as usize)?;
        Some((task, timer.soft, timer.hard))
    }
    /// Queues a timer. True if it is the new first one of `cpu`.
    pub(super) fn arm(&mut self, cpu: usize, task: u32, soft: u64, hard: u64) -> bool {
        let timer = &mut self.timers[task as usize];
        assert!(timer.cpu == Timer::IDLE, "the timer of task {task} is armed twice");
        (timer.soft, timer.hard, timer.cpu) = (soft, hard, cpu as u16);
        self.link(cpu, task);
        let first = self.wheels[cpu].first;
        let is_first = first == NONE || self.is_before(task, first);
        if is_first {
            self.wheels[cpu].first = task;
        }
        is_first
    }
    /// Takes a queued timer of `cpu` out. True if it was the first one.
    pub(super) fn remove(&mut self, cpu: usize, task: u32, now: u64) -> bool {
        self.unlink(cpu, task);
        self.timers[task as usize].cpu = Timer::IDLE;
        let was_first = self.wheels[cpu].first == task;
        if was_first {
            let first = self.find_first(cpu);
            self.wheels[cpu].first = first;
            if first != NONE {
                self.move_on(cpu, now.min(self.timers[first as usize].hard));
            }
        }
        was_first
    }

    /// The order of timers: hard expiry, then task row.
    #[inline]
    fn is_before(&self, a: u32, b: u32) -> bool {
        (self.timers[a as usize].hard, a) < (self.timers[b as usize].hard, b)
    }
    /// The head of the first slot of the lowest level that is not empty.
    fn find_first(&self, cpu: usize) -> u32 {
        let wheel = &self.wheels[cpu];
        if wheel.levels == 0 {
            return NONE;
        }
        let level = wheel.levels.trailing_zeros() as usize;
        wheel.heads[level * SLOTS + wheel.occupied[level].trailing_zeros() as usize]
    }
    /// Puts a timer into the slot that its hard expiry asks for.
    fn link(&mut self, cpu: usize, task: u32) {
        let wheel = &mut self.wheels[cpu];
        let hard = self.timers[task as usize].hard;
        let level = level_of(hard ^ wheel.elapsed);
        let slot = slot_of(hard, level);
        let place = level * SLOTS + slot;
        wheel.levels |= 1 << level;
        wheel.occupied[level] |= 1 << slot;
        let head = wheel.heads[place];
        self.timers[task as usize].place = place as u16;
        if head == NONE {
            self.wheels[cpu].heads[place] = task;
            (self.timers[task as usize].next, self.timers[task as usize].prev) = (task, task);
            return;
        }
        if self.is_before(task, head) {
            self.wheels[cpu].heads[place] = task;
        }
        // In a ring the place before the head is both the front and the back of the list.
        let mut behind = head;
        if level == 0 && !self.is_before(task, head) {
            while self.is_before(task, self.timers[behind as usize].prev) {
                behind = self.timers[behind as usize].prev;
            }
        }
        let ahead = self.timers[behind as usize].prev;
        (self.timers[task as usize].next, self.timers[task as usize].prev) = (behind, ahead);
        self.timers[ahead as usize].next = task;
        self.timers[behind as usize].prev = task;
    }
    /// Takes a timer out of its slot.
    fn unlink(&mut self, cpu: usize, task: u32) {
        let Timer { next, prev, place, .. } = self.timers[task as usize];
        let (level, slot) = (usize::from(place) / SLOTS, usize::from(place) % SLOTS);
        if next == task {
            let wheel = &mut self.wheels[cpu];
            wheel.heads[usize::from(place)] = NONE;
            wheel.occupied[level] &= !(1 << slot);
            if wheel.occupied[level] == 0 {
                wheel.levels &= !(1 << level);
            }
            return;
        }
        self.timers[prev as usize].next = next;
        self.timers[next as usize].prev = prev;
        if self.wheels[cpu].heads[usize::from(place)] == task {
            self.wheels[cpu].heads[usize::from(place)] = if level == 0 { next } else { self.first_of_ring(next) };
        }
    }
    /// The first timer of an unsorted ring.
    fn first_of_ring(&self, start: u32) -> u32 {
        let (mut first, mut at) = (start, self.timers[start as usize].next);
        while at != start {
            if self.is_before(at, first) {
                first = at;
            }
            at = self.timers[at as usize].next;
        }
        first
    }
    /// Moves `elapsed` on to a time that no timer precedes, and spreads the slot that it enters.
    ///
    /// Below the highest digit that changes every level is empty, because a timer there would
    /// precede `to`; above it nothing changes.
    fn move_on(&mut self, cpu: usize, to: u64) {
        let wheel = &mut self.wheels[cpu];
        let level = level_of(wheel.elapsed ^ to);
        wheel.elapsed = to;
        let slot = slot_of(to, level);
        if level == 0 || wheel.occupied[level] >> slot & 1 == 0 {
            return;
        }
        wheel.occupied[level] &= !(1 << slot);
        if wheel.occupied[level] == 0 {
            wheel.levels &= !(1 << level);
        }
        let head = std::mem::replace(&mut wheel.heads[level * SLOTS + slot], NONE);
        let mut moving = std::mem::take(&mut self.moving);
        let mut at = head;
        loop {
            moving.push(at);
            at = self.timers[at as usize].next;
            if at == head {
                break;
            }
        }
        // In order, so that each finds its place on level 0 at the end of the list.
        moving.sort_unstable_by_key(|&task| (self.timers[task as usize].hard, task));
        moving.drain(..).for_each(|task| self.link(cpu, task));
        self.moving = moving;
    }
}

/// The place of the highest base-64 digit that is not zero.
#[inline]
const fn level_of(difference: u64) -> usize {
    ((63 - (difference | 1).leading_zeros()) / SLOT_BITS) as usize
}
/// A base-64 digit of `ns`.
#[inline]
const fn slot_of(ns: u64, level: usize) -> usize {
    (ns >> (SLOT_BITS * level as u32)) as usize & (SLOTS - 1)
}
