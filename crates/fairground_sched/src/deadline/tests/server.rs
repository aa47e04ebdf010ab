//! The server of the fair class: what counts for it, and when it begins, begins again and stops.

use super::{params, with};
use crate::deadline::{DlSe, DlTimer};
use crate::fair::DequeueFlags;
use crate::fair::select_task_rq::{TestMachine, cpu};
use crate::seam::FairServerWake;
use crate::task::TaskState;
use crate::{BalanceStep, Profile};
use fairground_model::{DlParams, MachineView, Policy, PrevState, RtPriority, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId};

const MS: u64 = 1_000_000;
const CPU: CpuId = CpuId::new(0);
const SERVER: DlSe = DlSe::FairServer(CPU);

/// A machine without an engine whose servers are at work.
fn machine(kernel: &str, cpus: usize) -> TestMachine {
    let mut machine = TestMachine::new(kernel, MachineView::flat(cpus, Ns(MS)));
    machine.sched.expect_policy(Policy::Fifo(RtPriority::new(1).unwrap()));
    machine
}

/// What is left to the server of CPU 0, us, and whether it is active.
fn left_us(machine: &TestMachine) -> (i64, bool) {
    let (runtime, _, active, _) = machine.sched.fair_server(CPU).unwrap();
    (runtime / 1000, active)
}

fn at_ms(machine: &mut TestMachine, ms: u64) {
    machine.now = Instant::from_ns(ms * MS);
}

/// Each server is a grant of 52,428 / 2^20 that 8 CPUs share: 6,553 each, so 52,424 is what all of them take of a CPU. One that reclaims
/// consumes 996,147 - (996,147 - 52,424) of that, times 269 / 256 for the limit of 95 %.
#[test]
fn grants_of_servers_are_divided_each_by_itself() {
    let mut machine = machine("v6.12", 8);
    let task = machine.running(1);
    let asks = DlParams { reclaim: true, ..params(1_000, 100_000, 100_000) };
    machine.sched.tasks[task].dl.set_params(&asks);
    let consumed = machine.on(1, |sched, cx| sched.dl_scaled_delta_exec(cx, DlSe::Task(task), 673_426));
    assert_eq!(consumed, (673_426 * (52_424 * 269 / 256)) >> 20);
    assert_eq!(consumed, 35_377);
}

/// A task runs 1 ms and sleeps. The stopper runs from 10 ms on, so 8 ms of idle time count. It leaves at 13 ms, and a newidle balance brings
/// a task then: 3 ms more.
#[test]
fn the_time_of_a_stopper_counts_for_the_first_task_that_comes_as_it_leaves() {
    for kernel in ["v6.12", "v6.18"] {
        let mut machine = machine(kernel, 1);
        let task = machine.running(0);
        at_ms(&mut machine, 2);
        machine.sleep(task);
        assert_eq!(left_us(&machine), (49_000, true), "{kernel}");
        at_ms(&mut machine, 10);
        machine.on(0, |sched, cx| sched.schedule_stopper(cx, None));
        assert_eq!(left_us(&machine), (41_000, true), "{kernel}");
        at_ms(&mut machine, 13);
        machine.sched.rqs[CPU].stopper_queued = false;
        let other = machine.sched.add_task(
            &fairground_model::TaskSpec::new("other", fairground_stdx::ProgramId::new(0)),
            fairground_stdx::CpuMask::only(CPU),
        );
        machine.on(0, |sched, cx| {
            sched.sched_fork(cx, None, other);
            sched.wake_up_new_task(cx, other, Some(CPU));
        });
        assert_eq!(left_us(&machine), (38_000, true), "{kernel}");
    }
}

/// Up to v6.18 idle time counts as a task comes. From then on each tick accounts it: 58 ms are more than the 49 that are left, so a period
/// begins, and 100 ms more leave nothing of it. When it would run, after 950 ms of the period, the CPU idles still, and it stops.
#[test]
fn a_server_stops_that_idles_through_a_period_from_v6_19_on() {
    for (kernel, accounts) in [("v6.18", false), ("v7.2", true)] {
        let mut machine = machine(kernel, 1);
        let task = machine.running(0);
        at_ms(&mut machine, 2);
        machine.sleep(task);
        assert_eq!(left_us(&machine), (49_000, true), "{kernel}");
        let ticks = [60, 160].map(|ms| {
            at_ms(&mut machine, ms);
            machine.on(0, |sched, cx| sched.sched_tick(cx));
            left_us(&machine)
        });
        let expected = if accounts { [(50_000, true), (0, true)] } else { [(49_000, true); 2] };
        assert_eq!(ticks, expected, "{kernel}");
        let due = machine.sched.rqs[CPU].dl.server.timer.unwrap();
        assert_eq!(due.ns(), if accounts { 1_010 * MS } else { 951 * MS }, "{kernel}");
        machine.now = due;
        machine.on(0, |sched, cx| sched.dl_timer(cx, DlTimer::Replenish(SERVER)));
        assert_eq!(left_us(&machine).1, !accounts, "{kernel}");
    }
}

