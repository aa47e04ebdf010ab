//! The CPU on which a wakee costs least.

use super::util::Seat;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::EnergyAware;
use crate::uclamp::{Demand, Fit};
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, CpuMask, SdId, TaskId};

/// What a domain offers.
#[derive(Clone, Copy)]
struct Candidates {
    /// How well the previous CPU fits, and what it has to spare, if it is one of this domain.
    prev: Option<(Fit, u64)>,
    /// The other CPU with most to spare of those that fit best.
    other: Option<(CpuId, Fit, u64)>,
}

/// A choice so far, and what it adds.
#[derive(Clone, Copy)]
struct Best {
    cpu: CpuId,
    delta: u64,
    fit: Fit,
    /// The capacity of its domain, where only the task's least is missed.
    capacity: u64,
}

impl Sched {
    /// The CPU for a wakee by energy; none = the ordinary placement decides.
    ///
    /// Kernel: fair.c find_energy_efficient_cpu(), v5.0–
    #[cold]
    pub(crate) fn find_energy_efficient_cpu(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) -> Option<(CpuId, Reason)> {
        let prev = self.tasks[task].cpu;
        let span = self.energy_span(cx.cpu, prev).map(|sd| self.topology.domains[sd].span)?;
        self.sync_entity_load_avg(cx, task);
        let asks = self.profile.energy_aware.goes_by_fit() && self.uclamp_eff_value(task).min > 0;
        if self.task_util_est(task) == 0 && !asks {
            return Some((prev, Reason::SelectEnergyPrev));
        }
        let found = match self.profile.energy_aware {
            EnergyAware::None => return None,
            EnergyAware::WholeMachine => self.least_energy_of_all(cx, task, &span),
            EnergyAware::AllDomains => self.least_added_of_all(cx, task, &span),
            EnergyAware::PerDomain => self.least_added_by_a_sixteenth(cx, task, &span),
            EnergyAware::AnySaving | EnergyAware::FitFirst | EnergyAware::Bounded => self.least_added(cx, task, &span),
        };
        let reason = if found == prev { Reason::SelectEnergyPrev } else { Reason::SelectEnergy };
        Some((found, reason))
    }

    /// From the domain of the choosing CPU that spans all capacities up: the first that spans the previous CPU.
    fn energy_span(&self, this: CpuId, prev: CpuId) -> Option<SdId> {
        let mut next = self.topology.cpus[this].sd_asym_cpucapacity;
        while let Some(sd) = next {
            let domain = &self.topology.domains[sd];
            if domain.span.contains(prev) {
                return Some(sd);
            }
            next = domain.parent;
        }
        None
    }

    /// The CPUs of a domain that are on line.
    fn pd_cpus(&self, row: usize) -> CpuMask {
        self.energy.domains[row].cpus.iter().filter(|&cpu| self.rqs[cpu].online).collect()
    }

    /// Whether a CPU has room for what it would have to do.
    fn fits_with(&self, cpu: CpuId, task: TaskId, util: u64) -> Fit {
        let clamps = self.uclamp_rq_with(cpu, task);
        match self.profile.energy_aware {
            EnergyAware::WholeMachine if self.capacity_of(cpu) * 1024 < util * 1280 => Fit::No,
            EnergyAware::WholeMachine => Fit::Yes,
            _ => self.fit_of(Demand { util, clamps }, cpu),
        }
    }

    /// What a domain offers: the first CPU of those that fit best and have most to spare, and the previous one.
    fn candidates(&self, cx: &mut Ctx<'_, '_>, row: usize, task: TaskId, span: &CpuMask) -> Candidates {
        let prev = self.tasks[task].cpu;
        let graded = self.profile.energy_aware.goes_by_fit();
        let mut found = Candidates { prev: None, other: None };
        for cpu in self.pd_cpus(row).and(span).iter() {
            cx.meter.count(Op::ScanCpu);
            if !self.tasks[task].cpus_allowed.contains(cpu) {
                continue;
            }
            let util = self.cpu_util_next(cpu, task, Seat::With, false);
            let (fit, spare) = (self.fits_with(cpu, task, util), self.capacity_of(cpu).saturating_sub(util));
            if fit == Fit::No {
                continue;
            }
            if cpu == prev {
                found.prev = Some((fit, spare));
                continue;
            }
            let better = match found.other {
                // Kernels up to v6.2 begin with nothing to spare, later ones below that.
                None => spare > 0 || graded,
                Some((_, best_fit, best_spare)) => (fit, spare) > (best_fit, best_spare),
            };
            if better {
                found.other = Some((cpu, fit, spare));
            }
        }
        found
    }

