//! Counters and what was fitted to them: as tables, as a document and as a page for a browser.

use super::prior::{BURST_NS, CV_PERCENT, RATIO_PERCENT, SHARE, WORKERS_MOST};
use super::{CounterAdvice, Fit, FitPoint, LEAST, Range};
use crate::Reached;
use crate::bootstrap::NEVER;
use crate::counters::Counters;
use crate::goal::{names, percentile_name};
use crate::text::{cpus_of, ratio_text, time};
use fairground::output::ResultKind;
use fairground_metrics::Decimal;
use fairground_model::CpuMax;
use fairground_report::page::{Axis, Block, Chart, Page, Point, Quantity, Scale, Series};
use fairground_report::table::number;
use fairground_report::units::format_ns;
use fairground_report::{Cell, Column, Document, Input, Table, columns};
use fairground_stdx::Ns;
use serde_json::{Value, json};

impl CounterAdvice {
    /// All tables, what the counters say first.
    pub fn tables(&self) -> Vec<Table> {
        let lines = self.counters.lines().into_iter().chain(self.fit.as_ref().err().cloned());
        let headline = self.headline();
        let mut tables: Vec<Table> =
            Vec::from_iter((!headline.is_empty()).then(|| Table::of_lines("goal", "Whether the goal is met", headline)));
        tables.push(Table::of_lines("counters", "What the counters say", lines));
        if let Ok(fit) = &self.fit {
            tables.extend(fit.tables(&self.counters));
        }
        tables
    }
    /// The document of `advise --json`.
    pub fn document(&self, name: &str) -> Document {
        let inputs = [Input::new(name, self.counters.digest)];
        let fit = self.fit.as_ref().ok();
        let mut document = Document::new("advise", &inputs, fit.map(|_| self.seed), fit.map(|fit| fit.digest));
        let counters = &self.counters;
        let stall = counters.stall().map(|(least, most)| vec![least.0, most.0]);
        document
            .set("usage_ns_per_s", counters.usage_ns_per_s())
            .set("throttled_pct", counters.throttled_ratio().map_or(Value::Null, |ratio| number(Decimal::ratio(ratio, 100))))
            .set("stall_ns", stall)
            .set("unstable", counters.is_unstable())
            .set("goal_reached", self.reached().map(Reached::name))
            .set("headline", self.headline())
            .set("notes", counters.notes.clone())
            .set("fit", fit.map(Fit::json))
            .set("partial", self.is_interrupted())
            .set_tables(&self.tables());
        document
    }
    /// What a file of results holds: the page, or else the document.
    pub fn file(&self, name: &str, kind: ResultKind) -> Vec<u8> {
        match kind {
            ResultKind::Html => self.page(name).to_string().into_bytes(),
            _ => self.document(name).to_string().into_bytes(),
        }
    }
    /// What the counters say, the percentile over the limit with its range, and all tables.
    pub fn page(&self, name: &str) -> Page {
        let mut page = Page::new(format!("What counters say: {}", name.rsplit('/').next().unwrap_or_default()));
        page.fact("made by", concat!("fairground ", env!("CARGO_PKG_VERSION"), " advise"))
            .fact("input", name)
            .fact("limit now", format!("{} CPUs", cpus_of(self.counters.limit.unwrap_or(CpuMax::UNLIMITED))))
            .fact("CPUs", self.counters.cpus.to_string());
        if let Ok(fit) = &self.fit {
            page.fact("seed", self.seed.to_string()).fact("digest", format!("{:032x}", fit.digest));
        }
        if self.is_interrupted() {
            page.push(Block::Text("PARTIAL: interrupted, which says nothing.".to_string()));
        }
        page.heading("Counters");
        for table in self.tables() {
            match (table.name.as_str(), &self.fit) {
                ("fit", Ok(fit)) => {
                    page.heading("Time against the limit").push(Block::Chart(fit.chart()));
                }
                ("account", _) => {
                    page.heading("What this rests on");
                }
                _ => {}
            }
            page.push(Block::Table(table));
        }
        page
    }
}

impl Fit {
    /// The limits, the smallest one, and what this rests on.
    fn tables(&self, counters: &Counters) -> Vec<Table> {
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
        let columns = columns![
            right "from" "limit_low_cpus", right "half below" "limit_median_cpus", right "to" "limit_high_cpus",
        ];
        let mut table = Table::new("smallest", format!("Smallest limit for {}, CPUs", names(&self.goals)), columns);
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
    fn json(&self) -> Value {
        let now = self.points.first();
        let names = ["OK", "TIGHT", "BAD"];
        json!({
            "percentile": percentile_name(self.permille),
            "goals": self.goals.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "accepted": self.accepted,
            "drawn": self.drawn,
            "runs": self.runs,
            "length_ns": self.length_ns,
            "latency_ns": now.map(|point| range_json(point.latency)),
            "ratio_permille": now.map(|point| range_json(point.ratio)),
            "verdicts": now.map(|point| names.iter().zip(point.verdicts).map(|(name, count)| json!({ *name: count })).collect::<Vec<_>>()),
            "smallest_quota_ns": self.smallest.map(range_json),
            "latency_ns_with_use_of_each_period": self.with_spread.map(range_json),
        })
    }

    /// The percentile over the quota in CPUs: half of the services lie below the curve, 95 % within its band.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    fn chart(&self) -> Chart {
        let limited = self.points.iter().filter_map(|point| Some((point.limit.quota?, point)));
        let known = limited.filter(|(_, point)| point.latency.high != NEVER);
        let dots = known.map(|(quota, point)| Point {
            x: quota.0 as f64 / point.limit.period.0.max(1) as f64,
            y: point.latency.median as f64,
            band: Some((point.latency.low as f64, point.latency.high as f64)),
        });
        let series = Series { name: percentile_name(self.permille), points: dots.collect() };
        let lost = self.points.iter().filter(|point| point.latency.high == NEVER).count();
        let mut note = "Half of the services lie below the curve, 95 % within the band.".to_string();
        if lost > 0 {
            note += &format!(" {lost} limits are left out: with some services requests do not end within the run.");
        }
        Chart {
            title: "Time of requests of services with these counters".to_string(),
            x: Axis::new("limit, CPUs", Scale::Log, Quantity::Plain),
            y: Axis::new("time", Scale::Log, Quantity::Time),
            series: Vec::from_iter(Some(series).filter(|series| !series.points.is_empty())),
            lines: self.goals.iter().map(|goal| (goal.most.0 as f64, format!("goal {goal}"))).collect(),
            note,
        }
    }
}

/// Null stands for a time that the runs do not show, and for a limit that does not exist.
fn range_json(range: Range) -> Value {
    let known = |value: u64| (value != NEVER).then_some(value);
    json!({ "low": known(range.low), "median": known(range.median), "high": known(range.high) })
}

fn text(ns: u64) -> String {
    if ns == NEVER { "later than a run shows".to_string() } else { format_ns(Ns(ns)) }
}

fn ratio(permille: u64) -> Cell {
    match permille {
        NEVER => Cell::new("never", Value::Null),
        permille => Cell::new(ratio_text(permille), permille),
    }
}
