//! `fairground sweep --engine ray`: the Python package fills the journal on a Ray cluster.

use fairground::sweep::SweepOptions;
use fairground_scenario::guard::VERSION;
use fairground_scenario::text_file::is_stdin;
use fairground_scenario::{Control, Error};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Says by its exit code what is there: 0 all, 10 without the package, 11 without Ray.
const PROBE: &str = "from importlib.util import find_spec as f; raise SystemExit(0 if f('fairground') and f('ray') else 11 if f('fairground') else 10)";
/// Between two looks at the package's process.
const LOOK: Duration = Duration::from_millis(50);
/// So many of them it may go on when it is to stop: the rest of a second is for showing what is there.
const PATIENCE: u32 = 6;

/// Makes what is open, and notes it in the journal. The exit code is 0 if all was made; the package has told any other.
pub(super) fn fill(
    sweep: &Path,
    address: Option<&str>,
    more: &[String],
    options: &SweepOptions,
    control: Control<'_>,
) -> Result<u8, Error> {
    if is_stdin(sweep) {
        return Err(Error::one("--engine ray", "a sweep file on stdin has no journal", "Write it into a file."));
    }
    let cannot = |cause| Error::World { what: "cannot start python3".into(), cause };
    let missing = |what: &str, hint: &str| Err(Error::one("--engine ray", what, hint));
    let probe = Command::new("python3").args(["-c", PROBE]).stdin(Stdio::null()).status();
    match probe {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return missing("there is no python3", "Install Python 3.10 or newer, then: pip install './python[ray]'");
        }
        Err(error) => return Err(cannot(error)),
        Ok(status) => match status.code() {
            Some(0) => {}
            Some(10) => return missing("python3 has no package fairground", "pip install './python[ray]'"),
            Some(11) => return missing("python3 has no package ray", "pip install './python[ray]'"),
            _ => return missing("python3 does not run", "Install Python 3.10 or newer, then: pip install './python[ray]'"),
        },
    }
    let mut command = Command::new("python3");
    command.args(["-m", "fairground._ray", "--version", VERSION]).args(more);
    if let Some(address) = address {
        command.arg(format!("--address={address}"));
    }
    if let Some(journal) = &options.journal {
        command.arg("--journal").arg(journal);
    }
    if options.fresh {
        command.arg("--fresh");
    }
    let mut child = command.arg("--").arg(sweep).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(cannot)?;
    let steps = child.stdout.take().map(steps);
    // Ctrl-C reaches the child too, which ends by itself. What stands in the journal is kept however it ends.
    let mut looks = 0;
    loop {
        if let Some((done, total)) = steps.as_ref().and_then(|steps| steps.try_iter().last()) {
            control.at(done, total);
        }
        if let Some(status) = child.try_wait().map_err(cannot)? {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(if control.stopped() { 0 } else { code.unwrap_or(3) });
        }
        looks += u32::from(control.stopped());
        if looks == PATIENCE {
            child.kill().map_err(cannot)?;
        }
        std::thread::sleep(LOOK);
    }
}

/// How many runs are finished, and of how many, as the package writes it: a line with two numbers. Ray's processes keep the pipe open for
/// a while after the package has ended, so nobody waits for its end.
fn steps(said: ChildStdout) -> Receiver<(u64, u64)> {
    let (told, steps) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(said).lines().map_while(Result::ok);
        let step = |line: String| {
            let (done, total) = line.split_once(' ')?;
            Some((done.parse().ok()?, total.parse().ok()?))
        };
        lines.filter_map(step).try_for_each(|step| told.send(step))
    });
    steps
}
