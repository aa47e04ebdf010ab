//! Utilization clamps of tasks, in 1/1024 of the biggest CPU. Those of groups are files of cgroups.

use crate::text::Wrong;
use crate::text::fields::Fields;
use fairground_model::{CLAMP_MAX, Mistakes, UtilClamp};

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
        let more = m.keep(request(word, &number.value.to_string()), &number.span);
        clamp = clamp.with(more.unwrap_or(UtilClamp::NONE));
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
