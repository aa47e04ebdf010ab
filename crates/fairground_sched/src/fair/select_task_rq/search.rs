//! The search of a cache domain for an idle core or CPU, one look after the other.
//!
//! Each run queue is read at its own moment: the start of the search plus what the looks before have cost. So a search may
//! stop between two looks, until whatever happens elsewhere by then has happened. Where it is to be frozen, or where looks
//! cost nothing, it is one step, and the first free CPU comes from a set.

use super::Placing;
use super::scan_budget::{ScanClock, UNLIMITED};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{ClusterSearch, IdleSearch};
use crate::topology::SdFlags;
use fairground_model::features::Feat;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, CpuMask, Instant, SdId, SgId, TaskId};

/// What is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Cores all of whose threads are idle.
    Cores,
    /// Free CPUs, within a budget.
    Cpus,
}

/// How a walk over CPUs ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Walked {
    /// At what was searched for.
    Found(CpuId),
    /// Behind the last CPU.
    Exhausted,
    /// At its limit.
    OutOfBudget,
    /// It goes on later.
    Later,
}

/// A search that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(super) placing: Placing,
    pub(super) target: CpuId,
    /// The target's cache domain.
    sd: SdId,
    /// An idle CPU known by name in another cluster, if nothing better is found.
    pub(super) farther: Option<(CpuId, Reason)>,
    /// The wake-up is an affine one.
    pub(super) want_affine: bool,
    pub(super) stage: Stage,
    /// What is walked over now, and what after that.
    pub(super) cpus: CpuMask,
    rest: CpuMask,
    /// The walk goes from `start` up to the last CPU and then from the first to `start`; `from` is next, `end` is not.
    start: u32,
    from: u32,
    end: u32,
    /// An idle thread of a busy core that was seen on the way.
    pub(super) candidate: Option<CpuId>,
    /// Lowered before each look; 0 ends the search.
    pub(super) nr: u64,
    clock: Option<ScanClock>,
    /// What the search has lasted up to its last interruption, ns.
    lasted: u64,
}

impl Search {
    /// What stands in a place that no search has used.
    pub(super) fn nothing() -> Search {
        let (task, this) = (TaskId::new(0), CpuId::new(0));
        Search {
            placing: Placing { task, this, prev: this, sync: false, in_task: false },
            target: this,
            sd: SdId::new(0),
            farther: None,
            want_affine: false,
            stage: Stage::Cpus,
            cpus: CpuMask::EMPTY,
            rest: CpuMask::EMPTY,
            start: 0,
            from: 0,
            end: 0,
            candidate: None,
            nr: UNLIMITED,
            clock: None,
            lasted: 0,
        }
    }

    /// A search begins that has lasted so long already; what it walks over is said by [`Search::walk`].
    fn begin(&mut self, placing: &Placing, target: CpuId, sd: SdId, lasted: u64) {
        (self.placing, self.target, self.sd, self.lasted) = (*placing, target, sd, lasted);
        (self.farther, self.candidate, self.clock) = (None, None, None);
        self.nr = UNLIMITED;
    }

    /// Searches `cpus` from `start` on, and then `rest` likewise.
    fn walk(&mut self, stage: Stage, cpus: CpuMask, rest: CpuMask, start: u32) {
        (self.stage, self.cpus, self.rest) = (stage, cpus, rest);
        (self.start, self.from, self.end) = (start, start, u32::MAX);
    }

    /// What its clocks have measured up to now, when the call has lasted `so_far` ns, is kept in terms of a call that begins
    /// at 0.
    #[inline]
    pub(super) fn interrupt(&mut self, so_far: u64) {
        self.lasted = self.lasted.wrapping_sub(so_far);
        if let Some(clock) = &mut self.clock {
            clock.interrupt(so_far);
        }
    }

    /// No CPU of this part has been looked at yet.
    #[inline]
    fn is_at_start(&self) -> bool {
        (self.from, self.end) == (self.start, u32::MAX)
    }

    /// The next CPU of the walk, if it lies in the stretch of CPUs that the walk is in.
    #[inline]
    pub(super) fn ahead(&self) -> Option<CpuId> {
        self.cpus.next_from(self.from).filter(|cpu| cpu.get() < self.end)
    }

    /// The walk has come behind `cpu`, which was [`Search::ahead`].
    #[inline]
    pub(super) fn passes(&mut self, cpu: CpuId) {
        self.from = cpu.get() + 1;
    }

