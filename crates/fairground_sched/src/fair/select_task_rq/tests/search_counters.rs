//! Searches that go by the utilisation of the cache domain, their counters, and the moments at which they read.

use super::machine::{TestMachine, cpu, flat8, preset};
use crate::fair::select_task_rq::Wake;
use fairground_model::{Meter, Op, Reason, WakeContext};
use fairground_stdx::{CpuId, Ns, TaskId};

const PATCHED: &str = "v5.19+sis-util";

fn set_nr_idle_scan(machine: &mut TestMachine, nr: u32) {
    machine.sched.topology.shared.iter_mut().for_each(|shared| shared.nr_idle_scan = nr);
}

fn set_idle_cores(machine: &mut TestMachine, any: bool) {
    machine.sched.topology.shared.iter_mut().for_each(|shared| shared.has_idle_cores = any);
}

fn has_idle_cores(machine: &TestMachine) -> bool {
    machine.sched.topology.shared.iter().any(|shared| shared.has_idle_cores)
}

/// Searches, domain searches, looks and failures of what `act` does.
fn counted<R>(machine: &mut TestMachine, act: impl FnOnce(&mut TestMachine) -> R) -> (R, [u64; 4]) {
    let before = machine.sched.sis_stats();
    let result = act(machine);
    let sis = machine.sched.sis_stats().since(&before);
    (result, [sis.sis_search, sis.sis_domain_search, sis.sis_scanned, sis.sis_failed])
}

/// Model: 08 T08
#[test]
fn search_counters_count_every_look_on_cpus_without_threads() {
    let mut machine = TestMachine::new(PATCHED, flat8());
    machine.busy(0..8);
    let task = TaskId::new(0);
    set_nr_idle_scan(&mut machine, 8);
    machine.sleep(TaskId::new(3));
    let (chosen, sis) = counted(&mut machine, |machine| machine.search(task, 0, 0));
    assert_eq!((chosen, sis), ((3, Reason::SelectIdleCpu), [1, 1, 4, 0]), "the third CPU behind the target");
    let (chosen, sis) = counted(&mut machine, |machine| machine.search(task, 0, 3));
    assert_eq!((chosen, sis), ((3, Reason::SelectTargetIdle), [1, 0, 1, 0]), "the target itself");
    machine.busy([3]);
    set_nr_idle_scan(&mut machine, 3);
    let (chosen, sis) = counted(&mut machine, |machine| machine.search(task, 0, 0));
    assert_eq!((chosen, sis), ((0, Reason::SelectTarget), [1, 1, 4, 1]), "cut after three");
    set_nr_idle_scan(&mut machine, 0);
    let (chosen, sis) = counted(&mut machine, |machine| machine.search(task, 0, 0));
    assert_eq!((chosen, sis), ((0, Reason::SelectTarget), [1, 1, 1, 1]), "no look is allowed");
}

/// Model: 08 T08
#[test]
fn search_counters_count_every_look_on_cores_with_threads() {
    let mut machine = TestMachine::new(PATCHED, preset("lap8"));
    // Cores {0,4} {1,5} {2,6} {3,7}.
    machine.busy(0..8);
    let task = TaskId::new(0);
    set_nr_idle_scan(&mut machine, 0);
    for (any, looks) in [(false, 3), (true, 1)] {
        set_idle_cores(&mut machine, any);
        let (chosen, sis) = counted(&mut machine, |machine| machine.search(task, 0, 0));
        assert_eq!((chosen, sis), ((0, Reason::SelectTarget), [1, 1, looks, 1]));
        assert_eq!(has_idle_cores(&machine), any, "who does not search learns nothing");
    }
    set_nr_idle_scan(&mut machine, 8);
    [2, 6].into_iter().for_each(|number| machine.sleep(TaskId::new(number)));
    let (chosen, sis) = counted(&mut machine, |machine| machine.search(task, 0, 0));
    assert_eq!((chosen, sis), ((2, Reason::SelectIdleCore), [1, 1, 5, 0]), "two busy threads, then two idle ones");
}

/// All CPUs busy and nothing to be searched: a synchronous wake-up stays where it is.
///
/// Model: 06 T14
#[test]
fn a_sync_wake_up_stays_on_a_busy_cpu_if_nothing_may_be_searched() {
    for (any, looks) in [(true, 1), (false, 3)] {
        let mut machine = TestMachine::new(PATCHED, preset("llc112"));
        machine.busy((0..112).filter(|&number| number != 3));
        let task = machine.sleeper(3);
        machine.busy([3]);
        set_nr_idle_scan(&mut machine, 0);
        set_idle_cores(&mut machine, any);
        let wake = Wake::Ttwu { sync: true, context: WakeContext::Softirq };
        let (chosen, sis) = counted(&mut machine, |machine| machine.choose(task, 3, wake));
        assert_eq!((chosen, sis), ((3, Reason::SelectTarget), [1, 1, looks, 1]));
        assert_eq!(has_idle_cores(&machine), any);
    }
}

