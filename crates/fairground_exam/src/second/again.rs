//! Further scenes, written after the first answers to the others had been mended, to see whether what was mended is a class.

use super::{ALL, CFS, cpus, path, plot, stage};
use crate::delay::Measure;
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use fairground_stdx::Ns;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "heavy-tree", sentence: "each level of the other tree weighs a hundred times as much", plant: tree },
    Family { name: "weight-raised", sentence: "somebody raises the weight of another group in mid-run", plant: raised },
    Family { name: "own-group-of-many", sentence: "eight groups of equal weight share the CPU", plant: groups },
    Family { name: "short-period", sentence: "a quota with a period of 10 ms is smaller than one round", plant: short },
    Family {
        name: "reader-throttled",
        sentence: "the reader of a full pipe is throttled, so that its writer waits",
        plant: full,
    },
    Family { name: "producer-interrupted", sentence: "devices interrupt the producer of a pipe", plant: interrupted },
    Family { name: "barrier", sentence: "the other thread at a barrier waits for a real-time task", plant: barrier },
    Family { name: "resume", sentence: "who should resume the thread is preempted by a real-time task", plant: resume },
    Family { name: "holder-stolen", sentence: "the host takes the CPU of a lock's holder away", plant: stolen },
    Family { name: "holder-behind-heavier", sentence: "the holder of a lock shares its CPU with a heavier task", plant: holder },
    Family { name: "two-locks", sentence: "the holder of a second lock is preempted", plant: two_locks },
    Family { name: "equal-priority", sentence: "real-time tasks of one priority take long turns", plant: equal },
    Family { name: "inside-real-time", sentence: "a more urgent real-time task runs", plant: urgent },
    Family { name: "collector", sentence: "collector threads compute beside the workers of a service", plant: collector },
    Family { name: "shrunk-machine", sentence: "three of four CPUs go off line", plant: shrunk },
];

fn tree(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 2);
    scene.duration_ms = 2_000;
    let (top, middle, own) = (path(dice, 1), path(dice, 1), path(dice, 2));
    let (worker, hog, weight) = (dice.name(), dice.name(), dice.between(4_000, 10_000));
    scene.file(&top, format!("\"cpu.weight\" = {}", if planted { weight } else { 100 }));
    scene.file(&format!("{top}{middle}"), format!("\"cpu.weight\" = {weight}"));
    scene.group(&own);
    let run = dice.us(2_000, 5_000);
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 300us\"], group = \"{own}\", cpus = \"0\""));
    scene.task(&hog, format!("hog = true, count = 2, group = \"{top}{middle}\", start = \"1ms\""));
    plot(scene, &worker, &["heavier-task"], &["cpu.weight", "affinity"], &[format!("{hog}-0"), format!("{hog}-1")])
}

fn raised(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 1);
    scene.duration_ms = 2_500;
    let (own, others) = (path(dice, 2), path(dice, 1));
    let (worker, hog, weight, at) = (dice.name(), dice.name(), dice.between(3_000, 10_000), dice.us(300_000, 700_000));
    scene.group(&own);
    scene.group(&others);
    let run = dice.us(2_000, 5_000);
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 300us\"], group = \"{own}\""));
    scene.task(&hog, format!("hog = true, group = \"{others}\", start = \"1ms\""));
    if planted {
        scene.changes.push((at, format!("cpu.weight {others} {weight}")));
    }
    plot(scene, &worker, &["heavier-task"], &["cpu.weight"], &[hog])
}

fn groups(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, CFS, 1);
    scene.tasks.clear();
    scene.duration_ms = 1_500;
    let (worker, own, run) = (dice.name(), path(dice, 1), dice.us(4_000, 8_000));
    scene.group(&own);
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep 200us\"], group = \"{own}\""));
    let mut who = Vec::new();
    for row in 0..7 {
        let (name, group) = (dice.name(), path(dice, 1));
        scene.group(&group);
        if planted || row == 0 {
            scene.task(&name, format!("hog = true, group = \"{group}\", start = \"1ms\""));
        }
        who.push(name);
    }
    plot(scene, &worker, &["queue-length", "tick"], &["cpu.weight", "policy"], &who)
}

