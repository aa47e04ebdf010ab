//! Instructions per event of a program, counted by callgrind at two lengths, so that start-up cancels.

use std::ffi::OsString;
use std::process::Command;

/// Instructions and events of one run. The program takes the name of a case and milliseconds, and prints its events.
pub(crate) fn count(program: &[OsString], case: &str, ms: u64) -> Result<(u64, u64), String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(program).args([case, &ms.to_string()]);
    // What a program finds in its environment changes how many instructions its start takes.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("PYTHONHASHSEED", "0");
    let output = command.output();
    let output =
        output.map_err(|error| format!("valgrind: {error} (it comes with the distribution: apt-get install valgrind)"))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let events = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    let collected = errors.lines().find(|line| line.contains("Collected"));
    let instructions = collected.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    instructions.zip(events).ok_or_else(|| format!("{case} under callgrind: {errors}"))
}

/// Instructions per event of the time by which one run is longer.
pub(crate) fn per_event(short: u64, short_events: u64, long: u64, long_events: u64) -> Option<u64> {
    long.checked_sub(short)?.checked_div(long_events.checked_sub(short_events)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_up_cancels() {
        assert_eq!(per_event(1_000_100, 10, 1_002_100, 12), Some(1000));
        assert_eq!(per_event(1_000_100, 10, 1_000_200, 10), None);
    }
}
