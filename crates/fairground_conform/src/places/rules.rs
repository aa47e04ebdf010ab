//! The rules of select_task_rq() for a wake-up, walked with what the record can tell.

use super::View;
use fairground_model::MachineView;
use fairground_model::features::Feat;
use fairground_sched::Profile;
use fairground_sched::seam::{IdleSearch, KthreadWaker, RecentCpu};
use fairground_stdx::{CpuId, CpuMask, Instant, TaskId};

/// The rule, or the doubt, that makes a recorded choice right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlaceRule {
    /// The CPU on which the wakee ran last was idle.
    PrevIdle,
    /// The waking CPU was idle: an interrupt of an idle CPU.
    ThisIdle,
    /// A per-CPU kernel thread woke a task that had queued work for it on its own CPU.
    PerCpuKthread,
    /// The CPU before the last one was idle (recent_used_cpu).
    Recent,
    /// The search found the first idle CPU.
    SearchHit,
    /// No idle CPU: the target of wake_affine(), the waking or the previous CPU.
    NoneIdle,
    /// Doubt: an idle CPU was there, but the search may look at so many CPUs only (SIS_PROP, SIS_UTIL).
    Cut,
    /// Doubt: the CPU before the last one lies before the record; any idle CPU may be it.
    RecentUnknown,
    /// Doubt: right if another CPU's record is late, or if a task on its way does not make its target busy yet.
    Timing,
    /// Doubt: right if the wakee was still queued (delayed dequeue), so that no choice was made.
    DelayedDequeue,
    /// A child went to an idle CPU.
    ForkIdle,
    /// Doubt: no CPU was idle for the child; the least loaded one is not recorded.
    ForkNoneIdle,
    /// Doubt: the same as [`PlaceRule::Timing`] for a child.
    ForkTiming,
    /// No reading makes a wake-up's choice right.
    Unexplained,
    /// No reading makes a child's place right.
    ForkUnexplained,
}

impl PlaceRule {
    /// All in the order of tables.
    pub const ALL: [PlaceRule; 15] = [
        PlaceRule::PrevIdle,
        PlaceRule::ThisIdle,
        PlaceRule::PerCpuKthread,
        PlaceRule::Recent,
        PlaceRule::SearchHit,
        PlaceRule::NoneIdle,
        PlaceRule::Cut,
        PlaceRule::RecentUnknown,
        PlaceRule::Timing,
        PlaceRule::DelayedDequeue,
        PlaceRule::ForkIdle,
        PlaceRule::ForkNoneIdle,
        PlaceRule::ForkTiming,
        PlaceRule::Unexplained,
        PlaceRule::ForkUnexplained,
    ];
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            PlaceRule::PrevIdle => "prev_idle",
            PlaceRule::ThisIdle => "this_idle",
            PlaceRule::PerCpuKthread => "per_cpu_kthread",
            PlaceRule::Recent => "recent",
            PlaceRule::SearchHit => "search_hit",
            PlaceRule::NoneIdle => "none_idle",
            PlaceRule::Cut => "cut",
            PlaceRule::RecentUnknown => "recent_unknown",
            PlaceRule::Timing => "timing",
            PlaceRule::DelayedDequeue => "delayed_dequeue",
            PlaceRule::ForkIdle => "fork_idle",
            PlaceRule::ForkNoneIdle => "fork_none_idle",
            PlaceRule::ForkTiming => "fork_timing",
            PlaceRule::Unexplained => "unexplained",
            PlaceRule::ForkUnexplained => "fork_unexplained",
        }
    }
    /// Whether the recorded choice is one that the rules allow.
    pub const fn is_allowed(self) -> bool {
        !matches!(self, PlaceRule::Unexplained | PlaceRule::ForkUnexplained)
    }
    /// Whether it is about a child.
    pub const fn is_fork(self) -> bool {
        matches!(self, PlaceRule::ForkIdle | PlaceRule::ForkNoneIdle | PlaceRule::ForkTiming | PlaceRule::ForkUnexplained)
    }
    /// Whether only something that is not recorded makes the choice right.
    pub const fn is_doubt(self) -> bool {
        matches!(
            self,
            PlaceRule::Cut
                | PlaceRule::RecentUnknown
                | PlaceRule::Timing
                | PlaceRule::DelayedDequeue
                | PlaceRule::ForkNoneIdle
                | PlaceRule::ForkTiming
        )
    }
}

/// Choices that one rule explains.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleTally {
    /// All of them.
    pub choices: u64,
    /// Those in which the core's own answer was the recorded CPU.
    pub strict: u64,
}

