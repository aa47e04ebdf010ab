//! What kernel paths cost: a price in picoseconds per counted operation, each with its source.
//!
//! A price is that of an otherwise idle CPU at full speed. CPU work slows down with the CPU's
//! capacity and frequency; what waits for memory, the wire or the sleeping CPU does not.

mod model;
mod read;
mod scale;
mod write;

pub use model::{CostModel, MAX_PRICE_PS, PIPE_HOP};
pub(crate) use read::read_item;
pub(crate) use write::write;
