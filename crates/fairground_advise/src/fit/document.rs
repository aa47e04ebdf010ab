//! Counters and what was fitted to them, as tables and as a document.

use super::super::bootstrap::NEVER;
use super::super::counters::Counters;
use super::super::goal::percentile_name;
use super::{Fit, FitOptions, Measured, Range, fit};
use fairground::output::ResultKind;
use fairground_metrics::Decimal;
use fairground_report::table::number;
use fairground_report::{Document, Input, Table};
use fairground_scenario::Control;
use serde_json::{Value, json};

/// Counters, and the fit to them where one is possible.
#[derive(Clone, Debug)]
pub struct CounterAdvice {
    /// The counters.
    pub counters: Counters,
    /// The fit; or why there is none.
    pub fit: Result<Fit, String>,
    pub(super) seed: u64,
}

impl CounterAdvice {
    /// Fits, if counters leave something open that a fit can tell.
    pub fn new(counters: Counters, options: &FitOptions, control: Control<'_>) -> CounterAdvice {
        let fit = match (counters.is_unstable(), counters.throttled_ratio(), Measured::of(&counters)) {
            (Some(true), _, _) => Err("no fit: a queue that grows without end has no percentile".to_string()),
            (_, Some(0), _) => Err("no fit: without throttling the counters show nothing of how requests come".to_string()),
            (_, _, Err(why)) => Err(format!(
                "how requests fare cannot be told from these counters: {why}. A log of requests (arrival, latency, CPU time) or a \
                 scenario says more"
            )),
            (_, _, Ok(measured)) => Ok(fit(&measured, options, control)),
        };
        CounterAdvice { counters, fit, seed: options.seed }
    }
    /// Whether the caller stopped it.
    pub fn is_interrupted(&self) -> bool {
        self.fit.as_ref().is_ok_and(|fit| fit.interrupted)
    }
    /// All tables, what the counters say first.
    pub fn tables(&self) -> Vec<Table> {
        let lines = self.counters.lines().into_iter().chain(self.fit.as_ref().err().cloned());
        let table = Table::of_lines("counters", "What the counters say", lines);
        let mut tables = vec![table];
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
    /// 1 if the limit is UNSTABLE, or BAD for nearly all services that were kept; 0 if it is OK or TIGHT for nearly all, or did not
    /// matter; 4 if counters do not tell.
    pub fn exit_code(&self) -> u8 {
        if self.counters.is_unstable() == Some(true) {
            return 1;
        }
        match &self.fit {
            Err(_) if self.counters.throttled_ratio() == Some(0) => 0,
            Err(_) => 4,
            Ok(fit) => fit.exit_code(),
        }
    }
}

impl Fit {
    fn exit_code(&self) -> u8 {
        match self.points.first() {
            // At most a twentieth says otherwise.
            Some(now) if now.verdicts[2] * 20 >= now.of * 19 => 1,
            Some(now) if now.verdicts[2] * 20 <= now.of => 0,
            _ => 4,
        }
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
}

/// Null stands for a time that the runs do not show, and for a limit that does not exist.
fn range_json(range: Range) -> Value {
    let known = |value: u64| (value != NEVER).then_some(value);
    json!({ "low": known(range.low), "median": known(range.median), "high": known(range.high) })
}
