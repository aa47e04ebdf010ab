//! A sensitivity run as tables and as a JSON document.

use super::outcome::is_shown;
use super::{Case, FACTORS, MetricCases, Prices, Sensitivity, Sign};
use fairground_metrics::{Decimal, FEWEST_PAIRS, Unit, Verdict};
use fairground_model::CostClass;
use fairground_report::table::number;
use fairground_report::units::{counted, fixed, format_metric};
use fairground_report::{Cell, Column, Document, Input, Table, columns, time_spent};
use fairground_scenario::Scenario;
use fairground_stdx::Factor;
use serde_json::{Value, json};

/// Cases that a line of the summary names.
const NAMED: usize = 4;

impl Sensitivity {
    /// What came out, in at most ten lines: the verdict first.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = vec![if self.has_sides() { self.verdict_of_sides() } else { self.verdict_of_one() }];
        if self.interrupted {
            lines.insert(0, "PARTIAL: interrupted, which says nothing".to_string());
        }
        let prices = self.metrics.first().map_or(0, |row| row.cases.len());
        let sides = self.sides.join(" against ");
        let seeds = counted(self.seeds, "seed");
        let tests = self.judged.iter().map(Vec::len).sum::<usize>();
        // As in `compare`: the fewest seeds with which the smallest p can be small enough among so many.
        let needed = 1 + u64::from((20 * tests as u64).next_power_of_two().ilog2());
        let is_open = self.judged.iter().flatten().any(|row| row.verdict == Verdict::Inconclusive);
        if is_open && self.is_decidable() && self.seeds < needed {
            lines.push(format!("undecided   {tests} tests need about {needed} seeds (--runs), or name fewer metrics (--metric)"));
        }
        lines.push(format!("runs        {}, {sides}: {seeds} at {prices} settings of prices", self.title));
        if !self.unused.is_empty() {
            let names: Vec<&str> = self.unused.iter().map(|class| class.key()).collect();
            lines.push(format!("not used    by these runs: {}", names.join(", ")));
        }
        lines.push(format!(
            "verdicts    two-sided, at most 5 % false ones among all {tests} (maxT); less than {} % does not matter",
            fixed(self.worth_permille, 10, 1)
        ));
        lines
    }

    fn too_few(&self) -> Option<String> {
        let seeds = if self.seeds == 1 { "1 seed is".to_string() } else { format!("{} seeds are", self.seeds) };
        (!self.is_decidable())
            .then(|| format!("Nothing is decided: {seeds} too few, {FEWEST_PAIRS} are the fewest (--runs {FEWEST_PAIRS})."))
    }

    fn verdict_of_sides(&self) -> String {
        if let Some(text) = self.too_few() {
            return text;
        }
        let b = self.sides.last().map_or("", String::as_str);
        let shown = self.judged.iter().filter(|cases| cases.first().is_some_and(is_shown)).count();
        let (turned, lost) = (self.with_sign(Sign::Turned), self.with_sign(Sign::NotShown));
        let many = self.metrics.len();
        if shown == 0 {
            return format!(
                "No effect of {b} was shown at the given prices, so nothing can turn ({}).",
                counted(many as u64, "metric")
            );
        }
        if !turned.is_empty() {
            return format!("The effect of {b} turns with assumed prices: {}.", self.named(&turned));
        }
        if !lost.is_empty() {
            return format!("The effect of {b} was not shown at all prices; it is missing for {}.", self.named(&lost));
        }
        format!(
            "The effect of {b} holds: {shown} of {many} metrics differ at the given prices, and keep their sign at all others."
        )
    }

    fn verdict_of_one(&self) -> String {
        if let Some(text) = self.too_few() {
            return text;
        }
        let shown = |row: &(usize, &MetricCases)| self.judged[row.0].iter().skip(1).any(is_shown);
        let moved: Vec<(usize, &MetricCases)> = self.metrics.iter().enumerate().filter(shown).collect();
        let most = moved.iter().flat_map(|&(metric, row)| {
            let cases = row.cases.iter().enumerate().skip(1).filter(move |case| is_shown(&self.judged[metric][case.0]));
            cases.filter_map(move |(_, case)| Some((case.change(row.given())?, row, case)))
        });
        let Some((change, row, case)) = most.max_by_key(|row| row.0.unsigned_abs()) else {
            return format!("No price was shown to matter to any of {}.", counted(self.metrics.len() as u64, "metric"));
        };
        format!(
            "{} of {} metrics change with assumed prices; most of all {}, by {} with {}.",
            moved.len(),
            self.metrics.len(),
            row.metric.name,
            with_unit(Some(change)),
            name_of(case.prices)
        )
    }

    /// Cases by name, the first of them.
    fn named(&self, cases: &[(usize, Prices)]) -> String {
        let one = |row: &(usize, Prices)| format!("{} with {}", self.metrics[row.0].metric.name, name_of(row.1));
        let texts: Vec<String> = cases.iter().take(NAMED).map(one).collect();
        let more = cases.len().saturating_sub(NAMED);
        texts.join(", ") + &if more > 0 { format!(", and {more} more") } else { String::new() }
    }

    /// One table per metric: the classes, what they take, and the metric at their prices times each factor.
    pub fn tables(&self) -> Vec<Table> {
        (0..self.metrics.len()).map(|place| self.table(place)).collect()
    }

    fn table(&self, place: usize) -> Table {
        let row = &self.metrics[place];
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
            table.push(self.class_row(place, class));
        }
        self.notes(row).into_iter().for_each(|note| table.note(note));
        table
    }

    /// `netperf_transactions.per_second: 12 345 at the prices as they are`.
    fn heading(&self, row: &MetricCases) -> String {
        let value = |sum| format_metric(self.mean(sum), row.metric.unit);
        let given = row.given();
        match given.sum_b() {
            None => format!("{}: {} at the given prices", row.metric.name, value(given.sum_a())),
            Some(b) => {
                let effect = with_unit(given.effect());
                format!("{}: from {} to {} = {effect} at the given prices", row.metric.name, value(given.sum_a()), value(b))
            }
        }
    }

    fn class_row(&self, place: usize, class: CostClass) -> Vec<Cell> {
        let row = &self.metrics[place];
        let share = self.spent.as_ref().map_or_else(Cell::empty, |spent| time_spent::share_cell(spent.class(class).1, spent));
        let mut cells = vec![class.key().into(), share];
        for case in FACTORS.map(|factor| row.scaled(class, factor)) {
            let Some(case) = case else {
                cells.extend([Cell::empty(), Cell::empty()]);
                continue;
            };
            cells.push(match case.b {
                None => self.value(case.sum_a(), row.metric.unit),
                Some(_) => percent(case.effect()),
            });
            cells.push(percent(case.change(row.given())));
        }
        if row.given().b.is_some() {
            cells.push(self.sign_of(place, class).into());
        }
        cells
    }

    /// What becomes of the sign with a class of prices.
    fn sign_of(&self, place: usize, class: CostClass) -> String {
        let row = &self.metrics[place];
        if !self.is_decidable() {
            let turned: Vec<String> = turned_at(row, class).map(|factor| format!("x {factor}")).collect();
            return if turned.is_empty() { "same".to_string() } else { format!("other at {}", turned.join(", ")) };
        }
        let at = |sign: Sign| -> Vec<String> {
            let own = self.with_sign(sign).into_iter().filter(|case| case.0 == place && case.1.class() == Some(class));
            own.filter_map(|case| case.1.factor()).map(|factor| format!("x {factor}")).collect()
        };
        let (turned, lost) = (at(Sign::Turned), at(Sign::NotShown));
        match () {
            () if !turned.is_empty() => format!("TURNED at {}", turned.join(", ")),
            () if !lost.is_empty() => format!("not shown at {}", lost.join(", ")),
            () if at(Sign::Held).is_empty() => "no effect".to_string(),
            () => "held".to_string(),
        }
    }

    fn notes(&self, row: &MetricCases) -> Vec<String> {
        let seeds = if self.seeds == 1 { "1 seed".to_string() } else { format!("means of {} seeds", self.seeds) };
        let mut notes = Vec::new();
        match self.sides.as_slice() {
            [a, b] => notes.push(format!("effect: from {a} to {b}, in percent; change: of their ratio; {seeds}")),
            _ => notes.push(format!("change: of the value, in percent; {seeds}")),
        }
        if row.given().b.is_some() && self.is_decidable() {
            notes.push("sign: held if the effect is shown at the given prices and at these, in the same direction".to_string());
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
        let row = |(place, row): (usize, &MetricCases)| {
            let cases: Vec<Value> = (0..row.cases.len()).map(|case| self.case_json(place, case)).collect();
            json!({ "metric": row.metric.name, "unit": row.metric.unit.name(), "cases": cases })
        };
        document
            .set("title", self.title.as_str())
            .set("profiles", self.sides.clone())
            .set("seeds", self.seeds)
            .set("unused", self.unused.iter().map(|class| class.key()).collect::<Vec<_>>())
            .set("summary", self.summary())
            .set("sign_holds", self.metrics.iter().all(|row| row.turned().next().is_none()))
            .set("partial", self.interrupted)
            .set("metrics", self.metrics.iter().enumerate().map(row).collect::<Vec<_>>());
        document
    }

    fn case_json(&self, place: usize, nr: usize) -> Value {
        let row = &self.metrics[place];
        let (case, judged): (&Case, _) = (&row.cases[nr], &self.judged[place][nr]);
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
            "a": value(case.sum_a()),
            "b": case.sum_b().map(value),
            "effect_pct": percent(case.effect()).data,
            "change_pct": percent(case.change(row.given())).data,
            "p": judged.p.to_f64(),
            "verdict": judged.verdict.name(),
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

/// From this on an effect is shown as how many times as much it is, in hundredths of a percent.
const TIMES_FROM: i128 = 100_000;

/// `+3.20 %`, or `x 38`.
fn with_unit(hundredths: Option<i128>) -> String {
    let text = percent(hundredths).text;
    if text.starts_with('x') { text } else { format!("{text} %") }
}

/// Hundredths of a percent with their sign, or how many times as much.
fn percent(hundredths: Option<i128>) -> Cell {
    let Some(hundredths) = hundredths else { return Cell::none() };
    if hundredths >= TIMES_FROM {
        let times = u64::try_from(hundredths / 10_000).unwrap_or(u64::MAX).saturating_add(1);
        return Cell::new(format!("x {times}"), number(Decimal::ratio(u64::try_from(hundredths).unwrap_or(u64::MAX), 100)));
    }
    let sign = if hundredths < 0 { "-" } else { "+" };
    let text = fixed(u64::try_from(hundredths.unsigned_abs()).unwrap_or(u64::MAX), 100, 2);
    let data = format!("{}{text}", if hundredths < 0 { "-" } else { "" });
    Cell::new(format!("{sign}{text}"), number(Decimal::parse(&data).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::with_unit;

    #[test]
    fn an_effect_of_ten_times_and_more_is_no_percentage() {
        let shown = [-4_250, 320, 99_999, 100_000, 374_314_206].map(|hundredths| with_unit(Some(hundredths)));
        assert_eq!(shown, ["-42.50 %", "+3.20 %", "+999.99 %", "x 11", "x 37432"]);
    }
}
