//! What `explain` says of a planted delay, read as a user reads it.

use crate::delay::read;
use crate::planted::Planted;
use fairground_explain::{ExplainOptions, Explanation, Who, explain};
use fairground_scenario::{Control, Error};

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Short name of the cause.
    pub cause: &'static str,
    /// The change that saves most, of equal ones the first; none if no change saves anything.
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
    Ok(Answer { cause: explanation.one.cause.slug(), lever: lever(&explanation), who: who_ran(&explanation) })
}

fn lever(explanation: &Explanation) -> Option<String> {
    let late = explanation.one.wake.latency();
    let saving = explanation.outcomes.iter().filter_map(|outcome| Some((outcome.delay?, outcome))).filter(|row| row.0 < late);
    saving.min_by_key(|row| row.0).map(|(_, outcome)| outcome.change.clone())
}

/// The task with the most time of all parts.
fn who_ran(explanation: &Explanation) -> Option<String> {
    let tasks = explanation.one.parts.rows().iter().filter_map(|part| match part.who {
        Who::Task(task, _) => Some((task, part.time)),
        _ => None,
    });
    let mut times = std::collections::BTreeMap::new();
    tasks.for_each(|(task, time)| *times.entry(task).or_insert(0) += time.0);
    let (task, _) = times.into_iter().max_by_key(|row| row.1)?;
    Some(explanation.names.task(task).to_string())
}
