//! Experiments over kernel trees: the tree's own scheduler decides, and beside it our rules of its release.
//!
//! Rows are those that both can have. What a tree cannot give is named with the reason: a call of it is atomic, so nobody waits for
//! its locks and no call of a timer lasts; and what our own tables count in a decision is not counted where they do not decide.

use crate::experiment::Experiment;
use crate::published::Published;
use crate::registry::EXPERIMENTS;
use fairground_machine::Machine;
use fairground_machine::machine::tick_of;
use fairground_model::Digest;
use fairground_report::{Beside, Document, Input, Page, Side, SideRow};
use fairground_scenario::{Control, Error, profile};
use fairground_sched::Profile;
use fairground_sched::profile::{ProfileError, TREE_PREFIX};
use fairground_sim::{Setup, Simulation};

/// Why a tree has no number for what takes time within a call.
pub(crate) const ATOMIC: &str = "a call into a tree is atomic, so nothing lasts or is waited for within it";
/// The HZ of a build without a fragment.
const HZ: u32 = 250;
/// Rows of our rules for a build without a fragment: newidle balance as in a kernel without preemption, idle CPUs that tick.
const AS_BUILT: [(&str, &str); 2] = [("newidle_batch", "imbalance"), ("sleeper_clock", "as-read")];

/// What of an experiment runs over kernel trees.
pub enum Over {
    /// Rows of its own, over each tree and by our rules.
    Sides(&'static Sides),
    /// Nothing, and why.
    Nothing(&'static str),
}

/// The rows of one scheduler, and the digests of its runs.
pub(crate) type Measured = (Vec<SideRow>, Vec<u128>);

/// Rows that one scheduler gives after another.
pub struct Sides {
    /// Why a release cannot give them, if it cannot.
    pub(crate) lacks: fn(&Profile) -> Option<String>,
    /// The rows of one scheduler, with the digests of its runs.
    pub(crate) rows: fn(&Profile, &Published, Control<'_>) -> Result<Measured, Error>,
    /// The file of published figures: its name, and its text.
    pub(crate) file: (&'static str, &'static str),
    /// How the runs are cut, and what is to be known of them.
    pub(crate) notes: &'static [&'static str],
}

/// What an experiment gave over trees.
#[derive(Clone, Debug)]
pub struct OverTrees {
    /// All rows of all sides.
    pub beside: Beside,
    /// The published data by name and digest.
    pub inputs: Vec<Input>,
    /// Digest over the record digests of all its runs, in order.
    pub digest: u128,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

impl OverTrees {
    /// The document of `reproduce --over --json`.
    pub fn document(&self) -> Document {
        let mut document = Document::new("reproduce", &self.inputs, Some(1), Some(self.digest));
        self.beside.document(&mut document);
        document
    }
    /// The page of `reproduce --over -o FILE.html`.
    pub fn page(&self) -> Page {
        self.beside.page(concat!("fairground ", env!("CARGO_PKG_VERSION"), " reproduce --over"), self.digest)
    }
}

/// Runs what of an experiment runs over the trees of these names: each tree, then our rules of its release.
pub fn over_trees(experiment: &Experiment, trees: &[String], control: Control<'_>) -> Result<OverTrees, Error> {
    let sides = match experiment.over {
        Over::Sides(sides) => sides,
        Over::Nothing(why) => {
            let can = EXPERIMENTS.iter().filter(|row| matches!(row.over, Over::Sides(_))).map(|row| row.name);
            let hint = format!("These do: {}.", can.collect::<Vec<_>>().join(", "));
            return Err(Error::one("--over", format!("`{}` runs over no tree: {why}", experiment.name), hint));
        }
    };
    let file = Published::open(sides.file.0, sides.file.1)?;
    let mut profiles: Vec<Profile> = Vec::new();
    for text in trees {
        for side in with_ours(text, sides)? {
            // Two trees of one release stand beside the same rules.
            if profiles.iter().all(|profile| profile.full_name() != side.full_name()) {
                profiles.push(side);
            }
        }
    }
    let (mut done, mut digest) = (Vec::new(), Digest::default());
    for (number, side) in profiles.iter().enumerate() {
        control.at(number as u64, profiles.len() as u64);
        if control.stopped() {
            break;
        }
        let (rows, digests) = (sides.rows)(side, &file, control)?;
        digests.iter().for_each(|run| digest.bytes(&run.to_le_bytes()));
        done.push(Side { name: short(side), rows });
    }
    let whole = profiles.iter().map(|side| format!("{} is {}.", short(side), side.full_name()));
    let notes = sides.notes.iter().map(|note| (*note).to_string()).chain(whole).collect();
    let beside = Beside::of_sides(experiment.name, done, notes);
    Ok(OverTrees { beside, inputs: vec![file.input()], digest: digest.value(), interrupted: control.stopped() })
}

/// What heads a column: the tree by the name that its user gave it, or the release of our rules.
fn short(side: &Profile) -> String {
    side.tree().map_or_else(|| side.base.to_string(), |tree| format!("{TREE_PREFIX}{}", tree.name))
}

/// The tree of that name, and our rules of its release as it is built.
fn with_ours(text: &str, sides: &Sides) -> Result<[Profile; 2], Error> {
    let wrong = |error: ProfileError| Error::one("--over", error.message, error.hint);
    let tree = profile::named(text).map_err(wrong)?;
    if tree.tree().is_none() {
        let hint = "Name one as `tree:NAME`; `fairground kernel list` shows what was built.";
        return Err(Error::one("--over", format!("`{text}` is no kernel tree"), hint));
    }
    if let Some(why) = (sides.lacks)(&tree) {
        return Err(Error::one("--over", format!("`{text}`: {why}"), "Name a tree of another release."));
    }
    let ours = Profile::kernel(tree.base).map_err(wrong)?;
    let ours = AS_BUILT.iter().try_fold(ours, |ours, (seam, variant)| ours.with_seam(seam, variant)).map_err(wrong)?;
    Ok([tree, ours])
}

/// A machine as trees have it: their HZ, and ticks on idle CPUs.
pub(crate) fn as_built(machine: &mut Machine) {
    (machine.hz, machine.tick, machine.nohz_idle) = (HZ, tick_of(HZ), false);
}

/// The run at its beginning, be it over a tree.
pub(crate) fn begin(setup: Setup) -> Result<Simulation, Error> {
    let hint = "These runs are for trees that were built without `--config`.";
    fairground::run::begin(setup).map_err(|mistakes| Error::one("--over", mistakes.to_string(), hint))
}
