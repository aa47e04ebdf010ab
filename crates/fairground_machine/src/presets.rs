//! Machines that come with us, as files of the form that users write, and `smp-N`.

use crate::machine::Machine;
use crate::machine_file;
use crate::regular::{Regular, default_distances};
use crate::suggest;
use crate::suggest::clip;
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;

/// The machine files, in the order in which they are listed.
const FILES: [(&str, &str); 13] = [
    ("fb-16c32t", include_str!("presets/fb-16c32t.toml")),
    ("llc112", include_str!("presets/llc112.toml")),
    ("spr-2x56", include_str!("presets/spr-2x56.toml")),
    ("hikey", include_str!("presets/hikey.toml")),
    ("box12", include_str!("presets/box12.toml")),
    ("box12-nosmt", include_str!("presets/box12-nosmt.toml")),
    ("epyc-9654-2s", include_str!("presets/epyc-9654-2s.toml")),
    ("epyc-9965-1s", include_str!("presets/epyc-9965-1s.toml")),
    ("vm8", include_str!("presets/vm8.toml")),
    ("vm8-nollc", include_str!("presets/vm8-nollc.toml")),
    ("lap8", include_str!("presets/lap8.toml")),
    ("juno-r0", include_str!("presets/juno-r0.toml")),
    ("sm8150", include_str!("presets/sm8150.toml")),
];
/// What precedes the number in the name of a machine of equal CPUs.
const SMP: &str = "smp-";

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

/// The preset `name`.
pub(crate) fn load(name: &str) -> Result<Machine, Mistakes> {
    if let Some((_, text)) = FILES.iter().find(|(preset, _)| *preset == name) {
        return machine_file::parse(text);
    }
    match name.strip_prefix(SMP).map(str::parse::<u32>) {
        Some(Ok(cpus)) if (1..=MAX_CPUS as u32).contains(&cpus) => Ok(smp(cpus)),
        Some(_) => {
            let hint = format!("Write smp-N with a number of CPUs from 1 to {MAX_CPUS}, as in smp-8.");
            Err(Mistakes::one(format!("unknown machine preset `{}`", clip(name)), hint))
        }
        None => {
            let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).chain(["smp-N"]).collect();
            Err(Mistakes::one(format!("unknown machine preset `{}`", clip(name)), suggest::hint(name, &names)))
        }
    }
}

fn smp(cpus: u32) -> Machine {
    let shape = Regular { cores: cpus, ..Regular::default() };
    let mut machine = Machine::new(format!("{SMP}{cpus}"), shape.cpus(), default_distances(1));
    machine.description = format!("{cpus} equal CPUs that share one last-level cache");
    machine
}
