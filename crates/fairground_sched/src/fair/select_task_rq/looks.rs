//! What a search looks at, and the looks that find nothing: nearly all of them.

use super::search::{Search, Stage};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{IdleSearch, SchedIdleCpu};
use fairground_model::Meter;
use fairground_stdx::{CpuId, Instant};

/// Lines of a run queue that a full look reads.
const LINES: u64 = 3;

/// How looks that find nothing are made.
#[derive(Clone, Copy, Debug)]
pub struct LooksInVain {
    /// Lines that a look at a busy CPU reads.
    busy_lines: u64,
    /// Those for idle cores too.
    at_cores: bool,
}

impl Sched {
    /// A search looks at the run queue of `cpu`: at its current task, at its counts and at its wake list, of which at a
    /// busy CPU the first says enough where tasks of policy SCHED_IDLE do not matter.
    ///
    /// Kernel: core.c available_idle_cpu(), idle_cpu(), fair.c sched_idle_cpu() from v5.7, v4.12–
    #[inline]
    pub(super) fn look(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.count_look(cx, cpu);
        self.rqs[cx.cpu].sis.sis_scanned += 1;
    }

    /// Counts such a look.
    #[inline]
    pub(crate) fn count_look(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let first_says_it = self.profile.sched_idle_cpu == SchedIdleCpu::Busy && !self.idle_cpus.contains(cpu);
        self.lines.look(cx, cpu, if first_says_it { 1 } else { LINES });
    }

    /// Whether, and how, looks that find nothing can be made by [`Sched::ttwu_looks_in_vain`], up to the next other event.
    #[inline]
    pub fn looks_in_vain(&self) -> Option<LooksInVain> {
        let can = !self.has_idle_policy && self.lines.tracked() && self.profile.idle_search != IdleSearch::Steps;
        let busy_lines = if self.profile.sched_idle_cpu == SchedIdleCpu::Busy { 1 } else { LINES };
        can.then_some(LooksInVain { busy_lines, at_cores: self.profile.idle_search.is_one_pass() })
    }

    /// Goes on with the search of `by`, in a call that begins at `now`, for as long as its looks find nothing. True: it has
    /// come to `until`, and stops there. False: what comes next is none of these looks, and [`Sched::ttwu_search`] goes on
    /// from there in the same call.
    ///
    /// It is [`Sched::ttwu_search`] without the ways to an end. Nothing but the meter of `by` and who was at the lines changes.
    #[inline(always)]
    pub fn ttwu_looks_in_vain(
        &mut self,
        how: LooksInVain,
        meter: &mut Meter,
        by: CpuId,
        now: Instant,
        until: Instant,
    ) -> bool {
        let Some(mut search) = self.searches.take(by) else { return false };
        let overtaken = match search.stage {
            Stage::Cpus => self.cpus_in_vain(how, meter, by, &mut search, now, until),
            Stage::Cores => how.at_cores && self.cores_in_vain(how, meter, by, &mut search, now, until),
        };
        if overtaken {
            search.interrupt(meter.lasted_ns());
        }
        self.searches.put_back(by, search);
        overtaken
    }

    /// Single CPUs that are not idle.
    #[inline(always)]
    fn cpus_in_vain(
        &mut self,
        how: LooksInVain,
        meter: &mut Meter,
        by: CpuId,
        search: &mut Search,
        now: Instant,
        until: Instant,
    ) -> bool {
        while let Some(cpu) = search.ahead().filter(|&cpu| search.nr > 1 && !self.idle_cpus.contains(cpu)) {
            search.passes(cpu);
            search.nr -= 1;
            self.rqs[by].sis.sis_scanned += 1;
            self.lines.read(meter, by, cpu, how.busy_lines, now);
            if now.ns() + meter.so_far_ns() >= until.ns() {
                return true;
            }
        }
        false
    }

    /// Cores that have a thread that is not idle.
    #[inline(never)]
    fn cores_in_vain(
        &mut self,
        how: LooksInVain,
        meter: &mut Meter,
        by: CpuId,
        search: &mut Search,
        now: Instant,
        until: Instant,
    ) -> bool {
        while let Some(cpu) = search.ahead() {
            let threads = self.topology.threads.of(cpu);
            if threads.iter().all(|&sibling| self.idle_cpus.contains(sibling)) {
                return false;
            }
            search.passes(cpu);
            for &sibling in threads {
                let idle = self.idle_cpus.contains(sibling);
                self.rqs[by].sis.sis_scanned += 1;
                self.lines.read(meter, by, sibling, if idle { LINES } else { how.busy_lines }, now);
                match search.candidate {
                    None if idle && self.tasks[search.placing.task].cpus_allowed.contains(sibling) => {
                        search.candidate = Some(sibling);
                    }
                    Some(_) if !idle => break,
                    _ => {}
                }
            }
            threads.iter().for_each(|&sibling| search.cpus.remove(sibling));
            if now.ns() + meter.so_far_ns() >= until.ns() {
                return true;
            }
        }
        false
    }
}
