//! Programs of the system: whether they are there, and how they are ended.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a program that runs is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// So long a program may go on after its signal: a recorder writes what its buffers hold.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where a program is, by PATH.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The first line that a program prints, if it ends well.
pub(super) fn line_of<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    super::root::first_line(&String::from_utf8_lossy(&output.stdout))
}

/// Waits for a program. When the time is over, or the caller stops, it gets `signal` and is waited for: not for longer than [`PATIENCE`],
/// since a command may go on all the same, and some recorders wait for theirs.
pub(super) fn wait(child: &mut Child, length: Option<Duration>, signal: &str, stop: &AtomicBool) -> std::io::Result<ExitStatus> {
    let end = length.map(|length| Instant::now() + length);
    let mut told: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        match told {
            Some(at) if at.elapsed() >= PATIENCE => child.kill()?,
            None if stop.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end) => {
                told = Some(Instant::now());
                // The shell's own command: no system is without it.
                let asked = Command::new("/bin/sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
                if !asked.is_ok_and(|status| status.success()) {
                    child.kill()?;
                }
            }
            _ => {}
        }
        std::thread::sleep(LOOK);
    }
}
