//! `fairground list`.

use crate::show;
use clap::builder::PossibleValuesParser;
use fairground::lists::{self, Listed};
use fairground::scenario::{rtapp_schema, scenario_schema};
use fairground::{Error, report};

/// List what there is.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list
    #[arg(value_parser = PossibleValuesParser::new(Listed::ALL.map(|row| row.0)))]
    what: String,
    /// With `formats`: the JSON Schemas of scenario and rt-app files instead
    #[arg(long)]
    schema: bool,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    if args.schema {
        if args.what != "formats" {
            return Err(Error::one(
                "--schema",
                format!("`{}` have no schema", args.what),
                "Write `fairground list formats --schema`.",
            ));
        }
        show::document(
            report::Document::new("list", &[], None, None).set("scenario", scenario_schema()).set("rtapp", rtapp_schema()),
        )?;
        return Ok(0);
    }
    if let Some((_, what)) = Listed::ALL.iter().find(|row| row.0 == args.what) {
        show::table_or_json("list", lists::list(*what), json)?;
    }
    Ok(0)
}
