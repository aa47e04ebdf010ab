//! The machine is late: its ticks, its idle states, its devices, its host, its timers.

use super::stage::{ALL, CFS, bound, busy, later, quiet};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::scene::Scene;
use fairground_stdx::Ns;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "tick", sentence: "the slice is used up, but ticks are far apart", plant: tick },
    Family { name: "idle-exit", sentence: "the CPU leaves a deep idle state", plant: idle_exit },
    Family {
        name: "interrupt",
        sentence: "a device interrupts the CPU",
        plant: |dice, planted| noise(dice, &INTERRUPT, planted),
    },
    Family { name: "stolen", sentence: "the host runs something else", plant: |dice, planted| noise(dice, &STOLEN, planted) },
    Family {
        name: "interrupt-stall",
        sentence: "a device interrupts the task in mid-run",
        plant: |dice, planted| noise_stall(dice, &INTERRUPT, planted),
    },
    Family {
        name: "stolen-stall",
        sentence: "the host stops the task in mid-run",
        plant: |dice, planted| noise_stall(dice, &STOLEN, planted),
    },
    Family { name: "timer-slack", sentence: "the timer has a slack", plant: slack },
    Family { name: "cpu-offline", sentence: "the CPU that would be idle is off line", plant: offline },
];

/// The task has no lead with which it could preempt: what ends the others' slices is the tick.
fn tick(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, CFS, 4);
    scene.hz = if planted { 100 } else { 1000 };
    let (worker, run, sleep) = (dice.name(), dice.us(1_500, 4_000), dice.us(50, 200));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    let mut who = Vec::new();
    for _ in 0..dice.between(2, 4) {
        let (name, start) = (dice.name(), later(dice));
        scene.task(&name, format!("hog = true, cpus = \"{cpu}\", {start}"));
        who.push(name);
    }
    Plot { scene, task: worker, causes: vec!["tick"], levers: vec!["hz", "HRTICK"], who, sleep: None }
}

fn idle_exit(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, ALL, 8);
    scene.tasks.clear();
    let (exit, residency) = (dice.us(300, 900), dice.us(1_000, 2_000));
    scene.machine.push(format!("idle_governor = \"{}\"", if planted { "deepest" } else { "shallowest" }));
    for (name, exit, residency) in [("C1", "2us", "2us"), ("C6", &exit, &residency)] {
        scene.machine.push(format!(
            "[[machine.idle_state]]\nname = \"{name}\"\nexit_latency = \"{exit}\"\ntarget_residency = \"{residency}\""
        ));
    }
    let (worker, run, sleep) = (dice.name(), dice.us(50, 300), dice.between(5_000, 20_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}us\", \"run {run}\"]"));
    let sleep = Some(Ns::from_us(sleep));
    Plot { scene, task: worker, causes: vec!["idle-exit"], levers: vec!["no-deep-idle"], who: Vec::new(), sleep }
}

/// What takes the CPU away from outside.
struct Noise {
    workload: &'static str,
    cause: &'static str,
    lever: &'static str,
}
const INTERRUPT: Noise = Noise { workload: "irq-noise", cause: "interrupt", lever: "no-interrupts" };
const STOLEN: Noise = Noise { workload: "steal", cause: "stolen", lever: "no-steal" };

impl Noise {
    /// Disturbs this CPU now and then, if it is planted.
    fn give(&self, dice: &mut Dice, scene: &mut Scene, cpu: u64, planted: bool) {
        let (every, length, start) = (dice.us(15_000, 50_000), dice.us(3_000, 9_000), dice.us(5_000, 20_000));
        let fields =
            [("every", every), ("jitter", "5ms".into()), ("length", length), ("spread", "500us".into()), ("start", start)];
        if planted {
            let args = fields.map(|(name, value)| format!("{name} = \"{value}\"")).join(", ");
            scene.workloads.push((self.workload, format!("cpus = \"{cpu}\", {args}")));
        }
    }
    fn plot(&self, scene: Scene, task: String, sleep: Option<Ns>) -> Plot {
        Plot { scene, task, causes: vec![self.cause], levers: vec![self.lever], who: Vec::new(), sleep }
    }
}

fn noise(dice: &mut Dice, noise: &Noise, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    noise.give(dice, &mut scene, cpu, planted);
    let (worker, run, sleep) = (dice.name(), dice.us(50, 300), dice.between(500, 2_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}us\", \"run {run}\"], cpus = \"{cpu}\""));
    noise.plot(scene, worker, Some(Ns::from_us(sleep)))
}

fn noise_stall(dice: &mut Dice, noise: &Noise, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    noise.give(dice, &mut scene, cpu, planted);
    let (worker, run, sleep) = (dice.name(), dice.us(150_000, 300_000), dice.between(100, 1_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}us\"], cpus = \"{cpu}\""));
    noise.plot(scene, worker, Some(Ns::from_us(sleep)))
}

fn slack(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    scene.tasks.retain(|row| !row.fields.contains("do ="));
    let (slack, run, sleep) = (dice.us(3_000, 30_000), dice.us(50, 300), dice.between(3_000, 20_000));
    let slack = if planted { slack } else { "50us".into() };
    let worker = dice.name();
    scene.task(&worker, format!("do = [\"sleep {sleep}us\", \"run {run}\"]{}, timer_slack = \"{slack}\"", bound(dice, cpu)));
    let sleep = Some(Ns::from_us(sleep));
    Plot { scene, task: worker, causes: vec!["timer-late"], levers: vec!["slack"], who: Vec::new(), sleep }
}

fn offline(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, CFS, 1);
    (scene.cpus, scene.shape) = (dice.between(2, 4), 0);
    scene.tunable("sched_wakeup_granularity_ns", "20ms");
    let (worker, run, sleep) = (dice.name(), dice.us(100, 500), dice.us(12_000, 30_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"]"));
    let mut who = Vec::new();
    for cpu in 0..scene.cpus - 1 {
        let (hog, start) = (dice.name(), later(dice));
        scene.task(&hog, format!("hog = true, cpus = \"{cpu}\", {start}"));
        who.push(hog);
    }
    let (at, last) = (dice.us(50_000, 150_000), scene.cpus - 1);
    if planted {
        scene.changes.push((at, format!("offline {last}")));
    }
    Plot { scene, task: worker, causes: vec!["cpu-offline"], levers: vec!["online"], who, sleep: None }
}
