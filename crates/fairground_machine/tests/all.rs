//! All tests of this folder in one binary: each binary of its own would be linked for itself.

mod costs;
mod importers;
mod machine_file;
mod presets;
