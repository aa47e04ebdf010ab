//! Sinks that become numbers
