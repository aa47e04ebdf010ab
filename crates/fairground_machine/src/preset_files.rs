//! The names of machines that come with us, and their files.

use crate::suggest::{self, clip};
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;

/// The machine files, in the order in which they are listed.
pub(crate) const FILES: [(&str, &str); 13] = [
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
pub(crate) const SMP: &str = "smp-";

/// How a preset is described.
pub(crate) enum Preset {
    /// By the text of a machine file.
    File(&'static str),
    /// So many equal CPUs.
    Smp(u32),
}

/// The preset `name`.
pub(crate) fn find(name: &str) -> Result<Preset, Mistakes> {
    if let Some((_, text)) = FILES.iter().find(|(preset, _)| *preset == name) {
        return Ok(Preset::File(text));
    }
    let unknown = |hint| Mistakes::one(format!("unknown machine preset `{}`", clip(name)), hint);
    match name.strip_prefix(SMP).map(str::parse::<u32>) {
        Some(Ok(cpus)) if (1..=MAX_CPUS as u32).contains(&cpus) => Ok(Preset::Smp(cpus)),
        Some(_) => Err(unknown(format!("Write smp-N with a number of CPUs from 1 to {MAX_CPUS}, as in smp-8."))),
        None => {
            let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).chain(["smp-N"]).collect();
            Err(unknown(suggest::hint(name, &names)))
        }
    }
}
