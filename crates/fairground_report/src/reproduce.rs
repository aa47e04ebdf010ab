//! A published experiment beside our numbers.

use crate::columns;
use crate::document::{Document, Input};
use crate::table::{Cell, Table, number};
use fairground_metrics::Decimal;
use serde_json::{Value, json};
use std::fmt;

/// A number, or that something never happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// A number.
    Number(Decimal),
    /// It never happens.
    Never,
    /// Nobody tells.
    Unknown,
}

impl Quantity {
    pub(crate) fn json(self) -> Value {
        match self {
            Quantity::Number(value) => number(value),
            Quantity::Never => "never".into(),
            Quantity::Unknown => Value::Null,
        }
    }
}

impl From<Decimal> for Quantity {
    fn from(value: Decimal) -> Quantity {
        Quantity::Number(value)
    }
}
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Number(value) => value.fmt(f),
            Quantity::Never => f.pad("never"),
            Quantity::Unknown => f.pad("-"),
        }
    }
}

/// Where a number of ours comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Arithmetic alone.
    Exact,
    /// Came out of the mechanism.
    Predicted,
    /// A price was fitted to this row; only baseline rows may be.
    Calibrated,
}

impl Kind {
    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Exact => "exact",
            Kind::Predicted => "predicted",
            Kind::Calibrated => "calibrated",
        }
    }
}

/// Our value over several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Simulated {
    /// The median.
    pub median: Quantity,
    /// The smallest.
    pub lo: Quantity,
    /// The largest.
    pub hi: Quantity,
    /// The number of runs.
    pub runs: u32,
}

impl Simulated {
    /// One run, or several that all gave the same.
    pub fn same(value: Quantity, runs: u32) -> Simulated {
        Simulated { median: value, lo: value, hi: value, runs }
    }
    /// Median, smallest and largest of several runs; unknown without any.
    pub fn spread(mut values: Vec<Decimal>) -> Simulated {
        values.sort_unstable();
        let at = |place: usize| values.get(place).map_or(Quantity::Unknown, |&value| Quantity::Number(value));
        Simulated { median: at(values.len() / 2), lo: at(0), hi: at(values.len().saturating_sub(1)), runs: values.len() as u32 }
    }
}

/// In what our median must lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Band {
    /// Between two numbers, both included.
    Between(Decimal, Decimal),
    /// This or more.
    AtLeast(Decimal),
    /// This or less.
    AtMost(Decimal),
    /// It must never happen.
    Never,
    /// The row is shown and not judged.
    NotJudged,
}

impl Band {
    /// From the least to the largest, where they are given.
    pub fn between(min: Option<Decimal>, max: Option<Decimal>) -> Band {
        match (min, max) {
            (Some(min), Some(max)) => Band::Between(min, max),
            (Some(min), None) => Band::AtLeast(min),
            (None, Some(max)) => Band::AtMost(max),
            (None, None) => Band::NotJudged,
        }
    }
    /// Whether a median lies in the band; `None` if the row is not judged.
    pub fn holds(self, median: Quantity) -> Option<bool> {
        match (self, median) {
            (Band::NotJudged, _) => None,
            (Band::Never, median) => Some(median == Quantity::Never),
            (Band::Between(lo, hi), Quantity::Number(value)) => Some(lo <= value && value <= hi),
            (Band::AtLeast(lo), Quantity::Number(value)) => Some(lo <= value),
            (Band::AtMost(hi), Quantity::Number(value)) => Some(value <= hi),
            (Band::Between(..) | Band::AtLeast(_) | Band::AtMost(_), Quantity::Never | Quantity::Unknown) => Some(false),
        }
    }
    fn json(self) -> Value {
        match self {
            Band::Between(lo, hi) => json!([number(lo), number(hi)]),
            Band::AtLeast(lo) => json!([number(lo), null]),
            Band::AtMost(hi) => json!([null, number(hi)]),
            Band::Never => "never".into(),
            Band::NotJudged => Value::Null,
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Band::Between(lo, hi) => f.pad(&format!("{lo}..{hi}")),
            Band::AtLeast(lo) => f.pad(&format!("{lo}..")),
            Band::AtMost(hi) => f.pad(&format!("..{hi}")),
            Band::Never => f.pad("never"),
            Band::NotJudged => f.pad("-"),
        }
    }
}

/// One published number beside ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReproductionRow {
    /// The row's id in the published data.
    pub id: String,
    /// The unit of its numbers.
    pub unit: String,
    /// The published number.
    pub published: Quantity,
    /// Ours.
    pub simulated: Simulated,
    /// Where ours comes from.
    pub kind: Kind,
    /// In what ours must lie.
    pub band: Band,
}