    /// The next CPU of the walk.
    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        loop {
            if let Some(cpu) = self.ahead() {
                self.passes(cpu);
                return Some(cpu);
            }
            if self.end == u32::MAX {
                (self.from, self.end) = (0, self.start);
            } else if !self.next_part() {
                return None;
            }
        }
    }

    /// Goes on with the part of the domain that comes last, if there is one left.
    #[inline(never)]
    fn next_part(&mut self) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        self.cpus = std::mem::replace(&mut self.rest, CpuMask::EMPTY);
        (self.from, self.end) = (self.start, u32::MAX);
        true
    }
}

impl Sched {
    /// Begins the search of the target's cache domain; the first look is still to come. `Err`: it is over before.
    ///
    /// Kernel: fair.c select_idle_sibling(), v4.12–
    pub(super) fn begin_search(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        target: CpuId,
    ) -> Result<Box<Search>, Option<(CpuId, Reason)>> {
        let sd = self.topology.cpus[target].sd_llc.ok_or(None)?;
        self.rqs[placing.this].sis.sis_domain_search += 1;
        let mut search = self.searches.place();
        search.begin(placing, target, sd, cx.lasted().0);
        let cores = self.topology.smt_active && self.test_idle_cores(target);
        let begun = match self.profile.idle_search.is_one_pass() {
            true => self.begin_one_pass(cx, &mut search, cores),
            false => Ok(self.begin_steps(cx, &mut search, cores)),
        };
        let over = match begun {
            Ok(true) => return Ok(search),
            Ok(false) => self.search_failed(cx, &search),
            Err(found) => found,
        };
        self.searches.reuse(search);
        Err(over)
    }

    /// Idle cores, if there may be any, else idle CPUs. False: there is no budget for a search.
    ///
    /// Kernel: fair.c select_idle_sibling(), select_idle_cpu(), v5.13–
    fn begin_one_pass(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        search: &mut Search,
        cores: bool,
    ) -> Result<bool, Option<(CpuId, Reason)>> {
        let Search { placing, target, sd, .. } = *search;
        if self.topology.smt_active
            && !cores
            && self.topology.cpus_share_cache(placing.prev, target)
            && let Some(sibling) = self.select_idle_smt(cx, &placing, sd, placing.prev)
        {
            return Err(Some((sibling, Reason::SelectIdleSmt)));
        }
        let this_sd = self.topology.cpus[placing.this].sd_llc;
        if self.profile.idle_search == IdleSearch::OnePass && this_sd.is_none() {
            return Ok(false);
        }
        if self.profile.feats.has(Feat::SIS_PROP) && !cores {
            let Some(this_sd) = this_sd else { return Ok(false) };
            search.nr = self.budget_by_wake_avg_idle(cx, this_sd, self.topology.domains[sd].span_weight);
            search.clock = Some(ScanClock::start(cx, this_sd));
        }
        search.nr = self.budget_by_util(target).unwrap_or(search.nr);
        if search.nr == 1 {
            return Ok(false);
        }
        let cpus = self.topology.domains[sd].span.and(&self.tasks[placing.task].cpus_allowed);
        let (first, rest) = match self.cluster_of_target(sd) {
            Some(cluster) => {
                let cluster = &self.topology.groups[cluster].span;
                (cpus.and(cluster), cpus.and_not(cluster))
            }
            None => (cpus, CpuMask::EMPTY),
        };
        let stage = if cores { Stage::Cores } else { Stage::Cpus };
        search.walk(stage, first, rest, target.get() + 1);
        Ok(true)
    }

    /// Idle cores, if there may be any, and then idle CPUs.
    ///
    /// Kernel: fair.c select_idle_sibling(), v4.12–v5.11
    fn begin_steps(&mut self, cx: &mut Ctx<'_, '_>, search: &mut Search, cores: bool) -> bool {
        if cores {
            let cpus = self.topology.domains[search.sd].span.and(&self.tasks[search.placing.task].cpus_allowed);
            search.walk(Stage::Cores, cpus, CpuMask::EMPTY, search.target.get());
            return true;
        }
        self.begin_step_cpus(cx, search)
    }

    /// The step of idle CPUs. False: it is not worth it.
    ///
    /// Kernel: fair.c select_idle_cpu(), v4.12–v5.11
    fn begin_step_cpus(&mut self, cx: &mut Ctx<'_, '_>, search: &mut Search) -> bool {
        let Search { placing, target, sd, .. } = *search;
        let Some(this_sd) = self.topology.cpus[placing.this].sd_llc else { return false };
        let Some(nr) = self.budget_by_avg_idle(placing.this, this_sd, self.topology.domains[sd].span_weight) else {
            return false;
        };
        (search.nr, search.clock) = (nr, Some(ScanClock::start(cx, this_sd)));
        let span = self.topology.domains[sd].span;
        // Up to v5.6 CPUs that the task may not use take from the budget too.
        let cpus = match self.profile.idle_search {
            IdleSearch::Steps => span,
            _ => span.and(&self.tasks[placing.task].cpus_allowed),
        };
        search.walk(Stage::Cpus, cpus, CpuMask::EMPTY, target.get());
        true
    }

