//! Advice as a page for a browser.

use crate::bootstrap::Interval;
use crate::curve::SHOWN;
use crate::goal::{names, percentile_name};
use crate::text::{cpus_of, snippet};
use crate::{Advice, Point};
use fairground::pages;
use fairground_model::CpuMax;
use fairground_report::Page;
use fairground_report::page::{Axis, Block, Chart, HeatCell, HeatMap, Quantity, Scale, Series};
use fairground_report::units::format_ns;
use fairground_scenario::Scenario;
use fairground_stdx::Ns;

impl Advice {
    /// The verdict, the curve over quotas with its intervals, period by burst as a heat map, all tables, and what to write where.
    pub fn page(&self, scenario: &Scenario) -> Page {
        let mut page = pages::page(&format!("{}: the limit of {}", self.title, self.group), "advise", scenario);
        page.fact("profile", &self.profile)
            .fact("limit now", format!("{} CPUs", cpus_of(self.limit)))
            .fact("goal", if self.goals.is_empty() { "none".to_string() } else { names(&self.goals) })
            .fact("first seed", scenario.seed.to_string())
            .fact("scenario", format!("{:032x}", scenario.digest()))
            .fact("digest", format!("{:032x}", self.digest));
        if self.interrupted {
            page.push(Block::Text("PARTIAL: interrupted, which says nothing.".to_string()));
        }
        page.heading("Verdict");
        for table in self.tables() {
            match table.name.as_str() {
                "shares" => {
                    if let Some(slow) = &self.slow {
                        slow.push_to(&mut page, self.permille, &percentile_name(self.permille));
                    }
                    continue;
                }
                // They stand beside their pictures.
                "slowest" | "stalls" => continue,
                "curve" => {
                    page.heading("Time against the limit").push(Block::Chart(self.chart()));
                }
                "grid" => {
                    page.heading("Period and burst").push(Block::HeatMap(self.heat_map()));
                }
                "alternatives" => {
                    page.heading("Other periods and bursts").push(Block::HeatMap(self.needs_map()));
                }
                "others" => {
                    page.heading("What else may be changed");
                }
                "snippet" => {
                    let lines = self.chosen().map(|limit| snippet(&self.group, limit)).unwrap_or_default();
                    page.heading("To set it").push(Block::Snippet("The answer".to_string(), lines.join("\n")));
                    continue;
                }
                _ => {}
            }
            page.push(Block::Table(table));
        }
        page
    }

