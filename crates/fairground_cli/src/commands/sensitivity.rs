//! `fairground sensitivity`.

use super::Example;
use crate::flags::{InputFlags, ScenarioFlags, SidesFlags, THREADS_MAX, permille, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::sensitivity::{self, SensitivityOptions};
use fairground_scenario::{Control, Error};

/// Run with the prices of each class of costs times 0.5 and times 2, one class at a time.
///
/// With another side (--b, --change) the change from the baseline to it is looked at, and whether its sign holds.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputFlags,
    /// A metric by its name in `run --json`; without any those that the workloads measure, and the latency of wake-ups
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<String>,
    /// The smallest effect that matters
    #[arg(long, value_name = "PERCENT", default_value = "0.5%")]
    worth: String,
    /// Number of seeds, of which the means are taken; fewer than six can decide nothing
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = whole(1_u64..=10_000))]
    runs: u64,
    /// Threads; 0 = one per CPU of this host
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=THREADS_MAX))]
    threads: usize,
    #[command(flatten)]
    sides: SidesFlags,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("sensitivity scenarios/examples/hog-and-player.toml", "how far each figure rests on assumed costs"),
    ("sensitivity a.toml --change NO_WAKEUP_PREEMPTION --worth 2%", "whether a difference holds at other costs"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let input = args.input.open(&args.sides.overrides(&args.change))?;
    show::notes(&input.scenario().notes);
    let bar = Bar::new("scaling prices", Unit::Runs);
    let SidesFlags { a, b, changes } = args.sides.clone();
    let options = SensitivityOptions {
        metrics: args.metrics.clone(),
        a,
        b,
        changes,
        runs: args.runs,
        worth_permille: Some(permille("--worth", &args.worth)?),
        threads: args.threads,
    };
    let found = sensitivity::sensitivity(input.scenario(), &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let found = found?;
    if json {
        show::document(&found.document(input.scenario()))?;
    } else {
        show::summary_and_tables(&found.summary(), &found.tables())?;
    }
    if found.interrupted {
        return Ok(interrupt::told("the tables hold what was simulated until then, which says nothing"));
    }
    Ok(found.exit_code())
}
