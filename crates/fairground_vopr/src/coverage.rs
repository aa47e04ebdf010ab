//! What random runs have touched: a rule that no run reaches is a rule that nobody tests.

use crate::case::Case;
use crate::mechanism::Mechanism;
use fairground_model::{KernelWarn, Reason, Sink, TraceEvent};
use fairground_stdx::{CpuId, Instant};
use std::collections::BTreeMap;

/// How often a rule decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Decided {
    /// Decisions.
    pub decisions: u64,
    /// Runs in which it decided at least once.
    pub runs: u64,
    /// The seed of the first of them.
    pub first: u64,
}

/// A rule, and how often it decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleRow {
    /// Its short name.
    pub rule: &'static str,
    /// How often it decided.
    pub decided: Decided,
    /// Runs whose kernel has what it needs.
    pub possible: u64,
    /// What it needs of a kernel, as a sentence.
    pub needs: &'static str,
}

/// Runs by kernel, decisions by rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Runs of each kernel, by its version and overlays.
    pub profiles: BTreeMap<String, u64>,
    /// Rules that decided anything.
    pub rules: BTreeMap<Reason, Decided>,
    /// Runs whose kernel has each mechanism.
    pub mechanisms: BTreeMap<Mechanism, u64>,
    /// Runs in which the kernel warned of a condition.
    pub warns: BTreeMap<KernelWarn, u64>,
    /// The seed of the run, if it is one.
    seed: u64,
}

impl Coverage {
    /// A run of a case, before its first event.
    pub(crate) fn of(case: &Case) -> Coverage {
        let has = Mechanism::ALL.iter().filter(|mechanism| mechanism.is_in(&case.profile));
        Coverage {
            profiles: BTreeMap::from([(case.profile.name.clone(), 1)]),
            rules: BTreeMap::new(),
            mechanisms: has.map(|&mechanism| (mechanism, 1)).collect(),
            warns: BTreeMap::new(),
            seed: case.seed,
        }
    }

    /// Adds what another run touched.
    pub fn add(&mut self, other: &Coverage) {
        for (name, count) in &other.profiles {
            *self.profiles.entry(name.clone()).or_default() += count;
        }
        for (&rule, decided) in &other.rules {
            let sum = self.rules.entry(rule).or_insert(Decided { first: decided.first, ..Decided::default() });
            (sum.decisions, sum.runs) = (sum.decisions + decided.decisions, sum.runs + decided.runs);
        }
        for (&mechanism, count) in &other.mechanisms {
            *self.mechanisms.entry(mechanism).or_default() += count;
        }
        for (&warn, count) in &other.warns {
            *self.warns.entry(warn).or_default() += count;
        }
    }

    /// All rules in their order, those that never decided among them.
    pub fn rows(&self) -> impl Iterator<Item = RuleRow> {
        Reason::ALL.iter().map(|&rule| RuleRow {
            rule: rule.slug(),
            decided: self.rules.get(&rule).copied().unwrap_or_default(),
            possible: self.possible(rule),
            needs: Mechanism::of(rule).sentence(),
        })
    }

    fn possible(&self, rule: Reason) -> u64 {
        self.mechanisms.get(&Mechanism::of(rule)).copied().unwrap_or_default()
    }

    /// Rules that decided nothing.
    pub fn missed(&self) -> impl Iterator<Item = Reason> + '_ {
        Reason::ALL.iter().copied().filter(|rule| !self.rules.contains_key(rule))
    }

    /// A rule by which a kernel decided that has not what the rule needs.
    pub(crate) fn impossible(&self) -> Option<Reason> {
        self.rules.keys().copied().find(|&rule| self.possible(rule) == 0)
    }
}

impl Sink for Coverage {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Decision(decision) => {
                let first = self.seed;
                self.rules.entry(decision.reason).or_insert(Decided { decisions: 0, runs: 1, first }).decisions += 1;
            }
            TraceEvent::KernelWarn(warn) => {
                self.warns.insert(warn, 1);
            }
            _ => {}
        }
    }
}
