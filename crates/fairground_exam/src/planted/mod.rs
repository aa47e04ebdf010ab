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

use crate::delay::worst_delay;
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
    plant: Plant,
}

/// Makes the scenario; without the cause if the second argument is false. Both ways make the same draws.
type Plant = fn(&mut Dice, bool) -> Plot;

/// What a family makes.
pub(crate) struct Plot {
    scene: Scene,
    task: String,
    causes: Vec<&'static str>,
    levers: Vec<&'static str>,
    who: Vec<String>,
    sleep: Option<Ns>,
}

/// A planted delay with its truth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planted {
    /// The scenario.
    pub text: String,
    /// The same without the cause.
    pub without: String,
    /// The task that is late.
    pub task: String,
    /// Causes that are right, by their short names.
    pub causes: Vec<&'static str>,
    /// Kinds of remedy that are right; `none` where none need help.
    pub levers: Vec<&'static str>,
    /// Who ran, used up the pool or held the lock; nobody if there is none.
    pub who: Vec<String>,
    /// How long each sleep of the task is meant to last, where a late timer is part of the delay.
    pub sleep: Option<Ns>,
    /// The worst delay of the task, and that without the cause.
    pub delays: (Ns, Ns),
    /// How many draws before it showed no truth.
    pub discarded: u32,
}

/// So many draws in a row may show no truth.
const DRAWS: u32 = 50;
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
        let text = scene.text();
        let delays = (worst_delay(&text, &task, sleep)?, worst_delay(&without, &task, sleep)?);
        if is_truth(delays) {
            return Ok(Planted { text, without, task, causes, levers, who, sleep, delays, discarded });
        }
    }
    let message = format!("{} draws of the family {} show no truth for seed {seed}", DRAWS, family.name);
    Err(Error::one("exam", message, "Mend the family: what it plants must be what delays the task."))
}

/// Whether a delay with a cause and one without show that it is the cause.
pub(crate) fn is_truth((with, without): (Ns, Ns)) -> bool {
    with >= LEAST && without.0.saturating_mul(2) <= with.0
}

/// All families.
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
