//! On which CPU a woken or new task is queued.
//!
//! # The problem
//!
//! A woken task has reasons for three places. Its own cache lines are warm where it last ran. Its data is warm where
//! its waker runs. An idle CPU would run it at once. The choice has to be made within microseconds, at every wake-up,
//! and without locks: each run queue is read at its own moment, and may change before the task arrives.
//!
//! # What goes wrong without it
//!
//! - Always the previous CPU: tasks queue behind busy ones while other CPUs idle.
//! - Always the waker's CPU: a server that wakes many clients collects all of them.
//! - A search without a limit: on a large, busy cache domain it costs more than it can gain
//!   (docs/experiments/sis-util.md).
//! - A search cut too early: a task waits beside an idle CPU until the next balance.
//!
//! # The rule
//!
//! ```text
//! wake-up ──► wake_wide? ──► wake_affine: previous or waker's CPU ──► select_idle_sibling: an idle CPU near that
//! fork ──► find_idlest_cpu: from the largest domain down, the idlest group, there the idlest CPU
//! both ──► is the choice allowed and on line? else select_fallback_rq
//! ```
//!
//! `wake_affine` sets the target. Then the first of these that is idle and shares its cache is taken: the target, the
//! previous CPU, the recently used CPU, whatever the search of the cache domain finds. If nothing is idle it is the
//! target.
//!
//! The search has a budget. SIS_PROP takes it from the mean idle time of the searching CPU and the mean cost of a
//! search. SIS_UTIL takes it from how much the cache domain is used, as the last balance of all of it found.
//!
//! Where a look has a price, a search may stop between two looks, until whatever happens elsewhere by then has
//! happened. So two wakers may choose the same idle CPU, as on a real machine. Each look is counted, and each choice is
//! recorded with the rule that made it.
//!
//! # What changed
//!
//! - v4.14 "sched/core: Fix wake_affine() performance regression": WA_IDLE and WA_WEIGHT
//! - v4.16 "sched/fair: Use a recently used CPU as an idle candidate and the basis for SIS"
//! - v5.7 "sched/fair: Add asymmetric CPU capacity wakeup scan"; wake_cap() goes
//! - v5.13 "sched/fair: Bring back select_idle_smt(), but differently": siblings of the previous CPU, then one pass
//! - v6.0 "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg"
//! - v6.7 "sched/fair: Scan cluster before scanning LLC in wake-up path"; SIS_PROP goes
//!
//! # The parts
//!
//! `affine.rs` and `wakee.rs` set the target. `idle_sibling.rs` tries the CPUs known by name, then `search.rs` walks
//! the cache domain with the budget of `scan_budget.rs` and what `idle_core.rs` and `idle_cpus.rs` know;
//! `looks.rs` makes the looks, and `idle_capacity.rs` searches unequal CPUs. `under_way.rs` keeps searches that have stopped, `avg_idle.rs` what they
//! are measured by. Forks take `idlest_group/` and `idlest_cpu.rs`, and `fallback.rs` is the last resort. Energy-aware
//! placement comes first where it is active: `../energy/`. Who queues the task then, waker or target, is
//! `core/wake_list.rs`.
//!
//! # Read also
//!
//! docs/model/06-wakeup-placement.md and 16-recordings-placement.md; Documentation/scheduler/sched-domains.rst and
//! sched-capacity.rst; "The Linux Scheduler: a Decade of Wasted Cores", on wake-ups that overload a CPU
//! (<https://people.ece.ubc.ca/sasha/papers/eurosys16-final29.pdf>).

mod affine;
mod avg_idle;
mod fallback;
mod idle_capacity;
mod idle_core;
mod idle_cpus;
mod idle_sibling;
mod idlest_cpu;
mod idlest_group;
mod looks;
mod scan_budget;
mod search;
#[cfg(test)]
mod tests;
mod under_way;
mod wakee;

pub use avg_idle::IdleEstimate;
pub use looks::LooksInVain;
#[cfg(test)]
pub(crate) use tests::{JIFFY, TestMachine, cpu};
pub(crate) use under_way::Searches;
pub(crate) use wakee::WakeeFlips;

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::ExitingWaker;
use crate::topology::SdFlags;
use fairground_model::{PrevState, Reason, WakeContext};
use fairground_stdx::{CpuId, CpuMask, Instant, SdId, TaskId};
use idle_sibling::Sibling;
use search::{Search, Walked};

/// What makes a choice of a CPU necessary.
///
/// Kernel: sched.h WF_TTWU, WF_FORK, v5.11– (SD_BALANCE_* before)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// A sleeper is woken.
    Ttwu {
        /// The waker says that it will sleep soon (WF_SYNC).
        sync: bool,
        /// Where the wake-up comes from.
        context: WakeContext,
    },
    /// A new task starts.
    Fork,
    /// The running task becomes another program.
    Exec,
}