impl ReproductionRow {
    /// Whether our median lies in the band; `None` if the row is not judged.
    pub fn within(&self) -> Option<bool> {
        self.band.holds(self.simulated.median)
    }
}

/// A statement of the publication that is no number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The statement.
    pub id: String,
    /// Whether it holds in our runs.
    pub holds: bool,
    /// A number that shows it, if there is one.
    pub value: Option<Decimal>,
}

/// A price that was fitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calibration {
    /// The price's name.
    pub price: String,
    /// Its value.
    pub value: Decimal,
    /// What it was fitted to.
    pub from: String,
}

/// A published experiment beside our numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Reproduction {
    /// The experiment's name.
    pub experiment: String,
    /// Whether rows or windows were cut (`--quick`).
    pub quick: bool,
    /// The published numbers beside ours.
    pub rows: Vec<ReproductionRow>,
    /// The statements.
    pub claims: Vec<Claim>,
    /// The fitted prices.
    pub calibration: Vec<Calibration>,
    /// What the rows are made of, or what stands beside them.
    pub tables: Vec<Table>,
}

impl Reproduction {
    /// Whether every judged row lies in its band and every claim holds.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.within() != Some(false)) && self.claims.iter().all(|claim| claim.holds)
    }
    /// What came out, in at most ten lines: how many published figures ours lie beside, and which do not.
    pub fn summary(&self) -> Vec<String> {
        const NAMED: usize = 6;
        let judged = self.rows.iter().filter(|row| row.within().is_some()).count();
        let outside: Vec<&str> = self.rows.iter().filter(|row| row.within() == Some(false)).map(|row| row.id.as_str()).collect();
        let held = self.claims.iter().filter(|claim| claim.holds).count();
        let word = if self.holds() { "Agrees" } else { "Differs" };
        let mut lines = vec![format!(
            "{word}: {}: {} of {judged} judged figures lie in their bands, {held} of {} claims hold",
            self.experiment,
            judged - outside.len(),
            self.claims.len()
        )];
        if !outside.is_empty() {
            let more = outside.len().saturating_sub(NAMED);
            let names = outside.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            lines.push(format!("outside     {names}{more}"));
        }
        lines
    }
    /// `id  unit  published  simulated [lo..hi]  band  within  kind`, claims and prices under it.
    pub fn table(&self) -> Table {
        let columns = columns![
            left "id", left "unit", right "published", right "simulated", spare left "[lo..hi]" "range",
            right "band", left "within", spare left "kind",
        ];
        let quick = if self.quick { " (quick)" } else { "" };
        let mut table = Table::new("reproduce", format!("{}{quick}", self.experiment), columns);
        self.rows.iter().for_each(|row| table.push(cells(row)));
        for claim in &self.claims {
            let value = claim.value.map(|value| format!(" ({value})")).unwrap_or_default();
            table.note(format!("claim {}: {}{value}", if claim.holds { "holds" } else { "FAILS" }, claim.id));
        }
        for price in &self.calibration {
            table.note(format!("calibrated: {} = {} from {}", price.price, price.value, price.from));
        }
        table
    }
    /// The document of `reproduce --json`.
    pub fn document(&self, inputs: &[Input], seed: Option<u64>, digest: u128) -> Document {
        let claims: Vec<Value> = self
            .claims
            .iter()
            .map(|claim| json!({ "id": claim.id, "holds": claim.holds, "value": claim.value.map(number) }))
            .collect();
        let calibration: Vec<Value> = self
            .calibration
            .iter()
            .map(|row| json!({ "price": row.price, "value": number(row.value), "from": row.from }))
            .collect();
        let mut document = Document::new("reproduce", inputs, seed, Some(digest));
        document
            .set("experiment", self.experiment.as_str())
            .set("quick", self.quick)
            .set("summary", self.summary())
            .set("rows", self.rows.iter().map(row_json).collect::<Vec<_>>())
            .set("claims", claims)
            .set("calibration", calibration);
        if !self.tables.is_empty() {
            document.set_tables(&self.tables);
        }
        document
    }
}

fn cells(row: &ReproductionRow) -> Vec<Cell> {
    let simulated = &row.simulated;
    let range = format!("[{}..{}]", simulated.lo, simulated.hi);
    let within = match row.within() {
        Some(true) => Cell::new("yes", true),
        Some(false) => Cell::new("NO", false),
        None => Cell::none(),
    };
    vec![
        row.id.clone().into(),
        row.unit.clone().into(),
        Cell::new(row.published.to_string(), row.published.json()),
        Cell::new(simulated.median.to_string(), simulated.median.json()),
        Cell::new(range, json!([simulated.lo.json(), simulated.hi.json()])),
        Cell::new(row.band.to_string(), row.band.json()),
        within,
        row.kind.name().into(),
    ]
}

