//! Settings that change in mid-run, by the task itself and from outside: nice, policy, affinity, speed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, asleep_until, busy_until, cpu, free_machine, hogs, priced_machine, setup, sleep, work};
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{Change, Instr, Mode, NullSink, Policy, Reason, RtPriority, Start, TaskGroupSpec, TaskSet, TraceEvent};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId};

fn task(row: u32) -> TaskId {
    TaskId::new(row)
}

fn migrations(log: &Log, of: TaskId) -> Vec<(u64, CpuId, CpuId)> {
    let migration = |row: &(u64, CpuId, TraceEvent)| match row.2 {
        TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } if task == of => Some((row.0, orig_cpu, dest_cpu)),
        _ => None,
    };
    log.events.iter().filter_map(migration).collect()
}

fn decided(log: &Log, reason: Reason, of: TaskId) -> usize {
    let is_it = |row: &&(u64, CpuId, TraceEvent)| matches!(row.2, TraceEvent::Decision(decision) if decision.reason == reason && decision.a == of.get());
    log.events.iter().filter(is_it).count()
}

/// Run time of two hogs of one CPU before and after 500 ms, in ms, with a change of the second at 500 ms.
fn halves(change: Change) -> [u64; 2] {
    let mut set = hogs(&[0, 0]);
    set.at(500 * MS, change);
    let log = Log::of(setup(free_machine(1, 1000), "v5.19", set, 1_500 * MS));
    let second = |from, to| log.runtime_in(task(1), from..to) / MS;
    [second(0, 500 * MS), second(500 * MS, 1_500 * MS)]
}

#[test]
fn nice_changes_the_share_from_then_on() {
    let [before, after] = halves(Change::Nice { task: task(1), nice: 5 });
    assert!((244..=256).contains(&before), "{before} ms of 500");
    // 335 / (1024 + 335) of 1000 ms, within a slice.
    assert!((230..=260).contains(&after), "{after} ms of 1000");
    let [_, after] = halves(Change::Nice { task: task(1), nice: -5 });
    // 3121 / (1024 + 3121).
    assert!((735..=770).contains(&after), "{after} ms of 1000");
}

#[test]
fn policy_idle_leaves_almost_nothing() {
    let [_, after] = halves(Change::Policy { task: task(1), policy: Policy::Idle });
    // 3 / 1027 of 1000 ms is 3 ms; an idle entity beside others runs at least a tick.
    assert!((1..=8).contains(&after), "{after} ms of 1000");
    let [_, after] = halves(Change::Policy { task: task(1), policy: Policy::Batch });
    assert!((490..=510).contains(&after), "{after} ms of 1000");
}

/// Between SCHED_FIFO and SCHED_IDLE and back, again and again at one instant, a task's load grows until it is beyond 64 bits and
/// wraps: nobody else must suffer from that, on its CPU, in its group, where it is woken or where balance looks at it.
#[test]
fn a_load_beyond_64_bits_wraps() {
    let kernels = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.6", "v6.18"];
    for (kernel, turns) in kernels.into_iter().flat_map(|kernel| (4..10).map(move |turns| (kernel, turns))) {
        let mut set = TaskSet::default();
        let group = set.groups.push(TaskGroupSpec::new("/group", None));
        let naps = [work(300 * US), sleep(200 * US), Instr::Jump { to: 0 }];
        let tasks: Vec<TaskId> = (0..8).map(|_| set.task("task", naps.to_vec())).collect();
        for &task in &tasks[..4] {
            set.tasks[task].group = Some(group);
        }
        for (task, at) in [(0, 10 * MS), (1, 15 * MS), (4, 20 * MS), (5, 25 * MS)] {
            for policy in [Policy::Fifo(RtPriority::new(1).unwrap()), Policy::Idle].repeat(turns) {
                set.at(at, Change::Policy { task: tasks[task], policy });
            }
        }
        let (_, simulation, _) = Log::and_simulation(setup(free_machine(4, 1000), kernel, set, 60 * MS));
        let ran: Vec<u64> = tasks.iter().map(|&task| simulation.sched().se(task).sum_exec_runtime / MS).collect();
        assert!([2, 3, 6, 7].into_iter().all(|other| ran[other] >= 12), "{kernel}, {turns}: {ran:?}");
    }
}

