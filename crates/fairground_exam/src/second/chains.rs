//! The task is late because the one that should have woken it was late.

use super::{ALL, cpus, path, plot, stage};
use crate::delay::Measure;
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use crate::remedy::NONE;
use crate::scene::Scene;
use fairground_stdx::Ns;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "waker-throttled", sentence: "the producer of a pipe has used up its quota", plant: throttled },
    Family { name: "waker-real-time", sentence: "the producer waits for a real-time task on its CPU", plant: real_time },
    Family { name: "waker-idle-policy", sentence: "who wakes a futex is SCHED_IDLE and waits for a hog", plant: idle_policy },
    Family { name: "waker-timer", sentence: "the producer asked for a large timer slack", plant: slack },
    Family { name: "waker-lock", sentence: "the producer waits for a lock whose holder sleeps", plant: lock },
    Family { name: "relay-throttled", sentence: "a stage between producer and consumer is throttled", plant: relay },
    Family { name: "relay-heavier", sentence: "a stage shares its CPU with a heavier task", plant: relay_heavier },
    Family { name: "reply-throttled", sentence: "the server that should answer is throttled", plant: reply },
];

/// A pipe from a producer to a consumer: their steps but for the message. The round of the producer is on a grid.
struct Line {
    pipe: String,
    producer: String,
    consumer: String,
    every_us: u64,
    run_us: u64,
}

impl Line {
    fn draw(dice: &mut Dice, scene: &mut Scene) -> Line {
        let (pipe, producer, consumer) = (dice.name(), dice.name(), dice.name());
        let every_us = dice.between(3_000, 8_000);
        scene.pipes.push(format!("{pipe} = 64"));
        scene.measure = Some(Measure::Rounds { every: Ns::from_us(every_us) });
        Line { pipe, producer, consumer, every_us, run_us: dice.between(200, 900) }
    }
    /// The steps of the producer.
    fn program(&self, step: &str, pipe: &str) -> String {
        let Line { every_us, .. } = self;
        format!("program = [\"now r0\", \"timer r0 {every_us}us absolute\", {step}, \"write {pipe}\", \"jump 1\"]")
    }
    fn produce(&self, scene: &mut Scene, more: &str) {
        let step = format!("\"run {}us\"", self.run_us);
        scene.task(&self.producer, format!("{}{more}", self.program(&step, &self.pipe)));
    }
    fn consume(&self, dice: &mut Dice, scene: &mut Scene, pipe: &str) {
        let work = dice.us(50, 300);
        scene.task(&self.consumer, format!("do = [\"read {pipe}\", \"run {work}\"]"));
    }
}

/// A quota below what somebody wants, who uses so many us in `every_us`.
fn quota(dice: &mut Dice, run_us: u64, every_us: u64) -> (u64, u64) {
    let period = dice.one_of(&[50_000, 100_000, 100_000]);
    let wanted = period * run_us / every_us;
    ((wanted * dice.between(30, 70) / 100).max(1_000), period)
}

fn limit(scene: &mut Scene, path: &str, (quota, period): (u64, u64), planted: bool) {
    scene.group(path);
    if planted {
        scene.file(path, format!("\"cpu.max\" = \"{quota} {period}\""));
    }
}

fn throttled(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    let line = Line { run_us: dice.between(1_200, 2_500), ..Line::draw(dice, &mut scene) };
    let depth = dice.between(1, 2);
    let (group, quota) = (path(dice, depth), quota(dice, line.run_us, line.every_us));
    limit(&mut scene, &group, quota, planted);
    line.produce(&mut scene, &format!(", group = \"{group}\""));
    line.consume(dice, &mut scene, &line.pipe);
    plot(scene, &line.consumer, &["throttled"], &["cpu.max"], &[line.producer])
}

fn real_time(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    let line = Line::draw(dice, &mut scene);
    let (other, run, pause, priority) = (dice.name(), dice.us(12_000, 30_000), dice.us(20_000, 60_000), dice.between(1, 90));
    line.produce(&mut scene, ", cpus = \"1\"");
    line.consume(dice, &mut scene, &line.pipe);
    let policy = if planted { format!("fifo:{priority}") } else { "idle".into() };
    scene.task(&other, format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"1\", policy = \"{policy}\""));
    plot(scene, &line.consumer, &["real-time"], &["policy", "affinity"], &[other])
}

