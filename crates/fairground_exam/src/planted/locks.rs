//! Somebody else has the lock.

use super::stage::{ALL, GROUP_THROTTLE, bound, later, path, quiet};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::remedy::NONE;
use crate::scene::Scene;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "lock-held", sentence: "the holder of a lock runs for long", plant: held },
    Family { name: "lock-holder-asleep", sentence: "it sleeps with the lock", plant: asleep },
    Family { name: "lock-holder-preempted", sentence: "it was preempted with the lock", plant: preempted },
    Family { name: "lock-holder-throttled", sentence: "its group is throttled while it has the lock", plant: throttled },
    Family {
        name: "lock-behind-writer",
        sentence: "a reader sleeps with the lock, and a writer waits before the task",
        plant: behind_writer,
    },
    Family { name: "lock-chain", sentence: "it waits for another lock, whose holder runs for long", plant: chain },
    Family { name: "lock-chain-throttled", sentence: "the same, and the other holder is throttled", plant: chain_throttled },
];

/// A kind of lock, and how it is taken and released.
#[derive(Clone, Copy)]
struct Kind {
    kind: &'static str,
    take: &'static str,
    mode: &'static str,
    release: &'static str,
    /// The step that computes with it.
    work: &'static str,
}

/// Locks of the kernel.
const KERNEL: &[Kind] = &[
    Kind { kind: "mutex", take: "\"enter\", ", mode: "", release: ", \"leave\"", work: "kernel" },
    Kind { kind: "rwsem", take: "\"enter\", ", mode: " write", release: ", \"leave\"", work: "kernel" },
    Kind { kind: "rwsem fifo", take: "\"enter\", ", mode: " write", release: ", \"leave\"", work: "kernel" },
];
/// A lock of user space.
const USER: Kind = Kind { kind: "futex", take: "", mode: "", release: "", work: "run" };

impl Kind {
    fn draw(dice: &mut Dice) -> Kind {
        dice.one_of(&[KERNEL[0], KERNEL[1], KERNEL[2], USER])
    }
    /// Steps with the lock.
    fn with(&self, lock: &str, steps: &str) -> String {
        format!("{}\"lock {lock}{}\", {steps}, \"unlock {lock}\"{}", self.take, self.mode, self.release)
    }
    /// Computing for so long.
    fn work(&self, length: &str) -> String {
        format!("\"{} {length}\"", self.work)
    }
}

/// A machine of CPUs for all who take part, and the worker on the first, which takes the lock now and then.
fn stage(dice: &mut Dice, kernels: &[&str], cpus: u64, kind: Kind) -> (Scene, String, String) {
    let (mut scene, _) = quiet(dice, kernels, 1);
    scene.cpus = cpus + dice.between(0, 2);
    scene.preemption = Some("full");
    let lock = dice.name();
    scene.locks.push((lock.clone(), kind.kind.to_string()));
    let (worker, sleep, work) = (dice.name(), dice.us(2_000, 6_000), dice.us(20, 80));
    let does = kind.with(&lock, &kind.work(&work));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", {does}]{}", bound(dice, 0)));
    (scene, worker, lock)
}

fn plot(scene: Scene, task: String, cause: &'static str, levers: &[&'static str], who: Vec<String>) -> Plot {
    Plot { scene, task, causes: vec![cause], levers: levers.to_vec(), who, sleep: None }
}

/// A holder on CPU 1 that does `long` with the lock, or after it.
fn holder(dice: &mut Dice, scene: &mut Scene, lock: &str, kind: Kind, long: &str, planted: bool) -> String {
    let (name, start, pause, short) = (dice.name(), later(dice), dice.us(3_000, 9_000), dice.us(20, 80));
    let does = match planted {
        true => kind.with(lock, long),
        false => format!("{}, {long}", kind.with(lock, &kind.work(&short))),
    };
    scene.task(&name, format!("do = [{does}, \"sleep {pause}\"], cpus = \"1\", {start}"));
    name
}

fn held(dice: &mut Dice, planted: bool) -> Plot {
    let kind = Kind::draw(dice);
    let (mut scene, worker, lock) = stage(dice, ALL, 2, kind);
    let long = kind.work(&dice.us(4_000, 15_000));
    let name = holder(dice, &mut scene, &lock, kind, &long, planted);
    plot(scene, worker, "lock-held", &[NONE], vec![name])
}

fn asleep(dice: &mut Dice, planted: bool) -> Plot {
    let kind = Kind::draw(dice);
    let (mut scene, worker, lock) = stage(dice, ALL, 2, kind);
    let long = format!("\"sleep {}\"", dice.us(4_000, 15_000));
    let name = holder(dice, &mut scene, &lock, kind, &long, planted);
    plot(scene, worker, "lock-holder-asleep", &[NONE], vec![name])
}

