//! `fairground profile`.

use crate::show;
use fairground::{Error, lists};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// What a kernel does: seams, features, tunables
    Show {
        /// A profile, such as v5.19
        profile: String,
    },
    /// What changed between two kernels
    Diff {
        /// The first profile
        p: String,
        /// The second profile
        q: String,
    },
}

pub(crate) fn run(command: &Command, json: bool) -> Result<u8, Error> {
    let table = match command {
        Command::Show { profile } => lists::profile_table(&lists::profile(profile)?),
        Command::Diff { p, q } => lists::profile_diff(&lists::profile(p)?, &lists::profile(q)?),
    };
    show::table_or_json("profile", table, json)?;
    Ok(0)
}
