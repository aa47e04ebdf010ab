//! All runs that an advice rests on, a row each: `-o FILE.parquet`.

use crate::Advice;
use crate::bootstrap::NEVER;

use crate::runs::{PERCENTILES, RESULTS};
use fairground::output::table_parquet;
use fairground_report::{Cell, Column, Table, columns};
use fairground_scenario::Scenario;

impl Advice {
    /// The table of runs.
    pub(super) fn runs_table(&self) -> Table {
        let mut columns = columns![
            left "profile", right "workers", right "gc threads" "gc_threads", left "CPUs" "cpus",
            right "period us" "period_us", right "quota us" "quota_us", right "burst us" "burst_us", right "seed",
        ];
        columns.extend(PERCENTILES.map(|row| Column::right(row.1, row.1)));
        columns.extend(RESULTS.map(|row| Column::right(row.0, row.0)));
        columns.push(Column::left("digest", "digest"));
        let mut table = Table::new("runs", "Runs", columns);
        for run in &self.runs {
            let maybe = |value: Option<u64>| value.map_or_else(Cell::none, Cell::from);
            let mut cells = vec![
                run.profile.clone().into(),
                maybe(run.workers.map(u64::from)),
                maybe(run.gc_threads.map(u64::from)),
                run.cpus.clone().into(),
                run.period_us.into(),
                maybe(run.quota_us),
                run.burst_us.into(),
                run.seed.into(),
            ];
            cells.extend(run.percentiles.map(|ns| maybe(Some(ns).filter(|ns| *ns != NEVER))));
            cells.extend(run.results.map(Cell::from));
            cells.push(format!("{:032x}", run.digest).into());
            table.push(cells);
        }
        table
    }
    /// The table of runs as a file.
    pub(super) fn parquet(&self, scenario: &Scenario) -> Vec<u8> {
        let pairs = [
            ("command", "advise".to_string()),
            ("version", env!("CARGO_PKG_VERSION").to_string()),
            ("scenario_digest", format!("{:032x}", scenario.digest())),
            ("digest", format!("{:032x}", self.digest)),
            ("group", self.group.clone()),
            ("goals", self.goals.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        ];
        table_parquet(&self.runs_table(), pairs.map(|(key, value)| (format!("fairground.{key}"), value)).into())
    }
}
