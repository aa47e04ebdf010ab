//! `fairground list`.

use super::Example;
use crate::flags::whole;
use crate::show;
use clap::builder::PossibleValuesParser;
use fairground::domains::domain_table;
use fairground::lists::{self, Listed};
use fairground_report::Document;
use fairground_reproduce::experiment_table;
use fairground_scenario::{Error, Overrides, rtapp_schema, scenario_schema};
use std::path::PathBuf;

/// List what there is.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list
    #[arg(value_parser = PossibleValuesParser::new(Listed::ALL.map(|row| row.0).into_iter().chain([EXPERIMENTS, DOMAINS])))]
    what: String,
    /// With `formats`: the JSON Schemas of scenario and rt-app files instead
    #[arg(long)]
    schema: bool,
    /// With `domains`: the machine, as a preset, a machine file, an lstopo file or an hwloc string [default: lap8]
    #[arg(long)]
    machine: Option<String>,
    /// With `domains`: the kernel [default: the one that `list profiles` marks]
    #[arg(long)]
    profile: Option<String>,
    /// With `domains`: machine and kernel of a recorded set
    #[arg(long, value_name = "FOLDER")]
    recorded: Option<PathBuf>,
    /// With `domains`: capacities of CPUs, before all that the machine or the set tells: 0-3=512,4-7=1024
    #[arg(long, value_name = "CPUS=CAPACITY,...")]
    capacities: Option<String>,
    /// With `domains`: one CPU only
    #[arg(long, value_name = "N", value_parser = whole(0_u32..=1023))]
    cpu: Option<u32>,
}

/// The published experiments that `fairground reproduce` knows.
const EXPERIMENTS: &str = "experiments";
/// The list that depends on machine and kernel.
const DOMAINS: &str = "domains";

impl Args {
    /// Flags that only the domains have.
    fn asks_for_domains(&self) -> bool {
        let texts = [&self.machine, &self.profile, &self.capacities];
        texts.into_iter().any(Option::is_some) || self.recorded.is_some() || self.cpu.is_some()
    }

    fn domains(&self, json: bool) -> Result<u8, Error> {
        let (machine, profile, capacities) = (self.machine.clone(), self.profile.clone(), self.capacities.clone());
        let overrides = Overrides { machine, profile, capacities, ..Overrides::default() };
        let mut notes = Vec::new();
        let table = domain_table(&overrides, self.recorded.as_deref(), self.cpu, &mut notes)?;
        show::notes(&notes);
        show::table_or_json("list", table, json)?;
        Ok(0)
    }
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("list profiles", "the kernels that can be run; one is the default"),
    ("list metrics", "what `--metric` and `[expect]` can name"),
    ("list domains --machine epyc-9654-2s --cpu 0", "the scheduling domains of a machine"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    if args.what == DOMAINS && !args.schema {
        return args.domains(json);
    }
    if args.asks_for_domains() {
        return Err(Error::one(
            "command line",
            format!("`{}` are the same on all machines and kernels", args.what),
            "Only `fairground list domains` takes --machine, --profile, --recorded, --capacities and --cpu.",
        ));
    }
    if args.schema {
        if args.what != "formats" {
            return Err(Error::one(
                "--schema",
                format!("`{}` have no schema", args.what),
                "Write `fairground list formats --schema`.",
            ));
        }
        show::document(Document::new("list", &[], None, None).set("scenario", scenario_schema()).set("rtapp", rtapp_schema()))?;
        return Ok(0);
    }
    if args.what == EXPERIMENTS {
        show::table_or_json("list", experiment_table(), json)?;
    }
    if let Some((_, what)) = Listed::ALL.iter().find(|row| row.0 == args.what) {
        show::table_or_json("list", lists::list(*what), json)?;
    }
    Ok(0)
}
