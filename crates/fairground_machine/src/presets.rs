//! Machines that come with us, as files of the form that users write, and `smp-N`.

use crate::machine::Machine;
use crate::machine_file;
use crate::preset_files::FILES;
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;

/// What a list of presets says about one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresetInfo {
    /// The name to write; `smp-N` stands for a family.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: String,
    /// The number of CPUs; none for the family.
    pub cpus: Option<usize>,
}

/// All machine presets.
pub fn presets() -> Vec<PresetInfo> {
    let files = FILES.iter().map(|(name, text)| {
        let machine = machine_file::parse(text).expect("invariant: our own machine files are correct");
        PresetInfo { name, description: machine.description, cpus: Some(machine.cpus.len()) }
    });
    let description = format!("N equal CPUs that share one last-level cache, N from 1 to {MAX_CPUS}");
    files.chain([PresetInfo { name: "smp-N", description, cpus: None }]).collect()
}

impl Machine {
    /// The machine preset `name`, `smp-N` included.
    pub fn preset(name: &str) -> Result<Machine, Mistakes> {
        machine_file::preset(name)
    }
}
