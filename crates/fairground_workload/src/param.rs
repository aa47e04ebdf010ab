//! The parameters that a workload declares, and the reading of their values.

use crate::args::{Arg, Args};
use fairground_model::{Mistakes, RtPriority};
use fairground_stdx::{CpuMask, Instant, Ns, units::parse_ns};
use std::ops::Range;

/// What values a parameter takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A whole number between two bounds, both included.
    Count(u64, u64),
    /// A real-time priority, or 0 for none.
    Priority,
    /// A length of time with its unit.
    Time,
    /// A list of CPUs as taskset writes it; empty = all.
    Cpus,
    /// A comma-separated list of nice values.
    Nices,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Two whole numbers between two bounds with a comma between them; a single one stands for both.
    Pair(u64, u64),
    /// Given or not.
    Switch,
}

/// One parameter of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name: `--name` as a flag, `name = …` in a scenario.
    pub name: &'static str,
    /// Its one-letter flag, if the real program has one.
    pub short: Option<char>,
    /// What values it takes.
    pub kind: ParamKind,
    /// The value that holds where none is given, written as a user would write it.
    pub default: &'static str,
    /// What it is, as a sentence.
    pub sentence: &'static str,
}

impl Param {
    pub(crate) const fn new(name: &'static str, kind: ParamKind, default: &'static str, sentence: &'static str) -> Param {
        Param { name, short: None, kind, default, sentence }
    }
    pub(crate) const fn count(name: &'static str, bounds: (u64, u64), default: &'static str, sentence: &'static str) -> Param {
        Param::new(name, ParamKind::Count(bounds.0, bounds.1), default, sentence)
    }
    pub(crate) const fn time(name: &'static str, default: &'static str, sentence: &'static str) -> Param {
        Param::new(name, ParamKind::Time, default, sentence)
    }
    pub(crate) const fn cpus(name: &'static str, default: &'static str, sentence: &'static str) -> Param {
        Param::new(name, ParamKind::Cpus, default, sentence)
    }
    pub(crate) const fn nices(name: &'static str, default: &'static str, sentence: &'static str) -> Param {
        Param::new(name, ParamKind::Nices, default, sentence)
    }
    pub(crate) const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        sentence: &'static str,
    ) -> Param {
        Param::new(name, ParamKind::Choice(words), default, sentence)
    }
    /// Off unless given.
    pub(crate) const fn switch(name: &'static str, sentence: &'static str) -> Param {
        Param::new(name, ParamKind::Switch, "false", sentence)
    }
    /// With the one-letter flag of the real program.
    pub(crate) const fn short(self, letter: char) -> Param {
        Param { short: Some(letter), ..self }
    }
    /// The unit of its values, in words.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            ParamKind::Count(..) | ParamKind::Priority => "number",
            ParamKind::Time => "time with unit",
            ParamKind::Cpus => "list of CPUs",
            ParamKind::Nices => "list of nice values",
            ParamKind::Choice(_) => "word",
            ParamKind::Pair(..) => "two numbers",
            ParamKind::Switch => "switch",
        }
    }
    /// A value that would be accepted.
    pub fn example(&self) -> &'static str {
        match self.kind {
            _ if !self.default.is_empty() => self.default,
            ParamKind::Count(..) | ParamKind::Priority => "1",
            ParamKind::Time => "10ms",
            ParamKind::Cpus => "0-3,8",
            ParamKind::Nices => "0,5,-5",
            ParamKind::Choice(words) => words[0],
            ParamKind::Pair(..) => "1,1",
            ParamKind::Switch => "true",
        }
    }
    fn read(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            ParamKind::Count(low, high) => match text.trim().replace('_', "").parse() {
                Ok(count) if (low..=high).contains(&count) => Ok(Value::Count(count)),
                _ => Err(format!("a whole number from {low} to {high}")),
            },
            ParamKind::Priority => match text.trim().parse() {
                Ok(priority) if priority <= u64::from(RtPriority::MAX.get()) => Ok(Value::Count(priority)),
                _ => Err(format!(
                    "a real-time priority from {} to {}, or 0 for none",
                    RtPriority::MIN.get(),
                    RtPriority::MAX.get()
                )),
            },
            ParamKind::Time => match parse_ns(text) {
                Ok(time) if time.0 <= Instant::MAX.ns() => Ok(Value::Time(time)),
                Ok(_) => Err("at most 13 days, the longest run".into()),
                Err(error) => Err(format!("a time such as {} ({error})", self.example())),
            },
            ParamKind::Cpus if text.trim().is_empty() => Ok(Value::Cpus(None)),
            ParamKind::Cpus => match CpuMask::parse_list(text) {
                Some(cpus) if !cpus.is_empty() => Ok(Value::Cpus(Some(cpus))),
                _ => Err("a list of CPUs such as 0-3,8".into()),
            },
            ParamKind::Nices => read_nices(text).map(Value::Nices).ok_or("nice values from -20 to 19 such as 0,5,-5".into()),
            ParamKind::Choice(words) => match words.iter().find(|word| **word == text.trim()) {
                Some(word) => Ok(Value::Choice(word)),
                None => Err(format!("one of {}", words.join(", "))),
            },
            ParamKind::Pair(low, high) => {
                let (first, second) = text.split_once(',').unwrap_or((text, text));
                match [first, second].map(|number| number.trim().parse::<u64>().ok().filter(|n| (low..=high).contains(n))) {
                    [Some(first), Some(second)] => Ok(Value::Pair(first, second)),
                    _ => Err(format!("two whole numbers from {low} to {high} such as {}", self.example())),
                }
            }
            ParamKind::Switch => match text.trim() {
                "true" => Ok(Value::Switch(true)),
                "false" => Ok(Value::Switch(false)),
                _ => Err("true or false".into()),
            },
        }
    }
}

