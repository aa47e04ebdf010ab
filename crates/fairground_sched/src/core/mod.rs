//! What all classes share: clocks, wake-up, fork, schedule(), the tick, changes to a task.

mod change;
mod clock;
mod follow;
mod fork;
mod schedule;
mod tick;
mod wakeup;

pub use follow::QueueSeat;
pub use schedule::{Leaving, Switch, UserReturn};
pub use wakeup::{WakeFlags, Waking};
