//! What random runs have touched: a rule that no run reaches is a rule that nobody tests.

use crate::case::Case;
use fairground_model::{Reason, Sink, TraceEvent};
use fairground_stdx::{CpuId, Instant};
use std::collections::BTreeMap;

/// Runs by kernel, decisions by rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Runs of each profile.
    pub profiles: BTreeMap<String, u64>,
    /// Decisions by each rule that decided anything.
    pub reasons: BTreeMap<Reason, u64>,
}

impl Coverage {
    /// A run of a case, before its first event.
    pub(crate) fn of(case: &Case) -> Coverage {
        Coverage { profiles: BTreeMap::from([(case.profile.name.clone(), 1)]), reasons: BTreeMap::new() }
    }

    /// Adds what another run touched.
    pub fn add(&mut self, other: &Coverage) {
        for (name, count) in &other.profiles {
            *self.profiles.entry(name.clone()).or_default() += count;
        }
        for (&reason, count) in &other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
    }

    /// Rules that decided nothing.
    pub fn missed(&self) -> impl Iterator<Item = Reason> + '_ {
        Reason::ALL.iter().copied().filter(|reason| !self.reasons.contains_key(reason))
    }
}

impl Sink for Coverage {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(decision) = event {
            *self.reasons.entry(decision.reason).or_default() += 1;
        }
    }
}
