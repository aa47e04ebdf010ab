//! The files of a CPU cgroup as a scenario writes them, and what is done to groups in mid-run.

use crate::text::Wrong;
use crate::text::fields::Fields;
use fairground_model::cgroup::files::{FILES, by_name};
use fairground_model::cgroup::{self, FileWrite, ROOT};
use fairground_model::{Mistakes, TaskGroupSpec};
use fairground_stdx::nearest;
use fairground_stdx::{Id, IndexVec, TgId};
use std::fmt;
use std::ops::Range;

/// What is done to a group in mid-run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupAct {
    /// Moves the tasks of this name into the group: cgroup.procs.
    Move(String, String),
    /// Writes one of its files.
    Write(String, FileWrite),
    /// Removes it: rmdir.
    Remove(String),
}

impl GroupAct {
    /// The path of the group.
    pub fn path(&self) -> &str {
        let (GroupAct::Move(path, _) | GroupAct::Write(path, _) | GroupAct::Remove(path)) = self;
        path
    }
}

/// As a `do` string.
impl fmt::Display for GroupAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupAct::Move(path, task) => write!(f, "{MOVE} {path} {task}"),
            GroupAct::Write(path, write) => write!(f, "{} {path} {write}", write.file().name),
            GroupAct::Remove(path) => write!(f, "{REMOVE} {path}"),
        }
    }
}

pub(crate) const MOVE: &str = "cgroup.procs";
pub(crate) const REMOVE: &str = "rmdir";

/// The words that begin the change of a group.
pub(crate) fn verbs() -> impl Iterator<Item = &'static str> {
    [MOVE, REMOVE].into_iter().chain(FILES.iter().map(|file| file.name))
}

/// The forms of the changes, for hints.
pub(crate) fn forms() -> String {
    let files = FILES.iter().map(|file| format!("\"{} /GROUP {}\"", file.name, file.example));
    let forms = [format!("\"{MOVE} /GROUP TASK\""), format!("\"{REMOVE} /GROUP\"")].into_iter().chain(files);
    forms.collect::<Vec<_>>().join(", ")
}

/// The change that begins with `verb`, one of [`verbs`]: the path of the group comes first, as when a command names the file.
pub(crate) fn act(verb: &str, rest: &str) -> Result<GroupAct, Wrong> {
    let (path, value) = rest.split_once(char::is_whitespace).map_or((rest, ""), |row| (row.0, row.1.trim()));
    if path.is_empty() || (value.is_empty() != (verb == REMOVE)) {
        return Err((format!("`{verb} {rest}` is incomplete or too long"), format!("Forms: {}.", forms())));
    }
    cgroup::check_path(path)?;
    if verb == MOVE {
        return Ok(GroupAct::Move(path.to_string(), value.to_string()));
    }
    if path == ROOT {
        return Err((
            format!("`{verb}` of the root group"),
            "The root group has no such file: name a group below it.".to_string(),
        ));
    }
    Ok(match by_name(verb) {
        Some(file) => GroupAct::Write(path.to_string(), file.read(value)?),
        None => GroupAct::Remove(path.to_string()),
    })
}

/// What a table says of the files of a group: where it stands, and what it is.
pub(crate) fn read_files(row: &mut Fields<'_>, m: &mut Mistakes) -> Vec<(Range<usize>, Result<FileWrite, Wrong>)> {
    let mut found = Vec::new();
    for file in FILES {
        let text = match file.is_text() {
            // A quota alone is a number. A clamp is a percentage here and a part of 1024 of tasks, so it needs its quotes.
            true if file.name == "cpu.max" => row.text_or_integer(file.name, m).map(|text| (text.value, text.span)),
            true => row.text(file.name, m).map(|text| (text.value.to_string(), text.span)),
            false => row.integer(file.name, m).map(|number| (number.value.to_string(), number.span)),
        };
        found.extend(text.map(|(text, span)| (span, file.read(&text))));
    }
    found
}

/// The line of a table that writes a file.
pub(crate) fn line(write: &FileWrite) -> String {
    let quote = if write.file().is_text() { "\"" } else { "" };
    format!("\"{}\" = {quote}{write}{quote}\n", write.file().name)
}

/// The row of the group at `path` among `known`; none is the root.
pub(crate) fn find(path: &str, known: &[String]) -> Result<Option<TgId>, Wrong> {
    cgroup::check_path(path)?;
    if path == ROOT {
        return Ok(None);
    }
    let missing = || {
        let hint = match nearest::nearest(path, known.iter().map(String::as_str)) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("Declare it: `[[group]]` with `path = \"{path}\"`."),
        };
        (format!("there is no group `{path}`"), hint)
    };
    known.iter().position(|name| name == path).map(|row| Some(Id::from_index(row))).ok_or_else(missing)
}

/// The paths of groups in the order of their rows.
pub(crate) fn paths(groups: &IndexVec<TgId, TaskGroupSpec>) -> Vec<String> {
    groups.iter().map(|group| group.name.clone()).collect()
}
