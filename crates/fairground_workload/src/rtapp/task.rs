//! Thread objects with their phases.

use super::event::{self, Event};
use super::json::{Fields, key, span};
use super::notes::Notes;
use super::policy::{self, Attributes};
use fairground_stdx::Ns;
use jsonc_parser::ast::{Object, ObjectProp};
use std::ops::Range;

/// How often a thread or a phase is repeated; `None` = for ever.
pub(super) type Loop = Option<u64>;

/// One thread object.
pub(super) struct Thread {
    pub(super) name: String,
    /// Place of the name.
    pub(super) span: Range<usize>,
    pub(super) instances: u32,
    pub(super) delay: Ns,
    pub(super) attributes: Attributes,
    pub(super) repeat: Loop,
    pub(super) phases: Vec<Phase>,
}

/// One phase object.
pub(super) struct Phase {
    pub(super) attributes: Attributes,
    pub(super) repeat: Loop,
    pub(super) events: Vec<Event>,
}

/// Linux's default limit on process ids; more threads could not be made.
const MAX_THREADS: i64 = 32_768;

const THREAD_KEYS: &[&str] = &["instance", "delay", "loop", "phases"];
const PHASE_KEYS: &[&str] = &["loop"];

pub(super) fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>, notes: &mut Notes) -> Option<Thread> {
    let object = fields.object(property)?;
    let (name, at) = key(property);
    let mut thread = Thread {
        name: name.into(),
        span: at,
        instances: 1,
        delay: Ns::ZERO,
        attributes: policy::attributes(object, fields, notes),
        repeat: None,
        phases: Vec::new(),
    };
    if let Some(instances) = fields.one(object, "instance") {
        let count = fields.int(instances, 0, MAX_THREADS, "a number of threads");
        thread.instances = count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1);
    }
    if let Some(delay) = fields.one(object, "delay") {
        thread.delay = Ns::from_us(fields.usec(delay).unwrap_or(0));
    }
    match fields.one(object, "phases") {
        Some(phases) => with_phases(&mut thread, object, phases, fields, notes),
        None => single_phase(&mut thread, object, fields),
    }
    no_time_passes(&thread, fields);
    Some(thread)
}

fn with_phases(thread: &mut Thread, object: &Object<'_>, phases: &ObjectProp<'_>, fields: &mut Fields<'_>, notes: &mut Notes) {
    for property in &object.properties {
        let name = key(property).0;
        if event::is_event(name) {
            let hint = "Move it into a phase: where there are phases, rt-app ignores events beside them.";
            fields.mistakes.at(key(property).1, format!("event `{name}` stands beside `phases`"), hint);
        } else {
            known(property, "a thread object", &[THREAD_KEYS, policy::KEYS], fields);
        }
    }
    thread.repeat = repeat(object, None, 0, fields);
    let Some(phases) = fields.object(phases) else { return };
    if phases.properties.is_empty() {
        fields.mistakes.at(
            span(phases),
            format!("`{}` has no phase", thread.name),
            "Write at least one: { \"p0\" : { \"run\" : 1000 } }.",
        );
    }
    for property in &phases.properties {
        let Some(object) = fields.object(property) else { continue };
        for property in object.properties.iter().filter(|property| !event::is_event(key(property).0)) {
            known(property, "a phase object", &[PHASE_KEYS, policy::KEYS, event::NAMES], fields);
        }
        let attributes = policy::attributes(object, fields, notes);
        let repeat = repeat(object, Some(1), 1, fields);
        let events = events(object, fields);
        if thread.phases.last().is_some_and(|before| before.repeat.is_none()) {
            notes.add(&format!(
                "thread `{}`: the phase `{}` is never reached, the one before it has no end",
                thread.name,
                key(property).0
            ));
        }
        thread.phases.push(Phase { attributes, repeat, events });
    }
}

/// Events directly in the thread object: one phase that takes `loop` for itself. The thread then
/// goes through it once, or for ever where no `loop` is given.
fn single_phase(thread: &mut Thread, object: &Object<'_>, fields: &mut Fields<'_>) {
    for property in object.properties.iter().filter(|property| !event::is_event(key(property).0)) {
        known(property, "a thread object", &[THREAD_KEYS, policy::KEYS, event::NAMES], fields);
    }
    let given = object.properties.iter().any(|property| key(property).0 == "loop");
    thread.repeat = given.then_some(1);
    let repeat = repeat(object, Some(1), 1, fields);
    let events = events(object, fields);
    thread.phases.push(Phase { attributes: Attributes::default(), repeat, events });
}

fn known(property: &ObjectProp<'_>, place: &str, keys: &[&[&str]], fields: &mut Fields<'_>) {
    let name = key(property).0;
    if !keys.iter().any(|keys| keys.contains(&name)) {
        fields.unknown(property, place, &keys.concat());
    }
}

/// `loop`: -1 is for ever. A phase with `loop` 0 would go on for ever too (rt-app compares after
/// the round), so it is a mistake there.
fn repeat(object: &Object<'_>, default: Loop, low: i64, fields: &mut Fields<'_>) -> Loop {
    let Some(property) = fields.one(object, "loop") else { return default };
    if property.value.as_number_lit().is_some_and(|number| number.value == "-1") {
        return None;
    }
    let rounds = fields.int(property, low, i64::from(i32::MAX), "a number of rounds, -1 for ever");
    rounds.map_or(default, |rounds| u64::try_from(rounds).ok())
}

fn events(object: &Object<'_>, fields: &mut Fields<'_>) -> Vec<Event> {
    if !object.properties.iter().any(|property| event::is_event(key(property).0)) {
        let hint = format!("A loop without an event never ends. The events are: {}.", event::NAMES.join(", "));
        fields.mistakes.at(span(object), "there is no event here", hint);
    }
    event::read_all(object, fields)
}

/// The longest row of rounds in which no time passes: beyond it a simulation would seem to hang.
const MAX_IDLE_ROUNDS: u64 = 1_000_000;

/// Finds loops that go on for ever without letting time pass.
fn no_time_passes(thread: &Thread, fields: &mut Fields<'_>) {
    let rounds = |repeat: Loop| repeat.unwrap_or(u64::MAX);
    let idle = |phase: &Phase| !phase.events.iter().any(takes_time);
    let longest = thread.phases.iter().filter(|phase| idle(phase)).map(|phase| rounds(phase.repeat)).max().unwrap_or(0);
    let again = if thread.phases.iter().all(idle) { rounds(thread.repeat) } else { 1 };
    let endless = longest.saturating_mul(again) > MAX_IDLE_ROUNDS;
    let silent = thread.phases.iter().all(|phase| phase.events.is_empty());
    if endless && !silent {
        let hint = "Give run, sleep or timer a length of more than 0.";
        fields.mistakes.at(thread.span.clone(), format!("`{}` loops without letting time pass", thread.name), hint);
    }
}

fn takes_time(event: &Event) -> bool {
    match event {
        Event::Run(time) | Event::Runtime(time) | Event::Sleep(time) => *time > Ns::ZERO,
        Event::Timer(timer) => timer.period > Ns::ZERO,
        Event::Sync(sync) => sync.waits(),
        Event::Yield | Event::Fork(_) => false,
    }
}
