//! What delays the task is set in mid-run; until then all is well.

use super::stage::{ALL, CFS, GROUP_THROTTLE, TASK_THROTTLE, busy, later, long_slices, path, quiet};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::scene::Scene;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "later-quota", sentence: "a group gets a quota in mid-run", plant: quota },
    Family { name: "later-nice", sentence: "another task gets a lower nice value in mid-run", plant: nice },
    Family { name: "later-policy", sentence: "another task becomes a real-time task in mid-run", plant: policy },
    Family { name: "later-affinity", sentence: "the task is bound to a busy CPU in mid-run", plant: affinity },
    Family { name: "later-group", sentence: "the task is moved into a group that is throttled", plant: group },
];

/// Makes a change in mid-run, if it is planted.
fn change(dice: &mut Dice, scene: &mut Scene, planted: bool, change: String) {
    let at = dice.us(80_000, 200_000);
    if planted {
        scene.changes.push((at, change));
    }
}

fn quota(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, &[GROUP_THROTTLE, TASK_THROTTLE].concat(), 8);
    let (worker, limited, depth) = (dice.name(), path(dice, 1), dice.between(0, 2));
    let own = format!("{limited}{}", path(dice, depth));
    scene.group(&limited);
    scene.group(&own);
    let (run, sleep, period) = (dice.us(2_000, 9_000), dice.us(100, 900), dice.one_of(&[50_000, 100_000]));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", group = \"{own}\""));
    let quota = period * dice.between(10, 40) / 100;
    change(dice, &mut scene, planted, format!("cpu.max {limited} {quota} {period}"));
    scene.duration_ms = 700;
    Plot { scene, task: worker.clone(), causes: vec!["throttled"], levers: vec!["cpu.max"], who: vec![worker], sleep: None }
}

fn nice(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    let (worker, other, start, nice) = (dice.name(), dice.name(), later(dice), dice.between(14, 20));
    let (run, sleep) = (dice.us(2_000, 5_000), dice.us(50, 200));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    scene.task(&other, format!("hog = true, cpus = \"{cpu}\", {start}"));
    change(dice, &mut scene, planted, format!("nice {other} -{nice}"));
    scene.duration_ms = 1500;
    Plot { scene, task: worker, causes: vec!["heavier-task"], levers: vec!["nice"], who: vec![other], sleep: None }
}

fn policy(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    let (worker, other, start, priority) = (dice.name(), dice.name(), later(dice), dice.between(1, 99));
    let (run, sleep) = (dice.us(50, 500), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    let (run, sleep) = (dice.us(30_000, 60_000), dice.us(20_000, 50_000));
    scene.task(&other, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", {start}"));
    change(dice, &mut scene, planted, format!("policy {other} fifo:{priority}"));
    scene.duration_ms = 700;
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who: vec![other], sleep: None }
}

fn affinity(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, CFS, 1);
    scene.cpus = dice.between(2, 16);
    long_slices(&mut scene, 10);
    scene.tunable("sched_wakeup_granularity_ns", "20ms");
    let (worker, hog, start) = (dice.name(), dice.name(), later(dice));
    let (run, sleep) = (dice.us(100, 500), dice.us(12_000, 30_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"]"));
    scene.task(&hog, format!("hog = true, cpus = \"0\", {start}"));
    change(dice, &mut scene, planted, format!("affinity {worker} 0"));
    Plot { scene, task: worker, causes: vec!["affinity"], levers: vec!["affinity"], who: vec![hog], sleep: None }
}

fn group(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, GROUP_THROTTLE, 8);
    let (worker, other, start, limited, own) = (dice.name(), dice.name(), later(dice), path(dice, 1), path(dice, 1));
    let quota = dice.between(10, 40);
    scene.file(&limited, format!("\"cpu.max\" = \"{quota}000 100000\""));
    scene.group(&own);
    let (run, sleep) = (dice.us(100, 500), dice.us(2_000, 6_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", group = \"{own}\""));
    scene.task(&other, format!("hog = true, nice = 5, cpus = \"{cpu}\", group = \"{limited}\", {start}"));
    change(dice, &mut scene, planted, format!("cgroup.procs {limited} {worker}"));
    scene.duration_ms = 700;
    Plot {
        scene,
        task: worker,
        causes: vec!["throttled"],
        levers: vec!["cpu.max", "cgroup.procs"],
        who: vec![other],
        sleep: None,
    }
}
