//! From a kernel tree to a library: check, overlay, configure, compile, link, keep.
//!
//! The key of the cache is a digest of what decides the result: the tree's scheduler and headers, the shim, the
//! configuration and the compiler. The compiler's errors are the patch author's, so they are shown at their place in that
//! tree; an error in the shim's own files means that the tree's release is not supported, and says where it does not fit.

mod config;
mod link;
mod make;
mod overlay;
mod shim;
mod store;
mod tree;

pub use store::{Named, Store};

use make::{check_tools, errors, run, tool};
use std::fs;
use std::path::{Path, PathBuf};
use tree::{Hash, Tree};

/// The series that the shim was tried with.
pub const TRIED: &[&str] = &["5.10", "6.1", "6.12", "6.18", "7.2"];

/// What is to be built.
#[derive(Clone, Debug)]
pub struct Order {
    /// The kernel tree.
    pub tree: PathBuf,
    /// A file with lines of a kernel configuration.
    pub fragment: Option<PathBuf>,
    /// The name that it gets; none = the release.
    pub name: Option<String>,
    /// How many compilers may run at once.
    pub jobs: u32,
}

/// A library that was built, or was there.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its row in the list.
    pub named: Named,
    /// Whether it was there.
    pub cached: bool,
    /// What the user should know: symbols that are not there with who calls them, lines of the fragment that were not taken.
    pub notes: Vec<String>,
}

/// Builds a library, or finds it.
pub fn build(order: &Order, store: &Store) -> Result<Built, String> {
    if let Some(name) = &order.name {
        store::check_name(name)?;
    }
    let tree = Tree::open(&order.tree)?;
    check_tools()?;
    let (fragment, place) = match &order.fragment {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            (text, path.display().to_string())
        }
        None => (String::new(), String::new()),
    };
    let config = config::merged(&fragment, &place)?;
    let compiler = run(tool("gcc", &tree.path).arg("--version"))?;
    let identity = identity(&tree, &config, &compiler)?;
    let name = order.name.clone().unwrap_or_else(|| tree.release.clone());
    let core = store.core(&identity);
    let cached = core.join("about").is_file();
    let mut notes = Vec::new();
    if cached {
        let kept = fs::read_to_string(core.join("notes")).unwrap_or_default();
        notes.extend(kept.lines().map(str::to_string));
    } else {
        notes = compile(&tree, &config, &fragment, &identity, order.jobs, store)?;
    }
    store.name(&name, &identity)?;
    Ok(Built { named: store.named(&name)?, cached, notes })
}

/// A digest of all that decides what the library does.
fn identity(tree: &Tree, config: &str, compiler: &str) -> Result<String, String> {
    let mut hash = Hash::default();
    hash.add(tree.digest()?.as_bytes());
    hash.add(config.as_bytes());
    hash.add(compiler.lines().next().unwrap_or_default().as_bytes());
    for (name, text) in shim::all() {
        hash.add(name.as_bytes());
        hash.add(text.as_bytes());
    }
    Ok(hash.text())
}

fn compile(tree: &Tree, config: &str, fragment: &str, identity: &str, jobs: u32, store: &Store) -> Result<Vec<String>, String> {
    let mut place = Hash::default();
    place.add(tree.path.as_os_str().as_encoded_bytes());
    place.add(config.as_bytes());
    let work = store.folder.join("work").join(place.text());
    fs::create_dir_all(work.join("build")).map_err(|error| format!("{}: {error}", work.display()))?;
    let work = work.canonicalize().map_err(|error| format!("{}: {error}", work.display()))?;
    let lock = fs::File::create(work.join("lock")).map_err(|error| format!("{}: {error}", work.display()))?;
    lock.lock().map_err(|error| format!("{}: {error}", work.display()))?;
    let (overlay, build) = (work.join("overlay"), work.join("build"));
    overlay::make(&tree.path, &overlay)?;
    let lines = work.join("fragment");
    fs::write(&lines, config).map_err(|error| format!("{}: {error}", lines.display()))?;
    let make = |goals: &[&str]| {
        let mut command = tool("make", &overlay);
        command.arg("-s").arg(format!("-j{}", jobs.max(1))).arg(format!("O={}", build.display())).args(["ARCH=fg", "WERROR=0"]);
        command.arg(format!("KCONFIG_ALLCONFIG={}", lines.display())).args(goals);
        run(&mut command)
    };
    make(&["allnoconfig"]).map_err(|said| format!("`{}` cannot be configured:\n{}", tree.path.display(), last_lines(&said)))?;
    let taken = fs::read_to_string(build.join(".config")).unwrap_or_default();
    let mut notes = config::refused(fragment, &taken);
    let helpers: Vec<String> = link::HELPERS
        .iter()
        .filter(|name| tree.path.join(format!("{name}.c")).exists())
        .map(|name| format!("{name}.o"))
        .collect();
    let mut goals = vec!["kernel/sched/", "arch/fg/kernel/"];
    goals.extend(helpers.iter().map(String::as_str));
    make(&goals).map_err(|said| does_not_compile(&said, tree, &overlay))?;
    let unknown = link::link(&overlay, &build, identity)
        .map_err(|said| format!("`{}` cannot be linked:\n{}", tree.path.display(), last_lines(&said)))?;
    notes
        .extend(unknown.into_iter().map(|what| format!("not supported yet: {what}. A run that gets there stops with that name")));
    keep(tree, identity, &build, &notes, store)?;
    Ok(notes)
}

/// An error in the tree is its author's; one in our files says that the two do not fit.
fn does_not_compile(said: &str, tree: &Tree, overlay: &Path) -> String {
    let found = errors(said, overlay, &tree.path);
    let ours = format!("{}/arch/fg/", tree.path.display());
    let shown = tree.path.display();
    match found.iter().find(|line| line.contains("error:")) {
        None => format!("`{shown}` does not compile:\n{}", last_lines(said)),
        Some(first)
            if first.starts_with(&ours) || found.iter().all(|line| !line.contains("error:") || line.starts_with(&ours)) =>
        {
            format!(
                "`{shown}` has release {}, which is not supported, as it does not fit this program, which was tried with {}:\n{}",
                tree.release,
                TRIED.join(", "),
                found.join("\n")
            )
        }
        Some(_) => format!("`{shown}` does not compile:\n{}", found.join("\n")),
    }
}

fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Puts a library where it stays. `about` is written last: a folder without it is not used.
fn keep(tree: &Tree, identity: &str, build: &Path, notes: &[String], store: &Store) -> Result<(), String> {
    let core = store.core(identity);
    let wrong = |error: std::io::Error| format!("{}: {error}", core.display());
    fs::create_dir_all(&core).map_err(wrong)?;
    for name in ["core.so", "core.symbols", ".config"] {
        fs::copy(build.join(name), core.join(name)).map_err(wrong)?;
    }
    fs::write(core.join("notes"), notes.join("\n")).map_err(wrong)?;
    fs::write(core.join("about"), format!("release: {}\ntree: {}\n", tree.release, tree.path.display())).map_err(wrong)
}
