//! Advice as tables, as a JSON document, as a page for a browser, and as a table of its runs.

mod page;
mod recorded;
mod runs;
mod tables;

use crate::bootstrap::Interval;
use crate::text::{milli_cpus, snippet};
use crate::verdict::{Judged, cheapest};
use crate::{Advice, Reached, Smallest, TraceFacts};
use fairground::output::ResultKind;
use fairground_model::CpuMax;
use fairground_report::{Document, Input};
use fairground_scenario::Scenario;
use serde_json::{Value, json};

impl Advice {
    /// What a file of results holds: the page, the runs, or else the document.
    pub fn file(&self, scenario: &Scenario, kind: ResultKind) -> Vec<u8> {
        match kind {
            ResultKind::Html => self.page(scenario).to_string().into_bytes(),
            ResultKind::Parquet => self.parquet(scenario),
            _ => self.document(scenario).to_string().into_bytes(),
        }
    }

    /// The document of `advise --json`.
    pub fn document(&self, scenario: &Scenario) -> Document {
        let inputs = [Input::new(&scenario.name(), scenario.digest())];
        let mut document = Document::new("advise", &inputs, Some(scenario.seed), Some(self.digest));
        let smallest: Vec<Value> = self.smallest.iter().map(smallest_json).collect();
        let chosen = self.chosen();
        document
            .set("title", self.title.as_str())
            .set("group", self.group.as_str())
            .set("profile", self.profile.as_str())
            .set("limit", limit_json(self.limit))
            .set("goals", self.goals.iter().map(ToString::to_string).collect::<Vec<_>>())
            .set("goal_reached", self.reached().map(Reached::name))
            .set("headline", self.headline())
            .set("window_ns", self.window.0)
            .set("unstable", self.unstable)
            .set("demand_ns_per_s", self.demand_ns_per_s)
            .set("verdict", self.judged.as_ref().map(judged_json))
            .set("smallest", smallest)
            .set(
                "fresh_seeds",
                self.checked
                    .map(|checked| json!({ "holds": checked.holds, "holds_below": checked.holds_below, "seeds": checked.seeds })),
            )
            .set("snippet", chosen.map(|limit| snippet(&self.group, limit)))
            .set("slowest", self.slow.as_ref().map(|slow| slow.slowest.json()))
            .set("trace", self.trace.as_ref().map(trace_json))
            .set("notes", self.notes.clone())
            .set("partial", self.interrupted)
            .set_tables(&self.tables());
        document
    }
}

fn trace_json(facts: &TraceFacts) -> Value {
    json!({
        "loop": if facts.is_open() { "open" } else { "closed" },
        "threads": facts.threads,
        "pieces": facts.pieces,
        "overdue": facts.overdue,
        "wakeups_from_outside": facts.outside,
        "wakeups_within": facts.inside,
    })
}

fn limit_json(limit: CpuMax) -> Value {
    json!({
        "quota_us": limit.quota.map(|quota| quota.0 / 1000),
        "period_us": limit.period.0 / 1000,
        "burst_us": limit.burst.0 / 1000,
    })
}

fn smallest_json(found: &Smallest) -> Value {
    json!({
        "limit": found.limit.map(limit_json),
        "millicores": found.limit.filter(|limit| limit.quota.is_some()).map(|limit| milli_cpus(limit) as u64),
        "not_enough": found.below.map(limit_json),
        "proved": found.proved().map(limit_json),
        "seeds": found.seeds,
        "seeds_missed": found.misses,
        "confidence_pct": found.confidence,
    })
}

fn judged_json(judged: &Judged) -> Value {
    let interval = |interval: Interval| match interval.is_known() {
        true => json!({ "mean": interval.mean, "low": interval.low, "high": interval.high }),
        false => Value::Null,
    };
    let remedies: Vec<Value> = judged
        .remedies
        .iter()
        .map(|remedy| json!({ "what": remedy.what, "cost_ns_per_s": remedy.cost_ns_per_s, "helps": remedy.helps }))
        .collect();
    json!({
        "verdict": judged.verdict.name(),
        "percentile": judged.percentile,
        "limited_ns": interval(judged.limited),
        "unlimited_ns": interval(judged.unlimited),
        "ratio_permille": interval(judged.ratio),
        "cheapest": cheapest(&judged.remedies).map(|remedy| remedy.what.clone()),
        "remedies": remedies,
        "lines": judged.lines(),
    })
}
