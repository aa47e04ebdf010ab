//! Two states of the scheduler with a planted change between them, and whether `bisect` finds that change, and nothing else.
//!
//! ```text
//! draw.rs    a scenario, two kernels, the rows that are planted, and rows beside them      gates.rs  pairs that act only together
//! truth.rs   what these rows do, by brute force over seeds that no answer uses
//! score.rs   what `bisect` names
//! ```

mod draw;
mod gates;
mod score;
mod truth;

pub use draw::{Draft, Draw, KINDS_OF_CHANGE};
pub use score::{Searched, changes_table, examine_changes, found_percent};
pub use truth::{PlantedChange, plant_change};
