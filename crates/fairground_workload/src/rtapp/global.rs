//! The `global` object: what holds for the whole use case.

use super::json::{Fields, key};
use super::notes::Notes;
use super::policy::{self, RtPolicy};
use fairground_model::Policy;
use fairground_stdx::Ns;
use jsonc_parser::ast::{Object, ObjectProp};
use std::collections::BTreeSet;

/// What of the global object changes the run.
pub(super) struct Global {
    pub(super) duration: Option<Ns>,
    pub(super) policy: RtPolicy,
}

const KEYS: &[&str] = &[
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
];

/// Settings of the real program's own work: locking memory, writing logs.
const NO_EFFECT: &[&str] = &[
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// Ten years and more do not fit into a run: the longest is `Instant::MAX`, 13 days.
const MAX_SECONDS: i64 = 1_125_899;

pub(super) fn read(object: Option<&Object<'_>>, fields: &mut Fields<'_>, notes: &mut Notes) -> Global {
    let mut global = Global { duration: None, policy: RtPolicy::Fair(Policy::Normal) };
    let Some(object) = object else { return global };
    KEYS.iter().for_each(|name| {
        fields.one(object, name);
    });
    let mut names = BTreeSet::new();
    for property in &object.properties {
        let name = key(property).0;
        if !names.insert(name) {
            continue;
        }
        match name {
            "duration" => global.duration = duration(property, fields),
            "default_policy" => {
                let policy = policy::read(property, fields);
                global.policy = policy.unwrap_or(global.policy);
            }
            other => setting(other, property, fields, notes),
        }
    }
    let idle: Vec<String> = NO_EFFECT.iter().filter(|name| object.get(name).is_some()).map(|name| format!("`{name}`")).collect();
    if !idle.is_empty() {
        notes.add(&format!("accepted without effect in a simulation: {}", idle.join(", ")));
    }
    global
}

/// -1 (rt-app also takes 0) stands for no end.
fn duration(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<Ns> {
    let seconds = fields.int(property, -1, MAX_SECONDS, "seconds (-1 = no end)")?;
    u64::try_from(seconds).ok().filter(|&seconds| seconds > 0).map(Ns::from_secs)
}

/// Settings that do not change what the tasks do: checked, accepted and noted.
fn setting(name: &str, property: &ObjectProp<'_>, fields: &mut Fields<'_>, notes: &mut Notes) {
    match name {
        "calibration" => {
            let cpu = property.value.as_string_lit().is_some_and(|cpu| cpu.value.starts_with("CPU"));
            if cpu || fields.int(property, 0, i64::from(i32::MAX), "ns per loop, or a CPU such as \"CPU0\"").is_some() {
                notes.add("`calibration` is accepted: simulated CPUs are calibrated by definition (run N = N us on a CPU of capacity 1024)");
            }
        }
        "pi_enabled" | "lock_pages" | "gnuplot" | "cumulative_slack" => {
            fields.boolean(property);
        }
        "logdir" | "log_basename" | "io_device" => {
            fields.string(property);
        }
        "log_size" => {
            if property.value.as_string_lit().is_none() {
                fields.int(property, 0, i64::from(i32::MAX), "MB, or \"file\", \"disable\", \"auto\"");
            }
        }
        "ftrace" => {
            if property.value.as_boolean_lit().is_none() {
                fields.string(property);
            }
        }
        "mem_buffer_size" => {
            fields.int(property, 0, i64::from(i32::MAX), "bytes");
        }
        "frag" => notes.add("`frag` of old rt-app versions has no meaning any more and is ignored, as by rt-app"),
        _ => fields.unknown(property, "`global`", KEYS),
    }
}