fn short(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 6);
    let mut scene = stage(dice, ALL, count);
    let (worker, group, quota) = (dice.name(), path(dice, 2), dice.between(1_000, 2_500));
    scene.group(&group);
    if planted {
        scene.file(&group, format!("\"cpu.max\" = \"{quota} 10000\""));
    }
    let (run, pause) = (dice.us(4_000, 9_000), dice.us(2_000, 9_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"], group = \"{group}\""));
    plot(scene, &worker.clone(), &["throttled"], &["cpu.max"], &[worker])
}

fn full(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 8);
    let mut scene = stage(dice, ALL, count);
    let (writer, reader, pipe, group) = (dice.name(), dice.name(), dice.name(), path(dice, 1));
    let (every, work, quota) = (dice.between(3_000, 6_000), dice.between(1_200, 2_000), dice.between(8, 18));
    scene.pipes.push(format!("{pipe} = 1"));
    scene.measure = Some(Measure::Rounds { every: Ns::from_us(every) });
    scene.group(&group);
    if planted {
        scene.file(&group, format!("\"cpu.max\" = \"{quota}000 100000\""));
    }
    scene.task(&writer, format!("do = [\"sleep {every}us\", \"run 100us\", \"write {pipe}\"]"));
    scene.task(&reader, format!("do = [\"read {pipe}\", \"run {work}us\"], group = \"{group}\""));
    plot(scene, &writer, &["throttled"], &["cpu.max"], &[reader])
}

fn interrupted(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 8);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    let (producer, consumer, pipe) = (dice.name(), dice.name(), dice.name());
    let (period, every, length) = (dice.between(3_000, 6_000), dice.us(30_000, 60_000), dice.us(6_000, 12_000));
    scene.pipes.push(format!("{pipe} = 16"));
    scene.measure = Some(Measure::Rounds { every: Ns::from_us(period) });
    scene.task(
        &producer,
        format!(
            "program = [\"now r0\", \"timer r0 {period}us absolute\", \"run 800us\", \"write {pipe}\", \"jump 1\"], cpus = \"1\""
        ),
    );
    scene.task(&consumer, format!("do = [\"read {pipe}\", \"run 100us\"], cpus = \"0\""));
    if planted {
        scene
            .workloads
            .push(("irq-noise", format!("cpus = \"1\", every = \"{every}\", jitter = \"9ms\", length = \"{length}\"")));
    }
    plot(scene, &consumer, &["interrupt"], &["no-interrupts", "affinity"], &[])
}

/// Two threads of an rt-app file on their CPUs, and a third that takes the CPU of the second one.
fn rtapp(dice: &mut Dice, planted: bool, first: &str, second: &str, every: u64) -> Plot {
    let count = cpus(dice, 3, 6);
    let mut scene = stage(dice, ALL, count);
    let (one, two, other) = (dice.name(), dice.name(), dice.name());
    let (run, rest, priority) = (dice.between(12_000, 25_000), dice.between(30_000, 60_000), dice.between(1, 90));
    let policy = match planted {
        true => format!("\"policy\" : \"SCHED_FIFO\", \"priority\" : {priority}"),
        false => "\"policy\" : \"SCHED_IDLE\"".into(),
    };
    let (first, second) = (first.replace("ONE", &one), second.replace("ONE", &one));
    scene.measure = Some(Measure::Rounds { every: Ns::from_us(every) });
    scene.tables.push(format!(
        "[[workload]]\nrtapp_text = '''{{ \"tasks\" : {{\n\
         \"{one}\" : {{ \"loop\" : -1, \"cpus\" : [ 0 ], {first} }},\n\
         \"{two}\" : {{ \"loop\" : -1, \"cpus\" : [ 1 ], {second} }},\n\
         \"{other}\" : {{ \"delay\" : 5000, \"loop\" : -1, {policy}, \"cpus\" : [ 1 ], \"run\" : {run}, \"sleep\" : {rest} }} }} }}'''"
    ));
    plot(scene, &format!("{one}-0"), &["real-time"], &["policy", "affinity"], &[format!("{other}-2")])
}

