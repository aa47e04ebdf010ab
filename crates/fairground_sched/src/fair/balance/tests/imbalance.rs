//! What a balance decides: between which groups and queues, and how much is to move.

use crate::fair::balance::MigrationType;
use crate::fair::balance::group::{GroupSums, group_has_capacity, group_is_overloaded};
use crate::fair::balance::load_based::SgLbStats;
use crate::fair::balance::reference::{Answer, State};
use crate::topology::CpuIdleType;
use crate::{Profile, Sched};
use fairground_machine::Machine;
use fairground_model::MachineView;
use fairground_stdx::{CpuId, Ns, SdId, TaskId};

/// The machine `view` under `kernel`, with a CPU's domain of that place, balanced by the CPU in that state.
fn domain(kernel: &str, view: MachineView, cpu: u32, place: usize, idle: CpuIdleType) -> State {
    let sched = Sched::new(Profile::parse(kernel).unwrap(), &view);
    let sd: SdId = sched.topology.domains_of(CpuId::new(cpu)).nth(place).unwrap();
    State::of(sched, view, sd, idle)
}

/// `tasks` tasks on `cpu`, which always want to run and did so for long.
fn busy(state: &mut State, cpu: u32, tasks: u32) {
    let cpu = CpuId::new(cpu);
    state.sched.group_stats.cpu_changes(cpu);
    let (rq, load) = (&mut state.sched.rqs[cpu], u64::from(tasks) * 1024);
    (rq.nr_running, rq.curr) = (tasks, (tasks > 0).then(|| TaskId::new(0)));
    rq.lb.cpu_load = [load; 5];
    let cfs = &mut state.sched.cfs_rqs[rq.cfs];
    (cfs.h_nr_running, cfs.h_nr_runnable) = (tasks, tasks);
    let avg = &mut state.sched.pelt_cfs[rq.cfs];
    (avg.load_avg, avg.runnable_avg, avg.util_avg) = (load, load, if tasks > 0 { 1024 } else { 0 });
}

fn two_cpus(kernel: &str, idle: CpuIdleType, tasks: [u32; 2]) -> Option<Answer> {
    let mut state = domain(kernel, MachineView::flat(2, Ns(4_000_000)), 0, 0, idle);
    (0..2).for_each(|cpu| busy(&mut state, cpu, tasks[cpu as usize]));
    state.ask()
}

fn from_cpu_1(migration: MigrationType, imbalance: i128) -> Option<Answer> {
    Some(Answer { group: 1, migration, imbalance, queue: Some(1) })
}

/// Model: 07 T04
#[test]
fn a_group_with_more_tasks_than_cpus_and_too_little_capacity_is_overloaded() {
    let by_load = |sum_nr_running, group_util| {
        SgLbStats { sum_nr_running, group_util, group_weight: 2, group_capacity: 1178, ..SgLbStats::EMPTY }.is_overloaded(117)
    };
    assert!(by_load(3, 1178), "117 800 < 137 826");
    assert!(!by_load(2, 1178));
    let sums = |sum_nr_running, group_util, group_runnable| GroupSums {
        group_weight: 2,
        group_capacity: 1178,
        group_util,
        group_runnable,
        sum_nr_running,
    };
    assert!(group_is_overloaded(117, &sums(3, 1178, 0)));
    assert!(!group_is_overloaded(117, &sums(2, 1178, 0)));
    assert!(group_is_overloaded(117, &sums(3, 0, 1400)), "137 826 < 140 000");
    assert!(!group_is_overloaded(117, &sums(3, 0, 1378)) && group_has_capacity(117, &sums(3, 0, 1378)));
    assert!(!group_has_capacity(117, &sums(3, 0, 1400)));
}

/// Model: 07 T05
#[test]
fn a_newly_idle_cpu_takes_one_of_two_tasks() {
    assert_eq!(two_cpus("v4.12", CpuIdleType::NewlyIdle, [0, 2]), from_cpu_1(MigrationType::Load, 1024));
}

/// Model: 07 T06
#[test]
fn a_busy_cpu_takes_a_task_from_one_that_has_more() {
    assert_eq!(two_cpus("v4.12", CpuIdleType::NotIdle, [1, 3]), from_cpu_1(MigrationType::Load, 1024));
    assert_eq!(two_cpus("v4.12", CpuIdleType::NotIdle, [1, 2]), from_cpu_1(MigrationType::Load, 1024), "raised from 512");
    assert_eq!(two_cpus("v4.12", CpuIdleType::NotIdle, [1, 1]), None);
}

