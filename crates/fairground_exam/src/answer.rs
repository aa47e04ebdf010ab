//! What `explain` says of a planted delay, read as a user reads it.

use crate::delay::read;
use crate::planted::Planted;
use fairground_explain::{ExplainOptions, Explanation, explain};
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
    let options = ExplainOptions { task: Some(planted.task.clone()), ..ExplainOptions::default() };
    let explanation = explain(&scenario, &options, Control::none())?;
    let explanation = explanation.ok_or_else(|| Error::one("exam", "nobody stopped the run, and yet it stopped", ""))?;
    Ok(Answer { cause: explanation.one.cause.slug(), lever: lever(&explanation), who: explanation.who_ran().map(str::to_string) })
}

/// The change that the answer puts first, if it makes the delay shorter.
fn lever(explanation: &Explanation) -> Option<String> {
    let late = explanation.one.delay.length();
    let first = explanation.proof.outcomes.first().filter(|row| row.delay.is_some_and(|with| with < late));
    first.map(|outcome| outcome.change.clone())
}