    /// The energy of a domain with the task on `dst`, or without it.
    ///
    /// Kernel: fair.c compute_energy(), eenv_pd_busy_time() from v6.0, v5.0–
    fn compute_energy(&self, cx: &mut Ctx<'_, '_>, row: usize, task: TaskId, dst: Option<CpuId>) -> u64 {
        let cpus = self.pd_cpus(row);
        let (mut max_util, mut sum_util, mut capacity, mut all) = (0, 0, 0, 0);
        let apart = self.profile.energy_aware.adds_task_apart();
        for cpu in cpus.iter() {
            cx.meter.count(Op::ScanCpu);
            let seat = if dst == Some(cpu) { Seat::With } else { Seat::Without };
            max_util = self.frequency_util(cpu, task, seat).max(max_util);
            sum_util += self.energy_util(cpu, self.util_to_sum(cpu, task, seat));
            capacity = self.capacity_orig_of(cpu);
            all += self.actual_capacity_of(cpu);
        }
        if apart && dst.is_some_and(|dst| cpus.contains(dst)) {
            sum_util += self.task_busy_time(task);
        }
        if apart {
            sum_util = sum_util.min(all);
        }
        let allowed = cpus.first().map_or(0, |cpu| self.actual_capacity_of(cpu));
        let headroom = self.profile.energy_aware != EnergyAware::Bounded;
        self.energy.domains[row].energy(self.profile.energy_model, (max_util, sum_util), (capacity, allowed), headroom)
    }

    /// The fair utilisation of a CPU in the sum of a domain.
    fn util_to_sum(&self, cpu: CpuId, task: TaskId, seat: Seat) -> u64 {
        match (self.profile.energy_aware, seat) {
            (EnergyAware::None | EnergyAware::WholeMachine | EnergyAware::AllDomains, _) => {
                self.cpu_util_next(cpu, task, seat, false)
            }
            (EnergyAware::PerDomain, Seat::With) => {
                self.cpu_util_next(cpu, task, Seat::Without, false) + self.task_util_est(task)
            }
            _ => self.cpu_util_next(cpu, task, Seat::Without, false),
        }
    }

    /// The energy of the whole machine with the task on `dst`.
    fn energy_of_all(&self, cx: &mut Ctx<'_, '_>, task: TaskId, dst: CpuId) -> u64 {
        (0..self.energy.domains.len()).map(|row| self.compute_energy(cx, row, task, Some(dst))).sum()
    }

    /// Kernel: fair.c find_energy_efficient_cpu(), v5.0–v5.3
    fn least_energy_of_all(&self, cx: &mut Ctx<'_, '_>, task: TaskId, span: &CpuMask) -> CpuId {
        let prev = self.tasks[task].cpu;
        let (mut prev_energy, mut best) = (None, (u64::MAX, prev));
        for row in 0..self.energy.domains.len() {
            let found = self.candidates(cx, row, task, span);
            if found.prev.is_some() {
                let energy = self.energy_of_all(cx, task, prev);
                prev_energy = Some(energy);
                best.0 = best.0.min(energy);
            }
            if let Some((cpu, ..)) = found.other {
                let energy = self.energy_of_all(cx, task, cpu);
                if energy < best.0 {
                    best = (energy, cpu);
                }
            }
        }
        match prev_energy {
            Some(energy) if energy - best.0 <= energy >> 4 => prev,
            _ => best.1,
        }
    }

