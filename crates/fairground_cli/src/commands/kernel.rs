//! `fairground kernel`.

use super::Example;
use crate::show::tell;
use fairground_scenario::Error;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &[Example] = &[
    ("kernel build ~/linux --as base", "the scheduler of a kernel tree, under this name"),
    ("kernel list", "which kernels are built"),
];

/// Build the scheduler of a kernel tree as a library, or list those that are built.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(clap::Subcommand)]
enum Act {
    /// Compile the scheduler of a kernel tree, which is not touched
    Build {
        /// The folder that holds the kernel's Makefile; it may be patched and dirty
        tree: PathBuf,
        /// Lines of a kernel configuration, such as CONFIG_HZ_1000=y
        #[arg(long, value_name = "FRAGMENT")]
        config: Option<PathBuf>,
        /// The name that it gets; without this its release
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the kernels that are built
    List,
}

/// The scheduler of a tree is a library of this system's loader.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_args: &Args, _json: bool) -> Result<u8, Error> {
    Err(Error::one("kernel", "kernels can be built on Linux only", "the kernels that the program models need no building"))
}

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &Args, _json: bool) -> Result<u8, Error> {
    use fairground::kernels::{Order, Store, build};
    let refused = |why: String| {
        // What a compiler said has many lines, and a message has one.
        let (first, rest) = why.split_once('\n').unwrap_or((&why, ""));
        if !rest.trim().is_empty() {
            tell!("{}", rest.trim_end());
        }
        Error::one("kernel", first, "docs/kernel-core.md says what a tree and a machine need")
    };
    let store = Store::of_user().map_err(refused)?;
    let text = match &args.act {
        Act::Build { tree, config, name } => {
            let jobs = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
            let order = Order { tree: tree.clone(), fragment: config.clone(), name: name.clone(), jobs };
            let built = build(&order, &store).map_err(refused)?;
            built.notes.iter().for_each(|note| tell!("note: {note}"));
            let how = if built.cached { "was built already" } else { "is built" };
            format!("{} ({}) {how}: {}\n", built.named.name, built.named.release, built.named.library.display())
        }
        Act::List => {
            let row = |row: &fairground::kernels::Named| {
                let short: String = row.identity.chars().take(12).collect();
                format!("{:<16} {:<12} {short}  {}\n", row.name, row.release, row.tree)
            };
            let all: String = store.list().map_err(refused)?.iter().map(row).collect();
            if all.is_empty() { "no kernel is built yet: fairground kernel build TREE\n".into() } else { all }
        }
    };
    crate::show::text(&text)?;
    Ok(0)
}
