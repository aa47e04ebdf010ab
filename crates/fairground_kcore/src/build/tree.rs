//! A kernel tree: whether a folder is one, its release, and what of it decides a build.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What a build needs of a tree. Anything else may be missing.
const NEEDED: &[&str] =
    &["Makefile", "Kconfig", "kernel/sched/sched.h", "kernel/sched/fair.c", "include/linux/sched.h", "scripts"];
/// What the shim stands on: a file, a word of it, and what a tree without that lacks.
const TOO_OLD: &[(&str, &str, &str)] =
    &[("include/asm-generic/vmlinux.lds.h", "SCHED_DATA", "an order of scheduling classes by the linker (since v5.9)")];
/// What a change of the scheduler can be in, and so what the key of the cache is made from.
const DECIDES: &[&str] = &[
    "Makefile",
    "kernel/sched",
    "kernel/locking",
    "kernel/smp.c",
    "kernel/time/time.c",
    "include/linux",
    "include/asm-generic",
    "include/trace",
    "include/uapi/linux/sched",
    "init/init_task.c",
    "lib/math",
    "lib/rbtree.c",
];

/// A kernel tree.
pub(super) struct Tree {
    pub(super) path: PathBuf,
    /// As its Makefile has it: `6.12.117`.
    pub(super) release: String,
}

impl Tree {
    pub(super) fn open(path: &Path) -> Result<Tree, String> {
        let shown = path.display();
        let path = path.canonicalize().map_err(|error| format!("`{shown}` cannot be opened: {error}"))?;
        let missing: Vec<&str> = NEEDED.iter().copied().filter(|name| !path.join(name).exists()).collect();
        if missing.len() > NEEDED.len() / 2 {
            return Err(format!(
                "`{shown}` is no kernel tree: it lacks {}. Name the folder that holds the kernel's Makefile",
                missing.join(", ")
            ));
        }
        if let Some(name) = missing.first() {
            return Err(format!("`{shown}` is no whole kernel tree, {name} is missing"));
        }
        let makefile =
            fs::read_to_string(path.join("Makefile")).map_err(|error| format!("`{shown}/Makefile` cannot be read: {error}"))?;
        let release = release(&makefile)
            .ok_or_else(|| format!("`{shown}/Makefile` has no VERSION and PATCHLEVEL, so it is no kernel's"))?;
        let lacks: Vec<&str> = TOO_OLD.iter().filter(|row| !has(&path.join(row.0), row.1)).map(|row| row.2).collect();
        if !lacks.is_empty() {
            return Err(format!("`{shown}` has release {release}, which is not supported, as it lacks {}", lacks.join(" and ")));
        }
        Ok(Tree { path, release })
    }

    /// A digest of all files that decide what the library does.
    pub(super) fn digest(&self) -> Result<String, String> {
        let mut hash = Hash::default();
        for name in DECIDES {
            hash_below(&self.path.join(name), name, &mut hash)?;
        }
        Ok(hash.text())
    }
}

fn has(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(word))
}

fn release(makefile: &str) -> Option<String> {
    let value = |name: &str| {
        let line = makefile.lines().take(20).find(|line| line.split(['=', ' ']).next() == Some(name))?;
        Some(line.split_once('=')?.1.trim().to_string())
    };
    let number = |name: &str| value(name).filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    let mut release = format!("{}.{}", number("VERSION")?, number("PATCHLEVEL")?);
    if let Some(sub) = number("SUBLEVEL") {
        let _ = write!(release, ".{sub}");
    }
    Some(release)
}

fn hash_below(path: &Path, name: &str, hash: &mut Hash) -> Result<(), String> {
    if path.is_dir() {
        let mut entries: Vec<_> = path.read_dir().map_err(|error| format!("{}: {error}", path.display()))?.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let below = entry.file_name().to_string_lossy().into_owned();
            hash_below(&entry.path(), &format!("{name}/{below}"), hash)?;
        }
        return Ok(());
    }
    let is_source = [".c", ".h", "Makefile", "Kbuild"].iter().any(|end| name.ends_with(end));
    if is_source && path.is_file() {
        hash.add(name.as_bytes());
        hash.add(&fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(())
}

/// FNV-1a with 128 bits (Fowler, Noll and Vo): no secret is kept here, only equal texts from unequal ones.
pub(super) struct Hash(u128);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0x6c62272e07bb0142_62b821756295c58d)
    }
}

impl Hash {
    /// Adds a text and its length, so that two texts differ from their sum.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for &byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000000001000000_000000000000013b);
        }
    }
    pub(super) fn text(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_the_head_of_the_makefile() {
        let head = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = Baby\n";
        assert_eq!(release(head).as_deref(), Some("6.12.117"));
        assert_eq!(release("VERSION = 6\nPATCHLEVEL = x\n"), None);
        assert_eq!(release("all:\n\tcc x.c\n"), None);
    }

    #[test]
    fn what_is_no_tree_is_refused_by_what_is_missing() {
        let why = Tree::open(Path::new(env!("CARGO_MANIFEST_DIR"))).err().unwrap_or_default();
        assert!(why.contains("is no kernel tree") && why.contains("kernel/sched/sched.h"), "{why}");
        let why = Tree::open(Path::new("/nowhere/at/all")).err().unwrap_or_default();
        assert!(why.starts_with("`/nowhere/at/all` cannot be opened: "), "{why}");
    }

    #[test]
    fn the_digest_tells_texts_apart_by_their_bounds() {
        let of = |texts: &[&str]| {
            let mut hash = Hash::default();
            texts.iter().for_each(|text| hash.add(text.as_bytes()));
            hash.text()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab"]).len(), 32);
    }
}
