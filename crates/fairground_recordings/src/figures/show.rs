//! Figures beside the limits of a recorded set.

use super::check::Check;
use super::figure::{Figure, FigureMap};
use fairground_report::table::number;
use fairground_report::{Cell, Table, columns};
use serde_json::{Map, Value, json};

/// `figure  ours  recorded  lo..hi  inside`; what was skipped is listed under the table.
pub fn expect_table(check: &Check) -> Table {
    let columns = columns![left "figure", right "ours", right "recorded", right "lo", right "hi", left "inside"];
    let mut table = Table::new("expect", "Figures against the recording", columns);
    for row in &check.rows {
        let ours = row.ours.map_or_else(|| Cell::new("missing", Value::Null), Cell::from);
        let inside = Cell::new(if row.inside() { "yes" } else { "NO" }, row.inside());
        table.push(vec![row.figure.clone().into(), ours, row.value.into(), row.lo.into(), row.hi.into(), inside]);
    }
    let inside = check.rows.iter().filter(|row| row.inside()).count();
    table.note(format!("{inside} of {} figures inside their limits", check.rows.len()));
    for row in &check.skipped {
        table.note(format!("skipped: {} ({})", row.figure, row.reason));
    }
    table
}

/// The check as JSON: `passes`, `rows`, `skipped`.
pub fn expect_json(check: &Check) -> Value {
    let table = expect_table(check).to_json();
    let skipped: Vec<Value> = check.skipped.iter().map(|row| json!({ "figure": row.figure, "reason": row.reason })).collect();
    json!({ "passes": check.passes(), "rows": table["rows"], "skipped": skipped })
}

/// Figures by name, each with its number or list of CPUs, as in a set's `summary.json`.
pub fn figures_json(figures: &FigureMap) -> Value {
    let value = |figure: &Figure| match figure {
        Figure::Number(value) => number(*value),
        Figure::Cpus(cpus) => cpus.iter().map(|cpu| cpu.get()).collect(),
    };
    Value::Object(figures.iter().map(|(name, figure)| (name.clone(), value(figure))).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::ExpectRow;
    use expect_test::expect;
    use fairground_metrics::Decimal;
    use fairground_stdx::CpuMask;

    fn check() -> (Check, FigureMap) {
        let row = |[figure, value, lo, hi]: [&str; 4]| ExpectRow {
            figure: figure.into(),
            value: value.into(),
            lo: lo.into(),
            hi: hi.into(),
        };
        let expect = [
            ["all.switches", "271", "218", "340"],
            ["all.runtime_cv", "0.038", "0", "0.119"],
            ["all.gone", "1", "0", "2"],
            ["pelt rows replay", "every row", "share given", ""],
        ];
        let figures = FigureMap::from([
            ("all.switches".to_string(), 300.into()),
            ("all.runtime_cv".to_string(), Decimal::ratio(1191, 10_000).into()),
            ("tasks.h00.cpus".to_string(), Figure::Cpus(CpuMask::first_n(2))),
        ]);
        (Check::new(&expect.map(row), &figures), figures)
    }

    #[test]
    fn text() {
        expect![[r#"
            Figures against the recording
            figure             ours  recorded   lo     hi  inside
            --------------  -------  --------  ---  -----  ------
            all.switches        300       271  218    340  yes
            all.runtime_cv   0.1191     0.038    0  0.119  NO
            all.gone        missing         1    0      2  NO
            1 of 3 figures inside their limits
            skipped: pelt rows replay (its limits are no plain decimal numbers)
        "#]]
        .assert_eq(&expect_table(&check().0).to_string());
    }

    #[test]
    fn json() {
        let (check, figures) = check();
        expect![[r#"{"all.runtime_cv":0.1191,"all.switches":300,"tasks.h00.cpus":[0,1]}"#]]
            .assert_eq(&figures_json(&figures).to_string());
        let json = expect_json(&check);
        assert_eq!((&json["passes"], json["rows"][1]["ours"].as_f64()), (&Value::Bool(false), Some(0.1191)));
        assert_eq!(json["skipped"][0]["figure"], "pelt rows replay");
    }
}