/// A choice that is being made.
#[derive(Clone, Copy, Debug)]
struct Placing {
    task: TaskId,
    /// The CPU that chooses.
    this: CpuId,
    /// The CPU on which the task last ran.
    prev: CpuId,
    /// The waker will sleep soon.
    sync: bool,
    /// The waker is a task, not an interrupt.
    in_task: bool,
}

/// What the domains of the choosing CPU say.
struct Walk {
    /// Near which CPU an idle one is searched.
    target: CpuId,
    /// The largest domain in which such a choice is balanced, if the slow path is to be taken.
    balance: Option<SdId>,
}

impl Sched {
    /// `None`: a search is under way on this CPU, with which [`Sched::continue_search`] goes on.
    ///
    /// Kernel: core.c select_task_rq(), v4.12–
    pub(crate) fn select_task_rq(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wake: Wake) -> Option<CpuId> {
        let choice = match only_cpu(&self.tasks[task].cpus_allowed) {
            Some(only) => (only, Reason::SelectOnlyAllowed),
            None if self.is_dl(task) => self.select_task_rq_dl(cx, task, wake),
            None if self.is_rt(task) => self.select_task_rq_rt(cx, task, wake),
            None => self.select_task_rq_fair(cx, task, wake)?,
        };
        Some(self.conclude(cx, task, choice))
    }

    /// As [`Sched::select_task_rq`], with all run queues as they stand now.
    pub(crate) fn select_task_rq_at_once(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wake: Wake) -> CpuId {
        let until = std::mem::replace(&mut cx.until, Instant::MAX);
        let chosen = self.select_task_rq(cx, task, wake).expect("invariant: nothing interrupts a search without a limit");
        cx.until = until;
        chosen
    }

    /// Goes on with the search that is under way on this CPU; `None` as before.
    ///
    /// Mostly there is time for one look and no more, and it finds nothing: that stands in the caller.
    #[inline]
    pub(crate) fn continue_search(&mut self, cx: &mut Ctx<'_, '_>) -> Option<CpuId> {
        let mut search = self.searches.take(cx.cpu).expect("invariant: a search that goes on has begun");
        let walked = self.walk_on(cx, &mut search);
        if walked == Walked::Later {
            self.stop_search(cx, search);
            return None;
        }
        self.conclude_search(cx, search, walked)
    }

    /// The walk of a search has come to an end; it may have another one before it.
    #[inline(never)]
    fn conclude_search(&mut self, cx: &mut Ctx<'_, '_>, search: Box<Search>, walked: Walked) -> Option<CpuId> {
        let task = search.placing.task;
        let choice = self.go_on_to_choice(cx, search, walked)?;
        Some(self.conclude(cx, task, choice))
    }

    /// Goes on with a search, whose walk has come so far, up to its end, or up to where it has to stop (`None`).
    fn go_on_to_choice(&mut self, cx: &mut Ctx<'_, '_>, mut search: Box<Search>, walked: Walked) -> Option<(CpuId, Reason)> {
        let Some(found) = self.go_on_with_search(cx, &mut search, walked) else {
            self.stop_search(cx, search);
            return None;
        };
        let choice = self.search_is_over(&search, found);
        self.searches.reuse(search);
        Some(choice)
    }

    /// A search has come to a moment at which something else happens, and goes on from there.
    #[inline]
    fn stop_search(&mut self, cx: &Ctx<'_, '_>, mut search: Box<Search>) {
        search.interrupt(cx.lasted().0);
        self.searches.put_back(cx.cpu, search);
    }

    /// A choice that may not be used is replaced; the last word is recorded.
    fn conclude(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, choice: (CpuId, Reason)) -> CpuId {
        let (cpu, reason) = match self.is_cpu_allowed(task, choice.0) {
            true => choice,
            false => (self.select_fallback_rq(cx, self.tasks[task].cpu, task), Reason::SelectFallback),
        };
        cx.decide(reason, Some(task), cpu.get());
        cpu
    }

    /// Kernel: fair.c select_task_rq_fair(), v4.12–
    fn select_task_rq_fair(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wake: Wake) -> Option<(CpuId, Reason)> {
        let mut placing = Placing { task, this: cx.cpu, prev: self.tasks[task].cpu, sync: false, in_task: false };
        match wake {
            Wake::Ttwu { sync, context } => {
                placing.sync = sync && !self.ignores_sync(cx.cpu);
                placing.in_task = context == WakeContext::Task;
                self.place_woken(cx, &placing)
            }
            Wake::Fork => Some(self.place_balanced(cx, &placing, SdFlags::BALANCE_FORK)),
            Wake::Exec => Some(self.place_balanced(cx, &placing, SdFlags::BALANCE_EXEC)),
        }
    }

