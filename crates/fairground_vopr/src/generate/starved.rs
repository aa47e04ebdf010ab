//! Systems in which tasks of higher classes leave fair ones nothing, for longer than the server of the fair class waits: 950 ms.

use super::programs::hog;
use super::real_time::rt_policy;
use crate::dice::Dice;
use fairground_model::{Program, Start, TaskSet, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Ns};

/// Most CPUs of such a system: a run takes seconds.
const MOST_CPUS: usize = 4;

/// How long such a system runs; none: it is an ordinary one.
pub(crate) fn starved(dice: &mut Dice, cpus: usize) -> Option<Ns> {
    (cpus <= MOST_CPUS && dice.once_in(64)).then(|| Ns(dice.between(1_000_000_000, 2_300_000_000)))
}

/// Adds a real-time task to each CPU, or to most, which never sleeps.
pub(crate) fn hogs(dice: &mut Dice, cpus: usize, set: &mut TaskSet) {
    for cpu in (0..cpus as u32).map(CpuId::new) {
        if dice.once_in(8) {
            continue;
        }
        // A file has a program for each task.
        let program = set.programs.push(Program { code: hog().into() });
        let mut spec = TaskSpec::new(format!("task{}", set.tasks.len()), program);
        spec.policy = rt_policy(dice);
        spec.start = Start::At(fairground_stdx::Instant::from_ns(dice.time(0, 50_000_000)));
        spec.affinity = dice.once_in(2).then(|| CpuMask::only(cpu));
        set.tasks.push(spec);
    }
}
