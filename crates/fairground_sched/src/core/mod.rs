//! What all classes share: clocks, wake-up, fork, schedule(), the tick, changes to a task.

mod change;
mod clock;
mod fork;
mod schedule;
mod tick;
mod wakeup;

pub use schedule::{Switch, UserReturn};
pub use wakeup::{WakeFlags, Waking};
