//! Balance on behalf of idle CPUs whose tick is stopped.

use crate::Sched;
use crate::ctx::Ctx;

impl Sched {
    /// The tick of the idle `cx.cpu` stops: from now on others balance for it.
    ///
    /// Kernel: fair.c nohz_balance_enter_idle(), v4.12–
    pub fn nohz_balance_enter_idle(&mut self, cx: &mut Ctx<'_, '_>) {
        self.rqs[cx.cpu].lb.nohz_tick_stopped = true;
    }

    /// The interrupt that asks the idle `cx.cpu` to balance on behalf of all idle CPUs has arrived.
    ///
    /// Kernel: fair.c nohz_csd_func(), v5.8– (core.c scheduler_ipi() before)
    pub fn nohz_csd_func(&mut self, cx: &mut Ctx<'_, '_>) {
        let idle = self.idle_cpu(cx.cpu);
        let lb = &mut self.rqs[cx.cpu].lb;
        lb.softirq_raised |= idle;
        lb.nohz_kick = Default::default();
    }
}
