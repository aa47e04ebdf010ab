//! CPUs that are not equal: little cores, clamps of utilization. And programs that are loaded.

use super::{ALL, cpus, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use crate::remedy::NONE;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "little-cpu",
        sentence: "a real-time task is bound to a little CPU, where its work takes long",
        plant: little,
    },
    Family { name: "little-holder", sentence: "the holder of a lock computes on a little CPU", plant: little_holder },
    Family {
        name: "clamped-holder",
        sentence: "the holder of a lock has a low uclamp_max, so that its CPU is slow",
        plant: clamped,
    },
    Family { name: "exec", sentence: "each round loads a program, and a real-time task runs on the CPU", plant: exec },
];

/// Two big cores and two little ones.
fn big_and_little(dice: &mut Dice) -> String {
    let little = dice.between(180, 300);
    format!("cores = 4\nthreads = 1\ncapacity = [1024, 1024, {little}, {little}]")
}

/// A steady task for whom the CPU has room, and a real-time one whose work fills a little CPU.
fn little(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 4);
    scene.tasks.clear();
    scene.machine.push(big_and_little(dice));
    let (worker, other, priority, cpu) = (dice.name(), dice.name(), dice.between(1, 99), if planted { 2 } else { 0 });
    let (run, pause, work, sleep) = (dice.us(2_000, 4_000), dice.us(30_000, 60_000), dice.us(20, 90), dice.us(3_000, 5_000));
    scene.task(&worker, format!("do = [\"run {work}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    scene.task(
        &other,
        format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"{cpu}\", policy = \"fifo:{priority}\", start = \"2ms\""),
    );
    let hog = dice.name();
    scene.task(&hog, format!("hog = true, count = 3, cpus = \"{}\"", if planted { "0-1,3" } else { "1-3" }));
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &[other])
}

fn little_holder(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 4);
    scene.tasks.clear();
    scene.machine.push(big_and_little(dice));
    let (worker, holder, lock, cpu) = (dice.name(), dice.name(), dice.name(), if planted { 3 } else { 1 });
    let (held, pause, work, sleep) = (dice.us(2_000, 5_000), dice.us(10_000, 30_000), dice.us(100, 300), dice.us(2_000, 5_000));
    scene.locks.push((lock.clone(), "futex".into()));
    let section = |length: &str| format!("\"lock {lock}\", \"run {length}\", \"unlock {lock}\"");
    scene.task(&worker, format!("do = [{}, \"sleep {sleep}\"], cpus = \"0\"", section(&work)));
    scene.task(&holder, format!("do = [{}, \"sleep {pause}\"], cpus = \"{cpu}\"", section(&held)));
    plot(scene, &worker, &["lock-held"], &[NONE, "affinity"], &[holder])
}

fn clamped(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 4);
    let mut scene = stage(dice, &["5.10", "5.19", "6.1", "6.6", "6.12", "6.18"], count);
    (scene.tasks, scene.shape) = (Vec::new(), 0);
    scene.machine.push("governor = \"schedutil\"".into());
    let policy = |cpu: u64| {
        format!(
            "[[machine.policy]]\ncpus = \"{cpu}\"\nkhz = [400000, 1200000, 2800000]\nmillivolt = [700, 800, 1000]\n\
             dynamic_power_coefficient = 200\ntransition_latency = \"50us\"\nfast_switch = true"
        )
    };
    scene.machine.extend((0..count).map(policy));
    let (worker, holder, lock) = (dice.name(), dice.name(), dice.name());
    let (held, work, sleep) = (dice.us(4_000, 9_000), dice.us(100, 300), dice.us(2_000, 5_000));
    let clamp = format!(", uclamp_{} = {}", if planted { "max" } else { "min" }, if planted { 50 } else { 1024 });
    scene.locks.push((lock.clone(), "futex".into()));
    let section = |length: &str| format!("\"lock {lock}\", \"run {length}\", \"unlock {lock}\"");
    scene.task(&worker, format!("do = [{}, \"sleep {sleep}\"], cpus = \"0\"", section(&work)));
    scene.task(&holder, format!("do = [{}, \"sleep 20ms\"], cpus = \"1\"{clamp}", section(&held)));
    plot(scene, &worker, &["lock-held"], &[NONE, "governor", "uclamp_max"], &[holder])
}

fn exec(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 3);
    let mut scene = stage(dice, ALL, count);
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (run, pause, work, sleep) = (dice.us(6_000, 15_000), dice.us(20_000, 60_000), dice.us(100, 400), dice.us(1_000, 4_000));
    scene.task(&worker, format!("do = [\"exec\", \"run {work}\", \"sleep {sleep}\"], cpus = \"0\""));
    let policy = if planted { format!("policy = \"fifo:{priority}\"") } else { "policy = \"idle\"".to_string() };
    scene.task(&other, format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"0\", {policy}, start = \"1ms\""));
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &[other])
}
