//! `fairground timehist`.

use super::Example;
use crate::flags::{ClockFlags, RecordFlags, TimeFlags};
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show::{self, Lines};
use crate::style::layout;
use fairground::perf_sched::{self, Filter, Summary, TimeHistColumns, TimeHistLine};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Show what each task did until each switch away from it, as `perf sched timehist` does.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A trace, a scenario, or the folder of a recorded experiment; - is a scenario on stdin
    input: PathBuf,
    /// Only this task, by name or pid
    #[arg(long = "task", value_name = "TASK")]
    tasks: Vec<String>,
    /// Only tasks of this control group and those below it, where the trace tells groups
    #[arg(long = "cgroup", value_name = "PATH", conflicts_with = "wakeups")]
    cgroups: Vec<String>,
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
    #[arg(short, long, conflicts_with = "summary")]
    wakeups: bool,
    #[command(flatten)]
    time: TimeFlags,
    #[command(flatten)]
    clock: ClockFlags,
    #[command(flatten)]
    records: RecordFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("timehist scenarios/examples/nice.toml --task plus", "each turn of a task on a CPU"),
    ("timehist trace.dat --cpu 0-3 --state --wakeups --clock recorded", "with states and wake-ups, by the recording's own clock"),
    ("timehist trace.dat --summary", "sums by task"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let filter = Filter::new(args.tasks.clone(), args.cpu.as_deref(), args.time.interval()?)?.in_groups(&args.cgroups)?;
    let columns = TimeHistColumns { state: args.state, clock: args.clock.is_recorded(), ..TimeHistColumns::default() };
    let columns = columns.fitting(layout().width);
    let (source, mark) = (args.records.source(), args.records.mark());
    // Lines appear while the work goes on: then they are the progress that is shown.
    let bar = Bar::new("simulating");
    let control = Control::new(interrupt::flag(), &bar);
    let control = if json || args.summary { control } else { control.quiet() };
    let (mut rows, mut summary) = (Vec::new(), Summary::default());
    let mut lines = Lines::new();
    if !json && !args.summary {
        lines.push(&perf_sched::timehist_heading(columns));
    }
    let origin = perf_sched::timehist(&args.input, &source, mark, &filter, args.wakeups, control, |line| {
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
    let said = perf_sched::timehist_summary_lines(origin.name(), &summary);
    if json {
        show::document(&perf_sched::timehist_document(&origin, rows, args.summary.then_some(&summary)))?;
    } else if args.summary {
        show::summary_and_tables(&said, &[perf_sched::timehist_summary(&summary)])?;
    } else {
        lines.finish(&said)?;
    }
    Ok(if origin.partial { EXIT_INTERRUPTED } else { 0 })
}
