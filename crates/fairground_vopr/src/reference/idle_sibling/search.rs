//! The choice by the rules.

use super::State;
use super::rules::{Recent, Threads};
use fairground_model::Reason;

/// A search that is going on: what it has found out and changed.
pub(super) struct Search<'s> {
    pub(super) state: &'s State,
    pub(super) target: usize,
    /// Looks at run queues; all CPUs that are known by name together are one.
    pub(super) looks: u64,
    /// What is remembered afterwards.
    pub(super) recent: usize,
    /// No whole core was idle: the cache's flag is cleared.
    pub(super) cleared: bool,
    /// The budget was used up before the search was over.
    pub(super) cut_off: bool,
    pub(super) wake_avg_idle: u64,
    pub(super) wake_stamp: u64,
    /// The mean cost of a search from this CPU.
    pub(super) avg_scan_cost: u64,
}

/// A choice and the rule that made it.
pub(super) type Choice = (usize, Reason);

/// The CPUs of a list from `start` on, then those before.
fn wrap(cpus: &[usize], start: usize) -> Vec<usize> {
    let (before, from): (Vec<usize>, Vec<usize>) = cpus.iter().partition(|&&cpu| cpu < start);
    [from, before].concat()
}

/// A CPU of a cache, by whether it was found before the limit was reached.
enum Scan {
    Found(usize),
    NothingFree,
    CutOff,
}

