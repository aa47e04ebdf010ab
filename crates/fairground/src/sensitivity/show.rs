//! A sensitivity run as tables and as a JSON document.

use super::{Case, FACTORS, MetricCases, Prices, Sensitivity};
use fairground_metrics::{Decimal, Unit};
use fairground_model::CostClass;
use fairground_report::table::number;
use fairground_report::units::{fixed, format_metric};
use fairground_report::{Cell, Column, Document, Input, Table, columns, time_spent};
use fairground_scenario::Scenario;
use fairground_stdx::Factor;
use serde_json::{Value, json};

impl Sensitivity {
    /// One table per metric: the classes, what they take, and the metric at their prices times each factor.
    pub fn tables(&self) -> Vec<Table> {
        self.metrics.iter().map(|row| self.table(row)).collect()
    }

    fn table(&self, row: &MetricCases) -> Table {
        let mut columns = columns![left "class", right "% of time" "share_pct"];
        for factor in FACTORS {
            let (title, key) = (format!("x {factor}"), format!("x{factor}"));
            match row.given().b {
                None => columns.push(Column::right(title, key)),
                Some(_) => columns.push(Column::right(format!("{title}: effect"), format!("{key}_effect_pct"))),
            }
            columns.push(Column::right("change", format!("x{factor}_change_pct")));
        }
        if row.given().b.is_some() {
            columns.push(Column::left("sign", "sign"));
        }
        let mut table = Table::new(format!("sensitivity_{}", row.metric.name), self.heading(row), columns);
        for &class in CostClass::ALL.iter().filter(|class| !self.unused.contains(class)) {
            table.push(self.class_row(row, class));
        }
        self.notes(row).into_iter().for_each(|note| table.note(note));
        table
    }

    /// `netperf_transactions.per_second: 12 345 at the prices as they are`.
    fn heading(&self, row: &MetricCases) -> String {
        let value = |sum| format_metric(self.mean(sum), row.metric.unit);
        match *row.given() {
            Case { a, b: None, .. } => format!("{}: {} at the given prices", row.metric.name, value(a)),
            Case { a, b: Some(b), .. } => {
                let effect = percent(row.given().effect()).text;
                format!("{}: from {} to {} = {effect} % at the given prices", row.metric.name, value(a), value(b))
            }
        }
    }

    fn class_row(&self, row: &MetricCases, class: CostClass) -> Vec<Cell> {
        let share = self.spent.as_ref().map_or_else(Cell::empty, |spent| time_spent::share_cell(spent.class(class).1, spent));
        let mut cells = vec![class.key().into(), share];
        for case in FACTORS.map(|factor| row.scaled(class, factor)) {
            let Some(case) = case else {
                cells.extend([Cell::empty(), Cell::empty()]);
                continue;
            };
            cells.push(match case.b {
                None => self.value(case.a, row.metric.unit),
                Some(_) => percent(case.effect()),
            });
            cells.push(percent(case.change(row.given())));
        }
        if row.given().b.is_some() {
            let turned: Vec<String> = turned_at(row, class).map(|factor| format!("x {factor}")).collect();
            let text = if turned.is_empty() { "held".to_string() } else { format!("TURNED at {}", turned.join(", ")) };
            cells.push(text.into());
        }
        cells
    }

    fn notes(&self, row: &MetricCases) -> Vec<String> {
        let seeds = if self.seeds == 1 { "1 seed".to_string() } else { format!("means of {} seeds", self.seeds) };
        let mut notes = Vec::new();
        match self.sides.as_slice() {
            [a, b] => notes.push(format!("effect: from {a} to {b}, in percent; change: of their ratio; {seeds}")),
            _ => notes.push(format!("change: of the value, in percent; {seeds}")),
        }
        if !self.unused.is_empty() {
            let names: Vec<&str> = self.unused.iter().map(|class| class.key()).collect();
            notes.push(format!("not used by these runs: {}", names.join(", ")));
        }
        if row.given().b.is_some() {
            let turned: Vec<String> = row.turned().map(name_of).collect();
            notes.push(match turned.as_slice() {
                [] => "the sign holds for every class, times each factor".to_string(),
                turned => format!("the sign does not hold for {}", turned.join(", ")),
            });
        }
        notes
    }

    /// The mean over the seeds, rounded down.
    fn mean(&self, sum: u128) -> u64 {
        u64::try_from(sum / u128::from(self.seeds)).unwrap_or(u64::MAX)
    }

    fn value(&self, sum: u128, unit: Unit) -> Cell {
        Cell::metric(self.mean(sum), unit)
    }

    /// The document of `sensitivity --json`.
    pub fn document(&self, scenario: &Scenario) -> Document {
        let inputs = [Input::new(&scenario.name(), scenario.digest())];
        let mut document = Document::new("sensitivity", &inputs, Some(scenario.seed), Some(self.digest));
        let row = |row: &MetricCases| {
            let cases: Vec<Value> = row.cases.iter().map(|case| self.case_json(row, case)).collect();
            json!({ "metric": row.metric.name, "unit": row.metric.unit.name(), "cases": cases })
        };
        document
            .set("title", self.title.as_str())
            .set("profiles", self.sides.clone())
            .set("seeds", self.seeds)
            .set("unused", self.unused.iter().map(|class| class.key()).collect::<Vec<_>>())
            .set("sign_holds", self.exit_code() == 0)
            .set("partial", self.interrupted)
            .set("metrics", self.metrics.iter().map(row).collect::<Vec<_>>());
        document
    }

    fn case_json(&self, row: &MetricCases, case: &Case) -> Value {
        let (class, factor) = match case.prices {
            Prices::AsGiven => (Value::Null, Value::Null),
            Prices::Scaled(class, factor) => {
                (class.key().into(), number(Decimal::parse(&factor.to_string()).unwrap_or_default()))
            }
        };
        let value = |sum| self.value(sum, row.metric.unit).data;
        json!({
            "class": class,
            "factor": factor,
            "a": value(case.a),
            "b": case.b.map(value),
            "effect_pct": percent(case.effect()).data,
            "change_pct": percent(case.change(row.given())).data,
            "sign_holds": case.sign().map(|sign| Some(sign) == row.given().sign()),
        })
    }
}

/// The factors at which a class turns the sign.
fn turned_at(row: &MetricCases, class: CostClass) -> impl Iterator<Item = Factor> + '_ {
    row.turned().filter_map(move |prices| match prices {
        Prices::Scaled(found, factor) if found == class => Some(factor),
        _ => None,
    })
}

fn name_of(prices: Prices) -> String {
    match prices {
        Prices::AsGiven => "the given prices".to_string(),
        Prices::Scaled(class, factor) => format!("{} x {factor}", class.key()),
    }
}

/// Hundredths of a percent with their sign.
fn percent(hundredths: Option<i128>) -> Cell {
    let Some(hundredths) = hundredths else { return Cell::none() };
    let sign = if hundredths < 0 { "-" } else { "+" };
    let text = fixed(u64::try_from(hundredths.unsigned_abs()).unwrap_or(u64::MAX), 100, 2);
    let data = format!("{}{text}", if hundredths < 0 { "-" } else { "" });
    Cell::new(format!("{sign}{text}"), number(Decimal::parse(&data).unwrap_or_default()))
}
