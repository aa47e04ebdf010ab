//! Advice as tables.

use super::recorded::recorded_table;
use crate::alternatives::TRIED;
use crate::bootstrap::{Interval, NEVER};
use crate::curve::SHOWN;
use crate::goal::{names, percentile_key, percentile_name};
use crate::text::{confidence, cpus_of, milli_cpus, snippet, time};
use crate::verdict::cpus;
use crate::{Advice, Point, SetIn, Smallest};
use fairground_metrics::Decimal;
use fairground_model::CpuMax;
use fairground_report::table::number;
use fairground_report::units::format_ns;
use fairground_report::{Cell, Column, Table, columns};
use fairground_stdx::Ns;
use serde_json::Value;

impl Advice {
    /// All tables, the verdict first.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.goal_table().into_iter().collect();
        tables.extend(self.smallest.as_ref().map(|found| self.smallest_table(found)));
        if !self.alternatives.is_empty() || !self.dearer.is_empty() {
            tables.push(self.alternatives_table());
        }
        tables.push(self.verdict_table());
        tables.extend(self.trace.as_ref().map(|facts| recorded_table(self, facts)));
        tables.push(self.curve_table());
        if let Some(slow) = &self.slow {
            tables.push(slow.shares_table(self.permille, &percentile_name(self.permille)));
            tables.push(slow.slowest_table());
            tables.push(slow.stalls_table());
        }
        if !self.grid.is_empty() {
            tables.push(self.grid_table());
        }
        if !self.others.is_empty() {
            tables.push(self.others_table());
        }
        if let Some(limit) = self.chosen().filter(|limit| limit.quota.is_some()) {
            tables.push(Table::of_lines("snippet", "To set it", snippet(&self.group, limit)));
        }
        tables.push(self.validity_table());
        tables
    }

    /// The headline.
    fn goal_table(&self) -> Option<Table> {
        let lines = self.headline();
        let mut table = Table::new("goal", format!("{}, group {}", self.title, self.group), columns![left "line"]);
        for line in &lines {
            table.line(line.clone());
            table.push(vec![line.trim().into()]);
        }
        (!lines.is_empty()).then_some(table)
    }

    fn verdict_table(&self) -> Table {
        let title = match self.goals.is_empty() {
            true => format!("{}, group {}", self.title, self.group),
            false => "What the present limit costs".to_string(),
        };
        let mut table = Table::new("verdict", title, columns![left "line"]);
        let mut lines = match &self.judged {
            Some(judged) => judged.lines(),
            None => vec![format!("no limit now; the demand is {} CPUs", cpus(self.demand_ns_per_s))],
        };
        if self.goals.is_empty() {
            lines.push("no goal: say one, as in --goal p99=50ms, and the smallest limit for it is searched".to_string());
        }
        for line in lines {
            table.line(line.clone());
            table.push(vec![line.trim().into()]);
        }
        table
    }

    fn smallest_table(&self, found: &Smallest) -> Table {
        let columns = columns![
            right "limit" "limit_cpus", right "millicores" "millicores", right "cpu.max us" "cpu_max_us",
            right "burst us" "cpu_max_burst_us", right "not enough" "below_cpus", right "proved" "proved_cpus", right "missed" "seeds_missed", right "runs" "seeds",
            right "confidence" "confidence_pct", left "set in",
        ];
        let mut table = Table::new("smallest", format!("Smallest limit for {}", names(&self.goals)), columns);
        let mut cells: Vec<Cell> = match found.limit {
            Some(limit) if limit.quota.is_some() => vec![
                cpus_cell(limit),
                u64::try_from(milli_cpus(limit)).unwrap_or(u64::MAX).into(),
                limit.to_string().into(),
                (limit.burst.0 / 1000).into(),
            ],
            Some(_) => vec![Cell::new("no limit", Value::Null), Cell::none(), "max".into(), Cell::none()],
            None => vec![Cell::new("none", Value::Null), Cell::none(), Cell::none(), Cell::none()],
        };
        cells.extend([
            found.below.map_or_else(Cell::none, cpus_cell),
            found.proved().filter(|limit| limit.quota.is_some()).map_or_else(Cell::none, cpus_cell),
            found.misses.into(),
            found.seeds.into(),
            Cell::new(format!("{} %", confidence(found.confidence)), found.confidence),
            found.limit.map_or_else(Cell::none, |limit| SetIn::of(limit).name().into()),
        ]);
        table.push(cells);
        table.note(format!(
            "confidence: that at most 5 of 100 runs miss the goal with this limit; proved: the smallest for which that has {} %; not \
             enough: proved to miss it in more",
            found.sure
        ));
        if let Some(checked) = self.checked {
            let below = checked.holds_below.map_or(String::new(), |holds| format!(", with the limit that is not enough {holds}"));
            table.note(format!("fresh seeds: the goal holds with {} of {}{below}", checked.holds, checked.seeds));
        }
        table
    }

    fn alternatives_table(&self) -> Table {
        let columns = columns![
            right "CPUs" "limit_cpus", right "period" "period_ms", right "burst us" "cpu_max_burst_us", right "cpu.max us" "cpu_max_us",
            left "set in",
        ];
        let mut table =
            Table::new("alternatives", "Other periods and bursts that need less for the same goal, the cheapest first", columns);
        for row in &self.alternatives {
            table.push(vec![
                cpus_cell(row.limit),
                Cell::new(row.limit.period.to_string(), row.limit.period.0 / 1_000_000),
                (row.limit.burst.0 / 1000).into(),
                row.limit.to_string().into(),
                row.set_in.name().into(),
            ]);
        }
        if !self.alternatives.is_empty() {
            table.note(format!(
                "estimated from the run that decided the answer, and tried with {TRIED} more; make one the limit (--cpu-max) to search it in full"
            ));
        }
        let names = |has_burst: bool| {
            let periods = self.dearer.iter().filter(|row| row.has_burst == has_burst).map(|row| row.period.to_string());
            periods.collect::<Vec<String>>().join(", ")
        };
        for (has_burst, what) in [(false, "without a burst"), (true, "with a burst as large as the quota")] {
            if self.dearer.iter().any(|row| row.has_burst == has_burst) {
                table.note(format!("no cheaper {what}: {}", names(has_burst)));
            }
        }
        table
    }

    fn curve_table(&self) -> Table {
        let title = format!("{} against the limit, period {}", percentile_name(self.permille), format_ns(self.limit.period));
        let mut columns = columns![right "CPUs" "limit_cpus", right "of demand" "of_demand"];
        columns.extend(self.point_columns());
        let mut table = Table::new("curve", title, columns);
        for point in &self.curve {
            let of_demand = point.limit.quota.map(|quota| {
                let per_second = u128::from(quota.0) * 1_000_000_000 / u128::from(point.limit.period.0.max(1));
                Cell::fixed(share(per_second, self.demand_ns_per_s), 1000, 2)
            });
            let mut cells = vec![cpus_cell(point.limit), of_demand.unwrap_or_else(Cell::none)];
            cells.extend(self.point_cells(point));
            table.push(cells);
        }
        table.note(
            "means over seeds with their 95 % intervals; x: by the same requests without a limit; throttled: share of periods",
        );
        table
    }

    fn grid_table(&self) -> Table {
        let chosen = self.grid.first().map_or("-".to_string(), |point| cpus_of(point.limit));
        let mut columns = columns![right "period" "period_ms", right "burst us" "cpu_max_burst_us"];
        columns.extend(self.point_columns());
        let mut table = Table::new("grid", format!("Period and burst at {chosen} CPUs"), columns);
        for point in &self.grid {
            let mut cells = vec![
                Cell::new(point.limit.period.to_string(), point.limit.period.0 / 1_000_000),
                (point.limit.burst.0 / 1000).into(),
            ];
            cells.extend(self.point_cells(point));
            table.push(cells);
        }
        table.note("a burst is at most the quota; Kubernetes has one period for all containers of a node");
        table
    }

    fn others_table(&self) -> Table {
        let base = self.limit.quota.map_or_else(|| self.chosen(), |_| Some(self.limit)).map_or("-".to_string(), cpus_of);
        let mut columns = columns![left "instead"];
        columns.extend(self.point_columns());
        let mut table = Table::new("others", format!("Other changes at {base} CPUs"), columns);
        for other in &self.others {
            let mut cells: Vec<Cell> = vec![other.what.clone().into()];
            cells.extend(self.point_cells(&other.point));
            table.push(cells);
        }
        self.notes.iter().for_each(|note| table.note(note.clone()));
        table
    }

    /// What the figures do not know; docs/limits.md says more.
    fn validity_table(&self) -> Table {
        let lines = [
            "neighbours on the machine beyond those in the scenario; caches; CPUs that change their speed, unless the scenario says so",
            "service times that were measured under throttling are too long: measure them without a limit",
            "percentiles with fewer than 100 requests of all seeds beyond them are not shown",
        ];
        Table::of_lines("validity", "What this does not know", lines)
    }

    fn point_columns(&self) -> Vec<Column> {
        let [p50, p90, p999] = SHOWN.map(|permille| Column::right(percentile_name(permille), percentile_key(permille)));
        vec![
            p50,
            p90,
            Column::right(percentile_name(self.permille), format!("looked_at_{}", percentile_key(self.permille))),
            Column::left("95 %", "interval_ns"),
            p999,
            Column::right("x", "ratio"),
            Column::right("throttled", "throttled_pct"),
            Column::right("good 1/s", "good_per_s"),
            Column::right("time-outs", "timeouts_pct"),
            Column::right("goal", "holds"),
        ]
    }

    fn point_cells(&self, point: &Point) -> Vec<Cell> {
        let [p50, p90, p999] = point.percentiles.map(|value| value.map_or_else(Cell::none, time));
        let ratio = match point.ratio.mean {
            NEVER => Cell::none(),
            permille => Cell::fixed(permille, 1000, 2),
        };
        let holds = if self.goals.is_empty() { "-".to_string() } else { format!("{}/{}", point.holds, point.seeds) };
        vec![
            p50,
            p90,
            time(point.latency.mean),
            interval(point.latency),
            p999,
            ratio,
            Cell::percent(point.throttled),
            Cell::fixed(point.good_per_ks, 1000, 1),
            Cell::percent(point.timeouts),
            holds.into(),
        ]
    }
}

fn interval(interval: Interval) -> Cell {
    match interval.is_known() {
        false => Cell::new("", Value::Null),
        true => Cell::new(
            format!("{} to {}", format_ns(Ns(interval.low)), format_ns(Ns(interval.high))),
            Value::from(vec![interval.low, interval.high]),
        ),
    }
}

fn cpus_cell(limit: CpuMax) -> Cell {
    let data = limit.quota.map(|quota| number(Decimal::ratio(share(quota.0.into(), limit.period.0), 1000)));
    Cell::new(cpus_of(limit), data.unwrap_or(Value::Null))
}

/// `part` in `whole`, in thousandths.
fn share(part: u128, whole: u64) -> u64 {
    u64::try_from(part * 1000 / u128::from(whole.max(1))).unwrap_or(NEVER)
}
