//! What was read and is not used.

use std::collections::BTreeSet;

/// Notes in order, each kept once.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) list: Vec<String>,
    known: BTreeSet<String>,
}

impl Notes {
    pub(super) fn add(&mut self, note: &str) {
        if self.known.insert(note.into()) {
            self.list.push(note.into());
        }
    }
}
