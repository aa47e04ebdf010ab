//! Tasks that stop by themselves on their way back to user mode.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::quota::{HOG, group, hog, in_phase, shares, simulation};
use crate::common::{Build, MS, US, asleep_until, busy_until, repeat, run_to, sleep, work};
use fairground_model::{
    Change, CpuMax, Decision, Instr, KernelWarn, Mode, Policy, Reason, RtPriority, Sink, Start, TaskGroupSpec, TaskSet,
    TraceEvent,
};
use fairground_sched::{Profile, TaskState};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId, TgId};

const AS_MERGED: &str = "v6.18";
const AS_MAILED: &str = "v6.14+task-throttle";

fn kernel(ns: u64) -> Instr {
    Instr::Run { work: Ns(ns), mode: Mode::Kernel }
}

fn limit(quota_ms: u64) -> CpuMax {
    CpuMax { quota: Some(Ns::from_ms(quota_ms)), period: Ns::from_ms(100), burst: Ns::ZERO }
}

/// How many tasks are in limbo.
fn in_limbo(simulation: &Simulation) -> usize {
    let sched = simulation.sched();
    sched.task_ids().filter(|&task| sched.task(task).state == TaskState::Limbo).count()
}

fn ran_ms(simulation: &Simulation, task: TaskId) -> u64 {
    simulation.sched().se(task).sum_exec_runtime / MS
}

/// Decisions about quota: when (us), and which; when markers were set; and of what the kernel warned.
#[derive(Default)]
struct Log {
    rows: Vec<(u64, Reason, u32)>,
    marks: Vec<u64>,
    warns: Vec<(u64, KernelWarn)>,
}

impl Sink for Log {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(Decision { reason, a, .. }) = *event
            && matches!(reason, Reason::Throttle | Reason::Unthrottle | Reason::ThrottleMark | Reason::ThrottleWork)
        {
            self.rows.push((at.ns() / US, reason, a));
        }
        if let TraceEvent::Marker { .. } = *event {
            self.marks.push(at.ns() / US);
        }
        if let TraceEvent::KernelWarn(warn) = *event {
            self.warns.push((at.ns() / US, warn));
        }
    }
}

impl Log {
    fn of(simulation: &mut Simulation) -> Log {
        let mut log = Log::default();
        while simulation.run_until(Instant::MAX, &mut log).unwrap() == Flow::More {}
        log
    }
    /// When that was decided, us.
    fn times(&self, reason: Reason) -> Vec<u64> {
        self.rows.iter().filter(|row| row.1 == reason).map(|row| row.0).collect()
    }
}

/// Model: 11 T01
#[test]
fn a_hog_stops_at_the_same_moments_whether_queues_or_tasks_are_throttled() {
    for name in ["v6.12", AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let hog = hog(&mut set, limited, 0);
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 1050);
        let mut waits = Vec::new();
        for ms in 0..300 {
            run_to(&mut simulation, ms * 1000 + 500);
            waits.push(in_limbo(&simulation));
        }
        let expected = |ms: usize| usize::from(name != "v6.12" && ms % 100 >= 20);
        assert_eq!(waits, (0..300).map(expected).collect::<Vec<_>>(), "{name}");
        assert_eq!(shares(&mut simulation, &[hog], 500, 2), [[100_000], [100_000]], "{name}");
    }
}

/// A section of 5 ms in the kernel that begins 2 ms before the quota is used up.
///
/// Model: 11 T02
#[test]
fn a_section_in_the_kernel_is_finished_and_paid_for() {
    let run = |profile: Profile| {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let marker = set.marker("section ends");
        let mark = Instr::MarkValue { marker, value: 1 };
        let task = set.pinned("task", 0, vec![work(18 * MS), kernel(5 * MS), mark, work(HOG)]);
        set.tasks[task].group = Some(limited);
        let mut simulation = simulation(set, 1, 1000, profile, 350);
        let mut log = Log::default();
        simulation.run_until(Instant::from_ns(150 * MS), &mut log).unwrap();
        (log.marks.clone(), log.times(Reason::ThrottleWork), ran_ms(&simulation, task))
    };
    let preempted = run(in_phase("v6.12").with_seam("preemption", "lazy").unwrap());
    assert_eq!(preempted, (vec![103_000], vec![], 40));
    for name in [AS_MAILED, AS_MERGED] {
        // 23 ms in the first period, of which 3 are a debt: 17 are left for the second.
        assert_eq!(run(in_phase(name)), (vec![100_000], vec![23_000, 117_000], 40), "{name}");
    }
}

