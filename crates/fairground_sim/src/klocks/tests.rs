//! Locks of every kind under random use, and a strict rwsem against a slow model of it.

use super::object::{Answer, Asker, Klock};
use fairground_model::{LockKind, LockMode, LockSpec};
use fairground_stdx::{Instant, Ns, TaskId};
use proptest::prelude::*;
use std::collections::VecDeque;

const TASKS: u32 = 7;

/// What a task does with the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Nothing,
    Holds,
    Sleeps,
    /// It was woken, or its time is up.
    Told,
    Spins,
}

/// A strict rwsem by its rules, with lists that are searched each time.
#[derive(Default, Debug)]
struct Slow {
    inside: Vec<(u32, LockMode)>,
    line: Vec<(u32, LockMode)>,
}

impl Slow {
    fn may_enter(&self, task: u32, mode: LockMode) -> bool {
        let alone = self.inside.is_empty();
        let shares = mode == LockMode::Read && self.inside.iter().all(|other| other.1 == LockMode::Read);
        (alone || shares) && self.line.first().is_none_or(|first| first.0 == task)
    }
    fn ask(&mut self, task: u32, mode: LockMode) {
        let list = if self.may_enter(task, mode) { &mut self.inside } else { &mut self.line };
        list.push((task, mode));
    }
    fn release(&mut self, task: u32) {
        self.inside.retain(|other| other.0 != task);
        if self.inside.is_empty() && self.line.first().is_some_and(|first| first.1 == LockMode::Read) {
            self.inside.extend(self.line.iter().filter(|waits| waits.1 == LockMode::Read));
            self.line.retain(|waits| waits.1 == LockMode::Write);
        }
    }
    fn look_again(&mut self, task: u32) {
        if self.line.first().is_some_and(|first| first.0 == task) && self.inside.is_empty() {
            let first = self.line.remove(0);
            self.inside.push(first);
        }
    }
}

/// A lock, who uses it, and the slow model where there is one.
struct Bench {
    lock: Klock,
    does: Vec<(Does, LockMode)>,
    slow: Option<Slow>,
    now: u64,
}

