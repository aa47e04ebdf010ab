//! A set's recorded decisions, put to our core.

use crate::golden::Set;
use crate::simulation::refusal;
use fairground_conform::{BatchRule, Kind, Outcome, PlaceRule, Placement, Tally, Vruntimes};
use fairground_model::features::{Feat, FeatSet};
use fairground_recordings::conform::{ConformOptions, QuotaReplay, conform};
use fairground_scenario::{Control, Error};

/// What came of one set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conformed {
    /// It was walked through.
    Compared(Box<Compared>),
    /// It needs what is not modelled yet, or an invariant of ours broke on the way: the messages.
    Refused(Vec<String>),
}

/// A comparison that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The feature that limited its searches for an idle CPU.
    pub search_limit: &'static str,
    /// All unknown lags taken as 0.
    pub agreement: Agreement,
    /// With the lags of kernel threads that slept before the record fitted, if that was tried and helps.
    pub fitted: Option<Fitted>,
    /// What its accounts of quota had, if it has any.
    pub quota: Option<QuotaReplay>,
}

/// What becomes of a comparison when lags that no record tells are fitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fitted {
    /// The threads by name, with their lag in virtual ns.
    pub lags: Vec<(String, i64)>,
    /// The counts with these lags.
    pub agreement: Agreement,
}

/// Counts of one set, or sums over several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Agreement {
    /// By measure, in the order of [`Measure::ALL`].
    tallies: [Tally; Measure::ALL.len()],
    /// The largest share of a task's run time that went elsewhere, in millionths.
    pub runtime_error_ppm: u64,
    /// Why nothing is asked of this set, if so.
    pub no_threshold: Option<String>,
    /// Choices of CPUs by the rule that explains them, in the order of [`PlaceRule::ALL`].
    rules: [u64; PlaceRule::ALL.len()],
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Who runs next.
    Pick,
    /// A wake-up preempted.
    WakeupDid,
    /// A wake-up did not.
    WakeupDidNot,
    /// A tick preempted.
    TickDid,
    /// A tick did not.
    TickDidNot,
    /// Another account of run time preempted.
    UpdateDid,
    /// Another account did not.
    UpdateDidNot,
    /// Several questions with one outcome.
    Both,
    /// Virtual times to the nanosecond.
    Vruntime,
    /// The CPU that a wake-up chose.
    PlaceStrict,
    /// Whether the rules allow the choice.
    PlaceAllowed,
    /// The CPU on which a child began.
    BirthStrict,
    /// Whether the rules allow it.
    BirthAllowed,
    /// Moves of waiting tasks, of a kind that was possible.
    MoveKind,
    /// How many tasks a balance moved to an empty CPU.
    MoveBatch,
    /// From where.
    MoveSource,
    /// Moves to busy CPUs: from a CPU above the mean to one below.
    MoveMean,
}

