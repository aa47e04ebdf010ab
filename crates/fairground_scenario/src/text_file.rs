//! Small texts, read and written as a whole.

use crate::error::Error;
use std::fs;
use std::path::Path;

/// Writes a small text at once.
pub fn write_text(target: &Path, text: &str) -> Result<(), Error> {
    fs::write(target, text).map_err(|cause| Error::world("write", target, cause))
}

/// Reads a text that somebody wrote. Bytes that are no UTF-8 are the input's fault, not the disk's.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|cause| Error::world("read", path, cause))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::one(
            path.display().to_string(),
            format!("byte {at} is no UTF-8 text"),
            "Is it a binary file? Scenarios are plain text.",
        )
    })
}
