#![doc = include_str!("README.md")]

mod export;
mod import;

pub(crate) use export::CsvWriter;
pub use import::{read, sniff};

/// The format's name in the registry.
pub(crate) const NAME: &str = "csv";

/// The first line of a file.
const HEADER: &str = "t_ns,cpu,event,task,other_task,from_cpu,to_cpu,what,value,value2,value3";
