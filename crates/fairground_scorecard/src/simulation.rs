//! A set's workload, run by us, against its `expect` list.

use fairground::run::{RunOptions, run};
use fairground_recordings::RecordedSet;
use fairground_recordings::figures::Check;
use fairground_scenario::{Control, Error, Overrides};
use std::path::Path;

/// What a refusal says in each of its messages.
const REFUSED: &str = "not modelled yet";

/// What came of one set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Simulated {
    /// It ran, with each seed.
    Ran(Vec<Check>),
    /// It needs what is not modelled yet, or an invariant of ours broke on the way: the messages.
    Refused(Vec<String>),
}

/// Runs one set with the seeds 1 to `seeds`. What is not modelled yet, and what breaks, is part of the result.
pub fn simulate(folder: &Path, overrides: &Overrides, seeds: u64) -> Result<Simulated, Error> {
    let one = |seed| {
        let set = RecordedSet::open(folder, &Overrides { seed: Some(seed), ..overrides.clone() })?;
        let mut figures = set.figures();
        let outcome = run(&set.scenario, &RunOptions::default(), &mut figures, Control::none())?;
        Ok(set.check(figures, outcome.end(), &outcome.quotas).1)
    };
    match (1..=seeds).map(one).collect() {
        Ok(checks) => Ok(Simulated::Ran(checks)),
        Err(error) => refusal(&error).map(Simulated::Refused).ok_or(error),
    }
}

/// The messages of an error that is nothing but a refusal, each once; or what broke.
pub(crate) fn refusal(error: &Error) -> Option<Vec<String>> {
    let files = match error {
        Error::Input(files) => files,
        Error::World { .. } => return None,
        // Its first line; the place in the code would change the page with every edit.
        Error::Broken(broken) => return broken.to_string().lines().next().map(|line| vec![line.to_string()]),
    };
    let mut messages: Vec<String> =
        files.iter().flat_map(|file| &file.mistakes.0).map(|mistake| mistake.message.clone()).collect();
    messages.sort();
    messages.dedup();
    messages.iter().all(|message| message.contains(REFUSED)).then_some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_a_mistake() {
        let refused = Error::one("x", "`mk` is not modelled yet (groups)", "-");
        assert_eq!(refusal(&refused), Some(vec!["`mk` is not modelled yet (groups)".to_string()]));
        assert_eq!(refusal(&Error::one("x", "unknown word", "-")), None);
        assert_eq!(refusal(&Error::world("read", Path::new("x"), std::io::ErrorKind::NotFound.into())), None);
    }
}
