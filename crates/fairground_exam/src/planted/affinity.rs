//! A CPU is idle, and somebody may not use it.

use super::stage::{CFS, later, quiet};
use super::{Family, Plot};
use crate::dice::Dice;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "affinity", sentence: "the task may not use the idle CPU", plant: own },
    Family { name: "affinity-other", sentence: "who ran is bound to the only CPU of the task", plant: other },
];

fn own(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, CFS, 1);
    scene.cpus = dice.between(2, 16);
    scene.tunable("sched_wakeup_granularity_ns", "20ms");
    let (worker, hog) = (dice.name(), dice.name());
    let start = later(dice);
    scene.task(&hog, format!("hog = true, cpus = \"0\", {start}"));
    let (run, sleep) = (dice.us(100, 500), dice.us(12_000, 30_000));
    let cpus = if planted { ", cpus = \"0\"" } else { "" };
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"]{cpus}"));
    Plot { scene, task: worker, causes: vec!["affinity"], levers: vec!["affinity"], who: vec![hog], sleep: None }
}

fn other(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, CFS, 1);
    scene.cpus = dice.between(2, 16);
    scene.tunable("sched_wakeup_granularity_ns", "20ms");
    let (worker, hog) = (dice.name(), dice.name());
    let (start, cpus) = (later(dice), if planted { ", cpus = \"0\"" } else { "" });
    scene.task(&hog, format!("hog = true, {start}{cpus}"));
    let (run, sleep) = (dice.us(100, 500), dice.us(12_000, 30_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], cpus = \"0\""));
    Plot { scene, task: worker, causes: vec!["affinity"], levers: vec!["affinity"], who: vec![hog], sleep: None }
}
