//! Events with which threads wait for one another: mutexes, conditions, barriers, `suspend` and `resume`.
//!
//! A mutex is a futex lock. A condition is a word that counts its signals and on which waiters sleep: who has read it before it let
//! the mutex go misses no signal that comes in between. `suspend` and `resume` are a condition without a mutex of the file.

use super::event::Event;
use super::json::{Fields, key};
use fairground_model::{Arithmetic, Instr, LockKind, LockMode, LockSpec, Program, TaskSet, Test, Value};
use fairground_stdx::{LockId, WordId};
use jsonc_parser::ast::ObjectProp;
use std::collections::BTreeMap;

/// One event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Sync {
    Lock(String),
    Unlock(String),
    /// Waits for a condition under a mutex.
    Wait(CondUse),
    /// Signals it, then waits for it.
    SignalAndWait(CondUse),
    Signal(String),
    Broadcast(String),
    /// Waits until as many threads have come as use it.
    Barrier(String),
    /// Sleeps until another thread resumes this name; an empty one is that of the thread.
    Suspend(String),
    Resume(String),
}

/// A condition and the mutex under which it is waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CondUse {
    cond: String,
    mutex: String,
}

impl Sync {
    /// Whether whoever does it may have to wait.
    pub(super) fn waits(&self) -> bool {
        !matches!(self, Sync::Unlock(_) | Sync::Signal(_) | Sync::Broadcast(_) | Sync::Resume(_) | Sync::Lock(_))
    }
}

/// Reads `"lock" : "m"` and the others that name one thing.
pub(super) fn named(property: &ObjectProp<'_>, fields: &mut Fields<'_>, make: fn(String) -> Sync) -> Option<Event> {
    let name = fields.string(property)?.to_string();
    if name.is_empty() && !matches!(make(String::new()), Sync::Suspend(_)) {
        fields.kind(property, "a name");
        return None;
    }
    Some(Event::Sync(make(name)))
}

/// Reads `{ "ref" : CONDITION, "mutex" : MUTEX }`.
pub(super) fn under_mutex(property: &ObjectProp<'_>, fields: &mut Fields<'_>, make: fn(CondUse) -> Sync) -> Option<Event> {
    let object = fields.object(property)?;
    for part in &object.properties {
        if !["ref", "mutex"].contains(&key(part).0) {
            fields.unknown(part, "a wait for a condition", &["ref", "mutex"]);
        }
    }
    let mut name = |what| {
        let found = fields.one(object, what).and_then(|part| fields.string(part)).filter(|name| !name.is_empty());
        found.map(str::to_string)
    };
    let (cond, mutex) = (name("ref"), name("mutex"));
    let (Some(cond), Some(mutex)) = (cond, mutex) else {
        fields.kind(property, "{ \"ref\" : \"condition\", \"mutex\" : \"mutex\" }");
        return None;
    };
    Some(Event::Sync(make(CondUse { cond, mutex })))
}

/// What the events of a file name.
#[derive(Default)]
pub(super) struct Resources {
    mutexes: BTreeMap<String, LockId>,
    conds: BTreeMap<String, WordId>,
    resumes: BTreeMap<String, WordId>,
    barriers: BTreeMap<String, Barrier>,
}

/// The words of a barrier.
#[derive(Clone, Copy)]
struct Barrier {
    /// How many have still to come before the last.
    missing: WordId,
    /// How often it has opened.
    opened: WordId,
}