/// Model: 11 T03
#[test]
fn a_kernel_thread_never_stops() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let thread = set.pinned("kthread", 0, vec![kernel(HOG)]);
        set.tasks[thread].group = Some(limited);
        set.tasks[thread].kthread = true;
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 350);
        let log = Log::of(&mut simulation);
        assert_eq!((ran_ms(&simulation, thread), log.times(Reason::ThrottleWork)), (350, vec![]), "{name}");
        let account = simulation.sched().cfs_bandwidth(limited).unwrap().accounts()[CpuId::new(0)];
        assert!(account.remaining < -200 * MS as i64, "{name}: {}", account.remaining);
    }
}

/// Marked in the kernel at 20 ms; at 22 ms the group gets more; at 23 ms the mark is found stale. As mailed, a queue with
/// nothing left is not released, and nothing is what a new limit leaves it: there the task stops.
///
/// Model: 11 T04
#[test]
fn a_stale_mark_does_nothing() {
    for (name, stops) in [(AS_MERGED, vec![]), (AS_MAILED, vec![23_000])] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let task = set.pinned("task", 0, vec![work(18 * MS), kernel(5 * MS), work(HOG)]);
        set.tasks[task].group = Some(limited);
        set.at(22 * MS, Change::CpuMax { group: limited, limit: limit(90) });
        let profile = in_phase(name).with_seam("preemption", "lazy").unwrap();
        let mut simulation = simulation(set, 1, 1000, profile, 80);
        let log = Log::of(&mut simulation);
        assert_eq!(log.times(Reason::ThrottleMark), [20_000], "{name}");
        assert_eq!(log.times(Reason::ThrottleWork), stops, "{name}");
        assert_eq!(ran_ms(&simulation, task) > 70, stops.is_empty(), "{name}");
    }
}

/// Four tasks in limbo below /a go to /a/b/c, whose quota was just set and is enough for one CPU. Releasing /a on the other,
/// would the first of two tasks throttle /a/b/c again, while the second is in limbo still? Who waits in limbo after that, and who is queued.
fn release_into_a_fresh_quota(remaining_on_set: &str) -> (Log, usize, usize) {
    let mut set = TaskSet::default();
    let a = group(&mut set, "/a", None, 20, 100);
    let b = group(&mut set, "/a/b", Some(a), 20, 100);
    let c = group(&mut set, "/a/b/c", Some(b), 20, 100);
    (set.groups[b].limit, set.groups[c].limit) = (CpuMax::UNLIMITED, CpuMax::UNLIMITED);
    let tasks: Vec<TaskId> = (0..4).map(|row| hog(&mut set, b, row / 2)).collect();
    let slice = CpuMax { quota: Some(Ns::from_ms(5)), period: Ns::from_ms(1000), burst: Ns::ZERO };
    set.at(50 * MS, Change::CpuMax { group: c, limit: slice });
    for task in tasks {
        set.at(60 * MS, Change::Group { task, group: Some(c) });
    }
    let profile = in_phase(AS_MERGED).with_seam("remaining_on_set", remaining_on_set).unwrap();
    let mut simulation = simulation(set, 2, 1000, profile, 150);
    run_to(&mut simulation, 99_000);
    assert_eq!(in_limbo(&simulation), 4);
    let mut log = Log::default();
    simulation.run_until(Instant::from_ns(100_001 * US), &mut log).unwrap();
    let queued = simulation.sched().task_ids().filter(|&task| simulation.sched().se(task).on_rq).count();
    (log, in_limbo(&simulation), queued)
}