/// A choice that no reading explains.
#[derive(Clone, Debug)]
pub struct Unexplained {
    /// When it began.
    pub at: Instant,
    /// The task.
    pub task: TaskId,
    /// Whether it is a child's first place.
    pub fork: bool,
    /// The CPU that woke it.
    pub this: CpuId,
    /// Where it ran last.
    pub prev: CpuId,
    /// Its CPU before the last one, if the record tells.
    pub recent: Option<CpuId>,
    /// Where it went.
    pub recorded: CpuId,
    /// The core's answer.
    pub core: CpuId,
    /// Runnable tasks of each CPU, and whether one runs.
    pub queues: Vec<(u32, bool)>,
}

/// All choices of CPUs.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// By rule, in the order of [`PlaceRule::ALL`].
    pub rules: [RuleTally; PlaceRule::ALL.len()],
    /// The first ones that no reading explains.
    pub unexplained: Vec<Unexplained>,
}

impl Placement {
    /// Choices that one rule explains.
    pub fn of(&self, rule: PlaceRule) -> RuleTally {
        self.rules[rule as usize]
    }
    /// Wake-ups, or births: all, those allowed, and those with the core's own answer.
    pub fn sums(&self, fork: bool) -> (u64, u64, u64) {
        let rows = PlaceRule::ALL.into_iter().filter(|rule| rule.is_fork() == fork);
        rows.fold((0, 0, 0), |(all, allowed, strict), rule| {
            let row = self.of(rule);
            let right = if rule.is_allowed() { row.choices } else { 0 };
            (all + row.choices, allowed + right, strict + row.strict)
        })
    }
    pub(crate) fn count(&mut self, rule: PlaceRule, strict: bool) {
        let row = &mut self.rules[rule as usize];
        row.choices += 1;
        row.strict += u64::from(strict);
    }
}

/// What kernels differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Era {
    /// What is remembered of a task's CPU before the last one.
    pub(crate) recent: RecentCpu,
    /// A task that a per-CPU kernel thread wakes may stay.
    pub(crate) kthread_stacks: bool,
    /// The search begins behind the target, not at it.
    pub(crate) one_pass: bool,
    /// The search may be cut short.
    pub(crate) limited: bool,
    /// Sleepers may stay queued.
    pub(crate) delays: bool,
}

impl Era {
    pub(crate) fn of(profile: &Profile) -> Era {
        let on = |feat: Feat| profile.feats.has(feat);
        Era {
            recent: profile.recent_used_cpu,
            kthread_stacks: profile.kthread_waker == KthreadWaker::Stacks,
            one_pass: matches!(profile.idle_search, IdleSearch::OnePass | IdleSearch::OnePassOthers),
            limited: on(Feat::SIS_PROP) || on(Feat::SIS_UTIL) || on(Feat::SIS_AVG_CPU),
            delays: on(Feat::DELAY_DEQUEUE),
        }
    }
}

/// One recorded choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) this: CpuId,
    pub(crate) prev: CpuId,
    pub(crate) recorded: CpuId,
    /// Whether a task woke it, so that the wake-up may be sync.
    pub(crate) by_task: bool,
    /// Whether that is a per-CPU kernel thread.
    pub(crate) by_kthread: bool,
    /// recent_used_cpu, if the record tells.
    pub(crate) recent: Option<CpuId>,
    /// The CPUs that the wakee may use.
    pub(crate) allowed: CpuMask,
}

/// The rule that makes a wake-up's choice right in some reading of `view`.
pub(crate) fn explain(choice: &Choice, view: &View, machine: &MachineView, era: Era) -> Option<PlaceRule> {
    let walk = Walk { choice, view, machine, era };
    let (targets, count) = walk.wake_affine();
    targets[..count].iter().find_map(|&target| walk.select_idle_sibling(target))
}

struct Walk<'a> {
    choice: &'a Choice,
    view: &'a View,
    machine: &'a MachineView,
    era: Era,
}

