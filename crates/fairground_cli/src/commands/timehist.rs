//! `fairground timehist`.

use crate::flags::{ClockFlags, RecordFlags, TimeFlags};
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show::{self, Lines};
use fairground::perf_sched::{self, Filter, Summary, TimeHistColumns, TimeHistLine};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Show what each task did until each switch away from it, as `perf sched timehist` does.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A trace, a scenario, or the folder of a recorded experiment
    input: PathBuf,
    #[command(flatten)]
    records: RecordFlags,
    /// Only this task, by name or pid
    #[arg(long = "task", value_name = "TASK")]
    tasks: Vec<String>,
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
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let filter = Filter::new(args.tasks.clone(), args.cpu.as_deref(), args.time.interval()?)?;
    let columns = TimeHistColumns { state: args.state, clock: args.clock.is_recorded() };
    let (source, mark) = (args.records.source(), args.records.mark());
    // Lines appear while the work goes on: then they are the progress that is shown.
    let bar = Bar::new("simulating");
    let control = Control::new(interrupt::flag(), &bar);
    let control = if json || args.summary { control } else { control.quiet() };
    let (mut rows, mut summary) = (Vec::new(), Summary::default());
    let mut lines = Lines::new();
    let mut shown = 0_u64;
    if !json && !args.summary {
        lines.push(&perf_sched::timehist_heading(columns));
    }
    let origin = perf_sched::timehist(&args.input, &source, mark, &filter, args.wakeups, control, |line| {
        shown += 1;
        match line {
            TimeHistLine::Switch(row, info) if args.summary => summary.add(row, info),
            TimeHistLine::Switch(row, info) if json => rows.push(perf_sched::timehist_value(row, info)),
            TimeHistLine::Switch(row, info) => lines.push(&perf_sched::timehist_line(row, info, columns)),
            TimeHistLine::Wakeup(row) if json => rows.push(perf_sched::wakeup_value(&row)),
            TimeHistLine::Wakeup(row) => lines.push(&perf_sched::wakeup_line(&row, columns)),
        }
    });
    bar.finish();
    let origin = origin?;
    lines.finish()?;
    show::notes(&origin.notes);
    if shown == 0 {
        eprintln!("warning: no switch away from such a task, or on such a CPU, is in the record");
    }
    if json {
        show::document(&perf_sched::timehist_document(&origin, rows, args.summary.then_some(&summary)))?;
    } else if args.summary {
        show::tables(&[perf_sched::timehist_summary(&summary)])?;
    }
    Ok(if origin.partial { EXIT_INTERRUPTED } else { 0 })
}
