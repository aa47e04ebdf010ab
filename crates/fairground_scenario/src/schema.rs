//! JSON Schemas of what people write, for editors: scenarios (TOML) and the rt-app subset (JSON).

use crate::nouns::verbs::VERBS;
use fairground_machine::{KeyInfo, machine_file};
use fairground_model::CLAMP_MAX;
use fairground_model::cgroup::files::{FILES, Form};
use fairground_model::cgroup::{GroupFile, Version};
use fairground_sched::profile::{KnownKind, Profile};
use fairground_workload::{ParamKind, Workload, workloads};
use serde_json::{Map, Value, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

fn time() -> Value {
    json!({ "type": "string", "pattern": "^[0-9][0-9_]*(\\.[0-9]+)? *(ns|us|µs|ms|s|min|h|d)$" })
}
pub(crate) fn cpus() -> Value {
    json!({ "type": "string", "pattern": "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$" })
}
pub(crate) fn nice() -> Value {
    json!({ "type": "integer", "minimum": -20, "maximum": 19 })
}
pub(crate) fn slice() -> Value {
    let mut length = time();
    length["description"] = json!("sched_runtime of sched_setattr, 100us to 100ms, from kernel v6.12 on");
    json!({ "anyOf": [length, { "const": "base" }] })
}
pub(crate) fn policy() -> Value {
    json!({ "anyOf": [
        { "enum": ["other", "batch", "idle", "deadline", "SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE", "SCHED_DEADLINE"] },
        { "type": "string", "pattern": "^(SCHED_)?(fifo|rr|deadline|FIFO|RR|DEADLINE):", "description": "fifo:50, rr:50, deadline:10ms/50ms/100ms" },
    ] })
}
pub(crate) fn text() -> Value {
    json!({ "type": "string" })
}
fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// The JSON Schema of a scenario file.
pub fn scenario_schema() -> Value {
    let mut schema = object(
        &["duration", "machine", "profile", "workload"],
        json!({
            "title": { "type": "string" },
            "seed": { "type": "integer", "minimum": 0 },
            "duration": time(),
            "window": object(&["from", "to"], json!({ "from": time(), "to": time() })),
            "machine": machine(),
            "profile": profile(),
            "group": { "type": "array", "items": group() },
            "session": { "type": "array", "items": object(&["name"], json!({ "name": { "type": "string" }, "autogroup_nice": nice() })) },
            "workload": { "type": "array", "minItems": 1, "items": { "oneOf": workload_forms() } },
            "at": { "type": "array", "items": at() },
            "expect": { "type": "object", "additionalProperties": object(&[], json!({
                "min": { "type": ["string", "integer"] }, "max": { "type": ["string", "integer"] }, "why": { "type": "string" } })) },
        }),
    );
    schema["$schema"] = json!(DRAFT);
    schema["title"] = json!("fairground scenario");
    schema
}

fn machine() -> Value {
    json!({ "type": "object", "description": "a preset with changes, a regular shape, or one [[machine.cpu]] per CPU",
        "properties": keys(&machine_file::all_keys()), "additionalProperties": false })
}

/// Keys with what they say. Their forms are left to the reader, which has more to say of a wrong one.
fn keys(keys: &[KeyInfo]) -> Value {
    let property = |key: &KeyInfo| {
        let mut property = json!({ "description": key.sentence });
        if !key.keys.is_empty() {
            let table = json!({ "type": "object", "properties": self::keys(&key.keys), "additionalProperties": false });
            property["anyOf"] = json!([table.clone(), { "type": "array", "items": table }, { "type": "string" }]);
        }
        (key.name.to_string(), property)
    };
    Value::Object(keys.iter().map(property).collect::<Map<String, Value>>())
}

fn profile() -> Value {
    let kernels: Vec<String> =
        Profile::known().into_iter().filter(|row| row.kind == KnownKind::Modelled).map(|row| row.name).collect();
    json!({
        "type": "object",
        "required": ["kernel"],
        "properties": {
            "kernel": { "type": "string", "examples": kernels },
            "overlay": { "type": "array", "items": { "type": "string" } },
            "features": { "type": "array", "items": { "type": "string", "pattern": "^(NO_)?[A-Z_0-9]+$" } },
            "tunables": { "type": "object", "properties": { "sched_autogroup_enabled": { "enum": [false, true, 0, 1] } },
                "additionalProperties": { "type": ["string", "integer"] } },
            "sched_autogroup_enabled": { "enum": [false, true, 0, 1] },
        },
        "additionalProperties": { "type": "string", "description": "a seam and its variant" },
    })
}

fn path() -> Value {
    json!({ "type": "string", "pattern": "^/([^/ ]+(/[^/ ]+)*)?$", "description": "a CPU cgroup from the root, such as /web/api" })
}

pub(crate) fn clamp() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": CLAMP_MAX, "description": "1024 is the biggest CPU; from kernel v5.3 on" })
}

