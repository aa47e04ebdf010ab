//! `fairground profile`.

use super::Example;
use crate::show;
use crate::style::layout;
use fairground::lists;
use fairground_scenario::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// What a kernel does: seams, features, tunables
    Show {
        /// A kernel from v4.12 to v7.2, also one that cannot be run, or a profile with patches
        profile: String,
    },
    /// What changed between two kernels, as release notes
    Diff {
        /// The first one: a kernel, also one that cannot be run, or a profile with patches
        p: String,
        /// The second one
        q: String,
    },
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("profile diff v6.5 v6.6", "what changed between two kernels, as release notes"),
    ("profile show v6.12", "every switch, rule and tunable of a kernel"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let table = match &args.command {
        Command::Show { profile } => lists::profile_table(&lists::profile_to_show(profile)?),
        Command::Diff { p, q } => {
            let (p, q) = (lists::profile_to_show(p)?, lists::profile_to_show(q)?);
            if !json {
                show::text(&lists::profile_notes(&p, &q, layout().width))?;
                return Ok(0);
            }
            lists::profile_diff(&p, &q)
        }
    };
    show::table_or_json("profile", table, json)?;
    Ok(0)
}
