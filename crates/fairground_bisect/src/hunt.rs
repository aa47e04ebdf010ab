//! Which rows between two states carry the metric over, and what else they need.

use crate::runs::{HALF, QUARTER, Runs, Stop};
use crate::search::{self, Trial};
use crate::units::units;
use fairground_sched::profile::Profile;

/// Rows that move the metric together.
pub(crate) struct Set {
    /// In units that the core can run apart.
    pub(crate) units: Vec<Vec<&'static str>>,
    /// Rows of them that do nothing themselves: others cannot be run without them.
    pub(crate) silent: Vec<&'static str>,
    /// The state from which the rows are taken.
    pub(crate) after: Profile,
}

impl Set {
    /// The rows of all units.
    pub(crate) fn rows(&self) -> Vec<&'static str> {
        flat(&self.units)
    }
    /// A state with these rows; none if the core cannot run it.
    pub(crate) fn on(&self, state: &Profile) -> Option<Profile> {
        state.with_rows(&self.after, &self.rows()).ok()
    }
}

fn flat(units: &[Vec<&'static str>]) -> Vec<&'static str> {
    let mut rows: Vec<&'static str> = units.iter().flatten().copied().collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The smallest set of rows between two states that carries the metric over; none if all together do not.
pub(crate) fn between(runs: &mut Runs<'_>, before: &Profile, after: &Profile) -> Result<Option<Set>, Stop> {
    let units = units(before, after);
    let mut way = Way { runs, before, after, units: &units, fixed: &[], ends: (before, after) };
    let needed = search::smallest(&mut way, units.len())?;
    let needed = way.less(needed)?;
    let mut needed: Vec<Vec<&'static str>> = needed.into_iter().map(|unit| units[unit].clone()).collect();
    let Ok(whole) = before.with_rows(after, &flat(&needed)) else { return Ok(None) };
    if needed.is_empty() {
        return Ok(None);
    }
    // A row that came with others, and is not needed with them.
    for row in flat(&needed).into_iter().filter(|_| needed.iter().any(|unit| unit.len() > 1)).collect::<Vec<_>>() {
        let mut less: Vec<Vec<&'static str>> =
            needed.iter().map(|unit| unit.iter().copied().filter(|&kept| kept != row).collect()).collect();
        less.retain(|unit: &Vec<&'static str>| !unit.is_empty());
        let Ok(state) = before.with_rows(after, &flat(&less)) else { continue };
        if !less.is_empty() && way.runs.carries(before, &state, (before, &whole), HALF)? {
            needed = less;
        }
    }
    let silent = silent(way.runs, &needed, &units, before, after)?;
    Ok(Some(Set { units: needed, silent, after: after.clone() }))
}

/// Rows that only let others of their unit run. They can be taken over before these, and do less than a quarter of what the whole
/// set does if they are.
fn silent(
    runs: &mut Runs<'_>,
    needed: &[Vec<&'static str>],
    units: &[Vec<&'static str>],
    before: &Profile,
    after: &Profile,
) -> Result<Vec<&'static str>, Stop> {
    let mut silent = Vec::new();
    for whole in needed {
        let is_within = |unit: &&Vec<&'static str>| unit.len() < whole.len() && unit.iter().all(|row| whole.contains(row));
        let parts: Vec<Vec<&'static str>> = units.iter().filter(is_within).cloned().collect();
        let rest: Vec<Vec<&'static str>> = needed.iter().filter(|&other| other != whole).cloned().collect();
        let with_rest = |unit: &[Vec<&'static str>]| before.with_rows(after, &flat(&[unit, &rest].concat()));
        let (Ok(base), Ok(with), Ok(full)) = (with_rest(&[]), with_rest(&parts), with_rest(std::slice::from_ref(whole))) else {
            continue;
        };
        if !parts.is_empty() && !runs.carries(&base, &with, (&base, &full), QUARTER)? {
            silent.extend(flat(&parts));
        }
    }
    Ok(silent)
}

/// Adds to a set, found between two states of a way that begins at `first`, the earlier rows without which it does nothing.
pub(crate) fn with_what_it_needs(
    runs: &mut Runs<'_>,
    first: &Profile,
    set: Set,
    ends: (&Profile, &Profile),
) -> Result<Set, Stop> {
    let alone = set.on(first);
    if first.rows_apart(ends.0).is_empty() {
        return Ok(set);
    }
    if let Some(alone) = alone
        && runs.carries(first, &alone, ends, QUARTER)?
    {
        return Ok(set);
    }
    let fixed = set.rows();
    let units: Vec<Vec<&'static str>> = units(first, ends.0);
    let mut way = Way { runs, before: first, after: ends.1, units: &units, fixed: &fixed, ends };
    let needed = search::smallest(&mut way, units.len())?;
    let needed = way.less(needed)?;
    let earlier = needed.into_iter().map(|unit| units[unit].clone());
    Ok(Set { units: earlier.chain(set.units).collect(), ..set })
}

/// A span of rows, in units. What is asked of a set of them is whether `fixed` carries the metric over beside it.
struct Way<'a, 'r> {
    runs: &'a mut Runs<'r>,
    before: &'a Profile,
    after: &'a Profile,
    units: &'a [Vec<&'static str>],
    /// Rows whose effect is asked for; that of the units themselves without any.
    fixed: &'a [&'static str],
    /// Between which states lies what is to be carried over.
    ends: (&'a Profile, &'a Profile),
}

impl Way<'_, '_> {
    /// The units without those that add little to what all of them do.
    fn less(&mut self, units: Vec<usize>) -> Result<Vec<usize>, Stop> {
        let Some(whole) = self.states(&units) else { return Ok(units) };
        let mut kept = units.clone();
        for unit in units.into_iter().filter(|_| kept.len() > 1).collect::<Vec<_>>() {
            let less: Vec<usize> = kept.iter().copied().filter(|&other| other != unit).collect();
            let Some((base, state)) = self.states(&less).filter(|_| !less.is_empty()) else { continue };
            if self.runs.carries(&base, &state, (&whole.0, &whole.1), HALF)? {
                kept = less;
            }
        }
        Ok(kept)
    }
    /// The states between which the effect lies: without and with what is asked for.
    fn states(&self, units: &[usize]) -> Option<(Profile, Profile)> {
        let mut rows: Vec<&'static str> = units.iter().flat_map(|&unit| self.units[unit].iter().copied()).collect();
        let base = if self.fixed.is_empty() {
            self.before.clone()
        } else {
            rows.retain(|row| !self.fixed.contains(row));
            self.before.with_rows(self.after, &rows).ok()?
        };
        rows.extend(self.fixed);
        Some((base, self.before.with_rows(self.after, &rows).ok()?))
    }
}

impl Trial<Stop> for Way<'_, '_> {
    fn runs(&self, units: &[usize]) -> bool {
        self.states(units).is_some()
    }
    fn carries(&mut self, units: &[usize]) -> Result<bool, Stop> {
        let Some((base, state)) = self.states(units) else { return Ok(false) };
        let ends = self.ends;
        self.runs.carries(&base, &state, ends, HALF)
    }
}
