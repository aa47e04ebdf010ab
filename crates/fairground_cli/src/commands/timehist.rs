//! `fairground timehist`.

use super::{EXIT_NOTHING, Example};
use crate::flags::WatchFlags;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, Lines, tell};
use crate::style::layout;
use fairground::perf_sched::{self, Summary, TimeHistColumns, TimeHistLine};
use fairground_scenario::{Control, Error};

/// Show what each task did until each switch away from it, as `perf sched timehist` does.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    cpu: Option<String>,
    /// Sums by task instead of a line for each switch
    #[arg(short, long)]
    summary: bool,
    /// Also the state in which a task was switched away: R, S, D, I, X
    #[arg(long)]
    state: bool,
    /// Also a line for each wake-up
    #[arg(short, long, conflicts_with_all = ["summary", "cgroups"])]
    wakeups: bool,
    #[command(flatten)]
    watch: WatchFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("timehist scenarios/examples/nice.toml --task plus", "each turn of a task on a CPU"),
    ("timehist trace.dat --cpu 0-3 --state --wakeups --clock start", "with states and wake-ups, times from the first event on"),
    ("timehist trace.dat --summary", "sums by task"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let filter = args.watch.filter(args.cpu.as_deref())?;
    let columns = TimeHistColumns { state: args.state, clock: args.watch.clock.is_recorded(), ..TimeHistColumns::default() };
    let columns = columns.fitting(layout().width);
    let (source, mark) = (args.watch.records.source(), args.watch.records.mark());
    // Lines appear while the work goes on: then they are the progress that is shown.
    let bar = Bar::new("simulating", Unit::Part);
    let control = Control::new(interrupt::flag(), &bar);
    let control = if json || args.summary { control } else { control.quiet() };
    let (mut rows, mut summary) = (Vec::new(), Summary::default());
    let (mut lines, mut is_empty) = (Lines::new(), true);
    if !json && !args.summary {
        lines.push(&perf_sched::timehist_heading(columns));
    }
    let origin = perf_sched::timehist(&args.watch.input, &source, mark, &filter, args.wakeups, control, |line| {
        is_empty = false;
        if let TimeHistLine::Switch(row, info, _) = &line {
            summary.add(row, info);
        }
        match line {
            TimeHistLine::Switch(..) if args.summary => {}
            TimeHistLine::Switch(row, info, group) if json => rows.push(perf_sched::timehist_value(row, info, group)),
            TimeHistLine::Switch(row, info, group) => lines.push(&perf_sched::timehist_line(row, info, group, columns)),
            TimeHistLine::Wakeup(row) if json => rows.push(perf_sched::wakeup_value(&row)),
            TimeHistLine::Wakeup(row) => lines.push(&perf_sched::wakeup_line(&row, columns)),
        }
    });
    bar.finish();
    let origin = origin?;
    show::notes(&origin.notes);
    let epoch_ns = if columns.clock { origin.extent.epoch_ns } else { 0 };
    let said = perf_sched::timehist_summary_lines(origin.name(), &summary, epoch_ns);
    let sums = args.summary.then(|| perf_sched::timehist_summary(&summary, epoch_ns));
    if json {
        show::document(&perf_sched::timehist_document(&origin, rows, sums))?;
    } else if let Some(sums) = sums {
        show::summary_and_tables(&said, &[sums])?;
    } else {
        lines.finish(&said)?;
    }
    if origin.partial {
        return Ok(interrupt::told("what is shown ends there"));
    }
    if is_empty {
        tell!("no such switch or wake-up is there");
        return Ok(EXIT_NOTHING);
    }
    Ok(0)
}
