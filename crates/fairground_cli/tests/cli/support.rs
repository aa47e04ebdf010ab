//! Running the real binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a command printed, and its exit code.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The one document on stdout.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

/// The command with its arguments, in the folder of the workspace.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.args(args).current_dir(workspace()).stdin(Stdio::null());
    // Of these the output depends.
    for name in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command
}

/// Runs to the end.
pub(crate) fn run(args: &[&str]) -> Ran {
    let Output { status, stdout, stderr } = command(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Runs and expects success.
pub(crate) fn ok(args: &[&str]) -> Ran {
    let ran = run(args);
    assert_eq!(ran.code, 0, "{args:?}\n{}\n{}", ran.out, ran.err);
    ran
}

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder for one test; it goes away with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fairground-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
    /// Writes a file into it and returns its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }
    /// The content of a file in it.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
    /// The names of all that is in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
    /// Whether there is such a file in it.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A scenario of two hogs and a periodic task on one CPU.
pub(crate) const SMALL: &str = "
title = \"small\"
duration = \"1s\"
[machine]
preset = \"smp-1\"
costs = \"zero\"
[profile]
kernel = \"5.19\"
[[workload]]
tasks = [{ name = \"hog\", hog = true, count = 2 }, { name = \"player\", run = \"2ms\", period = \"20ms\" }]
";

/// The folder of a recorded experiment.
pub(crate) fn recording(name: &str) -> String {
    fairground_testing::recording(name).display().to_string()
}

/// Every experiment of the recordings whose family's name begins with one of `families`.
pub(crate) fn experiments(families: &[&str]) -> Vec<String> {
    let found = fairground_testing::experiments(|name| families.iter().any(|family| name.starts_with(family)));
    found.iter().map(|path| path.display().to_string()).collect()
}
