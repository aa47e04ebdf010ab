//! `compare`: the table of scheduler patches on the kernel mailing list, with a verdict per row.

use crate::columns;
use crate::document::{Document, Input};
use crate::table::{Cell, ROWS, Table, number};
use crate::units::{counted, decimal, format_mean, format_metric};
use fairground_metrics::{Comparison, FEWEST_PAIRS, SideStats, Unit, Verdict};
use serde_json::{Value, json};
use std::cmp::Ordering;

/// One metric of one case under one load.
#[derive(Clone, PartialEq, Debug)]
pub struct CompareRow {
    /// The workload.
    pub case: String,
    /// How much of it: `28 threads`.
    pub load: String,
    /// What the pairs say.
    pub comparison: Comparison,
}

/// A against B.
#[derive(Clone, PartialEq, Debug)]
pub struct CompareReport {
    /// The name of the baseline: its profile, or what else tells it from the other.
    pub a: String,
    /// The name of the other side.
    pub b: String,
    /// Whether the sides differ in exactly one thing, so that the difference is caused by it; none where a side is a
    /// kernel's tree, of which that is not known.
    pub single_change: Option<bool>,
    /// How many metrics were tested: verdicts are corrected over all of them, those that are not shown included.
    pub tested: usize,
    /// The smallest effect that matters, in thousandths of the baseline's mean.
    pub worth_permille: u64,
    /// The rows.
    pub rows: Vec<CompareRow>,
}

impl CompareReport {
    /// Whether B is worse in any row.
    pub fn any_worse(&self) -> bool {
        self.rows.iter().any(|row| row.comparison.verdict == Verdict::Worse)
    }
    fn pairs(&self) -> usize {
        self.rows.iter().map(|row| row.comparison.pairs).max().unwrap_or(0)
    }
    /// One line: what all rows together say.
    pub fn verdict(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.comparison.verdict == verdict).count();
        let pairs = self.pairs();
        if self.rows.is_empty() {
            return format!("No difference: each of {} metrics is 0 in every run of both sides.", self.tested);
        }
        if (pairs as u64) < FEWEST_PAIRS && count(Verdict::Inconclusive) > 0 {
            let too_few = if pairs == 1 { "one pair is too few".to_string() } else { format!("{pairs} pairs are too few") };
            return format!("Nothing is decided: {too_few}, {FEWEST_PAIRS} are the fewest (--runs {FEWEST_PAIRS}).");
        }
        overall(&self.b, &self.rows.iter().map(|row| row.comparison.verdict).collect::<Vec<_>>())
    }
    /// At most four lines: the largest effects that were decided, and what would decide the rest.
    pub fn highlights(&self) -> Vec<String> {
        let kinds = [(Verdict::Worse, "worse"), (Verdict::Better, "better"), (Verdict::Differs, "differs")];
        let mut lines: Vec<String> = kinds.into_iter().filter_map(|(verdict, word)| self.largest(verdict, word)).collect();
        let open = self.rows.iter().any(|row| row.comparison.verdict == Verdict::Inconclusive);
        // Each metric may be the one whose differences all have one sign in some choice of the signs.
        let needed = 1 + (20 * self.tested as u64).next_power_of_two().ilog2() as usize;
        let pairs = self.pairs();
        if open && pairs < needed && pairs as u64 >= FEWEST_PAIRS {
            lines.push(format!(
                "undecided   {} metrics need about {needed} pairs (--runs), or name fewer (--metric)",
                self.tested
            ));
        }
        lines
    }
    /// The rows as people read them: of many those that were decided first, the largest effects first.
    fn ordered(&self) -> Vec<&CompareRow> {
        let mut rows: Vec<&CompareRow> = self.rows.iter().collect();
        if rows.len() > ROWS {
            let rank = |row: &CompareRow| match row.comparison.verdict {
                Verdict::Worse => 0,
                Verdict::Better => 1,
                Verdict::Differs => 2,
                Verdict::Inconclusive => 3,
                Verdict::NoDifference => 4,
            };
            rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| larger_first(&a.comparison, &b.comparison)));
        }
        rows
    }
    /// The largest effects with this verdict, in parts of the baseline.
    fn largest(&self, verdict: Verdict, word: &str) -> Option<String> {
        const SHOWN: usize = 3;
        let mut rows: Vec<&Comparison> =
            self.rows.iter().map(|row| &row.comparison).filter(|row| row.verdict == verdict).collect();
        rows.sort_by(|a, b| larger_first(a, b));
        let shown = |row: &&Comparison| {
            let percent = percent_cell(row).text;
            let part = match percent.as_str() {
                "-" => String::new(),
                factor if factor.starts_with('x') => format!(" ({factor})"),
                percent => format!(" ({percent} %)"),
            };
            format!("{} {}{part}", row.name, signed(row.effect.estimate, row.unit).text)
        };
        let more = rows.len().saturating_sub(SHOWN);
        let texts: Vec<String> = rows.iter().take(SHOWN).map(shown).collect();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        (!texts.is_empty()).then(|| format!("{word:<12}{}{more}", texts.join(", ")))
    }
    /// `metric  baseline  effect  %  verdict`, at most 75 columns for names of up to 28.
    pub fn table(&self) -> Table {
        let columns = columns![
            left "metric", right "baseline" "baseline", right "effect" "effect", right "%" "effect_pct", left "verdict",
        ];
        let mut table = Table::new("compare", format!("{} (baseline) against {}", self.a, self.b), columns);
        table.grows("metrics", &[]);
        for row in self.ordered() {
            let comparison = &row.comparison;
            table.push(vec![
                comparison.name.clone().into(),
                Cell::new(format_mean(&comparison.a, comparison.unit), mean_in_unit(&comparison.a, comparison.unit)),
                signed(comparison.effect.estimate, comparison.unit),
                percent_cell(comparison),
                comparison.verdict.name().into(),
            ]);
        }
        let pairs = self.pairs();
        let cases: Vec<String> = self.rows.iter().map(|row| format!("{}, {}", row.case, row.load)).collect();
        if let Some(case) = cases.first() {
            table.note(case.clone());
        }
        table.note(format!("{} of equal seeds; effect: the median change (Hodges-Lehmann)", counted(pairs as u64, "pair")));
        table.note(format!("verdicts: two-sided, at most 5 % false ones among all {} metrics (maxT)", self.tested));
        table.note(format!(
            "an effect below {}.{} % of the baseline does not matter",
            self.worth_permille / 10,
            self.worth_permille % 10
        ));
        if self.single_change == Some(false) {
            table.note("not a single change: the sides differ in more than one thing");
        }
        table
    }
    /// How sure the effects are: `metric  better  from  to  p`.
    pub fn values_table(&self) -> Table {
        let columns = columns![
            left "metric", left "better", right "effect from" "effect_low", right "to" "effect_high", right "p",
        ];
        let mut table = Table::new("compare_values", "Intervals of the effects (95 %)", columns);
        table.grows("metrics", &[]);
        for row in self.ordered() {
            let comparison = &row.comparison;
            let end = |value: Option<i128>| value.map_or_else(Cell::empty, |value| signed(value, comparison.unit));
            let (low, high) = comparison.effect.interval.unzip();
            table.push(vec![
                comparison.name.clone().into(),
                comparison.better.name().into(),
                end(low),
                end(high),
                Cell::p_value(comparison.p.to_f64()),
            ]);
        }
        table.note("p is corrected over all metrics");
        table
    }
    /// The document of `compare --json`.
    pub fn document(&self, inputs: &[Input], seed: Option<u64>, digest: u128) -> Document {
        let mut document = Document::new("compare", inputs, seed, Some(digest));
        document
            .set("overall", self.verdict())
            .set("tested", self.tested)
            .set("baseline", self.a.as_str())
            .set("compare", self.b.as_str())
            .set("single_change", self.single_change)
            .set("rows", self.rows.iter().map(row_json).collect::<Vec<_>>());
        document
    }
}

