//! Tests of quota that turn the clock by hand.

mod release;
mod timers;
