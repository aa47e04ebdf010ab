//! Tests of placement, and the machine that they set up by hand (`machine.rs`).

mod affine_loads;
mod by_capacity;
mod every_choice;
mod exec;
mod machine;
mod price_of_a_look;
mod search_counters;
mod wakeup_and_fork;

pub(crate) use machine::{JIFFY, TestMachine, cpu};
