//! Counters, and what was fitted to them.

use super::{Fit, FitOptions, Measured, fit};
use crate::Reached;
use crate::counters::Counters;
use crate::goal::Goal;
use fairground_scenario::Control;

/// Counters, and the fit to them where one is possible.
#[derive(Clone, Debug)]
pub struct CounterAdvice {
    /// The counters.
    pub counters: Counters,
    /// The fit; or why there is none.
    pub fit: Result<Fit, String>,
    /// What the service must reach.
    pub goals: Vec<Goal>,
    pub(super) seed: u64,
}

impl CounterAdvice {
    /// Fits, if counters leave something open that a fit can tell.
    pub fn new(counters: Counters, options: &FitOptions, control: Control<'_>) -> CounterAdvice {
        let fit = match (counters.is_unstable(), counters.throttled_ratio(), Measured::of(&counters)) {
            (Some(true), _, _) => Err("no fit: a queue that grows without end has no percentile".to_string()),
            (_, Some(0), _) => Err("no fit: without throttling the counters show nothing of how requests come".to_string()),
            (_, _, Err(why)) => Err(format!(
                "how requests fare cannot be told from these counters: {why}. A log of requests (arrival, latency, CPU time) or a \
                 scenario says more"
            )),
            (_, _, Ok(measured)) => Ok(fit(&measured, options, control)),
        };
        CounterAdvice { counters, fit, goals: options.goals.clone(), seed: options.seed }
    }
    /// Whether the caller stopped it.
    pub fn is_interrupted(&self) -> bool {
        self.fit.as_ref().is_ok_and(|fit| fit.interrupted)
    }
    /// With a goal: 0 the present limit meets it, 1 it does not, 4 counters do not tell. Without: 1 if the limit is UNSTABLE, or BAD for nearly all services that were kept; 0 if it is OK or TIGHT for nearly all, or did not
    /// matter; 4 if counters do not tell.
    pub fn exit_code(&self) -> u8 {
        if let Some(reached) = self.reached() {
            return Reached::exit_code(reached);
        }
        if self.counters.is_unstable() == Some(true) {
            return 1;
        }
        match &self.fit {
            Err(_) if self.counters.throttled_ratio() == Some(0) => 0,
            Err(_) => 4,
            Ok(fit) => fit.exit_code(),
        }
    }
}

impl Fit {
    fn exit_code(&self) -> u8 {
        match self.points.first() {
            // At most a twentieth says otherwise.
            Some(now) if now.verdicts[2] * 20 >= now.of * 19 => 1,
            Some(now) if now.verdicts[2] * 20 <= now.of => 0,
            _ => 4,
        }
    }
}