/// One sentence on the verdicts of many metrics. `b` is the side that is judged.
pub fn overall(b: &str, verdicts: &[Verdict]) -> String {
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let (worse, better, differ) = (count(Verdict::Worse), count(Verdict::Better), count(Verdict::Differs));
    let (same, open) = (count(Verdict::NoDifference), count(Verdict::Inconclusive));
    let word = match (worse, better, differ, open) {
        (0, 0, 0, 0) => "No difference",
        (0, 0, 0, _) => "No difference was shown",
        (0, 0, _, _) => "Different, neither better nor worse",
        (0, _, _, _) => "Better",
        (_, 0, _, _) => "Worse",
        _ => "Mixed",
    };
    format!(
        "{word}: {b} is worse in {worse}, better in {better}, otherwise different in {}; no difference in {same}, undecided {open}.",
        counted(differ as u64, "metric")
    )
}

/// Metrics of the whole run before those of single tasks, larger effects first.
fn larger_first(a: &Comparison, b: &Comparison) -> Ordering {
    let of_task = |row: &Comparison| row.name.starts_with("tasks.");
    of_task(a).cmp(&of_task(b)).then_with(|| part(b).total_cmp(&part(a)))
}

/// The size of an effect in parts of the baseline's mean.
#[allow(clippy::cast_precision_loss, reason = "for display only")]
fn part(comparison: &Comparison) -> f64 {
    comparison.effect.estimate.unsigned_abs() as f64 / comparison.a.mean.max(f64::MIN_POSITIVE)
}
/// A difference with its sign and unit.
pub(crate) fn signed(value: i128, unit: Unit) -> Cell {
    let size = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
    let sign = if value < 0 { "-" } else { "+" };
    let shown = number(decimal(size, unit));
    let data = if value < 0 { shown.as_f64().map_or(Value::Null, |shown| json!(-shown)) } else { shown };
    Cell::new(format!("{sign}{}", format_metric(size, unit)), data)
}
/// The effect in percent of the baseline's mean, where that says something.
#[allow(clippy::cast_precision_loss, reason = "for display only")]
pub(crate) fn percent_cell(comparison: &Comparison) -> Cell {
    if comparison.a.mean == 0.0 {
        return Cell::new("-", Value::Null);
    }
    let percent = comparison.effect.estimate as f64 / comparison.a.mean * 100.0;
    let text = if percent.abs() >= 1000.0 { format!("x {:.0}", percent / 100.0 + 1.0) } else { format!("{percent:+.1}") };
    Cell::new(text, percent)
}
#[allow(clippy::cast_precision_loss, reason = "for display only")]
fn mean_in_unit(side: &SideStats, unit: Unit) -> f64 {
    side.mean / unit.scale() as f64
}