/// Model: 07 T07
#[test]
fn an_idle_core_takes_one_of_two_tasks_of_a_core() {
    for kernel in ["v5.19", "v6.1"] {
        let mut state = domain(kernel, Machine::preset("fb-16c32t").unwrap().view(), 0, 1, CpuIdleType::Idle);
        busy(&mut state, 5, 1);
        assert_eq!(state.ask(), None, "{kernel}: one task is no imbalance");
        busy(&mut state, 21, 1);
        let expected = Answer { group: 5, migration: MigrationType::Task, imbalance: 1, queue: Some(5) };
        assert_eq!(state.ask(), Some(expected), "{kernel}: (2 - 0) >> 1");
    }
}

/// CPU 0 of two idle sockets, and so many tasks on the other.
fn sockets(kernel: &str, tasks: u32) -> Option<i128> {
    let mut state = domain(kernel, Machine::preset("spr-2x56").unwrap().view(), 0, 2, CpuIdleType::Idle);
    (56..56 + tasks).for_each(|cpu| busy(&mut state, cpu, 1));
    let answer = state.ask();
    assert!(answer.is_none_or(|answer| answer.migration == MigrationType::Task && answer.group == 1));
    answer.map(|answer| answer.imbalance)
}

/// Model: 07 T08
#[test]
fn a_few_tasks_on_another_node_are_left_there() {
    assert_eq!([4, 10].map(|tasks| sockets("v5.19", tasks)), [None, Some(5)], "4 >> 1 = 2 is left alone, 10 >> 1 is not");
    assert_eq!([2, 4, 10].map(|tasks| sockets("v6.14", tasks)), [None, Some(2), Some(5)], "2 is left alone before it is halved");
    assert_eq!([2, 3].map(|tasks| sockets("v5.10", tasks)), [None, Some(1)], "two tasks at the source are left alone");
}

/// Model: 07 T09
#[test]
fn the_imbalance_between_unequal_caches_counts_cores() {
    let mut view = MachineView::flat(6, Ns(4_000_000));
    for cpu in 0..6 {
        let llc = if cpu < 2 { 0..2 } else { 2..6 };
        view.cpus[CpuId::new(cpu)].llc = llc.map(CpuId::new).collect();
    }
    let mut state = domain("v6.14", view, 0, 1, CpuIdleType::Idle);
    busy(&mut state, 1, 1);
    (2..6).for_each(|cpu| busy(&mut state, cpu, if cpu < 4 { 2 } else { 1 }));
    // The other cache: 6 tasks on 4 cores; here 1 on 2: (2 * (2 * 6 - 4 * 1) + 6) / 6 = 3.
    assert_eq!(state.sibling_excess(), 3);
}

#[test]
fn an_unbalanced_pair_of_cpus_in_the_newer_form() {
    assert_eq!(two_cpus("v6.12", CpuIdleType::NewlyIdle, [0, 4]), from_cpu_1(MigrationType::Task, 2));
    assert_eq!(two_cpus("v6.12", CpuIdleType::NotIdle, [1, 1]), None);
    // 9 tasks on 8 CPUs: the mean is 1152, a busy CPU of one task may take 128.
    let mut state = domain("v6.1", MachineView::flat(8, Ns(4_000_000)), 0, 0, CpuIdleType::NotIdle);
    (0..8).for_each(|cpu| busy(&mut state, cpu, if cpu == 3 { 2 } else { 1 }));
    let answer = state.ask();
    assert_eq!(answer, Some(Answer { group: 3, migration: MigrationType::Load, imbalance: 128, queue: Some(3) }));
}

/// CPU 0 of 512 idles. CPU 1 of 1024 has one task and is full; two tasks wait on CPU 2 of 256. Up to 7.1 the first of a higher type is the
/// busiest, though the small CPU may take nothing from it, and so nothing is taken at all.
#[test]
fn a_full_cpu_that_is_bigger_hides_a_small_one_with_two_tasks() {
    let taken = |kernel: &str| {
        let mut view = MachineView::flat(3, Ns(4_000_000));
        for (cpu, capacity) in [(0, 512), (1, 1024), (2, 256)] {
            view.cpus[CpuId::new(cpu)].capacity = capacity;
        }
        let mut state = domain(kernel, view, 0, 0, CpuIdleType::NewlyIdle);
        (0..3).for_each(|cpu| busy(&mut state, cpu, cpu));
        let waits = state.sched.rqs[CpuId::new(2)].cfs;
        let avg = &mut state.sched.pelt_cfs[waits];
        (avg.util_avg, avg.runnable_avg) = (50, 50);
        state.ask().map(|answer| answer.group)
    };
    assert_eq!(["v6.1", "v6.18", "v7.2"].map(taken), [None, None, Some(2)]);
}

