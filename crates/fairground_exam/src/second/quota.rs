//! Limits of CPU time, as containers have them.

use super::{ALL, cpus, path, plot, stage};
use crate::dice::Dice;
use crate::planted::{Family, Plot};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "pod-and-container",
        sentence: "a pod has a tighter limit than its container, and a sidecar uses it up",
        plant: pod,
    },
    Family { name: "rtapp-quota", sentence: "threads of an rt-app file share a quota", plant: rtapp },
    Family { name: "many-threads-quota", sentence: "threads on many CPUs use a quota up in a few ms", plant: threads },
    Family { name: "quota-lowered", sentence: "somebody lowers the limit in mid-run, on the group above", plant: lowered },
];

fn pod(dice: &mut Dice, planted: bool) -> Plot {
    let kernels = ["5.19", "6.1", "6.6", "6.12", "6.14", "6.18", "7.2"];
    let count = cpus(dice, 2, 6);
    let mut scene = stage(dice, &kernels, count);
    let (pod, app, side) = (path(dice, 1), dice.name(), dice.name());
    let limit = dice.between(25, 50);
    let (worker, sidecar) = (dice.name(), dice.name());
    let (own, beside) = (format!("{pod}/{app}"), format!("{pod}/{side}"));
    scene.file(&own, "\"cpu.max\" = \"90000 100000\"");
    scene.file(&own, "\"cpu.max.burst\" = 40000");
    scene.group(&beside);
    if planted {
        scene.file(&pod, format!("\"cpu.max\" = \"{limit}000 100000\""));
    }
    let (run, pause) = (dice.us(200, 800), dice.us(3_000, 8_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"], group = \"{own}\""));
    scene.task(&sidecar, format!("hog = true, group = \"{beside}\", nice = 10, start = \"2ms\""));
    plot(scene, &worker, &["throttled"], &["cpu.max"], &[sidecar])
}

fn rtapp(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    let (worker, batch, group) = (dice.name(), dice.name(), dice.name());
    let (run, period, quota) = (dice.between(200, 900), dice.between(5_000, 12_000), dice.between(15, 35));
    let (chunk, rest) = (dice.between(8_000, 20_000), dice.between(500, 2_000));
    let file = if planted { format!(", \"cpu.max\" : \"{quota}000 100000\"") } else { String::new() };
    scene.tables.push(format!(
        "[[workload]]\nrtapp_text = '''{{ \"global\" : {{ \"duration\" : -1 }}, \"tasks\" : {{\n\
         \"{worker}\" : {{ \"loop\" : -1, \"taskgroup\" : {{ \"path\" : \"/{group}\"{file} }}, \"run\" : {run}, \
         \"timer\" : {{ \"ref\" : \"unique\", \"period\" : {period} }} }},\n\
         \"{batch}\" : {{ \"loop\" : -1, \"taskgroup\" : {{ \"path\" : \"/{group}\" }}, \"run\" : {chunk}, \"sleep\" : {rest} }} }} }}'''"
    ));
    plot(scene, &format!("{worker}-0"), &["throttled"], &["cpu.max"], &[format!("{batch}-1")])
}

fn threads(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 8, 24);
    let mut scene = stage(dice, ALL, count);
    let (worker, crowd, group) = (dice.name(), dice.name(), path(dice, 2));
    let (quota, run, pause) = (dice.between(100, 300), dice.us(2_000, 6_000), dice.us(500, 2_000));
    scene.group(&group);
    if planted {
        scene.file(&group, format!("\"cpu.max\" = \"{quota}000 100000\""));
    }
    let threads = count - 2;
    scene.task(&worker, format!("do = [\"run 150us\", \"sleep 4ms\"], group = \"{group}\""));
    scene.task(&crowd, format!("do = [\"run {run}\", \"sleep {pause}\"], group = \"{group}\", count = {threads}"));
    let who: Vec<String> = (0..threads).map(|row| format!("{crowd}-{row}")).collect();
    plot(scene, &worker, &["throttled"], &["cpu.max"], &who)
}

fn lowered(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    scene.duration_ms = 1_000;
    let (top, below) = (path(dice, 1), path(dice, 1));
    let group = format!("{top}{below}");
    let (worker, at, quota) = (dice.name(), dice.us(200_000, 400_000), dice.between(10, 30));
    scene.file(&top, "\"cpu.max\" = \"150000 100000\"");
    scene.group(&group);
    let (run, pause) = (dice.between(3_000, 9_000), dice.between(1_000, 4_000));
    scene.task(&worker, format!("do = [\"run {run}us\", \"sleep {pause}us\"], group = \"{group}\""));
    if planted {
        scene.changes.push((at, format!("cpu.max {top} {quota}000 100000")));
    }
    plot(scene, &worker.clone(), &["throttled"], &["cpu.max"], &[worker])
}
