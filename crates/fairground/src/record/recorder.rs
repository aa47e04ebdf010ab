//! The recorders of the system, and how each is run.

use super::root::Root;
use super::{RecordOptions, events, programs, tracefs};
use fairground_scenario::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Capabilities that perf needs for a whole system, by bit: CAP_SYS_ADMIN, and CAP_PERFMON from v5.8 on.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
/// What perf may do above this value of perf_event_paranoid a plain user may not do with a whole system's tracepoints.
const PARANOID_ALLOWED: i64 = -1;
/// How to get a recorder.
const PACKAGES: &str = "Install one: `apt install linux-perf` (Debian), `apt install linux-tools-$(uname -r)` (Ubuntu), `dnf install perf` \
                        (Fedora), or trace-cmd.";

/// A recorder of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorder {
    /// `perf record`.
    Perf,
    /// `trace-cmd record`.
    TraceCmd,
    /// The files of tracefs themselves, where there is no program for them.
    Tracefs,
}

/// What a recorder is asked to do.
pub(super) struct Asked<'a> {
    pub(super) options: &'a RecordOptions,
    pub(super) events: &'a [String],
    pub(super) recording: &'a Path,
    pub(super) root: &'a Root,
}

impl Asked<'_> {
    /// The command that is recorded; a sleep where the system is recorded as it is.
    pub(super) fn command(&self) -> Vec<String> {
        if !self.options.command.is_empty() {
            return self.options.command.clone();
        }
        let length = self.options.length.unwrap_or(Duration::from_secs(10));
        let millis = match length.subsec_millis() {
            0 => String::new(),
            millis => format!(".{millis:03}"),
        };
        vec!["sleep".to_string(), format!("{}{millis}", length.as_secs())]
    }
    /// How long a command may run. A sleep ends by itself.
    pub(super) fn length(&self) -> Option<Duration> {
        self.options.length.filter(|_| !self.options.command.is_empty())
    }
}

impl Recorder {
    /// All, in the order in which they are looked for.
    pub const ALL: [Recorder; 3] = [Recorder::Perf, Recorder::TraceCmd, Recorder::Tracefs];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Recorder::Perf => "perf",
            Recorder::TraceCmd => "trace-cmd",
            Recorder::Tracefs => "tracefs",
        }
    }
    /// The file of a container that it writes.
    pub(super) fn file(self) -> &'static str {
        match self {
            Recorder::Perf => "perf.data",
            Recorder::TraceCmd => "trace.dat",
            Recorder::Tracefs => "trace.txt",
        }
    }
    /// The recorder that was asked for, or the first that is there; an error says what is missing and how to get it.
    pub(super) fn choose(asked: Option<Recorder>, root: &Root) -> Result<Recorder, Error> {
        let is_there = |recorder: Recorder| match recorder {
            // The perf of some systems is a script that is there without the program for this kernel.
            Recorder::Perf => programs::line_of("perf", &["--version"]).is_some(),
            Recorder::TraceCmd => programs::find("trace-cmd").is_some(),
            Recorder::Tracefs => events::tracefs(root).is_some(),
        };
        let found = match asked {
            Some(recorder) if is_there(recorder) => recorder,
            Some(recorder) => {
                return Err(Error::one("record", format!("{} is not there, or does not run", recorder.name()), PACKAGES));
            }
            None => Recorder::ALL.into_iter().find(|&recorder| is_there(recorder)).ok_or_else(|| {
                Error::one("record", "there is no recorder: no perf, no trace-cmd, and tracefs is not mounted", PACKAGES)
            })?,
        };
        found.check_permission(root)?;
        Ok(found)
    }
    fn check_permission(self, root: &Root) -> Result<(), Error> {
        let status = root.text("proc/self/status").unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let capabilities = field("CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
        let has = |bit: u32| capabilities >> bit & 1 == 1;
        let is_root = field("Uid:").and_then(|uids| uids.split_whitespace().nth(1)) == Some("0");
        let paranoid = root.line("proc/sys/kernel/perf_event_paranoid").and_then(|line| line.parse::<i64>().ok());
        let (may, what) = match self {
            Recorder::Perf => (
                is_root || has(CAP_SYS_ADMIN) || has(CAP_PERFMON) || paranoid.is_some_and(|value| value <= PARANOID_ALLOWED),
                format!(
                    "kernel.perf_event_paranoid is {}",
                    paranoid.map_or_else(|| "unknown".to_string(), |value| value.to_string())
                ),
            ),
            Recorder::TraceCmd | Recorder::Tracefs => {
                (is_root || has(CAP_SYS_ADMIN), "only root may switch tracepoints on".to_string())
            }
        };
        if may {
            return Ok(());
        }
        let message = format!("this user may not record the whole system with {}: {what}", self.name());
        let hint = match self {
            Recorder::Perf => {
                "Run `sudo fairground record …`, or allow it: `sudo sysctl kernel.perf_event_paranoid=-1` and `sudo mount -o \
                               remount,mode=755 /sys/kernel/tracing`."
            }
            Recorder::TraceCmd | Recorder::Tracefs => "Run `sudo fairground record …`.",
        };
        Err(Error::one("record", message, hint))
    }
    /// Its name and version.
    pub(super) fn version(self) -> String {
        match self {
            Recorder::Perf => programs::line_of("perf", &["--version"]).map(|line| line.replace("perf version", "perf")),
            Recorder::TraceCmd | Recorder::Tracefs => None,
        }
        .unwrap_or_else(|| self.name().to_string())
    }
    /// Records. It begins before the command does. Gives notes.
    pub(super) fn run(self, asked: &Asked<'_>, stop: &AtomicBool) -> Result<Vec<String>, Error> {
        let mut command = match self {
            Recorder::Perf => perf(asked),
            Recorder::TraceCmd => trace_cmd(asked),
            Recorder::Tracefs => return tracefs::run(asked, stop),
        };
        let mut child = command
            .stdin(Stdio::inherit())
            .spawn()
            .map_err(|cause| Error::World { what: format!("cannot run {}", self.name()), cause })?;
        let status = programs::wait(&mut child, asked.length(), "INT", stop);
        let status = status.map_err(|cause| Error::World { what: format!("cannot wait for {}", self.name()), cause })?;
        if std::fs::metadata(asked.recording).map_or(0, |found| found.len()) == 0 {
            let message = format!("{} wrote no recording ({status}); what it said stands above", self.name());
            let hint = "Where it could not lock memory for its buffers: `--buffer 1`, or `sudo sysctl kernel.perf_event_mlock_kb=65536`.";
            return Err(Error::one("record", message, hint));
        }
        Ok(if status.success() { Vec::new() } else { vec![format!("{} or the command ended with {status}", self.name())] })
    }
}

/// With a command of its own perf begins before that does.
fn perf(asked: &Asked<'_>) -> Command {
    let mut command = Command::new("perf");
    command.args(["record", "-q", "-a", "-k", "mono", "--all-cgroups", "-m", &format!("{}M", asked.options.buffer_mib), "-o"]);
    command.arg(asked.recording).args(["-e", &asked.events.join(","), "--"]).args(asked.command());
    command
}

fn trace_cmd(asked: &Asked<'_>) -> Command {
    let mut command = Command::new("trace-cmd");
    command.args(["record", "-q", "-C", "mono", "-b", &(u64::from(asked.options.buffer_mib) * 1024).to_string(), "-o"]);
    command.arg(asked.recording);
    for event in asked.events {
        command.args(["-e", event]);
    }
    command.arg("--").args(asked.command());
    command
}
