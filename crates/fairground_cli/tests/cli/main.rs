//! The command line as a user sees it: every command through the real binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod advise;
mod advise_inputs;
mod agree;
mod bad_input;
mod bisect;
#[cfg(unix)]
mod chaos;
mod corpus;
mod docs;
mod examples;
mod experiments;
mod explain;
mod hostile_names;
mod journal;
mod kernel;
mod lists;
mod nothing;
mod numbers;
mod outputs;
#[cfg(unix)]
mod outputs_kept;
mod pages;
mod record;
mod recorded_time;
mod run;
mod sensitivity;
mod statistics;
mod support;
mod terminal;
mod traces;
mod vopr;
