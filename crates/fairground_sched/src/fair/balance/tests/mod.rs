//! Tests of load balance: what is out of balance, and what moves.

mod beside_kernels;
mod imbalance;
mod moves;
mod task_groups;
