//! rt-app's JSON as a workload language of ours: the same file runs here and on a real machine.

mod compile;
mod event;
mod fork;
mod global;
mod group;
mod json;
mod notes;
mod policy;
mod sync;
mod task;
#[cfg(test)]
mod tests;

use crate::table::{Aggregate, Column, Figure};
use fairground_model::{Mistakes, TaskSet};
use fairground_stdx::Ns;
use json::{Fields, key};
use jsonc_parser::ast::{Object, ObjectProp};
use notes::Notes;
use std::collections::BTreeSet;

/// A use case that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RtApp {
    /// The threads.
    pub tasks: TaskSet,
    /// How long it runs; `None` = until all threads have ended.
    pub duration: Option<Ns>,
    /// What the user should know: settings that are accepted without effect.
    pub notes: Vec<String>,
}

/// The table of a use case, after the columns of rt-app's log.
pub const TABLE: &[Column] = &[
    Column { title: "rounds", unit: "", figure: Figure::Of("period", Aggregate::Count), scale: (1, 1), decimals: 0 },
    Column { title: "period mean", unit: "us", figure: Figure::Of("period", Aggregate::Mean), scale: (1, 1000), decimals: 0 },
    Column { title: "slack mean", unit: "us", figure: Figure::Of("slack", Aggregate::Mean), scale: (1, 1000), decimals: 0 },
    Column::us("wu_lat mean", "timer_latency", Aggregate::Mean),
    Column::us("wu_lat p99", "timer_latency", Aggregate::PerMille(990)),
    Column::us("wu_lat max", "timer_latency", Aggregate::Max),
];

/// The most threads that a use case may have: Linux's default limit on process ids.
const MAX_THREADS: u64 = 32_768;

/// Reads an rt-app file. All mistakes are found, each with its place.
pub fn parse(text: &str) -> Result<RtApp, Mistakes> {
    let root = json::root(text)?;
    let mut mistakes = Mistakes::default();
    let mut notes = Notes::default();
    let mut fields = Fields { mistakes: &mut mistakes };
    for property in &root.properties {
        if !["tasks", "global", "resources"].contains(&key(property).0) {
            fields.unknown(property, "the file", &["tasks", "global", "resources"]);
        }
    }
    let global = fields.one(&root, "global").and_then(|property| fields.object(property));
    let global = global::read(global, &mut fields, &mut notes);
    if let Some(property) = fields.one(&root, "resources") {
        resources(property, &mut fields, &mut notes);
    }
    let threads = threads(&root, &mut fields, &mut notes);
    if threads.iter().map(|thread| u64::from(thread.instances)).sum::<u64>() > MAX_THREADS {
        let hint = "Linux itself has room for 32768 processes and threads by default.";
        mistakes.whole(format!("there are more than {MAX_THREADS} threads"), hint);
        return Err(mistakes);
    }
    let tasks = compile::compile(&threads, global.policy, &mut mistakes, &mut notes);
    mistakes.or(RtApp { tasks, duration: global.duration, notes: notes.list })
}

fn threads(root: &Object<'_>, fields: &mut Fields<'_>, notes: &mut Notes) -> Vec<task::Thread> {
    let Some(property) = fields.one(root, "tasks") else {
        fields.mistakes.at(json::span(root), "there is no `tasks` object", "Write \"tasks\" : { \"name\" : { … } }.");
        return Vec::new();
    };
    let Some(object) = fields.object(property) else { return Vec::new() };
    let mut threads: Vec<task::Thread> = Vec::new();
    let mut names = BTreeSet::new();
    for property in &object.properties {
        if !names.insert(key(property).0) {
            let message = format!("two tasks are called `{}`", key(property).0);
            fields.mistakes.at(key(property).1, message, "Give each its own name, or use `instance` for equal ones.");
        }
        if let Some(thread) = task::read(property, fields, notes) {
            threads.push(thread);
        }
    }
    for thread in threads.iter().filter(|thread| thread.instances == 0 && !fork::is_forked(thread, &threads)) {
        notes.add(&format!("task `{}` has 0 instances and does not run", thread.name));
    }
    if threads.iter().all(|thread| thread.instances == 0) && fields.mistakes.0.is_empty() {
        fields.mistakes.at(json::span(object), "no task runs here", "Write at least one task with an instance.");
    }
    threads
}

/// Old files declare what their events use; today rt-app makes it on first use.
fn resources(property: &ObjectProp<'_>, fields: &mut Fields<'_>, notes: &mut Notes) {
    const TYPES: &[&str] =
        &["mutex", "wait", "signal", "broadcast", "sync", "sleep", "run", "timer", "suspend", "resume", "barrier"];
    let Some(object) = fields.object(property) else { return };
    for resource in &object.properties {
        let Some(description) = fields.object(resource) else { continue };
        for part in &description.properties {
            match key(part).0 {
                "type" => {
                    if fields.string(part).is_some_and(|kind| !TYPES.contains(&kind)) {
                        fields.kind(part, &format!("a type of resource: {}", TYPES.join(", ")));
                    }
                }
                _ => fields.unknown(part, "a resource", &["type"]),
            }
        }
    }
    notes.add("`resources` is accepted and has no effect: rt-app makes resources when an event names them");
}
