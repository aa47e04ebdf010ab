//! A rule among fair tasks lets the running one go on.

use super::stage::{ALL, CFS, EEVDF, busy, later, long_slices};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::scene::Scene;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "wakeup-granularity", sentence: "the lead is below the wake-up granularity", plant: wakeup_granularity },
    Family { name: "no-wakeup-preemption", sentence: "WAKEUP_PREEMPTION is off", plant: no_wakeup_preemption },
    Family { name: "idle-policy", sentence: "the task is SCHED_IDLE", plant: idle_policy },
    Family { name: "batch-policy", sentence: "the task is SCHED_BATCH", plant: batch_policy },
];

/// A hog and a worker that wakes now and then, on one CPU.
struct Pair {
    scene: Scene,
    worker: String,
    hog: String,
    fields: String,
}

impl Pair {
    fn draw(dice: &mut Dice, kernels: &[&str]) -> Pair {
        let (mut scene, cpu) = busy(dice, kernels, 8);
        let (worker, hog) = (dice.name(), dice.name());
        let start = later(dice);
        scene.task(&hog, format!("hog = true, cpus = \"{cpu}\", {start}"));
        let (run, sleep) = (dice.us(50, 300), dice.us(20_000, 40_000));
        let fields = format!("do = [\"sleep {sleep}\", \"run {run}\"], cpus = \"{cpu}\"");
        Pair { scene, worker, hog, fields }
    }
    fn plot(mut self, more: &str, cause: &'static str, levers: &[&'static str]) -> Plot {
        self.scene.task(&self.worker, format!("{}{more}", self.fields));
        Plot {
            scene: self.scene,
            task: self.worker,
            causes: vec![cause],
            levers: levers.to_vec(),
            who: vec![self.hog],
            sleep: None,
        }
    }
}

fn wakeup_granularity(dice: &mut Dice, planted: bool) -> Plot {
    let mut pair = Pair::draw(dice, CFS);
    let granularity = dice.between(20, 40);
    long_slices(&mut pair.scene, dice.between(10, 15));
    let granularity = if planted { format!("{granularity}ms") } else { "0".into() };
    pair.scene.tunable("sched_wakeup_granularity_ns", granularity);
    pair.plot("", "wakeup-granularity", &["sched_wakeup_granularity_ns"])
}

fn no_wakeup_preemption(dice: &mut Dice, planted: bool) -> Plot {
    let mut pair = Pair::draw(dice, ALL);
    long_slices(&mut pair.scene, dice.between(10, 25));
    if EEVDF.contains(&pair.scene.kernel.as_str()) {
        pair.scene.features.push("NO_RUN_TO_PARITY".into());
    }
    if planted {
        pair.scene.features.push("NO_WAKEUP_PREEMPTION".into());
    }
    pair.plot("", "no-wakeup-preemption", &["WAKEUP_PREEMPTION"])
}

fn idle_policy(dice: &mut Dice, planted: bool) -> Plot {
    let mut pair = Pair::draw(dice, ALL);
    let run = dice.us(2_000, 5_000);
    pair.fields = format!("do = [\"run {run}\", \"sleep 100us\"], {}", pair.fields.split_once("], ").map_or("", |row| row.1));
    pair.scene.duration_ms = 2000;
    pair.plot(if planted { ", policy = \"idle\"" } else { "" }, "idle-policy", &["policy"])
}

fn batch_policy(dice: &mut Dice, planted: bool) -> Plot {
    let mut pair = Pair::draw(dice, CFS);
    long_slices(&mut pair.scene, dice.between(10, 25));
    pair.plot(if planted { ", policy = \"batch\"" } else { "" }, "batch-policy", &["policy"])
}
