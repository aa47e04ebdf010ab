//! Somebody on the same CPU weighs more.

use super::stage::{ALL, busy, later, path};
use super::{Family, Plot};
use crate::dice::Dice;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "heavier-task", sentence: "another task has a lower nice value", plant: task },
    Family { name: "heavier-group", sentence: "another group has a higher cpu.weight", plant: group },
    Family { name: "idle-group", sentence: "the group of the task has cpu.idle", plant: idle_group },
    Family { name: "heavier-stall", sentence: "a task of a lower nice value preempts it in mid-run", plant: stall },
];

fn task(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    let (worker, other, nice) = (dice.name(), dice.name(), dice.between(12, 20));
    let nice = if planted { format!("-{nice}") } else { "0".into() };
    let start = later(dice);
    scene.task(&other, format!("hog = true, nice = {nice}, cpus = \"{cpu}\", {start}"));
    let (run, sleep) = (dice.us(2_000, 5_000), dice.us(50, 200));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    scene.duration_ms = 1500;
    Plot { scene, task: worker, causes: vec!["heavier-task"], levers: vec!["nice"], who: vec![other], sleep: None }
}

fn group(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    let (worker, other, weight) = (dice.name(), dice.name(), dice.between(2_000, 10_000));
    let (top, own, below) = (path(dice, 1), dice.between(1, 3), dice.between(0, 2));
    let (own, others) = (path(dice, own), format!("{top}{}", path(dice, below)));
    scene.file(&top, format!("\"cpu.weight\" = {}", if planted { weight } else { 100 }));
    scene.group(&others);
    scene.group(&own);
    let start = later(dice);
    scene.task(&other, format!("hog = true, cpus = \"{cpu}\", group = \"{others}\", {start}"));
    let (run, sleep) = (dice.us(2_000, 5_000), dice.us(50, 200));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", group = \"{own}\""));
    scene.duration_ms = 1500;
    Plot { scene, task: worker, causes: vec!["heavier-task"], levers: vec!["cpu.weight"], who: vec![other], sleep: None }
}

/// An idle group weighs next to nothing.
fn idle_group(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, &["5.19", "6.1", "6.6", "6.12", "6.14", "6.18", "7.2"], 8);
    let (worker, other, depth) = (dice.name(), dice.name(), dice.between(0, 2));
    let (own, below, others) = (path(dice, 1), path(dice, depth), path(dice, 1));
    let below = format!("{own}{below}");
    scene.file(&own, format!("\"cpu.idle\" = {}", u64::from(planted)));
    scene.group(&below);
    scene.group(&others);
    let (start, run, sleep) = (later(dice), dice.us(2_000, 5_000), dice.us(50, 200));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", group = \"{below}\""));
    scene.task(&other, format!("hog = true, cpus = \"{cpu}\", group = \"{others}\", {start}"));
    scene.duration_ms = 2000;
    Plot {
        scene,
        task: worker,
        causes: vec!["idle-policy", "heavier-task"],
        levers: vec!["cpu.idle"],
        who: vec![other],
        sleep: None,
    }
}

fn stall(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 4);
    let (worker, other, nice) = (dice.name(), dice.name(), dice.between(12, 20));
    let (run, sleep) = (dice.us(300_000, 600_000), dice.us(100, 1_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    let (run, pause, start) = (dice.us(60_000, 150_000), dice.us(60_000, 150_000), later(dice));
    let nice = if planted { format!("-{nice}") } else { "0".into() };
    scene.task(&other, format!("do = [\"sleep {pause}\", \"run {run}\"], nice = {nice}, cpus = \"{cpu}\", {start}"));
    scene.duration_ms = 1000;
    Plot { scene, task: worker, causes: vec!["heavier-task"], levers: vec!["nice"], who: vec![other], sleep: None }
}
