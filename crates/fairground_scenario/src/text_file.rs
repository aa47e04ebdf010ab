//! Small texts, read as a whole.

use crate::error::Error;
use crate::inputs;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether a path stands for stdin, as `-` does on the command line.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What a file is called in messages and documents.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_string() } else { path.display().to_string() }
}

/// Texts of files that another machine has, by their paths as they are spelled there.
pub type Texts = Arc<BTreeMap<PathBuf, String>>;

/// The text that came along under this path, or else that of the file.
pub fn text_of(path: &Path, texts: &Texts) -> Result<String, Error> {
    texts.get(path).map_or_else(|| read_text(path), |text| Ok(text.clone()))
}

/// Longest text that somebody wrote: a scenario, a sweep, a machine. What is read of it takes some 30 times as much memory.
const TEXT_MAX: u64 = 16 << 20;
/// Longest text that a program wrote line by line: a log of requests.
const LOG_MAX: u64 = 256 << 20;

/// Reads a text that somebody wrote, from stdin where the path is `-`. Bytes that are no UTF-8 are the input's fault, not the disk's.
pub fn read_text(path: &Path) -> Result<String, Error> {
    read_up_to(path, TEXT_MAX)
}

/// Reads a log in the same way.
pub fn read_log(path: &Path) -> Result<String, Error> {
    read_up_to(path, LOG_MAX)
}

/// A pipe may never end, so no more is read than is used.
fn read_up_to(path: &Path, max: u64) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = match is_stdin(path) {
        true => std::io::stdin().lock().take(max + 1).read_to_end(&mut bytes),
        false => inputs::open(path)?.take(max + 1).read_to_end(&mut bytes),
    };
    let length = read.map_err(|cause| Error::world("read", Path::new(&name_of(path)), cause))?;
    if length as u64 > max {
        let message = format!("the text is longer than {} MiB", max >> 20);
        return Err(Error::one(name_of(path), message, "Is it the right file? Split it, or write fewer rows with `count`."));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::one(name_of(path), format!("byte {at} is no UTF-8 text"), "Is it a binary file? Scenarios are plain text.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_up_to_its_limit() {
        let path = std::env::temp_dir().join(format!("fairground-text-{}", std::process::id()));
        std::fs::write(&path, "12345678").unwrap();
        let [whole, longer] = [8, 7].map(|max| read_up_to(&path, max));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(whole.unwrap(), "12345678");
        assert!(longer.unwrap_err().to_string().contains("the text is longer than 0 MiB"));
    }
}
