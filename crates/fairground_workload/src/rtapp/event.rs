//! Events: what a thread does, one after the other.

use super::json::{Fields, key, span};
use super::sync::{self, CondUse, Sync};
use fairground_model::TimerMode;
use fairground_stdx::Ns;
use jsonc_parser::ast::{Object, ObjectProp};
use std::ops::Range;

/// One event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// Work, in ns on a CPU of capacity 1024.
    Run(Ns),
    /// Computes until so much time has passed, however much of it was spent waiting.
    Runtime(Ns),
    Sleep(Ns),
    Timer(TimerUse),
    Yield,
    Sync(Sync),
    /// Starts a thread of another object.
    Fork(ForkUse),
}

/// One `fork`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ForkUse {
    /// The thread object.
    pub(super) thread: String,
    pub(super) span: Range<usize>,
}

/// One use of a timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TimerUse {
    /// The name under `ref`.
    pub(super) name: String,
    pub(super) period: Ns,
    pub(super) mode: TimerMode,
    pub(super) span: Range<usize>,
}

/// rt-app finds the kind of an event by the beginning of its key (`run0` is a `run`); where one
/// kind begins as another does, the longer stands first.
const KINDS: &[(&str, Kind)] = &[
    ("runtime", Kind::Runtime),
    ("run", Kind::Run),
    ("sleep", Kind::Sleep),
    ("timer", Kind::Timer),
    ("yield", Kind::Yield),
    ("memrun", Kind::Refused("needs the machine's memory")),
    ("mem", Kind::Refused("needs the machine's memory")),
    ("iorun", Kind::Refused("needs devices")),
    ("lock", Kind::Named(Sync::Lock)),
    ("unlock", Kind::Named(Sync::Unlock)),
    ("wait", Kind::UnderMutex(Sync::Wait)),
    ("signal", Kind::Named(Sync::Signal)),
    ("broad", Kind::Named(Sync::Broadcast)),
    ("sync", Kind::UnderMutex(Sync::SignalAndWait)),
    ("suspend", Kind::Named(Sync::Suspend)),
    ("resume", Kind::Named(Sync::Resume)),
    ("barrier", Kind::Named(Sync::Barrier)),
    ("fork", Kind::Fork),
    ("sem_post", Kind::Refused("needs semaphores")),
    ("sem_wait", Kind::Refused("needs semaphores")),
];

#[derive(Clone, Copy)]
enum Kind {
    Run,
    Runtime,
    Sleep,
    Timer,
    Yield,
    Named(fn(String) -> Sync),
    UnderMutex(fn(CondUse) -> Sync),
    Fork,
    Refused(&'static str),
}

fn kind(name: &str) -> Option<Kind> {
    KINDS.iter().find(|row| name.starts_with(row.0)).map(|row| row.1)
}

/// The events that can be used, for hints.
pub(super) const NAMES: &[&str] = &[
    "run", "runtime", "sleep", "timer", "yield", "lock", "unlock", "wait", "signal", "broad", "sync", "suspend", "resume",
    "barrier", "fork",
];

pub(super) fn is_event(name: &str) -> bool {
    kind(name).is_some()
}

/// The events of an object in the order in which they stand there. Repeated keys are kept: rt-app's
/// workgen numbers them for the same purpose.
pub(super) fn read_all(object: &Object<'_>, fields: &mut Fields<'_>) -> Vec<Event> {
    object.properties.iter().filter_map(|property| read(property, fields)).collect()
}

fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<Event> {
    match kind(key(property).0)? {
        Kind::Run => fields.usec(property).map(|usec| Event::Run(Ns::from_us(usec))),
        Kind::Runtime => fields.usec(property).map(|usec| Event::Runtime(Ns::from_us(usec))),
        Kind::Sleep => fields.usec(property).map(|usec| Event::Sleep(Ns::from_us(usec))),
        Kind::Yield => Some(Event::Yield),
        Kind::Timer => timer(property, fields).map(Event::Timer),
        Kind::Named(make) => sync::named(property, fields, make),
        Kind::UnderMutex(make) => sync::under_mutex(property, fields, make),
        Kind::Fork => {
            let thread = fields.string(property)?.to_string();
            Some(Event::Fork(ForkUse { thread, span: span(&property.value) }))
        }
        Kind::Refused(needs) => {
            fields.not_modelled(property, needs);
            None
        }
    }
}

/// `{ "ref" : NAME, "period" : MICROSECONDS, "mode" : "relative" or "absolute" }`. What is missing
/// has rt-app's defaults: the name `unknown`, the period 0, `relative`.
fn timer(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<TimerUse> {
    let object = fields.object(property)?;
    let mut used = TimerUse { name: "unknown".into(), period: Ns::ZERO, mode: TimerMode::Relative, span: key(property).1 };
    for part in &object.properties {
        match key(part).0 {
            "ref" => used.name = fields.string(part).unwrap_or_default().into(),
            "period" => used.period = Ns::from_us(fields.usec(part).unwrap_or(0)),
            "mode" => match fields.string(part) {
                Some("absolute") => used.mode = TimerMode::Absolute,
                Some("relative") | None => {}
                Some(_) => fields.kind(part, "\"relative\" or \"absolute\""),
            },
            _ => fields.unknown(part, "a timer", &["ref", "period", "mode"]),
        }
    }
    ["ref", "period", "mode"].iter().for_each(|name| {
        fields.one(object, name);
    });
    Some(used)
}
