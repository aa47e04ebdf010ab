//! Commands and flags.

use crate::commands::Command;
use clap::Parser;

/// The Linux fair scheduler as a simulator: a workload in, an explained schedule out.
#[derive(Parser)]
#[command(name = "fairground", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 fine; 1 a verdict went against you; 2 the input is wrong; 3 the world (disk, missing file); \
                        4 inconclusive; 101 our bug; 130 interrupted."
)]
pub(crate) struct Cli {
    /// Print exactly one JSON document on stdout.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}
