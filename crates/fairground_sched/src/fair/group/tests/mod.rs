//! Tests of task groups: shares and load, the order of steps, runnable load.

mod enqueue_order;
mod runnable_load;
mod shares;
