//! A run over a kernel tree, explained as far as C can be: what happened.
//!
//! C code gives decisions and no rules. So the run is written as a trace, and told as a recording is: who ran while the task
//! waited. Beside it the rules of the tree's release are asked, with the scenario's groups and policies.

use crate::recorded::{RecordedOptions, RecordedStory, Ruler, recorded_by};
use fairground::output::Outputs;
use fairground::run::{self, RunOptions};
use fairground_scenario::{Control, Error, Scenario, text_file::is_stdin};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs the scenario at `path` over the tree that its profile names, and tells one of its waits. `None`: it was interrupted.
pub fn over_tree(
    path: &Path,
    scenario: &Scenario,
    options: &RecordedOptions,
    control: Control<'_>,
) -> Result<Option<RecordedStory>, Error> {
    let folder = Folder::new()?;
    let trace = folder.0.join("run.txt");
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

/// A folder that goes away with the value, also after an error. Crates for that draw random names, which nothing here may.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fairground-explain-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Folder(path)),
            Err(cause) => Err(Error::world("make the folder", &path, cause)),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
