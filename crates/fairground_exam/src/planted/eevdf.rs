//! Rules that EEVDF has.

use super::stage::{EEVDF, SLICES, busy, later};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::scene::Scene;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "protected", sentence: "the running task runs to parity", plant: protected },
    Family { name: "shorter-slice", sentence: "others have shorter slices", plant: shorter_slice },
    Family { name: "base-slice", sentence: "the base slice is long", plant: base_slice },
    Family { name: "delayed-dequeue", sentence: "the task wakes before its delayed dequeue", plant: delayed_dequeue },
    Family { name: "negative-lag", sentence: "the task went to sleep with more than its share", plant: negative_lag },
];

/// Hogs with more fields on the CPU that counts, and a worker that wakes now and then.
fn hogs(dice: &mut Dice, kernels: &[&str], (low, high): (u64, u64), more: &str, own: &str) -> (Scene, String, Vec<String>) {
    let (mut scene, cpu) = busy(dice, kernels, 8);
    scene.hz = 1000;
    let (worker, run, sleep) = (dice.name(), dice.us(50, 300), dice.us(20_000, 40_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], cpus = \"{cpu}\"{own}"));
    let mut who = Vec::new();
    for _ in 0..dice.between(low, high) {
        let (hog, start) = (dice.name(), later(dice));
        scene.task(&hog, format!("hog = true, cpus = \"{cpu}\", {start}{more}"));
        who.push(hog);
    }
    (scene, worker, who)
}

fn protected(dice: &mut Dice, planted: bool) -> Plot {
    let slice = dice.between(25, 60);
    let (mut scene, task, who) = hogs(dice, &["6.12", "6.14"], (1, 3), &format!(", slice = \"{slice}ms\""), "");
    scene.features.push("NO_PREEMPT_SHORT".into());
    if !planted {
        scene.features.push("NO_RUN_TO_PARITY".into());
    }
    scene.tunable("sched_base_slice_ns", "3ms");
    let levers = vec!["NO_RUN_TO_PARITY", "PREEMPT_SHORT", "slice"];
    Plot { scene, task, causes: vec!["protected"], levers, who, sleep: None }
}

fn shorter_slice(dice: &mut Dice, planted: bool) -> Plot {
    let (short, long) = (dice.between(1, 2), dice.between(40, 90));
    let slice = if planted { long } else { short };
    let own = format!(", slice = \"{slice}ms\"");
    let (mut scene, task, who) = hogs(dice, SLICES, (4, 8), &format!(", slice = \"{short}ms\""), &own);
    scene.features.push("NO_RUN_TO_PARITY".into());
    Plot { scene, task, causes: vec!["shorter-slice"], levers: vec!["slice"], who, sleep: None }
}

fn base_slice(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, task, who) = hogs(dice, EEVDF, (2, 4), "", "");
    let slice = dice.between(10, 30);
    scene.features.push("NO_RUN_TO_PARITY".into());
    scene.tunable("sched_base_slice_ns", if planted { format!("{slice}ms") } else { "1ms".into() });
    Plot { scene, task, causes: vec!["earlier-deadline"], levers: vec!["sched_base_slice_ns", "slice"], who, sleep: None }
}

/// A worker that was not taken off its CPU ran more than its share, and sleeps for an instant.
fn overrun(dice: &mut Dice, kernels: &[&str]) -> (Scene, String, String) {
    let (mut scene, cpu) = busy(dice, kernels, 4);
    scene.hz = 1000;
    scene.preemption = Some("voluntary");
    scene.features.push("NO_RUN_TO_PARITY".into());
    scene.tunable("sched_base_slice_ns", "10ms");
    let (worker, hog, start) = (dice.name(), dice.name(), later(dice));
    let (long, pause, first) = (dice.us(6_000, 9_500), dice.us(100, 400), dice.us(8_000, 30_000));
    let does = format!("program = [\"sleep {first}\", \"kernel {long}\", \"sleep {pause}\", \"run 1ms\", \"exit\"]");
    scene.task(&worker, format!("{does}, kthread = true, cpus = \"{cpu}\""));
    scene.task(&hog, format!("hog = true, cpus = \"{cpu}\", {start}"));
    (scene, worker, hog)
}

fn delayed_dequeue(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, task, hog) = overrun(dice, SLICES);
    if !planted {
        scene.features.extend(["NO_DELAY_DEQUEUE".into(), "NO_PLACE_LAG".into()]);
    }
    let levers = vec!["NO_DELAY_DEQUEUE", "NO_PLACE_LAG", "nice"];
    Plot { scene, task, causes: vec!["delayed-dequeue"], levers, who: vec![hog], sleep: None }
}

fn negative_lag(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, task, hog) = overrun(dice, EEVDF);
    if scene.kernel != "6.6" {
        scene.features.push("NO_DELAY_DEQUEUE".into());
    }
    if !planted {
        scene.features.push("NO_PLACE_LAG".into());
    }
    Plot { scene, task, causes: vec!["not-eligible"], levers: vec!["NO_PLACE_LAG"], who: vec![hog], sleep: None }
}
