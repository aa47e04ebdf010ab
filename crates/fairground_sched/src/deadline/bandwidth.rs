//! Shares of CPUs: what admission has granted, what belongs to a CPU, what of it is active; and what those that reclaim consume.
//!
//! ```text
//! total_bw     all that was granted           freed at the 0-lag time of who leaves or ends
//! this_bw      of the entities of a CPU       moves with them
//! running_bw   of those, the active ones      until their 0-lag time, runnable or not
//! ```

use super::entity::{BW_SHIFT, to_ratio};
use super::server::FAIR_SERVER_BW;
use super::{DlSe, DlTimer};
use crate::Sched;
use crate::cpufreq::FreqCause;
use crate::ctx::Ctx;
use crate::fair::tunables::RtLimit;
use crate::seam::{DlBandwidth, RtBandwidth};
use crate::task::TaskState;
use fairground_stdx::CpuId;

/// A whole CPU.
///
/// Kernel: sched.h BW_UNIT, v4.13–
const BW_UNIT: u64 = 1 << BW_SHIFT;

/// Fraction bits of the reciprocal of the limit.
///
/// Kernel: sched.h RATIO_SHIFT, v4.13–
const RATIO_SHIFT: u32 = 8;

/// What all queues share.
///
/// Kernel: sched.h struct dl_bw, v4.12–
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DlRoot {
    /// What was granted, in 2^-20 of a CPU.
    pub(super) total_bw: u64,
    /// The part of it that is nobody's, and never given back.
    pub(super) lost_bw: u64,
    /// What that took of each CPU, every grant divided and rounded by itself.
    pub(super) per_cpu: i64,
    /// Servers of the fair class are at work: the kernel has them, and some task is, or was, of a class above.
    pub(crate) serves: bool,
}

/// What deadline tasks may use of a CPU, in 2^-20: 95 % unless it was set.
///
/// Kernel: deadline.c init_dl_rq_bw_ratio(), to_ratio(global_rt_period(), global_rt_runtime()), v4.12–
pub(super) fn limit_bw(rt: RtLimit) -> u64 {
    rt.runtime_ns.map_or(BW_UNIT, |runtime| to_ratio(rt.period_ns, runtime))
}

impl Sched {
    pub(super) fn add_rq_bw(&mut self, se: DlSe) {
        let (cpu, entity) = (self.dl_cpu(se), self.dl_mut(se));
        if !std::mem::replace(&mut entity.counted, true) {
            let bw = entity.dl_bw;
            self.rqs[cpu].dl.this_bw += bw;
        }
    }

    pub(super) fn sub_rq_bw(&mut self, se: DlSe) {
        let (cpu, entity) = (self.dl_cpu(se), self.dl_mut(se));
        if std::mem::take(&mut entity.counted) {
            let bw = entity.dl_bw;
            self.rqs[cpu].dl.this_bw -= bw;
        }
    }

    /// What is active on a CPU grows by the share of an entity.
    ///
    /// Kernel: deadline.c add_running_bw(), v4.13–
    pub(super) fn add_running_bw(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let (cpu, entity) = (self.dl_cpu(se), self.dl_mut(se));
        if !std::mem::replace(&mut entity.contends, true) {
            let bw = entity.dl_bw;
            self.rqs[cpu].dl.running_bw += bw;
            self.running_bw_changed(cx, cpu);
        }
    }

    /// It shrinks by that.
    ///
    /// Kernel: deadline.c sub_running_bw(), v4.13–
    pub(super) fn sub_running_bw(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let (cpu, entity) = (self.dl_cpu(se), self.dl_mut(se));
        if std::mem::take(&mut entity.contends) {
            let bw = entity.dl_bw;
            self.rqs[cpu].dl.running_bw -= bw;
            self.running_bw_changed(cx, cpu);
        }
    }

    /// schedutil reserves what is active (04 2.3); up to v4.16 it goes by whether deadline tasks run.
    fn running_bw_changed(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.profile.cpufreq_util.sees_all_classes() {
            self.cpufreq_update_util(cx, cpu, FreqCause::Util);
        }
    }

    /// The share that an entity is to have counts in what was granted from now on.
    ///
    /// Kernel: sched.h __dl_add(), v4.12–
    pub(super) fn dl_add(&mut self, se: DlSe, bw: u64, cpus: usize) {
        let per_cpu = bw as i64 / cpus.max(1) as i64;
        let entity = self.dl_mut(se);
        (entity.admitted, entity.per_cpu) = (true, per_cpu);
        self.dl_root.total_bw += bw;
        self.dl_root.per_cpu += per_cpu;
    }

    /// Kernel: sched.h __dl_sub(), v4.12–
    pub(super) fn dl_sub(&mut self, se: DlSe) {
        let entity = self.dl_mut(se);
        if std::mem::take(&mut entity.admitted) {
            let (bw, per_cpu) = (entity.dl_bw, entity.per_cpu);
            self.dl_root.total_bw -= bw;
            self.dl_root.per_cpu -= per_cpu;
        }
    }

    /// What was granted to an entity is never given back.
    pub(super) fn dl_lose(&mut self, se: DlSe) {
        let entity = self.dl_mut(se);
        if std::mem::take(&mut entity.admitted) {
            let bw = entity.dl_bw;
            self.dl_root.lost_bw += bw;
        }
    }

