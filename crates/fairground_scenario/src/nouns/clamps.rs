//! Utilization clamps: of tasks in 1/1024 of the biggest CPU, of groups in percent, as the files of cgroups have them.

use crate::text::Wrong;
use crate::text::fields::{Fields, Spanned};
use fairground_model::{CLAMP_MAX, Mistakes, UtilClamp, clamp_of_percent, percent};
use std::fmt;

/// The keys of a task, and the words of a change or a step.
pub(crate) const MIN: &str = "uclamp_min";
/// See [`MIN`].
pub(crate) const MAX: &str = "uclamp_max";
/// Both.
pub(crate) const WORDS: [&str; 2] = [MIN, MAX];

/// A request for one of both values.
fn one(word: &str, value: u32) -> UtilClamp {
    match word == MIN {
        true => UtilClamp { min: Some(value), ..UtilClamp::NONE },
        false => UtilClamp { max: Some(value), ..UtilClamp::NONE },
    }
}

/// A request as it is written in a change or a step.
pub(crate) fn request(word: &str, value: &str) -> Result<UtilClamp, Wrong> {
    let number = value.parse().ok().filter(|&number: &u32| number <= CLAMP_MAX);
    let wrong = || (format!("{word} {value} does not exist"), format!("It is 0 to {CLAMP_MAX}, which is the biggest CPU."));
    number.map(|number| one(word, number)).ok_or_else(wrong)
}

/// The same as text: word and value. A request for both values takes two changes or steps.
pub(crate) fn text(clamp: UtilClamp) -> Option<String> {
    match (clamp.min, clamp.max) {
        (Some(min), None) => Some(format!("{MIN} {min}")),
        (None, Some(max)) => Some(format!("{MAX} {max}")),
        _ => None,
    }
}

/// The keys of a task.
pub(crate) fn of_task(row: &mut Fields<'_>, m: &mut Mistakes) -> UtilClamp {
    let mut clamp = UtilClamp::NONE;
    let mut last = None;
    for word in WORDS {
        let Some(number) = row.integer(word, m) else { continue };
        match request(word, &number.value.to_string()) {
            Ok(more) => clamp = clamp.with(more),
            Err((message, hint)) => m.at(number.span.clone(), message, hint),
        }
        last = Some(number.span);
    }
    if let Some(span) = last.filter(|_| !clamp.is_valid()) {
        let (message, hint) = contradiction(clamp);
        m.at(span, message, hint);
    }
    clamp
}

pub(crate) fn contradiction(clamp: UtilClamp) -> Wrong {
    let (min, max) = (clamp.min.unwrap_or(0), clamp.max.unwrap_or(CLAMP_MAX));
    (format!("{MIN} {min} above {MAX} {max} is refused (EINVAL)"), "The least is not above the most.".to_string())
}

/// A file of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClampFile {
    /// cpu.uclamp.min.
    Min,
    /// cpu.uclamp.max.
    Max,
}

impl ClampFile {
    /// All, by their names.
    pub(crate) const ALL: [(&str, ClampFile); 2] = [("cpu.uclamp.min", ClampFile::Min), ("cpu.uclamp.max", ClampFile::Max)];

    pub(crate) fn name(self) -> &'static str {
        match self {
            ClampFile::Min => ClampFile::ALL[0].0,
            ClampFile::Max => ClampFile::ALL[1].0,
        }
    }
}

const PERCENT_HINT: &str = "Write a percentage with at most two decimals, such as \"20\" or \"12.50\", or \"max\".";

/// What was written to one of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClampWrite {
    /// The file.
    pub file: ClampFile,
    hundredths: u32,
}

impl ClampWrite {
    /// A share of the biggest CPU ([`percent`]).
    pub(crate) fn new(file: ClampFile, value: &str) -> Result<ClampWrite, Wrong> {
        let wrong = |why: &str| (format!("{} {value}: {why}", file.name()), PERCENT_HINT.to_string());
        percent(value).map(|hundredths| ClampWrite { file, hundredths }).map_err(wrong)
    }
    /// The write after which a group has that value.
    pub(crate) fn of_value(file: ClampFile, value: u32) -> ClampWrite {
        ClampWrite { file, hundredths: (value * 10_000 + CLAMP_MAX / 2) / CLAMP_MAX }
    }
    /// What the group asks for after it.
    pub(crate) fn clamp(self) -> UtilClamp {
        one(if self.file == ClampFile::Min { MIN } else { MAX }, clamp_of_percent(self.hundredths))
    }
}

/// As the file shows it.
impl fmt::Display for ClampWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.hundredths / 100, self.hundredths % 100)
    }
}

/// The writes that give a group these values.
pub(crate) fn writes(clamp: UtilClamp) -> impl Iterator<Item = ClampWrite> {
    let rows = [(ClampFile::Min, clamp.min), (ClampFile::Max, clamp.max)];
    rows.into_iter().filter_map(|(file, value)| Some(ClampWrite::of_value(file, value?)))
}

/// The files of a group, as its row has them.
pub(crate) fn of_group(row: &mut Fields<'_>, m: &mut Mistakes) -> Vec<Spanned<ClampWrite>> {
    let mut found = Vec::new();
    for (name, file) in ClampFile::ALL {
        let Some(value) = row.text(name, m) else { continue };
        match ClampWrite::new(file, value.value) {
            Ok(write) => found.push(Spanned { value: write, span: value.span }),
            Err((message, hint)) => m.at(value.span, message, hint),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_those_of_the_files() {
        let value =
            |text: &str| ClampWrite::new(ClampFile::Min, text).map(|write| (write.to_string(), write.clamp().min.unwrap()));
        for (text, shown, clamp) in [
            ("0", "0.00", 0),
            ("0.01", "0.01", 0),
            ("12.5", "12.50", 128),
            ("12.50%", "12.50", 128),
            ("20%", "20.00", 205),
            ("50", "50.00", 512),
            ("max", "100.00", 1024),
        ] {
            assert_eq!(value(text), Ok((shown.to_string(), clamp)), "{text}");
        }
        for (text, part) in [
            ("100.01", "ERANGE"),
            ("99999999999", "ERANGE"),
            ("12.345", "EINVAL"),
            ("", "EINVAL"),
            (".5", "EINVAL"),
            ("-1", "EINVAL"),
        ] {
            let (message, hint) = value(text).unwrap_err();
            assert!(message.contains(part) && hint.contains("12.50"), "{text}: {message}");
        }
    }

    #[test]
    fn every_value_is_written_so_that_it_reads_back() {
        for value in 0..=CLAMP_MAX {
            assert_eq!(ClampWrite::of_value(ClampFile::Max, value).clamp(), one(MAX, value), "{value}");
        }
    }
}