    /// Goes on with the walk of a search.
    #[inline]
    pub(super) fn walk_on(&mut self, cx: &mut Ctx<'_, '_>, search: &mut Search) -> Walked {
        match search.stage {
            Stage::Cores => self.walk_cores(cx, search),
            Stage::Cpus => self.walk_cpus(cx, search),
        }
    }

    /// Goes on with a search, whose walk has come so far. `None`: it has come to a moment at which something else happens.
    pub(super) fn go_on_with_search(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        search: &mut Search,
        mut walked: Walked,
    ) -> Option<Option<(CpuId, Reason)>> {
        loop {
            match (walked, search.stage) {
                (Walked::Later, _) => return None,
                (Walked::Found(core), Stage::Cores) => {
                    return Some(self.search_ends(cx, search, Some((core, Reason::SelectIdleCore))));
                }
                (Walked::Found(cpu), Stage::Cpus) => {
                    self.charge_search(cx, search);
                    return Some(self.search_ends(cx, search, Some((cpu, Reason::SelectIdleCpu))));
                }
                (_, Stage::Cores) => {
                    // The flag that brought it here was wrong.
                    self.set_idle_cores(search.target, false);
                    if self.profile.idle_search.is_one_pass() {
                        let found = search.candidate.map(|cpu| (cpu, Reason::SelectIdleCpu));
                        return Some(self.search_ends(cx, search, found));
                    }
                    if !self.begin_step_cpus(cx, search) {
                        return Some(self.search_failed(cx, search));
                    }
                }
                (Walked::Exhausted, Stage::Cpus) => {
                    self.charge_search(cx, search);
                    return Some(self.search_failed(cx, search));
                }
                (Walked::OutOfBudget, Stage::Cpus) => return Some(self.search_failed(cx, search)),
            }
            walked = self.walk_on(cx, search);
        }
    }

    /// The walk has found nothing; up to v5.11 the target's siblings are the last resort.
    fn search_failed(&mut self, cx: &mut Ctx<'_, '_>, search: &Search) -> Option<(CpuId, Reason)> {
        let last_resort = !self.profile.idle_search.is_one_pass() && self.topology.smt_active;
        let sibling = if last_resort { self.select_idle_smt(cx, &search.placing, search.sd, search.target) } else { None };
        self.search_ends(cx, search, sibling.map(|cpu| (cpu, Reason::SelectIdleSmt)))
    }

    /// How long it took goes into the histogram.
    fn search_ends(&mut self, cx: &Ctx<'_, '_>, search: &Search, found: Option<(CpuId, Reason)>) -> Option<(CpuId, Reason)> {
        self.idle_search_times.add(cx.lasted().0.wrapping_sub(search.lasted) / NSEC_PER_USEC);
        found
    }

    /// A search that ended by itself is accounted.
    fn charge_search(&mut self, cx: &Ctx<'_, '_>, search: &Search) {
        let Some(clock) = &search.clock else { return };
        match self.profile.idle_search.is_one_pass() {
            true => self.charge_wake_avg_idle(cx, clock),
            false => {
                self.update_avg_scan_cost(cx, clock);
            }
        }
    }

    /// The first core that is idle; an idle thread of a busy one may be remembered.
    ///
    /// Kernel: fair.c select_idle_core(), v4.12–
    #[inline(never)]
    fn walk_cores(&mut self, cx: &mut Ctx<'_, '_>, search: &mut Search) -> Walked {
        let task = search.placing.task;
        while let Some(cpu) = search.next() {
            let idle = match self.profile.idle_search.is_one_pass() {
                true => self.is_core_idle(cx, task, cpu, &mut search.candidate),
                false => self.are_threads_idle(cx, cpu),
            };
            if idle {
                return Walked::Found(cpu);
            }
            self.remove_core(&mut search.cpus, cpu);
            if cx.is_overtaken() {
                return Walked::Later;
            }
        }
        Walked::Exhausted
    }

