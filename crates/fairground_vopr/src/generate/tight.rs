//! Groups with tight quotas on CPUs that go off line: a CPU leaves while several of its queues are throttled.

use super::programs::hog;
use crate::dice::Dice;
use fairground_model::{CpuMax, Program, Start, TaskGroupSpec, TaskSet, TaskSpec};
use fairground_stdx::{Id, Instant, Ns, TgId};

/// Adds such groups, each with a task or more that never sleeps, to some systems that have none and several CPUs. Whether it did.
pub(crate) fn tight(dice: &mut Dice, cpus: usize, duration: Ns, set: &mut TaskSet) -> bool {
    if cpus < 2 || !dice.once_in(16) || !set.groups.is_empty() {
        return false;
    }
    for row in 0..dice.between(2, 4) {
        let parent = (row > 0 && dice.once_in(4)).then(|| TgId::from_index(set.groups.len() - 1));
        let above = parent.map_or("", |parent| &set.groups[parent].name);
        let mut group = TaskGroupSpec::new(format!("{above}/tight{row}"), parent);
        let (quota, period) = (dice.time(1_000, 5_000), dice.between(20_000, 200_000));
        group.limit = CpuMax { quota: Some(Ns::from_us(quota)), period: Ns::from_us(period), burst: Ns::ZERO };
        let group = set.groups.push(group);
        for _ in 0..dice.between(1, cpus.min(8) as u64) {
            // A file has a program for each task.
            let program = set.programs.push(Program { code: hog().into() });
            let mut spec = TaskSpec::new(format!("task{}", set.tasks.len()), program);
            spec.group = Some(group);
            spec.start = Start::At(Instant::from_ns(dice.time(0, duration.0 / 4)));
            set.tasks.push(spec);
        }
    }
    true
}
