//! The fair class (CFS). Start reading at `update_curr.rs`, then `enqueue.rs`, `pick/`, `tick_preempt/`.

mod buddies;
mod class;
mod enqueue;
mod entity;
mod fork;
mod level;
mod load;
pub mod pick;
pub mod place;
pub mod select_task_rq;
mod slice;
#[cfg(test)]
mod spec_02;
pub mod tick_preempt;
pub mod tunables;
mod update_curr;
mod wakeup_preempt;
pub mod weight;

pub use entity::{CfsRq, SchedEntity};
pub(crate) use entity::{DequeueFlags, EnqueueFlags};
pub use wakeup_preempt::Lead;
