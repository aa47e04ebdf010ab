//! The search by capacity of 7.2 beside that of kernels before.

use super::machine::{JIFFY, TestMachine, cpu};
use fairground_model::{MachineView, Reason};
use fairground_stdx::CpuMask;

/// CPUs 0 to 3 are threads of two cores of 446, and 4 to 7 of two of 1024, under one cache.
fn machine(kernel: &str) -> TestMachine {
    let mut view = MachineView::flat(8, JIFFY);
    for number in 0..8 {
        let row = &mut view.cpus[cpu(number)];
        row.smt = CpuMask::parse_list(["0-1", "2-3", "4-5", "6-7"][number as usize / 2]).unwrap();
        row.capacity = if number < 4 { 446 } else { 1024 };
    }
    TestMachine::new(kernel, view)
}

/// A sleeper of CPU 0 with that utilisation, beside whom these CPUs are busy.
fn chosen(kernel: &str, util: u32, busy: &[u32]) -> (u32, Reason) {
    let mut machine = machine(kernel);
    let task = machine.sleeper(0);
    machine.busy(busy.iter().copied());
    let avg = &mut machine.sched.pelt_se[machine.sched.tasks[task].se];
    (avg.util_avg, avg.util_est.ewma, avg.util_est.enqueued) = (util, 0, 0);
    machine.search(task, 0, 0)
}

/// Model: 14 T07
#[test]
fn idle_cores_come_before_threads_beside_busy_ones_in_7_2() {
    // CPU 1 is busy beside CPU 0, so another core is taken.
    assert_eq!(
        ["v6.18", "v7.2"].map(|kernel| chosen(kernel, 100, &[1])),
        [(0, Reason::SelectPrevIdle), (2, Reason::SelectIdleCapacity)]
    );
    // A task of 600 needs 1024. CPU 5 is beside a busy one, 6 is not.
    assert_eq!(["v6.18", "v7.2"].map(|kernel| chosen(kernel, 600, &[1, 4]).0), [5, 6]);
    // If only CPU 3, too small, is on an idle core, that comes before CPU 5, which fits beside a busy one.
    assert_eq!(["v6.18", "v7.2"].map(|kernel| chosen(kernel, 600, &[1, 4, 6, 7]).0), [5, 2]);
}

/// As in the search of a cache the last balance says at how many CPUs it may look. Up to 7.1 there is no limit here.
///
/// Model: 14 T07
#[test]
fn sis_util_limits_the_search_by_capacity_in_7_2() {
    for (kernel, bound, expected) in [("v6.18", 0, 4), ("v7.2", 0, 0), ("v7.2", 3, 1), ("v7.2", 8, 4)] {
        let mut machine = machine(kernel);
        let task = machine.sleeper(0);
        machine.busy([0, 2, 3]);
        let avg = &mut machine.sched.pelt_se[machine.sched.tasks[task].se];
        (avg.util_avg, avg.util_est.ewma, avg.util_est.enqueued) = (600, 0, 0);
        machine.sched.topology.shared.iter_mut().for_each(|shared| (shared.nr_idle_scan, shared.has_idle_cores) = (bound, false));
        let (chosen, looks) = machine.looks(|machine| machine.search(task, 0, 0));
        assert_eq!(chosen.0, expected, "{kernel} {bound}");
        // One look for all that are known by name.
        let least = if kernel == "v7.2" { u64::from(bound.min(5)) } else { 5 };
        assert_eq!(looks, 1 + least, "{kernel} {bound}");
    }
}
