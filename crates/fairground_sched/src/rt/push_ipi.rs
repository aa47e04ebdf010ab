//! RT_PUSH_IPI: a CPU whose priority has dropped does not pull, but has the CPUs on which tasks wait push them, one after the other.
//!
//! ```text
//! tell_cpu_to_push      loop_next += 1; nobody goes round: the first overloaded CPU is interrupted
//! that CPU              pushes what it can, and interrupts the next one
//! behind the last CPU   somebody has asked meanwhile (loop_next): once more from the first one, else the round is over
//! ```
//!
//! Kernels up to v4.14 went round for each CPU that asked; here these go round as the later ones do.

use super::RtRq;
use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::seam::PushReach;
use fairground_stdx::{CpuId, Id};

/// The round that overloaded CPUs make.
///
/// Kernel: sched.h struct root_domain rto_cpu, rto_loop, rto_loop_next, v4.15–
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PushRound {
    /// The CPU at which it is.
    at: Option<CpuId>,
    /// How often it was asked for, and how often that had been when it began.
    next: u64,
    begun: u64,
}

impl Sched {
    /// The priority of `cx.cpu` has dropped: whoever is overloaded shall push.
    ///
    /// Kernel: rt.c tell_cpu_to_push(), v4.15– (another form from v4.12)
    pub(super) fn tell_cpu_to_push(&mut self, cx: &mut Ctx<'_, '_>) {
        self.rt.round.next += 1;
        if self.rt.round.at.is_none() {
            self.interrupt_next_rto_cpu(cx);
        }
    }

    /// The overloaded CPU behind the one at which the round is; `this` hands the round on.
    ///
    /// Kernel: rt.c rto_next_cpu(), v4.15– (another form from v4.12)
    fn rto_next_cpu(&mut self, this: CpuId) -> Option<CpuId> {
        let passes_over = |cpu| self.profile.push_reach == PushReach::Others && cpu == this;
        loop {
            let from = self.rt.round.at.map_or(0, |cpu| cpu.index() + 1);
            self.rt.round.at = self.rt.overloaded.iter().find(|&cpu| cpu.index() >= from && !passes_over(cpu));
            if self.rt.round.at.is_some() || self.rt.round.begun == self.rt.round.next {
                return self.rt.round.at;
            }
            self.rt.round.begun = self.rt.round.next;
        }
    }

    fn interrupt_next_rto_cpu(&mut self, cx: &mut Ctx<'_, '_>) {
        if let Some(cpu) = self.rto_next_cpu(cx.cpu) {
            self.rqs[cpu].rt.push_asked = true;
            self.interrupt_cpu(cx, cpu, |cpu, at| Request::RtPushIpi { cpu, at });
        }
    }

    /// Whether `cpu` was asked to push.
    #[inline]
    pub fn rt_push_asked(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].rt.push_asked
    }

    /// The interrupt has come: `cx.cpu` pushes, and asks the next CPU.
    ///
    /// Kernel: rt.c rto_push_irq_work_func(), v4.15– (try_to_push_tasks() from v4.12)
    #[cold]
    pub fn rto_push_irq_work_func(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        self.rqs[cpu].rt.push_asked = false;
        if self.has_pushable_tasks(cpu) {
            self.count_rq_lock(cx, cpu);
            self.push_tasks::<RtRq>(cx, cpu);
        }
        self.interrupt_next_rto_cpu(cx);
    }

    /// A CPU that goes off line is asked no more: the round goes on behind it.
    pub(super) fn leave_push_round(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if std::mem::take(&mut self.rqs[cpu].rt.push_asked) {
            self.interrupt_next_rto_cpu(cx);
        }
    }
}