fn row_json(row: &ReproductionRow) -> Value {
    let simulated = &row.simulated;
    json!({
        "id": row.id,
        "unit": row.unit,
        "published": row.published.json(),
        "simulated": {
            "median": simulated.median.json(),
            "lo": simulated.lo.json(),
            "hi": simulated.hi.json(),
            "runs": simulated.runs,
        },
        "kind": row.kind.name(),
        "band": row.band.json(),
        "within": row.within(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn number_of(value: u64) -> Quantity {
        Decimal::from(value).into()
    }
    #[test]
    fn the_middle_of_runs() {
        let of = |values: &[u64]| Simulated::spread(values.iter().map(|&value| Decimal::from(value)).collect());
        assert_eq!(of(&[5, 1, 9]), Simulated { median: number_of(5), lo: number_of(1), hi: number_of(9), runs: 3 });
        assert_eq!(of(&[]).median, Quantity::Unknown);
    }
    fn sample() -> Reproduction {
        let row = |id: &str, published, simulated, band| ReproductionRow {
            id: id.into(),
            unit: "PELT periods".into(),
            published,
            simulated,
            kind: Kind::Exact,
            band,
        };
        let between = |lo: u64, hi: u64| Band::Between(lo.into(), hi.into());
        let spread = Simulated { median: number_of(141), lo: number_of(137), hi: number_of(142), runs: 5 };
        Reproduction {
            experiment: "clock-pelt".into(),
            quick: true,
            rows: vec![
                row("time_to_util.972.max_capacity", number_of(138), Simulated::same(number_of(137), 1), between(136, 140)),
                row("time_to_util.972.half", Quantity::Never, Simulated::same(Quantity::Never, 1), Band::Never),
                row("time_to_util.972.late", number_of(138), spread, between(136, 140)),
                row("extra", Quantity::Unknown, Simulated::same(Decimal::parse("0.5").unwrap().into(), 1), Band::NotJudged),
            ],
            claims: vec![Claim { id: "half capacity mainline never reaches 972".into(), holds: true, value: None }],
            calibration: vec![Calibration {
                price: "cgroup_level_ns".into(),
                value: Decimal::from(610),
                from: "baseline rows only".into(),
            }],
            tables: Vec::new(),
        }
    }

    #[test]
    fn text() {
        expect![[r#"
            clock-pelt (quick)
            id                             unit          published  simulated  [lo..hi]            band  within  kind
            -----------------------------  ------------  ---------  ---------  --------------  --------  ------  -----
            time_to_util.972.max_capacity  PELT periods        138        137  [137..137]      136..140  yes     exact
            time_to_util.972.half          PELT periods      never      never  [never..never]     never  yes     exact
            time_to_util.972.late          PELT periods        138        141  [137..142]      136..140  NO      exact
            extra                          PELT periods          -        0.5  [0.5..0.5]             -  -       exact
            claim holds: half capacity mainline never reaches 972
            calibrated: cgroup_level_ns = 610 from baseline rows only
        "#]]
        .assert_eq(&sample().table().to_string());
    }

    #[test]
    fn json_has_the_documented_structure() {
        let document = sample().document(&[], Some(1), 5);
        let row = document.get("rows").unwrap()[0].to_string();
        expect![[r#"{"id":"time_to_util.972.max_capacity","unit":"PELT periods","published":138,"simulated":{"median":137,"lo":137,"hi":137,"runs":1},"kind":"exact","band":[136,140],"within":true}"#]].assert_eq(&row);
        assert_eq!(
            document.get("claims").unwrap().to_string(),
            r#"[{"id":"half capacity mainline never reaches 972","holds":true,"value":null}]"#
        );
        assert_eq!(
            document.get("calibration").unwrap().to_string(),
            r#"[{"price":"cgroup_level_ns","value":610,"from":"baseline rows only"}]"#
        );
        assert_eq!((document.get("experiment"), document.get("quick")), (Some(&json!("clock-pelt")), Some(&json!(true))));
    }

    #[test]
    fn a_missed_band_or_claim_is_a_failure() {
        let mut sample = sample();
        assert!(!sample.holds());
        sample.rows.remove(2);
        assert!(sample.holds());
        sample.claims[0].holds = false;
        assert!(!sample.holds());
        assert_eq!(Band::Between(0.into(), 9.into()).holds(Quantity::Never), Some(false));
        assert_eq!(Band::Never.holds(number_of(1)), Some(false));
    }
}
