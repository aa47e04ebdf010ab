//! The overlay: a folder of symbolic links that looks like the tree with one architecture more.
//!
//! The tree is not touched, and may be dirty. Kbuild refuses a tree that holds a build, and make would take that build's
//! objects for its own. So what a build made is left out: a file `F` with `.F.cmd` beside it, objects, archives, and the
//! folders of generated headers. Folders in which a build leaves such things are linked file by file, all others whole.

use super::shim;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Folders in which builds leave objects that this build makes too.
const FILE_BY_FILE: &[&str] = &["init", "kernel", "lib", "scripts"];
/// What only a build makes.
const MADE: &[&str] = &["include/config", "include/generated", ".config", ".config.old", "Module.symvers", "vmlinux"];

/// Makes the overlay anew. Our own files stay if they are as they should be, so that they are not compiled again.
pub(super) fn make(tree: &Path, place: &Path) -> Result<(), String> {
    folder(place)?;
    for (name, path) in entries(place)? {
        if name == "arch" {
            entries(&path)?.iter().filter(|row| row.0 != "fg").try_for_each(|row| remove(&row.1))?;
        } else {
            remove(&path)?;
        }
    }
    for (name, path) in entries(tree)? {
        match name.as_str() {
            "arch" | "include" => halves(&path, &place.join(&name), &name)?,
            _ if FILE_BY_FILE.contains(&name.as_str()) => files(&path, &place.join(&name))?,
            _ if MADE.contains(&name.as_str()) || name.starts_with(".git") => {}
            _ => link(&path, &place.join(&name))?,
        }
    }
    for (path, text) in shim::ARCH {
        let path = place.join(path);
        folder(path.parent().unwrap_or(place))?;
        if fs::read_to_string(&path).is_ok_and(|is| is == *text) {
            continue;
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// A folder whose entries are linked whole, but for what a build made.
fn halves(from: &Path, to: &Path, name: &str) -> Result<(), String> {
    folder(to)?;
    for (entry, path) in entries(from)? {
        let is_ours = name == "arch" && entry == "fg";
        if !is_ours && !MADE.contains(&format!("{name}/{entry}").as_str()) {
            link(&path, &to.join(&entry))?;
        }
    }
    Ok(())
}

fn files(from: &Path, to: &Path) -> Result<(), String> {
    folder(to)?;
    let all = entries(from)?;
    for (name, path) in &all {
        if path.is_dir() {
            files(path, &to.join(name))?;
            continue;
        }
        let is_object = [".o", ".a", ".ko", ".mod", ".order", ".cmd"].iter().any(|end| name.ends_with(end));
        let was_made =
            all.iter().any(|(other, _)| other.strip_prefix('.').and_then(|rest| rest.strip_suffix(".cmd")) == Some(name));
        if !is_object && !was_made {
            link(path, &to.join(name))?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let wrong = |error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        if let Ok(name) = entry.file_name().into_string() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a link, or a folder of links.
fn remove(path: &Path) -> Result<(), String> {
    let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    let done = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    done.map_err(|error| format!("{}: {error}", path.display()))
}

fn folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn link(from: &Path, to: &Path) -> Result<(), String> {
    symlink(from, to).map_err(|error| format!("{}: {error}", to.display()))
}
