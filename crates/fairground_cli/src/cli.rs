//! Commands and flags.

use crate::commands::{
    advise, capture, compare, completions, conform, convert, diff_runs, explain, latency, list, man, profile, replay, reproduce,
    run, schedstat, sensitivity, sweep, timehist, vopr,
};
use clap::{Parser, Subcommand};

/// The Linux fair scheduler as a simulator: a workload in, an explained schedule out.
#[derive(Parser)]
#[command(name = "fairground", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 fine; 1 a verdict went against you; 2 the input is wrong; 3 the world (disk, missing file); \
                        4 inconclusive; 101 our bug; 130 interrupted."
)]
pub(crate) struct Cli {
    /// Print exactly one JSON document on stdout.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run one simulation and print its tables
    Run(run::Args),
    /// Compare two profiles over paired seeds
    Compare(compare::Args),
    /// Run a published experiment and show our numbers beside its own
    Reproduce(reproduce::Args),
    /// Run a recorded trace on another machine or profile
    Replay(replay::Args),
    /// Compare a recorded trace with the model, decision by decision
    Conform(conform::Args),
    /// Explain why a task ran late after a wake-up
    Explain(explain::Args),
    /// Find the smallest CPU limit that meets a goal, and say what the present one does
    Advise(advise::Args),
    /// Show what a result rests on: each class of costs times 0.5 and times 2
    Sensitivity(sensitivity::Args),
    /// Run every combination of a sweep file
    Sweep(sweep::Args),
    /// Convert between trace formats
    Convert(convert::Args),
    /// Show counters of /proc/schedstat, or what was counted between two snapshots
    Schedstat(schedstat::Args),
    /// Show how long tasks wait for a CPU, as `perf sched latency` does
    Latency(latency::Args),
    /// Show what each task did until each switch, as `perf sched timehist` does
    Timehist(timehist::Args),
    /// List what there is
    List(list::Args),
    /// Show a profile, or what changed between two
    #[command(subcommand)]
    Profile(profile::Command),
    /// Write a description of this host
    #[command(subcommand)]
    Capture(capture::Command),
    /// Find the first record in which two runs differ
    DiffRuns(diff_runs::Args),
    /// Run random whole systems under every invariant
    Vopr(vopr::Args),
    /// Print completions for a shell
    Completions(completions::Args),
    /// Print the manual pages
    Man(man::Args),
}
