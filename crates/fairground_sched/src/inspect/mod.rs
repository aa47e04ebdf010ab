//! Read-only views of the core for explanations: they answer questions that no rule asks, and change nothing.

mod balance;
mod load;
mod rivals;

pub use balance::{BalanceState, RootState};
pub use load::{GroupReading, LoadReading};
pub use rivals::Rivals;
