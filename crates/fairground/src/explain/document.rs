//! The answer as a JSON document.

use super::{Explanation, name_of, story, tables};
use crate::scenario::Scenario;
use fairground_report::{Document, Input};
use serde_json::{Value, json};

/// The document of `explain --json`.
pub fn document(scenario: &Scenario, explanation: &Explanation) -> Document {
    let one = &explanation.one;
    let inputs = [Input::new(&scenario.name(), scenario.digest())];
    let mut document = Document::new("explain", &inputs, Some(scenario.seed), Some(explanation.digest));
    let statistics = one.misses.iter().find(|miss| !miss.misread.is_empty()).map(|miss| {
        let row = |row: &fairground_sched::LoadReading| {
            json!({ "cpu": row.cpu.get(), "statistic": row.statistic, "read": row.read, "queued": row.queued, "tasks": row.tasks })
        };
        miss.misread.iter().map(row).collect::<Vec<Value>>()
    });
    document
        .set("title", scenario.title.as_str())
        .set("notes", scenario.notes.clone())
        .set("wakeups", explanation.wakeups)
        .set("percentile", explanation.percentile.map(|percentile| percentile.to_string()))
        .set("task", name_of(&explanation.names, one.wake.task))
        .set("cpu", one.cpu.get())
        .set("waking_ns", one.wake.waking.ns())
        .set("until_ns", one.wake.until.ns())
        .set("delay_ns", one.wake.latency().0)
        .set("cause", one.cause.slug())
        .set("cause_text", one.cause.sentence())
        .set("causes", one.causes().iter().map(|cause| cause.slug()).collect::<Vec<_>>())
        .set("commonest_cause", explanation.aggregate.as_ref().and_then(|rows| rows.commonest()).map(|cause| cause.slug()))
        .set("misread_loads", statistics)
        .set("story", story(explanation))
        .set_tables(&tables(explanation));
    document
}
