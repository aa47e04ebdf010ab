//! Scenarios with a setting that grows with a strength from 0 to 1000. With strength 0 a scenario is its baseline.

use crate::dice::Dice;
use crate::scene::Scene;

/// A kind of difference between two sides.
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// What differs.
    pub sentence: &'static str,
    turn: fn(&mut Scene, &mut Dice, u64),
}

/// All kinds.
pub const KNOBS: [Knob; 5] = [
    Knob {
        name: "price",
        sentence: "a switch of tasks takes up to 20 times as long",
        turn: |scene, _, strength| {
            let tenths = 10 + strength * 190 / 1000;
            let factor = format!("{}.{}", tenths / 10, tenths % 10);
            scene.machine.push(format!("costs = {{ preset = \"xeon-spr\", scale = {{ switch = {factor} }} }}"));
        },
    },
    Knob {
        name: "weight",
        sentence: "a group beside the tasks weighs up to five times as much",
        turn: |scene, dice, strength| {
            let path = format!("/{}", dice.name());
            scene.file(&path, format!("\"cpu.weight\" = {}", 100 + strength * 400 / 1000));
            let (name, count) = (dice.name(), dice.between(1, scene.cpus * 2));
            scene.task(&name, format!("hog = true, count = {count}, group = \"{path}\""));
        },
    },
    Knob {
        name: "limit",
        sentence: "the tasks of a group get down to a third of their CPU time",
        turn: |scene, dice, strength| {
            let path = format!("/{}", dice.name());
            let most = scene.cpus.min(2) * 60_000;
            scene.file(&path, format!("\"cpu.max\" = \"{} 100000\"", most - most * strength * 2 / 3000));
            let (name, count) = (dice.name(), dice.between(1, scene.cpus * 2));
            let (run, sleep) = (dice.between(200, 2_000), dice.between(500, 4_000));
            let does = format!("\"run {run}us..{}us\", \"sleep {sleep}us..{}us\"", run * 3, sleep * 3);
            scene.task(&name, format!("do = [{does}], count = {count}, group = \"{path}\""));
        },
    },
    Knob {
        name: "slice",
        sentence: "requests get down to an eighth of 4 ms",
        turn: |scene, _, strength| {
            let tunable = if scene.kernel.starts_with('5') { "sched_min_granularity_ns" } else { "sched_base_slice_ns" };
            scene.tunable(tunable, format!("{}us", 4_000 - strength * 3_500 / 1000));
        },
    },
    Knob {
        name: "work",
        sentence: "a task works up to twice as long",
        turn: |scene, dice, strength| {
            let (name, run, sleep) = (dice.name(), dice.between(200, 2_000), dice.between(500, 4_000));
            let more = |us: u64| us + us * strength / 1000;
            let does = format!("\"run {}us..{}us\", \"sleep {sleep}us..{}us\"", more(run), more(run * 3), sleep * 3);
            scene.task(&name, format!("do = [{does}], count = {}", scene.cpus));
        },
    },
];

impl Knob {
    /// The scenario for one seed, with the setting at a strength.
    pub fn text(&self, seed: u64, strength: u64) -> String {
        let mut dice = Dice::new(seed, self.name);
        let mut scene = base(&mut dice);
        (self.turn)(&mut scene, &mut dice, strength);
        scene.text()
    }
}

/// A machine, and tasks whose times are random.
fn base(dice: &mut Dice) -> Scene {
    let cpus = dice.one_of(&[1, 2, 2, 4, 4, 8]);
    let mut scene = Scene {
        seed: 1,
        duration_ms: dice.between(400, 1_200),
        cpus,
        hz: dice.one_of(&[250, 250, 1000]),
        kernel: dice.one_of(&["5.10", "5.19", "6.6", "6.12", "6.18", "7.2"]).to_string(),
        ..Scene::default()
    };
    for _ in 0..dice.between(1, 3) {
        let (name, count) = (dice.name(), dice.between(1, cpus * 2));
        let (run, sleep) = (dice.between(100, 3_000), dice.between(300, 6_000));
        let nice = dice.one_of(&["", "", ", nice = 4", ", nice = -4"]);
        let does = format!("\"run {run}us..{}us\", \"sleep {sleep}us..{}us\"", run * 4, sleep * 4);
        scene.task(&name, format!("do = [{does}], count = {count}{nice}"));
    }
    if dice.chance(60) {
        let (name, count) = (dice.name(), dice.between(1, cpus));
        scene.task(&name, format!("hog = true, count = {count}"));
    }
    scene
}
