//! All tests of this folder in one binary: each binary of its own would be linked for itself.
//! `no_allocation` is apart, since it counts the allocations of its whole process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod accounting;
mod bad_setup;
mod balance;
mod cache;
mod capacity;
mod changes;
mod clock_pelt;
mod common;
mod cpu_max;
mod deadline;
mod deadline_beside_kernels;
mod determinism;
mod eevdf;
mod elsewhere;
mod fair_server;
mod faults;
mod flow_control;
mod frequency;
mod frequency_beside_kernels;
mod futex;
mod held_interrupts;
mod hop_prices;
mod hrtick;
mod jitter;
#[path = "kernel_sections/main.rs"]
mod kernel_sections;
mod led;
mod locks;
mod looks_in_vain;
mod noise;
mod other_core;
mod parts;
mod pipes;
mod quota;
mod quota_cases;
mod race;
mod real_time;
mod searches;
mod short_ways;
mod single_cpu;
mod slice_ext;
mod smt;
mod sockets;
mod task_throttle;
mod thread_clock;
mod timers;
mod user_mode;
mod v7_2;
mod watchdog;