/// CPU 0 of 871 idles. CPU 1 of 1024 has two small tasks, so nobody counts as waiting there. Up to v5.12 a CPU is bigger by more than a
/// quarter only, so one of them is taken.
#[test]
fn a_cpu_that_is_bigger_by_less_than_a_quarter_gives_tasks_up_to_v5_12() {
    let taken = |kernel: &str, capacity: u32| {
        let mut view = MachineView::flat(2, Ns(4_000_000));
        view.cpus[CpuId::new(0)].capacity = capacity;
        let mut state = domain(kernel, view, 0, 0, CpuIdleType::NewlyIdle);
        busy(&mut state, 1, 2);
        let queue = state.sched.rqs[CpuId::new(1)].cfs;
        let avg = &mut state.sched.pelt_cfs[queue];
        (avg.util_avg, avg.runnable_avg) = (50, 50);
        state.ask().is_some()
    };
    assert_eq!(["v5.10", "v5.19", "v6.1"].map(|kernel| taken(kernel, 871)), [true, false, false]);
    assert_eq!(["v5.10", "v5.19", "v6.1"].map(|kernel| taken(kernel, 446)), [false; 3]);
    assert_eq!(["v5.10", "v5.19", "v6.1"].map(|kernel| taken(kernel, 1000)), [true; 3]);
}

/// The only task of CPU 1 is too big for it. Up to v5.12 CPU 0 helps if it has a quarter more, and then 5 %.
#[test]
fn a_cpu_of_a_fifth_more_helps_a_task_that_is_too_big_from_v5_13_on() {
    let taken = |kernel: &str, small: u32| {
        let mut view = MachineView::flat(2, Ns(4_000_000));
        view.cpus[CpuId::new(1)].capacity = small;
        let mut state = domain(kernel, view, 0, 0, CpuIdleType::NewlyIdle);
        busy(&mut state, 1, 1);
        state.sched.note_idleness(CpuId::new(1));
        state.sched.rqs[CpuId::new(1)].lb.misfit_task_load = 1024;
        state.ask().map(|answer| answer.migration)
    };
    assert_eq!(["v5.10", "v5.19"].map(|kernel| taken(kernel, 853)), [None, Some(MigrationType::Misfit)]);
    assert_eq!(["v5.10", "v5.19"].map(|kernel| taken(kernel, 768)), [Some(MigrationType::Misfit); 2]);
}

/// CPU 0, a thread of a core of 1024, idles; CPU 2 of 256 has a task that is too big for it. In 7.2 the other thread must idle too.
#[test]
fn a_task_that_is_too_big_goes_to_a_core_that_idles() {
    let taken = |kernel: &str, sibling: u32| {
        let mut view = MachineView::flat(4, Ns(4_000_000));
        for cpu in 0..4 {
            let core = if cpu < 2 { 0..2 } else { cpu..cpu + 1 };
            view.cpus[CpuId::new(cpu)].smt = core.map(CpuId::new).collect();
            view.cpus[CpuId::new(cpu)].capacity = if cpu < 2 { 1024 } else { 256 };
        }
        let mut state = domain(kernel, view, 0, 1, CpuIdleType::NewlyIdle);
        busy(&mut state, 1, sibling);
        busy(&mut state, 2, 1);
        [1, 2].into_iter().for_each(|cpu| state.sched.note_idleness(CpuId::new(cpu)));
        state.sched.rqs[CpuId::new(2)].lb.misfit_task_load = 1024;
        state.ask().map(|answer| answer.migration)
    };
    assert_eq!(["v6.18", "v7.2"].map(|kernel| taken(kernel, 0)), [Some(MigrationType::Misfit); 2]);
    assert_eq!(["v6.18", "v7.2"].map(|kernel| taken(kernel, 1)), [Some(MigrationType::Misfit), None]);
}

/// CPU 2 is about to idle, alone in its cluster. In the other one three tasks share CPU 0, and CPU 1 idles: it has an idle CPU more than the
/// cluster of CPU 2, which counts as busy until the switch. That difference is unsigned: (0 - 1) >> 1 of 32 bits.
#[test]
fn an_overloaded_group_with_more_idle_cpus_asks_for_all_tasks() {
    for kernel in ["v6.1", "v6.12", "v6.18", "v7.2"] {
        let mut view = MachineView::flat(3, Ns(4_000_000));
        for cpu in 0..3 {
            let cluster = if cpu < 2 { 0..2 } else { 2..3 };
            view.cpus[CpuId::new(cpu)].cluster = Some(cluster.map(CpuId::new).collect());
            // Where capacities differ tasks are not spread over the groups by their number.
            view.cpus[CpuId::new(cpu)].capacity = if cpu < 2 { 1024 } else { 512 };
        }
        let mut state = domain(kernel, view, 2, 0, CpuIdleType::NewlyIdle);
        busy(&mut state, 0, 3);
        state.sched.rqs[CpuId::new(2)].curr = Some(TaskId::new(0));
        [0, 2].into_iter().for_each(|cpu| state.sched.note_idleness(CpuId::new(cpu)));
        let expected = Answer { group: 1, migration: MigrationType::Task, imbalance: 2_147_483_647, queue: Some(0) };
        assert_eq!(state.ask(), Some(expected), "{kernel}");
    }
}