fn read_nices(text: &str) -> Option<Vec<i8>> {
    let nices: Option<Vec<i8>> = text.split(',').map(|nice| nice.trim().parse().ok()).collect();
    nices.filter(|nices| nices.iter().all(|nice| (-20..=19).contains(nice)))
}

enum Value {
    Count(u64),
    Time(Ns),
    Cpus(Option<CpuMask>),
    Nices(Vec<i8>),
    Choice(&'static str),
    Pair(u64, u64),
    Switch(bool),
}

/// The value of one parameter.
struct Row {
    name: &'static str,
    value: Value,
    given: bool,
    span: Option<Range<usize>>,
}

/// One value for each declared parameter. A workload asks only for what it declares.
pub(crate) struct Values {
    rows: Vec<Row>,
}

impl Values {
    /// Reads `args` against the declaration; what is not given gets its default.
    pub(crate) fn read(params: &[Param], args: &Args) -> Result<Values, Mistakes> {
        let mut mistakes = Mistakes::default();
        for (index, arg) in args.0.iter().enumerate() {
            if params.iter().all(|param| param.name != arg.key) {
                let known: Vec<&str> = params.iter().map(|param| param.name).collect();
                let hint = format!("The parameters of this workload are: {}.", known.join(", "));
                place(&mut mistakes, arg, format!("unknown parameter `{}`", arg.key), hint);
            } else if args.0[..index].iter().any(|earlier| earlier.key == arg.key) {
                place(&mut mistakes, arg, format!("`{}` is given twice", arg.key), "Keep one of them.".into());
            }
        }
        let mut rows = Vec::new();
        for param in params {
            let given = args.0.iter().find(|arg| arg.key == param.name);
            match param.read(given.map_or(param.default, |arg| &arg.value)) {
                Ok(value) => {
                    let span = given.and_then(|arg| arg.span.clone());
                    rows.push(Row { name: param.name, value, given: given.is_some(), span });
                }
                Err(expected) => {
                    let arg = given.expect("invariant: the default of a parameter is a value of it");
                    let message = format!("`{}` is no value for `{}`", arg.value, param.name);
                    place(&mut mistakes, arg, message, format!("Expected {expected}."));
                }
            }
        }
        mistakes.or(Values { rows })
    }
    /// Adds a mistake at the place where a parameter was given.
    pub(crate) fn mistake(&self, mistakes: &mut Mistakes, name: &str, message: &str, hint: &str) {
        match self.row(name).span.clone() {
            Some(span) => mistakes.at(span, message, hint),
            None => mistakes.whole(message, hint),
        }
    }
    pub(crate) fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Count(count) => Some(*count),
            _ => None,
        }
        .expect("invariant: declared as a count")
    }
    pub(crate) fn time(&self, name: &str) -> Ns {
        match self.get(name) {
            Value::Time(time) => Some(*time),
            _ => None,
        }
        .expect("invariant: declared as a time")
    }
    pub(crate) fn cpus(&self, name: &str) -> Option<CpuMask> {
        match self.get(name) {
            Value::Cpus(cpus) => Some(*cpus),
            _ => None,
        }
        .expect("invariant: declared as a list of CPUs")
    }
    pub(crate) fn nices(&self, name: &str) -> &[i8] {
        match self.get(name) {
            Value::Nices(nices) => Some(nices.as_slice()),
            _ => None,
        }
        .expect("invariant: declared as nice values")
    }
    pub(crate) fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Value::Choice(word) => Some(*word),
            _ => None,
        }
        .expect("invariant: declared as a choice")
    }
    pub(crate) fn pair(&self, name: &str) -> (u64, u64) {
        match self.get(name) {
            Value::Pair(first, second) => Some((*first, *second)),
            _ => None,
        }
        .expect("invariant: declared as a pair")
    }
    pub(crate) fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Switch(on) => Some(*on),
            _ => None,
        }
        .expect("invariant: declared as a switch")
    }
    /// Whether the parameter was given, and its default is not what holds.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.row(name).given
    }
    fn get(&self, name: &str) -> &Value {
        &self.row(name).value
    }
    fn row(&self, name: &str) -> &Row {
        self.rows.iter().find(|row| row.name == name).expect("invariant: a workload asks for declared parameters")
    }
}

fn place(mistakes: &mut Mistakes, arg: &Arg, message: String, hint: String) {
    match &arg.span {
        Some(span) => mistakes.at(span.clone(), message, hint),
        None => mistakes.whole(message, hint),
    }
}
