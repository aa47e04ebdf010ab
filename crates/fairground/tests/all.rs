//! All tests of this folder in one binary: each binary of its own would be linked for itself.

mod cpusets;
mod cyclictest;
mod feature_pairs;
mod frequencies;
mod hackbench;
mod mysql;
mod null_test;
mod pgbench;
mod rtapp_waits;
mod schbench;
mod transactions;
mod tree_copies;
mod window;
