//! `/proc/schedstat`, versions 15 to 17, and its variants with counters of SIS in the lines of CPUs.
//!
//! ```text
//! version 17
//! timestamp 4294893302
//! cpu0 NUMBERS            9; the two SIS patches have 13 and 15 and call themselves version 16 and 17
//! domain0 MC ff NUMBERS   three blocks of 8 (up to v16) or 11 (v17), then 12; the name from v17 on
//! ```
//!
//! How a domain's numbers are ordered is told by how many numbers the lines have, not by the version alone:
//! the patches change the version and leave the domains as their kernel has them.

mod export;
mod import;
mod layout;

pub use export::write;
pub use import::read;
pub use layout::Layout;

use fairground_model::SchedStat;

/// The format's name.
pub(crate) const NAME: &str = "schedstat";

/// One text of /proc/schedstat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedStatFile {
    /// The version that it says it is.
    pub version: u32,
    /// How its domains are ordered.
    pub layout: Layout,
    /// The counters.
    pub stat: SchedStat,
}

impl SchedStatFile {
    /// The counters as a kernel of that layout prints them.
    pub fn new(layout: Layout, stat: SchedStat) -> SchedStatFile {
        SchedStatFile { version: layout.version(), layout, stat }
    }
}

#[cfg(test)]
mod tests;