fn barrier(dice: &mut Dice, planted: bool) -> Plot {
    let (run, pause) = (dice.between(300, 900), dice.between(2_000, 5_000));
    let both = format!("\"run\" : {run}, \"barrier\" : \"b\", \"sleep\" : {pause}");
    rtapp(dice, planted, &both, &both, pause + run + 100)
}

fn resume(dice: &mut Dice, planted: bool) -> Plot {
    let (run, period) = (dice.between(300, 900), dice.between(3_000, 6_000));
    let first = format!("\"suspend\" : \"ONE\", \"run\" : {run}");
    let second = format!("\"run\" : {run}, \"resume\" : \"ONE\", \"timer\" : {{ \"ref\" : \"t\", \"period\" : {period} }}");
    rtapp(dice, planted, &first, &second, period)
}

fn stolen(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 4);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    let (worker, holder, lock) = (dice.name(), dice.name(), dice.name());
    scene.locks.push((lock.clone(), "futex".into()));
    let (hold, pause, every, length) = (dice.us(600, 1_500), dice.us(300, 900), dice.us(40_000, 80_000), dice.us(9_000, 20_000));
    scene.task(&worker, format!("do = [\"lock {lock}\", \"run 50us\", \"unlock {lock}\", \"sleep 3ms\"], cpus = \"0\""));
    scene.task(&holder, format!("do = [\"lock {lock}\", \"run {hold}\", \"unlock {lock}\", \"sleep {pause}\"], cpus = \"1\""));
    if planted {
        scene.workloads.push(("steal", format!("cpus = \"1\", every = \"{every}\", jitter = \"9ms\", length = \"{length}\"")));
    }
    plot(scene, &worker, &["stolen"], &["no-steal"], &[])
}

fn holder(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 4);
    let mut scene = stage(dice, ALL, count);
    scene.duration_ms = 1_500;
    let (worker, holder, hog, lock) = (dice.name(), dice.name(), dice.name(), dice.name());
    scene.locks.push((lock.clone(), "futex".into()));
    let (hold, pause, nice) = (dice.us(4_000, 9_000), dice.us(2_000, 5_000), dice.between(12, 20));
    scene.task(&worker, format!("do = [\"lock {lock}\", \"run 50us\", \"unlock {lock}\", \"sleep 3ms\"], cpus = \"0\""));
    scene.task(&holder, format!("do = [\"lock {lock}\", \"run {hold}\", \"unlock {lock}\", \"sleep {pause}\"], cpus = \"1\""));
    let nice = if planted { format!("-{nice}") } else { "19".into() };
    scene.task(&hog, format!("hog = true, cpus = \"1\", nice = {nice}, start = \"2ms\""));
    plot(scene, &worker, &["lock-holder-preempted"], &["nice", "affinity", "policy"], &[holder, hog])
}

fn two_locks(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 4, 6);
    let mut scene = stage(dice, ALL, count);
    let (worker, middle, last, other) = (dice.name(), dice.name(), dice.name(), dice.name());
    let (a, b) = (dice.name(), dice.name());
    scene.locks.extend([(a.clone(), "futex".to_string()), (b.clone(), "futex".to_string())]);
    let (run, rest, priority, hold) =
        (dice.us(10_000, 25_000), dice.us(20_000, 50_000), dice.between(1, 90), dice.us(900, 2_000));
    scene.task(&worker, format!("do = [\"lock {a}\", \"run 50us\", \"unlock {a}\", \"sleep 3ms\"], cpus = \"0\""));
    let inner = format!("\"lock {a}\", \"lock {b}\", \"run 100us\", \"unlock {b}\", \"unlock {a}\"");
    scene.task(&middle, format!("do = [{inner}, \"sleep 2ms\"], cpus = \"2\""));
    scene.task(&last, format!("do = [\"lock {b}\", \"run {hold}\", \"unlock {b}\", \"sleep 1ms\"], cpus = \"1\""));
    let policy = if planted { format!("rr:{priority}") } else { "idle".into() };
    scene.task(&other, format!("do = [\"sleep {rest}\", \"run {run}\"], cpus = \"1\", policy = \"{policy}\""));
    plot(scene, &worker, &["lock-holder-preempted"], &["policy", "affinity"], &[middle, last, other])
}

