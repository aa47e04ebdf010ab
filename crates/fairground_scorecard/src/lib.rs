//! The scorecard: how close we are to recorded kernels, set by set, as one page of Markdown that can be made again
//! to the same bytes. `docs/fidelity.md` is this page.

pub mod card;
pub mod decisions;
pub mod golden;
pub mod judge;
pub mod notes;
pub mod page;
pub mod quota_pattern;
pub mod report;
pub mod simulation;
