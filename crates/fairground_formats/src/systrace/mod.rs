#![doc = include_str!("README.md")]

mod base64;
mod import;
mod page;

pub(crate) use import::{read, sniff};

/// The format's name in the registry.
pub(crate) const NAME: &str = "systrace";