/// It is not idle through a period if a task has come meanwhile: that puts it off as before.
#[test]
fn a_task_that_comes_ends_the_idleness_of_its_server() {
    let mut machine = machine("v7.2", 1);
    let task = machine.running(0);
    at_ms(&mut machine, 2);
    machine.sleep(task);
    at_ms(&mut machine, 60);
    machine.on(0, |sched, cx| sched.sched_tick(cx));
    assert!(machine.sched.rqs[CPU].dl.server.defer_idle);
    machine.running(0);
    assert!(!machine.sched.rqs[CPU].dl.server.defer_idle);
}

/// 40 of 50 ms are left at 50 ms before the deadline, which is more than the share of 5 %.
#[test]
fn a_server_with_too_much_left_begins_anew_or_takes_its_share() {
    let wake = |rule, ran| {
        let mut server = with(params(50_000, 1_000_000, 1_000_000), 40_000);
        (server.defer, server.defer_running) = (true, ran);
        server.wake(50 * MS, true, rule);
        (server.runtime, server.deadline / MS, server.throttled)
    };
    for rule in [FairServerWake::New, FairServerWake::PutOff, FairServerWake::Share] {
        assert_eq!(wake(rule, false), (50_000_000, 1_050, true), "{rule:?}: one that has not run is put off");
    }
    assert_eq!(wake(FairServerWake::New, true), (50_000_000, 1_050, false));
    assert_eq!(wake(FairServerWake::PutOff, true), (50_000_000, 1_050, true));
    // 52,428 / 2^20 of 50 ms.
    assert_eq!(wake(FairServerWake::Share, true), (2_499_961, 100, false));
}

/// A server that runs and uses its runtime up 2 ms after its deadline.
#[test]
fn a_server_that_is_late_runs_on_or_begins_a_period() {
    for (kernel, queued, deadline) in [("v6.12", true, 1_098), ("v6.18", false, 1_100)] {
        let mut machine = machine(kernel, 1);
        machine.running(0);
        at_ms(&mut machine, 100);
        machine.on(0, |sched, cx| sched.update_rq_clock(cx, CPU));
        let now = machine.sched.rqs[CPU].clocks.clock;
        machine.on(0, |sched, cx| sched.cancel_dl_timer(cx, SERVER));
        let server = &mut machine.sched.rqs[CPU].dl.server;
        (server.throttled, server.defer_armed, server.defer_running) = (false, false, true);
        (server.runtime, server.deadline) = (1_000_000, now - 2 * MS);
        machine.on(0, |sched, cx| sched.update_curr_dl_se(cx, SERVER, Ns(MS)));
        let server = &machine.sched.rqs[CPU].dl.server;
        let start = now - 100 * MS;
        assert_eq!((server.on_list, (server.deadline - start) / MS), (queued, deadline), "{kernel}");
    }
}

/// While it is queued it is one task more of its CPU, but not from v6.18 on. There a CPU that idles on leaves it queued.
#[test]
fn a_queued_server_is_a_task_of_its_cpu_and_from_v6_18_on_it_is_not() {
    for (kernel, counted, stays) in [("v6.12", 1, false), ("v6.18", 0, true)] {
        let mut machine = machine(kernel, 1);
        let task = machine.running(0);
        at_ms(&mut machine, 2);
        machine.sleep(task);
        machine.now = machine.sched.rqs[CPU].dl.server.timer.unwrap();
        machine.on(0, |sched, cx| sched.dl_timer(cx, DlTimer::Replenish(SERVER)));
        assert!(machine.sched.rqs[CPU].dl.server.on_list, "{kernel}");
        assert_eq!(machine.sched.rq(cpu(0)).nr_counted(), counted, "{kernel}");
        machine.on(0, |sched, cx| sched.schedule(cx));
        assert_eq!(left_us(&machine).1, stays, "{kernel}");
    }
}

