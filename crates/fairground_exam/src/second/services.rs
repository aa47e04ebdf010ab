//! Requests are late: from their arrival to a worker, and then for the worker's own reasons. Asked is about the run as a
//! whole; nobody names a task.

use super::{ALL, plot, stage};
use crate::delay::Measure;
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use crate::scene::Scene;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "service-workers",
        sentence: "too few workers, which wait for something else half of the time",
        plant: workers,
    },
    Family { name: "service-busy", sentence: "one worker computes for longer than requests are apart", plant: busy },
    Family { name: "service-quota", sentence: "the service has used up its quota", plant: quota },
    Family { name: "service-cpus", sentence: "the workers may use one CPU of several", plant: bound },
    Family { name: "service-neighbour", sentence: "a real-time neighbour takes the CPUs of the service", plant: neighbour },
];

/// A service with these arguments in the group `/service`; its clients have the last CPU for themselves.
fn serve(scene: &mut Scene, args: &str) {
    let last = scene.cpus - 1;
    scene.tasks.clear();
    scene.preemption = None;
    scene.duration_ms = 2_000;
    scene.measure = Some(Measure::Requests);
    scene.group("/service");
    let args = format!("{args}, client-cpus = \"{last}\"");
    scene.tables.push(format!("[[workload]]\nname = \"service\"\ngroup = \"/service\"\nargs = {{ {args} }}"));
}

fn names(count: u64) -> Vec<String> {
    (0..count).map(|row| format!("worker{row:02}")).collect()
}

/// Each request waits three times for a database. Two workers would be enough but for that.
fn workers(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 5);
    let (count, service, wait) = (dice.between(1, 3), dice.between(500, 1_500), dice.between(3_000, 8_000));
    let every = (service + 3 * wait) / count * dice.between(95, 115) / 100;
    let workers = if planted { count } else { 40 };
    serve(
        &mut scene,
        &format!(
            "every = \"{every}us\", service = \"{service}us\", spread = \"const\", waits = 3, wait = \"{wait}us\", \
             workers = {workers}, cpus = \"0-3\""
        ),
    );
    plot(scene, "", &["workers-busy"], &["workers"], &names(count))
}

fn busy(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 5);
    let service = dice.between(2_000, 9_000);
    let every = service * dice.between(85, 98) / 100;
    let workers = if planted { 1 } else { 8 };
    serve(
        &mut scene,
        &format!(
            "every = \"{every}us\", arrivals = \"{}\", service = \"{service}us\", spread = \"const\", workers = {workers}, cpus = \"0-3\"",
            dice.one_of(&["poisson", "fixed"])
        ),
    );
    plot(scene, "", &["workers-busy"], &["workers"], &names(1))
}

fn quota(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 5);
    let (service, demand) = (dice.between(2_000, 8_000), dice.between(50, 180));
    let every = service * 100 / demand;
    let limit = 1_000 * demand * dice.between(70, 110) / 100;
    let count = dice.between(4, 16);
    serve(&mut scene, &format!("every = \"{every}us\", service = \"{service}us\", workers = {count}, cpus = \"0-3\""));
    if planted {
        scene.file("/service", format!("\"cpu.max\" = \"{limit} 100000\""));
    }
    plot(scene, "", &["throttled", "burst"], &["cpu.max", "cpu.max.burst"], &names(count))
}

fn bound(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 5);
    let (service, count) = (dice.between(2_000, 8_000), dice.between(4, 12));
    let every = service * dice.between(100, 115) / 100;
    let cpus = if planted { "0" } else { "0-3" };
    serve(
        &mut scene,
        &format!("every = \"{every}us\", service = \"{service}us\", spread = \"const\", workers = {count}, cpus = \"{cpus}\""),
    );
    plot(scene, "", &["affinity"], &["affinity", "cpus"], &names(count))
}

fn neighbour(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, ALL, 5);
    let (service, count, priority) = (dice.between(500, 2_000), dice.between(4, 12), dice.between(1, 99));
    let (run, pause, other) = (dice.us(25_000, 60_000), dice.us(60_000, 150_000), dice.name());
    let every = service * dice.between(90, 200) / 100;
    serve(
        &mut scene,
        &format!("every = \"{every}us\", service = \"{service}us\", spread = \"const\", workers = {count}, cpus = \"0-3\""),
    );
    let policy = if planted { format!("fifo:{priority}") } else { "idle".into() };
    for cpu in 0..4 {
        scene.task(
            &format!("{other}{cpu}"),
            format!("do = [\"run {run}\", \"sleep {pause}\"], policy = \"{policy}\", cpus = \"{cpu}\""),
        );
    }
    let who: Vec<String> = (0..4).map(|cpu| format!("{other}{cpu}")).collect();
    plot(scene, "", &["real-time"], &["policy", "affinity"], &who)
}
