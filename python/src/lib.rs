//! The half in Rust of the Python package `fairground`: it hands objects of Python to the facade, and what comes out back as tables.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `input.rs`, `as_toml.rs` | what Python hands in: paths, texts, dictionaries |
//! | `work.rs` | a thread that works while Python is free; Ctrl-C and progress |
//! | `functions/` | a function for each command |
//! | `run_result.rs`, `report.rs`, `table.rs` | what comes out |
//! | `events.rs`, `arrow/` | records and tables in columns, read by others without a copy |
//! | `errors.rs` | exceptions |

mod arrow;
mod as_toml;
mod errors;
mod events;
mod functions;
mod input;
mod report;
mod run_result;
mod table;
mod work;

use pyo3::prelude::*;

/// What `fairground/__init__.py` wraps.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::functions::{
        advise::advise, compare::compare, conform::conform, explain::explain, latency::latency, lists::domains, lists::listed,
        run::replay, run::run, run::written, sweep::SweepPlan,
    };
    #[pymodule_export]
    use super::report::Report;
    #[pymodule_export]
    use super::run_result::{Metric, RunResult};
    #[pymodule_export]
    use super::table::Table;

    /// The version of the package and of all its parts.
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
}
