//! Waits that begin or end otherwise than most: many in the queue, no end in the run, a fork, in mid-run.

use super::stage::{ALL, CFS, EEVDF, busy, later, long_slices};
use super::{Family, Plot};
use crate::dice::Dice;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "queue-length",
        sentence: "many equal tasks share the CPU (CFS)",
        plant: |dice, planted| queue(dice, CFS, planted),
    },
    Family { name: "queue-length-eevdf", sentence: "the same (EEVDF)", plant: |dice, planted| queue(dice, EEVDF, planted) },
    Family { name: "unfinished", sentence: "a real-time task runs to the end of the run", plant: unfinished },
    Family { name: "forked-child", sentence: "a child is forked while a real-time task runs", plant: forked },
    Family { name: "stall", sentence: "a real-time task preempts the task in mid-run", plant: stall },
];

fn queue(dice: &mut Dice, kernels: &[&str], planted: bool) -> Plot {
    let is_cfs = kernels == CFS;
    let (mut scene, cpu) = busy(dice, kernels, 2);
    long_slices(&mut scene, 4);
    // In EEVDF a task that sleeps for an instant would be late because it had run more than its share.
    let (run, sleep) = match is_cfs {
        true => (dice.us(2_000, 5_000), dice.us(50, 200)),
        false => (dice.us(100, 300), dice.us(20_000, 40_000)),
    };
    let worker = dice.name();
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    let mut who = Vec::new();
    let many = dice.between(6, 14);
    for _ in 0..many {
        let (name, start) = (dice.name(), later(dice));
        who.push((name, start));
    }
    let shown = if planted { who.len() } else { 1 };
    who.iter().take(shown).for_each(|(name, start)| scene.task(name, format!("hog = true, cpus = \"{cpu}\", {start}")));
    // EEVDF names the rule by which one of equals goes first.
    let causes = if is_cfs { vec!["queue-length"] } else { vec!["queue-length", "earlier-deadline", "protected"] };
    let who = who.into_iter().map(|row| row.0).collect();
    Plot { scene, task: worker, causes, levers: vec!["nice", "policy"], who, sleep: None }
}

fn unfinished(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 4);
    let (worker, run, sleep) = (dice.name(), dice.us(50, 300), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], cpus = \"{cpu}\""));
    let (other, priority, start) = (dice.name(), dice.between(1, 99), dice.us(150_000, 350_000));
    let policy = if planted { format!(", policy = \"fifo:{priority}\"") } else { String::new() };
    scene.task(&other, format!("hog = true, cpus = \"{cpu}\", start = \"{start}\"{policy}"));
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who: vec![other], sleep: None }
}

fn forked(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = busy(dice, ALL, 1);
    scene.cpus = dice.between(2, 4);
    for cpu in 1..scene.cpus {
        let (name, start) = (dice.name(), later(dice));
        scene.task(&name, format!("hog = true, nice = 10, cpus = \"{cpu}\", {start}"));
    }
    let (parent, child, other) = (dice.name(), dice.name(), dice.name());
    let (at, before, run) = (dice.between(30_000, 90_000), dice.between(1_000, 5_000), dice.us(15_000, 40_000));
    let (work, priority) = (dice.us(100, 900), dice.between(1, 99));
    scene.task(&parent, format!("program = [\"sleep {at}us\", \"fork {child}\", \"wait\", \"exit\"], cpus = \"1\""));
    scene.task(&child, format!("program = [\"run {work}\", \"exit\"], forked = true, cpus = \"0\""));
    let policy = if planted { format!("policy = \"fifo:{priority}\"") } else { "policy = \"idle\"".into() };
    let start = at - before;
    scene.task(&other, format!("program = [\"run {run}\", \"exit\"], cpus = \"0\", start = \"{start}us\", {policy}"));
    Plot { scene, task: child, causes: vec!["real-time"], levers: vec!["policy", "affinity"], who: vec![other], sleep: None }
}

fn stall(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 4);
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (run, sleep) = (dice.us(150_000, 300_000), dice.us(100, 1_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    let (run, pause, start) = (dice.us(30_000, 60_000), dice.us(30_000, 60_000), later(dice));
    let policy = if planted { format!(", policy = \"fifo:{priority}\"") } else { String::new() };
    scene.task(&other, format!("do = [\"sleep {pause}\", \"run {run}\"], cpus = \"{cpu}\", {start}{policy}"));
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who: vec![other], sleep: None }
}
