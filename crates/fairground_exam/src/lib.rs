//! An exam: delays that are planted, so that their cause is known, and how many of them `explain` answers right.
//!
//! ```text
//! planted/    families: how a delay of one kind is made, and the same scenario without its cause
//! second/     further families: scenes as people meet them, written without a look at `explain`
//!   dice.rs   the draws: machine, kernel, lengths, names     scene.rs   the text of the scenario
//! delay.rs    the worst delay of a task from the records: what shows that the cause is one
//! answer.rs   what `explain` says          remedy.rs  whether its remedy helps
//! score.rs    how much of it is right      page.rs    the table of docs/answers.md
//! rows/       planted changes between two states of the scheduler, and whether `bisect` names them alone
//! sides/      two sides that differ by nothing, or by a known effect, and what `compare` says
//! services/   random services with a goal, and how near the limit is that `advise` answers
//! ```
//!
//! The exam knows nothing of how `explain` works: it reads the answer as a user does.

mod answer;
mod delay;
mod dice;
pub mod page;
mod planted;
mod remedy;
mod rows;
mod scene;
mod score;
mod second;
mod services;
mod sides;

pub use answer::{Answer, ask};
pub use delay::{Measure, read, worst_delay};
pub use planted::{Family, Planted, families, plant, second_families};
pub use rows::{
    Draft, Draw, KINDS_OF_CHANGE, PlantedChange, Searched, changes_table, examine_changes, found_percent, plant_change,
};
pub use score::{Asked, FLOORS, FLOORS_OF_FAMILY, FLOORS_OF_SECOND, Right, examine, percent, table};
pub use services::{
    Advised, KINDS, Kind, Nearness, Service, Truth, Truths, are_good, draw, examine_services, nearness, services_table, truth,
};
pub use sides::{Compared, KNOBS, Knob, NOTHING, OneDeviation, SidesExam, examine_sides, one_deviation, sides_table};
