//! A run over a kernel tree, explained as far as C can be: what happened.
//!
//! C code gives decisions and no rules. So the run is written as a trace, and told as a recording is: who ran while the task
//! waited. Beside it the rules of the tree's release are asked, with the scenario's groups and policies.

use crate::recorded::{RecordedOptions, RecordedStory, Ruler, recorded_by};
use fairground::output::Outputs;
use fairground::run::{self, RunOptions};
use fairground_scenario::{Control, Error, Scenario, text_file::is_stdin};
use std::path::Path;

/// Runs the scenario at `path` over the tree that its profile names, and tells one of its waits. `None`: it was interrupted.
pub fn over_tree(
    path: &Path,
    scenario: &Scenario,
    options: &RecordedOptions,
    control: Control<'_>,
) -> Result<Option<RecordedStory>, Error> {
    let folder = tempfile::tempdir().map_err(|cause| Error::world("make a folder in", &std::env::temp_dir(), cause))?;
    let trace = folder.path().join("run.txt");
    let mut outputs = Outputs::for_run(std::slice::from_ref(&trace), scenario)?;
    let outcome = run::run(scenario, &RunOptions::default(), &mut outputs, control)?;
    if outcome.is_partial() {
        return Ok(None);
    }
    outputs.finish_run(scenario, &outcome)?;
    let mut options = options.clone();
    options.overrides.profile = Some(scenario.profile.base.to_string());
    options.scenario = (!is_stdin(path)).then(|| path.to_path_buf());
    let name = scenario.profile.tree().map_or_else(|| scenario.profile.name.clone(), |tree| format!("tree:{}", tree.name));
    let mut story = recorded_by(&trace, &options, Ruler::Tree(name), control.quiet())?;
    story.origin.is_of_run(scenario, &outcome);
    Ok(Some(story))
}
