//! Weights, sessions, slices, and what another kernel would do.

use super::{ALL, CFS, EEVDF, cpus, path, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, Plot};

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "light-ancestor", sentence: "a group three levels up weighs next to nothing", plant: ancestor },
    Family { name: "autogroup", sentence: "the task shares an autogroup with a large build", plant: autogroup },
    Family { name: "long-requests", sentence: "the requests of EEVDF are long", plant: requests },
    Family { name: "crowd", sentence: "a crowd of messages on the CPUs of the task", plant: crowd },
    Family { name: "own-batch", sentence: "the task makes itself SCHED_BATCH", plant: batch },
    Family { name: "long-granularity", sentence: "slices of CFS are long, and a crowd computes", plant: granularity },
];

fn ancestor(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 1);
    scene.duration_ms = 2_000;
    let (top, middle, low) = (path(dice, 1), path(dice, 1), path(dice, 1));
    let (own, beside) = (format!("{top}{middle}{low}"), path(dice, 2));
    let (worker, hog, weight) = (dice.name(), dice.name(), dice.between(1, 3));
    if planted {
        scene.file(&top, format!("\"cpu.weight\" = {weight}"));
    }
    scene.group(&own);
    scene.file(&own, "\"cpu.weight\" = 1000");
    scene.group(&beside);
    let run = dice.us(2_000, 5_000);
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 200us\"], group = \"{own}\""));
    scene.task(&hog, format!("hog = true, group = \"{beside}\", start = \"1ms\""));
    plot(scene, &worker, &["heavier-task"], &["cpu.weight"], &[hog])
}

/// The game shares its autogroup with the build; without the cause it has a session of its own.
fn autogroup(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 1);
    scene.tasks.clear();
    scene.duration_ms = 1_500;
    scene.tunables.push(("sched_autogroup_enabled".into(), "1".into()));
    let (worker, cc, player, many) = (dice.name(), dice.name(), dice.name(), dice.between(8, 16));
    let run = dice.us(3_000, 6_000);
    let session = if planted { "make" } else { "desktop" };
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 300us\"], session = \"{session}\""));
    scene.task(&cc, format!("hog = true, count = {many}, session = \"make\", start = \"1ms\""));
    scene.task(&player, "do = [\"run 2ms\", \"sleep 8ms\"], session = \"music\", start = \"1ms\"");
    let who: Vec<String> = (0..many).map(|row| format!("{cc}-{row}")).chain([player]).collect();
    // With coarse ticks each turn is longer: finer ones halve the delay too.
    let causes = ["queue-length", "heavier-task", "earlier-deadline", "protected", "not-eligible", "tick"];
    plot(scene, &worker, &causes, &["nice", "policy", "sched_autogroup_enabled", "session"], &who)
}

fn requests(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, EEVDF, 1);
    scene.tasks.clear();
    scene.hz = 1000;
    let slice = dice.between(15, 40);
    scene.tunable("sched_base_slice_ns", format!("{}ms", if planted { slice } else { 1 }));
    let (worker, hog, sleep) = (dice.name(), dice.name(), dice.us(20_000, 45_000));
    scene.task(&worker, format!("do = [\"run 200us\", \"sleep {sleep}\"]"));
    scene.task(&hog, "hog = true, start = \"1ms\"");
    let levers = ["NO_RUN_TO_PARITY", "sched_base_slice_ns", "slice", "kernel"];
    plot(scene, &worker, &["protected", "earlier-deadline"], &levers, &[hog])
}

fn crowd(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 2);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    scene.duration_ms = 400;
    let (worker, others, many) = (dice.name(), dice.name(), count * dice.between(8, 14));
    let (run, pause) = (dice.us(1_500, 3_000), dice.us(300, 900));
    let most = if planted { many } else { 2 };
    scene.task(&worker, format!("do = [\"run 2ms\", \"sleep {pause}\"]"));
    scene.task(&others, format!("do = [\"run {run}\", \"sleep 50us\"], count = {most}, start = \"1ms\""));
    let who: Vec<String> = (0..many).map(|row| format!("{others}-{row}")).collect();
    let causes = ["queue-length", "earlier-deadline", "protected", "not-eligible", "wakeup-granularity", "tick"];
    plot(scene, &worker, &causes, &["nice", "policy", "cpus", "slice"], &who)
}

fn batch(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, CFS, 1);
    scene.hz = 1000;
    scene.tunable("sched_latency_ns", "40ms");
    scene.tunable("sched_min_granularity_ns", "20ms");
    let (worker, hog, sleep) = (dice.name(), dice.name(), dice.us(25_000, 50_000));
    let policy = if planted { "batch" } else { "other" };
    scene.task(&worker, format!("program = [\"policy {policy}\", \"sleep {sleep}\", \"run 300us\", \"jump 1\"]"));
    scene.task(&hog, "hog = true, start = \"2ms\"");
    plot(scene, &worker, &["batch-policy"], &["policy"], &[hog])
}

fn granularity(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, CFS, 1);
    scene.tasks.clear();
    scene.hz = 1000;
    let (worker, hog, many, slice) = (dice.name(), dice.name(), dice.between(3, 6), dice.between(15, 30));
    let (latency, least) = if planted { (slice * 4, slice) } else { (4, 1) };
    scene.tunable("sched_latency_ns", format!("{latency}ms"));
    scene.tunable("sched_min_granularity_ns", format!("{least}ms"));
    let run = dice.us(1_500, 3_000);
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 100us\"]"));
    scene.task(&hog, format!("hog = true, count = {many}, start = \"1ms\""));
    let who: Vec<String> = (0..many).map(|row| format!("{hog}-{row}")).collect();
    let levers = ["sched_min_granularity_ns", "sched_latency_ns", "nice", "policy"];
    plot(scene, &worker, &["queue-length", "wakeup-granularity"], &levers, &who)
}
