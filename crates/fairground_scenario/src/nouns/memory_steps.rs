//! Steps that calculate, jump by what came out, and touch the memory that tasks share.
//!
//! ```text
//! let r0 5      plus r0 r1    minus r0 5        times r0 2    over r0 2       getcpu r0       time-of-day r0  index r0
//! load W r0     store W 5     store W[r1] r0    spin W 1      futex-wait W 0  futex-wake W 1
//! if r0 = 5 to 3              if r0 <= r1 to 3                if 1/16 to 3
//! ```

use crate::nouns::step_args::{Names, named, register};
use crate::nouns::step_labels::{Labels, target};
use crate::text::Wrong;
use fairground_model::program::Reg;
use fairground_model::{Arithmetic, Instr, Test, Value, Word};
use fairground_stdx::{Id, WordId};

/// The steps that [`read`] knows.
pub(crate) const VERBS: [&str; 14] = [
    "let",
    "plus",
    "minus",
    "times",
    "over",
    "getcpu",
    "index",
    "time-of-day",
    "load",
    "store",
    "spin",
    "futex-wait",
    "futex-wake",
    "if",
];

/// Reads a step; none if its verb is not one of these.
pub(crate) fn read(verb: &str, value: &str, names: &Names, labels: &Labels<'_>) -> Option<Result<Instr, Wrong>> {
    Some(match verb {
        "let" => two(verb, value).and_then(|(reg, value)| Ok(Instr::Let { reg: register(reg)?, value: number(value)? })),
        "plus" => calculate(verb, value, Arithmetic::Plus),
        "minus" => calculate(verb, value, Arithmetic::Minus),
        "times" => calculate(verb, value, Arithmetic::Times),
        "over" => calculate(verb, value, Arithmetic::Over),
        "getcpu" => register(value).map(|into| Instr::GetCpu { into }),
        "index" => register(value).map(|into| Instr::Index { into }),
        "time-of-day" => register(value).map(|reg| Instr::TimeOfDay { reg }),
        "load" => two(verb, value).and_then(|(at, into)| Ok(Instr::Load { word: word(at, names)?, into: register(into)? })),
        "store" => two(verb, value).and_then(|(at, value)| Ok(Instr::Store { word: word(at, names)?, value: number(value)? })),
        "spin" => two(verb, value).and_then(|(at, value)| Ok(Instr::Spin { word: word(at, names)?, value: constant(value)? })),
        "futex-wait" => {
            two(verb, value).and_then(|(at, value)| Ok(Instr::FutexWait { word: word(at, names)?, value: number(value)? }))
        }
        "futex-wake" => two(verb, value).and_then(|(at, count)| {
            let most = u32::try_from(constant(count)?).unwrap_or(u32::MAX);
            Ok(Instr::FutexWake { word: word(at, names)?, count: most })
        }),
        "if" => jump_if(value, labels),
        _ => return None,
    })
}

/// The two parts of a step's value; the first may hold blanks.
fn two<'t>(verb: &str, value: &'t str) -> Result<(&'t str, &'t str), Wrong> {
    let missing = || {
        (format!("`{verb} {value}` is incomplete"), "Write for instance `let r0 5`, `load w r0`, `futex-wait w 0`.".to_string())
    };
    value.rsplit_once(char::is_whitespace).map(|(first, second)| (first.trim(), second)).ok_or_else(missing)
}

fn constant(text: &str) -> Result<u64, Wrong> {
    let wrong = |_| (format!("`{text}` is no whole number"), "Words hold numbers from 0 to 2^64 - 1.".to_string());
    text.parse().map_err(wrong)
}

pub(crate) fn number(text: &str) -> Result<Value, Wrong> {
    match text.starts_with('r') {
        true => register(text).map(Value::Reg),
        false => constant(text).map(Value::Const),
    }
}

/// `NAME` or `NAME[r1]`.
fn word(text: &str, names: &Names) -> Result<Word, Wrong> {
    let (name, plus) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, reg)) => (name, Some(register(reg)?)),
        None => (text, None),
    };
    Ok(Word { first: WordId::from_index(named(name, &names.words, "word")?), plus })
}

fn calculate(verb: &str, value: &str, by: Arithmetic) -> Result<Instr, Wrong> {
    let (reg, value) = two(verb, value)?;
    Ok(Instr::Calculate { reg: register(reg)?, by, value: number(value)? })
}

/// `r0 = 5 to 3`, or a chance: `1/16 to 3`.
fn jump_if(text: &str, labels: &Labels<'_>) -> Result<Instr, Wrong> {
    let form = || {
        (format!("`if {text}` is not understood"), "Write `if r0 = 5 to 3`, `if r0 <= r1 to 3` or `if 1/16 to 3`.".to_string())
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [share, "to", to] = words[..] {
        let (hits, of) = chance(share)?;
        return Ok(Instr::JumpByChance { hits, of, to: target(to, labels)? });
    }
    let [reg, is, value, "to", to] = words[..] else { return Err(form()) };
    let is = match is {
        "=" => Test::Equal,
        "<=" => Test::AtMost,
        _ => return Err(form()),
    };
    Ok(Instr::JumpIf { reg: register(reg)?, is, value: number(value)?, to: target(to, labels)? })
}

/// `1/16`: once in sixteen times.
fn chance(text: &str) -> Result<(u32, u32), Wrong> {
    let wrong = || (format!("`{text}` is no chance"), "Write `1/16` for once in sixteen times; at most `1/1`.".to_string());
    let (hits, of) = text.split_once('/').ok_or_else(wrong)?;
    let (hits, of) = (hits.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if of > 0 && hits <= of { Ok((hits, of)) } else { Err(wrong()) }
}

/// The step as [`read`] reads it; none if it is not one of these.
pub(crate) fn text(instr: &Instr, names: &Names) -> Option<String> {
    let number = |value: Value| match value {
        Value::Const(value) => value.to_string(),
        Value::Reg(reg) => format!("r{reg}"),
    };
    let word = |word: Word| {
        let index = |reg: Reg| format!("[r{reg}]");
        Some(names.words.get(word.first.index())?.clone() + &word.plus.map_or(String::new(), index))
    };
    Some(match *instr {
        Instr::Let { reg, value } => format!("let r{reg} {}", number(value)),
        Instr::Calculate { reg, by, value } => {
            let verb = match by {
                Arithmetic::Plus => "plus",
                Arithmetic::Minus => "minus",
                Arithmetic::Times => "times",
                Arithmetic::Over => "over",
            };
            format!("{verb} r{reg} {}", number(value))
        }
        Instr::GetCpu { into } => format!("getcpu r{into}"),
        Instr::Index { into } => format!("index r{into}"),
        Instr::JumpByChance { hits, of, to } => format!("if {hits}/{of} to {to}"),
        Instr::TimeOfDay { reg } => format!("time-of-day r{reg}"),
        Instr::Load { word: at, into } => format!("load {} r{into}", word(at)?),
        Instr::Store { word: at, value } => format!("store {} {}", word(at)?, number(value)),
        Instr::Spin { word: at, value } => format!("spin {} {value}", word(at)?),
        Instr::FutexWait { word: at, value } => format!("futex-wait {} {}", word(at)?, number(value)),
        Instr::FutexWake { word: at, count } => format!("futex-wake {} {count}", word(at)?),
        Instr::JumpIf { reg, is, value, to } => {
            let sign = if is == Test::Equal { "=" } else { "<=" };
            format!("if r{reg} {sign} {} to {to}", number(value))
        }
        _ => return None,
    })
}
