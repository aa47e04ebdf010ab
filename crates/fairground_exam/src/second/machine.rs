//! The machine: too small, too slow, disturbed, or with coarse ticks.

use super::{ALL, cpus, plot, plot_of_sleeper, stage};
use crate::delay::Measure;
use crate::dice::Dice;
use crate::planted::{Family, Plot};
use fairground_stdx::Ns;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "few-cpus", sentence: "more tasks compute than there are CPUs", plant: few },
    Family { name: "slow-cpu", sentence: "a low frequency makes the work of a real-time task long", plant: slow },
    Family { name: "hotplug", sentence: "all but one of the CPUs of a task go off line", plant: hotplug },
    Family { name: "interrupts-on-both", sentence: "devices interrupt both CPUs that a task may use", plant: interrupts },
    Family { name: "steal-burst", sentence: "the host takes the CPU away, rarely and for long", plant: steal },
    Family { name: "coarse-ticks", sentence: "requests end at ticks of 10 ms only", plant: ticks },
    Family { name: "lazy", sentence: "lazy preemption of a task in the kernel waits for a tick of 10 ms", plant: lazy },
    Family { name: "deep-idle-message", sentence: "a message wakes a CPU from a deep idle state", plant: idle },
    Family { name: "own-slack", sentence: "the task asked for a large timer slack itself", plant: slack },
];

fn few(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 2);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    let (worker, crowd, tasks) = (dice.name(), dice.name(), count * dice.between(5, 8));
    let (run, pause) = (dice.us(4_000, 9_000), dice.us(100, 900));
    if !planted {
        scene.cpus = 2 * tasks + 2;
    }
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"]"));
    scene.task(&crowd, format!("hog = true, count = {tasks}, start = \"1ms\""));
    let who: Vec<String> = (0..tasks).map(|row| format!("{crowd}-{row}")).collect();
    let causes = ["queue-length", "earlier-deadline", "protected", "not-eligible", "wakeup-granularity", "tick"];
    plot(scene, &worker, &causes, &["cpus", "nice", "policy"], &who)
}

fn slow(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 3);
    let mut scene = stage(dice, ALL, count);
    (scene.tasks, scene.shape) = (Vec::new(), 0);
    let last = count - 1;
    scene.machine.push(format!("governor = \"{}\"", if planted { "powersave" } else { "performance" }));
    scene.machine.push(format!(
        "[[machine.policy]]\ncpus = \"0-{last}\"\nkhz = [400000, 1200000, 2800000]\nmillivolt = [700, 800, 1000]\n\
         dynamic_power_coefficient = 200\ntransition_latency = \"100us\"\nfast_switch = true"
    ));
    let (worker, other, priority) = (dice.name(), dice.name(), dice.between(1, 99));
    let (run, pause) = (dice.us(3_000, 6_000), dice.us(30_000, 60_000));
    scene.task(&worker, "do = [\"run 100us\", \"sleep 4ms\"], cpus = \"0\"");
    scene.task(
        &other,
        format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"0\", policy = \"fifo:{priority}\", start = \"2ms\""),
    );
    plot(scene, &worker, &["slow-cpu", "real-time"], &["governor", "frequency", "policy", "affinity"], &[other])
}

fn hotplug(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 4, 8);
    let mut scene = stage(dice, ALL, count);
    let (worker, hog, at) = (dice.name(), dice.name(), dice.us(80_000, 200_000));
    scene.duration_ms = 900;
    let (run, pause) = (dice.us(3_000, 8_000), dice.us(500, 2_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"], cpus = \"1-2\""));
    scene.task(&hog, "hog = true, cpus = \"1\", count = 3");
    let who: Vec<String> = (0..3).map(|row| format!("{hog}-{row}")).collect();
    if planted {
        scene.changes.push((at, "offline 2".into()));
    }
    plot(scene, &worker, &["cpu-offline"], &["online"], &who)
}

fn interrupts(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 2, 6);
    let mut scene = stage(dice, ALL, count);
    scene.machine.push(format!("irq_time_accounting = {}", dice.chance(50)));
    let (worker, run, sleep) = (dice.name(), dice.us(100, 500), dice.between(800, 2_500));
    let (every, length) = (dice.us(9_000, 25_000), dice.us(3_000, 8_000));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}us\"], cpus = \"0-1\""));
    if planted {
        scene.workloads.push(("irq-noise", format!("cpus = \"0-1\", every = \"{every}\", random = true, length = \"{length}\"")));
    }
    plot_of_sleeper(plot(scene, &worker, &["interrupt"], &["no-interrupts", "affinity"], &[]), sleep)
}

