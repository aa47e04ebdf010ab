//! What the hardware is and what things cost: topology, capacities, ticks, price lists; makes the
//! [`MachineView`](fairground_model::MachineView) that the scheduler sees.
//!
//! A [`Machine`] comes from a preset, from a machine file (TOML), from lstopo XML, from an hwloc
//! synthetic string, from a recorded set or from sysfs. All readers are pure functions of text.
#![deny(clippy::float_arithmetic)]

pub mod cost;
mod cpu;
mod fields;
pub mod idle;
pub mod import;
mod keys;
pub mod lstopo;
pub mod machine;
pub mod machine_file;
mod preset_files;
pub mod presets;
pub mod recorded;
pub mod regular;
pub mod suggest;
pub mod synthetic;
pub mod sysfs;
pub mod validate;

pub use cost::CostModel;
pub use idle::{IdleGovernor, IdleState};
pub use import::Imported;
pub use keys::KeyInfo;
pub use machine::{CpuSpec, Machine};
pub use presets::{PresetInfo, presets};
pub use regular::{Level, Numbering, Regular};
