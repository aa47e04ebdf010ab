//! `fairground timehist`.

use crate::flags::RecordFlags;
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show::{self, Lines};
use fairground::perf_sched::{self, Filter, Summary};
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
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let filter = Filter::new(args.tasks.clone(), args.cpu.as_deref())?;
    let (source, mark) = (args.records.source(), args.records.mark());
    // Lines appear while the work goes on: then they are the progress that is shown.
    let bar = Bar::new("simulating");
    let control = Control::new(interrupt::flag(), &bar);
    let control = if json || args.summary { control } else { control.quiet() };
    let (mut rows, mut summary) = (Vec::new(), Summary::default());
    let mut lines = Lines::new();
    let mut shown = 0_u64;
    if !json && !args.summary {
        lines.push(&perf_sched::timehist_heading());
    }
    let origin = perf_sched::timehist(&args.input, &source, mark, &filter, control, |row, info| {
        shown += 1;
        if args.summary {
            summary.add(row, info);
        } else if json {
            rows.push(perf_sched::timehist_value(row, info));
        } else {
            lines.push(&perf_sched::timehist_line(row, info));
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