/// With both switches on the counter is that of SIS_UTIL, and the search is still measured for SIS_PROP.
#[test]
fn both_limits_at_once() {
    let mut machine = TestMachine::new(PATCHED, flat8()).with_feature("SIS_PROP");
    machine.busy(0..8);
    set_nr_idle_scan(&mut machine, 7);
    machine.meter = priced(80);
    let llc = machine.sched.topology.cpus[cpu(0)].sd_llc.unwrap();
    machine.sched.topology.domains[llc].avg_scan_cost = 800;
    let (_, sis) = counted(&mut machine, |machine| machine.search(TaskId::new(0), 0, 0));
    assert_eq!(sis, [1, 1, 8, 1], "SIS_PROP would have cut it");
    assert_eq!(machine.sched.topology.domains[llc].avg_scan_cost, 800, "cut searches are not measured");
    set_nr_idle_scan(&mut machine, 8);
    counted(&mut machine, |machine| machine.search(TaskId::new(0), 0, 0));
    assert_eq!(machine.sched.topology.domains[llc].avg_scan_cost, 800 - (800 - 8 * 80) / 8);
}

/// Looks cost so many ns.
fn priced(look: u64) -> Meter {
    let mut prices = [0; Op::COUNT];
    prices[Op::ScanCpu as usize] = look * 1000;
    Meter::new(prices)
}

/// A search on CPU 0 of a busy machine that is interrupted behind two looks, after which `meanwhile` happens.
fn interrupted(kernel: &str, meanwhile: impl FnOnce(&mut TestMachine)) -> (CpuId, u64, u64) {
    const LOOK: u64 = 100;
    let mut machine = TestMachine::new(kernel, flat8());
    machine.busy(0..8);
    let task = machine.sleeper(0);
    let (long, jiffies) = (1_000_000_000, machine.jiffies);
    let lb = &mut machine.sched.rqs[cpu(0)].lb;
    (lb.avg_idle, lb.wake_avg_idle, lb.wake_stamp) = (long, long, jiffies);
    machine.meter = priced(LOOK);
    let wake = Wake::Ttwu { sync: false, context: WakeContext::Task };
    let until = machine.now + Ns(2 * LOOK + 1);
    let begun = machine.on(0, |sched, cx| {
        cx.until = until;
        sched.select_task_rq(cx, task, wake)
    });
    assert_eq!(begun, None, "{kernel}");
    // The one look at all CPUs known by name, and two more.
    let paid = machine.meter.take_ps() / 1000;
    assert_eq!(paid, 3 * LOOK, "{kernel}");
    machine.now += Ns(paid);
    meanwhile(&mut machine);
    machine.meter.take_ps();
    let chosen = machine.on(0, |sched, cx| sched.continue_search(cx)).expect("nothing else happens");
    let llc = machine.sched.topology.cpus[cpu(0)].sd_llc.unwrap();
    (chosen, machine.meter.take_ps() / 1000, machine.sched.topology.domains[llc].avg_scan_cost)
}

/// Each run queue is read at its own moment: what becomes idle behind the search is missed, before it it is found, and
/// what was idle when the search began may be taken when it arrives.
#[test]
fn a_search_reads_each_run_queue_at_its_moment() {
    for kernel in ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.14"] {
        let goes_idle = |number: u32| move |machine: &mut TestMachine| machine.sleep(TaskId::new(number));
        let (chosen, ..) = interrupted(kernel, goes_idle(6));
        assert_eq!(chosen, cpu(6), "{kernel}");
        let (chosen, ..) = interrupted(kernel, goes_idle(1));
        assert_eq!(chosen, cpu(0), "{kernel}: the search has passed it");
    }
}

/// The clock of a search goes on over an interruption.
#[test]
fn an_interrupted_search_measures_all_of_itself() {
    let (chosen, rest, average) = interrupted("v5.19", |_| {});
    assert_eq!((chosen, rest), (cpu(0), 6 * 100), "from 3 on to the end, and CPU 0");
    assert_eq!(average, 8 * 100 / 8, "an eighth of what eight looks cost");
}
