//! The settings of a workload as somebody wrote them: keys and values with their places.

use crate::param::{Param, ParamKind};
use fairground_model::Mistakes;
use std::ops::Range;

/// One setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// The parameter's name, without dashes.
    pub key: String,
    /// The value as written, with its unit; `true` for a switch that is given without a value.
    pub value: String,
    /// Where it stands in the text that it comes from.
    pub span: Option<Range<usize>>,
}

/// All settings of one workload, in the order in which they were written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Args(pub Vec<Arg>);

impl Args {
    /// Settings without a place, for tests and programs.
    pub fn of(pairs: &[(&str, &str)]) -> Args {
        Args(pairs.iter().map(|&(key, value)| Arg { key: key.into(), value: value.into(), span: None }).collect())
    }
}

/// The flags as one line; spans of [`parse_flags`] are places in it.
pub(crate) fn flags_text(flags: &[String]) -> String {
    flags.join(" ")
}

/// Reads `--name value`, `--name=value`, `-n value`, `-nvalue` and switches. A `--` alone, behind which some programs take
/// the flags of a part of theirs, says nothing.
pub(crate) fn parse_flags(params: &[Param], flags: &[String]) -> Result<Args, Mistakes> {
    let mut reader = FlagReader { params, args: Args::default(), mistakes: Mistakes::default() };
    let mut words = Vec::new();
    let mut at = 0;
    for flag in flags {
        words.push(Word { text: flag, span: at..at + flag.len() });
        at += flag.len() + 1;
    }
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        rest = reader.flag(word, after);
    }
    reader.mistakes.or(reader.args)
}

struct Word<'a> {
    text: &'a str,
    span: Range<usize>,
}

struct FlagReader<'p> {
    params: &'p [Param],
    args: Args,
    mistakes: Mistakes,
}

impl FlagReader<'_> {
    /// Reads the flag in `word`; returns what remains of `after`, whose first word may be its value.
    fn flag<'a, 'w>(&mut self, word: &Word<'a>, after: &'w [Word<'a>]) -> &'w [Word<'a>] {
        if word.text == "--" {
            return after;
        }
        let (param, glued) = if let Some(long) = word.text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            (self.params.iter().find(|param| param.name == name), value)
        } else if let Some(short) = word.text.strip_prefix('-') {
            let mut letters = short.chars();
            let letter = letters.next();
            let value = Some(letters.as_str()).filter(|value| !value.is_empty());
            (self.params.iter().find(|param| param.short.is_some() && param.short == letter), value)
        } else {
            (None, None)
        };
        let Some(param) = param else {
            let known: Vec<String> = self.params.iter().map(|param| format!("--{}", param.name)).collect();
            let hint = format!("The flags of this workload are: {}.", known.join(", "));
            self.mistakes.at(word.span.clone(), format!("unknown flag `{}`", word.text), hint);
            return after;
        };
        let mut push =
            |value: &str, span| self.args.0.push(Arg { key: param.name.into(), value: value.into(), span: Some(span) });
        match (glued, &param.kind, after.split_first()) {
            (Some(value), _, _) => push(value, word.span.clone()),
            (None, ParamKind::Switch, _) => push("true", word.span.clone()),
            (None, _, Some((value, rest))) => {
                push(value.text, value.span.clone());
                return rest;
            }
            (None, _, None) => {
                let hint = format!("Write the value behind it: --{} {}.", param.name, param.example());
                self.mistakes.at(word.span.clone(), format!("flag `{}` has no value", word.text), hint);
            }
        }
        after
    }
}
