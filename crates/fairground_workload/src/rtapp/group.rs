//! `taskgroup`: the CPU cgroup of a thread or phase. rt-app makes the directories that are not there.

use super::json::{Fields, key, span};
use super::task::Thread;
use fairground_model::cgroup::{self, PathError, ROOT, WEIGHTS};
use fairground_model::{CpuMax, Instr, Mistakes, TaskSet, UtilClamp, clamp_of_percent, percent};
use fairground_stdx::{Ns, TgId};
use jsonc_parser::ast::{Object, ObjectProp};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

/// One `taskgroup`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupUse {
    /// The path from the root.
    path: String,
    /// The files that are given here.
    files: Files,
    /// Place of the value.
    span: Range<usize>,
}

/// What the object form says of the files of a group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Files {
    /// cpu.weight.
    weight: Option<u64>,
    /// cpu.max, as it is written.
    max: Option<String>,
    /// cpu.max.burst, in us.
    burst: Option<u64>,
    /// cpu.uclamp.min and cpu.uclamp.max, in 1/1024 of the biggest CPU.
    uclamp_min: Option<u32>,
    uclamp_max: Option<u32>,
}

/// The keys of the object form.
const KEYS: [&str; 6] = ["path", "cpu.weight", "cpu.max", "cpu.max.burst", "cpu.uclamp.min", "cpu.uclamp.max"];

/// Reads `"taskgroup" : "/web"`, as rt-app has it, or `{ "path" : "/web", "cpu.weight" : 200, "cpu.max" : "50000 100000" }`, in which the files of the group are set too.
/// An empty name is as if there was none.
pub(super) fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<GroupUse> {
    if property.value.as_object().is_none() {
        let path = property.value.as_string_lit().map(|path| path.value.to_string());
        let Some(path) = path else {
            fields.kind(property, "a path in quotes or { \"path\" : \"/web\", \"cpu.weight\" : 200 }");
            return None;
        };
        return (!path.is_empty()).then(|| checked(path, Files::default(), property, fields)).flatten();
    }
    let object = fields.object(property)?;
    for part in &object.properties {
        let name = key(part).0;
        if !KEYS.contains(&name) {
            fields.unknown(part, "a task group", &KEYS);
        }
    }
    let files = read_files(object, fields);
    let Some(path) = fields.one(object, "path") else {
        fields.mistakes.at(span(object), "a task group without `path`", "Name it from the root: \"path\" : \"/web\".");
        return None;
    };
    let name = fields.string(path)?.to_string();
    if name == ROOT && files != Files::default() {
        fields.mistakes.at(
            span(&path.value),
            "the root group has no weight and no limit",
            "Leave it out, or name a group below.",
        );
        return None;
    }
    checked(name, files, path, fields)
}

fn read_files(object: &Object<'_>, fields: &mut Fields<'_>) -> Files {
    let weight = fields.one(object, "cpu.weight").and_then(|part| {
        let (low, high) = (WEIGHTS.start().cast_signed(), WEIGHTS.end().cast_signed());
        fields.int(part, low, high, "a cpu.weight").and_then(|weight| u64::try_from(weight).ok())
    });
    let burst = fields.one(object, "cpu.max.burst").and_then(|part| fields.usec(part));
    let max = fields.one(object, "cpu.max").and_then(|part| {
        let text = fields.string(part)?;
        match CpuMax::UNLIMITED.written(text) {
            Ok(_) => Some(text.to_string()),
            Err((message, hint)) => {
                fields.mistakes.at(span(&part.value), format!("`cpu.max`: {message}"), hint);
                None
            }
        }
    });
    let mut clamp = |name| {
        let part = fields.one(object, name)?;
        let text = fields.string(part)?;
        let wrong = |why| {
            let hint = "Write a percentage with at most two decimals, such as \"20\" or \"12.50\", or \"max\".";
            fields.mistakes.at(span(&part.value), format!("`{name}` {text}: {why}"), hint);
        };
        percent(text).map(clamp_of_percent).map_err(wrong).ok()
    };
    let (uclamp_min, uclamp_max) = (clamp("cpu.uclamp.min"), clamp("cpu.uclamp.max"));
    Files { weight, max, burst, uclamp_min, uclamp_max }
}

