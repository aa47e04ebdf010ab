//! Capacities: what a CPU has left for fair tasks, and what a group of CPUs has in all.
//!
//! ```text
//! with the share of other classes and interrupts as a mean that is halved each half second (HalvedMean):
//!     capacity = orig * (1024 - mean) / 1024
//! with their tracked utilisations (Pelt):
//!     capacity = (orig - rt - dl - thermal) * (orig - irq) / orig       thermal pressure
//!     capacity = (max - rt - dl) * (max - irq) / max, max = orig - hw    hw pressure
//! ```

use crate::Sched;
use crate::pelt::{SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT};
use crate::rq::Rq;
use crate::seam::{Pressure, ScaleRtCapacity};
use crate::topology::SdFlags;
use fairground_stdx::{CpuId, SdId, SgId};

/// Half of sysctl_sched_time_avg, 1 s.
///
/// Kernel: sched.h sched_avg_period(), v4.12–v4.18
const SCHED_AVG_PERIOD_NS: u64 = 500_000_000;

/// Time that interrupts and other classes took, times the frequency, halved each half second.
///
/// Kernel: sched.h struct rq rt_avg, age_stamp, v4.12–v4.18
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RtAvg {
    sum: u64,
    /// Clock at the last halving.
    age_stamp: u64,
}

impl RtAvg {
    /// `busy_ns` more were taken up to `clock`.
    ///
    /// Kernel: sched.h sched_rt_avg_update(), v4.12–v4.18
    pub(crate) fn add(&mut self, clock: u64, busy_ns: u64, freq_capacity: u32) {
        self.sum += busy_ns * u64::from(freq_capacity);
        self.age(clock);
    }

    /// Kernel: core.c sched_avg_update(), v4.12–v4.18
    pub(crate) fn age(&mut self, clock: u64) {
        while clock.saturating_sub(self.age_stamp) > SCHED_AVG_PERIOD_NS {
            self.age_stamp += SCHED_AVG_PERIOD_NS;
            self.sum /= 2;
        }
    }

    /// What is left for fair tasks, in 1/1024.
    fn free(&self, clock: u64) -> u64 {
        let used = self.sum / (SCHED_AVG_PERIOD_NS + clock.saturating_sub(self.age_stamp));
        SCHED_CAPACITY_SCALE.saturating_sub(used).max(1)
    }
}

impl ScaleRtCapacity {
    /// What is left of the capacity `orig` of a CPU.
    ///
    /// Kernel: fair.c scale_rt_capacity(), v4.12–
    fn left(self, pressure: Pressure, orig: u64, rq: &Rq) -> u64 {
        match self {
            ScaleRtCapacity::HalvedMean => (orig * rq.lb.rt_avg.free(rq.clocks.clock)) >> SCHED_CAPACITY_SHIFT,
            ScaleRtCapacity::Pelt => {
                let irq = u64::from(rq.avg_irq.util_avg);
                let used = u64::from(rq.avg_rt.util_avg) + u64::from(rq.avg_dl.util_avg);
                let (max, used) = match pressure {
                    Pressure::None => (orig, used),
                    Pressure::Thermal => (orig, used + rq.avg_hw.load_avg),
                    Pressure::Hardware => (orig.saturating_sub(rq.lost_capacity()), used),
                };
                if irq >= max || used >= max { 1 } else { (max - used) * (max - irq) / max }
            }
        }
    }
}

impl Sched {
    /// Takes the capacities of the local group of a domain anew: of the CPU itself at the lowest level, else from the
    /// groups of the domain below. From `next_update` on a newidle balance does it too.
    ///
    /// Kernel: fair.c update_group_capacity(), v4.12–
    pub(crate) fn update_group_capacity(&mut self, jiffies: u64, sd: SdId) {
        let domain = &self.topology.domains[sd];
        let (cpu, group, child) = (domain.cpu, domain.first_group, domain.child);
        let next_update = jiffies + self.topology.get_sd_balance_interval(sd, false);
        let (capacity, min, max) = match child {
            None => {
                let own = self.update_cpu_capacity(cpu);
                (own, own, own)
            }
            Some(child) if self.topology.domains[child].flags.has(SdFlags::OVERLAP) => self.capacity_of_cpus(group),
            Some(child) => self.capacity_of_groups(child),
        };
        let group = &mut self.topology.groups[group];
        (group.capacity, group.min_capacity, group.max_capacity) = (capacity, min, max);
        group.next_update = next_update;
        self.group_stats.cpu_changes(cpu);
    }

