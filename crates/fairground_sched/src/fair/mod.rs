//! The fair class, CFS and EEVDF. Start reading at `update_curr.rs`, then `enqueue.rs`, `pick/`,
//! `tick_preempt/`; of EEVDF alone are `avg_vruntime.rs`, `deadline.rs`, `protect.rs` and `delay.rs`.

mod avg_vruntime;
pub mod balance;
pub mod bandwidth;
mod buddies;
mod class;
mod deadline;
mod delay;
mod energy;
mod enqueue;
mod entity;
mod fork;
pub mod group;
mod hrtick;
mod level;
mod load;
mod order;
pub mod pick;
pub mod place;
mod protect;
pub mod select_task_rq;
mod slice;
mod steps;
mod switched;
#[cfg(test)]
mod tests;
pub mod tick_preempt;
mod touch;
pub mod tunables;
mod update_curr;
mod wakeup_preempt;
pub mod weight;
mod yield_task;

pub(crate) use energy::Energy;
pub use entity::{CfsRq, SchedEntity};
pub(crate) use entity::{DequeueFlags, EnqueueFlags};
pub(crate) use hrtick::HrtickTimer;
pub(crate) use select_task_rq::WakeeFlips;
pub use wakeup_preempt::Lead;