/// CPU 0, which is very slow, is in the middle of schedule() when it shall go off line, and ends that first. What happens to CPU 1 waits for
/// that: it would leave as the last one.
#[test]
fn who_goes_off_line_or_comes_back_waits_for_the_one_before() {
    let mut set = TaskSet::default();
    set.pinned("ends", 0, vec![]);
    set.task("hog", vec![work(u64::MAX)]);
    for (number, at, online) in [(0, 7 * MS, false), (0, 8 * MS, true), (1, 8 * MS, false)] {
        set.at(at, Change::Hotplug { cpu: cpu(number), online });
    }
    let mut machine = priced_machine(2, "unit");
    machine.cpus[cpu(0)].capacity = 1;
    let setup = setup(machine, "v4.12", set, 60 * MS);
    let mut simulation = Simulation::new(setup).unwrap();
    let mut online_at = |at: u64| {
        simulation.run_until(Instant::from_ns(at), &mut NullSink).unwrap();
        [0, 1].map(|number| simulation.sched().rq(cpu(number)).online)
    };
    assert_eq!([9 * MS, 60 * MS].map(&mut online_at), [[true, true], [true, false]]);
}

#[test]
fn a_task_renices_itself() {
    let mut set = hogs(&[0]);
    let kind = set.task("kind", vec![work(50 * MS), Instr::SetNice { nice: 10 }, work(u64::MAX)]);
    let (log, simulation, _) = Log::and_simulation(setup(free_machine(1, 1000), "v5.19", set, 1_100 * MS));
    assert_eq!((simulation.sched().task(kind).nice, simulation.task_info(kind).prio), (10, 130));
    // It has its 50 ms at 100 ms; then 110 / 1134 of 1000 ms are 97 ms.
    assert!((130..=165).contains(&(log.runtime(kind) / MS)), "{} ms", log.runtime(kind) / MS);
}

/// The lengths of the turns on CPU 0 after `from`, without the last.
fn turns(log: &Log, from: usize) -> Vec<u64> {
    let stays = log.stays_on(cpu(0));
    stays[from..stays.len() - 1].iter().map(|stay| stay.ns).collect()
}

#[test]
fn a_slice_of_ones_own_is_the_length_of_a_turn() {
    let mut set = hogs(&[0, 0]);
    set.tasks[task(0)].slice = Some(Ns(8 * MS));
    set.tasks[task(1)].slice = Some(Ns(8 * MS));
    set.at(200 * MS, Change::Slice { task: task(0), slice: None });
    set.at(200 * MS, Change::Slice { task: task(1), slice: Some(Ns(0)) });
    let (log, simulation, _) = Log::and_simulation(setup(free_machine(1, 1000), "v6.12", set, 400 * MS));
    let turns = turns(&log, 2);
    assert_eq!((turns[..20].iter().min(), turns[..20].iter().max()), (Some(&(8 * MS)), Some(&(8 * MS))));
    let se = |row| (simulation.sched().se(task(row)).slice, simulation.sched().se(task(row)).custom_slice);
    assert_eq!((se(0), se(1)), ((3 * MS, false), (MS / 10, true)), "the base slice, and the shortest that there is");
    assert!(turns[turns.len() - 20..].iter().all(|&turn| turn <= 4 * MS), "{turns:?}");
}

#[test]
fn children_have_their_parents_slice_unless_they_set_one() {
    let mut set = TaskSet::default();
    let forked: Vec<TaskId> = ["heir", "own", "late"].map(|name| set.task(name, vec![work(u64::MAX)])).into();
    forked.iter().for_each(|&child| set.tasks[child].start = Start::Forked);
    set.tasks[forked[1]].slice = Some(Ns(2 * MS));
    let fork = |row: usize| Instr::Fork { task: forked[row] };
    let slice = |slice| Instr::SetSlice { slice };
    set.task("parent", vec![slice(Some(Ns(9 * MS))), fork(0), fork(1), slice(None), fork(2), work(u64::MAX)]);
    let (_, simulation, _) = Log::and_simulation(setup(free_machine(1, 1000), "v6.18", set, 50 * MS));
    let se = |child: TaskId| (simulation.sched().se(child).slice, simulation.sched().se(child).custom_slice);
    assert_eq!((se(forked[0]), se(forked[1]), se(forked[2])), ((9 * MS, true), (2 * MS, true), (3 * MS, false)));
}

