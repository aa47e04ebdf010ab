//! What no task can do is named.

use super::support::{fifo, kernel, read, setup, stopped, syscall, unlock, write};
use crate::common::{Build, work};
use fairground_model::{Instr, LockKind, TaskSet};
use fairground_sim::{Misuse, Simulation, Stopped};
use fairground_stdx::LockId;

/// What a task does with a lock.
type Code = fn(LockId) -> Vec<Instr>;

fn misuse(code: Code) -> (Misuse, String) {
    let mut set = TaskSet::default();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    set.task("a", code(lock));
    let why = stopped(set);
    let what = if let Stopped::Misuse { what, .. } = why { Some(what) } else { None };
    assert!(!why.hint().is_empty());
    (what.unwrap(), why.to_string())
}

#[test]
fn what_no_task_can_do_is_named_and_not_done() {
    let cases: [(Misuse, Code, &str); 8] = [
        (Misuse::EntersTwice, |_| vec![Instr::Enter, Instr::Enter], "task `a` enters the kernel, where it is already at 0ns"),
        (Misuse::LeavesOutside, |_| vec![Instr::Leave], "leaves the kernel"),
        (Misuse::LeavesWithLock, |lock| syscall(&[read(lock)]), "with a lock of the kernel"),
        (Misuse::EndsWithLock, |lock| vec![Instr::Enter, read(lock)], "ends while it holds a lock"),
        (Misuse::OutsideKernel, |lock| vec![work(5), read(lock)], "in user mode at 5ns: `sem`"),
        (Misuse::TakesTwice, |lock| syscall(&[write(lock), write(lock)]), "takes a lock that it holds at 0ns: `sem`"),
        (
            Misuse::NotWritten,
            |lock| syscall(&[read(lock), Instr::Downgrade { lock }]),
            "downgrades what is no rwsem that it holds to write at 0ns: `sem`",
        ),
        (Misuse::NotHeld, |lock| syscall(&[unlock(lock)]), "releases a lock that it does not hold at 0ns: `sem`"),
    ];
    for (what, code, text) in cases {
        let found = misuse(code);
        assert_eq!(found.0, what);
        assert!(found.1.contains(text), "{}", found.1);
    }
}

#[test]
fn a_lock_without_readers_is_not_read() {
    let mut set = TaskSet::default();
    let lock = fifo(&mut set, "m", LockKind::Mutex);
    set.task("a", syscall(&[read(lock), unlock(lock)]));
    let wrong = Simulation::new(setup(set, 1, kernel("v6.12", "full"), 10)).err().unwrap();
    assert!(wrong.to_string().contains("task `a` reads under lock `m`, which is a mutex"), "{wrong}");
}
