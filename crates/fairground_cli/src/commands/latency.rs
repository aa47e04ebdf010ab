//! `fairground latency`.

use crate::flags::RecordFlags;
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show;
use fairground::perf_sched::{Latency, LatencyOrder};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Show how long tasks wait from becoming runnable to running, as `perf sched latency` does.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A trace, a scenario, or the folder of a recorded experiment
    input: PathBuf,
    #[command(flatten)]
    records: RecordFlags,
    /// A line for each task, not for each command
    #[arg(short = 'p', long)]
    pids: bool,
    /// What the lines are ordered by, largest first
    #[arg(short, long, value_name = "KEY", value_enum, default_value = "avg")]
    sort: Key,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Key {
    Avg,
    Max,
    Switch,
    Runtime,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let order = match args.sort {
        Key::Avg => LatencyOrder::Avg,
        Key::Max => LatencyOrder::Max,
        Key::Switch => LatencyOrder::Switch,
        Key::Runtime => LatencyOrder::Runtime,
    };
    let bar = Bar::new("simulating");
    let control = Control::new(interrupt::flag(), &bar);
    let latency = Latency::of(&args.input, &args.records.source(), args.records.mark(), args.pids, control);
    bar.finish();
    let latency = latency?;
    show::notes(&latency.origin.notes);
    if json {
        show::document(&latency.document(order))?;
    } else {
        show::tables(&[latency.table(order)])?;
    }
    Ok(if latency.origin.partial { EXIT_INTERRUPTED } else { 0 })
}
