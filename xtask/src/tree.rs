//! The files of the project.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file of the project.
pub(crate) struct File {
    /// Path from the root, with `/` between its parts.
    pub(crate) path: String,
    /// The content.
    pub(crate) text: String,
}

impl File {
    /// Whether the name ends in `.ending`.
    pub(crate) fn is(&self, ending: &str) -> bool {
        self.path.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.'))
    }
}

/// All text files, in order of their paths: those that version control knows or would take up, or,
/// without version control, all that do not lie in hidden folders or in `target`.
pub(crate) fn files(root: &Path) -> Vec<File> {
    let mut paths = listed(root).unwrap_or_else(|| walked(root));
    paths.sort_unstable();
    let read = |path: String| Some(File { text: std::fs::read_to_string(root.join(&path)).ok()?, path });
    paths.into_iter().filter_map(read).collect()
}

fn listed(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.split_terminator('\0').map(str::to_string).collect())
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
