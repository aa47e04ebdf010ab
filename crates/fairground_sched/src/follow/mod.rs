//! Following a record: what a comparison with a recorded kernel (`fairground_conform`) needs beside the entry points.
//!
//! Nothing in the rules calls this folder. It calls what tasks would, and sets what lies before the record.

mod decisions;
mod group_places;
mod past;
mod quota;

pub use decisions::{Followed, QueueSeat};
pub use past::WakeupLead;