    /// The percentile that is looked at with its interval, and the others, over the quota in CPUs.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    fn chart(&self) -> Chart {
        let limited = || self.curve.iter().filter(|point| point.limit.quota.is_some());
        let known = || limited().filter(|point| point.latency.is_known());
        let dot = |point: &Point, y: u64, interval: Option<Interval>| fairground_report::page::Point {
            x: cpus_f64(point.limit),
            y: y as f64,
            band: interval.map(|interval| (interval.low as f64, interval.high as f64)),
        };
        let looked_at = known().map(|point| dot(point, point.latency.mean, Some(point.latency))).collect();
        let mut series = vec![Series { name: percentile_name(self.permille), points: looked_at }];
        for (place, permille) in SHOWN.into_iter().enumerate().filter(|row| row.1 != self.permille) {
            let points =
                known().filter_map(|point| Some(dot(point, point.percentiles[place].filter(|ns| *ns != u64::MAX)?, None)));
            series.push(Series { name: percentile_name(permille), points: points.collect() });
        }
        series.retain(|series| !series.points.is_empty());
        let mut lines: Vec<(f64, String)> = self.goals.iter().map(|goal| (goal.most.0 as f64, format!("goal {goal}"))).collect();
        let free = self.curve.iter().find(|point| point.limit.quota.is_none() && point.latency.is_known());
        lines
            .extend(free.map(|point| (point.latency.mean as f64, format!("{} without a limit", percentile_name(self.permille)))));
        let mut note = "The band is the 95 % interval of the mean over seeds.".to_string();
        match limited().count() - known().count() {
            0 => {}
            lost => note += &format!(" {lost} smaller limits are left out: with some seed requests do not end within the run."),
        }
        Chart {
            title: format!("Time of requests against the limit, period {}", format_ns(self.limit.period)),
            x: Axis::new("limit, CPUs", Scale::Log, Quantity::Plain),
            y: Axis::new("time", Scale::Log, Quantity::Time),
            series,
            lines,
            note,
        }
    }

    /// The smallest limit by period and burst.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    fn needs_map(&self) -> HeatMap {
        let answer = self.chosen().filter(|limit| limit.quota.is_some());
        let limits: Vec<CpuMax> = self.alternatives.iter().map(|row| row.limit).chain(answer).collect();
        let mut periods: Vec<Ns> = limits.iter().map(|limit| limit.period).collect();
        periods.sort_unstable();
        periods.dedup();
        let rows: Vec<usize> = (0..BURSTS.len()).filter(|&row| limits.iter().any(|limit| burst_row(*limit) == row)).collect();
        let cell = |row: usize, period: Ns| {
            let found = limits.iter().find(|limit| limit.period == period && burst_row(**limit) == row).copied();
            HeatCell {
                text: found.map_or_else(String::new, cpus_of),
                value: found.map(cpus_f64),
                marked: found.is_some() && found == answer,
            }
        };
        HeatMap {
            title: format!("CPUs that {} needs", names(&self.goals)),
            x: ("period".to_string(), periods.iter().map(|&period| format_ns(period)).collect()),
            y: ("burst".to_string(), rows.iter().map(|&row| BURSTS[row].to_string()).collect()),
            cells: rows.iter().map(|&row| periods.iter().map(|&period| cell(row, period)).collect()).collect(),
            log: false,
            note: "Framed: the answer, searched with all seeds. The others are estimated from three.".to_string(),
        }
    }

    /// The percentile that is looked at by period and burst.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    fn heat_map(&self) -> HeatMap {
        let mut periods: Vec<Ns> = self.grid.iter().map(|point| point.limit.period).collect();
        periods.dedup();
        let (bursts, row) = (BURSTS, burst_row);
        let chosen = self.chosen();
        let cell = |burst: usize, period: Ns| {
            let found = self.grid.iter().find(|point| point.limit.period == period && row(point.limit) == burst);
            let known = found.filter(|point| point.latency.is_known());
            HeatCell {
                text: match (found, known) {
                    (None, _) => String::new(),
                    (Some(_), None) => "never".to_string(),
                    (_, Some(point)) => format_ns(Ns(point.latency.mean)),
                },
                value: known.map(|point| point.latency.mean as f64),
                marked: chosen.is_some_and(|chosen| chosen.period == period && row(chosen) == burst),
            }
        };
        let used = (0..bursts.len()).filter(|&burst| self.grid.iter().any(|point| row(point.limit) == burst));
        let (rows, names): (Vec<usize>, Vec<String>) = used.map(|burst| (burst, bursts[burst].to_string())).unzip();
        HeatMap {
            title: format!("{} at the same share of CPUs", percentile_name(self.permille)),
            x: ("period".to_string(), periods.iter().map(|&period| format_ns(period)).collect()),
            y: ("burst".to_string(), names),
            cells: rows.iter().map(|&burst| periods.iter().map(|&period| cell(burst, period)).collect()).collect(),
            log: true,
            note: "Framed: the limit that is looked at. Empty: the kernel refuses it, or has no burst.".to_string(),
        }
    }
}

/// Names of the rows of a map of bursts.
const BURSTS: [&str; 3] = ["no burst", "half the quota", "the quota"];

/// The row of a limit in a map of bursts.
fn burst_row(limit: CpuMax) -> usize {
    match limit.burst {
        Ns::ZERO => 0,
        burst if Some(burst) == limit.quota => 2,
        _ => 1,
    }
}

/// Quota by period.
#[allow(clippy::cast_precision_loss, reason = "for display only")]
fn cpus_f64(limit: CpuMax) -> f64 {
    limit.quota.map_or(f64::INFINITY, |quota| quota.0 as f64 / limit.period.0.max(1) as f64)
}