impl Resources {
    /// Makes what `events` name; each of `users` threads does all of them. A barrier counts each use of each thread.
    pub(super) fn add<'e>(&mut self, events: impl Iterator<Item = &'e Event>, thread: &str, users: u32, set: &mut TaskSet) {
        for event in events {
            let Event::Sync(sync) = event else { continue };
            match sync {
                Sync::Lock(name) | Sync::Unlock(name) => self.mutex(name, set),
                Sync::Wait(used) | Sync::SignalAndWait(used) => {
                    self.mutex(&used.mutex, set);
                    self.conds.entry(used.cond.clone()).or_insert_with(|| set.words.push(0));
                }
                Sync::Signal(name) | Sync::Broadcast(name) => {
                    self.conds.entry(name.clone()).or_insert_with(|| set.words.push(0));
                }
                Sync::Suspend(name) | Sync::Resume(name) => {
                    let name = if name.is_empty() { thread } else { name };
                    self.resumes.entry(name.to_string()).or_insert_with(|| set.words.push(0));
                }
                Sync::Barrier(name) => match self.barriers.get(name) {
                    Some(barrier) => set.words[barrier.missing] += u64::from(users),
                    None => {
                        let missing = set.words.push(u64::from(users.saturating_sub(1)));
                        self.barriers.insert(name.clone(), Barrier { missing, opened: set.words.push(0) });
                    }
                },
            }
        }
    }

    fn mutex(&mut self, name: &str, set: &mut TaskSet) {
        self.mutexes.entry(name.to_string()).or_insert_with(|| set.locks.push(LockSpec::new(name, LockKind::Futex)));
    }

    /// Appends what an event of a thread does; `reg` is free.
    pub(super) fn compile(&self, sync: &Sync, thread: &str, reg: u8, program: &mut Program) {
        match sync {
            Sync::Lock(name) => lock(program, self.mutexes[name]),
            Sync::Unlock(name) => unlock(program, self.mutexes[name]),
            Sync::Wait(used) => self.wait(used, reg, program),
            Sync::SignalAndWait(used) => {
                signal(program, self.conds[&used.cond], reg, 1);
                self.wait(used, reg, program);
            }
            Sync::Signal(name) => signal(program, self.conds[name], reg, 1),
            Sync::Broadcast(name) => signal(program, self.conds[name], reg, u32::MAX),
            Sync::Suspend(name) => {
                let word = self.resumes[if name.is_empty() { thread } else { name }];
                program.push(Instr::Load { word: word.into(), into: reg });
                sleep(program, word, reg);
            }
            Sync::Resume(name) => signal(program, self.resumes[name], reg, u32::MAX),
            Sync::Barrier(name) => barrier(program, self.barriers[name], reg),
        }
    }

    /// pthread_cond_wait.
    fn wait(&self, used: &CondUse, reg: u8, program: &mut Program) {
        let (cond, mutex) = (self.conds[&used.cond], self.mutexes[&used.mutex]);
        program.push(Instr::Load { word: cond.into(), into: reg });
        unlock(program, mutex);
        sleep(program, cond, reg);
        lock(program, mutex);
    }
}

fn lock(program: &mut Program, lock: LockId) {
    program.push(Instr::Lock { lock, mode: LockMode::Write });
}

fn unlock(program: &mut Program, lock: LockId) {
    program.push(Instr::Unlock { lock });
}

/// Sleeps unless the word has changed since it was read into the register.
fn sleep(program: &mut Program, word: WordId, reg: u8) {
    program.push(Instr::FutexWait { word: word.into(), value: Value::Reg(reg) });
}

/// pthread_cond_signal, pthread_cond_broadcast.
fn signal(program: &mut Program, word: WordId, reg: u8, count: u32) {
    add(program, word, reg, Arithmetic::Plus);
    program.push(Instr::FutexWake { word: word.into(), count });
}

/// One more or less in a word, at one instant.
fn add(program: &mut Program, word: WordId, reg: u8, by: Arithmetic) {
    program.push(Instr::Load { word: word.into(), into: reg });
    program.push(Instr::Calculate { reg, by, value: Value::Const(1) });
    program.push(Instr::Store { word: word.into(), value: Value::Reg(reg) });
}

/// The last one that comes opens it; each of the others is missing again when it has gone on, as in rt-app.
fn barrier(program: &mut Program, barrier: Barrier, reg: u8) {
    const FIRST: u32 = 10;
    let start = program.push(Instr::Load { word: barrier.missing.into(), into: reg });
    program.push(Instr::JumpIf { reg, is: Test::Equal, value: Value::Const(0), to: start + FIRST });
    program.push(Instr::Calculate { reg, by: Arithmetic::Minus, value: Value::Const(1) });
    program.push(Instr::Store { word: barrier.missing.into(), value: Value::Reg(reg) });
    program.push(Instr::Load { word: barrier.opened.into(), into: reg });
    sleep(program, barrier.opened, reg);
    add(program, barrier.missing, reg, Arithmetic::Plus);
    let skip = program.push(Instr::Jump { to: 0 });
    signal(program, barrier.opened, reg, u32::MAX);
    let end = program.here();
    program.code[skip as usize] = Instr::Jump { to: end };
}
