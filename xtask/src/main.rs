//! Our own tools, run as `cargo xtask NAME`.
//!
//! They are written in Rust so that nothing but Rust is needed to run them, and so that what the
//! robots run is what a developer runs.

mod book;
mod callgrind;
mod digests;
mod dist;
mod fidelity;
mod fuzz;
mod instructions;
mod kernel_sources;
mod licences;
mod peers;
mod pictures;
mod python;
mod record;
mod reproduce;
mod rust_source;
mod steps;
mod tidy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One tool: its name, what it does, and the function.
type Tool = (&'static str, &'static str, fn(&Path) -> bool);

const TOOLS: &[Tool] = &[
    ("tidy", "checks the rules of the house that the compiler cannot see", tidy::run),
    ("kernel-index", "writes docs/kernel-index.md from the `Kernel:` lines", tidy::kernel_index::write),
    ("model-tests", "lists the worked examples of docs/model and the tests that show them", tidy::model::list),
    ("digests", "compares the digests of the example scenarios in debug and in release", digests::run),
    (
        "fidelity",
        "writes docs/fidelity.md from the recorded sets; with --check compares it, with --quick --check a subset",
        fidelity::run,
    ),
    ("instructions", "counts what an event costs us and compares it with the table in the tree", instructions::run),
    ("book", "builds the documentation as a book with a search, by mdBook", book::run),
    ("peers", "times other simulators on the work of two of our cases and writes docs/peers.md", peers::run),
    ("pictures", "draws the pictures of the documentation anew, by a headless Chromium", pictures::run),
    ("licences", "refuses what may not ship and writes docs/licences.md; with --check compares it", licences::run),
    ("dist", "makes what a release page holds: program, man pages, completions, checksums, list of parts", dist::run),
    ("python", "builds the Python package, installs it into an environment in target/ and tests it there", python::run),
    ("record", "boots a stock kernel in an emulator, runs experiments and writes a recorded set; --help says how", record::run),
    ("kernel-sources", "fetches kernel trees for the tests of the core in C: all series, or those named", kernel_sources::run),
    ("fuzz", "runs the command over inputs that are nearly right: [--mutants N] [--seed N] [KIND]...", fuzz::run),
    ("ci", "everything that a change must pass, or the step of it that is named", steps::ci),
    ("nightly", "the slow things: ignored tests in release, full reproductions, long random runs, benches", steps::nightly),
];

/// The root of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1);
    let tool = TOOLS.iter().find(|tool| Some(tool.0) == wanted.as_deref());
    let Some((_, _, tool)) = tool else {
        eprintln!("usage: cargo xtask NAME\n");
        TOOLS.iter().for_each(|(name, does, _)| eprintln!("  {name:<12} {does}"));
        return ExitCode::from(2);
    };
    if tool(&root()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
