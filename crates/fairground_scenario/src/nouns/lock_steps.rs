//! Steps in the kernel and with locks, and how locks are declared.
//!
//! ```text
//! enter             leave              kernel 1ms         nopreempt 1ms      irqoff 1ms..2ms
//! cond-resched      might-sleep        lock L read        lock L write       lock L        unlock L      downgrade L
//! locks = { mmap = "rwsem", m = "mutex fifo", c = "percpu-rwsem 10ms", f = "futex" }
//! ```

use crate::nouns::step_args::{Names, length, named, run_between};
use crate::text::Wrong;
use fairground_model::{Instr, LockKind, LockMode, LockSpec, Mode, RCU_SYNC_DELAY};
use fairground_stdx::{Id, LockId, Ns};

/// The steps that [`read`] knows.
pub(crate) const VERBS: [&str; 9] =
    ["enter", "leave", "nopreempt", "irqoff", "cond-resched", "might-sleep", "lock", "unlock", "downgrade"];

/// Reads a step; none if its verb is not one of these, or one that takes no value has one.
pub(crate) fn read(verb: &str, value: &str, names: &Names) -> Option<Result<Instr, Wrong>> {
    Some(match (verb, value) {
        ("enter", "") => Ok(Instr::Enter),
        ("leave", "") => Ok(Instr::Leave),
        ("cond-resched", "") => Ok(Instr::CondResched),
        ("might-sleep", "") => Ok(Instr::MightSleep),
        ("nopreempt", _) => run_between(value, Mode::NoPreempt),
        ("irqoff", _) => run_between(value, Mode::IrqOff),
        ("unlock", _) => find(value, names).map(|lock| Instr::Unlock { lock }),
        ("downgrade", _) => downgrade(value, names),
        ("lock", _) => take(value, names),
        _ => return None,
    })
}

fn find(name: &str, names: &Names) -> Result<LockId, Wrong> {
    let known: Vec<String> = names.locks.iter().map(|lock| lock.0.clone()).collect();
    named(name, &known, "lock").map(LockId::from_index)
}

fn downgrade(name: &str, names: &Names) -> Result<Instr, Wrong> {
    let lock = find(name, names)?;
    match names.locks[lock.index()].1 {
        LockKind::Rwsem => Ok(Instr::Downgrade { lock }),
        kind => Err((format!("`{name}` is a {} and cannot be downgraded", kind.name()), "Only a rwsem can.".to_string())),
    }
}

/// `NAME`, `NAME read` or `NAME write`; a name may hold blanks.
fn take(value: &str, names: &Names) -> Result<Instr, Wrong> {
    let (name, mode) = match value.rsplit_once(char::is_whitespace) {
        Some((name, "read")) => (name.trim(), Some(LockMode::Read)),
        Some((name, "write")) => (name.trim(), Some(LockMode::Write)),
        _ => (value, None),
    };
    let lock = find(name, names)?;
    let has_readers = names.locks[lock.index()].1.has_readers();
    match (mode, has_readers) {
        (None, true) => {
            Err((format!("`lock {name}` without a mode"), format!("Write `lock {name} read` or `lock {name} write`.")))
        }
        (Some(LockMode::Read), false) => {
            Err((format!("`{name}` has no readers"), format!("Write `lock {name}`: only rwsem and percpu-rwsem have readers.")))
        }
        (mode, _) => Ok(Instr::Lock { lock, mode: mode.unwrap_or(LockMode::Write) }),
    }
}

