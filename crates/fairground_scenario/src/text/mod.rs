//! TOML as text: reading the fields of a table with their places, and one fixed spelling for all of it.

pub(crate) mod canonical;
pub mod fields;

/// What is wrong with a word, and a hint.
pub(crate) type Wrong = (String, String);
