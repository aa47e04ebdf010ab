//! What a row of the table of workloads says.

use crate::param::{Param, Values};
use crate::table::{Column, Percentiles, Threads};
use fairground_model::{Mistakes, TaskSet};
use fairground_stdx::Ns;

/// One named workload.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it does, as a sentence.
    pub sentence: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// The columns of its table.
    pub table: &'static [Column],
    /// Its tables of percentiles.
    pub percentiles: &'static [Percentiles],
    /// How long it runs by its own settings, if they say so.
    pub(crate) duration: Option<fn(&Values) -> Ns>,
    /// Its table with a line per thread.
    pub(crate) threads: Option<fn(&Values) -> Threads>,
    pub(crate) build: fn(&Values, &mut Mistakes) -> TaskSet,
}
