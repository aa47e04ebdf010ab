//! What all families share: a machine, a kernel, and others who keep all CPUs busy but the one that counts.

use crate::dice::Dice;
use crate::scene::Scene;

/// Kernels with CFS.
pub(super) const CFS: &[&str] = &["4.12", "4.20", "5.1", "5.10", "5.19", "6.1"];
/// Kernels with EEVDF.
pub(super) const EEVDF: &[&str] = &["6.6", "6.12", "6.14", "6.18", "7.2"];
/// Kernels with EEVDF in which a task has a slice of its own, and its dequeue may be delayed.
pub(super) const SLICES: &[&str] = &["6.12", "6.14", "6.18", "7.2"];
/// Kernels that take a throttled group off a CPU as a whole.
pub(super) const GROUP_THROTTLE: &[&str] = &["4.12", "4.20", "5.1", "5.10", "5.19", "6.1", "6.6", "6.12", "6.14"];
/// Kernels in which each throttled task stops on its own way back to user mode.
pub(super) const TASK_THROTTLE: &[&str] = &["6.18", "7.2"];
/// All of them.
pub(super) const ALL: &[&str] = &["4.12", "4.20", "5.1", "5.10", "5.19", "6.1", "6.6", "6.12", "6.14", "6.18", "7.2"];

/// A machine of up to `most` CPUs with one of these kernels, and the CPU that counts. On each other CPU a task computes
/// for ever, so no other CPU is idle.
pub(super) fn busy(dice: &mut Dice, kernels: &[&str], most: u64) -> (Scene, u64) {
    let (mut scene, cpu) = quiet(dice, kernels, most);
    for other in (0..scene.cpus).filter(|&other| other != cpu) {
        let (name, start) = (dice.name(), later(dice));
        scene.task(&name, format!("hog = true, cpus = \"{other}\", {start}"));
    }
    for false_trail in FALSE_TRAILS {
        if dice.chance(15) {
            false_trail(dice, &mut scene, cpu);
        }
    }
    (scene, cpu)
}

/// Things that could be causes, and are none here: they are elsewhere, or small.
const FALSE_TRAILS: &[fn(&mut Dice, &mut Scene, u64)] = &[quota_elsewhere, real_time_elsewhere, short_interrupts];

/// Somebody else's group is throttled, on another CPU that is busy all the same.
fn quota_elsewhere(dice: &mut Dice, scene: &mut Scene, cpu: u64) {
    let (name, path, start, quota) = (dice.name(), path(dice, 1), later(dice), dice.between(5, 30));
    if scene.cpus > 1 {
        let other = (cpu + 1) % scene.cpus;
        scene.file(&path, format!("\"cpu.max\" = \"{quota}000 100000\""));
        scene.task(&name, format!("hog = true, cpus = \"{other}\", group = \"{path}\", {start}"));
    }
}

/// A real-time task runs on another CPU.
fn real_time_elsewhere(dice: &mut Dice, scene: &mut Scene, cpu: u64) {
    let (name, start, run, sleep, priority) =
        (dice.name(), later(dice), dice.us(500, 9_000), dice.us(5_000, 20_000), dice.between(1, 99));
    if scene.cpus > 1 {
        let other = (cpu + 1) % scene.cpus;
        scene.task(
            &name,
            format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{other}\", policy = \"fifo:{priority}\", {start}"),
        );
    }
}

/// A device interrupts for some microseconds.
fn short_interrupts(dice: &mut Dice, scene: &mut Scene, _: u64) {
    let (every, length) = (dice.us(4_000, 12_000), dice.us(3, 12));
    scene.workloads.push(("irq-noise", format!("every = \"{every}\", random = true, length = \"{length}\"")));
}

/// The same with nobody on the other CPUs but small tasks.
pub(super) fn quiet(dice: &mut Dice, kernels: &[&str], most: u64) -> (Scene, u64) {
    let cpus = if dice.chance(30) { 1 } else { dice.between(1, most) };
    let mut scene = Scene {
        seed: dice.between(1, 1_000_000),
        duration_ms: 500,
        cpus,
        shape: dice.between(0, 3),
        feeder: dice.chance(20).then(|| dice.name()),
        ample: dice.chance(15).then(|| path(dice, 1)),
        hz: dice.one_of(&[100, 250, 1000]),
        kernel: dice.one_of(kernels).to_string(),
        ..Scene::default()
    };
    if dice.chance(50) {
        scene.machine.push("costs = \"zero\"".into());
    }
    let cpu = dice.between(0, cpus - 1);
    for _ in 0..dice.between(0, 2) {
        small(dice, &mut scene, cpu);
    }
    (scene, cpu)
}

/// A task that does little, on the CPU that counts.
fn small(dice: &mut Dice, scene: &mut Scene, cpu: u64) {
    let name = dice.name();
    let (run, sleep, start) = (dice.us(5, 30), dice.us(5_000, 30_000), later(dice));
    scene.task(&name, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", {start}"));
}

/// When others start: the task that is asked about comes first, so that its own start is no delay.
pub(super) fn later(dice: &mut Dice) -> String {
    format!("start = \"{}\"", dice.us(200, 3_000))
}

/// Slices of so many ms, and ticks that are short beside them: what a task waits for is then no tick.
pub(super) fn long_slices(scene: &mut Scene, ms: u64) {
    scene.hz = 1000;
    if CFS.contains(&scene.kernel.as_str()) {
        scene.tunable("sched_latency_ns", format!("{}ms", 2 * ms));
        scene.tunable("sched_min_granularity_ns", format!("{ms}ms"));
    } else {
        scene.tunable("sched_base_slice_ns", format!("{ms}ms"));
    }
}

/// Binds the task that is asked about to a CPU, but for some draws: what follows a task everywhere needs no CPU.
pub(super) fn bound(dice: &mut Dice, cpu: u64) -> String {
    if dice.chance(70) { format!(", cpus = \"{cpu}\"") } else { String::new() }
}

/// A path below the root, or below others.
pub(super) fn path(dice: &mut Dice, depth: u64) -> String {
    (0..depth).map(|_| format!("/{}.slice", dice.name())).collect()
}