    /// The first free CPU within the budget.
    ///
    /// Kernel: fair.c select_idle_cpu(), v4.12–
    #[inline]
    fn walk_cpus(&mut self, cx: &mut Ctx<'_, '_>, search: &mut Search) -> Walked {
        let task = search.placing.task;
        let every_cpu_counts = self.profile.idle_search != IdleSearch::Steps;
        if every_cpu_counts && search.is_at_start() && !self.has_idle_policy && self.looks_are_alike(cx) {
            return self.walk_cpus_at_once(cx, search);
        }
        while let Some(cpu) = search.next() {
            search.nr -= 1;
            if search.nr == 0 {
                return Walked::OutOfBudget;
            }
            if !every_cpu_counts && !self.tasks[task].cpus_allowed.contains(cpu) {
                continue;
            }
            self.look(cx, cpu);
            if self.is_free(task, cpu) {
                return Walked::Found(cpu);
            }
            if cx.is_overtaken() {
                return Walked::Later;
            }
        }
        Walked::Exhausted
    }

    /// The same in one step: the set of idle CPUs says which is the first, and the looks that lie before are counted.
    #[inline(never)]
    fn walk_cpus_at_once(&mut self, cx: &mut Ctx<'_, '_>, search: &mut Search) -> Walked {
        loop {
            let start = CpuId::new(search.start);
            let (found, limit) = (first_of_both(&search.cpus, &self.idle_cpus, start), search.nr - 1);
            let looks = match found {
                Some(cpu) => search.cpus.weight_wrap_and(&search.cpus, start, cpu),
                None => search.cpus.weight() as u64,
            };
            let made = looks.min(limit);
            cx.meter.count_n(Op::ScanCpu, made);
            self.rqs[cx.cpu].sis.sis_scanned += made;
            search.nr -= made;
            match found {
                _ if looks > limit => return Walked::OutOfBudget,
                Some(cpu) => return Walked::Found(cpu),
                None if search.next_part() => {}
                None => return Walked::Exhausted,
            }
        }
    }

    /// Whether neither the price of a look nor what it finds depends on when it is made.
    fn looks_are_alike(&self, cx: &Ctx<'_, '_>) -> bool {
        !self.lines.tracked() && (cx.until == Instant::MAX || cx.meter.price_ps(Op::ScanCpu) == 0)
    }

    /// Whether all threads of the core of `cpu` are idle. A thread of a busy core that the task may use is kept in
    /// `candidate`; once there is one the first busy thread ends the look.
    ///
    /// Kernel: fair.c select_idle_core(), v5.12–
    #[inline]
    fn is_core_idle(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, cpu: CpuId, candidate: &mut Option<CpuId>) -> bool {
        let mut idle = true;
        for index in 0..self.topology.threads.of(cpu).len() {
            let sibling = self.topology.threads.of(cpu)[index];
            self.look(cx, sibling);
            let allowed = self.tasks[task].cpus_allowed.contains(sibling);
            if self.idle_cpus.contains(sibling) {
                *candidate = candidate.or(allowed.then_some(sibling));
                continue;
            }
            idle = false;
            if candidate.is_some() {
                break;
            }
            if allowed && self.is_free_of_others(task, sibling) {
                *candidate = Some(sibling);
                break;
            }
        }
        idle
    }

    /// Whether all threads of the core of `cpu` are idle. Up to v5.6 all are looked at, whatever the first says.
    ///
    /// Kernel: fair.c select_idle_core(), v4.12–v5.11
    fn are_threads_idle(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> bool {
        let looks_at_all = self.profile.idle_search == IdleSearch::Steps;
        let mut idle = true;
        for index in 0..self.topology.threads.of(cpu).len() {
            let sibling = self.topology.threads.of(cpu)[index];
            self.look(cx, sibling);
            idle &= self.idle_cpus.contains(sibling);
            if !idle && !looks_at_all {
                return false;
            }
        }
        idle
    }

    /// The target's group in its cache domain, if it is a cluster and clusters are searched first.
    fn cluster_of_target(&self, sd: SdId) -> Option<SgId> {
        if self.profile.cluster_search == ClusterSearch::None || !self.topology.cluster_active {
            return None;
        }
        let group = self.topology.domains[sd].first_group;
        self.topology.groups[group].flags.has(SdFlags::CLUSTER).then_some(group)
    }

    /// Takes the threads of the core of `cpu` out of `cpus`.
    fn remove_core(&self, cpus: &mut CpuMask, cpu: CpuId) {
        for &sibling in self.topology.threads.of(cpu) {
            cpus.remove(sibling);
        }
    }
}

const NSEC_PER_USEC: u64 = 1000;

/// The first CPU that is in both sets, from `start` on, wrapping once.
fn first_of_both(a: &CpuMask, b: &CpuMask, start: CpuId) -> Option<CpuId> {
    a.next_from_and(b, start.get()).or_else(|| a.next_from_and(b, 0))
}