/// The server is to run, and has no task. In 7.2 the CPU looks elsewhere for it, though a real-time task runs, and then the server stops.
/// Before, it stops at once.
#[test]
fn a_server_without_tasks_looks_elsewhere_in_v7_2() {
    for (kernel, looks) in [("v6.18", false), ("v7.2", true)] {
        let mut machine = machine(kernel, 1);
        let task = machine.running(0);
        at_ms(&mut machine, 2);
        machine.sleep(task);
        let policy = Policy::Fifo(RtPriority::new(1).unwrap());
        let spec = TaskSpec { policy, ..TaskSpec::new("runs", ProgramId::new(0)) };
        let runs = machine.sched.add_task(&spec, CpuMask::only(CPU));
        machine.begin(0, runs);
        machine.now = machine.sched.rqs[CPU].dl.server.timer.unwrap();
        machine.on(0, |sched, cx| sched.dl_timer(cx, DlTimer::Replenish(SERVER)));
        let leaving = machine.on(0, |sched, cx| sched.schedule_start(cx));
        assert_eq!(leaving.found_nothing(), looks, "{kernel}");
        assert_eq!(machine.sched.wants_newidle_balance(CPU, &leaving), looks, "{kernel}");
        assert_eq!(left_us(&machine).1, looks, "{kernel}: it has not stopped yet if it looks");
        let switch = machine.on(0, |sched, cx| sched.schedule_finish(cx, leaving)).unwrap();
        assert_eq!((switch.next, left_us(&machine).1), (Some(runs), false), "{kernel}");
    }
}

/// The server serves the last fair task beside a real-time one. From v6.12 on the CPU balances as that task leaves, before it picks the
/// other. An idle CPU that is to choose because of its server, which has nobody, goes on idling.
#[test]
fn a_cpu_balances_as_its_server_has_served_and_not_as_it_is_to_serve_nobody() {
    let fifo = Policy::Fifo(RtPriority::new(1).unwrap());
    let mut machine = machine("v6.12", 1);
    let served = machine.running(0);
    at_ms(&mut machine, 2);
    let spec = TaskSpec { policy: fifo, ..TaskSpec::new("waits", ProgramId::new(0)) };
    let waits = machine.sched.add_task(&spec, CpuMask::only(CPU));
    machine.on(0, |sched, cx| {
        sched.sched_fork(cx, None, waits);
        sched.wake_up_new_task(cx, waits, Some(CPU));
        sched.set_current_state(CPU, PrevState::Sleeping);
    });
    let leaving = machine.on(0, |sched, cx| sched.schedule_start(cx));
    assert!(leaving.found_nothing() && machine.sched.wants_newidle_balance(CPU, &leaving));
    machine.on(0, |sched, cx| while sched.newidle_balance(cx) == BalanceStep::More {});
    let switch = machine.on(0, |sched, cx| sched.schedule_finish(cx, leaving)).unwrap();
    assert_eq!((switch.prev, switch.next), (Some(served), Some(waits)));

    let mut machine = self::machine("v6.12", 1);
    let task = machine.running(0);
    at_ms(&mut machine, 2);
    machine.sleep(task);
    let idle_since = machine.sched.rqs[CPU].lb.idle_stamp;
    machine.now = machine.sched.rqs[CPU].dl.server.timer.unwrap();
    machine.on(0, |sched, cx| sched.dl_timer(cx, DlTimer::Replenish(SERVER)));
    assert_eq!(machine.sched.rq(cpu(0)).nr_counted(), 1);
    let leaving = machine.on(0, |sched, cx| sched.schedule_start(cx));
    assert!(!machine.sched.wants_newidle_balance(CPU, &leaving));
    machine.on(0, |sched, cx| sched.schedule_finish(cx, leaving)).unwrap();
    assert_eq!(machine.sched.rqs[CPU].lb.idle_stamp, idle_since);
}

/// CPU 1 has a real-time task that waits, while CPU 0 runs a more urgent one. That leaves under the stopper of CPU 0. Whoever is less urgent
/// than a stopper may come when that leaves.
#[test]
fn a_cpu_that_its_stopper_leaves_pulls_real_time_tasks() {
    for kernel in ["v6.1", "v6.12"] {
        let profile = Profile::parse(kernel).unwrap().with_feature("NO_RT_PUSH_IPI").unwrap();
        let mut machine = TestMachine::of(profile, MachineView::flat(2, Ns(MS)));
        let mut begin = |number, priority| {
            let policy = Policy::Fifo(RtPriority::new(priority).unwrap());
            let spec = TaskSpec { policy, ..TaskSpec::new("task", ProgramId::new(0)) };
            let task = machine.sched.add_task(&spec, CpuMask::first_n(2));
            machine.begin(number, task);
            task
        };
        let [urgent, _, waits] = [begin(0, 9), begin(1, 5), begin(1, 5)];
        machine.on(0, |sched, cx| {
            sched.schedule_stopper(cx, None);
            sched.deactivate_task(cx, urgent, DequeueFlags::SLEEP);
            sched.tasks[urgent].state = TaskState::Asleep;
        });
        assert_eq!(machine.sched.task(waits).cpu, cpu(1), "{kernel}");
        machine.on(0, |sched, cx| sched.schedule_start(cx));
        assert_eq!(machine.sched.task(waits).cpu, cpu(0), "{kernel}");
    }
}