    /// Less energy with the task than without counts as very much, as the difference is unsigned.
    ///
    /// Kernel: fair.c find_energy_efficient_cpu(), v5.4–v5.13
    fn least_added_of_all(&self, cx: &mut Ctx<'_, '_>, task: TaskId, span: &CpuMask) -> CpuId {
        let prev = self.tasks[task].cpu;
        let (mut prev_delta, mut best, mut base) = (u64::MAX, (u64::MAX, prev), 0_u64);
        for row in 0..self.energy.domains.len() {
            let own = self.compute_energy(cx, row, task, None);
            base += own;
            let found = self.candidates(cx, row, task, span);
            if found.prev.is_some() {
                prev_delta = self.compute_energy(cx, row, task, Some(prev)).wrapping_sub(own);
                best.0 = best.0.min(prev_delta);
            }
            // Of several with most to spare the first counts.
            let most = |&(cpu, _, spare): &(CpuId, Fit, u64)| {
                found.prev.is_none_or(|(_, prev_spare)| spare > prev_spare || (spare == prev_spare && cpu < prev))
            };
            if let Some((cpu, ..)) = found.other.filter(most) {
                let delta = self.compute_energy(cx, row, task, Some(cpu)).wrapping_sub(own);
                if delta < best.0 {
                    best = (delta, cpu);
                }
            }
        }
        let pays = prev_delta == u64::MAX || prev_delta - best.0 > prev_delta.wrapping_add(base) >> 4;
        if pays { best.1 } else { prev }
    }

    /// Kernel: fair.c find_energy_efficient_cpu(), v5.14–v5.19
    fn least_added_by_a_sixteenth(&self, cx: &mut Ctx<'_, '_>, task: TaskId, span: &CpuMask) -> CpuId {
        let prev = self.tasks[task].cpu;
        let (mut prev_delta, mut best, mut base) = (None, (u64::MAX, prev), 0);
        for row in 0..self.energy.domains.len() {
            let found = self.candidates(cx, row, task, span);
            if found.prev.is_none() && found.other.is_none() {
                continue;
            }
            let own = self.compute_energy(cx, row, task, None);
            base += own;
            if found.prev.is_some() {
                // Less energy with the task than without: something changed meanwhile.
                let Some(delta) = self.compute_energy(cx, row, task, Some(prev)).checked_sub(own) else { return prev };
                prev_delta = Some(delta);
                best.0 = best.0.min(delta);
            }
            if let Some((cpu, ..)) = found.other {
                let Some(delta) = self.compute_energy(cx, row, task, Some(cpu)).checked_sub(own) else { return prev };
                if delta < best.0 {
                    best = (delta, cpu);
                }
            }
        }
        match prev_delta {
            Some(delta) if delta - best.0 <= (delta + base) >> 4 => prev,
            _ => best.1,
        }
    }

    /// Kernel: fair.c find_energy_efficient_cpu(), v6.0–
    fn least_added(&self, cx: &mut Ctx<'_, '_>, task: TaskId, span: &CpuMask) -> CpuId {
        let prev = self.tasks[task].cpu;
        let nothing = Best { cpu: prev, delta: u64::MAX, fit: Fit::MissesMin, capacity: 0 };
        let (mut at_prev, mut best) = (nothing, nothing);
        for row in 0..self.energy.domains.len() {
            let found = self.candidates(cx, row, task, span);
            if found.prev.is_none() && found.other.is_none() {
                continue;
            }
            let capacity = self.pd_cpus(row).first().map_or(0, |cpu| self.actual_capacity_of(cpu));
            let own = self.compute_energy(cx, row, task, None);
            if let Some((fit, _)) = found.prev {
                let Some(delta) = self.compute_energy(cx, row, task, Some(prev)).checked_sub(own) else { return prev };
                at_prev = Best { cpu: prev, delta, fit, capacity };
                best.delta = best.delta.min(delta);
            }
            let more = |spare: u64| found.prev.is_none_or(|(_, prev_spare)| spare > prev_spare);
            let Some((cpu, fit, spare)) = found.other else { continue };
            if !more(spare) || fit < best.fit || (fit == Fit::MissesMin && capacity <= best.capacity) {
                continue;
            }
            let Some(delta) = self.compute_energy(cx, row, task, Some(cpu)).checked_sub(own) else { return prev };
            if fit == Fit::Yes && best.fit == Fit::Yes && delta >= best.delta {
                continue;
            }
            best = Best { cpu, delta, fit, capacity };
        }
        let better = best.fit > at_prev.fit
            || (best.fit == Fit::Yes && best.delta < at_prev.delta)
            || (best.fit == Fit::MissesMin && best.capacity > at_prev.capacity);
        if better { best.cpu } else { prev }
    }
}
