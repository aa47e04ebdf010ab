//! Where libraries lie: by content, with names that point at them.
//!
//! ```text
//! STORE/cores/DIGEST/core.so, core.symbols, about     one per content, never changed
//! STORE/names/NAME                                    the digest that a name stands for
//! STORE/work/DIGEST/overlay, build                    one per tree and configuration, so that a second build is short
//! ```

use std::fs;
use std::path::{Path, PathBuf};

/// A folder of libraries.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) folder: PathBuf,
}

/// A library with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// What `--profile tree:NAME` calls it.
    pub name: String,
    /// The release of its tree.
    pub release: String,
    /// From where it was built.
    pub tree: String,
    /// What it was built from, which its library says too.
    pub identity: String,
    /// The library.
    pub library: PathBuf,
}

impl Store {
    /// The store in that folder.
    pub fn at(folder: &Path) -> Store {
        Store { folder: folder.to_path_buf() }
    }

    /// The user's: `FAIRGROUND_KERNELS`, or `fairground/kernels` in the folder for caches.
    pub fn of_user() -> Result<Store, String> {
        let place = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        place("FAIRGROUND_KERNELS")
            .or_else(|| place("XDG_CACHE_HOME").map(|cache| cache.join("fairground/kernels")))
            .or_else(|| place("HOME").map(|home| home.join(".cache/fairground/kernels")))
            .map(|folder| Store { folder })
            .ok_or_else(|| "no place for kernels: set FAIRGROUND_KERNELS to a folder".to_string())
    }

    pub(super) fn core(&self, identity: &str) -> PathBuf {
        self.folder.join("cores").join(identity)
    }

    /// All names, in their order.
    pub fn list(&self) -> Result<Vec<Named>, String> {
        let Ok(entries) = self.folder.join("names").read_dir() else { return Ok(Vec::new()) };
        let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names.iter().map(|name| self.named(name)).collect()
    }

    /// The library of a name.
    pub fn named(&self, name: &str) -> Result<Named, String> {
        check_name(name)?;
        let place = self.folder.join("names").join(name);
        let identity = fs::read_to_string(&place).map_err(|_| {
            format!("no kernel is named `{name}`. `fairground kernel list` shows those that are; `fairground kernel build TREE --as {name}` makes one")
        })?;
        let identity = identity.trim().to_string();
        let about = fs::read_to_string(self.core(&identity).join("about"))
            .map_err(|error| format!("{}: its library is gone ({error}). Build the tree anew", place.display()))?;
        let value = |key: &str| {
            about.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim_start_matches(": ").to_string()
        };
        let library = self.core(&identity).join("core.so");
        Ok(Named { name: name.to_string(), release: value("release"), tree: value("tree"), identity, library })
    }

    /// Gives a library a name.
    pub(super) fn name(&self, name: &str, identity: &str) -> Result<(), String> {
        check_name(name)?;
        let folder = self.folder.join("names");
        let wrong = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(wrong)?;
        fs::write(folder.join(name), identity).map_err(wrong)
    }
}

/// A name is a file's name and a word of a command line.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    if !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.bytes().all(good) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
    Err(format!("`{shown}` is no name for a kernel: letters, digits, - _ . + and at most 64 of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_and_no_path() {
        for good in ["base", "v6.12.117", "my-patch_2"] {
            assert_eq!(check_name(good), Ok(()));
        }
        for wrong in ["", "../x", "a b", ".hidden", "a/b", "\u{1b}[31m"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
