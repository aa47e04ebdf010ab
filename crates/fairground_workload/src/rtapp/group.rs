//! `taskgroup`: the CPU cgroup of a thread or phase. rt-app makes the directories that are not there.

use super::json::{Fields, key, span};
use super::task::Thread;
use fairground_model::cgroup::{self, PathError, ROOT, WEIGHTS};
use fairground_model::{Instr, Mistakes, TaskSet};
use fairground_stdx::TgId;
use jsonc_parser::ast::ObjectProp;
use std::collections::BTreeMap;
use std::ops::Range;

/// One `taskgroup`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupUse {
    /// The path from the root.
    path: String,
    /// Its cpu.weight, if one is given here.
    weight: Option<u64>,
    /// Place of the value.
    span: Range<usize>,
}

/// Files that the object form may name and that are not modelled.
const REFUSED: [(&str, &str); 4] = [
    ("cpu.max", "needs quota"),
    ("cpu.max.burst", "needs quota"),
    ("cpu.uclamp.min", "needs utilization clamping"),
    ("cpu.uclamp.max", "needs utilization clamping"),
];

/// Reads `"taskgroup" : "/web"`, as rt-app has it, or `{ "path" : "/web", "cpu.weight" : 200 }`, in which the files of the group are set too.
/// An empty name is as if there was none.
pub(super) fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<GroupUse> {
    if property.value.as_object().is_none() {
        let path = property.value.as_string_lit().map(|path| path.value.to_string());
        let Some(path) = path else {
            fields.kind(property, "a path in quotes or { \"path\" : \"/web\", \"cpu.weight\" : 200 }");
            return None;
        };
        return (!path.is_empty()).then(|| checked(path, None, property, fields)).flatten();
    }
    let object = fields.object(property)?;
    for part in &object.properties {
        let name = key(part).0;
        match REFUSED.iter().find(|row| row.0 == name) {
            Some((_, needs)) => fields.not_modelled(part, needs),
            None if ["path", "cpu.weight"].contains(&name) => {}
            None => fields.unknown(part, "a task group", &["path", "cpu.weight"]),
        }
    }
    let weight = fields.one(object, "cpu.weight").and_then(|part| {
        let (low, high) = (WEIGHTS.start().cast_signed(), WEIGHTS.end().cast_signed());
        fields.int(part, low, high, "a cpu.weight").and_then(|weight| u64::try_from(weight).ok())
    });
    let Some(path) = fields.one(object, "path") else {
        fields.mistakes.at(span(object), "a task group without `path`", "Name it from the root: \"path\" : \"/web\".");
        return None;
    };
    let name = fields.string(path)?.to_string();
    if name == ROOT && weight.is_some() {
        fields.mistakes.at(span(&path.value), "the root group has no weight", "Leave it out, or name a group below.");
        return None;
    }
    checked(name, weight, path, fields)
}

fn checked(path: String, weight: Option<u64>, at: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<GroupUse> {
    match cgroup::check_path(&path) {
        Ok(()) => Some(GroupUse { path, weight, span: span(&at.value) }),
        Err(PathError { message, hint }) => {
            fields.mistakes.at(span(&at.value), message, hint);
            None
        }
    }
}

/// Makes the groups of all threads in the order in which they are named, with their weights.
pub(super) fn make(threads: &[Thread], set: &mut TaskSet, mistakes: &mut Mistakes) {
    let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
    let uses = threads.iter().flat_map(|thread| {
        let phases = thread.phases.iter().filter_map(|phase| phase.attributes.group.as_ref());
        thread.attributes.group.iter().chain(phases)
    });
    for used in uses {
        let Some(id) = row(set, used) else { continue };
        let Some(weight) = used.weight else { continue };
        let known = *weights.entry(&used.path).or_insert(weight);
        set.groups[id].shares = cgroup::weight_to_shares(known);
        if known != weight {
            let message = format!("group `{}` has cpu.weight {known} and {weight}", used.path);
            mistakes.at(used.span.clone(), message, "Give a group one weight; the other places need its path only.");
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
