//! What the core knows of the idle states of CPUs.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::{CpuId, Ns};

impl Sched {
    /// `cpu`, which idles, enters an idle state. While it is `polling` nobody needs to interrupt it.
    ///
    /// Kernel: cpuidle.c sched_idle_set_state(), idle.c do_idle() with TIF_POLLING_NRFLAG, v4.12–
    pub fn sched_idle_set_state(&mut self, cpu: CpuId, exit_latency: Ns, polling: bool) {
        let rq = &mut self.rqs[cpu];
        (rq.lb.idle_exit_latency, rq.idle_polling) = (exit_latency.0, polling);
    }

    /// The tick of `cx.cpu`, which was stopped while it idled, goes on.
    ///
    /// Kernel: tick-sched.c tick_nohz_restart_sched_tick(), v4.12–
    pub fn tick_nohz_restart(&mut self, cx: &mut Ctx<'_, '_>) {
        self.cpu_load_update_nohz_stop(cx, cx.cpu);
    }

    /// `cpu` leaves its idle state.
    ///
    /// Kernel: cpuidle.c sched_idle_set_state(NULL), v4.12–
    pub fn sched_idle_clear_state(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        (rq.lb.idle_exit_latency, rq.idle_polling) = (0, false);
    }
}
