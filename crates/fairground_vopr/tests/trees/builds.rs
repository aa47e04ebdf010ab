//! Where the trees are, and their libraries.

use fairground_kcore::KernelCore;
use fairground_kcore::build::{Named, Order, Store, build};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The tree of a series, as `cargo xtask kernel-sources` has left it, or below `FAIRGROUND_KERNEL_SOURCES`.
pub(crate) fn tree(series: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernel-sources");
    let folder = std::env::var_os("FAIRGROUND_KERNEL_SOURCES").map_or(root, PathBuf::from);
    let tree = folder.join(series);
    assert!(tree.join("Makefile").is_file(), "{}: no kernel tree. Run `cargo xtask kernel-sources {series}`", tree.display());
    tree
}

pub(crate) fn store() -> Store {
    Store::at(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"))
}

pub(crate) fn order(tree: PathBuf) -> Order {
    Order { tree, fragment: None, name: None, jobs: 2 }
}

/// The library of a stock tree, which is read through once in a process: thousands of systems ask for it.
fn stock(series: &str) -> Named {
    static BUILT: Mutex<BTreeMap<String, Named>> = Mutex::new(BTreeMap::new());
    let mut all = BUILT.lock().unwrap();
    let named = all.entry(series.to_string()).or_insert_with(|| {
        let built = build(&order(tree(series)), &store()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(built.notes, Vec::<String>::new(), "{series}");
        built.named
    });
    named.clone()
}

/// A core of a stock tree.
pub(crate) fn core(series: &str) -> KernelCore {
    let named = stock(series);
    let core = KernelCore::load(&named.library, Some(&named.identity)).unwrap_or_else(|why| panic!("{why}"));
    assert!(core.release().starts_with(series) && core.hz() == 250);
    core
}