fn preempted(dice: &mut Dice, planted: bool) -> Plot {
    let kind = Kind::draw(dice);
    let (mut scene, worker, lock) = stage(dice, ALL, 2, kind);
    let long = kind.work(&dice.us(1_500, 4_000));
    let name = holder(dice, &mut scene, &lock, kind, &long, true);
    let (other, start, priority) = (dice.name(), later(dice), dice.between(1, 99));
    let (run, pause) = (dice.us(12_000, 30_000), dice.us(5_000, 20_000));
    let cpu = u64::from(planted);
    // Without the cause it is a task that gives way, on the CPU of the holder all the same.
    let policy = if cpu == 1 { format!("policy = \"fifo:{priority}\"") } else { "policy = \"idle\"".into() };
    scene.task(&other, format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"1\", {start}, {policy}"));
    plot(scene, worker, "lock-holder-preempted", &["policy", "affinity"], vec![name, other])
}

fn throttled(dice: &mut Dice, planted: bool) -> Plot {
    let in_kernel = dice.chance(50);
    let (kind, kernels) = if in_kernel { (dice.one_of(KERNEL), GROUP_THROTTLE) } else { (USER, ALL) };
    let (mut scene, worker, lock) = stage(dice, kernels, 2, kind);
    let (limited, period) = (path(dice, 1), dice.one_of(&[50_000, 100_000]));
    let quota = period * dice.between(15, 40) / 100;
    scene.group(&limited);
    if planted {
        scene.file(&limited, format!("\"cpu.max\" = \"{quota} {period}\""));
    }
    let (name, start, free, work) = (dice.name(), later(dice), dice.us(200, 900), dice.us(2_000, 4_000));
    let does = kind.with(&lock, &kind.work(&work));
    scene.task(&name, format!("do = [\"run {free}\", {does}], cpus = \"1\", group = \"{limited}\", {start}"));
    scene.duration_ms = period * 10 / 1000;
    plot(scene, worker, "lock-holder-throttled", &["cpu.max", "kernel"], vec![name])
}

fn chain(dice: &mut Dice, planted: bool) -> Plot {
    let kind = Kind::draw(dice);
    let (mut scene, worker, first) = stage(dice, ALL, 3, kind);
    let second = dice.name();
    scene.locks.push((second.clone(), kind.kind.to_string()));
    let (middle, last, pause, start) = (dice.name(), dice.name(), dice.us(2_000, 6_000), later(dice));
    let (long, short, rest) = (dice.us(4_000, 15_000), dice.us(20, 80), dice.us(2_000, 6_000));
    // Without the cause the last one computes outside its lock.
    let own = match planted {
        true => kind.with(&second, &kind.work(&long)),
        false => format!("{}, \"run {long}\"", kind.with(&second, &kind.work(&short))),
    };
    let inner = format!("\"lock {second}{}\", {}, \"unlock {second}\"", kind.mode, kind.work(&short));
    scene.task(&middle, format!("do = [{}, \"sleep {pause}\"], cpus = \"1\", {start}", kind.with(&first, &inner)));
    scene.task(&last, format!("do = [{own}, \"sleep {rest}\"], cpus = \"2\", {start}"));
    plot(scene, worker, "lock-held", &[NONE], vec![middle, last])
}

/// As long as a writer waits, no reader comes in.
fn behind_writer(dice: &mut Dice, planted: bool) -> Plot {
    let kind = Kind { mode: " read", ..KERNEL[2] };
    let (mut scene, worker, lock) = stage(dice, ALL, 3, kind);
    let long = format!("\"sleep {}\"", dice.us(6_000, 20_000));
    let reader = holder(dice, &mut scene, &lock, kind, &long, planted);
    let (writer, start, pause, work) = (dice.name(), later(dice), dice.us(2_000, 5_000), dice.us(20, 80));
    let does = KERNEL[2].with(&lock, &kind.work(&work));
    scene.task(&writer, format!("do = [\"sleep {pause}\", {does}], cpus = \"2\", {start}"));
    plot(scene, worker, "lock-holder-asleep", &[NONE], vec![reader])
}

fn chain_throttled(dice: &mut Dice, planted: bool) -> Plot {
    let kind = USER;
    let (mut scene, worker, first) = stage(dice, ALL, 3, kind);
    let second = dice.name();
    scene.locks.push((second.clone(), kind.kind.to_string()));
    let (middle, last, limited, period) = (dice.name(), dice.name(), path(dice, 1), dice.one_of(&[50_000, 100_000]));
    let quota = period * dice.between(15, 40) / 100;
    scene.group(&limited);
    if planted {
        scene.file(&limited, format!("\"cpu.max\" = \"{quota} {period}\""));
    }
    let (pause, start, short, free, work) =
        (dice.us(1_000, 3_000), later(dice), dice.us(20, 80), dice.us(200, 900), dice.us(2_000, 4_000));
    let inner = kind.with(&second, &kind.work(&short));
    scene.task(&middle, format!("do = [{}, \"sleep {pause}\"], cpus = \"1\", {start}", kind.with(&first, &inner)));
    let does = kind.with(&second, &kind.work(&work));
    scene.task(&last, format!("do = [\"run {free}\", {does}], cpus = \"2\", group = \"{limited}\", {start}"));
    scene.duration_ms = period * 10 / 1000;
    plot(scene, worker, "lock-holder-throttled", &["cpu.max"], vec![middle, last])
}