impl Bench {
    fn new(spec: &LockSpec) -> Bench {
        let strict = spec.kind == LockKind::Rwsem && !spec.steal && !spec.spin;
        let does = vec![(Does::Nothing, LockMode::Write); TASKS as usize];
        Bench { lock: Klock::new(spec), does, slow: strict.then(Slow::default), now: 0 }
    }
    fn asker(&self, task: u32, mode: LockMode, may_spin: bool) -> Asker {
        let now = Instant::from_ns(self.now);
        Asker { task: TaskId::new(task), mode, now, jiffies: self.now / 1_000_000, patience: 4, may_spin }
    }
    fn answered(&mut self, task: u32, answer: Answer) {
        self.does[task as usize].0 = match answer {
            Answer::Got => Does::Holds,
            Answer::Spin => Does::Spins,
            Answer::Sleep => Does::Sleeps,
            // Its timer will ring.
            Answer::SleepUntil(_) => Does::Told,
        };
    }
    fn told(&mut self, woken: VecDeque<TaskId>) {
        for task in woken {
            let does = &mut self.does[task.get() as usize].0;
            assert!(matches!(does, Does::Sleeps | Does::Told), "{task:?} is woken and {does:?}");
            *does = Does::Told;
        }
    }
    /// The task does what is next for it; whoever sleeps goes on sleeping.
    fn step(&mut self, task: u32, reads: bool, may_spin: bool) {
        let mut woken = VecDeque::new();
        let (does, mut mode) = self.does[task as usize];
        match does {
            Does::Nothing | Does::Spins => {
                if does == Does::Nothing {
                    mode = if reads && self.lock.spec.kind.has_readers() { LockMode::Read } else { LockMode::Write };
                    self.does[task as usize].1 = mode;
                }
                let answer = self.lock.ask(&self.asker(task, mode, may_spin), &mut woken);
                if let Some(slow) = &mut self.slow {
                    slow.ask(task, mode);
                }
                self.answered(task, answer);
            }
            Does::Holds => {
                let held = self.lock.release(TaskId::new(task), Instant::from_ns(self.now), &mut woken);
                assert_eq!(held.map(|held| held.mode), Some(mode));
                if let Some(slow) = &mut self.slow {
                    slow.release(task);
                }
                self.does[task as usize].0 = Does::Nothing;
            }
            Does::Told => {
                let answer = self.lock.look_again(&self.asker(task, mode, false));
                if let Some(slow) = &mut self.slow {
                    slow.look_again(task);
                }
                self.answered(task, answer);
            }
            Does::Sleeps => {}
        }
        self.told(woken);
        self.check();
    }
    fn check(&self) {
        let holders = &self.lock.holders;
        assert!(holders.len() < 2 || holders.iter().all(|holder| holder.mode == LockMode::Read), "{holders:?}");
        // Who was let in while it slept has been told.
        for holder in holders {
            assert!(matches!(self.does[holder.task.get() as usize].0, Does::Holds | Does::Told), "{holder:?}");
        }
        let wants = |does: &(Does, LockMode)| matches!(does.0, Does::Sleeps);
        if holders.is_empty() && self.does.iter().any(wants) {
            assert!(
                self.does.iter().any(|does| does.0 == Does::Told),
                "the lock is free, and all who want it sleep: {:?}",
                self.does
            );
        }
        if let Some(slow) = &self.slow {
            let sorted = |mut list: Vec<(u32, LockMode)>| {
                list.sort_unstable_by_key(|row| row.0);
                list
            };
            let inside = holders.iter().map(|holder| (holder.task.get(), holder.mode)).collect();
            assert_eq!(sorted(inside), sorted(slow.inside.clone()));
            let line: Vec<_> = self.lock.queue.iter().map(|waiter| (waiter.task.get(), waiter.mode)).collect();
            assert_eq!(line, slow.line);
        }
    }
    /// All release what they have, until nobody wants anything.
    fn drain(&mut self) {
        for _ in 0..100 {
            for task in 0..TASKS {
                self.now += 20_000_000;
                if self.does[task as usize].0 != Does::Nothing {
                    self.step(task, false, false);
                }
            }
        }
        assert!(self.does.iter().all(|does| does.0 == Does::Nothing), "somebody waits for ever: {:?}", self.does);
        assert!(!self.lock.is_in_use());
    }
}

fn kinds() -> impl Strategy<Value = LockSpec> {
    let kind = prop::sample::select(vec![
        LockKind::Rwsem,
        LockKind::Mutex,
        LockKind::Futex,
        LockKind::PercpuRwsem { rcu_sync: Ns(0) },
        LockKind::PercpuRwsem { rcu_sync: Ns::from_ms(10) },
    ]);
    (kind, any::<bool>(), any::<bool>()).prop_map(|(kind, spin, steal)| {
        let spec = LockSpec::new("l", kind);
        LockSpec { spin: spec.spin && spin, steal: spec.steal && steal, ..spec }
    })
}

proptest! {
    #[test]
    fn a_lock_keeps_its_rules_and_forgets_nobody(
        spec in kinds(),
        steps in prop::collection::vec((0..TASKS, any::<bool>(), any::<bool>(), 0..3_000_000u64), 0..300),
    ) {
        let mut bench = Bench::new(&spec);
        for (task, reads, may_spin, passes) in steps {
            bench.now += passes;
            bench.step(task, reads, may_spin);
        }
        bench.drain();
    }

    #[test]
    fn a_strict_rwsem_is_as_the_slow_model(
        steps in prop::collection::vec((0..TASKS, any::<bool>(), 0..3_000_000u64), 0..300),
    ) {
        let mut bench = Bench::new(&LockSpec::new("l", LockKind::Rwsem).fifo());
        for (task, reads, passes) in steps {
            bench.now += passes;
            bench.step(task, reads, false);
        }
        bench.drain();
    }
}
