//! The answer as tables, as a JSON document, and as a short story to be pasted into a mail.

mod story;
mod tables;

pub use story::story;
pub use tables::tables;

use crate::verdicts::Miss;
use crate::{Cause, Explanation, Keeps, Meeting, Misread, Names, Place, PoolStory, Suspect, Who};
use fairground_report::{Document, Input};
use fairground_scenario::Scenario;
use fairground_sched::GroupReading;
use fairground_sim::FIRST_PID;
use fairground_stdx::{Instant, Ns};
use serde_json::{Value, json};

/// What is said where nobody was late.
pub fn story_of_none(task: Option<&str>) -> String {
    match task {
        Some(task) => format!("{task} was never late: it ran whenever it could. So there is no cause.\n"),
        None => "No task was ever late: each ran whenever it could. So there is no cause.\n".to_string(),
    }
}

/// The document of `explain --json` where nobody was late.
pub fn document_of_none(scenario: &Scenario, task: Option<&str>, digest: u128) -> Document {
    let inputs = [Input::new(&scenario.name(), scenario.digest())];
    let mut document = Document::new("explain", &inputs, Some(scenario.seed), Some(digest));
    document
        .set("title", scenario.title.as_str())
        .set("notes", scenario.notes.clone())
        .set("delays", 0)
        .set("task", task)
        .set("delay_ns", 0)
        .set("cause", Value::Null)
        .set("causes", Vec::<Value>::new())
        .set("shares", Vec::<Value>::new())
        .set("who_ran", Value::Null)
        .set("story", story_of_none(task));
    document
}

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
        .set("delays", explanation.delays)
        .set("percentile", explanation.percentile.map(|percentile| percentile.to_string()))
        .set("task", explanation.names.task(one.delay.whose()))
        .set("pid", FIRST_PID + one.delay.whose().get())
        .set("waker", one.delay.wakes.map(|_| explanation.names.task(one.delay.task)))
        .set("group", explanation.names.group(one.group))
        .set("cpu", one.cpu.get())
        .set("kind", one.delay.kind.name())
        .set("from_ns", one.delay.from.ns())
        .set("until_ns", one.delay.until.ns())
        .set("unfinished", !one.delay.ran)
        .set("delay_ns", one.delay.length().0)
        .set(
            "request",
            one.delay.request.as_ref().map(|row| json!({ "read_ns": row.read.map(Instant::ns), "own_ns": row.own.0 })),
        )
        .set(
            "shares",
            explanation
                .shares()
                .iter()
                .map(|row| json!({ "cause": row.0.slug(), "share_permille": row.1 }))
                .collect::<Vec<Value>>(),
        )
        .set("who_ran", explanation.who_ran())
        .set("confidence", explanation.proof.confidence.name())
        .set("suspects", explanation.proof.suspects.iter().map(|row| suspect(row, one.delay.length())).collect::<Vec<Value>>())
        .set(
            "also",
            explanation
                .proof
                .also
                .as_ref()
                .map(|row| json!({ "cause": row.0.slug(), "from_ns": row.1.from.ns(), "delay_ns": row.1.length().0 })),
        )
        .set("untried", explanation.proof.untried.clone())
        .set("quota", explanation.pool.as_ref().map(|pool| quota(pool, &explanation.names)))
        .set("cause", one.cause.slug())
        .set("cause_text", one.cause.sentence())
        .set("causes", one.causes().iter().map(|cause| cause.slug()).collect::<Vec<_>>())
        .set("commonest_cause", explanation.aggregate.as_ref().and_then(|rows| rows.commonest()).map(|cause| cause.slug()))
        .set("misread_loads", statistics)
        .set("story", story(explanation))
        .set_tables(&tables(explanation));
    document
}

/// An instant of the run in seconds, as perf prints them.
pub(crate) fn seconds(at: Instant) -> String {
    format!("{}.{:06}", at.ns() / 1_000_000_000, at.ns() % 1_000_000_000 / 1000)
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

fn suspect(suspect: &Suspect, length: Ns) -> Value {
    let removal = suspect.removal.as_ref();
    json!({
        "cause": suspect.cause.slug(), "time_ns": suspect.time.0, "explains_ns": suspect.score(length).0,
        "removed_by": removal.map(|row| row.0.as_str()), "saved_ns": removal.map(|row| row.1.0),
    })
}

fn quota(pool: &PoolStory, names: &Names) -> Value {
    json!({
        "group": names.group(Some(pool.group)), "quota_ns": pool.limit.quota.map(|quota| quota.0),
        "period_ns": pool.limit.period.0, "burst_ns": pool.limit.burst.0, "period_began_ns": pool.period.ns(), "debt": pool.debt,
        "throttled_ns": pool.throttled.map(|at| at.ns()), "refill_ns": pool.refill.map(|at| at.ns()),
        "used": pool.used.iter().map(|row| json!({ "task": names.task(row.0), "ran_ns": row.1.0 })).collect::<Vec<Value>>(),
    })
}

/// A change so long that it is cut in tables and stories; documents have the whole.
const LONG_CHANGE: usize = 44;

/// A change as it is shown: of many acts the first.
fn short(change: &str) -> String {
    let acts: Vec<&str> = change.split("; ").collect();
    match change.len() > LONG_CHANGE && acts.len() > 1 {
        true => format!("{} (and {} more)", acts[0], acts.len() - 1),
        false => change.to_string(),
    }
}

/// Between whom that was decided.
fn met(meeting: &Meeting, names: &Names) -> String {
    let Meeting { level, waited, ran } = *meeting;
    format!("{} ran instead of {}, as level {level} of the tree decided", names.entity(ran), names.entity(waited))
}

/// Who had a CPU, in a word.
pub(super) fn who(who: Who, names: &Names) -> String {
    match who {
        Who::Task(task, group) => names.task_in(task, group),
        Who::Kernel(section) => format!("({})", section.name()),
        Who::Idle => "(idle)".to_string(),
        Who::Holder(holder, Keeps::Task(task, None)) => {
            format!("{}, while {} had its CPU", names.shown(holder), names.shown(task))
        }
        Who::Holder(holder, Keeps::Task(task, Some(place))) => {
            format!("{}, preempted {}, while {} had its CPU", names.shown(holder), place.place(), names.shown(task))
        }
        Who::Holder(holder, Keeps::Quota(group)) => format!("{}, throttled by {}", names.shown(holder), names.group(group)),
        Who::Holder(holder, Keeps::Nothing) => names.shown(holder).to_string(),
        Who::Quota(group) => format!("quota of {}", names.group(group)),
        Who::Nobody => "(nobody)".to_string(),
    }
}

impl Cause {
    /// Where it lies, in words.
    const fn place_name(self) -> &'static str {
        match self.place() {
            Place::Here => "here",
            Place::Elsewhere => "elsewhere",
        }
    }
}

/// What a balance came to, in words.
fn finding(miss: &Miss) -> String {
    let verdict = &miss.verdict;
    let (found, needed) = (verdict.found.to_string(), verdict.needed.to_string());
    let mut text = verdict.finding.sentence().replace("{found}", &found).replace("{needed}", &needed);
    if let Some(source) = verdict.source {
        text += &format!("; busiest queue: CPU {source}");
    }
    if let Some(refusal) = miss.refusal {
        text += &format!("; the waiting task stayed: {}", refusal.sentence());
    }
    text
}
