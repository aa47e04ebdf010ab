//! What can be run: a scenario, an rt-app file, the folder of a recorded set, or a workload by its name.

use fairground_recordings::RecordedSet;
use fairground_scenario::text_file::{is_stdin, name_of, read_text};
use fairground_scenario::{Error, Overrides, Parts, Scenario, Source, Workload};
use fairground_workload::{args_of_flags, flags_text};
use std::path::Path;

/// Something to run.
#[derive(Clone, Debug)]
pub enum RunInput {
    /// A scenario, read or made.
    Scenario(Box<Scenario>),
    /// An experiment of a recorded set, with the figures that it must reach.
    Set(Box<RecordedSet>),
}

impl RunInput {
    /// Reads what `path` names: a folder is a recorded set, `.json` is an rt-app file, everything else a scenario. `-` is stdin, and
    /// what begins with a brace or a comment of JSON is an rt-app file there.
    pub fn open(path: &Path, overrides: &Overrides) -> Result<RunInput, Error> {
        if is_stdin(path) {
            let (name, text) = (name_of(path), read_text(path)?);
            return Ok(RunInput::Scenario(Box::new(match text.trim_start().starts_with(['{', '/']) {
                true => rtapp(name, "stdin", text, overrides)?,
                false => Scenario::parse(&name, &text, Path::new(""), overrides)?,
            })));
        }
        if path.is_dir() {
            if !RecordedSet::is_set(path) {
                let message = "this folder has no `workload.txt`";
                return Err(Error::one(
                    path.display().to_string(),
                    message,
                    "Give a scenario, an rt-app file or the folder of one recorded experiment.",
                ));
            }
            return Ok(RunInput::Set(Box::new(RecordedSet::open(path, overrides)?)));
        }
        if path.extension().is_some_and(|ending| ending == "json") {
            let label = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            return Ok(RunInput::Scenario(Box::new(rtapp(name_of(path), &label, read_text(path)?, overrides)?)));
        }
        Ok(RunInput::Scenario(Box::new(Scenario::load(path, overrides)?)))
    }
    /// A workload of the registry with the flags of the real program.
    pub fn workload(name: &str, flags: &[String], overrides: &Overrides) -> Result<RunInput, Error> {
        let text = flags_text(flags);
        let wrong = |mistakes| Error::input(format!("--workload {name}"), text.clone(), mistakes);
        let args = args_of_flags(name, flags).map_err(wrong)?;
        let workload = Workload::named(name, &args).map_err(wrong)?;
        let title = if flags.is_empty() { name.to_string() } else { format!("{name} {text}") };
        let source = Source { name: format!("--workload {name}"), text: text.clone() };
        let mut parts = Parts::of_workload(source, workload, overrides)?;
        parts.title = Some(title);
        Ok(RunInput::Scenario(Box::new(parts.build()?)))
    }
    /// The scenario that is run.
    pub fn scenario(&self) -> &Scenario {
        match self {
            RunInput::Scenario(scenario) => scenario,
            RunInput::Set(set) => &set.scenario,
        }
    }
}

fn rtapp(name: String, label: &str, text: String, overrides: &Overrides) -> Result<Scenario, Error> {
    let mut workload = Workload::rtapp(&text).map_err(|wrong| Error::input(name.clone(), text.clone(), wrong))?;
    workload.label = label.to_string();
    let title = Some(workload.label.clone());
    let mut parts = Parts::of_workload(Source { name, text }, workload, overrides)?;
    parts.title = title;
    parts.build()
}
