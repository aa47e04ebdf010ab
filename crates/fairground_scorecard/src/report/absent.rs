//! What is not modelled yet.

use crate::notes::Notes;
use crate::page::{Section, Table};
use fairground_sched::profile::{KnownKind, Profile};

/// Published figures and kernels without a model.
pub(super) fn sections(notes: &Notes) -> Vec<Section> {
    vec![figures(notes), kernels()]
}

fn figures(notes: &Notes) -> Section {
    let mut table = Table::new(&["experiment", "figures", "need"]);
    for row in &notes.no_figures {
        table.push(vec![row.experiment.clone(), row.figures.clone(), row.needs.clone()]);
    }
    Section::new("Published figures that are not modelled yet", "They have no number of ours.", table)
}

fn kernels() -> Section {
    let mut table = Table::new(&["profile", "what it is"]);
    for known in Profile::known().into_iter().filter(|known| known.kind == KnownKind::NotModelledYet) {
        table.push(vec![known.name, known.note.to_string()]);
    }
    Section::new("Kernels that are not modelled yet", "From the table of profiles.", table)
}
