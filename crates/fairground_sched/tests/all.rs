//! All tests of this folder in one binary: each binary of its own would be linked for itself.

#[path = "pelt/main.rs"]
mod pelt;
mod pelt_invariants;
mod recorded_domains;
