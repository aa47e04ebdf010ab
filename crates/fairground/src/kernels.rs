//! Kernel trees as cores: building them, and the store of those that are built.

pub use fairground_kcore::build::{Built, Named, Order, Store, TRIED, build};
