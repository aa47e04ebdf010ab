//! Tests of quota that turn the clock by hand.

mod leaves;
mod release;
mod timers;
