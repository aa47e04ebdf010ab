//! What `explain` says of a planted delay, read as a user reads it.

use crate::delay::read;
use crate::planted::{NOTHING, Planted};
use fairground_explain::{ExplainOptions, explain};
use fairground_scenario::{Control, Error};

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Short name of the cause.
    pub cause: &'static str,
    /// The change that the answer puts first; none if no change saves anything.
    pub lever: Option<String>,
    /// Who is said to have run, used up the pool or held the lock.
    pub who: Option<String>,
}

/// Asks about the worst delay of the task. An error is an answer too: a wrong one.
pub fn ask(planted: &Planted) -> Result<Answer, Error> {
    let scenario = read("planted", &planted.text)?;
    let options =
        ExplainOptions { task: Some(planted.task.clone()).filter(|task| !task.is_empty()), ..ExplainOptions::default() };
    let explanation = explain(&scenario, &options, Control::none())?;
    let explanation = explanation.ok_or_else(|| Error::one("exam", "nobody stopped the run, and yet it stopped", ""))?;
    let Some(explanation) = explanation.late() else {
        return Ok(Answer { cause: NOTHING, lever: None, who: None });
    };
    Ok(Answer {
        cause: explanation.one.cause.slug(),
        lever: explanation.remedy().map(|outcome| outcome.change.clone()),
        who: explanation.who_ran().map(str::to_string),
    })
}