/// Model: 11 T06
#[test]
fn a_nanosecond_keeps_a_release_from_being_throttled_half_way() {
    let (log, in_limbo, queued) = release_into_a_fresh_quota("a-nanosecond");
    assert_eq!((log.warns, in_limbo, queued), (vec![], 0, 4));
}

/// The kernel warns of the second task in limbo, once, and releases it all the same: onto a throttled queue, where it stops when it is picked.
///
/// Model: 11 T06
#[test]
fn without_that_nanosecond_the_kernel_warns_and_releases_onto_a_throttled_queue() {
    let (log, in_limbo, queued) = release_into_a_fresh_quota("nothing");
    assert_eq!(log.warns, [(100_000, KernelWarn::ThrottledLimboList)]);
    assert!(log.times(Reason::Throttle).contains(&100_000));
    assert_eq!(in_limbo + queued, 4);
}

/// Two levels, both used up; the inner one is released first.
///
/// Model: 11 T07
#[test]
fn tasks_throttled_at_two_levels_are_released_with_the_last_one() {
    let mut set = TaskSet::default();
    let outer = group(&mut set, "/outer", None, 20, 100);
    let inner = group(&mut set, "/outer/inner", Some(outer), 20, 50);
    let hogs: Vec<TaskId> = (0..3).map(|_| hog(&mut set, inner, 0)).collect();
    let mut simulation = simulation(set, 1, 1000, in_phase(AS_MERGED), 350);
    run_to(&mut simulation, 49_500);
    assert_eq!(in_limbo(&simulation), 3);
    // The inner group is not throttled any more.
    run_to(&mut simulation, 60_000);
    assert!(!simulation.sched().cfs_bandwidth(inner).unwrap().accounts()[CpuId::new(0)].throttled);
    assert_eq!(in_limbo(&simulation), 3);
    run_to(&mut simulation, 99_999);
    assert_eq!(in_limbo(&simulation), 3);
    run_to(&mut simulation, 100_001);
    assert_eq!((in_limbo(&simulation), simulation.sched().rq(CpuId::new(0)).nr_running), (0, 3));
    let ran: u64 = hogs.iter().map(|&task| simulation.sched().se(task).sum_exec_runtime).sum();
    assert_eq!(ran / MS, 20);
}

/// A task in limbo that must go to another CPU, where its group has quota, or is throttled as well.
///
/// Model: 11 T08
#[test]
fn a_task_in_limbo_that_changes_its_cpu_runs_there_only_with_quota() {
    for name in [AS_MAILED, AS_MERGED] {
        let run = |busy: bool| {
            let mut set = TaskSet::default();
            let limited = group(&mut set, "/limited", None, 40, 100);
            let task = hog(&mut set, limited, 0);
            // It uses up what is left, and stops on CPU 1.
            let other = hog(&mut set, limited, 1);
            if !busy {
                set.tasks[other].group = None;
                set.tasks[other].affinity = Some(CpuMask::only(CpuId::new(2)));
            }
            // Without the other there is quota left for 20 ms once the task has gone from a CPU that stopped.
            set.at(60 * MS, Change::Affinity { task, cpus: CpuMask::only(CpuId::new(1)) });
            let mut simulation = simulation(set, 3, 1000, in_phase(name), 99);
            let log = Log::of(&mut simulation);
            let switches = log.rows.iter().filter(|row| row.0 >= 60_000 && row.1 == Reason::ThrottleWork && row.2 == task.get());
            (switches.count(), simulation.sched().task(task).state, simulation.sched().task(task).cpu.get())
        };
        let again = usize::from(name == AS_MAILED);
        assert_eq!(run(true), (again, TaskState::Limbo, 1), "{name}: to a throttled CPU");
    }
}

