//! The choice by energy, slowly: every CPU of the machine, as docs/model/04-cpufreq-and-capacity.md words it, held against the core.

use super::tests::{Bench, four_and_four};
use crate::fair::select_task_rq::TestMachine;
use fairground_model::{MachineView, UtilClamp};
use fairground_stdx::CpuId;
use proptest::prelude::*;

/// The plain numbers of a wake-up: utilisation of each CPU without the task, and of the task.
struct Plain<'a> {
    view: &'a MachineView,
    busy: &'a [u32; 8],
    task: u32,
    prev: usize,
    /// Up to v5.13.
    old: bool,
}

impl Plain<'_> {
    fn capacity(&self, cpu: usize) -> i128 {
        i128::from(self.view.cpus[CpuId::new(cpu as u32)].capacity)
    }
    fn util(&self, cpu: usize, on: Option<usize>) -> i128 {
        let own = if on == Some(cpu) { self.task } else { 0 };
        i128::from(self.busy[cpu] + own).min(self.capacity(cpu))
    }
    fn fits(&self, cpu: usize) -> bool {
        self.util(cpu, Some(cpu)) * 1280 < self.capacity(cpu) * 1024
    }
    fn cpus(&self, domain: usize) -> std::ops::Range<usize> {
        4 * domain..4 * domain + 4
    }
    /// mW of a domain at the lowest point that suffices for its busiest CPU and a quarter.
    fn energy(&self, domain: usize, on: Option<usize>) -> i128 {
        let policy = &self.view.policies[domain];
        let capacity = self.capacity(4 * domain);
        let busiest = self.cpus(domain).map(|cpu| self.util(cpu, on)).max().unwrap_or(0);
        let sum: i128 = self.cpus(domain).map(|cpu| i128::from(self.busy[cpu]).min(capacity)).sum();
        let sum = sum + if on.is_some_and(|on| self.cpus(domain).contains(&on)) { i128::from(self.task) } else { 0 };
        let sum = if self.old { self.cpus(domain).map(|cpu| self.util(cpu, on)).sum() } else { sum };
        let highest = i128::from(policy.max_khz());
        let wanted = match self.old {
            true => (highest + highest / 4) * busiest / capacity,
            false => highest * (busiest + busiest / 4) / capacity,
        };
        let mut points: Vec<(i128, i128)> = Vec::new();
        for opp in policy.opps.iter().rev() {
            let cost = i128::from(opp.power_mw.unwrap()) * highest / i128::from(opp.khz);
            if self.old || points.iter().all(|point| cost < point.1) {
                points.push((i128::from(opp.khz), cost));
            }
        }
        let point = points.iter().rev().find(|point| point.0 >= wanted).unwrap_or(&points[0]);
        point.1 * sum / capacity
    }
    /// The part of a choice that kernels up to v5.13 made otherwise: a domain has one candidate beside the previous CPU, the first of those
    /// with most to spare if that is another one, and counts also without any. Numbers are unsigned, of 64 bits.
    fn old_choice(&self) -> usize {
        let unsigned = |number: i128| number.rem_euclid(1 << 64);
        let (mut prev_delta, mut best, mut base) = (None, ((1_i128 << 64) - 1, self.prev), 0);
        for domain in [1, 0] {
            let own = self.energy(domain, None);
            base += own;
            let delta = |cpu: usize| unsigned(self.energy(domain, Some(cpu)) - own);
            let spare = |cpu: usize| self.capacity(cpu) - self.util(cpu, Some(cpu));
            let fitting: Vec<usize> = self.cpus(domain).filter(|&cpu| self.fits(cpu)).collect();
            if fitting.contains(&self.prev) {
                prev_delta = Some(delta(self.prev));
                best.0 = best.0.min(delta(self.prev));
            }
            let most = fitting.iter().map(|&cpu| spare(cpu)).max();
            let first = fitting.iter().copied().find(|&cpu| Some(spare(cpu)) == most && spare(cpu) > 0);
            if let Some(cpu) = first.filter(|&cpu| cpu != self.prev && delta(cpu) < best.0) {
                best = (delta(cpu), cpu);
            }
        }
        match prev_delta {
            Some(delta) if delta - best.0 <= unsigned(delta + base) / 16 => self.prev,
            _ => best.1,
        }
    }
    /// v5.19: what the task adds on each candidate; a move must save more than a sixteenth of that and of all else.
    fn choice(&self) -> usize {
        if self.old {
            return self.old_choice();
        }
        let (mut deltas, mut base) = (Vec::new(), 0);
        for domain in [1, 0] {
            let spare = |cpu: usize| self.capacity(cpu) - self.util(cpu, Some(cpu));
            let fitting: Vec<usize> = self.cpus(domain).filter(|&cpu| self.fits(cpu)).collect();
            if fitting.is_empty() {
                continue;
            }
            let own = self.energy(domain, None);
            base += own;
            let most = fitting.iter().filter(|&&cpu| cpu != self.prev).map(|&cpu| spare(cpu)).max();
            let other = fitting.iter().copied().find(|&cpu| cpu != self.prev && Some(spare(cpu)) == most);
            let prev = fitting.contains(&self.prev).then_some(self.prev);
            for cpu in prev.into_iter().chain(other) {
                deltas.push((self.energy(domain, Some(cpu)) - own, cpu));
            }
        }
        let prev_delta = deltas.iter().find(|row| row.1 == self.prev).map(|row| row.0);
        // The previous CPU wins a tie; else who was looked at first.
        let mut best = prev_delta.map(|delta| (delta, self.prev));
        for &(delta, cpu) in &deltas {
            if best.is_none_or(|best| delta < best.0) {
                best = Some((delta, cpu));
            }
        }
        match (prev_delta, best) {
            (Some(delta), Some(best)) if delta - best.0 <= (delta + base) / 16 => self.prev,
            (_, Some(best)) => best.1,
            (_, None) => self.prev,
        }
    }
}

proptest! {
    #[test]
    fn the_choice_by_energy_is_that_of_the_slow_model(
        busy in prop::array::uniform8(0..500_u32),
        task in 1..600_u32,
        prev in 0..8_usize,
        powers in prop::array::uniform10(1..900_u32),
        old in any::<bool>(),
    ) {
        let mut view = four_and_four();
        let points = view.policies.iter_mut().flat_map(|policy| &mut policy.opps);
        points.zip(powers).for_each(|(opp, power)| opp.power_mw = Some(power));
        let mut bench = Bench(TestMachine::new(if old { "v5.10" } else { "v5.19" }, view.clone()));
        let row = bench.sleeper(prev as u32, task, UtilClamp::NONE);
        for (number, &util) in busy.iter().enumerate() {
            let own = if number == prev { task } else { 0 };
            bench.busy(number as u32, util + own);
        }
        let expected = Plain { view: &view, busy: &busy, task, prev, old }.choice();
        let found = bench.0.on(0, |sched, cx| sched.find_energy_efficient_cpu(cx, row)).expect("it decides");
        prop_assert_eq!(found.0.get() as usize, expected, "{:?} {} {}", busy, task, old);
    }
}