impl<'s> Search<'s> {
    /// A search that has not begun; so many looks were taken before.
    pub(super) fn new(state: &'s State, target: usize, looks: u64) -> Search<'s> {
        Search {
            state,
            target,
            looks,
            recent: state.recent,
            cleared: false,
            cut_off: false,
            wake_avg_idle: state.wake_avg_idle,
            wake_stamp: state.wake_stamp,
            avg_scan_cost: state.avg_scan_cost[state.this],
        }
    }

    /// What the rules choose, before the core code asks whether the task may go there.
    pub(super) fn choose(&mut self) -> Choice {
        self.looks += 1;
        let (state, target, prev) = (self.state, self.target, self.state.prev);
        if state.is_free(target) {
            return (target, if target == prev { Reason::SelectPrevIdle } else { Reason::SelectTargetIdle });
        }
        let mut last_resort = Vec::new();
        if prev != target && state.share_cache(prev, target) && state.is_free(prev) {
            last_resort.push((prev, Reason::SelectPrevIdle));
        }
        if let Some(&near) = last_resort.iter().find(|choice| self.is_near(choice.0)) {
            return near;
        }
        if self.stacks() {
            return (prev, Reason::SelectKthread);
        }
        if let Some(recent) = self.ask_recent() {
            if self.is_near(recent) {
                return (recent, Reason::SelectRecent);
            }
            last_resort.push((recent, Reason::SelectRecent));
        }
        let found = if state.llc(target).len() == 1 { None } else { self.search() };
        found.or(last_resort.first().copied()).unwrap_or((target, Reason::SelectTarget))
    }

    /// Whether a CPU known by name is near enough to be taken at once.
    fn is_near(&self, cpu: usize) -> bool {
        let (state, target) = (self.state, self.target);
        !state.rules.knows_clusters() || !state.has_clusters() || state.share_id(cpu) == state.share_id(target)
    }

    fn stacks(&self) -> bool {
        let state = self.state;
        let rule = state.rules.kthreads_stack() && state.waker_is_bound_kthread;
        rule && state.prev == state.this && state.nr_running(state.this) <= 1
    }

    fn ask_recent(&mut self) -> Option<usize> {
        let (state, prev) = (self.state, self.state.prev);
        let rule = state.rules.recent();
        if rule == Recent::Unknown {
            return None;
        }
        let recent = state.recent;
        let asked = if rule == Recent::AlwaysUnchecked { prev } else { recent };
        let new = recent != prev && recent != self.target;
        let hit = new && state.share_cache(recent, self.target) && state.is_free(recent) && state.may_use(asked);
        if hit || rule != Recent::OnHit {
            self.recent = prev;
        }
        hit.then_some(recent)
    }

    fn search(&mut self) -> Option<Choice> {
        match self.state.rules.one_pass() {
            true => self.in_one_pass(),
            false => self.in_steps(),
        }
    }

    /// v5.13 on: threads beside the previous CPU; then idle cores if there may be any, else idle CPUs.
    fn in_one_pass(&mut self) -> Option<Choice> {
        let (state, target) = (self.state, self.target);
        let cores = state.has_threads() && state.has_idle_cores[target];
        if state.has_threads() && !cores && state.share_cache(state.prev, target) {
            let thread = self.free_thread(state.prev);
            if thread.is_some() {
                return thread.map(|cpu| (cpu, Reason::SelectIdleSmt));
            }
        }
        let alone = state.llc(state.this).len() == 1;
        if alone && state.rules.loners_never_search() {
            return None;
        }
        if cores {
            // A cache that is fully used is not searched at all, for cores neither.
            self.cut_off = self.limit() == Some(0);
            return if self.cut_off { None } else { self.idle_core_or_thread() };
        }
        if alone && state.rules.sis_prop {
            return None;
        }
        self.idle_cpu_within_budget().map(|cpu| (cpu, Reason::SelectIdleCpu))
    }

    /// The CPUs of the cache from behind the target on; if the cache holds more than the target's cluster, that goes first.
    fn in_order(&self) -> Vec<usize> {
        let llc = self.state.llc(self.target);
        let cluster = self.state.cluster(self.target).filter(|_| self.state.rules.knows_clusters());
        match cluster.filter(|cluster| cluster.len() < llc.len()) {
            Some(cluster) => {
                let others: Vec<usize> = llc.into_iter().filter(|cpu| !cluster.contains(cpu)).collect();
                [wrap(&cluster, self.target + 1), wrap(&others, self.target + 1)].concat()
            }
            None => wrap(&llc, self.target + 1),
        }
    }

    /// The first CPU of an idle core; else a free thread that was seen on the way.
    fn idle_core_or_thread(&mut self) -> Option<Choice> {
        let mut seen = vec![false; self.state.len()];
        let mut candidate = None;
        for cpu in self.in_order() {
            if seen[cpu] || !self.state.may_use(cpu) {
                continue;
            }
            if self.core_is_idle(cpu, &mut candidate) {
                return Some((cpu, Reason::SelectIdleCore));
            }
            for thread in self.state.threads(cpu) {
                seen[thread] = true;
            }
        }
        self.cleared = true;
        candidate.map(|cpu| (cpu, Reason::SelectIdleCpu))
    }

    fn core_is_idle(&mut self, cpu: usize, candidate: &mut Option<usize>) -> bool {
        let mut idle = true;
        for thread in self.state.threads(cpu) {
            self.looks += 1;
            let may_use = self.state.may_use(thread);
            if self.state.is_idle(thread) {
                if candidate.is_none() && may_use {
                    *candidate = Some(thread);
                }
                continue;
            }
            idle = false;
            if candidate.is_none() && may_use && self.state.is_free(thread) {
                *candidate = Some(thread);
            }
            if candidate.is_some() {
                return false;
            }
        }
        idle
    }

    /// The first free CPU from behind the target on; each look lowers the counter, and at 0 it is over.
    fn idle_cpu_within_budget(&mut self) -> Option<usize> {
        let before = self.looks;
        let mut left = None;
        if self.state.rules.sis_prop {
            while self.wake_stamp < self.state.jiffies && self.wake_avg_idle > 0 {
                self.wake_stamp += 1;
                self.wake_avg_idle /= 2;
            }
            left = Some(self.budget(self.wake_avg_idle));
        }
        if let Some(limit) = self.limit() {
            if limit == 0 {
                self.cut_off = true;
                return None;
            }
            left = Some(limit + 1);
        }
        let outcome = self.scan(&self.in_order(), left);
        let took = (self.looks - before) * self.state.look_ns;
        if self.state.rules.sis_prop && !matches!(outcome, Scan::CutOff) {
            self.wake_avg_idle -= self.wake_avg_idle.min(took);
            self.account(took);
        }
        match outcome {
            Scan::Found(cpu) => Some(cpu),
            Scan::NothingFree | Scan::CutOff => None,
        }
    }

    /// SIS_UTIL: how many CPUs may be looked at.
    fn limit(&self) -> Option<u64> {
        self.state.rules.sis_util.then(|| self.state.nr_idle_scan[self.target])
    }

    /// SIS_PROP: where the counter starts. The target's cache is searched, this CPU's cost and idle time count.
    fn budget(&self, idle_ns: u64) -> u64 {
        let cost = self.avg_scan_cost + 1;
        let span = self.state.llc(self.target).len() as u64 * idle_ns;
        if span > 4 * cost { span / cost } else { 4 }
    }

    fn account(&mut self, took: u64) {
        let eighth = (i128::from(took) - i128::from(self.avg_scan_cost)) / 8;
        self.avg_scan_cost = (i128::from(self.avg_scan_cost) + eighth) as u64;
    }

    fn scan(&mut self, cpus: &[usize], mut left: Option<u64>) -> Scan {
        for &cpu in cpus {
            if self.state.rules.skips_forbidden() && !self.state.may_use(cpu) {
                continue;
            }
            if let Some(left) = &mut left {
                *left -= 1;
                if *left == 0 {
                    self.cut_off = true;
                    return Scan::CutOff;
                }
            }
            if !self.state.may_use(cpu) {
                continue;
            }
            self.looks += 1;
            if self.state.is_free(cpu) {
                return Scan::Found(cpu);
            }
        }
        Scan::NothingFree
    }

    /// Up to v5.12: an idle core, then an idle CPU, then a thread of the target.
    fn in_steps(&mut self) -> Option<Choice> {
        let state = self.state;
        if state.has_threads() && state.has_idle_cores[self.target] {
            if let Some(core) = self.core_in_steps() {
                return Some((core, Reason::SelectIdleCore));
            }
            self.cleared = true;
        }
        if let Some(cpu) = self.cpu_in_steps() {
            return Some((cpu, Reason::SelectIdleCpu));
        }
        let thread = if state.has_threads() { self.free_thread(self.target) } else { None };
        thread.map(|cpu| (cpu, Reason::SelectIdleSmt))
    }

    fn core_in_steps(&mut self) -> Option<usize> {
        let mut seen = vec![false; self.state.len()];
        for cpu in wrap(&self.state.llc(self.target), self.target) {
            if seen[cpu] || !self.state.may_use(cpu) {
                continue;
            }
            let threads = self.state.threads(cpu);
            let first_busy = threads.iter().position(|&thread| !self.state.is_idle(thread));
            let looked_at = match first_busy.filter(|_| self.state.rules.skips_forbidden()) {
                Some(place) => place + 1,
                None => threads.len(),
            };
            self.looks += looked_at as u64;
            if first_busy.is_none() {
                return Some(cpu);
            }
            threads.into_iter().for_each(|thread| seen[thread] = true);
        }
        None
    }

    fn cpu_in_steps(&mut self) -> Option<usize> {
        /// So small a part of the mean idle time may be spent.
        const PART: u64 = 512;
        let state = self.state;
        let idle_ns = state.avg_idle / PART;
        let alone = state.llc(state.this).len() == 1;
        if alone || (state.rules.sis_avg_cpu && idle_ns <= self.avg_scan_cost) {
            return None;
        }
        let before = self.looks;
        let left = state.rules.sis_prop.then(|| self.budget(idle_ns));
        let outcome = self.scan(&wrap(&state.llc(self.target), self.target), left);
        if !matches!(outcome, Scan::CutOff) {
            self.account((self.looks - before) * state.look_ns);
        }
        match outcome {
            Scan::Found(cpu) => Some(cpu),
            Scan::NothingFree | Scan::CutOff => None,
        }
    }

    /// A free thread of a core that the task may use and that shares the target's cache. Kernels up to v5.19 look at
    /// each thread before they ask whether it may be used.
    fn free_thread(&mut self, of: usize) -> Option<usize> {
        let (state, rule) = (self.state, self.state.rules.threads());
        for thread in state.threads(of) {
            let usable = state.may_use(thread) && state.share_cache(thread, self.target);
            if rule == Threads::BesidePrev && (thread == of || !usable) {
                continue;
            }
            self.looks += 1;
            if usable && state.is_free(thread) {
                return Some(thread);
            }
        }
        None
    }
}