/// The group of CPU 1 has its slice still: the task goes on there at once.
///
/// Model: 11 T08
#[test]
fn a_task_in_limbo_goes_on_at_once_where_a_slice_is_left() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let task = hog(&mut set, limited, 0);
        // It takes the last 5 ms, uses a ms of them, and keeps one.
        let mut code = vec![work(MS)];
        code.extend(asleep_until(300 * MS));
        let other = set.pinned("other", 1, code);
        set.tasks[other].group = Some(limited);
        set.at(60 * MS, Change::Affinity { task, cpus: CpuMask::only(CpuId::new(1)) });
        let mut simulation = simulation(set, 2, 1000, in_phase(name), 99);
        run_to(&mut simulation, 59_900);
        let before = simulation.sched().task(task).state;
        run_to(&mut simulation, 60_100);
        let after = (simulation.sched().task(task).state, simulation.sched().task(task).cpu.get());
        assert_eq!((before, after), (TaskState::Limbo, (TaskState::Running, 1)), "{name}");
    }
}

/// Model: 11 T09
#[test]
fn a_task_in_limbo_runs_at_once_in_a_group_without_limit() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let task = hog(&mut set, limited, 0);
        // A CPU that is idle is not told of a task that comes to its queue that way, but looks there when it is woken.
        set.pinned("ticker", 0, vec![sleep(5 * MS), work(10 * US), repeat(1000)]);
        set.at(50 * MS, Change::Group { task, group: None });
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 99);
        run_to(&mut simulation, 49_999);
        let queue = simulation.sched().se(task).cfs_rq;
        let load = simulation.sched().queue_avg(queue).load_avg;
        assert_eq!((in_limbo(&simulation), load > 0), (1, true), "{name}");
        run_to(&mut simulation, 50_000);
        run_to(&mut simulation, 50_001);
        assert_eq!(in_limbo(&simulation), 0, "{name}");
        assert_eq!(simulation.sched().queue_avg(queue).load_avg, 0, "{name}");
        run_to(&mut simulation, 98_000);
        assert!(ran_ms(&simulation, task) >= 60, "{name}: {}", ran_ms(&simulation, task));
    }
}

/// Limbo, then SCHED_FIFO at 40 ms, then fair again at 60 ms with the quota still used up.
///
/// Model: 11 T10
#[test]
fn a_task_in_limbo_runs_as_fifo_and_stops_again_as_fair() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let task = hog(&mut set, limited, 0);
        let beside = set.pinned("beside", 0, vec![work(HOG)]);
        set.at(40 * MS, Change::Policy { task, policy: Policy::Fifo(RtPriority::MIN) });
        set.at(60 * MS, Change::Policy { task, policy: Policy::Normal });
        // Alone until then: it has used up its quota.
        set.tasks[beside].start = Start::At(Instant::from_ns(30 * MS));
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 350);
        let state = |simulation: &Simulation| simulation.sched().task(task).state;
        run_to(&mut simulation, 39_999);
        assert_eq!((state(&simulation), ran_ms(&simulation, task)), (TaskState::Limbo, 20), "{name}");
        run_to(&mut simulation, 40_001);
        assert_eq!((state(&simulation), in_limbo(&simulation)), (TaskState::Running, 0), "{name}");
        run_to(&mut simulation, 59_999);
        let account = |simulation: &Simulation| simulation.sched().cfs_bandwidth(limited).unwrap().accounts()[CpuId::new(0)];
        let throttled = (account(&simulation).throttled, account(&simulation).remaining > -(MS as i64));
        assert_eq!((state(&simulation), throttled), (TaskState::Running, (true, true)), "{name}: nothing is charged meanwhile");
        // It is queued as a fair task behind the other one, perhaps: at its next exit to user mode it stops.
        run_to(&mut simulation, 80_000);
        assert_eq!((state(&simulation), ran_ms(&simulation, task)), (TaskState::Limbo, 40), "{name}");
        run_to(&mut simulation, 160_000);
        assert_eq!((state(&simulation), ran_ms(&simulation, task)), (TaskState::Limbo, 60), "{name}");
    }
}