fn idle_policy(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 6);
    let mut scene = stage(dice, ALL, count);
    let (word, waker, waiter, hog) = (dice.name(), dice.name(), dice.name(), dice.name());
    let (every, run, work) = (dice.between(4_000, 9_000), dice.us(300, 900), dice.us(30, 200));
    scene.words.push(format!("{word} = 0"));
    scene.measure = Some(Measure::Rounds { every: Ns::from_us(every) });
    let policy = if planted { "idle" } else { "other" };
    let steps = format!(
        "\"now r0\", \"timer r0 {every}us absolute\", \"run {run}\", \"store {word} 1\", \"futex-wake {word} 1\", \"jump 1\""
    );
    scene.task(&waker, format!("program = [{steps}], cpus = \"1\", policy = \"{policy}\""));
    scene.task(&waiter, format!("do = [\"futex-wait {word} 0\", \"store {word} 0\", \"run {work}\"], cpus = \"0\""));
    scene.task(&hog, "hog = true, cpus = \"1\", start = \"700us\"");
    plot(scene, &waiter, &["idle-policy", "heavier-task"], &["policy", "affinity"], &[hog])
}

fn slack(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    let line = Line::draw(dice, &mut scene);
    let (slack, work, pause) = (dice.us(15_000, 40_000), dice.us(50, 200), dice.between(2_000, 6_000));
    scene.measure = Some(Measure::Rounds { every: Ns::from_us(pause + 200) });
    let slack = if planted { slack } else { "50us".into() };
    let does = format!("do = [\"sleep {pause}us\", \"run {work}\", \"write {}\"], timer_slack = \"{slack}\"", line.pipe);
    scene.task(&line.producer, does);
    line.consume(dice, &mut scene, &line.pipe);
    plot(scene, &line.consumer, &["timer-late"], &["slack"], &[])
}

fn lock(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 8);
    let mut scene = stage(dice, ALL, count);
    let line = Line::draw(dice, &mut scene);
    let (lock, holder, nap, pause) = (dice.name(), dice.name(), dice.us(15_000, 40_000), dice.us(10_000, 30_000));
    scene.locks.push((lock.clone(), "futex".into()));
    let step = format!("\"lock {lock}\", \"run {}us\", \"unlock {lock}\"", line.run_us);
    scene.task(&line.producer, line.program(&step, &line.pipe));
    line.consume(dice, &mut scene, &line.pipe);
    let does = match planted {
        true => format!("\"lock {lock}\", \"run 50us\", \"sleep {nap}\", \"unlock {lock}\""),
        false => format!("\"lock {lock}\", \"run 50us\", \"unlock {lock}\", \"sleep {nap}\""),
    };
    scene.task(&holder, format!("do = [\"sleep {pause}\", {does}]"));
    plot(scene, &line.consumer, &["lock-holder-asleep"], &[NONE], &[holder])
}

/// Producer, stage, consumer; `more` belongs to the stage.
fn staged(dice: &mut Dice, scene: &mut Scene, line: &Line, stage_us: u64, more: &str) -> String {
    let (second, stage) = (dice.name(), dice.name());
    scene.pipes.push(format!("{second} = 64"));
    line.produce(scene, ", cpus = \"0\"");
    scene.task(&stage, format!("do = [\"read {}\", \"run {stage_us}us\", \"write {second}\"]{more}", line.pipe));
    line.consume(dice, scene, &second);
    stage
}

fn relay(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 12);
    let mut scene = stage(dice, ALL, count);
    let line = Line::draw(dice, &mut scene);
    let work = dice.between(1_200, 2_500);
    let (group, quota) = (path(dice, 1), quota(dice, work, line.every_us));
    limit(&mut scene, &group, quota, planted);
    let stage = staged(dice, &mut scene, &line, work, &format!(", group = \"{group}\""));
    plot(scene, &line.consumer, &["throttled"], &["cpu.max"], &[stage])
}

fn relay_heavier(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 12);
    let mut scene = stage(dice, ALL, count);
    scene.duration_ms = 1_500;
    let line = Line::draw(dice, &mut scene);
    let (other, nice) = (dice.name(), dice.between(14, 20));
    let work = line.every_us / 4;
    staged(dice, &mut scene, &line, work, ", cpus = \"1\"");
    let nice = if planted { format!("-{nice}") } else { "10".into() };
    scene.task(&other, format!("hog = true, nice = {nice}, cpus = \"1\", start = \"900us\""));
    plot(scene, &line.consumer, &["heavier-task"], &["nice", "affinity"], &[other])
}

fn reply(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    let (client, server, ask, answer) = (dice.name(), dice.name(), dice.name(), dice.name());
    let (work, pause) = (dice.between(1_000, 3_000), dice.between(2_000, 5_000));
    scene.pipes.extend([format!("{ask} = 1"), format!("{answer} = 1")]);
    scene.measure = Some(Measure::Rounds { every: Ns::from_us(pause + 200) });
    let (group, quota) = (path(dice, 1), quota(dice, work, work + pause));
    limit(&mut scene, &group, quota, planted);
    scene.task(&client, format!("do = [\"write {ask}\", \"read {answer}\", \"run 100us\", \"sleep {pause}us\"]"));
    scene.task(&server, format!("do = [\"read {ask}\", \"run {work}us\", \"write {answer}\"], group = \"{group}\""));
    plot(scene, &client, &["throttled"], &["cpu.max"], &[server])
}