fn equal(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 1);
    let (worker, crowd, many, priority) = (dice.name(), dice.name(), dice.between(2, 4), dice.between(1, 90));
    let (run, pause) = (dice.us(8_000, 15_000), dice.us(40_000, 70_000));
    let others = if planted { priority } else { priority.saturating_sub(10).max(1) };
    let priority = if planted { priority } else { 95 };
    scene.task(&worker, format!("do = [\"run 300us\", \"sleep 3ms\"], policy = \"fifo:{priority}\""));
    scene.task(&crowd, format!("do = [\"sleep {pause}\", \"run {run}\"], policy = \"fifo:{others}\", count = {many}"));
    let who: Vec<String> = (0..many).map(|row| format!("{crowd}-{row}")).collect();
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &who)
}

fn urgent(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 3);
    let mut scene = stage(dice, ALL, count);
    let (worker, other, low, high) = (dice.name(), dice.name(), dice.between(5, 40), dice.between(50, 90));
    let (run, pause) = (dice.us(9_000, 20_000), dice.us(40_000, 70_000));
    let high = if planted { high } else { 1 };
    scene.task(&worker, format!("do = [\"run 500us\", \"sleep 4ms\"], cpus = \"0\", policy = \"fifo:{low}\""));
    scene.task(&other, format!("do = [\"sleep {pause}\", \"run {run}\"], cpus = \"0\", policy = \"fifo:{high}\""));
    plot(scene, &worker, &["real-time"], &["policy", "affinity"], &[other])
}

fn collector(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 3);
    scene.tasks.clear();
    scene.preemption = None;
    scene.duration_ms = 2_500;
    scene.measure = Some(Measure::Requests);
    let (service, work) = (dice.between(2_000, 4_000), dice.between(800, 1_500));
    let every = service * dice.between(120, 200) / 100;
    let threads = if planted { 12 } else { 0 };
    scene.tables.push(format!(
        "[[workload]]\nname = \"service\"\nargs = {{ every = \"{every}us\", service = \"{service}us\", spread = \"const\", workers = 12, \
         cpus = \"0-1\", client-cpus = \"2\", gc-threads = {threads}, gc-every = \"1s\", gc-work = \"{work}ms\" }}"
    ));
    let who: Vec<String> = (0..12).flat_map(|row| [format!("gc{row:02}"), format!("worker{row:02}")]).collect();
    let causes = ["queue-length", "earlier-deadline", "protected", "not-eligible", "wakeup-granularity", "tick"];
    plot(scene, "", &causes, &["nice", "policy", "affinity"], &who)
}

fn shrunk(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 4);
    scene.tasks.clear();
    (scene.shape, scene.duration_ms) = (0, 900);
    let (worker, hog, at) = (dice.name(), dice.name(), dice.us(100_000, 200_000));
    let (run, pause) = (dice.us(4_000, 9_000), dice.us(300, 900));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"]"));
    scene.task(&hog, "hog = true, count = 3, start = \"1ms\"");
    if planted {
        (1..4).for_each(|cpu| scene.changes.push((at.clone(), format!("offline {cpu}"))));
    }
    let who: Vec<String> = (0..3).map(|row| format!("{hog}-{row}")).collect();
    plot(scene, &worker, &["cpu-offline"], &["online"], &who)
}
