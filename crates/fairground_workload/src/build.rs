//! Small helps for writing task sets.

use fairground_model::{Instr, MarkerSpec, MarkerUnit, Mode, Program, TaskSet};
use fairground_stdx::{Id, MarkerId, Ns, WordId};

/// The longest piece in which an endless loop computes: 1000 s. The engine adds it to the present
/// time, also stretched for a slow CPU, and must stay below `Instant::MAX`.
const ENDLESS_PIECE: Ns = Ns::from_secs(1000);

/// A program that computes for ever.
pub(crate) fn endless() -> Program {
    Program::from(vec![Instr::Run { work: ENDLESS_PIECE, mode: Mode::User }, Instr::Jump { to: 0 }])
}

/// Declares a marker, or finds the one of that name.
pub(crate) fn marker(set: &mut TaskSet, name: &str, unit: MarkerUnit) -> MarkerId {
    let spec = MarkerSpec { name: name.into(), unit };
    let known = set.markers.iter_enumerated().find(|row| *row.1 == spec).map(|row| row.0);
    known.unwrap_or_else(|| set.markers.push(spec))
}

/// The jump at `row`, written before it was known where to, goes to what comes next.
pub(crate) fn land(program: &mut Program, row: u32) {
    let here = program.here();
    if let Some(to) = program.code[row as usize].target_mut() {
        *to = here;
    }
}

/// Shared words in a row, each as `value` says of its number. Returns the first.
pub(crate) fn words(set: &mut TaskSet, count: u64, value: impl Fn(u64) -> u64) -> WordId {
    let first = WordId::from_index(set.words.len());
    for row in 0..count {
        set.words.push(value(row));
    }
    first
}
