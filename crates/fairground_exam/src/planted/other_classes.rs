//! Tasks of other classes go first, or are stopped when they have had their share.

use super::stage::{ALL, GROUP_THROTTLE, busy, later, quiet};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::remedy::NONE;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "fifo", sentence: "a task of SCHED_FIFO runs", plant: |dice, planted| real_time(dice, "fifo", planted) },
    Family { name: "rr", sentence: "a task of SCHED_RR runs", plant: |dice, planted| real_time(dice, "rr", planted) },
    Family { name: "deadline", sentence: "a deadline task runs", plant: deadline },
    Family { name: "fifo-everywhere", sentence: "as many real-time tasks as CPUs run, bound to none", plant: everywhere },
    Family {
        name: "higher-priority",
        sentence: "both are real-time tasks, the other has a higher priority",
        plant: higher_priority,
    },
    Family { name: "rr-turn", sentence: "several tasks of SCHED_RR take turns", plant: rr_turn },
    Family { name: "deadline-first", sentence: "a deadline task runs before a real-time one", plant: deadline_first },
    Family { name: "rt-throttled", sentence: "a real-time task has used up its share of the CPU", plant: rt_throttled },
    Family { name: "deadline-throttled", sentence: "a deadline task has used up its runtime", plant: deadline_throttled },
];

fn real_time(dice: &mut Dice, class: &str, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (run, sleep) = (dice.us(20_000, 60_000), dice.us(10_000, 40_000));
    let policy = if planted { format!("policy = \"{class}:{priority}\"") } else { "nice = 10".into() };
    let start = later(dice);
    scene.task(&other, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", {policy}, {start}"));
    let (run, sleep) = (dice.us(50, 500), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\""));
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who: vec![other], sleep: None }
}

fn deadline(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = busy(dice, ALL, 1);
    let (worker, other) = (dice.name(), dice.name());
    let (runtime, rest) = (dice.between(15, 50), dice.between(20, 60));
    let policy = match planted {
        true => format!("policy = \"deadline\", dl_runtime = \"{}ms\", dl_period = \"{}ms\"", runtime + 5, runtime + 5 + rest),
        false => "nice = 10".to_string(),
    };
    let start = later(dice);
    scene.task(&other, format!("do = [\"run {runtime}ms\", \"sleep {rest}ms\"], {policy}, {start}"));
    let (run, sleep) = (dice.us(50, 500), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}\"]"));
    Plot { scene, task: worker, causes: vec!["deadline"], levers: vec!["policy"], who: vec![other], sleep: None }
}

/// As a fair task it would share the CPU with the other one, which may not help. From v6.12 on the fair tasks' deadline server takes the CPU instead.
fn rt_throttled(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, &GROUP_THROTTLE[..7], 4);
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (round, sleep) = (dice.between(100, 200), dice.between(1, 4));
    // Without the cause it leaves more than the twentieth that it must leave.
    let sleep = if planted { sleep } else { round };
    scene.task(&worker, format!("do = [\"run {round}ms\", \"sleep {sleep}ms\"], cpus = \"{cpu}\", policy = \"fifo:{priority}\""));
    let start = later(dice);
    scene.task(&other, format!("hog = true, cpus = \"{cpu}\", {start}"));
    scene.features.push("NO_RT_RUNTIME_SHARE".into());
    scene.duration_ms = 2500;
    Plot {
        scene,
        task: worker.clone(),
        causes: vec!["rt-throttled"],
        levers: vec!["policy", "sched_rt_runtime_us", "RT_RUNTIME_SHARE", NONE],
        who: vec![worker, other],
        sleep: None,
    }
}

fn deadline_throttled(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = busy(dice, ALL, 1);
    let worker = dice.name();
    let (runtime, period) = (dice.between(5, 20), dice.between(60, 100));
    let times = dice.between(2, 3);
    let run = if planted { runtime * times } else { runtime / 2 };
    let sleep = dice.us(period * 1_000, period * 2_000);
    scene.task(
        &worker,
        format!(
            "do = [\"run {run}ms\", \"sleep {sleep}\"], policy = \"deadline\", dl_runtime = \"{runtime}ms\", dl_period = \"{period}ms\""
        ),
    );
    Plot {
        scene,
        task: worker.clone(),
        causes: vec!["deadline-throttled"],
        levers: vec!["policy"],
        who: vec![worker],
        sleep: None,
    }
}

fn higher_priority(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 4);
    let (worker, other, own, above) = (dice.name(), dice.name(), dice.between(10, 50), dice.between(1, 49));
    let priority = if planted { own + above } else { own - 5 };
    let (run, sleep, start) = (dice.us(15_000, 60_000), dice.us(15_000, 60_000), later(dice));
    scene.task(
        &other,
        format!("do = [\"run {run}\", \"sleep {sleep}\"], cpus = \"{cpu}\", policy = \"fifo:{priority}\", {start}"),
    );
    let (run, sleep) = (dice.us(50, 500), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], cpus = \"{cpu}\", policy = \"fifo:{own}\""));
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who: vec![other], sleep: None }
}

fn rr_turn(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 4);
    let (worker, priority, many) = (dice.name(), dice.between(10, 90), dice.between(1, 3));
    let (run, sleep) = (dice.us(50, 500), dice.us(20_000, 40_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], cpus = \"{cpu}\", policy = \"rr:{priority}\""));
    let mut who = Vec::new();
    let policy = if planted { format!("rr:{priority}") } else { "other".into() };
    for _ in 0..many {
        let (name, start) = (dice.name(), later(dice));
        scene.task(&name, format!("hog = true, cpus = \"{cpu}\", policy = \"{policy}\", {start}"));
        who.push(name);
    }
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who, sleep: None }
}

fn deadline_first(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = busy(dice, ALL, 1);
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (runtime, rest) = (dice.between(10, 40), dice.between(30, 60));
    let policy = match planted {
        true => format!("policy = \"deadline\", dl_runtime = \"{}ms\", dl_period = \"{}ms\"", runtime + 5, runtime + 5 + rest),
        false => "nice = 10".to_string(),
    };
    let start = later(dice);
    scene.task(&other, format!("do = [\"run {runtime}ms\", \"sleep {rest}ms\"], {policy}, {start}"));
    let (run, sleep) = (dice.us(50, 500), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"], policy = \"fifo:{priority}\""));
    Plot { scene, task: worker, causes: vec!["deadline"], levers: vec!["policy"], who: vec![other], sleep: None }
}

fn everywhere(dice: &mut Dice, planted: bool) -> Plot {
    let (mut scene, _) = quiet(dice, ALL, 1);
    scene.cpus = dice.between(2, 6);
    let (worker, priority) = (dice.name(), dice.between(1, 99));
    let (run, sleep) = (dice.us(50, 500), dice.us(3_000, 9_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}\", \"run {run}\"]"));
    let (run, pause, start) = (dice.us(30_000, 60_000), dice.us(20_000, 40_000), later(dice));
    let policy = if planted { format!("policy = \"fifo:{priority}\"") } else { "nice = 10".into() };
    let mut who = Vec::new();
    for _ in 0..scene.cpus {
        let name = dice.name();
        scene.task(&name, format!("do = [\"run {run}\", \"sleep {pause}\"], {start}, {policy}"));
        who.push(name);
    }
    Plot { scene, task: worker, causes: vec!["real-time"], levers: vec!["policy"], who, sleep: None }
}
