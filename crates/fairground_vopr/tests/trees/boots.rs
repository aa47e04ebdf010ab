//! What a boot leaves behind that no view shows.

use super::builds::core;
use super::driver::BOOT_NS;
use fairground_kcore::{Fork, Hardware, KernelCore, Wake, Why};

/// A task that may run on `cpu` only, and runs there.
fn runs_on(core: &mut KernelCore, cpu: u32) -> u32 {
    let task = core.fork(0, BOOT_NS, &Fork { outside: true, ..Fork::default() }).unwrap();
    core.affinity(0, BOOT_NS, task, &[cpu]).unwrap();
    assert_eq!(core.wake_up_new_task(0, BOOT_NS, task).unwrap(), cpu);
    core.schedule(cpu, BOOT_NS, Why::Preempted).unwrap();
    task
}

/// CPU 0 and 1 are threads of a core, the other three are cores. A sleeper of CPU 2 wakes while all but CPU 4 are busy, and the search may
/// look at one CPU, which is busy. It may look at all if it is known that a core idles, which a CPU notes as it goes idle, but only where
/// some core has two threads. With CPU 1 off line none has. A tree that has counted that core twice takes it for one still
/// (`sched_smt_present`), and finds CPU 4.
#[test]
fn a_core_of_two_threads_counts_once() {
    for series in ["6.1", "6.12", "6.18"] {
        let woken = |threads: u32| {
            let mut core = core(series);
            let cores = vec![0, 0, 1, 2, 3];
            core.boot(&Hardware { cluster: cores.clone(), core: cores, ..Hardware::flat(5, BOOT_NS) }).unwrap();
            if threads == 1 {
                core.hotplug(1, BOOT_NS, false).unwrap();
            } else {
                runs_on(&mut core, 1);
            }
            let sleeper = runs_on(&mut core, 2);
            core.schedule(2, BOOT_NS, Why::Sleeps).unwrap();
            core.affinity(0, BOOT_NS, sleeper, &[0, 2, 3, 4]).unwrap();
            for busy in [0, 2, 3] {
                runs_on(&mut core, busy);
            }
            let last_balance = core.domain(2, 0).unwrap().last_balance;
            core.set_domain(2, 0, last_balance, Some(1)).unwrap();
            core.wake(0, BOOT_NS + 1_000_000, sleeper, Wake::Timer).unwrap().cpu
        };
        assert_eq!(woken(2), 4, "{series}");
        assert_ne!(woken(1), 4, "{series}: no core has two threads");
    }
}
