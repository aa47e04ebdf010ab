//! Other scheduling classes.

use super::{ALL, cpus, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, Plot};

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "fifo-relay", sentence: "real-time tasks run one after the other", plant: relay },
    Family { name: "fifo-for-ever", sentence: "a real-time task never sleeps; fair ones get 5 % of the time", plant: for_ever },
    Family { name: "rtapp-fifo", sentence: "an rt-app file has a thread of SCHED_FIFO", plant: rtapp },
    Family { name: "deadline-crowd", sentence: "deadline tasks fill most of the CPUs", plant: deadline },
    Family { name: "priority-raised", sentence: "a task makes itself a real-time one and computes", plant: raised },
];

fn relay(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 4);
    let mut scene = stage(dice, ALL, count);
    let (worker, length) = (dice.name(), dice.between(2, 4));
    let names: Vec<String> = (0..length).map(|_| dice.name()).collect();
    let (run, pause) = (dice.us(6_000, 12_000), dice.us(60_000, 90_000));
    scene.task(&worker, "do = [\"run 200us\", \"sleep 3ms\"], cpus = \"0\"");
    for (row, name) in names.iter().enumerate() {
        let policy = if planted { format!("fifo:{}", 50 - row) } else { "idle".into() };
        scene.task(name, format!("do = [\"sleep {pause}\", \"run {run}\"], cpus = \"0\", policy = \"{policy}\""));
    }
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &names)
}

fn for_ever(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 1);
    scene.duration_ms = 2_500;
    let (worker, hog, start, priority) = (dice.name(), dice.name(), dice.us(100_000, 300_000), dice.between(1, 99));
    scene.task(&worker, "do = [\"run 1ms\", \"sleep 5ms\"]");
    let policy = if planted { format!("rr:{priority}") } else { "batch".into() };
    scene.task(&hog, format!("hog = true, policy = \"{policy}\", start = \"{start}\""));
    plot(scene, &worker, &["real-time"], &["policy"], &[hog])
}

fn rtapp(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 4);
    let mut scene = stage(dice, ALL, count);
    let (worker, other) = (dice.name(), dice.name());
    let (run, rest, priority) = (dice.between(10_000, 30_000), dice.between(30_000, 60_000), dice.between(1, 90));
    let policy = match planted {
        true => format!("\"policy\" : \"SCHED_FIFO\", \"priority\" : {priority}"),
        false => "\"policy\" : \"SCHED_IDLE\"".into(),
    };
    scene.tables.push(format!(
        "[[workload]]\nrtapp_text = '''{{ \"tasks\" : {{\n\
         \"{worker}\" : {{ \"loop\" : -1, \"cpus\" : [ 0 ], \"run\" : 400, \"timer\" : {{ \"ref\" : \"t\", \"period\" : 5000 }} }},\n\
         \"{other}\" : {{ \"delay\" : 2000, \"loop\" : -1, {policy}, \"cpus\" : [ 0 ], \"run\" : {run}, \"sleep\" : {rest} }} }} }}'''"
    ));
    plot(scene, &format!("{worker}-0"), &["real-time"], &["policy", "affinity"], &[format!("{other}-1")])
}

fn deadline(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 3);
    let mut scene = stage(dice, ALL, count);
    let worker = dice.name();
    let names: Vec<String> = (0..count).map(|_| dice.name()).collect();
    let (run, period) = (dice.between(10, 20), dice.between(40, 60));
    scene.task(&worker, "do = [\"run 300us\", \"sleep 2ms\"]");
    for name in &names {
        let policy = match planted {
            true => format!("policy = \"deadline\", dl_runtime = \"{}ms\", dl_period = \"{period}ms\"", run + 1),
            false => "policy = \"idle\"".into(),
        };
        // At 0 all tasks would be born on top of each other, and that wait would be the worst, whatever is changed.
        scene.task(name, format!("start = \"20ms\", run = \"{run}ms\", period = \"{period}ms\", {policy}"));
    }
    plot(scene, &worker, &["deadline"], &["policy"], &names)
}

fn raised(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 6);
    let mut scene = stage(dice, ALL, count);
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (run, pause) = (dice.us(15_000, 40_000), dice.us(50_000, 90_000));
    let policy = if planted { format!("rr:{priority}") } else { "batch".into() };
    scene.task(&worker, "do = [\"run 500us\", \"sleep 4ms\"], cpus = \"0\"");
    scene.task(
        &other,
        format!("program = [\"sleep {pause}\", \"policy {policy}\", \"run {run}\", \"policy idle\", \"jump 0\"], cpus = \"0\""),
    );
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &[other])
}
