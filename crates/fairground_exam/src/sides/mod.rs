//! Two sides that differ by nothing, or by a known effect, and what `compare` says of them. All are real runs.
//!
//! ```text
//! knobs.rs   scenarios with a setting that grows: a price, a weight, a limit, a slice, an amount of work
//! truth.rs   how far the setting must go so that one metric moves by one standard deviation, by brute force
//! score.rs   false verdicts of sides that differ by their seeds only; effects of one standard deviation that are found
//! ```

mod knobs;
mod score;
mod truth;

pub use knobs::{KNOBS, Knob};
pub use score::{Compared, NOTHING, SidesExam, examine_sides, sides_table};
pub use truth::{OneDeviation, one_deviation};