/// The files of a group that are in this version of cgroup; without one, all.
fn files(version: Option<Version>) -> Value {
    let wanted = |file: &&GroupFile| version.is_none() || file.version.is_none() || file.version == version;
    let property = |file: &GroupFile| {
        let mut property = match &file.form {
            // Editors hold numbers as floats: those of 64 bits are no bound there.
            Form::Number(range, ..) if *range.end() > i64::from(u32::MAX) => {
                json!({ "type": "integer", "minimum": range.start() })
            }
            Form::Number(range, ..) => json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() }),
            Form::Text(pattern, ..) => json!({ "type": "string", "pattern": pattern }),
        };
        property["description"] = json!(file.sentence);
        (file.name.to_string(), property)
    };
    Value::Object(FILES.iter().filter(wanted).map(property).collect())
}

/// The properties of one object and those of another.
fn with(mut properties: Value, more: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (properties.as_object_mut(), more) {
        all.extend(more);
    }
    properties
}

fn session() -> Value {
    json!({ "type": "string", "minLength": 1, "description": "with sched_autogroup_enabled the tasks of one session share a group" })
}

fn group() -> Value {
    object(&["path"], with(json!({ "path": path() }), files(None)))
}

fn workload_forms() -> Vec<Value> {
    let mut forms: Vec<Value> = workloads().iter().map(named).collect();
    for key in ["rtapp", "rtapp_text", "recorded", "recorded_text"] {
        forms.push(object(&[key], json!({ key: { "type": "string" } })));
    }
    let pipes = json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 },
        "description": "pipes that steps may name, with the messages that fit" });
    let words = json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 },
        "description": "words of memory that steps may name, with what they hold at first" });
    let locks = json!({ "type": "object", "additionalProperties": { "type": "string",
            "pattern": "^ *(rwsem|mutex)( +(fifo|no-spin|no-steal))* *$|^ *futex *$|^ *spin( +(rounds +[0-9]+(\\.\\.[0-9]+)?|round +[0-9.]+(ns|us|ms|s)|sleep +[0-9.]+(ns|us|ms|s)(\\.\\.[0-9.]+(ns|us|ms|s))?|no-sleep))* *$|^ *percpu-rwsem( +[0-9.]+(ns|us|ms|s))? *$" },
        "description": "locks that steps may name, each with its kind" });
    let pools = json!({ "type": "object", "additionalProperties": { "type": "string",
            "pattern": "^ *[0-9]+ +x +[0-9]+(B|KiB|MiB)( +on +(4KiB|64KiB|2MiB|1GiB))? *$" },
        "description": "memory that steps may touch: how many entries of which size, and on which pages" });
    let parts = json!({ "tasks": { "type": "array", "items": task() }, "pipes": pipes, "words": words, "pools": pools, "locks": locks,
        "hung_task_timeout": time() });
    forms.push(object(&["tasks"], parts));
    for form in &mut forms {
        form["properties"]["group"] = path();
        form["properties"]["session"] = session();
    }
    forms
}

fn named(workload: &Workload) -> Value {
    let mut args = Map::new();
    for param in workload.params {
        let mut value = match param.kind {
            ParamKind::Count(low, high) => json!({ "type": ["integer", "string"], "minimum": low, "maximum": high }),
            ParamKind::Priority => json!({ "type": ["integer", "string"], "minimum": 0, "maximum": 99 }),
            ParamKind::Time => time(),
            ParamKind::Cpus => cpus(),
            ParamKind::Nices => json!({ "anyOf": [nice(), { "type": "string" }, { "type": "array", "items": nice() }] }),
            ParamKind::Choice(words) => json!({ "enum": words }),
            ParamKind::Pair(..) => json!({ "type": ["integer", "string"], "pattern": "^[0-9]+ *(, *[0-9]+)?$" }),
            ParamKind::Switch => json!({ "type": "boolean" }),
        };
        value["description"] = json!(param.sentence);
        args.insert(param.name.to_string(), value);
    }
    let args = json!({ "type": "object", "properties": args, "additionalProperties": false });
    let mut form = object(&["name"], json!({ "name": { "const": workload.name }, "args": args }));
    form["description"] = json!(workload.sentence);
    form
}

