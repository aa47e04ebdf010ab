//! A second scheduler behind the same engine: it hears of each entry that the engine makes into the core.
//!
//! # The problem
//!
//! Whether our core does what a kernel does is best asked of the kernel itself, at each call, with the same past and at the
//! same instant. With an engine on either side the first difference would be one between engines.
//!
//! # The rule
//!
//! One engine, one queue of events, one [`Entry`] after the other. The other core *watches*: it hears of each entry when ours
//! has done it, and can look at ours.
//!
//! ```text
//! event ─► phase ─► our core ─► requests ─► queue of events
//!            └────► Entry, and our core after it ─► the other core: a difference stops the run
//! ```
//!
//! An entry is told when its last phase is over. So where operations cost time, the other core does at its end what ours
//! has done in between: only with free operations both do the same at the same instant.
//!
//! # What is not told
//!
//! Ticks that stop and begin again on idle CPUs, frequencies that governors choose, `sched_exec`, the throttle work of a task
//! on its way to user mode, and reads of a task's run time.

use crate::ending::Stopped;
use crate::simulation::Simulation;
use fairground_model::{Change, PrevState};
use fairground_sched::{Sched, WakeFlags};
use fairground_stdx::{CpuId, Instant, TaskId};

/// When and on which CPU an entry is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// When.
    pub now: Instant,
    /// The CPU that makes it.
    pub cpu: CpuId,
    /// The kernel's count of ticks.
    pub jiffies: u64,
}

/// An entry into the scheduler, by the kernel's name.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// sched_fork(): a task is made, and not queued yet.
    Fork {
        /// Who makes it; `None`: somebody outside.
        parent: Option<TaskId>,
        /// The new task.
        child: TaskId,
    },
    /// wake_up_new_task().
    WakeNew {
        /// The new task.
        child: TaskId,
        /// The CPU on which the scenario wants it, instead of the one that would be chosen.
        wanted: Option<CpuId>,
    },
    /// try_to_wake_up(). Our core may have found nothing to wake.
    Wake {
        /// Who is woken.
        wakee: TaskId,
        /// From where.
        flags: WakeFlags,
    },
    /// sched_yield() of the running task; its schedule() follows.
    Yield,
    /// schedule().
    Schedule {
        /// What the leaving task is.
        prev_state: PrevState,
    },
    /// The tick.
    Tick,
    /// The softirq that balances.
    Softirq,
    /// The interrupt that another CPU sent, or the look of an idle CPU that polls.
    Ipi,
    /// Timers of the scheduler that are due: a quota's period or slack, a turn, a deadline.
    Timer,
    /// A change of a task, a group, a switch or the machine, from outside or by a task of its own; our core has taken it.
    Change(&'a Change),
}

/// Another scheduler beside ours.
pub trait OtherCore {
    /// Our core has made an entry, and stands as it is after it. An error says what differs, or why the other one cannot go
    /// on; the run stops with it.
    fn entered(&mut self, ours: &Sched, site: Site, entry: Entry<'_>) -> Result<(), String>;
}

/// Who besides our core hears of entries.
#[derive(Default)]
pub(crate) struct Beside(Option<Box<dyn OtherCore>>);

/// A copy of a run is ours alone: what stands beside it cannot be copied.
impl Clone for Beside {
    fn clone(&self) -> Beside {
        assert!(self.0.is_none(), "invariant: a run with another core beside it is not copied");
        Beside(None)
    }
}

impl Simulation {
    /// From now on another core hears of each entry. Before the first event, or it lacks the past.
    pub fn watch_with(&mut self, other: Box<dyn OtherCore>) {
        self.beside = Beside(Some(other));
    }

    /// An entry of `cpu` is over.
    #[inline(always)]
    pub(crate) fn tell(&mut self, cpu: CpuId, entry: Entry<'_>) {
        if self.beside.0.is_some() {
            self.tell_other(cpu, entry);
        }
    }

    #[cold]
    fn tell_other(&mut self, cpu: CpuId, entry: Entry<'_>) {
        let Some(other) = &mut self.beside.0 else { return };
        let site = Site { now: self.now, cpu, jiffies: self.jiffies.count() };
        if let Err(why) = other.entered(&self.sched, site, entry)
            && self.stopped.is_none()
        {
            self.stop(Stopped::OtherCore { why, at: self.now });
        }
    }
}