    /// What a CPU has in full, and what is left of it for fair tasks: at least 1.
    ///
    /// Kernel: fair.c update_cpu_capacity(), v4.12–
    pub(crate) fn update_cpu_capacity(&mut self, cpu: CpuId) -> u64 {
        let orig = self.topology.capacity_orig[cpu];
        let left = self.profile.scale_rt_capacity.left(self.profile.pressure, u64::from(orig), &self.rqs[cpu]).max(1);
        self.group_stats.cpu_changes(cpu);
        let lb = &mut self.rqs[cpu].lb;
        (lb.cpu_capacity_orig, lb.cpu_capacity) = (orig, left as u32);
        left
    }

    /// Sum, least and greatest capacity of the CPUs of a group.
    fn capacity_of_cpus(&self, group: SgId) -> (u64, u64, u64) {
        sum_min_max(self.topology.groups[group].span.iter().map(|cpu| {
            let capacity = self.capacity_of(cpu);
            (capacity, capacity, capacity)
        }))
    }

    /// Sum, least and greatest capacity in the groups of a domain.
    fn capacity_of_groups(&self, sd: SdId) -> (u64, u64, u64) {
        sum_min_max(self.topology.groups_of(sd).map(|group| {
            let group = &self.topology.groups[group];
            (group.capacity, group.min_capacity, group.max_capacity)
        }))
    }
}

fn sum_min_max(parts: impl Iterator<Item = (u64, u64, u64)>) -> (u64, u64, u64) {
    parts.fold((0, u64::MAX, 0), |(sum, min, max), part| (sum + part.0, min.min(part.1), max.max(part.2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use fairground_model::MachineView;
    use fairground_model::version::v;

    fn rq_with(rt: u32, dl: u32, irq: u32) -> Rq {
        let sched = Sched::new(Profile::kernel(v(6, 12)).unwrap(), &MachineView::flat(1, fairground_stdx::Ns(1_000_000)));
        let mut rq = sched.rqs[CpuId::new(0)].clone();
        (rq.avg_rt.util_avg, rq.avg_dl.util_avg, rq.avg_irq.util_avg) = (rt, dl, irq);
        rq
    }

    #[test]
    fn tracked_utilisations_are_taken_off() {
        let left = |rt, dl, irq| ScaleRtCapacity::Pelt.left(Pressure::Hardware, 1024, &rq_with(rt, dl, irq));
        assert_eq!(left(100, 24, 128), 787, "900 * 896 / 1024");
        assert_eq!(left(1000, 24, 0), 1);
        assert_eq!(left(0, 0, 1024), 1);
        assert_eq!(left(0, 0, 0), 1024);
    }

    #[test]
    fn lost_capacity_is_taken_off_once() {
        let left = |pressure, lost| {
            let mut rq = rq_with(100, 24, 128);
            rq.avg_hw.load_avg = lost;
            ScaleRtCapacity::Pelt.left(pressure, 1024, &rq)
        };
        assert_eq!([Pressure::None, Pressure::Thermal, Pressure::Hardware].map(|pressure| left(pressure, 0)), [787; 3]);
        assert_eq!(left(Pressure::None, 224), 787);
        assert_eq!(left(Pressure::Thermal, 224), 591, "(1024 - 348) * 896 / 1024");
        assert_eq!(left(Pressure::Hardware, 224), 567, "(800 - 124) * 672 / 800");
        assert_eq!((left(Pressure::Thermal, 900), left(Pressure::Hardware, 1024)), (1, 1));
        let mut limited = rq_with(0, 0, 0);
        (limited.avg_hw.load_avg, limited.cpufreq_pressure) = (100, 300);
        let left = |pressure| ScaleRtCapacity::Pelt.left(pressure, 1024, &limited);
        assert_eq!((left(Pressure::Thermal), left(Pressure::Hardware)), (924, 724), "the greater of both");
    }

    #[test]
    fn the_halved_mean_forgets() {
        let mut avg = RtAvg { sum: 0, age_stamp: 1 << 30 };
        let start = 1 << 30;
        avg.add(start + SCHED_AVG_PERIOD_NS, SCHED_AVG_PERIOD_NS / 2, 1024);
        assert_eq!(avg.free(start + SCHED_AVG_PERIOD_NS), 1024 - 256, "half of one period out of two");
        avg.age(start + SCHED_AVG_PERIOD_NS + 1);
        assert_eq!(avg.free(start + SCHED_AVG_PERIOD_NS + 1), 1024 - 255, "halved, over one period");
        avg.add(start + SCHED_AVG_PERIOD_NS + 1, 10 * SCHED_AVG_PERIOD_NS, 1024);
        assert_eq!(avg.free(start + SCHED_AVG_PERIOD_NS + 1), 1, "never nothing");
    }
}