impl Measure {
    /// All in the order of tables.
    pub const ALL: [Measure; 17] = [
        Measure::Pick,
        Measure::WakeupDid,
        Measure::WakeupDidNot,
        Measure::TickDid,
        Measure::TickDidNot,
        Measure::UpdateDid,
        Measure::UpdateDidNot,
        Measure::Both,
        Measure::Vruntime,
        Measure::PlaceStrict,
        Measure::PlaceAllowed,
        Measure::BirthStrict,
        Measure::BirthAllowed,
        Measure::MoveKind,
        Measure::MoveBatch,
        Measure::MoveSource,
        Measure::MoveMean,
    ];
    /// Those about who runs when.
    pub const TIME: &[Measure] = Measure::ALL.as_slice().split_at(9).0;
    /// Its name in tables and in `notes.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Pick => "pick",
            Measure::WakeupDid => "wake-up did",
            Measure::WakeupDidNot => "wake-up did not",
            Measure::TickDid => "tick did",
            Measure::TickDidNot => "tick did not",
            Measure::UpdateDid => "update did",
            Measure::UpdateDidNot => "update did not",
            Measure::Both => "both",
            Measure::Vruntime => "vruntime",
            Measure::PlaceStrict => "wake-up same CPU",
            Measure::PlaceAllowed => "wake-up allowed",
            Measure::BirthStrict => "birth same CPU",
            Measure::BirthAllowed => "birth allowed",
            Measure::MoveKind => "move kind",
            Measure::MoveBatch => "move batch",
            Measure::MoveSource => "move source",
            Measure::MoveMean => "move mean",
        }
    }
    fn of(self, outcome: &Outcome) -> Tally {
        let kind = |kind: Kind| outcome.kinds.get(&kind).copied().unwrap_or_default();
        match self {
            Measure::Pick => kind(Kind::Pick).all,
            Measure::WakeupDid => kind(Kind::WakeupPreempt).did,
            Measure::WakeupDidNot => kind(Kind::WakeupPreempt).did_not,
            Measure::TickDid => kind(Kind::TickPreempt).did,
            Measure::TickDidNot => kind(Kind::TickPreempt).did_not,
            Measure::UpdateDid => kind(Kind::UpdatePreempt).did,
            Measure::UpdateDidNot => kind(Kind::UpdatePreempt).did_not,
            Measure::Both => kind(Kind::Shared).all,
            Measure::Vruntime => vruntimes(&outcome.vruntimes),
            Measure::PlaceStrict => strict(outcome, false),
            Measure::PlaceAllowed => allowed(outcome, false),
            Measure::BirthStrict => strict(outcome, true),
            Measure::BirthAllowed => allowed(outcome, true),
            Measure::MoveKind => outcome.moves.kind(),
            Measure::MoveBatch => outcome.moves.rule(BatchRule::Size),
            Measure::MoveSource => outcome.moves.rule(BatchRule::MostTasks),
            Measure::MoveMean => outcome.moves.rule(BatchRule::Mean),
        }
    }
    /// The least share that is asked for, in hundredths of a percent: on one CPU, and on several. None for what is
    /// only shown.
    pub fn threshold(self, one_cpu: bool) -> Option<u64> {
        match (self, one_cpu) {
            (Measure::Pick | Measure::Vruntime, true) => Some(99_50),
            (Measure::WakeupDid | Measure::WakeupDidNot | Measure::TickDid | Measure::TickDidNot, true) => Some(99_00),
            (Measure::UpdateDid | Measure::UpdateDidNot | Measure::Both, _) => None,
            (Measure::PlaceStrict | Measure::BirthStrict | Measure::MoveSource | Measure::MoveMean, _) => None,
            (Measure::PlaceAllowed | Measure::BirthAllowed, _) => Some(97_00),
            (Measure::MoveKind | Measure::MoveBatch, _) => Some(95_00),
            (_, false) => Some(98_00),
        }
    }
}

fn rules(placement: &Placement) -> [u64; PlaceRule::ALL.len()] {
    PlaceRule::ALL.map(|rule| placement.of(rule).choices)
}

fn strict(outcome: &Outcome, fork: bool) -> Tally {
    let (decisions, _, agree) = outcome.placement.sums(fork);
    Tally { decisions, agree }
}

fn allowed(outcome: &Outcome, fork: bool) -> Tally {
    let (decisions, agree, _) = outcome.placement.sums(fork);
    Tally { decisions, agree }
}

fn vruntimes(found: &Vruntimes) -> Tally {
    Tally { decisions: found.compared, agree: found.exact }
}

/// The largest run-time error that is asked for: half a percent.
const RUNTIME_ERROR_PPM: u64 = 5_000;

