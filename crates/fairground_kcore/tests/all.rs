//! The tests of the crate that need a C compiler: a fake core always, kernel trees with the feature `trees`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]
mod fake;
