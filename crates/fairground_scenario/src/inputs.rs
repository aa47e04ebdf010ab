//! Files that are read. All of them are opened here, so that three things hold everywhere: a device, which may never end, is
//! refused; a command knows which files it has read; and none of these is overwritten by its output.

use crate::error::Error;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which file it is, whatever its name and through whichever link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
    /// Other systems tell a file by its full path.
    #[cfg(not(unix))]
    path: std::path::PathBuf,
}

impl FileId {
    /// The file that a path leads to; none if there is none.
    pub fn of(path: &Path) -> Option<FileId> {
        #[cfg(unix)]
        return fs::metadata(path).ok().map(|found| {
            use std::os::unix::fs::MetadataExt;
            FileId { device: found.dev(), inode: found.ino() }
        });
        #[cfg(not(unix))]
        return fs::canonicalize(path).ok().map(|path| FileId { path });
    }
}

/// Files and folders that were read since [`watch`]; none before it, as a library reads and writes for many callers.
static READ: Mutex<Option<Vec<FileId>>> = Mutex::new(None);

fn read() -> MutexGuard<'static, Option<Vec<FileId>>> {
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on this process is one command: what it reads it does not write.
pub fn watch() {
    read().get_or_insert_with(Vec::new);
}

/// Says that a file, or a folder with all files in it, is an input.
pub fn note(path: &Path) {
    if let (Some(known), Some(id)) = (read().as_mut(), FileId::of(path))
        && !known.contains(&id)
    {
        known.push(id);
    }
}

/// Whether a path leads to a file that was read, or to one in a folder that was.
pub fn is_input(path: &Path) -> bool {
    let Some(id) = FileId::of(path) else { return false };
    let folder = fs::canonicalize(path).ok().and_then(|full| full.parent().and_then(FileId::of));
    read().iter().flatten().any(|known| *known == id || folder.as_ref() == Some(known))
}

/// Whether this is a device, of characters or of blocks.
pub fn is_device(found: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        found.file_type().is_char_device() || found.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        false
    }
}

/// Opens a file to be read, as an input.
pub fn open(path: &Path) -> Result<File, Error> {
    let wrong = |cause: io::Error| Error::world("read", path, cause);
    let found = fs::metadata(path).map_err(wrong)?;
    if is_device(&found) {
        let message = "this is a device, and a file is wanted";
        return Err(Error::one(path.display().to_string(), message, "Write what it gives into a file first."));
    }
    let file = File::open(path).map_err(wrong)?;
    note(path);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn devices_are_refused_and_files_are_known_by_every_name() {
        assert!(matches!(open(Path::new("/dev/zero")), Err(Error::Input(_))));
        let folder = std::env::temp_dir().join(format!("fairground-inputs-{}", std::process::id()));
        fs::create_dir_all(folder.join("set")).unwrap();
        let at = |name: &str| folder.join(name);
        for name in ["a", "b", "set/c"] {
            fs::write(at(name), "x").unwrap();
        }
        fs::hard_link(at("a"), at("hard")).unwrap();
        std::os::unix::fs::symlink("hard", at("soft")).unwrap();
        open(&at("a")).unwrap();
        assert!(!is_input(&at("a")), "nobody watches yet");
        watch();
        open(&at("a")).unwrap();
        note(&at("set"));
        let inputs = ["a", "hard", "soft", "set/../a", "set/c"].map(|name| is_input(&at(name)));
        let others = ["b", "new", "set/new"].map(|name| is_input(&at(name)));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((inputs, others), ([true; 5], [false; 3]));
    }
}
