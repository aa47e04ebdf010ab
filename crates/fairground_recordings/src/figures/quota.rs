//! Figures of quota, from the decisions about it: `bandwidth.throttles` and so on.

use super::figure::FigureMap;
use fairground_model::{Decision, Reason};
use fairground_stdx::Ns;

/// What happened to quotas within the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotas {
    throttles: u64,
    unthrottles: u64,
    period_timer_fires: u64,
    overruns: Vec<Ns>,
    /// What measured tasks ran between one timer, of whichever group, and the next, and since the last.
    between_fires: Ns,
    since_fire: Ns,
}

impl Quotas {
    pub(super) fn record(&mut self, decision: Decision) {
        match decision.reason {
            Reason::Throttle => {
                self.throttles += 1;
                self.overruns.push(Ns(decision.b.into()));
            }
            Reason::Unthrottle => self.unthrottles += 1,
            Reason::PeriodTimer => {
                self.period_timer_fires += 1;
                self.between_fires += std::mem::take(&mut self.since_fire);
            }
            _ => {}
        }
    }

    /// A measured task ran so long.
    pub(super) fn ran(&mut self, runtime: Ns) {
        self.since_fire += runtime;
    }

    /// Nothing where there is no quota.
    pub(super) fn add_to(&self, figures: &mut FigureMap) {
        if self.period_timer_fires == 0 {
            return;
        }
        let mut add = |name: &str, figure| figures.insert(format!("bandwidth.{name}"), figure);
        add("throttles", self.throttles.into());
        add("unthrottles", self.unthrottles.into());
        add("period_timer_fires", self.period_timer_fires.into());
        add("runtime_between_fires_ns.mean", (self.between_fires.0 / self.period_timer_fires).into());
        let mut overruns = self.overruns.clone();
        overruns.sort_unstable();
        if let Some(&median) = overruns.get(overruns.len() / 2) {
            add("overrun_at_throttle_ns.median", median.into());
        }
    }
}
