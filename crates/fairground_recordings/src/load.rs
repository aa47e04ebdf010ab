//! The updates of load tracking that lie beside some recorded sets.

use fairground_formats::recorded::{LoadRow, read_load_rows};
use fairground_scenario::{Error, inputs};
use std::path::Path;

/// Their file in a set's folder.
const RECORDS: &str = "pelt.csv.zst";

/// The load-tracking updates of a set's folder; `None` if it has none.
pub(crate) fn read(folder: &Path) -> Result<Option<Vec<LoadRow>>, Error> {
    let path = folder.join(RECORDS);
    if !path.is_file() {
        return Ok(None);
    }
    let (rows, stats) = read_load_rows(inputs::open(&path)?);
    if let Some(note) = stats.notes.first() {
        let hint = "It is written by the recorder; take the original file.";
        return Err(Error::one(path.display().to_string(), format!("{} lines: {note}", stats.skipped), hint));
    }
    Ok(Some(rows))
}
