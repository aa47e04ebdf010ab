//! Tests of the fair class that span more than one file, and the queue that they turn by hand (`bench.rs`).

pub(super) mod bench;
mod beside_kernels;
mod beside_more_kernels;
mod beside_v5_10;
mod cfs;
mod eevdf;
mod groups_beside_kernels;
mod run_delay;
mod stoppers;
mod v7_2;
mod v7_2_classes;
mod wider_seeds;
