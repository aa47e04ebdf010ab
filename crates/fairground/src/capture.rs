//! `capture machine`: this host's topology as a machine file.

use fairground_machine::{Imported, machine_file, sysfs};
use fairground_report::Document;
use fairground_scenario::Error;

/// A machine that was read from this host.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The machine with what was assumed.
    pub imported: Imported,
    /// The machine file.
    pub text: String,
}

impl Captured {
    /// The document of `capture machine --json`.
    pub fn document(&self) -> Document {
        let mut document = Document::new("capture", &[], None, None);
        document
            .set("cpus", self.imported.machine.cpus.len())
            .set("machine", self.text.as_str())
            .set("notes", self.imported.notes.clone());
        document
    }
}

/// Reads the topology of this host from sysfs.
pub fn capture_machine() -> Result<Captured, Error> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let imported = sysfs::capture(&read).map_err(|wrong| Error::input("/sys/devices/system", "", wrong))?;
    let text = machine_file::write(&imported.machine);
    Ok(Captured { imported, text })
}
