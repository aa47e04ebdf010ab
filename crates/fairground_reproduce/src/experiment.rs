//! What a published experiment is, how it is made, and what it gives.

use crate::over::Over;
use fairground_report::{Input, Reproduction};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// How an experiment is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReproduceOptions {
    /// Same machine sizes, fewer rows and shorter windows.
    pub quick: bool,
    /// A folder in which an experiment that takes hours keeps its finished runs, and finds those of an earlier time.
    pub keep: Option<PathBuf>,
}

/// What an experiment gave.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// Published and simulated rows, claims, calibration.
    pub reproduction: Reproduction,
    /// What it was made of: published data by name and digest.
    pub inputs: Vec<Input>,
    /// The seed, if randomness was involved.
    pub seed: Option<u64>,
    /// Digest over the record digests of all its runs, in order.
    pub digest: u128,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

/// One published experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub sentence: &'static str,
    /// Whether its full form takes hours, so that it is run by itself only.
    pub takes_hours: bool,
    /// Runs it.
    pub run: fn(&ReproduceOptions, Control<'_>) -> Result<Reproduced, Error>,
    /// What of it runs over kernel trees.
    pub over: Over,
}
