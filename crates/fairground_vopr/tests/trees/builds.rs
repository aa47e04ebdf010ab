//! Where the trees are, and their libraries.

use fairground_kcore::KernelCore;
use fairground_kcore::build::{Order, Store, build};
use std::path::{Path, PathBuf};

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

/// A core of a stock tree.
pub(crate) fn core(series: &str) -> KernelCore {
    let built = build(&order(tree(series)), &store()).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(built.notes, Vec::<String>::new(), "{series}");
    let core = KernelCore::load(&built.named.library, Some(&built.named.identity)).unwrap_or_else(|why| panic!("{why}"));
    assert!(core.release().starts_with(series) && core.hz() == 250);
    core
}
