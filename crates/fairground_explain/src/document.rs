//! The answer as a JSON document.

use super::{Explanation, Misread, Names, story, tables};
use fairground_report::{Document, Input};
use fairground_scenario::Scenario;
use fairground_sched::GroupReading;
use serde_json::{Value, json};

/// The document of `explain --json`.
pub fn document(scenario: &Scenario, explanation: &Explanation) -> Document {
    let one = &explanation.one;
    let inputs = [Input::new(&scenario.name(), scenario.digest())];
    let mut document = Document::new("explain", &inputs, Some(scenario.seed), Some(explanation.digest));
    let statistics = one
        .misses
        .iter()
        .find(|miss| !miss.misread.is_empty())
        .map(|miss| miss.misread.iter().map(|row| misread(row, &explanation.names)).collect::<Vec<Value>>());
    document
        .set("title", scenario.title.as_str())
        .set("notes", scenario.notes.clone())
        .set("wakeups", explanation.wakeups)
        .set("percentile", explanation.percentile.map(|percentile| percentile.to_string()))
        .set("task", explanation.names.task(one.wake.task))
        .set("group", explanation.names.group(one.group))
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

fn misread(row: &Misread, names: &Names) -> Value {
    let Misread { load, groups } = row;
    let group = |group: &GroupReading| {
        let path = names.group(Some(group.group));
        json!({ "group": path, "statistic": group.statistic, "read": group.read, "queued": group.queued, "tasks": group.tasks })
    };
    json!({
        "cpu": load.cpu.get(), "statistic": load.statistic, "read": load.read, "queued": load.queued, "tasks": load.tasks,
        "groups": groups.iter().map(group).collect::<Vec<Value>>(),
    })
}
