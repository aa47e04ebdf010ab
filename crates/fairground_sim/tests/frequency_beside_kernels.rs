//! What showed in frequencies when kernels' own schedulers ran beside this one: a test for each, without a kernel.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use crate::common::{Build, US, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Governor, GovernorKind, Sink, TaskSet, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns};

/// Changes of the frequency of CPU 0 in kHz, and when the task ended in ns.
#[derive(Default)]
struct Watch {
    khz: Vec<(u64, u32)>,
    end: Option<u64>,
}

impl Sink for Watch {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::CpuFrequency { cpu, khz } if cpu == CpuId::new(0) => self.khz.push((at.ns(), khz)),
            TraceEvent::SchedProcessExit { .. } => self.end = Some(at.ns()),
            _ => {}
        }
    }
}

/// A CPU with 20 of 1024 of the capacity. Its first task is taken for half of that, which 729 of 1200 MHz suffice for; then the fair server
/// begins, reserves 51 and sets the rate limit aside, so within the same call the CPU goes to 1200 MHz. 20 us of work at full capacity
/// take 20 us * 1024 / 20 there, and nearly two thirds more at 729 MHz.
#[test]
fn the_later_of_two_frequencies_of_one_call_holds() {
    let mut machine = Machine::preset("hikey").unwrap();
    (machine.hz, machine.tick, machine.costs) = (250, Ns(4_000_000), CostModel::preset("zero").unwrap());
    machine.policies[0].governor = Governor::of(GovernorKind::Schedutil);
    machine.policies[0].fast_switch = true;
    for cpu in machine.cpus.iter_mut() {
        cpu.capacity = 20;
    }
    let mut tasks = TaskSet::default();
    tasks.pinned("task", 0, vec![work(20 * US)]);
    let profile = Profile::parse("v6.12").unwrap();
    let setup = Setup { machine, profile, tasks, seed: 1, duration: Ns(3_000_000), paranoid: true };
    let mut watch = Watch::default();
    Simulation::new(setup).unwrap_or_else(|mistakes| panic!("{mistakes}")).run(&mut watch).unwrap();
    assert_eq!(watch.khz.iter().take_while(|row| row.0 == 0).map(|row| row.1).collect::<Vec<_>>(), [729_000, 1_200_000]);
    assert_eq!(watch.end, Some(20 * US * 1024 / 20));
}
