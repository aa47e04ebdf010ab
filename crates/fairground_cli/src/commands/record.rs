//! `fairground record`.

use super::Example;
use crate::flags::whole;
use crate::interrupt;
use fairground::record::{self, RecordOptions, Recorder, Root};
use fairground_scenario::Error;
use std::path::PathBuf;
use std::time::Duration;

/// Record this machine: its scheduler, groups, policies and load.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The command to start and to record, behind `--`; without one the machine is recorded as it is
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
    /// The container to make: a folder that every command takes as a trace
    #[arg(short, long = "output", value_name = "X.fgr", default_value = "recording.fgr")]
    output: PathBuf,
    /// How long, as 10s or 500ms; a command that is not done then is ended. Without a command 10s if left out
    #[arg(long = "for", value_name = "TIME", value_parser = record::parse_length)]
    length: Option<Duration>,
    /// The task that is meant, by its name. All are recorded, since one waits for others
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,
    /// The control group that is meant, by its path
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// Also record this event, as irq:softirq_entry; may be given more than once
    #[arg(long, value_name = "SYSTEM:NAME")]
    event: Vec<String>,
    /// Memory for each CPU's buffer, MiB, a power of two
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = whole(1_u32..=4096))]
    buffer: u32,
    /// Replace the names of tasks and groups by task-1, group-1 and so on
    #[arg(long)]
    mask: bool,
    /// Record with this instead of the first that is there: perf, trace-cmd, tracefs
    #[arg(long, value_name = "NAME", value_parser = parse_recorder)]
    recorder: Option<Recorder>,
}

fn parse_recorder(text: &str) -> Result<Recorder, String> {
    let found = Recorder::ALL.into_iter().find(|recorder| recorder.name() == text);
    found.ok_or_else(|| "expected perf, trace-cmd or tracefs".to_string())
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("record -o x.fgr -- make -j2", "a build, from its start to its end"),
    ("record -o x.fgr --for 10s --comm redis-server", "a service that runs already"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let options = RecordOptions {
        output: args.output.clone(),
        command: args.command.clone(),
        length: args.length,
        comm: args.comm.clone(),
        cgroup: args.cgroup.clone(),
        events: args.event.clone(),
        buffer_mib: args.buffer,
        is_masked: args.mask,
        recorder: args.recorder,
    };
    let made = record::record(&options, &Root::default(), interrupt::flag_of_recorder())?;
    super::snapshot::shown(&made, "record", json)?;
    Ok(0)
}
