//! What `compare` says of the sides.

use super::knobs::KNOBS;
use super::truth::{OneDeviation, one_deviation, runs};
use crate::delay::read;
use crate::services::reaches;
use fairground_metrics::{Comparison, Paired, Rule, Verdict, compare_all};
use fairground_report::{Cell, Table, columns};
use fairground_scenario::Error;
use std::ops::RangeInclusive;

/// Comparisons of each pair of sides, with seeds of their own.
const TIMES: u64 = 5;
/// Pairs of a comparison with a known effect.
const PAIRS: u64 = 20;
/// Pairs of a comparison of equal sides: the default.
const NULL_PAIRS: u64 = 12;

/// Seeds of runs of equal sides begin here.
const NULL_FROM: u64 = 80_000_000;

/// What comparisons of a kind said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Draws whose truth is known.
    pub draws: u64,
    /// Draws without a metric that moves by one standard deviation.
    pub discarded: u64,
    /// Comparisons that were made.
    pub comparisons: u64,
    /// Metrics in all of them.
    pub metrics: u64,
    /// With a verdict for the metric that moves, and in the right direction.
    pub found: u64,
    /// The same where only that metric was tested.
    pub found_alone: u64,
    /// With a verdict on any metric, where nothing differs.
    pub wrong: u64,
}

/// What came out of an exam.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SidesExam {
    /// Sides that differ by their seeds only.
    pub null: Compared,
    /// For each kind of difference.
    pub kinds: Vec<(&'static str, Compared)>,
}

impl SidesExam {
    /// Whether 80 % of the effects are found and 5 % of the verdicts on equal sides are false, within two standard deviations of chance.
    pub fn is_good(&self) -> bool {
        let (all, null) = (self.all(), &self.null);
        reaches(all.found, all.comparisons, 80) && reaches(null.comparisons - null.wrong, null.comparisons, 95)
    }
    /// All kinds of differences together.
    pub fn all(&self) -> Compared {
        self.kinds.iter().fold(Compared::default(), |all, (_, kind)| Compared {
            draws: all.draws + kind.draws,
            discarded: all.discarded + kind.discarded,
            comparisons: all.comparisons + kind.comparisons,
            metrics: all.metrics + kind.metrics,
            found: all.found + kind.found,
            found_alone: all.found_alone + kind.found_alone,
            wrong: 0,
        })
    }
}

/// What is asked for where sides are equal.
pub const NOTHING: &str = "nothing";

/// Draws sides of these kinds, or of all, for each seed, and compares them. [`NOTHING`] is the kind of equal sides.
pub fn examine_sides(kinds: &[&str], seeds: RangeInclusive<u64>, mut each: impl FnMut(&str)) -> Result<SidesExam, Error> {
    let mut exam = SidesExam::default();
    let asks = |name: &str| kinds.is_empty() || kinds.contains(&name);
    for (number, knob) in (0..).zip(&KNOBS) {
        for seed in seeds.clone().filter(|_| asks(NOTHING)) {
            let before = exam.null.wrong;
            null(&knob.text(seed, 0), NULL_FROM + (seed * KNOBS.len() as u64 + number) * 10_000, &mut exam.null)?;
            each(&format!("{NOTHING} {} {seed}: {} of {TIMES} with a verdict", knob.name, exam.null.wrong - before));
        }
        if !asks(knob.name) {
            continue;
        }
        let mut own = Compared::default();
        for seed in seeds.clone() {
            let Some(sides) = one_deviation(knob, seed)? else {
                own.discarded += 1;
                continue;
            };
            own.draws += 1;
            let before = own.found;
            for time in 0..TIMES {
                effect(&sides, time, &mut own)?;
            }
            let OneDeviation { metric, permille, .. } = &sides;
            each(&format!("{} {seed}: {metric} by {permille} of 1000, found in {} of {TIMES}", knob.name, own.found - before));
        }
        exam.kinds.push((knob.name, own));
    }
    Ok(exam)
}

fn effect(sides: &OneDeviation, time: u64, own: &mut Compared) -> Result<(), Error> {
    let from = 70_000_000 + time * 1_000;
    let (a, b) = (runs(&read("a", &sides.a)?, from, PAIRS)?, runs(&read("b", &sides.b)?, from, PAIRS)?);
    let pairs = Paired::collect(&a, &b);
    let rule = Rule::default();
    let is_right = |row: &Comparison| is_verdict(row) && (row.effect.estimate > 0) == (sides.permille > 0);
    own.comparisons += 1;
    own.metrics += pairs.len() as u64;
    own.found += u64::from(compare_all(&pairs, rule).iter().any(|row| row.name == sides.metric && is_right(row)));
    own.found_alone += u64::from(pairs.iter().any(|pair| pair.name == sides.metric && is_right(&pair.compare(rule))));
    Ok(())
}

/// Each draw has seeds of its own for its runs: equal seeds would make draws err together.
fn null(text: &str, from: u64, own: &mut Compared) -> Result<(), Error> {
    let side = read("null", text)?;
    own.draws += 1;
    for time in 0..TIMES {
        let from = from + time * 1_000;
        let (a, b) = (runs(&side, from, NULL_PAIRS)?, runs(&side, from + 500, NULL_PAIRS)?);
        let pairs = Paired::collect(&a, &b);
        own.comparisons += 1;
        own.metrics += pairs.len() as u64;
        own.wrong += u64::from(compare_all(&pairs, Rule::default()).iter().any(is_verdict));
    }
    Ok(())
}

fn is_verdict(row: &Comparison) -> bool {
    matches!(row.verdict, Verdict::Better | Verdict::Worse | Verdict::Differs)
}

/// A row per kind.
pub fn sides_table(exam: &SidesExam) -> Table {
    let columns = columns![
        left "planted", right "draws", right "discarded", right "comparisons", right "metrics", right "found %" "found_pct",
        right "alone %" "alone_pct", right "false %" "false_pct"
    ];
    let mut table = Table::new("sides", "Known differences and what compare says", columns);
    let percent = |part: u64, whole: u64| Cell::from(part * 100 / whole.max(1));
    let mut push = |name: &str, own: &Compared, is_null: bool| {
        let mean = own.metrics / own.comparisons.max(1);
        let mut cells: Vec<Cell> = vec![name.into()];
        cells.extend([own.draws, own.discarded, own.comparisons, mean].map(Cell::from));
        let dash = || Cell::from("-");
        cells.push(if is_null { dash() } else { percent(own.found, own.comparisons) });
        cells.push(if is_null { dash() } else { percent(own.found_alone, own.comparisons) });
        cells.push(if is_null {
            Cell::from(format!("{}.{}", own.wrong * 100 / own.comparisons.max(1), own.wrong * 1000 / own.comparisons.max(1) % 10))
        } else {
            dash()
        });
        table.push(cells);
    };
    push("nothing", &exam.null, true);
    exam.kinds.iter().for_each(|(name, own)| push(name, own, false));
    push("all", &exam.all(), false);
    table
}