fn checked(path: String, files: Files, at: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<GroupUse> {
    match cgroup::check_path(&path) {
        Ok(()) => Some(GroupUse { path, files, span: span(&at.value) }),
        Err(PathError { message, hint }) => {
            fields.mistakes.at(span(&at.value), message, hint);
            None
        }
    }
}

/// Makes the groups of all threads in the order in which they are named, with their weights and limits.
pub(super) fn make(threads: &[Thread], set: &mut TaskSet, mistakes: &mut Mistakes) {
    let mut known: BTreeMap<&str, Files> = BTreeMap::new();
    let uses = threads.iter().flat_map(|thread| {
        let phases = thread.phases.iter().filter_map(|phase| phase.attributes.group.as_ref());
        thread.attributes.group.iter().chain(phases)
    });
    for used in uses {
        let Some(id) = row(set, used) else { continue };
        let files = known.entry(&used.path).or_default();
        let given = &used.files;
        let mut differ = |file: &str, one: &dyn Display, other: &dyn Display| {
            let message = format!("group `{}` has {file} {one} and {other}", used.path);
            let hint = format!("Give a group one {}; the other places need its path only.", file.trim_start_matches("cpu."));
            mistakes.at(used.span.clone(), message, hint);
        };
        merge("cpu.weight", &mut files.weight, &given.weight, &mut differ);
        merge("cpu.max", &mut files.max, &given.max, &mut differ);
        merge("cpu.max.burst", &mut files.burst, &given.burst, &mut differ);
        merge("cpu.uclamp.min", &mut files.uclamp_min, &given.uclamp_min, &mut differ);
        merge("cpu.uclamp.max", &mut files.uclamp_max, &given.uclamp_max, &mut differ);
        set.groups[id].clamp = UtilClamp { min: files.uclamp_min, max: files.uclamp_max };
        if let Some(weight) = files.weight {
            set.groups[id].shares = cgroup::weight_to_shares(weight);
        }
        let max = files.max.as_ref().and_then(|text| CpuMax::UNLIMITED.written(text).ok()).unwrap_or(CpuMax::UNLIMITED);
        let limit = CpuMax { burst: Ns::from_us(files.burst.unwrap_or_default()), ..max };
        match limit.check() {
            Ok(()) => set.groups[id].limit = limit,
            Err(refused) => {
                let (message, hint) = refused.sentences();
                mistakes.at(used.span.clone(), format!("group `{}`: {message}", used.path), hint);
            }
        }
    }
}

/// Takes over what a file holds where that is not known yet; `differ` tells of a value that is another one.
fn merge<T: Clone + PartialEq + Display>(
    file: &str,
    known: &mut Option<T>,
    given: &Option<T>,
    differ: &mut impl FnMut(&str, &dyn Display, &dyn Display),
) {
    match (known.as_ref(), given) {
        (Some(one), Some(other)) if one != other => differ(file, one, other),
        (None, Some(other)) => *known = Some(other.clone()),
        _ => {}
    }
}

/// The group's row; none is the root.
fn row(set: &mut TaskSet, used: &GroupUse) -> Option<TgId> {
    (used.path != ROOT).then(|| cgroup::make(&mut set.groups, &used.path))
}

/// The group in which a thread starts: that of its first phase, else its own.
pub(super) fn at_start(thread: &Thread, set: &mut TaskSet) -> Option<TgId> {
    let first = thread.phases.first().and_then(|phase| phase.attributes.group.as_ref());
    first.or(thread.attributes.group.as_ref()).and_then(|used| row(set, used))
}

/// What each phase begins with. A phase that names no group stays where the one before was; where only the first names one, the
/// thread is there from its start.
pub(super) fn moves(thread: &Thread, set: &mut TaskSet) -> Vec<Option<Instr>> {
    let named = |row: usize| thread.phases[row].attributes.group.as_ref();
    let later = (1..thread.phases.len()).any(|row| named(row).is_some());
    let mut moves = Vec::new();
    for phase in 0..thread.phases.len() {
        let used = named(phase).filter(|_| later);
        moves.push(used.map(|used| Instr::SetGroup { group: row(set, used) }));
    }
    moves
}