/// Kernels take the task off its queue and put it back: in CFS its slice begins anew, in EEVDF it keeps its deadline.
#[test]
fn new_cpus_put_a_running_task_down_and_up() {
    let second_turn = |kernel: &str, cpus: CpuMask| {
        // Three more keep CPU 1 from pulling one of the two.
        let mut set = hogs(&[0; 5]);
        for row in 0..5 {
            set.tasks[task(row)].affinity = Some(CpuMask::only(cpu(u32::from(row >= 2))));
        }
        // The first turn ends at 12 ms in CFS and at 3 ms in EEVDF; the second task runs then.
        let from = if kernel == "v5.19" { 13 * MS } else { 4 * MS };
        set.at(from + 300 * US, Change::Affinity { task: task(1), cpus });
        turns(&Log::of(setup(free_machine(2, 1000), kernel, set, 100 * MS)), 0)[1]
    };
    let (same, more) = (CpuMask::only(cpu(0)), CpuMask::first_n(2));
    assert_eq!((second_turn("v5.19", same), second_turn("v5.19", more)), (12 * MS, 14 * MS));
    for kernel in ["v6.12", "v6.18"] {
        assert_eq!(second_turn(kernel, same), second_turn(kernel, more), "{kernel}");
    }
}

#[test]
fn affinity_moves_a_running_task() {
    let mut set = hogs(&[0]);
    set.tasks[task(0)].first_cpu = Some(cpu(0));
    set.at(10 * MS + 300 * US, Change::Affinity { task: task(0), cpus: CpuMask::only(cpu(1)) });
    let (log, simulation, _) = Log::and_simulation(setup(free_machine(2, 1000), "v5.19", set, 20 * MS));
    assert_eq!(migrations(&log, task(0)), [(10_300 * US, cpu(0), cpu(1))]);
    assert_eq!(log.stays_on(cpu(0)).iter().map(|stay| stay.ns).collect::<Vec<_>>(), [10_300 * US]);
    assert_eq!(simulation.sched().rq(cpu(1)).curr, Some(task(0)));
    assert_eq!(log.runtime(task(0)), 20 * MS);
}

#[test]
fn affinity_moves_a_queued_task_and_a_sleeper_at_its_wake_up() {
    let mut set = hogs(&[0, 0]);
    for row in 0..2 {
        set.tasks[task(row)].first_cpu = Some(cpu(0));
    }
    // The idle CPU may not pull it before.
    set.tasks[task(1)].affinity = Some(CpuMask::only(cpu(0)));
    let sleeper = set.task("sleeper", vec![sleep(10 * MS), work(MS)]);
    set.tasks[sleeper].first_cpu = Some(cpu(0));
    // At 1 ms the first hog runs, the second waits and the sleeper sleeps.
    for moved in [task(1), sleeper] {
        set.at(MS + 100 * US, Change::Affinity { task: moved, cpus: CpuMask::only(cpu(1)) });
    }
    let log = Log::of(setup(free_machine(2, 1000), "v5.19", set, 100 * MS));
    let moves = migrations(&log, task(1));
    assert_eq!(moves, [(1_100 * US, cpu(0), cpu(1))]);
    assert!(log.wakeups(sleeper).iter().all(|wakeup| wakeup.1 == cpu(1)), "{:?}", log.wakeups(sleeper));
}

#[test]
fn affinity_of_a_task_to_where_it_is_does_nothing() {
    let mut set = hogs(&[0]);
    set.tasks[task(0)].first_cpu = Some(cpu(1));
    set.at(10 * MS, Change::Affinity { task: task(0), cpus: CpuMask::only(cpu(1)) });
    let (log, simulation, _) = Log::and_simulation(setup(free_machine(2, 1000), "v5.19", set, 20 * MS));
    assert_eq!((migrations(&log, task(0)).len(), simulation.counts().switches), (0, 1));
}

/// A task that is told to move while it is about to sleep is placed by its wake-up, and then stays.
#[test]
fn a_move_that_sleep_forestalls_happens_at_the_wake_up() {
    let mut set = TaskSet::default();
    let mut code = busy_until(10 * MS).to_vec();
    code.extend([sleep(5 * MS), work(MS), Instr::Yield, work(MS)]);
    let mover = set.task("mover", code);
    set.tasks[mover].first_cpu = Some(cpu(0));
    // In the middle of the system call: entry and timer take 2 us.
    let allowed: CpuMask = [cpu(1), cpu(2)].into_iter().collect();
    set.at(10 * MS + US, Change::Affinity { task: mover, cpus: allowed });
    // When it wakes its previous CPU is idle and chosen, but not allowed: the first allowed one is next, hog or not.
    set.pinned("hog", 1, vec![work(u64::MAX)]);
    let log = Log::of(setup(priced_machine(3, "unit"), "v5.19", set, 100 * MS));
    let moves: Vec<_> = migrations(&log, mover).iter().map(|row| (row.1, row.2)).collect();
    assert_eq!(moves[0], (cpu(0), cpu(1)));
}

