#![doc = include_str!("README.md")]

mod import;

pub(crate) use import::{holds, read};

/// The format's name in the registry.
pub(crate) const NAME: &str = "schedviz";
