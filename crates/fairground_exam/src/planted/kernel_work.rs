//! The kernel works, and nobody may take its CPU.

use super::stage::{ALL, busy, later};
use super::{Family, Plot};
use crate::dice::Dice;
use crate::remedy::NONE;
use fairground_stdx::Ns;

pub(super) const FAMILIES: &[Family] = &[
    Family { name: "kernel-section", sentence: "a task is in the kernel, which does not preempt there", plant: section },
    Family { name: "preempt-off", sentence: "a task has preemption disabled", plant: nopreempt },
    Family { name: "irqs-off", sentence: "a task has interrupts off, so the timer is late", plant: irqoff },
    Family { name: "kernel-thread", sentence: "a kernel thread works", plant: thread },
];

/// A worker that wakes now and then, and another task whose steps are `does`.
fn plot(dice: &mut Dice, does: &str, more: &str, preemption: Option<&'static str>, causes: &[&'static str]) -> Plot {
    let (mut scene, cpu) = busy(dice, ALL, 8);
    scene.preemption = preemption;
    let (worker, other, start, pause) = (dice.name(), dice.name(), later(dice), dice.us(3_000, 12_000));
    let (run, sleep) = (dice.us(50, 300), dice.between(3_000, 9_000));
    scene.task(&worker, format!("do = [\"sleep {sleep}us\", \"run {run}\"], cpus = \"{cpu}\""));
    scene.task(&other, format!("do = [{does}, \"sleep {pause}\"], cpus = \"{cpu}\", {start}{more}"));
    let sleep = Some(Ns::from_us(sleep));
    Plot { scene, task: worker, causes: causes.to_vec(), levers: vec![NONE], who: vec![other], sleep }
}

fn section(dice: &mut Dice, planted: bool) -> Plot {
    let (length, coarse) = (dice.us(12_000, 30_000), dice.one_of(&["none", "voluntary"]));
    let preemption = if planted { coarse } else { "full" };
    let does = match dice.chance(50) {
        true => format!("\"kernel {length}\""),
        false => format!("\"enter\", \"kernel {length}\", \"leave\""),
    };
    Plot { levers: vec!["preemption"], ..plot(dice, &does, "", Some(preemption), &["kernel-section"]) }
}

fn nopreempt(dice: &mut Dice, planted: bool) -> Plot {
    let (length, step) = (dice.us(12_000, 30_000), if planted { "nopreempt" } else { "run" });
    plot(dice, &format!("\"{step} {length}\""), "", None, &["preempt-off"])
}

fn irqoff(dice: &mut Dice, planted: bool) -> Plot {
    let (length, step) = (dice.us(12_000, 30_000), if planted { "irqoff" } else { "run" });
    plot(dice, &format!("\"{step} {length}\""), "", None, &["irqs-off"])
}

fn thread(dice: &mut Dice, planted: bool) -> Plot {
    let (length, coarse) = (dice.us(12_000, 30_000), dice.one_of(&["none", "voluntary"]));
    let (step, more) = if planted { ("kernel", ", kthread = true") } else { ("run", "") };
    let does = format!("\"{step} {length}\"");
    Plot { levers: vec!["preemption"], ..plot(dice, &does, more, Some(coarse), &["kernel-thread", "kernel-section"]) }
}
