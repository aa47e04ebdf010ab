//! No delay, two causes at once, large effects that harm nobody, and two tasks of one name.

use super::{ALL, cpus, path, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, NOTHING, Plot};
use crate::remedy::NONE;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "never-late", sentence: "the task is never late", plant: never },
    Family { name: "two-causes", sentence: "half of the delay is a quota, half a real-time task", plant: two },
    Family {
        name: "decoys",
        sentence: "others are throttled and locked out for long; the task waits for a real-time one",
        plant: decoys,
    },
    Family { name: "twins", sentence: "two tasks of one name, one of them is throttled", plant: twins },
];

fn never(dice: &mut Dice, _: bool) -> Plot {
    let count = cpus(dice, 3, 8);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    scene.machine.push("costs = \"zero\"".into());
    let (worker, hog, group) = (dice.name(), dice.name(), path(dice, 1));
    let (run, sleep) = (dice.us(300, 2_000), dice.us(2_000, 5_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"0\", timer_slack = \"0ns\""));
    scene.file(&group, "\"cpu.max\" = \"20000 100000\"");
    scene.task(&hog, format!("hog = true, cpus = \"2\", group = \"{group}\", count = 2, start = \"1ms\""));
    plot(scene, &worker, &[NOTHING], &[NONE], &[])
}

/// The quota of the task ends, and before it is given anew, a real-time task begins that runs for as long.
fn two(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 1);
    scene.tasks.clear();
    let (worker, other, group) = (dice.name(), dice.name(), path(dice, 1));
    let (quota, priority) = (dice.between(45, 60), dice.between(1, 99));
    scene.group(&group);
    if planted {
        scene.file(&group, format!("\"cpu.max\" = \"{quota}000 100000\""));
    }
    scene.preemption = None;
    let (run, length) = (dice.us(900, 3_000), 100 - quota);
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 20us\"], group = \"{group}\""));
    let policy = if planted { format!("fifo:{priority}") } else { "idle".into() };
    let does = format!("program = [\"now r0\", \"timer r0 100ms absolute\", \"run {length}ms\", \"jump 1\"]");
    scene.task(&other, format!("{does}, policy = \"{policy}\""));
    plot(scene, &worker.clone(), &["throttled", "real-time"], &["cpu.max", "policy"], &[worker, other])
}

fn decoys(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 6);
    let (worker, real, hog, holder, waiter) = (dice.name(), dice.name(), dice.name(), dice.name(), dice.name());
    let (lock, group, priority) = (dice.name(), path(dice, 2), dice.between(1, 99));
    scene.locks.push((lock.clone(), "futex".into()));
    scene.file(&group, "\"cpu.max\" = \"5000 100000\"");
    let (run, pause) = (dice.us(5_000, 9_000), dice.us(30_000, 50_000));
    scene.task(&worker, "do = [\"run 200us\", \"sleep 3ms\"], cpus = \"0\"");
    scene.task(&hog, format!("hog = true, cpus = \"1-2\", count = 2, group = \"{group}\""));
    scene.task(&holder, format!("do = [\"lock {lock}\", \"sleep 80ms\", \"unlock {lock}\", \"sleep 5ms\"], cpus = \"3\""));
    scene.task(&waiter, format!("do = [\"lock {lock}\", \"run 50us\", \"unlock {lock}\", \"sleep 5ms\"], cpus = \"4\""));
    let policy = if planted { format!("fifo:{priority}") } else { "idle".into() };
    scene.task(&real, format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"0\", policy = \"{policy}\", start = \"2ms\""));
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &[real])
}

fn twins(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 6);
    let mut scene = stage(dice, ALL, count);
    let (worker, group, quota) = (dice.name(), path(dice, 1), dice.between(15, 35));
    scene.group(&group);
    if planted {
        scene.file(&group, format!("\"cpu.max\" = \"{quota}000 100000\""));
    }
    let (run, pause) = (dice.us(1_000, 4_000), dice.us(500, 2_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"]"));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"], group = \"{group}\""));
    plot(scene, &worker.clone(), &["throttled"], &["cpu.max"], &[worker])
}
