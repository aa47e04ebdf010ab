//! A CPU is idle, and neither the wake-up nor a balance brings the task there.

use super::stage::{later, quiet};
use super::{Family, Plot};
use crate::dice::Dice;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "other-cache", sentence: "the idle CPUs lie under another cache", plant: other_cache },
    Family { name: "search-cut", sentence: "the search for an idle CPU is cut", plant: search_cut },
    Family { name: "newidle-gate", sentence: "a CPU expects to be idle for too short a time to balance", plant: newidle_gate },
    Family { name: "cache-hot", sentence: "the waiting task ran a moment ago", plant: cache_hot },
    Family { name: "misled-statistic", sentence: "a balance reads a load that is gone", plant: misled },
];

fn other_cache(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, &["4.20", "5.1", "5.10", "5.19", "6.1"], 1);
    scene.hz = 100;
    scene.tunable("sched_wakeup_granularity_ns", "20ms");
    let (own, others) = (dice.between(1, 3), dice.between(1, 3));
    scene.cpus = own + others;
    let cache = |cpu: u64| u64::from(planted && cpu >= own);
    let rows: Vec<String> = (0..scene.cpus).map(|cpu| format!("{{ core = {cpu}, llc = {} }}", cache(cpu))).collect();
    scene.machine.push(format!("cpu = [{}]", rows.join(", ")));
    let (worker, run, sleep) = (dice.name(), dice.us(50, 300), dice.us(15_000, 35_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], first_cpu = 0"));
    let mut who = Vec::new();
    for cpu in 0..own {
        let (name, start) = (dice.name(), later(dice));
        scene.task(&name, format!("hog = true, cpus = \"{cpu}\", {start}"));
        who.push(name);
    }
    Plot { scene, task: worker, causes: vec!["other-cache"], levers: vec!["affinity"], who, sleep: None }
}

fn search_cut(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, &["5.1", "5.10", "5.19"], 1);
    (scene.cpus, scene.shape, scene.hz) = (32, 0, 100);
    scene.machine = vec!["costs = \"xeon-bdw\"".into()];
    scene.features.push("NO_WAKEUP_PREEMPTION".into());
    scene.features.push(if planted { "SIS_PROP" } else { "NO_SIS_PROP" }.into());
    let idle = dice.between(26, 30);
    let (worker, searcher, first, many) = (dice.name(), dice.name(), dice.name(), dice.name());
    let (at, run) = (dice.between(300, 330), dice.us(50, 300));
    scene.task(&first, "hog = true, cpus = \"0\"");
    scene.task(&many, format!("hog = true, cpus = \"1-{},{}-31\", count = 30", idle - 1, idle + 1));
    let pause = dice.us(1_500, 2_500);
    scene.task(&searcher, format!("do = [\"run 50us\", \"sleep {pause}\"], cpus = \"0-24\", first_cpu = 0"));
    scene.task(&worker, format!("program = [\"sleep {at}ms\", \"run {run}\", \"exit\"], first_cpu = 0"));
    let who = (0..30).map(|row| format!("{many}-{row}")).chain([first]).collect();
    Plot { scene, task: worker, causes: vec!["search-cut"], levers: vec!["NO_SIS_PROP"], who, sleep: None }
}

fn newidle_gate(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, &["4.20", "5.1", "5.10", "5.19"], 1);
    scene.tasks.clear();
    (scene.cpus, scene.shape, scene.hz) = (2, 0, 100);
    scene.features.push("NO_WAKEUP_PREEMPTION".into());
    if !planted {
        scene.tunable("sched_migration_cost_ns", "0");
    }
    let (worker, hog, other) = (dice.name(), dice.name(), dice.name());
    let (busy, period) = (dice.us(80, 150), dice.between(350, 550));
    // The other one has just begun whenever the task wakes.
    let grid = period * dice.between(35, 60);
    let run = dice.us(50, 300);
    scene.task(&hog, "hog = true, cpus = \"0\", start = \"1ms\"");
    scene.task(&other, format!("run = \"{busy}\", period = \"{period}us\", cpus = \"1\""));
    let does = format!("program = [\"now r0\", \"timer r0 {grid}us absolute\", \"run {run}\", \"jump 1\"]");
    scene.task(&worker, format!("{does}, start = \"50us\", first_cpu = 0"));
    Plot {
        scene,
        task: worker,
        causes: vec!["newidle-gate"],
        levers: vec!["sched_migration_cost_ns"],
        who: vec![hog, other],
        sleep: None,
    }
}

