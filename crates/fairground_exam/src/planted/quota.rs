//! A group with a quota has used it up.

use super::stage::{GROUP_THROTTLE, TASK_THROTTLE, bound, busy, later, path, quiet};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::scene::Scene;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "quota", sentence: "a task uses up the quota of its group", plant: flat },
    Family { name: "quota-parent", sentence: "the quota is that of a group above", plant: parent },
    Family { name: "quota-cotenant", sentence: "another task of the group uses the quota up", plant: cotenant },
    Family { name: "quota-cpus", sentence: "several tasks use it up on several CPUs", plant: cpus },
    Family { name: "quota-levels", sentence: "two groups have a quota, and the upper one is tighter", plant: levels },
    Family { name: "quota-v1", sentence: "a quota in the files of cgroup v1", plant: version_1 },
    Family { name: "quota-task", sentence: "as quota, where each task stops on its way to user mode", plant: per_task },
    Family { name: "quota-stall", sentence: "a task that never sleeps is throttled in mid-run", plant: stall },
    Family {
        name: "quota-burst",
        sentence: "a burst of work is longer than the quota of a period",
        plant: |dice, planted| burst(dice, 0, planted),
    },
    Family {
        name: "quota-burst-small",
        sentence: "the same, and cpu.max.burst is too small for it",
        plant: |dice, planted| burst(dice, 15, planted),
    },
    Family {
        name: "quota-burst-vain",
        sentence: "steady work wants more than the quota: cpu.max.burst never fills",
        plant: vain,
    },
];

/// A quota in us with its period.
struct Quota {
    quota: u64,
    period: u64,
}

impl Quota {
    /// A share of the CPU from `low` to `high` percent.
    fn draw(dice: &mut Dice, low: u64, high: u64) -> Quota {
        let period = dice.one_of(&[20_000, 40_000, 50_000, 100_000, 100_000, 200_000]);
        Quota { quota: period * dice.between(low, high) / 100, period }
    }
    /// Gives it to a group, if it is planted.
    fn give(&self, scene: &mut Scene, path: &str, planted: bool) {
        scene.group(path);
        if planted {
            scene.file(path, format!("\"cpu.max\" = \"{} {}\"", self.quota, self.period));
        }
    }
}

fn plot(scene: Scene, task: String, who: Vec<String>) -> Plot {
    Plot { scene, task, causes: vec!["throttled"], levers: vec!["cpu.max"], who, sleep: None }
}

/// A worker that wants more than the quota, in a group at `path`; the quota is that of `limited`.
fn alone(dice: &mut Dice, (mut scene, cpu): (Scene, u64), limited: &str, below: &str, planted: bool) -> Plot {
    let quota = Quota::draw(dice, 10, 45);
    let path = format!("{limited}{below}");
    scene.group(&path);
    quota.give(&mut scene, limited, planted);
    let worker = dice.name();
    let run = dice.between(quota.quota / 8, quota.quota / 2);
    let sleep = dice.between(100, run / 2 + 200);
    let bound = bound(dice, cpu);
    let does = format!("do = [\"run {run}us\", \"sleep {sleep}us\"]{bound}, group = \"{path}\"");
    scene.task(&worker, does);
    scene.duration_ms = quota.period * 5 / 1000;
    plot(scene, worker.clone(), vec![worker])
}

fn flat(dice: &mut Dice, planted: bool) -> Plot {
    let stage = busy(dice, GROUP_THROTTLE, 8);
    let path = path(dice, 1);
    alone(dice, stage, &path, "", planted)
}

fn per_task(dice: &mut Dice, planted: bool) -> Plot {
    let stage = busy(dice, TASK_THROTTLE, 8);
    let depth = dice.between(1, 3);
    let path = path(dice, depth);
    alone(dice, stage, &path, "", planted)
}

fn parent(dice: &mut Dice, planted: bool) -> Plot {
    let stage = busy(dice, GROUP_THROTTLE, 8);
    let (above, below) = (dice.between(1, 2), dice.between(1, 2));
    let (limited, below) = (path(dice, above), path(dice, below));
    alone(dice, stage, &limited, &below, planted)
}

fn cotenant(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, GROUP_THROTTLE, 8);
    let quota = Quota::draw(dice, 10, 40);
    let limited = path(dice, 1);
    quota.give(&mut scene, &limited, planted);
    let (worker, other) = (dice.name(), dice.name());
    // Beside the worker, or in groups of their own below the limited one.
    let (own, others) = match dice.chance(50) {
        true => (limited.clone(), limited.clone()),
        false => (format!("{limited}{}", path(dice, 1)), format!("{limited}{}", path(dice, 1))),
    };
    scene.group(&own);
    scene.group(&others);
    let (run, sleep) = (dice.us(100, 400), dice.us(2_000, 6_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"]{}, group = \"{own}\"", bound(dice, cpu)));
    let start = later(dice);
    scene.task(&other, format!("hog = true, nice = 5, cpus = \"{cpu}\", group = \"{others}\", {start}"));
    scene.duration_ms = quota.period * 5 / 1000;
    plot(scene, worker, vec![other])
}

