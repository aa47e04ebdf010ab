//! Random parts of a case. Limits are small, so that rare meetings become common.

mod capacity;
mod deadline;
mod energy;
mod frequencies;
mod groups;
mod heirs;
mod hotplug;
mod locks;
mod machine;
mod memory;
mod profile;
mod programs;
mod real_time;
mod recorded;
mod starved;
mod tasks;
mod tight;
mod told;
mod tunables;

pub(crate) use capacity::capacity;
pub(crate) use deadline::deadline;
pub(crate) use energy::{is_phone, saves_energy};
pub(crate) use frequencies::frequencies;
pub(crate) use groups::groups;
pub(crate) use heirs::heirs;
pub(crate) use hotplug::hotplug;
pub(crate) use locks::locks;
pub(crate) use machine::machine;
pub(crate) use memory::memory;
pub(crate) use profile::profile;
pub(crate) use real_time::real_time;
pub(crate) use recorded::recorded;
pub(crate) use starved::{hogs, starved};
pub(crate) use tasks::tasks;
pub(crate) use tight::tight;
pub use told::Told;
pub(crate) use told::told;
pub(crate) use tunables::tunables;

use crate::dice::Dice;
use fairground_stdx::Ns;

/// How long a case runs: a few ticks, or long enough for balancing to begin; big machines run shorter.
pub(crate) fn duration(dice: &mut Dice, cpus: usize) -> Ns {
    let most = if dice.once_in(8) { 600_000_000 } else { 80_000_000 };
    Ns(dice.between(5_000_000, most / (1 + cpus as u64 / 12)))
}
