//! How near the answers are, kind by kind.

use super::draw::{KINDS, Kind, Service, draw};
use super::known::Truths;
use super::truth::{GROUP, Truth, misses};
use crate::delay::read;
use cpu_time::ProcessTime;
use fairground_advise::{AdviseOptions, Goal, advise};
use fairground_model::CpuMax;
use fairground_report::{Cell, Table, columns};
use fairground_scenario::{Control, Error};
use fairground_stdx::Ns;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A service, what is true of it, and what was answered.
pub struct Advised {
    /// The service.
    pub service: Service,
    /// What is true; none if it is not clear whether the goal can be met.
    pub truth: Option<Truth>,
    /// The answer; none inside if no limit is said to be enough.
    pub answer: Result<Option<CpuMax>, String>,
    /// Runs of a hundred with fresh seeds that meet the goal with the answer.
    pub fresh_percent: Option<u64>,
    /// Runs that the answer rests on, and all that were made.
    pub runs: (u64, u64),
    /// CPU time that the answer took, without the runs with fresh seeds.
    pub took: Duration,
}

/// The most by which an answer may be off, percent of the truth.
const NEAR: u64 = 5;
/// Fresh runs, and how far their seeds lie behind those of an answer.
const FRESH: (u64, u64) = (100, 90_000_000);

/// Draws a service of each kind for each seed and asks for its limit. Draws go one after the other: an answer uses all CPUs.
pub fn examine_services(
    kinds: &[&str],
    seeds: RangeInclusive<u64>,
    truths: &mut Truths,
    mut each: impl FnMut(&Advised),
) -> Result<Vec<Advised>, Error> {
    let chosen = KINDS.iter().filter(|kind| kinds.is_empty() || kinds.contains(&kind.name));
    let draws = chosen.flat_map(|kind| seeds.clone().map(|seed| draw(kind, seed)));
    draws
        .map(|service| {
            let row = asked(service, truths)?;
            each(&row);
            Ok(row)
        })
        .collect()
}

fn asked(service: Service, truths: &mut Truths) -> Result<Advised, Error> {
    let truth = truths.of(&service)?;
    let mut row = Advised { service, truth, answer: Ok(None), fresh_percent: None, runs: (0, 0), took: Duration::ZERO };
    let Some(truth) = &row.truth else { return Ok(row) };
    let base = read(row.service.kind, &row.service.text)?;
    let goals = vec![Goal { permille: row.service.permille, most: truth.goal }];
    let options = AdviseOptions { goals, ..AdviseOptions::default() };
    let begin = ProcessTime::now();
    let answer = advise(&base, &options, Control::none());
    row.took = begin.elapsed();
    if let Ok(advice) = &answer {
        row.runs = (advice.smallest.as_ref().map_or(0, |found| found.seeds), advice.runs());
    }
    row.answer = answer.map(|advice| advice.smallest.and_then(|found| found.limit)).map_err(|error| error.to_string());
    if let Ok(Some(limit)) = row.answer {
        let missed = misses(&base, limit, truth.goal, row.service.permille, base.seed + FRESH.1, FRESH.0, FRESH.0)?;
        row.fresh_percent = Some((FRESH.0 - missed) * 100 / FRESH.0);
    }
    debug_assert!(base.group_limit(GROUP).is_some());
    Ok(row)
}

/// How near an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearness {
    /// Rightly none.
    RightlyNone,
    /// Within 5 % of the smallest limit; in tenths of a percent.
    Near(i64),
    /// Further away.
    Far(i64),
    /// None where a limit is enough, or a limit where none is; or no answer at all.
    Wrong,
}

/// How near an answer is; none of a draw whose truth is not clear.
pub fn nearness(row: &Advised) -> Option<Nearness> {
    let truth = row.truth.as_ref()?;
    Some(match (&row.answer, truth.quota) {
        (Ok(None), None) => Nearness::RightlyNone,
        (Ok(Some(CpuMax { quota: Some(Ns(answer)), .. })), Some(Ns(truth))) => {
            let off = i64::try_from(i128::from(*answer) * 1_000 / i128::from(truth.max(1)) - 1_000).unwrap_or(i64::MAX);
            if off.unsigned_abs() <= NEAR * 10 { Nearness::Near(off) } else { Nearness::Far(off) }
        }
        _ => Nearness::Wrong,
    })
}