    /// Whether the current task of `this` is exiting: it frees its CPU, but nothing that the wakee would find in caches.
    ///
    /// Kernel: fair.c select_task_rq_fair() with PF_EXITING, v4.16–
    fn ignores_sync(&self, this: CpuId) -> bool {
        self.profile.exiting_waker == ExitingWaker::Plain && self.exits(this)
    }

    /// Whether the current task of a CPU is about to end.
    ///
    /// Kernel: sched.h PF_EXITING, v4.12–
    pub fn exits(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].curr.is_some_and(|task| self.tasks[task].sleep_state == Some(PrevState::Dead))
    }

    fn place_woken(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing) -> Option<(CpuId, Reason)> {
        self.record_wakee(cx, placing.task);
        if self.places_by_energy()
            && let Some(choice) = self.find_energy_efficient_cpu(cx, placing.task)
        {
            return Some(choice);
        }
        let want_affine = !self.wake_wide(placing)
            && !self.wake_cap(cx, placing)
            && self.tasks[placing.task].cpus_allowed.contains(placing.this);
        let walk = self.walk_domains(cx, placing, SdFlags::BALANCE_WAKE, want_affine);
        if let Some(sd) = walk.balance {
            return Some(self.find_idlest_cpu(cx, placing, sd, SdFlags::BALANCE_WAKE));
        }
        self.place_near(cx, placing, walk.target, want_affine)
    }

    /// An idle CPU near the target, by name or from a search.
    fn place_near(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        target: CpuId,
        want_affine: bool,
    ) -> Option<(CpuId, Reason)> {
        match self.select_idle_sibling(cx, placing, target) {
            Sibling::Chosen(choice) => {
                self.note_waker_cpu(placing.this, want_affine);
                Some(choice)
            }
            Sibling::Search(mut search) => {
                search.want_affine = want_affine;
                let walked = self.walk_on(cx, &mut search);
                self.go_on_to_choice(cx, search, walked)
            }
        }
    }

    /// What the search has come to.
    fn search_is_over(&mut self, search: &Search, found: Option<(CpuId, Reason)>) -> (CpuId, Reason) {
        let this = search.placing.this;
        self.note_waker_cpu(this, search.want_affine);
        self.end_search(this, search.target, found.or(search.farther))
    }

    /// The slow path, which looks for the idlest CPU of the largest domain that is balanced at such a moment.
    fn place_balanced(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, kind: SdFlags) -> (CpuId, Reason) {
        match self.walk_domains(cx, placing, kind, false).balance {
            Some(sd) => self.find_idlest_cpu(cx, placing, sd, kind),
            None => (placing.prev, Reason::SelectLocal),
        }
    }

    /// From the smallest domain of the choosing CPU up: the first that spans the previous CPU too decides between
    /// both, if the wake-up is to be affine; else the largest one with the flag of this kind of choice is remembered.
    fn walk_domains(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, kind: SdFlags, want_affine: bool) -> Walk {
        let mut walk = Walk { target: placing.prev, balance: None };
        let mut next = self.topology.cpus[placing.this].base;
        while let Some(sd) = next {
            let domain = &self.topology.domains[sd];
            if want_affine && domain.flags.has(SdFlags::WAKE_AFFINE) && domain.span.contains(placing.prev) {
                if placing.this != placing.prev {
                    walk.target = self.wake_affine(cx, placing, sd);
                }
                walk.balance = None;
                return walk;
            }
            if domain.flags.has(kind) {
                walk.balance = Some(sd);
            } else if !want_affine {
                return walk;
            }
            next = domain.parent;
        }
        walk
    }

    /// After an affine wake-up the waker remembers its own CPU.
    ///
    /// Kernel: fair.c select_task_rq_fair(), v4.16–v5.13
    fn note_waker_cpu(&mut self, this: CpuId, want_affine: bool) {
        if want_affine
            && self.profile.recent_used_cpu.is_kept_on_hit()
            && let Some(waker) = self.rqs[this].curr
        {
            self.tasks[waker].recent_used_cpu = this;
        }
    }

    /// Whether a CPU may be used for `task` and is on line.
    ///
    /// Kernel: core.c is_cpu_allowed(), v4.17–
    pub(crate) fn is_cpu_allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks[task].cpus_allowed.contains(cpu) && self.rqs[cpu].online
    }
}

/// The only CPU of a set, if it is the only one.
pub(crate) fn only_cpu(cpus: &CpuMask) -> Option<CpuId> {
    let first = cpus.first()?;
    cpus.next_from(first.get() + 1).is_none().then_some(first)
}
