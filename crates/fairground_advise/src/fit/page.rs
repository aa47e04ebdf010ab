//! The fit as a page for a browser.

use super::super::bootstrap::NEVER;
use super::super::goal::percentile_name;
use super::super::text::cpus_of;
use super::{CounterAdvice, Fit};
use fairground_model::CpuMax;
use fairground_report::Page;
use fairground_report::page::{Axis, Block, Chart, Point, Quantity, Scale, Series};

impl CounterAdvice {
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