impl Agreement {
    /// Takes the counts of an outcome.
    pub fn new(outcome: &Outcome, no_threshold: Option<String>) -> Agreement {
        let error =
            outcome.notable_shares().map(|(_, share)| share.given.0.abs_diff(share.ran.0) * 1_000_000 / share.ran.0).max();
        let tallies = Measure::ALL.map(|measure| measure.of(outcome));
        let rules = rules(&outcome.placement);
        Agreement { tallies, runtime_error_ppm: error.unwrap_or(0), no_threshold, rules }
    }
    /// The choices of CPUs that one rule explains.
    pub fn choices(&self, rule: PlaceRule) -> u64 {
        self.rules[rule as usize]
    }
    /// The counts of one measure.
    pub fn of(&self, measure: Measure) -> Tally {
        self.tallies[measure as usize]
    }
    /// Adds another set's counts; the run-time error is the larger one.
    pub fn add(&mut self, other: &Agreement) {
        for (sum, tally) in self.tallies.iter_mut().zip(other.tallies) {
            sum.decisions += tally.decisions;
            sum.agree += tally.agree;
        }
        self.rules.iter_mut().zip(other.rules).for_each(|(sum, choices)| *sum += choices);
        self.runtime_error_ppm = self.runtime_error_ppm.max(other.runtime_error_ppm);
    }
    /// What falls short of what is asked for, by its name.
    pub fn short_of(&self, one_cpu: bool) -> Vec<&'static str> {
        let is_short = |measure: &&Measure| {
            let Tally { decisions, agree } = self.of(**measure);
            measure.threshold(one_cpu).is_some_and(|least| agree * 10_000 < least * decisions)
        };
        let mut short: Vec<&str> = Measure::ALL.iter().filter(is_short).map(|measure| measure.name()).collect();
        if self.runtime_error_ppm > RUNTIME_ERROR_PPM {
            short.push("run time");
        }
        short
    }
}

/// The feature by which searches for an idle CPU end early.
fn search_limit(feats: FeatSet) -> &'static str {
    match (feats.has(Feat::SIS_UTIL), feats.has(Feat::SIS_PROP)) {
        (true, true) => "SIS_UTIL, SIS_PROP",
        (true, false) => "SIS_UTIL",
        (false, true) => "SIS_PROP",
        (false, false) => "none",
    }
}

/// Walks through one set, if it is worth it a second time with fitted lags.
pub fn compare(set: &Set) -> Result<Conformed, Error> {
    let options = ConformOptions { overrides: set.overrides(), keep: 1, fit: set.fits_lags(), ..ConformOptions::default() };
    let found = match conform(&set.folder, &options, Control::none()) {
        Ok(found) => found,
        Err(error) => return refusal(&error).map(Conformed::Refused).ok_or(error),
    };
    // Its first clause; the rest names files of this machine.
    let why = found.no_threshold.map(|why| why.split(": ").next().unwrap_or_default().to_string());
    let no_threshold = why.or(set.not_judged().map(str::to_string));
    let fitted = found.fitted.map(|fit| Fitted {
        lags: fit.lags.iter().map(|&(task, lag)| (found.tasks[task].name.clone(), lag)).collect(),
        agreement: Agreement::new(&fit.outcome, no_threshold.clone()),
    });
    let agreement = Agreement::new(&found.outcome, no_threshold);
    Ok(Conformed::Compared(Box::new(Compared { search_limit: search_limit(found.feats), agreement, fitted, quota: found.quota })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(pick: (u64, u64), both: (u64, u64), runtime_error_ppm: u64) -> Agreement {
        let mut agreement = Agreement { runtime_error_ppm, ..Agreement::default() };
        let tally = |(agree, decisions)| Tally { decisions, agree };
        agreement.tallies[Measure::Pick as usize] = tally(pick);
        agreement.tallies[Measure::Both as usize] = tally(both);
        agreement
    }

    #[test]
    fn measures_are_where_their_number_says() {
        for (index, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!(measure as usize, index);
        }
    }

    #[test]
    fn what_is_asked_for_depends_on_the_machine_and_classes_of_their_own_are_only_shown() {
        let almost = agreement((99, 100), (0, 5), 0);
        assert_eq!(almost.short_of(true), ["pick"]);
        assert_eq!(almost.short_of(false), Vec::<&str>::new());
        assert_eq!(agreement((0, 0), (0, 0), 5_001).short_of(true), ["run time"]);
        assert_eq!(agreement((199, 200), (0, 0), 5_000).short_of(true), Vec::<&str>::new());
    }

    #[test]
    fn sums_keep_the_largest_error() {
        let mut sum = agreement((1, 2), (3, 4), 7);
        sum.add(&agreement((10, 20), (0, 0), 5));
        assert_eq!((sum.of(Measure::Pick), sum.runtime_error_ppm), (Tally { decisions: 22, agree: 11 }, 7));
    }
}
