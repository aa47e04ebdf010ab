#![doc = include_str!("README.md")]

mod bundle;
mod clocks;
mod compact;
mod event;
mod export;
mod import;
mod losses;
mod merge;
mod packet;
mod packets;
mod process_tree;
mod proto;
mod state;
mod tracks;
mod wire;

pub(crate) use export::PerfettoWriter;
pub use import::{read, sniff};

/// The format's name in the registry.
pub(crate) const NAME: &str = "perfetto";
