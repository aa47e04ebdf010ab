#![doc = include_str!("README.md")]

mod export;
mod import;

pub(crate) use export::JsonWriter;
pub use import::{read, sniff};

/// The format's name in the registry.
pub(crate) const NAME: &str = "json";
/// Value of the document's `kind`.
const KIND: &str = "fairground trace";
/// Value of the document's `schema`.
const SCHEMA: u32 = 1;
