//! Everything that is measured of the recorded sets.

use crate::decisions::{Conformed, compare};
use crate::golden::Set;
use crate::quota_pattern::{Patterns, patterns_of_set};
use crate::simulation::{Simulated, simulate};
use fairground_recordings::load_tracking::{Followed, LoadKind, follow_set};
use fairground_report::Reproduction;
use fairground_reproduce::{EXPERIMENTS, ReproduceOptions};
use fairground_scenario::{Control, Error};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is measured of one set.
#[derive(Clone, Debug)]
pub struct Card {
    /// The set.
    pub set: Set,
    /// Its decisions, put to our core.
    pub decisions: Conformed,
    /// Its workload, run by us.
    pub simulated: Simulated,
    /// Its load-tracking updates, made again by us; `None` if it recorded none.
    pub load: Option<BTreeMap<LoadKind, Followed>>,
    /// What periods of its quotas look like, by the group's path: of hogs, and if it is simulated.
    pub quota: Vec<(String, Patterns)>,
}

impl Card {
    fn measure(set: Set) -> Result<Card, Error> {
        let simulated = simulate(&set.folder, &set.overrides(), set.seeds())?;
        let runs = matches!(simulated, Simulated::Ran(_));
        Ok(Card {
            decisions: compare(&set)?,
            load: follow_set(&set.folder)?,
            quota: if runs && !set.is_periodic() {
                patterns_of_set(&set.folder, &set.overrides(), set.seeds())?
            } else {
                Vec::new()
            },
            simulated,
            set,
        })
    }
}

/// Measures all sets, several at a time. The order is theirs.
pub fn measure(sets: Vec<Set>, control: Control<'_>) -> Result<Vec<Card>, Error> {
    let (total, done) = (sets.len() as u64, AtomicU64::new(0));
    let one = |set: Set| {
        let card = Card::measure(set);
        control.at(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        card
    };
    sets.into_par_iter().map(one).collect()
}

/// All experiments that can be reproduced in minutes, several at a time.
pub fn published() -> Result<Vec<Reproduction>, Error> {
    let run = |experiment: &fairground_reproduce::Experiment| {
        (experiment.run)(&ReproduceOptions::default(), Control::none()).map(|reproduced| reproduced.reproduction)
    };
    EXPERIMENTS.par_iter().filter(|experiment| !experiment.takes_hours).map(run).collect()
}

/// Groups in the order in which their keys first come.
pub(crate) fn grouped<'c, K: PartialEq>(cards: &'c [Card], key: impl Fn(&'c Card) -> K) -> Vec<(K, Vec<&'c Card>)> {
    let mut groups: Vec<(K, Vec<&Card>)> = Vec::new();
    for card in cards {
        let key = key(card);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(card),
            None => groups.push((key, vec![card])),
        }
    }
    groups
}
