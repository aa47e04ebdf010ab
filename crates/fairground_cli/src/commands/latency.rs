//! `fairground latency`.

use super::{EXIT_NOTHING, Example};
use crate::flags::WatchFlags;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, tell};
use fairground::perf_sched::{Latency, LatencyOptions, LatencyOrder};
use fairground_scenario::{Control, Error};

/// Show how long tasks wait from becoming runnable to running, as `perf sched latency` does.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A line for each task, not for each command; so it is with --cgroup
    #[arg(short = 'p', long)]
    pids: bool,
    /// What the lines are ordered by, largest first
    #[arg(short, long, value_name = "KEY", value_enum, default_value = "avg")]
    sort: Key,
    /// Percentiles too, delays after wake-ups and after preemptions apart
    #[arg(long)]
    percentiles: bool,
    /// How many delays there are of each length too
    #[arg(long)]
    histogram: bool,
    /// The depth of each CPU's queue too, and for how long tasks were queued while another CPU idled; of all tasks
    #[arg(long)]
    queues: bool,
    /// Who ran while each task waited, too
    #[arg(long)]
    antagonists: bool,
    #[command(flatten)]
    watch: WatchFlags,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Key {
    Avg,
    Max,
    Switch,
    Runtime,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("latency scenarios/examples/hog-and-player.toml --percentiles", "mean and longest delay of each task, and percentiles"),
    (
        "latency perf.data --task nginx --antagonists --time 2105.1,2105.4",
        "who ran while a task waited, in a part of a recording",
    ),
    ("latency trace.dat --sort max --queues", "the longest delays first, and how deep queues were"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let order = match args.sort {
        Key::Avg => LatencyOrder::Avg,
        Key::Max => LatencyOrder::Max,
        Key::Switch => LatencyOrder::Switch,
        Key::Runtime => LatencyOrder::Runtime,
    };
    let options = LatencyOptions {
        mark: args.watch.records.mark(),
        by_task: args.pids,
        filter: args.watch.filter(None)?,
        order,
        clock: args.watch.clock.is_recorded(),
        percentiles: args.percentiles,
        histogram: args.histogram,
        queues: args.queues,
        antagonists: args.antagonists,
    };
    let bar = Bar::new("simulating", Unit::Part);
    let control = Control::new(interrupt::flag(), &bar);
    let latency = Latency::of(&args.watch.input, &args.watch.records.source(), &options, control);
    bar.finish();
    let latency = latency?;
    show::notes(&latency.origin.notes);
    if json {
        show::document(&latency.document())?;
    } else {
        show::summary_and_tables(&latency.summary, &latency.tables)?;
    }
    if latency.origin.partial {
        return Ok(interrupt::told("what is shown ends there"));
    }
    if latency.is_empty {
        tell!("no task runs or waits there");
        return Ok(EXIT_NOTHING);
    }
    Ok(0)
}
