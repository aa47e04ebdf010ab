#![doc = include_str!("README.md")]

mod column;
mod export;
mod field;
mod file;
mod thrift;

pub(crate) use export::ParquetWriter;
pub use field::{Field, Kind, Value};
pub use file::write_table;

/// The format's name in the registry.
pub(crate) const NAME: &str = "parquet";

#[cfg(test)]
mod tests;
