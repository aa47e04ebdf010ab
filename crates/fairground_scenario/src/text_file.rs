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

/// Reads a text that somebody wrote, from stdin where the path is `-`. Bytes that are no UTF-8 are the input's fault, not the disk's.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = match is_stdin(path) {
        true => std::io::stdin().lock().read_to_end(&mut bytes),
        false => inputs::open(path)?.read_to_end(&mut bytes),
    };
    read.map_err(|cause| Error::world("read", Path::new(&name_of(path)), cause))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::one(name_of(path), format!("byte {at} is no UTF-8 text"), "Is it a binary file? Scenarios are plain text.")
    })
}
