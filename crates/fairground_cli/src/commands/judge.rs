//! `fairground judge`.

use super::Example;
use crate::flags::whole;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::judge::{self, Battery, JudgeOptions};
use fairground::output::{ResultFiles, ResultKind};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

pub(crate) const EXAMPLES: &[Example] = &[
    ("judge --a tree:base --b tree:patched", "a patch against the tree that it is for"),
    ("judge --a v6.1 --b v6.12 --only pipe -o pipe.html", "one case, under two kernels of ours, with a page"),
];

/// Judge a kernel against another over a battery of cases, as a mail.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The baseline: a kernel, or tree:NAME
    #[arg(long, value_name = "PROFILE")]
    a: String,
    /// The other side
    #[arg(long, value_name = "PROFILE")]
    b: String,
    /// quick (minutes) or full (an hour)
    #[arg(long, value_name = "NAME", default_value = "quick", value_parser = ["quick", "full"])]
    battery: String,
    /// Only this case; may be repeated
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Number of pairs of each case
    #[arg(long, value_name = "N", value_parser = whole(1_u64..=10_000))]
    runs: Option<u64>,
    /// Also write the verdict; its ending chooses the format: .html (a page: the mail, then all metrics and decisions of each case) or .json
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
}

const KINDS: [ResultKind; 2] = [ResultKind::Html, ResultKind::Json];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let options = JudgeOptions {
        a: args.a.clone(),
        b: args.b.clone(),
        battery: Battery::by_name(&args.battery).unwrap_or_default(),
        only: args.only.clone(),
        runs: args.runs,
    };
    let files = ResultFiles::open(&args.output, "judge", &KINDS)?;
    let bar = Bar::new("judging", Unit::Cases);
    let judged = judge::judge(&options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let judged = judged?;
    let content = |kind| match kind {
        ResultKind::Json => judged.document().to_string(),
        _ => judged.page().to_string(),
    };
    for path in files.finish(!judged.interrupted, |kind| content(kind).into_bytes())? {
        show::written(&path);
    }
    match json {
        true => show::document(&judged.document())?,
        false => show::text(&judged.mail())?,
    }
    Ok(if judged.interrupted { interrupt::told("a verdict needs all of them") } else { judged.exit_code() })
}
