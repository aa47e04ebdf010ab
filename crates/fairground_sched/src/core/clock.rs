//! Run-queue clocks. They change here and nowhere else.
//!
//! ```text
//! clock       wall time                              += delta
//! clock_task  without interrupt and stolen time      += delta - irq - steal
//! clock_pelt  clock_task scaled by capacity x freq   (families C and D, see pelt::clock)
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::pelt::SchedAvg;
use crate::profile::Profile;
use crate::rq::Rq;
use crate::seam::{ExcessSteal, ScaleRtCapacity};
use fairground_model::features::Feat;
use fairground_model::{Op, QueueAct, TraceEvent};
use fairground_stdx::{CfsRqId, CpuId, Ns, TaskId, TgId};

impl Rq {
    /// Of what was stolen and is not taken out yet, as much as there is room for in `room` ns. What is beyond waits for the next reading,
    /// or is forgotten.
    ///
    /// Kernel: core.c update_rq_clock_task(), v4.12–
    #[inline]
    fn take_steal(&mut self, rule: ExcessSteal, room: u64) -> u64 {
        let stolen = self.steal_time.0 - self.prev_steal_time.0;
        if stolen == 0 {
            return 0;
        }
        let taken = stolen.min(room);
        self.prev_steal_time.0 += match rule {
            ExcessSteal::CaughtUp => taken,
            ExcessSteal::Forgotten => stolen,
        };
        taken
    }

    /// Brings the clocks up to now. `cfs` is the average of its root queue.
    ///
    /// Kernel: core.c update_rq_clock(), update_rq_clock_task(), v4.12–
    // In place: the rows are at hand where it is called.
    #[inline(always)]
    pub(crate) fn move_clocks(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        profile: &Profile,
        cpu: CpuId,
        cfs: impl FnOnce(CfsRqId) -> SchedAvg,
    ) {
        if self.clock_skip.active {
            return;
        }
        let delta = cx.sched_clock_cpu(cpu).wrapping_sub(self.clocks.clock) as i64;
        if delta < 0 {
            return;
        }
        let (delta, scale) = (delta as u64, cx.scale(cpu));
        let (rule, idle) = (profile.pelt_clock, self.curr.is_none() && !self.stop_running);
        if delta == 0 {
            // Who reads the clock of a CPU at the instant at which it has gone idle brings its scaled clock up.
            if idle && rule.scales_time() {
                let overloaded = || rule.overloaded(&cfs(self.cfs), &self.avg_rt, &self.avg_dl);
                self.clocks.update(rule, 0, 0, true, scale, overloaded);
            }
            return;
        }
        let irq = (self.irq_time.0 - self.prev_irq_time.0).min(delta);
        self.prev_irq_time.0 += irq;
        let steal = self.take_steal(profile.excess_steal, delta - irq);
        let nontask = irq + steal;
        let overloaded = || rule.overloaded(&cfs(self.cfs), &self.avg_rt, &self.avg_dl);
        self.clocks.update(rule, delta, delta - nontask, idle, scale, overloaded);
        if !idle && rule.scales_time() {
            cx.meter.count(Op::PeltScale);
        }
        if nontask > 0 && profile.feats.has(Feat::NONTASK_CAPACITY) {
            match profile.scale_rt_capacity {
                ScaleRtCapacity::HalvedMean => self.lb.rt_avg.add(self.clocks.clock, nontask, scale.freq),
                ScaleRtCapacity::Pelt => {
                    cx.meter.count_n(Op::PeltScale, profile.pelt.irq_scalings(self.clocks.clock, &self.avg_irq, nontask));
                    profile.pelt.update_irq(self.clocks.clock, &mut self.avg_irq, nontask, scale);
                }
            }
        }
    }
}

impl Sched {
    /// Brings the clocks of `cpu` up to now, unless schedule() was told to reuse the last reading.
    /// Interrupt time is taken out of the task clock, and of what is stepped by it.
    ///
    /// Kernel: core.c update_rq_clock(), update_rq_clock_task(), v4.12–
    #[inline]
    pub(crate) fn update_rq_clock(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let pelt_cfs = &self.pelt_cfs;
        self.rqs[cpu].move_clocks(cx, &self.profile, cpu, |queue| pelt_cfs[queue]);
    }

