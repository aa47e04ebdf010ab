#![doc = include_str!("README.md")]

mod column;
mod export;
mod file;
mod thrift;

pub(crate) use export::ParquetWriter;
pub use file::{Field, Kind, Value, write_table};

/// The format's name in the registry.
pub(crate) const NAME: &str = "parquet";

#[cfg(test)]
mod tests;
