//! All tests of this folder in one binary: each binary of its own would be linked for itself.

mod capacities;
mod conform;
mod conform_quota;
mod own_traces;
mod scorecard;
