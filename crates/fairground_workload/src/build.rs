//! Small helps for writing task sets.

use fairground_model::{Instr, MarkerSpec, MarkerUnit, Mode, Program, TaskSet};
use fairground_stdx::{MarkerId, Ns};

/// The longest piece in which an endless loop computes: 1000 s. The engine adds it to the present
/// time, also stretched for a slow CPU, and must stay below `Instant::MAX`.
const ENDLESS_PIECE: Ns = Ns::from_secs(1000);

/// A program that computes for ever.
pub(crate) fn endless() -> Program {
    Program { code: vec![Instr::Run { work: ENDLESS_PIECE, mode: Mode::User }, Instr::Jump { to: 0 }] }
}

/// Declares a marker, or finds the one of that name.
pub(crate) fn marker(set: &mut TaskSet, name: &str, unit: MarkerUnit) -> MarkerId {
    let spec = MarkerSpec { name: name.into(), unit };
    let known = set.markers.iter_enumerated().find(|row| *row.1 == spec).map(|row| row.0);
    known.unwrap_or_else(|| set.markers.push(spec))
}
