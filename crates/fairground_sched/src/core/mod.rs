//! What all classes share: clocks, wake-up, fork, schedule(), the tick, changes to a task; and what the upper two do, push and pull.

mod change;
mod class;
mod class_change;
mod clock;
mod fork;
mod hotplug;
mod hw_pressure;
mod idle_state;
mod leaving;
mod lines;
mod plain_switch;
mod push_pull;
mod sched_info;
mod schedstat;
mod schedule;
mod softirq;
mod stop;
#[cfg(test)]
mod tests;
mod throttled_group;
mod tick;
mod wake_list;
mod wakeup;
mod warnings;

pub use hotplug::LastCpu;
pub use leaving::Leaving;
pub(crate) use lines::RqLines;
pub(crate) use push_pull::PushPull;
pub use sched_info::SchedInfo;
pub use schedule::{Switch, UserReturn};
pub(crate) use wakeup::Arrival;
pub use wakeup::{WakeFlags, Waking, rq_lock_op};
pub(crate) use warnings::Warned;
