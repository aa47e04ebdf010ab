//! `fairground explain`.

use super::Example;
use crate::flags::{ScenarioFlags, TimeFlags, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::input::RunInput;
use fairground::interval::Interval;
use fairground_explain::{self as explain, Answer, ExplainOptions, RecordedOptions, RecordedStory};
use fairground_scenario::{Control, Error, Scenario};
use std::path::PathBuf;

/// Explain why a task was late: what kept it from its CPU from the time at which it should have run, who ran instead and by
/// which rule, and which change would have helped. Delays count after wake-ups and due timers, after a task was taken off
/// its CPU, and while it waits for a lock.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A scenario, an rt-app file, the folder of a recorded experiment, or a trace; - is a scenario on stdin
    scenario: PathBuf,
    /// Only delays of tasks of this name, or of the one with this process id
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// The delay that was under way at this time, or the next one: 1.25s; of a trace also in seconds as perf prints them: 2105.336885
    #[arg(long, value_name = "TIME", conflicts_with_all = ["percentile", "worst"])]
    at: Option<String>,
    /// The longest delay (the default)
    #[arg(long, conflicts_with = "percentile")]
    worst: bool,
    /// The delay at this percentile of those after wake-ups, such as 99.9, and a table of all that were as long or longer
    #[arg(long, value_name = "P")]
    percentile: Option<String>,
    /// Of a trace: so many of the longest waits are listed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole(0..=usize::MAX))]
    top: usize,
    /// Try this change from the state before the task last slept: an overlay, a feature (NO_WAKEUP_PREEMPTION), a tunable
    /// (sched_wakeup_granularity_ns=0), a seam (preemption=full), a change of [[at]] ("affinity worker 0-3"), "slack worker 1us",
    /// queued-load, no-interrupts, no-steal, no-deep-idle or no-holder-preemption; from the beginning of the run: another kernel (kernel=6.12), machine
    /// (machine.hz=1000), more CPUs (cpus=8) or number of workers of a service (workers=16); several with ; between them. Else
    /// what is plausible
    #[arg(long = "what-if", value_name = "CHANGE")]
    what_if: Vec<String>,
    #[command(flatten)]
    time: TimeFlags,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    (
        "explain scenarios/examples/hog-and-player.toml --task player",
        "the longest delay of a task: its cause, and what would help",
    ),
    ("explain a.toml --task worker --at 1.25s --what-if 'nice worker -5'", "the delay at that time, with one thing changed"),
    ("explain trace.dat --task nginx --top 3", "the longest waits in a recording, and who ran meanwhile"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    if explain::is_recording(&args.scenario) {
        return recorded(args, json);
    }
    if args.time.interval()? != Interval::default() {
        let message = "--time is for traces";
        return Err(Error::one("command line", message, "Of a scenario, `--at` chooses the delay."));
    }
    let input = RunInput::open(&args.scenario, &args.change.overrides())?;
    let scenario = input.scenario();
    if scenario.profile.tree().is_some() {
        return over_tree(args, scenario, json);
    }
    let options = ExplainOptions {
        task: args.task.clone(),
        at: args.at.clone(),
        percentile: args.percentile.clone(),
        what_if: args.what_if.clone(),
    };
    let bar = Bar::new("simulating", Unit::Part);
    let explained = explain::explain(scenario, &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let explained = explained?;
    show::notes(&scenario.notes);
    let explanation = match explained {
        None => return Ok(interrupted()),
        Some(Answer::NeverLate { task, digest }) => {
            match json {
                true => show::document(&explain::document_of_none(scenario, task.as_deref(), digest))?,
                false => show::lines(&explain::story_of_none(task.as_deref()))?,
            }
            return Ok(0);
        }
        Some(Answer::Late(explanation)) => explanation,
    };
    if json {
        show::document(&explain::document(scenario, &explanation))?;
    } else {
        show::lines(&(explain::story(&explanation) + "\n"))?;
        show::tables(&explain::tables(&explanation))?;
    }
    Ok(0)
}

/// Of a trace the record itself is told: who ran while the task waited.
fn recorded(args: &Args, json: bool) -> Result<u8, Error> {
    if !args.what_if.is_empty() || args.percentile.is_some() {
        let message = format!("`{}` is a recording: nothing is simulated that flags could change", args.scenario.display());
        return Err(Error::one(
            "command line",
            message,
            "Use `--task`, `--at`, `--time` and `--top`, and for the model beside it `--profile`, or `fairground replay` first.",
        ));
    }
    let bar = Bar::new("reading", Unit::Part);
    let told = explain::recorded(&args.scenario, &options(args)?, Control::new(interrupt::flag(), &bar));
    bar.finish();
    show_story(&told?, json)
}

/// Of a run over a kernel tree the same is told: C code gives decisions and no rules.
fn over_tree(args: &Args, scenario: &Scenario, json: bool) -> Result<u8, Error> {
    if !args.what_if.is_empty() || args.percentile.is_some() {
        let message = "a kernel tree decides: nothing can be tried from the middle of the run, and no rule is known";
        return Err(Error::one(
            "command line",
            message,
            "Use `--task`, `--at` and `--top`; `fairground compare` tries a change over a tree.",
        ));
    }
    let bar = Bar::new("simulating", Unit::Part);
    let told = explain::over_tree(&args.scenario, scenario, &options(args)?, Control::new(interrupt::flag(), &bar));
    bar.finish();
    match told? {
        Some(story) => show_story(&story, json),
        None => Ok(interrupted()),
    }
}

fn interrupted() -> u8 {
    interrupt::told("nothing is explained")
}

fn options(args: &Args) -> Result<RecordedOptions, Error> {
    Ok(RecordedOptions {
        task: args.task.clone(),
        at: args.at.clone(),
        interval: args.time.interval()?,
        top: args.top,
        overrides: args.change.overrides(),
        scenario: None,
    })
}

fn show_story(told: &RecordedStory, json: bool) -> Result<u8, Error> {
    show::notes(&told.origin.notes);
    if json {
        show::document(&told.document())?;
    } else {
        show::lines(&(told.summary() + "\n"))?;
        show::tables(&told.tables())?;
    }
    Ok(0)
}
