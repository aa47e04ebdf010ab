//! `fairground sweep`.

use super::Example;
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show::{self, tell};
use fairground::output::{ResultFiles, ResultKind};
use fairground::sweep::{Sweep, SweepOptions, sweep_document, sweep_file, sweep_summary, sweep_table};
use fairground_scenario::guard::VERSION;
use fairground_scenario::text_file::is_stdin;
use fairground_scenario::{Control, Error};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Run every combination of a sweep file.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The sweep file (.toml): base scenario and axes; - is stdin
    sweep: PathBuf,
    /// Also write the results; its ending chooses the format: .csv, .json, .parquet, .html
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Threads; 0 = one per CPU of this host
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Where runs are made
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    engine: Engine,
    /// With `--engine ray`: the cluster, such as `10.0.0.1:6379`, `ray://head:10001` or `auto`; left out, one on this host alone
    #[arg(long, value_name = "ADDRESS")]
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
    /// Workers of a Ray cluster, through the Python package
    Ray,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("sweep scenarios/sweeps/latency.toml", "every combination of the axes in a file"),
    ("sweep scenarios/sweeps/latency.toml -o latency.csv --fresh", "anew, with all figures in a file"),
    ("sweep scenarios/sweeps/quota.toml -o quota.html", "a service against its quota, with charts"),
    ("sweep scenarios/sweeps/quota.toml --until 5%", "fewer seeds where the interval is narrow already"),
    ("sweep scenarios/sweeps/quota.toml --engine ray --address 10.0.0.1:6379", "on the hosts of a Ray cluster"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let stop = interrupt::flag();
    let is_local = matches!(args.engine, Engine::Local);
    if is_local && args.address.is_some() {
        return Err(Error::one("--address", "the local engine has no address", "Say `--engine ray` too."));
    }
    let mut sweep = Sweep::load(&args.sweep)?;
    if args.seeds_apart {
        sweep.set_seeds_apart();
    }
    if let Some(width) = &args.until {
        sweep.set_until(width)?;
    }
    let files = ResultFiles::open(&args.output, "sweep", &KINDS)?;
    // Ray's workers fill the journal, and all runs are found there.
    let fresh = args.fresh && is_local;
    if !is_local {
        by_ray(args, stop)?;
    }
    let bar = Bar::new("sweeping");
    let options = SweepOptions { threads: args.threads, fresh, journal: args.journal.clone() };
    let swept = sweep.run(&options, Control::new(stop, &bar));
    bar.finish();
    let swept = swept?;
    let document = sweep_document(&swept, &sweep.inputs());
    for path in files.finish(!swept.interrupted, |kind| sweep_file(&swept, &sweep.inputs(), kind))? {
        show::written(&path);
    }
    if json {
        show::document(&document)?;
    } else {
        show::summary_and_tables(&sweep_summary(&swept), &[sweep_table(&swept)])?;
    }
    if swept.foreign > 0 {
        tell!("{} lines of the journal are of another version of fairground, and were not used", swept.foreign);
    }
    if swept.resumed > 0 {
        tell!("{} of {} runs were finished before", swept.resumed, swept.rows.len());
    }
    if swept.interrupted {
        tell!("interrupted: the same command goes on where this one stopped");
        return Ok(EXIT_INTERRUPTED);
    }
    Ok(swept.exit_code())
}

/// What makes a Python with the package and Ray.
const INSTALL: &str =
    "Install Python 3.10 or newer and, from a checkout, `pip install './python[ray]'`; `python3` must be that one.";

/// Between two looks at the program that makes the runs, which may go on for so many of them when it is to stop.
const LOOK: Duration = Duration::from_millis(50);
const PATIENCE: u32 = 15;

/// Has the runs made by Ray's workers, through the Python package of the same version.
fn by_ray(args: &Args, stop: &AtomicBool) -> Result<(), Error> {
    if is_stdin(&args.sweep) {
        return Err(Error::one("--engine ray", "a sweep from stdin", "Write it to a file."));
    }
    let asked = ["-c", "import fairground, ray; print(fairground.__version__)"];
    let found = match Command::new("python3").args(asked).stdin(Stdio::null()).output() {
        Ok(found) => found,
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            return Err(Error::one("--engine ray", "there is no `python3`", INSTALL));
        }
        Err(cause) => return Err(Error::World { what: "cannot start python3".to_string(), cause }),
    };
    let said = String::from_utf8_lossy(if found.status.success() { &found.stdout } else { &found.stderr }).trim().to_string();
    if !found.status.success() {
        let last = said.lines().next_back().unwrap_or("it said nothing");
        return Err(Error::one("--engine ray", format!("python3 lacks what is needed: {last}"), INSTALL));
    }
    if said != VERSION {
        let message = format!("the Python package is of fairground {said}, and this is {VERSION}");
        return Err(Error::one("--engine ray", message, "Install the package of the same checkout."));
    }
    let mut command = Command::new("python3");
    command.args(["-m", "fairground._ray"]).arg(&args.sweep).stdin(Stdio::null());
    let journal = args.journal.as_ref().map(|path| path.as_os_str());
    let words = [
        ("--address", args.address.as_deref().map(OsStr::new)),
        ("--journal", journal),
        ("--until", args.until.as_deref().map(OsStr::new)),
    ];
    for (flag, value) in words {
        command.args(value.map(|value| [OsStr::new(flag), value]).into_iter().flatten());
    }
    if args.fresh {
        command.arg("--fresh");
    }
    let cannot = |cause| Error::World { what: "cannot start python3".to_string(), cause };
    let mut child = command.spawn().map_err(cannot)?;
    let mut asked_to_stop = 0;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            break status;
        }
        // It has had Ctrl-C, too. What it noted in the journal is kept, however it ends.
        if stop.load(Ordering::Relaxed) {
            asked_to_stop += 1;
            if asked_to_stop == PATIENCE {
                child.kill().map_err(cannot)?;
            }
        }
        std::thread::sleep(LOOK);
    };
    if status.success() || asked_to_stop > 0 {
        return Ok(());
    }
    // It has said why.
    Err(Error::World { what: "the sweep on Ray".to_string(), cause: std::io::Error::other(format!("it ended with {status}")) })
}
