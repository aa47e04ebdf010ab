//! One file for each thing that a scenario names: how it is written, read and printed. What is wrong with it beside others is found
//! by `check`.

pub(crate) mod at;
pub(crate) mod autogroup;
pub(crate) mod capacities;
pub(crate) mod cgroup;
pub(crate) mod clamps;
pub(crate) mod deadline;
pub(crate) mod expect;
pub(crate) mod groups;
pub(crate) mod lock_steps;
pub(crate) mod machine;
pub(crate) mod memory_steps;
pub(crate) mod page_steps;
pub(crate) mod part_steps;
pub mod profile;
pub(crate) mod step_args;
pub(crate) mod step_labels;
pub(crate) mod steps;
pub(crate) mod tasks;
pub(crate) mod tree;
pub(crate) mod verbs;
pub(crate) mod words;
pub(crate) mod workload;
