//! Steps in the kernel and with locks, and how locks are declared.
//!
//! ```text
//! enter             leave              kernel 1ms         nopreempt 1ms      irqoff 1ms..2ms
//! cond-resched      might-sleep        lock L read        lock L write       lock L        unlock L      downgrade L
//! locks = { mmap = "rwsem", m = "mutex fifo", c = "percpu-rwsem 10ms", f = "futex" }
//! locks = { s = "spin", t = "spin rounds 10..1000 round 50ns sleep 1ms..1s", u = "spin rounds 100 no-sleep" }
//! ```

use crate::nouns::step_args::{Names, between, length, named, run_between};
use crate::text::Wrong;
use fairground_model::{Instr, LockKind, LockMode, LockSpec, Mode, RCU_SYNC_DELAY, SpinSpec};
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
    if let Some(habits) =
        text.trim_start().strip_prefix("spin").filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    {
        return spin_habits(habits).map(|spec| LockSpec::new(name, LockKind::Spin(spec)));
    }
    let kind = match words.next() {
        Some("rwsem") => LockKind::Rwsem,
        Some("percpu-rwsem") => LockKind::PercpuRwsem { rcu_sync: RCU_SYNC_DELAY },
        Some("mutex") => LockKind::Mutex,
        Some("futex") => LockKind::Futex,
        _ => {
            let hint = "Kinds of locks are rwsem, percpu-rwsem, mutex, futex and spin: `locks = { l = \"rwsem\" }`.";
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

/// What stands behind `spin`: pairs of a word and its value, and `no-sleep`.
fn spin_habits(text: &str) -> Result<SpinSpec, Wrong> {
    let hint = "Write `spin` alone for what PostgreSQL does, or some of `rounds 10..1000`, `round 50ns`, `sleep 1ms..1s`, `no-sleep` behind it.";
    let wrong = |message: String| (message, hint.to_string());
    let mut spec = SpinSpec::POSTGRES;
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word == "no-sleep" {
            spec.sleep = None;
            continue;
        }
        if !["rounds", "round", "sleep"].contains(&word) {
            return Err(wrong(format!("a spin is not `{word}`")));
        }
        let value = words.next().ok_or_else(|| wrong(format!("`{word}` without a value")))?;
        match word {
            "rounds" => {
                let (low, high) = value.split_once("..").unwrap_or((value, value));
                let count = |text: &str| text.parse::<u32>().map_err(|_| wrong(format!("`{text}` is no number of rounds")));
                spec.rounds = (count(low)?, count(high)?);
            }
            "round" => spec.round = length(value)?,
            _ => spec.sleep = Some(between(value)?),
        }
    }
    match spec.wrong() {
        Some(what) => Err(wrong(what.to_string())),
        None => Ok(spec),
    }
}

fn spin_text(spec: &SpinSpec) -> String {
    let (low, high) = spec.rounds;
    let rounds = if low == high { low.to_string() } else { format!("{low}..{high}") };
    let sleep = spec.sleep.map_or("no-sleep".to_string(), |(first, longest)| format!("sleep {first}..{longest}"));
    format!("spin rounds {rounds} round {} {sleep}", spec.round)
}

/// A lock as [`declared`] reads it.
pub(crate) fn declaration(spec: &LockSpec) -> String {
    if let LockKind::Spin(spin) = &spec.kind {
        return spin_text(spin);
    }
    let habits = match (spec.spin, spec.steal) {
        _ if !matches!(spec.kind, LockKind::Rwsem | LockKind::Mutex) => "",
        (true, true) => "",
        (true, false) => " no-steal",
        (false, true) => " no-spin",
        (false, false) => " fifo",
    };
    let delay = match spec.kind {
        LockKind::PercpuRwsem { rcu_sync } => format!(" {rcu_sync}"),
        _ => String::new(),
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
        for text in ["spin rounds 20 round 1us no-sleep", "spin rounds 10..1000 round 50ns sleep 1ms..1s"] {
            assert_eq!(declaration(&declared("l", text).unwrap()), text);
        }
        assert_eq!(declared("l", " spin").unwrap().kind, LockKind::Spin(SpinSpec::POSTGRES));
        assert_eq!(
            declared("l", "spin sleep 2ms").unwrap().kind,
            LockKind::Spin(SpinSpec { sleep: Some((Ns::from_ms(2), Ns::from_ms(2))), ..SpinSpec::POSTGRES })
        );
        for (text, part) in [
            ("", "is no lock"),
            ("spinlock", "`spinlock` is no lock"),
            ("futex fifo", "a futex is not `fifo`"),
            ("mutex fast", "a mutex is not `fast`"),
            ("percpu-rwsem soon", "`soon`"),
            ("spin fast", "a spin is not `fast`"),
            ("spin rounds", "`rounds` without a value"),
            ("spin rounds few", "`few` is no number of rounds"),
            ("spin rounds 0", "0 rounds before a sleep"),
            ("spin rounds 9..8", "the rounds end before they begin"),
            ("spin round 0ns", "a round of 0"),
            ("spin sleep 0ms..1s", "a sleep of 0"),
            ("spin sleep 2s..1s", "ends before it begins"),
        ] {
            let wrong = declared("l", text).unwrap_err();
            assert!(wrong.0.contains(part), "{wrong:?}");
        }
    }
}
