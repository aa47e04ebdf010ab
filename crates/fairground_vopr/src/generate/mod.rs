//! Random parts of a case. Limits are small, so that rare meetings become common.

mod machine;
mod profile;
mod programs;
mod tasks;

pub(crate) use machine::machine;
pub(crate) use profile::profile;
pub(crate) use tasks::tasks;
