//! The second exam: late tasks as people meet them. It was written without a look at how `explain` works, and its scenes
//! are built differently from those of the first: chains of tasks that wake one another, services with requests, rt-app
//! files, machines of other shapes.

mod again;
mod chains;
mod classes;
mod fair;
mod locks;
mod machine;
mod places;
mod quota;
mod services;
mod special;
mod unequal;

use crate::dice::Dice;
use crate::planted::{Family, Plot};
use crate::scene::Scene;
use fairground_stdx::Ns;

/// All of them.
pub(crate) const FAMILIES: &[&[Family]] = &[
    chains::FAMILIES,
    services::FAMILIES,
    quota::FAMILIES,
    classes::FAMILIES,
    machine::FAMILIES,
    places::FAMILIES,
    fair::FAMILIES,
    locks::FAMILIES,
    special::FAMILIES,
    again::FAMILIES,
    unequal::FAMILIES,
];

/// Kernels with CFS.
const CFS: &[&str] = &["4.12", "4.20", "5.1", "5.10", "5.19", "6.1"];
/// Kernels with EEVDF.
const EEVDF: &[&str] = &["6.6", "6.12", "6.14", "6.18", "7.2"];
/// All of them.
const ALL: &[&str] = &["4.12", "4.20", "5.1", "5.10", "5.19", "6.1", "6.6", "6.12", "6.14", "6.18", "7.2"];

/// A machine of so many CPUs with one of these kernels, its ticks and its preemption model, and some light tasks on all CPUs.
fn stage(dice: &mut Dice, kernels: &[&str], cpus: u64) -> Scene {
    let mut scene = Scene {
        seed: dice.between(1, 1_000_000),
        duration_ms: 600,
        cpus,
        shape: dice.between(0, 3),
        hz: dice.one_of(&[100, 250, 300, 1000]),
        kernel: dice.one_of(kernels).to_string(),
        ..Scene::default()
    };
    if dice.chance(40) {
        scene.preemption = Some(dice.one_of(&["none", "voluntary", "full"]));
    }
    for _ in 0..dice.between(0, 3) {
        let (name, run, period) = (dice.name(), dice.us(20, 150), dice.between(8, 40));
        scene.task(&name, format!("run = \"{run}\", period = \"{period}ms\""));
    }
    scene
}

/// A number of CPUs from `low` to `high`.
fn cpus(dice: &mut Dice, low: u64, high: u64) -> u64 {
    dice.between(low, high)
}

/// The path of a group of so many levels.
fn path(dice: &mut Dice, depth: u64) -> String {
    (0..depth).map(|_| format!("/{}", dice.name())).collect()
}

/// What is asked, with its answer.
fn plot(scene: Scene, task: &str, causes: &[&'static str], levers: &[&'static str], who: &[String]) -> Plot {
    Plot { scene, task: task.to_string(), causes: causes.to_vec(), levers: levers.to_vec(), who: who.to_vec(), sleep: None }
}

/// The same for a task whose sleeps last so many us.
fn plot_of_sleeper(plot: Plot, sleep_us: u64) -> Plot {
    Plot { sleep: Some(Ns::from_us(sleep_us)), ..plot }
}
