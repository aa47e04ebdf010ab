//! Names of steps: `top: run 3ms`, and jumps that go to them.

use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::Mistakes;
use fairground_stdx::nearest;

/// The names of steps, each with the number of its step.
pub(crate) type Labels<'t> = Vec<(&'t str, u32)>;

/// The name of a step, if it has one, and what is left of it: `top: run 3ms`.
pub(crate) fn unlabelled(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((label, rest)) if !label.contains(char::is_whitespace) => (Some(label), rest.trim()),
        _ => (None, text),
    }
}

/// The names of all steps, each with its number. A step may jump to a later one.
pub(crate) fn labels<'t>(list: &[Spanned<&'t str>], m: &mut Mistakes) -> Labels<'t> {
    let mut labels = Labels::new();
    for (row, text) in list.iter().enumerate() {
        let Some(label) = unlabelled(text.value.trim()).0 else { continue };
        let is_name = label.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if !is_name {
            let hint = "Names begin with a letter and hold letters, digits, - and _: `top: run 1ms`.";
            m.at(text.span.clone(), format!("`{label}` is no name of a step"), hint);
        } else if labels.iter().any(|known| known.0 == label) {
            m.at(text.span.clone(), format!("two steps are called `{label}`"), "Give each a name of its own.");
        }
        labels.push((label, row as u32));
    }
    labels
}

/// The step to which a jump goes: by its number or its name.
pub(crate) fn target(value: &str, labels: &Labels<'_>) -> Result<u32, Wrong> {
    let wrong = || {
        let hint = match nearest::nearest(value, labels.iter().map(|label| label.0)) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => "Steps are counted from 0: `jump 0`. Or they have names: `top: run 1ms`, `jump top`.".to_string(),
        };
        (format!("`{value}` is no step"), hint)
    };
    let named = labels.iter().find(|label| label.0 == value).map(|label| label.1);
    value.parse().ok().or(named).ok_or_else(wrong)
}