fn task() -> Value {
    object(
        &["name"],
        json!({
            "name": { "type": "string" }, "count": { "type": "integer", "minimum": 1 },
            "nice": nice(), "policy": policy(), "dl_runtime": time(), "dl_deadline": time(), "dl_period": time(),
            "dl_reclaim": { "type": "boolean", "description": "it may use what other deadline tasks leave" },
            "slice": slice(), "uclamp_min": clamp(), "uclamp_max": clamp(),
            "cpus": cpus(), "first_cpu": { "type": "integer", "minimum": 0 },
            "start": time(), "timer_slack": time(),
            "working_set": {
                "type": ["integer", "string"], "minimum": 0,
                "description": "what it has in the cache of its core, as in 12KiB, or a number of KiB",
            },
            "group": path(), "session": session(),
            "forked": { "type": "boolean", "description": "starts when the step `fork NAME` of another task makes it" },
            "kthread": { "type": "boolean", "description": "a kernel thread, which slept since long before the run" },
            "mm": { "type": "integer", "minimum": 0, "description": "tasks of one number share an address space" },
            "processes": { "type": "boolean", "description": "with `count`: each has an address space of its own" },
            "index": { "type": "integer", "minimum": 0, "description": "what the step `index` tells; with `count` that of the first one" },
            "hog": { "type": "boolean" }, "run": time(), "period": time(), "sleep": time(),
            "do": { "type": "array", "items": { "type": "string" } }, "loop": { "type": "integer", "minimum": 0 },
            "program": { "type": "array", "items": { "type": "string" }, "description": "steps that are gone through once" },
        }),
    )
}

fn at() -> Value {
    let verbs = VERBS.iter().map(|verb| (verb.name.to_string(), (verb.schema)())).collect();
    let beside = json!({
        "task": text(), "cpus": text(), "session": text(),
        "dl_runtime": time(), "dl_deadline": time(), "dl_period": time(), "dl_reclaim": { "type": "boolean" },
        "group": path(), "cgroup.procs": path(), "rmdir": path(),
    });
    let table = object(&[], with(with(Value::Object(verbs), beside), files(None)));
    object(&["time", "do"], json!({ "time": time(), "do": { "oneOf": [text(), table] } }))
}

/// The JSON Schema of the rt-app files that are understood. All times are whole microseconds, as rt-app defines.
pub fn rtapp_schema() -> Value {
    let micros = json!({ "type": "integer", "minimum": 0 });
    let own = |extra: Value| {
        let mut properties = json!({
            "loop": { "type": "integer", "minimum": -1 },
            "policy": { "enum": ["SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE", "SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"] },
            "priority": { "type": "integer", "minimum": -20, "maximum": 99, "description": "a nice value, or a real-time priority of 1 to 99" },
            "dl-runtime": micros, "dl-period": micros, "dl-deadline": micros,
            "util_min": clamp(), "util_max": clamp(), "cpus": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            "taskgroup": { "oneOf": [{ "type": "string" }, object(&["path"], with(json!({ "path": path() }), files(Some(Version::V2))))] },
        });
        if let (Some(all), Some(extra)) = (properties.as_object_mut(), extra.as_object()) {
            all.extend(extra.clone());
        }
        json!({
            "type": "object", "properties": properties,
            "patternProperties": {
                "^(run|runtime|sleep)[^a-z_]*$": micros,
                "^timer[^a-z_]*$": { "type": "object", "required": ["period"], "properties": {
                    "ref": { "type": "string" }, "period": micros, "mode": { "enum": ["relative", "absolute"] } } },
                "^(yield|lock|unlock|signal|broad|suspend|resume|barrier|fork)[^a-z_]*$": { "type": "string" },
                "^(wait|sync)[^a-z_]*$": { "type": "object", "required": ["ref", "mutex"], "properties": {
                    "ref": { "type": "string" }, "mutex": { "type": "string" } } },
            },
        })
    };
    let thread = own(json!({
        "instance": { "type": "integer", "minimum": 0 }, "delay": micros,
        "phases": { "type": "object", "additionalProperties": own(json!({})) },
    }));
    json!({
        "$schema": DRAFT,
        "title": "rt-app, as far as it is understood",
        "type": "object",
        "required": ["tasks"],
        "properties": {
            "tasks": { "type": "object", "additionalProperties": thread },
            "global": { "type": "object", "properties": { "duration": { "type": "integer", "minimum": -1 } } },
            "resources": { "type": "object" },
        },
    })
}