/// The sequence of the author's mail, in steps of 5 s. Neither kernel stops real-time tasks.
///
/// Model: 11 T11
#[test]
fn the_authors_sequence_of_limits_groups_and_classes_gives_his_shares() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let first = group(&mut set, "/first", None, 10, 100);
        let second = group(&mut set, "/second", None, 50, 100);
        set.groups[first].limit = CpuMax::UNLIMITED;
        set.groups[second].limit = CpuMax::UNLIMITED;
        let task = set.task("hog", vec![work(HOG)]);
        set.tasks[task].group = Some(first);
        let cpu_max = |group: TgId, quota| Change::CpuMax { group, limit: limit(quota) };
        let unlimited = |group: TgId| Change::CpuMax { group, limit: CpuMax { quota: None, ..limit(10) } };
        let only = |cpu: u32| Change::Affinity { task, cpus: CpuMask::only(CpuId::new(cpu)) };
        let steps = [
            (cpu_max(first, 10), 10),
            (cpu_max(first, 50), 50),
            (Change::Group { task, group: Some(second) }, 100),
            (cpu_max(second, 50), 50),
            (cpu_max(second, 10), 10),
            (only(3), 10),
            (only(10), 10),
            (unlimited(second), 100),
            (Change::Group { task, group: Some(first) }, 50),
            (Change::Policy { task, policy: Policy::RoundRobin(RtPriority::MIN) }, 100),
            (Change::Policy { task, policy: Policy::Fifo(RtPriority::MIN) }, 100),
            (Change::Policy { task, policy: Policy::Normal }, 50),
            (unlimited(first), 100),
        ];
        for (row, (change, _)) in steps.iter().enumerate() {
            set.at((row as u64 + 1) * 5_000 * MS, change.clone());
        }
        let mut simulation = simulation(set, 12, 1000, in_phase(name), 71_000);
        let rows = shares(&mut simulation, &[task], 5_000, 14);
        for (row, percent) in rows.iter().zip([100].into_iter().chain(steps.iter().map(|step| step.1))) {
            assert!(row[0].abs_diff(percent * 50_000) <= 50_000, "{name}: {} us of 5 s, {percent} %", row[0]);
        }
    }
}

/// One task that spends the whole time for which its queue is throttled in the kernel.
///
/// Model: 11 T15
#[test]
fn throttled_time_begins_with_the_first_task_that_stops() {
    let throttled = |profile: Profile| {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let task = set.pinned("task", 0, vec![work(19 * MS), kernel(85 * MS), work(HOG)]);
        set.tasks[task].group = Some(limited);
        // In the kernel it is neither preempted nor stopped. The debt is too large for one refill: a larger quota comes.
        set.at(103 * MS, Change::CpuMax { group: limited, limit: limit(100) });
        let mut simulation = simulation(set, 1, 1000, profile, 150);
        run_to(&mut simulation, 150_000);
        simulation.sched().cfs_bandwidth(limited).unwrap().stats.throttled_time
    };
    assert_eq!(throttled(in_phase(AS_MERGED)), Ns::ZERO);
    let mut set = TaskSet::default();
    let limited = group(&mut set, "/limited", None, 20, 100);
    hog(&mut set, limited, 0);
    let mut hogged = simulation(set, 1, 1000, in_phase(AS_MERGED), 150);
    run_to(&mut hogged, 110_000);
    assert_eq!(hogged.sched().cfs_bandwidth(limited).unwrap().stats.throttled_time, Ns::from_ms(80));
    let at_once = in_phase("v6.12").with_seam("preemption", "lazy").unwrap();
    assert_eq!(throttled(at_once), Ns::from_ms(80));
}

/// Model: 11 T16
#[test]
fn the_task_that_stops_last_is_released_first() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let hogs: Vec<TaskId> = (0..3).map(|_| hog(&mut set, limited, 0)).collect();
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 150);
        let mut log = Log::default();
        simulation.run_until(Instant::from_ns(50 * MS), &mut log).unwrap();
        let works: Vec<u32> = log.rows.iter().filter(|row| row.1 == Reason::ThrottleWork).map(|row| row.2).collect();
        assert_eq!(works.len(), 3, "{name}");
        let queue = simulation.sched().se(hogs[0]).cfs_rq;
        let released: Vec<u32> = simulation.sched().limbo(queue).map(TaskId::get).collect();
        assert_eq!(released, works.into_iter().rev().collect::<Vec<_>>(), "{name}");
    }
}

