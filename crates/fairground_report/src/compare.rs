//! `compare`: the table of scheduler patches on the kernel mailing list, with a verdict per row.

use crate::columns;
use crate::document::{Document, Input};
use crate::table::{Cell, Table, number};
use crate::units::{decimal, format_mean, format_metric};
use fairground_metrics::{Comparison, SideStats, Unit, Verdict};
use serde_json::{Value, json};

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
    /// Whether the sides differ in exactly one thing, so that the difference is caused by it.
    pub single_change: bool,
    /// The rows.
    pub rows: Vec<CompareRow>,
}

impl CompareReport {
    /// Whether B is worse in any row.
    pub fn any_worse(&self) -> bool {
        self.rows.iter().any(|row| row.comparison.verdict == Verdict::Worse)
    }
    /// `case  load  metric  baseline(std%)  compare%( std%)  verdict`. The baseline is 1.00; compare% is
    /// the change of the value itself, and the verdict says whether that is good.
    pub fn table(&self) -> Table {
        let columns = columns![
            left "case", left "load", left "metric", right "baseline(std%)" "baseline_std_pct",
            right "compare%( std%)" "change_pct", left "verdict",
        ];
        let mut table = Table::new("compare", format!("{} (baseline) against {}", self.a, self.b), columns);
        for row in &self.rows {
            let comparison = &row.comparison;
            table.push(vec![
                row.case.clone().into(),
                row.load.clone().into(),
                comparison.name.clone().into(),
                baseline_cell(comparison),
                change_cell(comparison),
                comparison.verdict.name().into(),
            ]);
        }
        let pairs = self.rows.iter().map(|row| row.comparison.pairs).max().unwrap_or(0);
        table.note(format!("{pairs} pairs of runs with equal seeds; compare% is the change of the value"));
        if !self.single_change {
            table.note("not a single change: the sides differ in more than one thing");
        }
        table
    }
    /// The values behind the table: `case  metric  better  median of both  mean of both  p`.
    pub fn values_table(&self) -> Table {
        let columns = columns![
            left "case", left "load", left "metric", left "better", right "baseline median" "a_median",
            right "compare median" "b_median", right "baseline mean" "a_mean", right "compare mean" "b_mean", right "p",
        ];
        let mut table = Table::new("compare_values", "Values", columns);
        for row in &self.rows {
            let comparison = &row.comparison;
            let (a, b, unit) = (&comparison.a, &comparison.b, comparison.unit);
            table.push(vec![
                row.case.clone().into(),
                row.load.clone().into(),
                comparison.name.clone().into(),
                comparison.better.name().into(),
                median_cell(a, unit),
                median_cell(b, unit),
                Cell::new(format_mean(a, unit), mean_in_unit(a, unit)),
                Cell::new(format_mean(b, unit), mean_in_unit(b, unit)),
                Cell::float(comparison.p.to_f64(), 3),
            ]);
        }
        table
    }
    /// The document of `compare --json`.
    pub fn document(&self, inputs: &[Input], seed: Option<u64>, digest: u128) -> Document {
        let mut document = Document::new("compare", inputs, seed, Some(digest));
        document
            .set("baseline", self.a.as_str())
            .set("compare", self.b.as_str())
            .set("single_change", self.single_change)
            .set("rows", self.rows.iter().map(row_json).collect::<Vec<_>>());
        document
    }
}

fn baseline_cell(comparison: &Comparison) -> Cell {
    Cell::new(format!("1.00 ({:6.2})", comparison.a.std_percent), comparison.a.std_percent)
}
fn change_cell(comparison: &Comparison) -> Cell {
    let std = comparison.b.std_percent;
    match comparison.change_percent() {
        Some(change) => Cell::new(format!("{change:+.2} ({std:6.2})"), change),
        // A baseline of 0 has no percentages: the values stand in the second table.
        None => Cell::new(format!("- ({std:6.2})"), Value::Null),
    }
}
fn median_cell(side: &SideStats, unit: Unit) -> Cell {
    Cell::new(format_metric(side.median, unit), number(decimal(side.median, unit)))
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
        let row = |name: &str, unit, better, a: [u64; 5], b: [u64; 5]| CompareRow {
            case: "press".into(),
            load: "36 tasks".into(),
            comparison: Paired { name: name.into(), unit, better, a: a.into(), b: b.into() }.compare(Rule::default()),
        };
        let (slow, fast) = ([80_000_000, 82_000_000, 79_000_000, 81_000_000, 78_000_000], [40_000_000; 5]);
        CompareReport {
            a: "v4.20".into(),
            b: "v4.20+align-vruntime".into(),
            single_change: true,
            rows: vec![
                row("sched_delay_max_ms", Unit::Ms, Better::Lower, slow, fast),
                row("jobs", Unit::Count, Better::Higher, [100; 5], [99, 101, 100, 99, 101]),
                row("migrations", Unit::Count, Better::Neither, [0; 5], [3, 4, 5, 4, 3]),
            ],
        }
    }

    #[test]
    fn text() {
        expect![[r#"
            v4.20 (baseline) against v4.20+align-vruntime
            case   load      metric              baseline(std%)  compare%( std%)  verdict
            -----  --------  ------------------  --------------  ---------------  -------------
            press  36 tasks  sched_delay_max_ms   1.00 (  1.98)  -50.00 (  0.00)  better
            press  36 tasks  jobs                 1.00 (  0.00)   +0.00 (  1.00)  no difference
            press  36 tasks  migrations           1.00 (  0.00)       - ( 22.02)  differs
            5 pairs of runs with equal seeds; compare% is the change of the value
        "#]]
        .assert_eq(&sample().table().to_string());
        expect![[r#"
            Values
            case   load      metric              better  baseline median  compare median  baseline mean  compare mean      p
            -----  --------  ------------------  ------  ---------------  --------------  -------------  ------------  -----
            press  36 tasks  sched_delay_max_ms  lower          80.00 ms        40.00 ms       80.00 ms      40.00 ms  0.031
            press  36 tasks  jobs                higher              100             100            100           100  0.688
            press  36 tasks  migrations          -                     0               4              0             4  0.031
        "#]]
        .assert_eq(&sample().values_table().to_string());
    }

    #[test]
    fn json() {
        let document = sample().document(&[], Some(1), 2);
        let row = document.get("rows").unwrap()[0].to_string();
        expect![[r#"{"case":"press","load":"36 tasks","metric":"sched_delay_max_ms","unit":"ms","better":"lower","pairs":5,"baseline":{"median":80,"mean":80.0,"std_pct":1.976423537605237,"min":78,"max":82},"compare":{"median":40,"mean":40.0,"std_pct":0.0,"min":40,"max":40},"change_pct":-50.0,"p":0.03125,"verdict":"better"}"#]].assert_eq(&row);
    }

    #[test]
    fn what_decides_the_exit_code() {
        let mut report = sample();
        assert!(!report.any_worse());
        report.rows[0].comparison.verdict = Verdict::Worse;
        assert!(report.any_worse());
        report.single_change = false;
        assert!(report.table().to_string().contains("not a single change"));
    }
}
