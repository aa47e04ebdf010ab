//! What stands behind the verb of a step: names, lengths of time, registers.

use crate::text::Wrong;
use fairground_model::program::{REGS, Reg};
use fairground_model::{Instr, LockKind, Mode};
use fairground_stdx::{Ns, nearest, units};

/// What a step may name, in the order of their rows: the tasks and pipes of its workload, and groups by their paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) tasks: Vec<String>,
    pub(crate) pipes: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) pools: Vec<String>,
    /// Marks in the order of their markers, and parts of programs.
    pub(crate) marks: Vec<String>,
    pub(crate) parts: Vec<String>,
    /// Locks, each with its kind.
    pub(crate) locks: Vec<(String, LockKind)>,
    pub(crate) groups: Vec<String>,
}

pub(crate) fn run_between(value: &str, mode: Mode) -> Result<Instr, Wrong> {
    if let Some(mean) = value.strip_prefix('~') {
        return length(mean).map(|mean| Instr::RunExponential { mean, mode });
    }
    between(value).map(|(low, high)| match low == high {
        true => Instr::Run { work: low, mode },
        false => Instr::RunBetween { low, high, mode },
    })
}

pub(crate) fn length(text: &str) -> Result<Ns, Wrong> {
    let hint = || "A length of time has a unit: `3ms`.".to_string();
    units::parse_ns(text).map_err(|error| (format!("`{text}`: {error}"), hint()))
}

pub(crate) fn between(text: &str) -> Result<(Ns, Ns), Wrong> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (length(low)?, length(high)?);
    match low <= high {
        true => Ok((low, high)),
        false => Err((format!("`{text}` ends before it begins"), "The smaller value stands first: `1ms..3ms`.".to_string())),
    }
}

/// A number below `count` behind its letter.
pub(crate) fn numbered(text: &str, letter: char, count: usize) -> Option<u8> {
    let number: u8 = text.strip_prefix(letter)?.parse().ok()?;
    (usize::from(number) < count).then_some(number)
}

pub(crate) fn register(text: &str) -> Result<Reg, Wrong> {
    let wrong = || (format!("`{text}` is no register"), format!("Registers are r0 to r{}.", REGS - 1));
    numbered(text, 'r', REGS).ok_or_else(wrong)
}

pub(crate) fn named(name: &str, names: &[String], what: &str) -> Result<usize, Wrong> {
    let missing = || {
        let hint = match nearest::nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("Did you mean `{near}`?"),
            None if what == "pipe" => "Declare it beside the tasks: `pipes = { p = 16 }`, the messages that fit.".to_string(),
            None if what == "lock" => "Declare it beside the tasks: `locks = { l = \"rwsem\" }`, its kind.".to_string(),
            None if what == "pool" => "Declare it beside the tasks: `pools = { p = \"1000 x 64B\" }`, its entries.".to_string(),
            None if what == "word" => "Declare it beside the tasks: `words = { w = 0 }`, what it holds at first.".to_string(),
            None => "Name a task of the same workload that has `forked = true`.".to_string(),
        };
        (format!("no {what} of this workload is called `{name}`"), hint)
    };
    names.iter().position(|known| known == name).ok_or_else(missing)
}
