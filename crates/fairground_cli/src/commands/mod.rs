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
mod judge;
mod kernel;
mod latency;
mod list;
mod man;
mod profile;
mod record;
mod replay;
mod reproduce;
mod run;
mod schedstat;
mod sensitivity;
mod snapshot;
mod sweep;
mod sweep_ray;
mod timehist;
mod vopr;

use crate::cli::Cli;
use fairground_scenario::Error;

/// Exit code of a command that decided nothing: nothing was compared, read or run.
pub(crate) const EXIT_NOTHING: u8 = 4;

/// The arguments of a command behind `fairground`, and what it does.
pub(crate) type Example = (&'static str, &'static str);
/// A question, and the commands that answer it: their files, what they do, and examples.
pub(crate) type Group = (&'static str, &'static [(&'static str, &'static str, &'static [Example])]);

macro_rules! commands {
    ($($question:literal { $(#[doc = $about:literal] $variant:ident $file:ident;)* })*) => {
        #[derive(clap::Subcommand)]
        pub(crate) enum Command { $($(#[doc = $about] $variant($file::Args),)*)* }

        /// Runs a command and gives its exit code.
        pub(crate) fn dispatch(cli: Cli) -> Result<u8, Error> {
            match cli.command { $($(Command::$variant(args) => $file::run(&args, cli.style.json),)*)* }
        }

        /// All commands by the question that they answer.
        pub(crate) const GROUPS: &[Group] = &[$(($question, &[$((stringify!($file), $about, $file::EXAMPLES)),*])),*];
    };
}

// In the order of the help.
commands! {
    "What does my own machine do?" {
        /// Record this machine: its scheduler, groups, policies and load
        Record record;
        /// Write groups, policies and machine beside a recording of your own
        Snapshot snapshot;
    }
    "What happens in a run?" {
        /// Run one simulation and print its tables
        Run run;
        /// Run a recorded trace on another machine or profile
        Replay replay;
        /// Show how long tasks wait for a CPU, as `perf sched latency` does
        Latency latency;
        /// Show each turn of each task, as `perf sched timehist` does
        Timehist timehist;
    }
    "Why was a task late?" {
        /// Explain a delay: who ran instead, by which rule, what would help
        Explain explain;
    }
    "What does a change do?" {
        /// Compare two profiles over paired seeds, or two recordings
        Compare compare;
        /// Judge a kernel against another over a battery of cases, as a mail
        Judge judge;
        /// Find which change of the kernel moved a metric
        Bisect bisect;
        /// Run every combination of a sweep file
        Sweep sweep;
        /// Show what a result rests on: each class of costs x 0.5 and x 2
        Sensitivity sensitivity;
        /// Find the first record in which two runs differ
        DiffRuns diff_runs;
    }
    "Which CPU limit does a service need?" {
        /// Find the smallest limit that meets a goal; judge the present one
        Advise advise;
    }
    "Is the model right?" {
        /// Compare a recorded trace with the model, decision by decision
        Conform conform;
        /// Run a published experiment and show our figures beside its own
        Reproduce reproduce;
        /// Run random whole systems under every invariant
        Vopr vopr;
    }
    "What is in these files?" {
        /// Convert between trace formats
        Convert convert;
        /// Show counters of /proc/schedstat, or what two snapshots counted
        Schedstat schedstat;
    }
    "What is there, and how do I set it up?" {
        /// List kernels, features, machines, workloads, metrics and more
        List list;
        /// Show a profile, or what changed between two
        Profile profile;
        /// Build the scheduler of a kernel tree as a library
        Kernel kernel;
        /// Write a description of this host
        Capture capture;
        /// Print completions for a shell
        Completions completions;
        /// Print the manual pages
        Man man;
    }
}