impl Walk<'_> {
    fn may_idle(&self, cpu: CpuId) -> bool {
        self.view.may_idle.contains(cpu) && self.choice.allowed.contains(cpu)
    }
    fn may_busy(&self, cpu: CpuId) -> bool {
        self.view.may_busy.contains(cpu)
    }
    fn is(&self, cpu: CpuId) -> bool {
        self.choice.recorded == cpu
    }
    fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.machine.cpus[a].llc.contains(b)
    }

    /// The targets that are possible. Without loads and the sync flag these are often both.
    ///
    /// Kernel: fair.c wake_affine(), v4.14–
    fn wake_affine(&self) -> ([CpuId; 2], usize) {
        let Choice { this, prev, by_task, .. } = *self.choice;
        if this == prev {
            return ([prev, prev], 1);
        }
        if self.share_cache(this, prev) && !self.may_busy(this) {
            return match (self.may_idle(prev), self.may_busy(prev)) {
                (true, true) => ([prev, this], 2),
                (true, false) => ([prev, prev], 1),
                _ => ([this, this], 1),
            };
        }
        let sync = by_task && self.view.alone;
        if !sync && !self.may_busy(prev) {
            return ([prev, prev], 1);
        }
        ([prev, this], 2)
    }

    /// Kernel: fair.c select_idle_sibling(), v4.16–
    fn select_idle_sibling(&self, target: CpuId) -> Option<PlaceRule> {
        let prev = self.choice.prev;
        for cpu in [target, prev] {
            if !self.may_idle(cpu) || !self.share_cache(cpu, target) {
                continue;
            }
            if self.is(cpu) {
                return Some(if cpu == prev { PlaceRule::PrevIdle } else { PlaceRule::ThisIdle });
            }
            if !self.may_busy(cpu) && self.fits_surely(cpu) {
                return None;
            }
        }
        if self.era.kthread_stacks && self.choice.by_kthread && prev == self.choice.this && self.is(prev) && self.view.alone {
            return Some(PlaceRule::PerCpuKthread);
        }
        let remembers = self.era.recent != RecentCpu::None;
        if let Some(recent) =
            self.choice.recent.filter(|&cpu| remembers && cpu != prev && cpu != target && self.share_cache(cpu, target))
            && self.may_idle(recent)
        {
            if self.is(recent) {
                return Some(PlaceRule::Recent);
            }
            if !self.may_busy(recent) && self.fits_surely(recent) {
                return None;
            }
        }
        let found = match self.is_asymmetric() {
            true => self.select_idle_capacity(target),
            false => self.search(target),
        };
        let unknown = || self.may_idle(self.choice.recorded) && self.share_cache(self.choice.recorded, target);
        found.or_else(|| (remembers && self.choice.recent.is_none() && unknown()).then_some(PlaceRule::RecentUnknown))
    }

    /// Where CPUs differ in capacity a task that is not known may not fit the smaller ones.
    fn fits_surely(&self, cpu: CpuId) -> bool {
        !self.is_asymmetric() || self.machine.cpus[cpu].capacity == self.biggest()
    }
    fn is_asymmetric(&self) -> bool {
        self.machine.cpus.iter().any(|cpu| cpu.capacity != self.machine.cpus[self.choice.prev].capacity)
    }
    fn biggest(&self) -> u32 {
        self.machine.cpus.iter().map(|cpu| cpu.capacity).max().unwrap_or(0)
    }

    /// The first idle CPU that fits, or else the biggest: none before the recorded one may be as big.
    ///
    /// Kernel: fair.c select_idle_capacity(), v5.7–
    fn select_idle_capacity(&self, target: CpuId) -> Option<PlaceRule> {
        let mut biggest = 0;
        for cpu in self.choice.allowed.iter_wrap(target).filter(|&cpu| self.may_idle(cpu)) {
            let capacity = self.machine.cpus[cpu].capacity;
            if self.is(cpu) && capacity > biggest {
                return Some(PlaceRule::SearchHit);
            }
            if !self.may_busy(cpu) {
                biggest = biggest.max(capacity);
            }
        }
        (self.is(target) && biggest == 0).then_some(PlaceRule::NoneIdle)
    }

    /// Kernel: fair.c select_idle_cpu(), select_idle_core(), select_idle_smt(), v4.12–
    fn search(&self, target: CpuId) -> Option<PlaceRule> {
        let llc = self.machine.cpus[target].llc.and(&self.choice.allowed);
        let start = if self.era.one_pass { CpuId::new(target.get() + 1) } else { target };
        if self.has_threads(target) && self.search_smt(&llc, start, target) {
            return Some(PlaceRule::SearchHit);
        }
        for cpu in llc.iter_wrap(start).filter(|&cpu| self.may_idle(cpu)) {
            if self.is(cpu) {
                return Some(PlaceRule::SearchHit);
            }
            if !self.may_busy(cpu) {
                return (self.is(target) && self.era.limited).then_some(PlaceRule::Cut);
            }
        }
        self.is(target).then_some(PlaceRule::NoneIdle)
    }

    fn has_threads(&self, cpu: CpuId) -> bool {
        self.machine.cpus[cpu].smt.weight() > 1
    }
    /// With threads: the first wholly idle core, or an idle thread of the core of `prev` (of the target before).
    fn search_smt(&self, llc: &CpuMask, start: CpuId, target: CpuId) -> bool {
        let recorded = self.choice.recorded;
        if !self.may_idle(recorded) {
            return false;
        }
        let near = if self.era.one_pass { self.choice.prev } else { target };
        if self.machine.cpus[near].smt.contains(recorded) {
            return true;
        }
        let core = |cpu: CpuId| &self.machine.cpus[cpu].smt;
        let idle_core = llc.iter_wrap(start).find(|&cpu| core(cpu).iter().all(|thread| !self.may_busy(thread)));
        let may = core(recorded).iter().all(|thread| self.may_idle(thread));
        let before = |first: CpuId| {
            let mut order = llc.iter_wrap(start);
            order.find(|&cpu| cpu == recorded || cpu == first) == Some(recorded)
        };
        may && idle_core.is_none_or(before)
    }
}