#[test]
fn a_task_sets_its_own_affinity() {
    let mut set = TaskSet::default();
    let code = vec![
        work(MS),
        Instr::SetAffinity { cpus: Box::new(CpuMask::only(cpu(2))) },
        work(MS),
        Instr::SetAffinity { cpus: Box::new(CpuMask::only(cpu(0))) },
        work(MS),
    ];
    let nomad = set.task("nomad", code);
    set.tasks[nomad].first_cpu = Some(cpu(1));
    let log = Log::of(setup(free_machine(3, 1000), "v5.19", set, 10 * MS));
    assert_eq!(migrations(&log, nomad), [(MS, cpu(1), cpu(2)), (2 * MS, cpu(2), cpu(0))]);
    assert_eq!(log.exit_of(nomad), Some(3 * MS));
}

/// A sleeper with the policy wakes up beside a hog, far before it in virtual time.
fn wake_beside_hog(policy: Policy, hog_policy: Policy) -> (Log, TaskId) {
    let mut set = TaskSet::default();
    let hog = set.task("hog", vec![work(u64::MAX)]);
    set.tasks[hog].policy = hog_policy;
    let mut code = asleep_until(50 * MS + 100 * US).to_vec();
    code.push(work(MS));
    let wakee = set.task("wakee", code);
    set.tasks[wakee].policy = policy;
    (Log::of(setup(free_machine(1, 1000), "v5.19", set, 2_000 * MS)), wakee)
}

#[test]
fn batch_and_idle_wakees_do_not_preempt() {
    let wakes = [
        (Policy::Normal, Policy::Normal, Reason::WakePreempts),
        (Policy::Normal, Policy::Batch, Reason::WakePreempts),
        (Policy::Normal, Policy::Idle, Reason::WakePolicy),
        (Policy::Batch, Policy::Normal, Reason::WakeBatch),
        (Policy::Batch, Policy::Idle, Reason::WakePolicy),
        (Policy::Idle, Policy::Normal, Reason::WakeBatch),
        (Policy::Idle, Policy::Idle, Reason::WakeBatch),
    ];
    for (policy, hog_policy, reason) in wakes {
        let (log, wakee) = wake_beside_hog(policy, hog_policy);
        let woken = log.wakeups(wakee).last().expect("it wakes").0;
        assert_eq!(decided(&log, reason, wakee), log.wakeups(wakee).len(), "{policy:?} beside {hog_policy:?}");
        let next = log.stays().iter().find(|stay| stay.task == wakee.get() && stay.from >= woken).expect("it runs").from;
        let at_once = matches!(reason, Reason::WakePreempts | Reason::WakePolicy);
        assert_eq!(next == woken, at_once, "{policy:?} beside {hog_policy:?}: woken at {woken}, runs at {next}");
    }
}

#[test]
fn work_takes_longer_on_a_slow_cpu_and_time_does_not() {
    for (capacity, freq_capacity, factor) in [(1024, 1024, 1), (512, 1024, 2), (1024, 512, 2), (512, 512, 4), (256, 1024, 4)] {
        let mut set = TaskSet::default();
        let worker = set.pinned("worker", 0, vec![work(10 * MS)]);
        let timer = set.pinned("timer", 1, vec![Instr::RunTime { time: Ns(10 * MS), mode: Mode::User }]);
        let until = set.pinned("until", 2, busy_until(10 * MS).to_vec());
        let mut machine = free_machine(3, 1000);
        for cpu in machine.cpus.iter_mut() {
            (cpu.capacity, cpu.freq_capacity) = (capacity, freq_capacity);
        }
        let log = Log::of(setup(machine, "v5.19", set, 100 * MS));
        assert_eq!(log.exit_of(worker), Some(10 * MS * factor), "capacity {capacity}, frequency {freq_capacity}");
        assert_eq!([timer, until].map(|task| log.exit_of(task)), [Some(10 * MS); 2]);
    }
}