fn row_json(row: &CompareRow) -> Value {
    let comparison = &row.comparison;
    let side = |side: &SideStats| {
        json!({
            "median": number(decimal(side.median, comparison.unit)),
            "mean": mean_in_unit(side, comparison.unit),
            "std_pct": side.std_percent,
            "min": number(decimal(side.min, comparison.unit)),
            "max": number(decimal(side.max, comparison.unit)),
        })
    };
    json!({
        "case": row.case,
        "load": row.load,
        "metric": comparison.name,
        "unit": comparison.unit.name(),
        "better": comparison.better.name(),
        "pairs": comparison.pairs,
        "baseline": side(&comparison.a),
        "compare": side(&comparison.b),
        "change_pct": comparison.change_percent(),
        "effect": signed(comparison.effect.estimate, comparison.unit).data,
        "effect_interval": comparison.effect.interval.map(|(low, high)| {
            [signed(low, comparison.unit).data, signed(high, comparison.unit).data]
        }),
        "p": comparison.p.to_f64(),
        "verdict": comparison.verdict.name(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use fairground_metrics::Better;
    use fairground_metrics::{Paired, Rule};

    fn sample() -> CompareReport {
        let row = |name: &str, unit, better, a: [u64; 6], b: [u64; 6]| CompareRow {
            case: "press".into(),
            load: "36 tasks".into(),
            comparison: Paired { name: name.into(), unit, better, a: a.into(), b: b.into() }.compare(Rule::default()),
        };
        let (slow, fast) = ([80_000_000, 82_000_000, 79_000_000, 81_000_000, 78_000_000, 80_000_000], [40_000_000; 6]);
        CompareReport {
            a: "v4.20".into(),
            b: "v4.20+align-vruntime".into(),
            single_change: Some(true),
            tested: 3,
            worth_permille: 5,
            rows: vec![
                row("sched_delay_max_ms", Unit::Ms, Better::Lower, slow, fast),
                row("jobs", Unit::Count, Better::Higher, [100; 6], [99, 101, 100, 99, 101, 100]),
                row("migrations", Unit::Count, Better::Neither, [0; 6], [3, 4, 5, 4, 3, 4]),
            ],
        }
    }

    #[test]
    fn text() {
        expect![[r#"
            v4.20 (baseline) against v4.20+align-vruntime
            metric              baseline     effect      %  verdict
            ------------------  --------  ---------  -----  ------------
            sched_delay_max_ms  80.00 ms  -40.00 ms  -50.0  better
            jobs                     100         +0   +0.0  inconclusive
            migrations                 0         +4      -  differs
            press, 36 tasks
            6 pairs of equal seeds; effect: the median change (Hodges-Lehmann)
            verdicts: two-sided, at most 5 % false ones among all 3 metrics (maxT)
            an effect below 0.5 % of the baseline does not matter
        "#]]
        .assert_eq(&sample().table().to_string());
        expect![[r#"
            Intervals of the effects (95 %)
            metric              better  effect from         to      p
            ------------------  ------  -----------  ---------  -----
            sched_delay_max_ms  lower     -42.00 ms  -38.00 ms  0.031
            jobs                higher           -1         +1  1.000
            migrations          -                +3         +5  0.031
            p is corrected over all metrics
        "#]]
        .assert_eq(&sample().values_table().to_string());
    }

    #[test]
    fn json() {
        let document = sample().document(&[], Some(1), 2);
        let row = document.get("rows").unwrap()[0].to_string();
        expect![[r#"{"case":"press","load":"36 tasks","metric":"sched_delay_max_ms","unit":"ms","better":"lower","pairs":6,"baseline":{"median":80,"mean":80.0,"std_pct":1.7677669529663689,"min":78,"max":82},"compare":{"median":40,"mean":40.0,"std_pct":0.0,"min":40,"max":40},"change_pct":-50.0,"effect":-40.0,"effect_interval":[-42.0,-38.0],"p":0.03125,"verdict":"better"}"#]].assert_eq(&row);
    }

    #[test]
    fn what_decides_the_exit_code() {
        let mut report = sample();
        assert!(!report.any_worse());
        report.rows[0].comparison.verdict = Verdict::Worse;
        assert!(report.any_worse());
        report.single_change = Some(false);
        assert!(report.table().to_string().contains("not a single change"));
        report.single_change = None;
        assert!(!report.table().to_string().contains("not a single change"), "of a kernel's tree that is not known");
    }
}
