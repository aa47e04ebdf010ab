//! Kernel sections, preemption models and locks, on machines where nothing but computing takes time.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod misuse;
mod objects;
mod preemption;
mod spin;
mod support;
mod throttled_holders;