fn cpus(dice: &mut Dice, planted: bool) -> Plot {
    let kernels = [GROUP_THROTTLE, TASK_THROTTLE].concat();
    let (mut scene, _) = quiet(dice, &kernels, 1);
    scene.cpus = dice.between(2, 8);
    let quota = Quota::draw(dice, 20, 60);
    let limited = path(dice, 1);
    quota.give(&mut scene, &limited, planted);
    let worker = dice.name();
    let mut who = Vec::new();
    for cpu in 1..scene.cpus {
        let (other, start) = (dice.name(), later(dice));
        scene.task(&other, format!("hog = true, cpus = \"{cpu}\", group = \"{limited}\", {start}"));
        who.push(other);
    }
    let (run, sleep) = (dice.us(100, 300), dice.us(1_000, 4_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"0\", group = \"{limited}\""));
    scene.duration_ms = quota.period * 5 / 1000;
    plot(scene, worker, who)
}

fn stall(dice: &mut Dice, planted: bool) -> Plot {
    let kernels = [GROUP_THROTTLE, TASK_THROTTLE].concat();
    let (mut scene, cpu) = busy(dice, &kernels, 8);
    let quota = Quota::draw(dice, 10, 60);
    let depth = dice.between(1, 2);
    let limited = path(dice, depth);
    quota.give(&mut scene, &limited, planted);
    let worker = dice.name();
    let does = match dice.chance(50) {
        true => "hog = true".to_string(),
        false => format!("do = [\"run {}us\", \"sleep 1ms\"]", quota.period * dice.between(2, 5)),
    };
    scene.task(&worker, format!("{does}{}, group = \"{limited}\"", bound(dice, cpu)));
    scene.duration_ms = quota.period * 5 / 1000;
    plot(scene, worker.clone(), vec![worker])
}

/// Kernels with cpu.max.burst.
const WITH_BURST: &[&str] = &["5.19", "6.1", "6.6", "6.12", "6.14", "6.18", "7.2"];

/// The group has up to `most` percent of its quota as burst; without the cause all of it.
fn burst(dice: &mut Dice, most: u64, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, WITH_BURST, 8);
    let quota = Quota::draw(dice, 15, 40);
    let limited = path(dice, 1);
    quota.give(&mut scene, &limited, true);
    let small = quota.quota * dice.between(most / 3, most) / 100;
    let burst = if planted { small } else { quota.quota };
    if burst > 0 {
        scene.file(&limited, format!("\"cpu.max.burst\" = {burst}"));
    }
    let worker = dice.name();
    let (run, sleep) = (quota.quota * dice.between(120, 170) / 100, quota.period * dice.between(2, 4));
    let bound = bound(dice, cpu);
    let does = format!("do = [\"sleep {sleep}us\", \"run {run}us\"]{bound}, group = \"{limited}\"");
    scene.task(&worker, does);
    scene.duration_ms = quota.period * 12 / 1000;
    let levers = vec!["cpu.max.burst", "cpu.max"];
    Plot { causes: vec!["burst"], levers, ..plot(scene, worker.clone(), vec![worker]) }
}

fn vain(dice: &mut Dice, planted: bool) -> Plot {
    let mut stage = busy(dice, WITH_BURST, 8);
    let (limited, burst) = (path(dice, 1), dice.between(1_000, 2_000));
    if planted {
        stage.0.file(&limited, format!("\"cpu.max.burst\" = {burst}"));
    }
    alone(dice, stage, &limited, "", planted)
}

fn levels(dice: &mut Dice, planted: bool) -> Plot {
    let (above, below) = (path(dice, 1), path(dice, 1));
    let mut stage = busy(dice, GROUP_THROTTLE, 8);
    let wide = dice.between(80, 95);
    stage.0.file(&format!("{above}{below}"), format!("\"cpu.max\" = \"{wide}000 100000\""));
    alone(dice, stage, &above, &below, planted)
}

fn version_1(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, GROUP_THROTTLE, 8);
    scene.groups.clear();
    scene.ample = None;
    scene.tasks.retain(|row| !row.fields.contains("group ="));
    let (quota, limited, worker) = (Quota::draw(dice, 10, 45), path(dice, 1), dice.name());
    scene.group(&limited);
    if planted {
        scene.file(&limited, format!("\"cpu.cfs_quota_us\" = {}\n\"cpu.cfs_period_us\" = {}", quota.quota, quota.period));
    }
    let run = dice.between(quota.quota / 8, quota.quota / 2);
    scene.task(&worker, format!("do = [\"run {run}us\", \"sleep 300us\"]{}, group = \"{limited}\"", bound(dice, cpu)));
    scene.duration_ms = quota.period * 5 / 1000;
    Plot { levers: vec!["cpu.max", "cpu.cfs_quota_us"], ..plot(scene, worker.clone(), vec![worker]) }
}
