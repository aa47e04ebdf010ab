//! A second scheduler behind the same engine: it hears of each entry that the engine makes into the core.
//!
//! # The problem
//!
//! Whether our core does what a kernel does is best asked of the kernel itself, at each call, with the same past and at the
//! same instant. With an engine on either side the first difference would be one between engines.
//!
//! # The rule
//!
//! One engine, one queue of events, one [`Entry`] after the other. The other core either *watches* ([`OtherCore`]): it hears
//! of each entry when ours has done it, and can look at ours. Or it *leads* ([`LeadingCore`]): it decides, the engine carries
//! that out, and the tables of our core follow (`fairground_sched`, `follow/led.rs`), so that records, times and averages
//! are kept as in any run.
//!
//! ```text
//! watches:  event ─► phase ─► our core ─► requests ─► queue of events
//!                      └────► Entry, and our core after it ─► the other core: a difference stops the run
//!
//! leads:    event ─► Entry ─► the other core ─► Led: who runs, where, who was moved; interrupts, timers ─► queue of events
//!                                                └─► our core's tables, which count what that costs
//! ```
//!
//! To a core that watches an entry is told when its last phase is over. So where operations cost time, it does at the end
//! what ours has done in between: only with free operations both do the same at the same instant.
//!
//! A core that leads does each entry in one go, at its beginning; its price is paid afterwards. So nobody can spoil a search
//! or a balance half done, and no lock is waited for. Priced is what our tables count as they follow (switches, queueing,
//! ticks, interrupts, wake lists), and what the other core has seen of run queues: looks and locks.
//!
//! # What is not told
//!
//! Ticks that stop and begin again on idle CPUs, and reads of a task's run time.

mod lead;

use crate::ending::Stopped;
use crate::simulation::Simulation;
use fairground_model::{Change, CpuMax, PrevState, Recorder};
use fairground_sched::{BandwidthStats, Sched, WakeFlags};
use fairground_stdx::{CpuId, Instant, TaskId, TgId};

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
    /// sched_exec() of the running task. Where it is to go elsewhere, the schedule() that follows takes it there.
    Exec,
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
    /// The thread that changes the frequency of a policy runs, or its driver is done.
    Frequency {
        /// The policy, by its row.
        policy: usize,
    },
    /// resume_user_mode_work(): the running task returns to user mode and has works to do before. A schedule() may follow.
    UserReturn,
    /// A change of a task, a group, a switch or the machine, from outside or by a task of its own; our core has taken it.
    Change(&'a Change),
}

/// Another scheduler beside ours.
pub trait OtherCore {
    /// Our core has made an entry, and stands as it is after it. An error says what differs, or why the other one cannot go
    /// on; the run stops with it.
    fn entered(&mut self, ours: &Sched, site: Site, entry: Entry<'_>) -> Result<(), String>;
}

/// A scheduler that decides in place of ours.
pub trait LeadingCore {
    /// How many timers it has at once, at most.
    fn nr_timers(&self) -> usize;
    /// The run is about to begin: tasks that have slept since before it are asleep in `ours`.
    fn begin(&mut self, ours: &Sched) -> Result<(), String>;
    /// The engine makes an entry. Of a fork our tables hold the child already, of all others they are as before. What came of
    /// it goes to `led`, which is empty. An error ends the run.
    fn enter(&mut self, ours: &Sched, site: Site, entry: Entry<'_>, led: &mut Led) -> Result<(), String>;
    /// The limit of a group, and what it has counted of that since the run began, but for spans and debts, which cpu.stat does not have.
    /// `None`: it has no limit, and had none.
    fn quota(&self, group: TgId) -> Option<(CpuMax, BandwidthStats)>;
    /// Another one in the same state, which goes on by itself: that of a copy of the run.
    fn copy(&self) -> Box<dyn LeadingCore>;
}

/// What a leading core has done and wants.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Led {
    /// Of [`Entry::Schedule`]: who runs; `None` is the idle task.
    pub next: Option<TaskId>,
    /// Of [`Entry::Schedule`]: the stopper ran before that.
    pub stopped: bool,
    /// Of [`Entry::Wake`] and [`Entry::WakeNew`]: on which CPU the task is.
    pub target: Option<CpuId>,
    /// Of [`Entry::Wake`]: it is on that CPU's wake list, and queued with the next [`Entry::Ipi`] there.
    pub listed: bool,
    /// Tasks that were moved, and where to.
    pub moved: Vec<(TaskId, CpuId)>,
    /// What CPUs are to do that may have changed.
    pub flags: Vec<CpuFlags>,
    /// CPUs that are to be interrupted.
    pub ipis: Vec<CpuId>,
    /// The softirq that balances was raised on the CPU that made the entry.
    pub softirq: bool,
    /// Timers by their number: when they are due; `None`: no more.
    pub timers: Vec<(usize, Option<Instant>)>,
    /// Frequencies of policies that change, or are about to.
    pub frequencies: Vec<LedFrequency>,
    /// Of which other CPUs it looked at the run queue, each time that it did.
    pub looked: Vec<CpuId>,
    /// Of which CPUs it took the lock of the run queue, its own among them.
    pub locked: Vec<CpuId>,
}

/// What a CPU is to do before its task goes on in user mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuFlags {
    /// The CPU.
    pub cpu: CpuId,
    /// schedule(), at once.
    pub resched: bool,
    /// schedule(), at the next return to user mode or tick.
    pub resched_lazy: bool,
    /// The works of the running task.
    pub user_works: bool,
}

