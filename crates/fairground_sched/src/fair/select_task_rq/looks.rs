//! What a search looks at, and the looks that find nothing: nearly all of them.

use super::search::Stage;
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
    pub fn ttwu_looks_in_vain(&mut self, how: LooksInVain, meter: &mut Meter, by: CpuId, now: Instant, until: Instant) -> bool {
        let Some(search) = self.searches.of(by) else { return false };
        // Up to here the call may go on.
        let limit = until.ns().saturating_sub(now.ns());
        if search.stage == Stage::Cores {
            return how.at_cores && self.cores_in_vain(how, meter, by, now, limit);
        }
        let sis = &mut self.rqs[by].sis;
        while let Some(cpu) = search.ahead() {
            if search.nr <= 1 || self.idle_cpus.contains(cpu) {
                break;
            }
            search.passes(cpu);
            search.nr -= 1;
            sis.sis_scanned += 1;
            self.lines.read(meter, by, cpu, how.busy_lines, now);
            // Where CPUs take turns no search stops: what the call has cost is what it has lasted.
            let so_far = meter.so_far_ns();
            if so_far >= limit {
                search.interrupt(so_far);
                return true;
            }
        }
        false
    }

    /// The same for cores that have a thread that is not idle.
    #[inline(never)]
    fn cores_in_vain(&mut self, how: LooksInVain, meter: &mut Meter, by: CpuId, now: Instant, limit: u64) -> bool {
        let Some(search) = self.searches.of(by) else { return false };
        let sis = &mut self.rqs[by].sis;
        while let Some(cpu) = search.ahead() {
            let threads = self.topology.threads.of(cpu);
            if threads.iter().all(|&sibling| self.idle_cpus.contains(sibling)) {
                return false;
            }
            search.passes(cpu);
            for &sibling in threads {
                let idle = self.idle_cpus.contains(sibling);
                sis.sis_scanned += 1;
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
            let so_far = meter.so_far_ns();
            if so_far >= limit {
                search.interrupt(so_far);
                return true;
            }
        }
        false
    }
}
