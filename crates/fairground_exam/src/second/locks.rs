//! Somebody else has the lock, in ways that programs have.

use super::{ALL, cpus, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use crate::remedy::NONE;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "convoy", sentence: "many tasks queue for one lock, each holds it for a ms", plant: convoy },
    Family { name: "writer-behind-readers", sentence: "a writer waits until a long reader has left", plant: writer },
    Family { name: "rtapp-mutex", sentence: "the holder of a mutex in an rt-app file waits for its CPU", plant: rtapp },
    Family { name: "holder-in-container", sentence: "the holder shares a quota with a batch job", plant: container },
];

fn convoy(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 8, 16);
    let mut scene = stage(dice, ALL, count);
    let (worker, lock, crowd, many) = (dice.name(), dice.name(), dice.name(), count - 2);
    scene.locks.push((lock.clone(), "mutex fifo".into()));
    let (hold, pause) = (dice.us(800, 2_000), dice.us(200, 900));
    let many_now = if planted { many } else { 2 };
    let with = |work: &str| format!("\"enter\", \"lock {lock}\", \"kernel {work}\", \"unlock {lock}\", \"leave\"");
    scene.task(&worker, format!("do = [{}, \"sleep 5ms\"]", with("50us")));
    scene.task(&crowd, format!("do = [{}, \"sleep {pause}\"], count = {many_now}", with(&hold)));
    let who: Vec<String> = (0..many).map(|row| format!("{crowd}-{row}")).collect();
    plot(scene, &worker, &["lock-held"], &[NONE], &who)
}

fn writer(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 6);
    let mut scene = stage(dice, ALL, count);
    let (worker, lock, reader) = (dice.name(), dice.name(), dice.name());
    scene.locks.push((lock.clone(), "rwsem".into()));
    let (long, pause) = (dice.us(8_000, 20_000), dice.us(3_000, 6_000));
    let long = if planted { long } else { "80us".into() };
    scene.task(
        &worker,
        format!(
            "do = [\"enter\", \"lock {lock} write\", \"kernel 40us\", \"unlock {lock}\", \"leave\", \"sleep 7ms\"], cpus = \"0\""
        ),
    );
    scene.task(
        &reader,
        format!(
            "do = [\"enter\", \"lock {lock} read\", \"kernel {long}\", \"unlock {lock}\", \"leave\", \"sleep {pause}\"], cpus = \"1\""
        ),
    );
    plot(scene, &worker, &["lock-held"], &[NONE], &[reader])
}

fn rtapp(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 4);
    let mut scene = stage(dice, ALL, count);
    let (worker, holder, hog) = (dice.name(), dice.name(), dice.name());
    let (hold, pause, priority) = (dice.between(1_000, 3_000), dice.between(1_000, 4_000), dice.between(1, 90));
    let (run, rest) = (dice.between(15_000, 30_000), dice.between(15_000, 30_000));
    let policy = match planted {
        true => format!("\"policy\" : \"SCHED_FIFO\", \"priority\" : {priority}"),
        false => "\"policy\" : \"SCHED_IDLE\"".into(),
    };
    scene.tables.push(format!(
        "[[workload]]\nrtapp_text = '''{{ \"tasks\" : {{\n\
         \"{worker}\" : {{ \"loop\" : -1, \"cpus\" : [ 0 ], \"lock\" : \"m\", \"run\" : 100, \"unlock\" : \"m\", \"sleep\" : 4000 }},\n\
         \"{holder}\" : {{ \"loop\" : -1, \"cpus\" : [ 1 ], \"lock\" : \"m\", \"run\" : {hold}, \"unlock\" : \"m\", \"sleep\" : {pause} }},\n\
         \"{hog}\" : {{ \"loop\" : -1, {policy}, \"cpus\" : [ 1 ], \"run\" : {run}, \"sleep\" : {rest} }} }} }}'''"
    ));
    let who = [format!("{holder}-1"), format!("{hog}-2")];
    plot(scene, &format!("{worker}-0"), &["lock-holder-preempted"], &["policy", "affinity"], &who)
}

fn container(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 8);
    let mut scene = stage(dice, ALL, count);
    scene.duration_ms = 1_000;
    let (worker, holder, batch, lock, pod) = (dice.name(), dice.name(), dice.name(), dice.name(), dice.name());
    scene.locks.push((lock.clone(), "futex".into()));
    let quota = dice.between(20, 40);
    scene.group(&format!("/{pod}"));
    if planted {
        scene.file(&format!("/{pod}"), format!("\"cpu.max\" = \"{quota}000 100000\""));
    }
    let hold = dice.us(1_000, 3_000);
    scene.task(&worker, format!("do = [\"lock {lock}\", \"run 50us\", \"unlock {lock}\", \"sleep 6ms\"]"));
    scene.task(
        &holder,
        format!("do = [\"lock {lock}\", \"run {hold}\", \"unlock {lock}\", \"run 400us\", \"sleep 500us\"], group = \"/{pod}\""),
    );
    scene.task(&batch, format!("do = [\"run 7ms\", \"sleep 1ms\"], group = \"/{pod}\", start = \"1ms\""));
    plot(scene, &worker, &["lock-holder-throttled"], &["cpu.max"], &[holder, batch])
}
