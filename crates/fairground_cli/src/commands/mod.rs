//! One file per command, with `Args` and `run`; a row in the table below makes it one.

mod advise;
mod bisect;
mod capture;
mod compare;
mod completions;
mod conform;
mod convert;
mod diff_runs;
mod explain;
mod latency;
mod list;
mod man;
mod profile;
mod replay;
mod reproduce;
mod run;
mod schedstat;
mod sensitivity;
mod sweep;
mod timehist;
mod vopr;

use crate::cli::Cli;
use fairground_scenario::Error;

macro_rules! commands {
    ($($(#[$sentence:meta])* $variant:ident $file:ident;)*) => {
        #[derive(clap::Subcommand)]
        pub(crate) enum Command { $($(#[$sentence])* $variant($file::Args),)* }

        /// Runs a command and gives its exit code.
        pub(crate) fn dispatch(cli: Cli) -> Result<u8, Error> {
            match cli.command { $(Command::$variant(args) => $file::run(&args, cli.json),)* }
        }
    };
}

// In the order of the help.
commands! {
    /// Run one simulation and print its tables
    Run run;
    /// Compare two profiles over paired seeds
    Compare compare;
    /// Run a published experiment and show our numbers beside its own
    Reproduce reproduce;
    /// Run a recorded trace on another machine or profile
    Replay replay;
    /// Compare a recorded trace with the model, decision by decision
    Conform conform;
    /// Explain why a task was late
    Explain explain;
    /// Find which change of the kernel moved a metric
    Bisect bisect;
    /// Find the smallest CPU limit that meets a goal, and say what the present one does
    Advise advise;
    /// Show what a result rests on: each class of costs times 0.5 and times 2
    Sensitivity sensitivity;
    /// Run every combination of a sweep file
    Sweep sweep;
    /// Convert between trace formats
    Convert convert;
    /// Show counters of /proc/schedstat, or what was counted between two snapshots
    Schedstat schedstat;
    /// Show how long tasks wait for a CPU, as `perf sched latency` does
    Latency latency;
    /// Show what each task did until each switch, as `perf sched timehist` does
    Timehist timehist;
    /// List what there is
    List list;
    /// Show a profile, or what changed between two
    Profile profile;
    /// Write a description of this host
    Capture capture;
    /// Find the first record in which two runs differ
    DiffRuns diff_runs;
    /// Run random whole systems under every invariant
    Vopr vopr;
    /// Print completions for a shell
    Completions completions;
    /// Print the manual pages
    Man man;
}
