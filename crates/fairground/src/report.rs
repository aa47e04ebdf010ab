//! What bindings need of the layers below to show results: tables, documents, figures.

pub use fairground_metrics::{Check, Figure, Metric};
pub use fairground_report::expect::{expect_json, expect_table, figures_json};
pub use fairground_report::{Document, Input, Table};

/// Figures by name.
pub type FigureMap = std::collections::BTreeMap<String, Figure>;