/// Two tasks; one is in the kernel for 30 ms after the queue was throttled.
///
/// Model: 11 T17
#[test]
fn load_tracking_stops_with_the_last_task() {
    let clock_after = |name: &str| {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let one = hog(&mut set, limited, 0);
        let two = set.pinned("two", 0, vec![kernel(30 * MS + 10 * MS), work(HOG)]);
        set.tasks[two].group = Some(limited);
        // The clock of the CPU goes on with another one.
        let other = set.pinned("other", 0, vec![work(HOG)]);
        set.tasks[other].start = Start::At(Instant::from_ns(70 * MS));
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 150);
        let mut log = Log::default();
        simulation.run_until(Instant::from_ns(95 * MS), &mut log).unwrap();
        let throttled = log.times(Reason::Throttle)[0];
        let works = log.times(Reason::ThrottleWork);
        let queue = simulation.sched().se(one).cfs_rq;
        let stands_at = simulation.sched().cfs_rq_clock_pelt(queue) / US;
        (stands_at, throttled, *works.last().unwrap())
    };
    let (merged, throttled, last) = clock_after(AS_MERGED);
    assert!(last > throttled + 10_000, "{last} {throttled}");
    let (mailed, throttled_v1, _) = clock_after(AS_MAILED);
    // Clocks of run queues begin long before the run: compare distances.
    assert_eq!(merged - mailed, last - throttled_v1);
}

/// Who starts, sleeps and wakes below a throttled queue stops as well, on its way back.
#[test]
fn who_wakes_below_a_throttled_queue_stops_before_user_mode() {
    for name in [AS_MAILED, AS_MERGED] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        hog(&mut set, limited, 0);
        let sleeper = set.pinned("sleeper", 0, vec![sleep(10 * MS), work(100 * US), repeat(1000)]);
        set.tasks[sleeper].group = Some(limited);
        let late = set.pinned("late", 0, busy_until(500 * MS).to_vec());
        set.tasks[late].group = Some(limited);
        set.tasks[late].start = Start::At(Instant::from_ns(70 * MS));
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 1_050);
        run_to(&mut simulation, 90_000);
        assert_eq!(in_limbo(&simulation), 3, "{name}");
        assert_eq!(ran_ms(&simulation, late), 0, "{name}");
        run_to(&mut simulation, 1_000_000);
        let used = simulation.sched().cfs_bandwidth(limited).unwrap().used();
        assert!(used.0.abs_diff(200 * MS) <= MS, "{name}: {used:?}");
    }
}

/// `first` goes to sleep 0.2 ms after the quota of `/outer` is used up; `second`, of the same inner group, follows. In v6.18 who is picked
/// below a throttled queue is marked. In v7.2 only levels that are set are looked at, and the outer one goes on.
#[test]
fn who_follows_within_a_group_of_a_throttled_one_runs_on_in_v7_2() {
    for (name, ran) in [(AS_MERGED, 0), ("v7.2", 79)] {
        let mut set = TaskSet::default();
        let outer = group(&mut set, "/outer", None, 20, 100);
        set.groups[outer].limit.quota = Some(Ns(19_500 * US));
        let inner = set.groups.push(TaskGroupSpec::new("/outer/inner", Some(outer)));
        let first = set.pinned("first", 0, vec![work(19_700 * US), sleep(500 * MS)]);
        let second = set.pinned("second", 0, [&asleep_until(19_600 * US)[..], &[work(HOG)]].concat());
        for task in [first, second] {
            (set.tasks[task].group, set.tasks[task].policy) = (Some(inner), Policy::Batch);
        }
        let mut simulation = simulation(set, 1, 1000, in_phase(name), 150);
        run_to(&mut simulation, 99_500);
        assert_eq!((ran_ms(&simulation, first), ran_ms(&simulation, second)), (19, ran), "{name}");
    }
}