    /// Tells the reading of the clock of `cpu` at which loads are updated, if no account of run time of the running task tells it: those
    /// who follow the record must make the update at the same time. What groups weigh depends on it.
    #[cold]
    pub(crate) fn tell_clock(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let clock = rq.clocks.clock_task;
        if self.groups.is_empty() || std::mem::replace(&mut rq.told_clock, clock) == clock {
            return;
        }
        let is_accounted = |task: TaskId| self.is_fair(task) && self.se(task).exec_start == clock;
        if !self.rqs[cpu].curr.is_some_and(is_accounted) {
            self.tell(cx, cpu, QueueAct::Read, (None, None));
        }
    }

    /// Tells what is done with the queue of `cpu`, at its present clock. Samples must be wanted.
    pub(crate) fn tell(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId, act: QueueAct, (group, task): (Option<TgId>, Option<TaskId>)) {
        let clock = Ns(self.rqs[cpu].clocks.clock_task);
        cx.record(TraceEvent::QueueAct { act, cpu, clock, group, task });
    }

    /// Tells that a tick or schedule() begins on `cx.cpu`, which need not make an account of who runs there. On an idle CPU only
    /// schedule() with somebody on the queue does anything: it may be a sleeper in delayed dequeue.
    #[inline]
    pub(crate) fn tell_call(&self, cx: &mut Ctx<'_, '_>, act: QueueAct) {
        if !cx.trace.wants_samples() {
            return;
        }
        let rq = &self.rqs[cx.cpu];
        let matters = match rq.curr {
            Some(task) => self.is_fair(task),
            None => act == QueueAct::Schedule && self.cfs_rqs[rq.cfs].nr_running > 0,
        };
        if matters {
            self.tell(cx, cx.cpu, act, (None, None));
        }
    }

    /// The next schedule() on `cpu` will reuse the present reading: a wake-up or a yield has just read it.
    ///
    /// Kernel: sched.h rq_clock_skip_update(), v4.12–
    #[inline]
    pub(crate) fn rq_clock_skip_update(&mut self, cpu: CpuId) {
        self.rqs[cpu].clock_skip.requested = true;
    }

    /// Adds interrupt time to `cpu`. It is subtracted from the task clock at the next reading. Not called
    /// where the kernel is built without CONFIG_IRQ_TIME_ACCOUNTING.
    ///
    /// Kernel: cputime.c irqtime_account_irq(), v4.12–
    pub fn irq_time(&mut self, cpu: CpuId, took: Ns) {
        self.rqs[cpu].irq_time += took;
    }

    /// Adds time that the host has taken from `cpu`, as it tells the guest of it. Not called where the kernel is built without
    /// CONFIG_PARAVIRT_TIME_ACCOUNTING.
    ///
    /// Kernel: paravirt.h paravirt_steal_clock(), v4.12–
    pub fn steal_time(&mut self, cpu: CpuId, took: Ns) {
        self.rqs[cpu].steal_time += took;
    }
}

#[cfg(test)]
mod tests {
    use crate::fair::select_task_rq::{TestMachine, cpu};
    use fairground_model::MachineView;
    use fairground_stdx::{Instant, Ns};

    /// A CPU of half the capacity runs a task for 2 ms, so its scaled clock is 1 ms behind. It goes idle, and is looked at once more at that
    /// instant.
    #[test]
    fn who_reads_the_clock_as_a_cpu_goes_idle_brings_its_scaled_clock_up() {
        for kernel in ["v5.10", "v6.1"] {
            let mut view = MachineView::flat(1, Ns::from_ms(1));
            view.cpus[cpu(0)].capacity = 512;
            let mut machine = TestMachine::new(kernel, view);
            let task = machine.running(0);
            machine.now = Instant::from_ns(3_000_000);
            machine.on(0, |sched, cx| sched.update_rq_clock(cx, cpu(0)));
            let behind = |machine: &TestMachine| {
                let clocks = &machine.sched.rqs[cpu(0)].clocks;
                clocks.clock_task - clocks.clock_pelt
            };
            assert_eq!(behind(&machine), 1_000_000, "{kernel}");
            machine.sleep(task);
            machine.on(0, |sched, cx| sched.update_rq_clock(cx, cpu(0)));
            assert_eq!(behind(&machine), 0, "{kernel}");
        }
    }
}
