//! The task waits on one CPU, and others would be free.

use super::{ALL, CFS, cpus, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use crate::remedy::NONE;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "cpuset", sentence: "a task may use two of many CPUs, and others are bound there", plant: cpuset },
    Family { name: "two-nodes", sentence: "the node of the task is full, the other one is idle", plant: nodes },
    Family { name: "fork-storm", sentence: "a task forks many children at once, on few CPUs", plant: storm },
    Family { name: "both-bound", sentence: "the task is bound to one CPU with a hog that is not", plant: both },
];

fn cpuset(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 4, 16);
    let mut scene = stage(dice, ALL, count);
    let (worker, hog) = (dice.name(), dice.name());
    let (run, pause, tasks) = (dice.us(3_000, 8_000), dice.us(300, 2_000), dice.between(4, 8));
    let bound = if planted { ", cpus = \"0-1\"" } else { "" };
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"]{bound}"));
    scene.task(&hog, format!("hog = true, cpus = \"0-1\", count = {tasks}, start = \"1ms\""));
    let who: Vec<String> = (0..tasks).map(|row| format!("{hog}-{row}")).collect();
    plot(scene, &worker, &["affinity"], &["affinity"], &who)
}

fn nodes(dice: &mut Dice, planted: bool) -> Plot {
    let half = dice.between(2, 4);
    let mut scene = stage(dice, &["4.20", "5.1", "5.10", "5.19", "6.1"], 2 * half);
    scene.hz = 100;
    scene.tasks.clear();
    scene.tunable("sched_wakeup_granularity_ns", "25ms");
    let sockets = if planted { 2 } else { 1 };
    scene.machine.push(format!("cores = {}\nsockets = {sockets}\nthreads = 1", 2 * half / sockets));
    let (worker, hog, run, sleep) = (dice.name(), dice.name(), dice.us(50, 200), dice.us(20_000, 40_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], first_cpu = 0"));
    for cpu in 0..half {
        scene.task(&format!("{hog}{cpu}"), format!("hog = true, cpus = \"{cpu}\", start = \"500us\""));
    }
    let who: Vec<String> = (0..half).map(|cpu| format!("{hog}{cpu}")).collect();
    plot(scene, &worker, &["other-cache"], &["affinity"], &who)
}

fn storm(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 2);
    let mut scene = stage(dice, CFS, count);
    scene.tasks.clear();
    scene.hz = 1000;
    let (parent, child, other) = (dice.name(), dice.name(), dice.name());
    let (many, run) = (dice.between(16, 24), dice.us(8_000, 20_000));
    let forks: Vec<String> = (0..if planted { many } else { 0 }).map(|row| format!("\"fork {other}-{row}\"")).collect();
    let steps = forks.into_iter().chain([format!("\"fork {child}\""), "\"exit\"".to_string()]).collect::<Vec<_>>().join(", ");
    scene.task(&parent, format!("program = [\"sleep 20ms\", {steps}]"));
    scene.task(&child, "program = [\"run 300us\", \"exit\"], forked = true");
    if planted {
        for row in 0..many {
            scene.task(&format!("{other}-{row}"), format!("program = [\"run {run}\", \"exit\"], forked = true"));
        }
    }
    let who: Vec<String> = (0..many).map(|row| format!("{other}-{row}")).collect();
    plot(scene, &child, &["queue-length"], &[NONE, "nice", "policy", "cpus"], &who)
}

fn both(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 4);
    let mut scene = stage(dice, ALL, count);
    let (worker, hogs) = (dice.name(), dice.name());
    let (run, pause) = (dice.us(6_000, 12_000), dice.us(100, 800));
    let tasks = count + 2;
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"0\""));
    let bound = if planted { ", cpus = \"0\"" } else { ", cpus = \"1\"" };
    scene.task(&hogs, format!("hog = true, count = {tasks}, start = \"1ms\"{bound}"));
    let who: Vec<String> = (0..tasks).map(|row| format!("{hogs}-{row}")).collect();
    plot(scene, &worker, &["affinity"], &["affinity"], &who)
}
