//! Short forms for programs with locks.

use crate::common::{Log, free_machine, profile};
use fairground_model::{Instr, LockKind, LockMode, LockSpec, Mode, TaskSet};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation, Stopped};
use fairground_stdx::{LockId, Ns};

pub(crate) fn kern(ns: u64) -> Instr {
    Instr::Run { work: Ns(ns), mode: Mode::Kernel }
}
pub(crate) fn read(lock: LockId) -> Instr {
    Instr::Lock { lock, mode: LockMode::Read }
}
pub(crate) fn write(lock: LockId) -> Instr {
    Instr::Lock { lock, mode: LockMode::Write }
}
pub(crate) fn unlock(lock: LockId) -> Instr {
    Instr::Unlock { lock }
}
/// A lock that is strictly first come first served.
pub(crate) fn fifo(set: &mut TaskSet, name: &str, kind: LockKind) -> LockId {
    set.locks.push(LockSpec::new(name, kind).fifo())
}
/// A system call with a body.
pub(crate) fn syscall(body: &[Instr]) -> Vec<Instr> {
    [&[Instr::Enter], body, &[Instr::Leave]].concat()
}
/// Everything again and again.
pub(crate) fn for_ever(mut code: Vec<Instr>) -> Vec<Instr> {
    code.push(Instr::Jump { to: 0 });
    code
}
/// Sleeps for `start`, then does `body`.
pub(crate) fn later(start: u64, body: Vec<Instr>) -> Vec<Instr> {
    [vec![Instr::Sleep { time: Ns(start) }], body].concat()
}

/// A kernel with that preemption model, and periods of quota at whole multiples of them.
pub(crate) fn kernel(name: &str, preemption: &str) -> Profile {
    let profile = profile(name).with_seam("period_phase", "boot").unwrap();
    profile.with_seam("preemption", preemption).unwrap()
}

pub(crate) fn setup(set: TaskSet, cpus: usize, profile: Profile, ms: u64) -> Setup {
    Setup { machine: free_machine(cpus, 1000), profile, tasks: set, seed: 1, duration: Ns::from_ms(ms), paranoid: true }
}
pub(crate) fn run(set: TaskSet, cpus: usize, ms: u64) -> (Log, Simulation) {
    let (log, simulation, _) = Log::and_simulation(setup(set, cpus, kernel("v6.12", "full"), ms));
    (log, simulation)
}
/// Why a run cannot go on.
pub(crate) fn stopped(set: TaskSet) -> Stopped {
    Simulation::new(setup(set, 2, kernel("v6.12", "full"), 10)).unwrap().run(&mut Log::default()).unwrap_err()
}
