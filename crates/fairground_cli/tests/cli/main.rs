//! The command line as a user sees it: every command through the real binary.

mod bad_input;
mod examples;
mod experiments;
mod lists;
mod run;
mod support;
mod traces;