/// A heavy task has just gone to sleep on CPU 1, where its load still counts. So CPU 2, which runs out of work, looks
/// there and not to CPU 0, where the task waits.
fn misled(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, &["5.10", "5.19", "6.1"], 1);
    scene.tasks.clear();
    (scene.cpus, scene.hz, scene.duration_ms) = (3, 100, 300);
    scene.features.push("NO_WAKEUP_PREEMPTION".into());
    scene.tunable("sched_latency_ns", "160ms");
    scene.tunable("sched_min_granularity_ns", "80ms");
    let (worker, hog, light, other_light) = (dice.name(), dice.name(), dice.name(), dice.name());
    let (heavy, other, nice) = (dice.name(), dice.name(), dice.between(4, 6));
    let (gone, woken, ends) = (dice.between(183, 187), dice.us(200_200, 200_900), dice.between(201_000, 202_000));
    let run = dice.us(5_000, 15_000);
    scene.task(&worker, format!("program = [\"sleep {woken}\", \"run {run}\", \"exit\"], cpus = \"0,2\", first_cpu = 0"));
    scene.task(&hog, "hog = true, cpus = \"0\", start = \"1ms\"");
    scene.task(&light, format!("hog = true, nice = {nice}, cpus = \"1\""));
    scene.task(&other_light, format!("hog = true, nice = {nice}, cpus = \"1\""));
    if planted {
        scene.task(&heavy, format!("program = [\"run {gone}ms\", \"sleep 1s\"], nice = -10, cpus = \"1\""));
    }
    scene.task(&other, format!("program = [\"run {ends}us\", \"sleep 1s\"], cpus = \"2\""));
    scene.changes.push(("200950us".into(), format!("affinity {other_light} 1-2")));
    let levers = vec!["queued-load"];
    Plot { scene, task: worker, causes: vec!["misled-statistic"], levers, who: vec![hog], sleep: None }
}

/// CPU 1 runs out of work while the task waits on CPU 0, where it ran a moment ago. The tunable that makes it cache hot
/// says too how long a CPU must expect to be idle.
fn cache_hot(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, &["5.1", "5.10", "5.19", "6.1"], 1);
    scene.tasks.clear();
    (scene.cpus, scene.shape, scene.hz, scene.duration_ms) = (2, 0, 100, 100);
    scene.features.push("NO_WAKEUP_PREEMPTION".into());
    scene.tunable("sched_migration_cost_ns", if planted { "8ms" } else { "0" });
    let (worker, hog, other) = (dice.name(), dice.name(), dice.name());
    let (first, pause, run) = (dice.between(4_000, 5_500), dice.between(150, 300), dice.us(500, 2_000));
    let (start, ends) = (dice.us(300, 900), first + pause + dice.between(200, 600));
    scene.task(&worker, format!("program = [\"run {first}us\", \"sleep {pause}us\", \"run {run}\", \"exit\"], first_cpu = 0"));
    scene.task(&hog, format!("hog = true, cpus = \"0\", start = \"{start}\""));
    scene.task(&other, format!("program = [\"run {ends}us\", \"exit\"], cpus = \"1\""));
    Plot {
        scene,
        task: worker,
        causes: vec!["cache-hot", "newidle-gate"],
        levers: vec!["sched_migration_cost_ns"],
        who: vec![hog],
        sleep: None,
    }
}