/// What becomes of the frequency of a policy, which is named by its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LedFrequency {
    /// The thread that changes it was woken.
    Thread {
        /// The policy.
        policy: usize,
    },
    /// The driver is at work.
    Coming {
        /// The policy.
        policy: usize,
        /// When it is done.
        at: Instant,
    },
    /// It has changed.
    Changed {
        /// The policy.
        policy: usize,
        /// The frequency.
        khz: u32,
    },
}

impl Led {
    /// Whether there is nothing to do but to note flags.
    fn is_flags_alone(&self) -> bool {
        let lists_are_empty =
            self.moved.is_empty() && self.ipis.is_empty() && self.timers.is_empty() && self.frequencies.is_empty();
        lists_are_empty && !self.softirq
    }
    fn clear(&mut self) {
        (self.next, self.target) = (None, None);
        (self.stopped, self.listed, self.softirq) = (false, false, false);
        self.moved.clear();
        self.flags.clear();
        self.ipis.clear();
        self.timers.clear();
        self.frequencies.clear();
        self.looked.clear();
        self.locked.clear();
    }
}

/// Who besides our core hears of entries.
#[derive(Default)]
pub(crate) enum Beside {
    /// Nobody.
    #[default]
    Nobody,
    /// One who watches.
    Watches(Box<dyn OtherCore>),
    /// One who decides, and what it decided last.
    Leads(Box<dyn LeadingCore>, Led),
}

impl Beside {
    #[inline(always)]
    pub(crate) fn leads(&self) -> bool {
        matches!(self, Beside::Leads(..))
    }
    /// How many timers it has at most.
    pub(crate) fn nr_timers(&self) -> usize {
        match self {
            Beside::Leads(leader, _) => leader.nr_timers(),
            _ => 0,
        }
    }
    /// What the one who decides counts of a group's limit.
    pub(crate) fn quota(&self, group: TgId) -> Option<(CpuMax, BandwidthStats)> {
        match self {
            Beside::Leads(leader, _) => leader.quota(group),
            _ => None,
        }
    }
    /// The run is about to begin.
    pub(crate) fn begin(&mut self, ours: &Sched) -> Result<(), String> {
        match self {
            Beside::Leads(leader, _) => leader.begin(ours),
            _ => Ok(()),
        }
    }
}

/// Who leads a copy of a run is a copy, too; who watches one hears of that run only.
impl Clone for Beside {
    fn clone(&self) -> Beside {
        assert!(!matches!(self, Beside::Watches(_)), "invariant: a run that another core watches is not copied");
        match self {
            Beside::Leads(leader, led) => Beside::Leads(leader.copy(), led.clone()),
            _ => Beside::Nobody,
        }
    }
}

impl Simulation {
    /// From now on another core hears of each entry. Before the first event, or it lacks the past.
    pub fn watch_with(&mut self, other: Box<dyn OtherCore>) {
        self.beside = Beside::Watches(other);
    }

    /// An entry of `cpu` is over: whoever watches hears of it.
    #[inline(always)]
    pub(crate) fn tell(&mut self, cpu: CpuId, entry: Entry<'_>) {
        if !matches!(self.beside, Beside::Nobody) {
            self.tell_watcher(cpu, entry);
        }
    }

    /// The same; whoever leads makes the entry now, of which our tables need to know nothing but who was moved.
    #[inline(always)]
    pub(crate) fn enter(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, entry: Entry<'_>) {
        if !matches!(self.beside, Beside::Nobody) {
            self.enter_other(rec, cpu, entry);
        }
    }

    #[cold]
    fn tell_watcher(&mut self, cpu: CpuId, entry: Entry<'_>) {
        let Beside::Watches(other) = &mut self.beside else { return };
        let site = Site { now: self.now, cpu, jiffies: self.jiffies.count() };
        if let Err(why) = other.entered(&self.sched, site, entry)
            && self.stopped.is_none()
        {
            self.stop(Stopped::OtherCore { why, at: self.now });
        }
    }

    #[cold]
    fn enter_other(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, entry: Entry<'_>) {
        match self.beside.leads() {
            true if self.ask(rec, cpu, entry) => self.obey(rec, cpu),
            true => {}
            false => self.tell_watcher(cpu, entry),
        }
    }
}
