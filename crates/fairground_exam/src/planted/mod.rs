//! Families of planted delays. Each makes a scenario in which a task is late for one known reason, and the same without
//! that reason. Both are made by one function from the same draws.

mod affinity;
mod balance;
mod eevdf;
mod fair;
mod kernel_work;
mod later;
mod locks;
mod machine;
mod other_classes;
mod quota;
mod stage;
mod waits;
mod weight;

use crate::delay::{Measure, worst_delay};
use crate::dice::Dice;
use crate::scene::Scene;
use fairground_scenario::Error;
use fairground_stdx::Ns;

/// A kind of delay, with all that may vary about it.
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What is planted, as a sentence.
    pub sentence: &'static str,
    pub(crate) plant: Plant,
}

/// Makes the scenario; without the cause if the second argument is false. Both ways make the same draws.
pub(crate) type Plant = fn(&mut Dice, bool) -> Plot;

/// What a family makes.
pub(crate) struct Plot {
    pub(crate) scene: Scene,
    pub(crate) task: String,
    pub(crate) causes: Vec<&'static str>,
    pub(crate) levers: Vec<&'static str>,
    pub(crate) who: Vec<String>,
    pub(crate) sleep: Option<Ns>,
}

/// A planted delay with its truth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planted {
    /// The scenario.
    pub text: String,
    /// The same without the cause.
    pub without: String,
    /// The task that is late; none is named if requests are.
    pub task: String,
    /// Causes that are right, by their short names.
    pub causes: Vec<&'static str>,
    /// Kinds of remedy that are right; `none` where none need help.
    pub levers: Vec<&'static str>,
    /// Who ran, used up the pool or held the lock; nobody if there is none.
    pub who: Vec<String>,
    /// What is measured.
    pub measure: Measure,
    /// The worst delay of the task, and that without the cause.
    pub delays: (Ns, Ns),
    /// How many draws before it showed no truth.
    pub discarded: u32,
}

/// So many draws in a row may show no truth.
const DRAWS: u32 = 50;
/// The cause of no delay.
pub(crate) const NOTHING: &str = "none";
/// A shorter delay is none.
const LEAST: Ns = Ns::from_us(200);

/// Draws a delay of a family: the first draw whose truth is shown by running it both ways. Without the cause the worst
/// delay of the task is at most half of what it is with it.
pub fn plant(family: &Family, seed: u64) -> Result<Planted, Error> {
    let mut dice = Dice::new(seed, family.name);
    for discarded in 0..DRAWS {
        let mut same = dice.clone();
        let Plot { mut scene, task, causes, levers, who, sleep } = (family.plant)(&mut dice, true);
        let mut without = (family.plant)(&mut same, false).scene;
        for scene in [&mut scene, &mut without] {
            scene.put_into_ample(&task);
            if sleep.is_none() {
                scene.feed(&task);
            }
        }
        let without = without.text();
        assert!(dice == same, "invariant: both ways of {} make the same draws", family.name);
        dice = dice.again();
        let measure = scene.measure.unwrap_or(Measure::Delays { sleep });
        let text = scene.text();
        let delays = (worst_delay(&text, &task, measure)?, worst_delay(&without, &task, measure)?);
        let is_shown = if causes == [NOTHING] { delays == (Ns::ZERO, Ns::ZERO) } else { is_truth(delays) };
        if is_shown {
            return Ok(Planted { text, without, task, causes, levers, who, measure, delays, discarded });
        }
    }
    let message = format!("{} draws of the family {} show no truth for seed {seed}", DRAWS, family.name);
    Err(Error::one("exam", message, "Mend the family: what it plants must be what delays the task."))
}

/// Whether a delay with a cause and one without show that it is the cause.
pub(crate) fn is_truth((with, without): (Ns, Ns)) -> bool {
    with >= LEAST && without.0.saturating_mul(2) <= with.0
}

/// The families of the second exam: scenes as people meet them.
pub fn second_families() -> impl Iterator<Item = &'static Family> {
    crate::second::FAMILIES.iter().flat_map(|rows| rows.iter())
}

/// The families of the first exam.
pub fn families() -> impl Iterator<Item = &'static Family> {
    let all = [
        quota::FAMILIES,
        weight::FAMILIES,
        affinity::FAMILIES,
        other_classes::FAMILIES,
        fair::FAMILIES,
        eevdf::FAMILIES,
        kernel_work::FAMILIES,
        machine::FAMILIES,
        locks::FAMILIES,
        waits::FAMILIES,
        balance::FAMILIES,
        later::FAMILIES,
    ];
    all.into_iter().flatten()
}