#[test]
fn a_change_of_frequency_is_exact() {
    let change = |at, freq_capacity| (at, Change::FreqCapacity { cpu: cpu(0), freq_capacity });
    let run = |changes: Vec<(u64, Change)>| {
        let mut set = TaskSet::default();
        let worker = set.task("worker", vec![work(10 * MS), Instr::RunTime { time: Ns(MS), mode: Mode::User }]);
        changes.into_iter().for_each(|(at, change)| set.at(at, change));
        Log::of(setup(free_machine(1, 1000), "v5.19", set, 100 * MS)).exit_of(worker)
    };
    // 4 ms of work at full speed, the other 6 ms at half: 12 ms.
    assert_eq!(run(vec![change(4 * MS, 512)]), Some(17 * MS));
    // 3 + 7.7 / 2 (to 10.7 ms) are 6.85; the last 3.15 ms at a quarter take 12.6 ms.
    assert_eq!(run(vec![change(3 * MS, 512), change(10_700 * US, 256)]), Some(24_300 * US));
    // Back to full speed: 3 + 2 / 2, then 6.
    assert_eq!(run(vec![change(3 * MS, 512), change(5 * MS, 1024)]), Some(12 * MS));
    assert_eq!(run(vec![change(3 * MS, 1024)]), Some(11 * MS));
    assert_eq!(run(vec![change(50 * MS, 512)]), Some(11 * MS));
}

#[test]
fn a_feature_can_be_switched_in_mid_run() {
    let mut set = TaskSet::default();
    set.task("hog", vec![work(u64::MAX)]);
    let sleeper = set.task("sleeper", vec![work(100 * US), sleep(10 * MS), Instr::Jump { to: 0 }]);
    set.at(500 * MS, Change::Feature(FeatWrite { feat: Feat::WAKEUP_PREEMPTION, on: false }));
    let log = Log::of(setup(free_machine(1, 1000), "v5.19", set, 1_000 * MS));
    let (on, off) = (decided(&log, Reason::WakePreempts, sleeper), decided(&log, Reason::WakeFeatureOff, sleeper));
    assert!(on > 40 && off > 20, "{on} wake-ups preempted, {off} were not allowed to");
}

/// A task that is bound to its CPU waits behind another one, which may run elsewhere and moves at its exec.
#[test]
fn exec_moves_a_task_to_the_idlest_cpu() {
    for kernel in ["v4.12", "v4.20", "v5.10", "v6.1", "v6.18"] {
        let mut set = hogs(&[0]);
        let execs = set.task("execs", vec![work(1_500 * US), Instr::Exec, work(u64::MAX)]);
        set.tasks[task(0)].start = Start::At(Instant::from_ns(MS));
        for (task, cpus) in [(task(0), 1), (execs, 2)] {
            set.tasks[task].first_cpu = Some(CpuId::new(0));
            set.tasks[task].affinity = Some(CpuMask::first_n(cpus));
        }
        let log = Log::of(setup(free_machine(2, 1000), kernel, set, 10 * MS));
        assert_eq!(migrations(&log, execs), [(1_500 * US, CpuId::new(0), CpuId::new(1))], "{kernel}");
        assert_eq!(log.runtime(execs), 10 * MS, "{kernel}");
    }
}

/// A task that sleeps on its queue (delayed dequeue) is moved while the switch away from it goes on: its old CPU is done
/// with it, and whoever wakes it need not wait for that switch.
#[test]
fn a_task_moved_in_the_middle_of_its_switch_can_be_woken() {
    for step in 0..40 {
        let mut set = hogs(&[0, 1]);
        let code = vec![work(2_500 * US), sleep(50 * MS), Instr::Jump { to: 0 }];
        let worker = set.pinned("worker", 0, code);
        let moved = Change::Affinity { task: worker, cpus: CpuMask::only(cpu(1)) };
        set.at(4_506 * US + step * 100, moved);
        let (log, simulation, _) = Log::and_simulation(setup(priced_machine(2, "xeon-spr"), "v6.12", set, 300 * MS));
        assert!(simulation.sched().task(worker).nice == 0 && log.runtime(worker) > 12 * MS, "{step}: {} ns", log.runtime(worker));
    }
}

/// Where CPUs take turns, what comes from outside waits for none: it finds the clock at its own instant.
#[test]
fn an_act_from_outside_waits_for_no_turn() {
    let mut machine = free_machine(8, 250);
    machine.round_of_turns = Ns::from_us(100);
    let mut set = hogs(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let at = 2_013 * US;
    set.at(at, Change::Nice { task: task(7), nice: 1 });
    let log = Log::of(setup(machine, "v6.1", set, 12 * MS));
    assert_eq!(log.runtime_in(task(7), 0..at + 1), at);
}
