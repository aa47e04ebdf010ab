//! The queue that runs use: a winner tree over CPUs, a timing wheel per CPU for task timers.

use super::timer_wheel::TimerWheels;
use super::winner_tree::WinnerTree;
use super::{Class, EventQueue, NEVER, Slot, advanced, checked, key, unpack};
use fairground_stdx::{CpuId, Id, Instant, TaskId};

/// The sources of one CPU, in ns.
#[derive(Clone, Debug)]
struct Sources {
    /// By [`Slot`].
    slots: [u64; 3],
    /// Hard expiry of the first timer.
    timer: u64,
    /// Interrupts are held back until here.
    irqs_held: u64,
}

impl Sources {
    /// The smallest key of the CPU's sources.
    #[inline]
    fn first(&self, cpu: usize) -> u64 {
        let [segment, ipi, tick] = self.slots;
        let segment = key(segment, Class::Segment, cpu);
        let irq = key(ipi.min(self.timer).max(self.irqs_held), Class::Irq, cpu);
        let tick = key(tick.max(self.irqs_held), Class::Tick, cpu);
        segment.min(irq).min(tick)
    }
}

/// An [`EventQueue`] in which moving a source costs a walk of log2(CPUs) steps at most, and arming
/// or cancelling a timer is O(1). Nothing is allocated after [`EventQueue::new`].
#[derive(Clone, Debug)]
pub struct FastQueue {
    now: u64,
    sources: Vec<Sources>,
    tree: WinnerTree,
    timers: TimerWheels,
}

impl FastQueue {
    #[inline]
    fn replay(&mut self, cpu: usize) {
        self.tree.replace(cpu, self.sources[cpu].first(cpu));
    }
    /// Takes over a change of the first timer of `cpu`.
    #[inline]
    fn timer_changed(&mut self, cpu: usize) {
        self.sources[cpu].timer = self.timers.first(cpu).map_or(NEVER, |(_, _, hard)| hard);
        self.replay(cpu);
    }
}

impl EventQueue for FastQueue {
    fn new(nr_cpus: usize, nr_tasks: usize) -> FastQueue {
        let sources = Sources { slots: [NEVER; 3], timer: NEVER, irqs_held: 0 };
        FastQueue {
            now: 0,
            sources: vec![sources; nr_cpus],
            tree: WinnerTree::new(nr_cpus),
            timers: TimerWheels::new(nr_cpus, nr_tasks),
        }
    }
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }
    #[inline]
    fn set(&mut self, cpu: CpuId, slot: Slot, at: Option<Instant>) {
        self.sources[cpu.index()].slots[slot as usize] = checked(self.now, at);
        self.replay(cpu.index());
    }
    #[inline]
    fn get(&self, cpu: CpuId, slot: Slot) -> Option<Instant> {
        let at = self.sources[cpu.index()].slots[slot as usize];
        (at != NEVER).then(|| Instant::from_ns(at))
    }
    #[inline]
    fn hold_irqs(&mut self, cpu: CpuId, until: Instant) {
        self.sources[cpu.index()].irqs_held = until.ns().max(self.now);
        self.replay(cpu.index());
    }
    #[inline]
    fn busy(&mut self, cpu: CpuId, until: Instant) {
        let sources = &mut self.sources[cpu.index()];
        sources.slots[Slot::Segment as usize] = checked(self.now, Some(until));
        sources.irqs_held = until.ns();
        self.replay(cpu.index());
    }
    #[inline]
    fn ticked(&mut self, cpu: CpuId, due: Instant, until: Instant) {
        let sources = &mut self.sources[cpu.index()];
        sources.slots[Slot::Tick as usize] = checked(self.now, Some(due));
        sources.irqs_held = until.ns();
        self.replay(cpu.index());
    }
    #[inline]
    fn advance_before(&mut self, limit: Instant) -> Option<(Instant, Class, CpuId)> {
        let (at, class, cpu) = unpack(self.tree.min())?;
        if at >= limit {
            return None;
        }
        self.now = advanced(self.now, at);
        Some((at, class, cpu))
    }
    fn arm_timer(&mut self, cpu: CpuId, task: TaskId, soft: Instant, hard: Instant) {
        let ns = checked(self.now, Some(hard));
        assert!(soft <= hard, "the soft expiry of {task:?} lies behind its hard expiry");
        if self.timers.arm(cpu.index(), task.get(), soft.ns(), ns) {
            self.timer_changed(cpu.index());
        }
    }
    fn cancel_timer(&mut self, task: TaskId) -> bool {
        let Some(cpu) = self.timers.cpu_of(task.get()) else { return false };
        if self.timers.remove(cpu, task.get(), self.now) {
            self.timer_changed(cpu);
        }
        true
    }
    #[inline]
    fn first_timer(&self, cpu: CpuId) -> Option<(TaskId, Instant, Instant)> {
        let (task, soft, hard) = self.timers.first(cpu.index())?;
        Some((TaskId::new(task), Instant::from_ns(soft), Instant::from_ns(hard)))
    }
    #[inline]
    fn peek(&self) -> Option<(Instant, Class, CpuId)> {
        unpack(self.tree.min())
    }
    #[inline]
    fn advance(&mut self) -> Option<(Instant, Class, CpuId)> {
        let event = self.peek()?;
        self.now = advanced(self.now, event.0);
        Some(event)
    }
}
