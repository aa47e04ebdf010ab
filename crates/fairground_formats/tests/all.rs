//! All tests of this folder in one binary: each binary of its own would be linked for itself.

mod bad_input;
mod common;
mod ctf;
mod doors;
mod fgr;
mod golden_sets;
mod groups;
mod perf_data;
mod perfetto;
mod perfetto_import;
mod repair;
mod round_trip;
mod samples;
mod schedstat;
mod schedviz;
mod systrace;
mod trace_dat;