/// Whether 90 of 100 answers are within 5 %, none is wrong about whether a limit is enough, and 95 of 100 fresh runs hold: within two standard
/// deviations of chance.
pub fn are_good(rows: &[Advised]) -> bool {
    let found: Vec<Nearness> = rows.iter().filter_map(nearness).collect();
    let limits = found.iter().filter(|one| matches!(one, Nearness::Near(_) | Nearness::Far(_))).count() as u64;
    let near = found.iter().filter(|one| matches!(one, Nearness::Near(_))).count() as u64;
    let fresh: Vec<u64> = rows.iter().filter_map(|row| row.fresh_percent).collect();
    let is_wrong = found.contains(&Nearness::Wrong);
    !is_wrong && reaches(near, limits, 90) && reaches(fresh.iter().sum(), fresh.len() as u64 * FRESH.0, 95)
}

/// Whether a part of a whole is so many percent of it, within two standard deviations: a share of p percent of n scatters by
/// sqrt(n p (100 - p)) / 100.
pub(crate) fn reaches(part: u64, whole: u64, percent: u64) -> bool {
    part * 100 + (whole * percent * (100 - percent)).isqrt() * 2 >= whole * percent
}

/// A row per kind, and one for all.
pub fn services_table(rows: &[Advised]) -> Table {
    let columns = columns![
        left "service", right "draws", right "unclear", right "within 5 %" "near", right "none, rightly" "rightly_none",
        right "wrong about none" "wrong", right "furthest %" "furthest_pct", right "fresh runs %" "fresh_pct",
        right "CPU time, median" "cpu_ms",
    ];
    let mut table = Table::new("services", "Random services and the smallest limit", columns);
    let mut push = |name: &str, rows: &[&Advised]| {
        let found: Vec<Nearness> = rows.iter().filter_map(|row| nearness(row)).collect();
        let count = |is: fn(&Nearness) -> bool| found.iter().filter(|one| is(one)).count() as u64;
        let off = |one: &Nearness| match one {
            Nearness::Near(off) | Nearness::Far(off) => Some(*off),
            _ => None,
        };
        let fresh: Vec<u64> = rows.iter().filter_map(|row| row.fresh_percent).collect();
        let furthest = found.iter().filter_map(off).max_by_key(|off| off.unsigned_abs());
        let sign = if furthest.is_some_and(|off| off < 0) { "-" } else { "" };
        let tenths = furthest.unwrap_or(0).unsigned_abs();
        table.push(vec![
            name.into(),
            (rows.len() as u64).into(),
            ((rows.len() - found.len()) as u64).into(),
            count(|one| matches!(one, Nearness::Near(_))).into(),
            count(|one| *one == Nearness::RightlyNone).into(),
            count(|one| *one == Nearness::Wrong).into(),
            Cell::from(format!("{sign}{}.{}", tenths / 10, tenths % 10)),
            fresh.iter().sum::<u64>().checked_div(fresh.len() as u64).map_or_else(Cell::none, Cell::from),
            median(rows.iter().filter(|row| row.truth.is_some()).map(|row| row.took)).map_or_else(Cell::none, time),
        ]);
    };
    for Kind { name, .. } in &KINDS {
        let of_kind: Vec<&Advised> = rows.iter().filter(|row| row.service.kind == *name).collect();
        if !of_kind.is_empty() {
            push(name, &of_kind);
        }
    }
    push("all", &rows.iter().collect::<Vec<_>>());
    table
}

/// The middle one; of an even number the larger one of both.
fn median(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut all: Vec<Duration> = times.collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

fn time(time: Duration) -> Cell {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Cell::new(format!("{}.{} s", ms / 1_000, ms % 1_000 / 100), ms)
}

impl Advised {
    /// What is true and what was answered, in a line.
    pub fn story(&self) -> String {
        let Service { kind, seed, permille, .. } = &self.service;
        let Some(truth) = &self.truth else { return format!("{kind} {seed}: unclear whether the goal can be met") };
        let quota = |quota: Option<Ns>| quota.map_or("none".to_string(), |quota| quota.to_string());
        let answer = match &self.answer {
            Ok(limit) => quota(limit.and_then(|limit| limit.quota)),
            Err(error) => format!("error: {error}"),
        };
        format!(
            "{kind} {seed}: p{} <= {}, met by {} % without a limit: smallest {}, answer {answer} {:?}; fresh {:?} %; {} of {} runs, {} ms of CPU time",
            permille / 10,
            truth.goal,
            truth.free_percent,
            quota(truth.quota),
            nearness(self),
            self.fresh_percent,
            self.runs.0,
            self.runs.1,
            self.took.as_millis(),
        )
    }
}
