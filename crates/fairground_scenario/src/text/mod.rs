//! TOML as text: reading the fields of a table with their places, and one fixed spelling for all of it.

pub(crate) mod canonical;
pub mod fields;

pub(crate) use fairground_model::Wrong;