/// A lock as it is declared: its kind, and what differs from the kernel's habits.
pub(crate) fn declared(name: &str, text: &str) -> Result<LockSpec, Wrong> {
    let mut words = text.split_whitespace();
    let kind = match words.next() {
        Some("rwsem") => LockKind::Rwsem,
        Some("percpu-rwsem") => LockKind::PercpuRwsem { rcu_sync: RCU_SYNC_DELAY },
        Some("mutex") => LockKind::Mutex,
        Some("futex") => LockKind::Futex,
        _ => {
            let hint = "Kinds of locks are rwsem, percpu-rwsem, mutex and futex: `locks = { l = \"rwsem\" }`.";
            return Err((format!("`{text}` is no lock"), hint.to_string()));
        }
    };
    let mut spec = LockSpec::new(name, kind);
    for word in words {
        match (word, &mut spec.kind) {
            ("fifo", LockKind::Rwsem | LockKind::Mutex) => spec = spec.fifo(),
            ("no-spin", LockKind::Rwsem | LockKind::Mutex) => spec.spin = false,
            ("no-steal", LockKind::Rwsem | LockKind::Mutex) => spec.steal = false,
            (delay, LockKind::PercpuRwsem { rcu_sync }) => *rcu_sync = length(delay)?,
            _ => {
                let hint = "A rwsem or mutex may be `fifo`, `no-spin` or `no-steal`; a percpu-rwsem has the wait for RCU: `percpu-rwsem 10ms`.";
                return Err((format!("a {} is not `{word}`", kind.name()), hint.to_string()));
            }
        }
    }
    Ok(spec)
}

/// A lock as [`declared`] reads it.
pub(crate) fn declaration(spec: &LockSpec) -> String {
    let habits = match (spec.spin, spec.steal) {
        _ if !matches!(spec.kind, LockKind::Rwsem | LockKind::Mutex) => "",
        (true, true) => "",
        (true, false) => " no-steal",
        (false, true) => " no-spin",
        (false, false) => " fifo",
    };
    let delay = match spec.kind {
        LockKind::PercpuRwsem { rcu_sync } => format!(" {rcu_sync}"),
        LockKind::Rwsem | LockKind::Mutex | LockKind::Futex => String::new(),
    };
    format!("{}{habits}{delay}", spec.kind.name())
}

/// The step as [`read`] reads it; none if it is not one of these.
pub(crate) fn text(instr: &Instr, names: &Names) -> Option<String> {
    let name = |lock: LockId| names.locks.get(lock.index());
    Some(match *instr {
        Instr::Enter => "enter".to_string(),
        Instr::Leave => "leave".to_string(),
        Instr::CondResched => "cond-resched".to_string(),
        Instr::MightSleep => "might-sleep".to_string(),
        Instr::Unlock { lock } => format!("unlock {}", name(lock)?.0),
        Instr::Downgrade { lock } => format!("downgrade {}", name(lock)?.0),
        Instr::Lock { lock, mode } => {
            let (name, kind) = name(lock)?;
            let mode = match mode {
                LockMode::Read => " read",
                LockMode::Write if kind.has_readers() => " write",
                LockMode::Write => "",
            };
            format!("lock {name}{mode}")
        }
        _ => return None,
    })
}

/// The verb of a stretch of computing, and none for those that are told by the clock.
pub(crate) const fn verb(mode: Mode) -> &'static str {
    match mode {
        Mode::User => "run",
        Mode::Kernel => "kernel",
        Mode::NoPreempt => "nopreempt",
        Mode::IrqOff => "irqoff",
    }
}

/// How long a task may wait uninterruptibly before it counts as hung: at least as long as something takes.
pub(crate) fn hung_task_timeout(time: Ns) -> Result<Ns, Wrong> {
    let wrong = || ("a timeout of 0".to_string(), "Write `hung_task_timeout = \"120s\"`, the kernel's default.".to_string());
    if time > Ns::ZERO { Ok(time) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_read_back() {
        for text in ["rwsem", "rwsem fifo", "rwsem no-spin", "mutex no-steal", "percpu-rwsem 10ms", "percpu-rwsem 0ns", "futex"] {
            assert_eq!(declaration(&declared("l", text).unwrap()), text);
        }
        assert_eq!(declaration(&declared("l", "percpu-rwsem").unwrap()), "percpu-rwsem 10ms");
        for (text, part) in [
            ("", "is no lock"),
            ("spinlock", "`spinlock` is no lock"),
            ("futex fifo", "a futex is not `fifo`"),
            ("mutex fast", "a mutex is not `fast`"),
            ("percpu-rwsem soon", "`soon`"),
        ] {
            let wrong = declared("l", text).unwrap_err();
            assert!(wrong.0.contains(part), "{wrong:?}");
        }
    }
}
