//! `fairground sweep`.

use super::{Example, sweep_ray};
use crate::flags::{THREADS_MAX, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, tell};
use fairground::output::{ResultFiles, ResultKind};
use fairground::sweep::{Sweep, SweepOptions, sweep_document, sweep_file, sweep_summary, sweep_table};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Run every combination of a sweep file.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The sweep file (.toml): base scenario and axes; - is stdin
    sweep: PathBuf,
    /// Also write the results; its ending chooses the format: .csv, .json, .parquet, .html
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Threads; 0 = one per CPU of this host
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=THREADS_MAX))]
    threads: usize,
    /// Where runs are made; ray needs python3 and: pip install './python[ray]'
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    engine: Engine,
    /// Of --engine ray: the cluster, such as 10.0.0.1:6379; the one that this host is part of, or else one of this host alone, if left out
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Where finished runs are noted; beside the sweep file if left out
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Forget finished runs and begin anew
    #[arg(long)]
    fresh: bool,
    /// A row per run; without it the seeds of a point are one row: median, interval, quantiles
    #[arg(long)]
    seeds_apart: bool,
    /// End the seeds of a point when the 95 % interval of the median is so narrow: `1%` of the first of `metrics`, or `METRIC=1%`
    #[arg(long, value_name = "WIDTH")]
    until: Option<String>,
}

const KINDS: [ResultKind; 4] = [ResultKind::Csv, ResultKind::Json, ResultKind::Parquet, ResultKind::Html];

#[derive(Clone, Copy, clap::ValueEnum)]
enum Engine {
    /// Threads of this host
    Local,
    /// Workers of a Ray cluster
    Ray,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("sweep scenarios/sweeps/latency.toml", "every combination of the axes in a file"),
    ("sweep scenarios/sweeps/latency.toml -o latency.csv --fresh", "anew, with all figures in a file"),
    ("sweep scenarios/sweeps/quota.toml -o quota.html", "a service against its quota, with charts"),
    ("sweep scenarios/sweeps/quota.toml --engine ray", "on the CPUs of a Ray cluster"),
    ("sweep scenarios/sweeps/quota.toml --until 5%", "fewer seeds where the interval is narrow already"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    if matches!(args.engine, Engine::Local) && args.address.is_some() {
        return Err(Error::one("--address", "an address without Ray", "Add --engine ray."));
    }
    let mut sweep = Sweep::load(&args.sweep)?;
    if args.seeds_apart {
        sweep.set_seeds_apart();
    }
    if let Some(width) = &args.until {
        sweep.set_until(width)?;
    }
    let mut options = SweepOptions { threads: args.threads, fresh: args.fresh, journal: args.journal.clone() };
    let stop = interrupt::flag();
    let files = ResultFiles::open_beside(&args.output, sweep.journal(&options), "sweep", &KINDS)?;
    let bar = Bar::new("sweeping", Unit::Runs);
    match args.engine {
        Engine::Ray => {
            let code = filled(args, &options, Control::new(stop, &bar))?;
            if code != 0 {
                bar.finish();
                return Ok(code);
            }
            // All runs stand in the journal now.
            options.fresh = false;
        }
        Engine::Local => {}
    }
    let swept = sweep.run(&options, Control::new(stop, &bar));
    bar.finish();
    let swept = swept?;
    for path in files.finish(!swept.interrupted, |kind| sweep_file(&swept, &sweep.inputs(), kind))? {
        show::written(&path);
    }
    if json {
        show::document(&sweep_document(&swept, &sweep.inputs()))?;
    } else {
        show::summary_and_tables(&sweep_summary(&swept), &[sweep_table(&swept)])?;
    }
    if swept.foreign > 0 {
        tell!("{} lines of the journal are of another version of fairground, and were not used", swept.foreign);
    }
    if swept.damaged > 0 {
        tell!("{} lines of the journal are changed or cut short, and were not used", swept.damaged);
    }
    if swept.resumed > 0 && matches!(args.engine, Engine::Local) {
        tell!("{} of {} runs were finished before", swept.resumed, swept.rows.len());
    }
    if swept.interrupted {
        return Ok(interrupt::told("the same command goes on where this one stopped"));
    }
    Ok(swept.exit_code())
}

fn filled(args: &Args, options: &SweepOptions, control: Control<'_>) -> Result<u8, Error> {
    let until = args.until.iter().map(|until| format!("--until={until}"));
    let more: Vec<String> = until.chain(args.seeds_apart.then(|| "--seeds-apart".to_string())).collect();
    sweep_ray::fill(&args.sweep, args.address.as_deref(), &more, options, control)
}