fn steal(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 4);
    let mut scene = stage(dice, ALL, count);
    let (worker, run, sleep) = (dice.name(), dice.us(500, 2_000), dice.between(1_000, 3_000));
    let (every, length, untold) = (dice.us(120_000, 200_000), dice.us(20_000, 60_000), dice.chance(50));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {sleep}us\"]"));
    if planted {
        scene
            .workloads
            .push(("steal", format!("every = \"{every}\", jitter = \"30ms\", length = \"{length}\", untold = {untold}")));
    }
    plot_of_sleeper(plot(scene, &worker, &["stolen"], &["no-steal"], &[]), sleep)
}

fn ticks(dice: &mut Dice, planted: bool) -> Plot {
    // The latest kernel ends slices by a timer of its own.
    let mut scene = stage(dice, &["6.6", "6.12", "6.14", "6.18"], 1);
    scene.hz = if planted { 100 } else { 1000 };
    scene.tunable("sched_base_slice_ns", "1ms");
    let (worker, crowd, tasks) = (dice.name(), dice.name(), dice.between(3, 6));
    let (run, pause) = (dice.us(3_000, 6_000), dice.us(100, 400));
    scene.task(&worker, format!("do = [\"run {run}\", \"sleep {pause}\"]"));
    scene.task(&crowd, format!("hog = true, count = {tasks}, start = \"1ms\""));
    let who: Vec<String> = (0..tasks).map(|row| format!("{crowd}-{row}")).collect();
    plot(scene, &worker, &["tick"], &["hz", "HRTICK"], &who)
}

fn lazy(dice: &mut Dice, planted: bool) -> Plot {
    let mut scene = stage(dice, &["6.14", "6.18", "7.2"], 1);
    scene.preemption = Some(if planted { "lazy" } else { "full" });
    scene.hz = 100;
    let (worker, hog, sleep) = (dice.name(), dice.name(), dice.us(4_000, 9_000));
    scene.task(&worker, format!("do = [\"run 100us\", \"sleep {sleep}\"], slice = \"300us\""));
    scene.task(&hog, "do = [\"kernel 20ms..40ms\"], start = \"1ms\"");
    plot(scene, &worker, &["resched-pending", "kernel-section"], &["preemption", "hz"], &[hog])
}

fn idle(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 3, 8);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    let exit = dice.us(400, 900);
    scene.machine.push(format!("idle_governor = \"{}\"", if planted { "deepest" } else { "shallowest" }));
    for (name, exit, residency) in [("C1", "2us", "2us"), ("C6", exit.as_str(), "1ms")] {
        scene.machine.push(format!(
            "[[machine.idle_state]]\nname = \"{name}\"\nexit_latency = \"{exit}\"\ntarget_residency = \"{residency}\""
        ));
    }
    let (first, worker, every) = (dice.name(), dice.name(), dice.between(10_000, 30_000));
    let pipe = dice.name();
    scene.pipes.push(format!("{pipe} = 8"));
    scene.task(
        &first,
        format!(
            "program = [\"now r0\", \"timer r0 {every}us absolute\", \"run 100us\", \"write {pipe}\", \"jump 1\"], cpus = \"0\""
        ),
    );
    scene.task(&worker, format!("do = [\"read {pipe}\", \"run 100us\"], cpus = \"2\""));
    plot(scene, &worker, &["idle-exit"], &["no-deep-idle"], &[])
}

fn slack(dice: &mut Dice, planted: bool) -> Plot {
    let count = cpus(dice, 1, 4);
    let mut scene = stage(dice, ALL, count);
    scene.tasks.clear();
    let (worker, slack, sleep) = (dice.name(), dice.us(10_000, 40_000), dice.between(4_000, 9_000));
    let slack = if planted { slack } else { "50us".into() };
    scene.task(&worker, format!("program = [\"slack {slack}\", \"sleep {sleep}us\", \"run 200us\", \"jump 1\"]"));
    scene.measure = Some(Measure::Delays { sleep: Some(Ns::from_us(sleep)) });
    plot(scene, &worker, &["timer-late"], &["slack"], &[])
}
