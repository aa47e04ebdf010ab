//! `fairground sweep`.

use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show;
use fairground::sweep::{Sweep, SweepOptions, sweep_document, sweep_table};
use fairground::{Control, Error, output};
use std::path::{Path, PathBuf};

/// Run every combination of a sweep file.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The sweep file (.toml): base scenario and axes
    sweep: PathBuf,
    /// Also write the results; its ending chooses the format: .csv, .json
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Threads; 0 = one per CPU of this host
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Where runs are made
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    engine: Engine,
    /// Where finished runs are noted; beside the sweep file if left out
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Forget finished runs and begin anew
    #[arg(long)]
    fresh: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Engine {
    /// Threads of this host
    Local,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let Engine::Local = args.engine;
    for path in &args.output {
        check_ending(path)?;
    }
    let sweep = Sweep::load(&args.sweep)?;
    let bar = Bar::new("sweeping");
    let options = SweepOptions { threads: args.threads, fresh: args.fresh, journal: args.journal.clone() };
    let swept = sweep.run(&options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let swept = swept?;
    let document = sweep_document(&swept, &sweep.inputs());
    for path in &args.output {
        let text = if is(path, "csv") { sweep_table(&swept).to_csv() } else { document.to_string() };
        show::written(&output::write_result(path, &text, !swept.interrupted)?);
    }
    if json {
        show::document(&document)?;
    } else {
        show::tables(&[sweep_table(&swept)])?;
    }
    if swept.resumed > 0 {
        eprintln!("{} of {} runs were finished before", swept.resumed, swept.rows.len());
    }
    if swept.interrupted {
        eprintln!("interrupted: the same command goes on where this one stopped");
        return Ok(EXIT_INTERRUPTED);
    }
    Ok(swept.exit_code())
}

fn is(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

fn check_ending(path: &Path) -> Result<(), Error> {
    if is(path, "csv") || is(path, "json") {
        return Ok(());
    }
    let message = format!("-o {}: results of a sweep in this format are not built yet", path.display());
    Err(Error::one("command line", message, "A sweep writes .csv and .json."))
}
