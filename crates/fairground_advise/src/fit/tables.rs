//! The fit as tables.

use super::super::bootstrap::NEVER;
use super::super::counters::Counters;
use super::super::goal::percentile_name;
use super::super::text::{cpus_of, ratio_text};
use super::prior::{BURST_NS, CV_PERCENT, RATIO_PERCENT, SHARE, WORKERS_MOST};
use super::{Fit, FitPoint, LEAST, Range};
use fairground_model::CpuMax;
use fairground_report::units::format_ns;
use fairground_report::{Cell, Column, Table, columns};
use fairground_stdx::Ns;
use serde_json::Value;

impl Fit {
    /// The limits, the smallest one, and what this rests on.
    pub(super) fn tables(&self, counters: &Counters) -> Vec<Table> {
        let mut tables = Vec::new();
        if !self.points.is_empty() {
            tables.push(self.points_table());
        }
        if let Some(smallest) = self.smallest {
            tables.push(self.smallest_table(counters.limit.unwrap_or(CpuMax::UNLIMITED), smallest));
        }
        tables.push(self.account_table());
        tables
    }

    fn points_table(&self) -> Table {
        let name = percentile_name(self.permille);
        let columns = vec![
            Column::right("CPUs", "limit_cpus"),
            Column::right(format!("{name} from"), "latency_low_ns"),
            Column::right("half below", "latency_median_ns"),
            Column::right("to", "latency_high_ns"),
            Column::right("x from", "ratio_low_permille"),
            Column::right("half below", "ratio_median_permille"),
            Column::right("to", "ratio_high_permille"),
            Column::right("OK", "ok_pct"),
            Column::right("TIGHT", "tight_pct"),
            Column::right("BAD", "bad_pct"),
            Column::right("goal", "holds_pct"),
        ];
        let title = format!("{name} of services whose counters are these, against the limit; the present one first");
        let mut table = Table::new("fit", title, columns);
        self.points.iter().for_each(|point| table.push(self.cells(point)));
        table.note("from, to: the middle 95 % of the services; x: by the same requests without a limit; shares of the services");
        let now = self.points[0].latency;
        if now.is_wide() {
            table.note(self.what_narrows(now));
        }
        table
    }

    fn cells(&self, point: &FitPoint) -> Vec<Cell> {
        let share = |count: u64| {
            let percent = (count * 100 + point.of / 2) / point.of.max(1);
            Cell::new(format!("{percent} %"), percent)
        };
        let Range { low, median, high } = point.latency;
        let mut cells: Vec<Cell> = vec![cpus_of(point.limit).into()];
        cells.extend([low, median, high].map(time));
        cells.extend([point.ratio.low, point.ratio.median, point.ratio.high].map(ratio));
        cells.extend(point.verdicts.map(share));
        cells.push(if self.goals.is_empty() { Cell::none() } else { share(point.holds) });
        cells
    }

    /// Which input would narrow a wide range.
    fn what_narrows(&self, now: Range) -> String {
        let name = percentile_name(self.permille);
        let wide = format!("the {name} may be anything from {} to {}", text(now.low), text(now.high));
        let log = "a log of requests (arrival, latency, CPU time) narrows it";
        match self.with_spread {
            _ if self.spread_known => format!("{wide}: {log}"),
            Some(left) if !left.is_wide() => format!(
                "{wide}: cpu.stat once per period (10 Hz with periods of 100 ms) narrows it to about {} to {}, and so does a log of requests",
                text(left.low),
                text(left.high)
            ),
            Some(left) => format!(
                "{wide}: {log}; cpu.stat once per period (10 Hz with periods of 100 ms) would leave about {} to {}",
                text(left.low),
                text(left.high)
            ),
            None => format!("{wide}: {log}"),
        }
    }

    fn smallest_table(&self, limit: CpuMax, smallest: Range) -> Table {
        let goals: Vec<String> = self.goals.iter().map(ToString::to_string).collect();
        let columns = columns![
            right "from" "limit_low_cpus", right "half below" "limit_median_cpus", right "to" "limit_high_cpus",
        ];
        let mut table = Table::new("smallest", format!("Smallest limit for {}, CPUs", goals.join(" and ")), columns);
        let cell = |quota: u64| match quota {
            NEVER => Cell::new("none", Value::Null),
            quota => cpus_of(CpuMax { quota: Some(Ns(quota)), ..limit }).into(),
        };
        table.push([smallest.low, smallest.median, smallest.high].map(cell).into());
        table.note("none: the service misses the goal even with all CPUs");
        table
    }

    fn account_table(&self) -> Table {
        let matched = if self.spread_known {
            "use, throttled periods, throttled time and the spread of use over periods"
        } else {
            "use, throttled periods and throttled time"
        };
        let mut lines = vec![
            format!(
                "{} of {} services that were drawn come out with {matched} within 5 % of the counters: {} runs of {} each",
                self.accepted,
                self.drawn,
                self.runs,
                format_ns(Ns(self.length_ns))
            ),
            format!(
                "drawn from: CPU time of a request {} to {} (lognormal, standard deviation {} to {} % of it), bursts of {} to {} in {} to \
                 {} % of the time with up to {} times the rate (MMPP-2), up to {WORKERS_MOST} workers; all magnitudes alike",
                format_ns(Ns(self.service_ns.0)),
                format_ns(Ns(self.service_ns.1)),
                CV_PERCENT.0,
                CV_PERCENT.1,
                format_ns(Ns(BURST_NS.0)),
                format_ns(Ns(BURST_NS.1)),
                SHARE.0 / 100,
                SHARE.1 / 100,
                RATIO_PERCENT.1 / 100,
            ),
            "a service outside of these - a collector of garbage, batches at fixed times, clients that wait for answers - may fare otherwise"
                .to_string(),
        ];
        if self.points.is_empty() {
            lines.push(format!("fewer than {LEAST} say nothing: the counters are not those of a service of this kind, or of other CPUs than --cpus says"));
        }
        Table::of_lines("account", "What this rests on", lines)
    }
}

fn text(ns: u64) -> String {
    if ns == NEVER { "later than a run shows".to_string() } else { format_ns(Ns(ns)) }
}

fn time(ns: u64) -> Cell {
    match ns {
        NEVER => Cell::new("never", Value::Null),
        ns => Cell::new(format_ns(Ns(ns)), ns),
    }
}

fn ratio(permille: u64) -> Cell {
    match permille {
        NEVER => Cell::new("never", Value::Null),
        permille => Cell::new(ratio_text(permille), permille),
    }
}
