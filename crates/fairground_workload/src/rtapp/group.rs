//! `taskgroup`: the CPU cgroup of a thread or phase. rt-app makes the directories that are not there.

use super::json::{Fields, key, span};
use super::task::Thread;
use fairground_model::cgroup::files::FILES;
use fairground_model::cgroup::{self, FileWrite, ROOT, Version};
use fairground_model::{Instr, Mistakes, TaskSet};
use fairground_stdx::TgId;
use jsonc_parser::ast::{Object, ObjectProp};
use std::collections::BTreeMap;
use std::ops::Range;

/// One `taskgroup`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupUse {
    /// The path from the root.
    path: String,
    /// What is written to its files.
    files: Vec<FileWrite>,
    /// Place of the value.
    span: Range<usize>,
}

/// Reads `"taskgroup" : "/web"`, as rt-app has it, or `{ "path" : "/web", "cpu.weight" : 200, "cpu.max" : "50000 100000" }`, in which the files of the group are set too.
/// An empty name is as if there was none.
pub(super) fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<GroupUse> {
    if property.value.as_object().is_none() {
        let path = property.value.as_string_lit().map(|path| path.value.to_string());
        let Some(path) = path else {
            fields.kind(property, "a path in quotes or { \"path\" : \"/web\", \"cpu.weight\" : 200 }");
            return None;
        };
        return (!path.is_empty()).then(|| checked(path, Vec::new(), property, fields)).flatten();
    }
    let object = fields.object(property)?;
    let of_v2 = FILES.iter().filter(|file| file.version != Some(Version::V1));
    let keys: Vec<&str> = ["path"].into_iter().chain(of_v2.map(|file| file.name)).collect();
    for part in object.properties.iter().filter(|part| !keys.contains(&key(part).0)) {
        fields.unknown(part, "a task group", &keys);
    }
    let files = read_files(object, fields);
    let Some(path) = fields.one(object, "path") else {
        fields.mistakes.at(span(object), "a task group without `path`", "Name it from the root: \"path\" : \"/web\".");
        return None;
    };
    let name = fields.string(path)?.to_string();
    if name == ROOT && !files.is_empty() {
        fields.mistakes.at(
            span(&path.value),
            "the root group has no weight and no limit",
            "Leave it out, or name a group below.",
        );
        return None;
    }
    checked(name, files, path, fields)
}

fn read_files(object: &Object<'_>, fields: &mut Fields<'_>) -> Vec<FileWrite> {
    let mut files = Vec::new();
    for file in FILES {
        let Some(part) = fields.one(object, file.name) else { continue };
        let (text, kind) = match file.is_text() {
            true => (part.value.as_string_lit().map(|text| text.value.as_ref()), "a string in quotes"),
            false => (part.value.as_number_lit().map(|number| number.value), "a whole number"),
        };
        match text {
            Some(text) => files.extend(fields.mistakes.keep(file.read(text), &span(&part.value))),
            None => fields.kind(part, kind),
        }
    }
    files
}

fn checked(path: String, files: Vec<FileWrite>, at: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<GroupUse> {
    let span = span(&at.value);
    fields.mistakes.keep(cgroup::check_path(&path), &span).map(|()| GroupUse { path, files, span })
}

/// Makes the groups of all threads in the order in which they are named, with what is written to their files.
pub(super) fn make(threads: &[Thread], set: &mut TaskSet, mistakes: &mut Mistakes) {
    let mut known: BTreeMap<&str, Vec<FileWrite>> = BTreeMap::new();
    let uses = threads.iter().flat_map(|thread| {
        let phases = thread.phases.iter().filter_map(|phase| phase.attributes.group.as_ref());
        thread.attributes.group.iter().chain(phases)
    });
    for used in uses {
        let Some(id) = row(set, used) else { continue };
        let known = known.entry(&used.path).or_default();
        for &write in &used.files {
            let name = write.file().name;
            match known.iter().find(|other| other.is_beside(&write)) {
                Some(other) if *other == write => {}
                Some(other) => {
                    let message = format!("group `{}` has {} {other} and {name} {write}", used.path, other.file().name);
                    let hint = "Give a group one value of a kind; the other places need its path only.";
                    mistakes.at(used.span.clone(), message, hint);
                }
                None => {
                    known.push(write);
                    let done = write.on(&mut set.groups[id]);
                    let wrong = |(message, hint)| (format!("group `{}`: {message}", used.path), hint);
                    mistakes.keep(done.map_err(wrong), &used.span);
                }
            }
        }
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
