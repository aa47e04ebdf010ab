//! The files of the project.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the project.
pub(crate) struct File {
    /// Path from the root, with `/` between its parts.
    pub(crate) path: String,
    /// The content; empty if it is no text.
    pub(crate) text: String,
}

impl File {
    /// Whether the name ends in `.ending`.
    pub(crate) fn is(&self, ending: &str) -> bool {
        self.path.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.'))
    }
}

/// All files, in order of their paths, those that are no text with an empty one: those that version control knows or would take up, or,
/// without version control, all that do not lie in hidden folders or in `target`.
pub(crate) fn files(root: &Path) -> Vec<File> {
    let mut paths = listed(root).unwrap_or_else(|| walked(root));
    paths.sort_unstable();
    let read = |path: String| {
        let text = String::from_utf8(std::fs::read(root.join(&path)).ok()?).unwrap_or_default();
        Some(File { text, path })
    };
    paths.into_iter().filter_map(read).collect()
}

fn listed(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.split_terminator('\0').map(str::to_string).collect())
}

/// The commits up to the present one; none where there is no history, or only a part of it.
pub(crate) fn commits(root: &Path) -> Vec<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let is_whole = git(&["rev-parse", "--is-shallow-repository"]).is_some_and(|answer| answer.trim() == "false");
    let list = is_whole.then(|| git(&["rev-list", "HEAD"])).flatten().unwrap_or_default();
    list.lines().map(str::to_string).collect()
}

fn walked(root: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            if !entry.path().is_dir() {
                found.push(path.to_string_lossy().replace('\\', "/"));
            } else if name != "target" && (!name.starts_with('.') || name == ".ci" || name == ".cargo") {
                open.push(path);
            }
        }
    }
    found
}
