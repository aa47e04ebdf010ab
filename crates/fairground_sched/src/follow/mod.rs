//! Following somebody else: a record, for a comparison with a recorded kernel (`fairground_conform`), or another core that
//! decides in a run (`led.rs`). What that needs beside the entry points.
//!
//! Nothing in the rules calls this folder. It calls what tasks would, and sets what lies before the record.

mod decisions;
mod group_places;
mod led;
mod past;
mod quota;

pub use decisions::{Followed, QueueSeat};
pub use led::Astray;
pub use past::WakeupLead;