    /// An entity wakes up: it is active, if it is not still.
    ///
    /// Kernel: deadline.c task_contending(), v4.13–
    pub(super) fn task_contending(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        self.add_rq_bw(se);
        if std::mem::take(&mut self.dl_mut(se).non_contending) {
            self.cancel_zero_lag(cx, se);
        }
        self.add_running_bw(cx, se);
    }

    /// An entity sleeps, or a task ends or leaves the class (`gone`): it stays active until its 0-lag time.
    ///
    /// Kernel: deadline.c task_non_contending(), v4.13– (task_dead_dl(), switched_from_dl() before)
    pub(super) fn task_non_contending(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe, gone: bool) {
        let (cpu, entity) = (self.dl_cpu(se), self.dl(se));
        if entity.dl_runtime == 0 {
            return;
        }
        let after = match self.profile.dl_bandwidth {
            DlBandwidth::WallTime if gone => -1,
            _ if self.is_led() => -1,
            // Nothing looks at what is active there.
            DlBandwidth::WallTime => return,
            DlBandwidth::Grub | DlBandwidth::GrubOfLimit => entity.zero_lag_after(self.rqs[cpu].clocks.clock),
        };
        if after < 0 || entity.zero_lag.is_some() {
            self.sub_running_bw(cx, se);
            if gone {
                self.sub_rq_bw(se);
                self.dl_sub(se);
                self.dl_mut(se).clear_params();
            }
            return;
        }
        self.dl_mut(se).non_contending = true;
        self.arm_dl_timer(cx, DlTimer::ZeroLag(se), after as u64);
    }

    /// The 0-lag time of an entity that sleeps, has ended or has left the class.
    ///
    /// Kernel: deadline.c inactive_task_timer(), v4.13–
    pub(super) fn inactive_task_timer(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let cpu = self.dl_cpu(se);
        self.count_rq_lock(cx, cpu);
        self.update_rq_clock(cx, cpu);
        self.dl_mut(se).zero_lag = None;
        let gone = matches!(se, DlSe::Task(task) if !self.is_dl(task) || self.tasks[task].state == TaskState::Dead);
        if std::mem::take(&mut self.dl_mut(se).non_contending) {
            self.sub_running_bw(cx, se);
        }
        if gone {
            self.sub_rq_bw(se);
            self.dl_sub(se);
            self.dl_mut(se).clear_params();
        }
    }

    /// What `delta_ns` of running consume of the runtime of an entity: less on a slow CPU; for one that reclaims less while others
    /// are not active. A server's runtime is time.
    ///
    /// Kernel: deadline.c dl_scaled_delta_exec(), grub_reclaim(), v4.13–
    pub(super) fn dl_scaled_delta_exec(&self, cx: &Ctx<'_, '_>, se: DlSe, delta_ns: u64) -> u64 {
        let (cpu, entity) = (self.dl_cpu(se), self.dl(se));
        let rule = self.profile.dl_bandwidth;
        if rule == DlBandwidth::WallTime || matches!(se, DlSe::FairServer(_)) {
            return delta_ns;
        }
        if entity.reclaim {
            return (delta_ns * self.active_bw(cpu, entity.dl_bw, rule)) >> BW_SHIFT;
        }
        let scale = cx.scale(cpu);
        let at_freq = (delta_ns * u64::from(scale.freq)) >> 10;
        (at_freq * u64::from(scale.cpu)) >> 10
    }

    /// The speed at which one that reclaims consumes its runtime, in 2^-20: its CPU without the shares that are not active, at least
    /// its own share of what may be used.
    ///
    /// Kernel: deadline.c grub_reclaim(), v4.13–
    fn active_bw(&self, cpu: CpuId, own_bw: u64, rule: DlBandwidth) -> u64 {
        let dl = &self.rqs[cpu].dl;
        let rt = self.tunables.rt;
        let ratio = rt.runtime_ns.map_or(BW_UNIT, |runtime| to_ratio(runtime, rt.period_ns)) >> (BW_SHIFT - RATIO_SHIFT);
        let limit_bw = limit_bw(rt);
        // Each CPU's server is a grant by itself, which all CPUs share, rounded down.
        let (has_servers, cpus) = (self.profile.rt_bandwidth == RtBandwidth::FairServer, self.rqs.len() as u64);
        let server = if has_servers { (FAIR_SERVER_BW / cpus * cpus) as i64 } else { 0 };
        let extra = (limit_bw as i64 - self.dl_root.per_cpu - server).max(0) as u64;
        let unused = dl.this_bw - dl.running_bw + extra;
        match rule {
            DlBandwidth::GrubOfLimit => {
                let active = if unused > limit_bw - own_bw.min(limit_bw) { own_bw } else { limit_bw - unused };
                (active * ratio) >> RATIO_SHIFT
            }
            DlBandwidth::Grub | DlBandwidth::WallTime => {
                let least = (own_bw * ratio) >> RATIO_SHIFT;
                if unused > BW_UNIT - least.min(BW_UNIT) { least } else { BW_UNIT - unused }
            }
        }
    }

    /// What the active deadline entities of a CPU have been promised, in 2^-20 of it.
    pub fn dl_running_bw(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu].dl.running_bw
    }
}
