//! EEVDF in the engine: shares, delayed sleepers under changes, lazy reschedules. Every run is checked
//! after every few events.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, cpu, free_machine, hogs, one_cpu, priced_machine, setup, sleep, work};
use fairground_model::{Change, Instr, Mode, PrevState, Reason, TaskSet, TraceEvent};
use fairground_stdx::{CpuMask, Ns, TaskId};

const EEVDF: [&str; 4] = ["v6.6", "v6.12", "v6.14", "v6.18"];

/// When a decision was made for which reason.
fn decided(log: &Log, wanted: Reason) -> Vec<u64> {
    let made = |row: &&(u64, _, TraceEvent)| matches!(row.2, TraceEvent::Decision(decision) if decision.reason == wanted);
    log.events.iter().filter(made).map(|row| row.0).collect()
}

/// Weights 1024, 335 and 3121: 10 s are shared by weight to within a few requests.
#[test]
fn shares_follow_weights() {
    for kernel in EEVDF {
        let log = Log::of(one_cpu(1000, kernel, hogs(&[0, 5, -5]), Ns(10_000 * MS)));
        for (row, weight) in [1024, 335, 3121].into_iter().enumerate() {
            let (ran, ideal) = (log.runtime(TaskId::new(row as u32)), 10_000 * MS * weight / 4480);
            assert!(ran.abs_diff(ideal) < 12 * MS, "{kernel}: task {row} ran {ran} of {ideal}");
        }
    }
}

/// Sleepers, pipes and hogs on three CPUs, with changes that hit tasks in every state.
fn restless() -> TaskSet {
    let mut set = hogs(&[0, 0, 5, -5]);
    let (ping, pong) = (set.pipe(1), set.pipe(2));
    let (write, read) = (|pipe| Instr::Write { pipe, value: None }, |pipe| Instr::Read { pipe, into: 0 });
    set.task("ping", vec![work(40 * US), write(ping), read(pong), Instr::Jump { to: 0 }]);
    set.task("pong", vec![read(ping), work(30 * US), write(pong), Instr::Jump { to: 0 }]);
    let sleepers: Vec<TaskId> = (0..8)
        .map(|row| set.task("sleeper", vec![work((400 + 130 * row) * US), sleep((250 + 77 * row) * US), Instr::Jump { to: 0 }]))
        .collect();
    set.task("yields", vec![work(300 * US), Instr::Yield, Instr::Jump { to: 0 }]);
    set.task("ends", vec![work(30 * MS)]);
    for step in 0..120 {
        let task = sleepers[step % sleepers.len()];
        let change = match step % 3 {
            0 => Change::Nice { task, nice: (step % 11) as i8 - 5 },
            1 => Change::Affinity { task, cpus: CpuMask::only(cpu(step as u32 % 3)) },
            _ => Change::Affinity { task, cpus: CpuMask::first_n(3) },
        };
        set.at(1_700 * US * (step as u64 + 1) + 13 * step as u64, change);
    }
    set
}

#[test]
fn all_invariants_hold_in_a_restless_system() {
    for kernel in EEVDF {
        for machine in [free_machine(3, 1000), priced_machine(3, "xeon-spr"), free_machine(3, 250)] {
            let log = Log::of(setup(machine, kernel, restless(), 300 * MS));
            let delayed = decided(&log, Reason::DelayDequeue).len();
            assert_eq!(delayed > 100, kernel != "v6.6", "{kernel}: {delayed} delayed");
            let (left, woken) = (decided(&log, Reason::PickDelayed).len(), decided(&log, Reason::DelayRequeue).len());
            assert_eq!(left > 2 && woken > 0, kernel != "v6.6", "{kernel}: {left} left, {woken} woken");
        }
    }
}

/// A task wakes at this time. The hog on its CPU has had a new request at 6 ms; its deadline is far off, since it is nice.
const WAKES: u64 = 6_300 * US;

/// When the wakee gets its CPU, after it preempts a hog of CPU 0, which computes in that mode. It is woken by a task of
/// CPU 1, or by a timer of CPU 0.
fn preempts_at(kernel: &str, mode: Mode, remote: bool) -> Option<u64> {
    let mut set = TaskSet::default();
    let pipe = set.pipe(4);
    let hog = set.pinned("hog", 0, vec![Instr::Run { work: Ns(u64::MAX), mode }]);
    set.tasks[hog].nice = 5;
    let wakee = match remote {
        true => set.pinned("wakee", 0, vec![Instr::Read { pipe, into: 0 }, work(100 * US)]),
        false => set.pinned("wakee", 0, vec![sleep(WAKES), work(100 * US)]),
    };
    if remote {
        set.pinned("waker", 1, vec![sleep(WAKES), Instr::Write { pipe, value: None }]);
    }
    let log = Log::of(setup(free_machine(2, 1000), kernel, set, 12 * MS));
    assert_eq!(decided(&log, Reason::WakeDeadlinePreempts), [WAKES], "{kernel}");
    let mut switches = log.events.iter().filter(|row| row.0 >= WAKES);
    switches.find(|row| matches!(row.2, TraceEvent::SchedSwitch { next, .. } if next == Some(wakee))).map(|row| row.0)
}

/// The lazy model interrupts no other CPU, and takes a task out of the kernel at the next tick; the
/// voluntary one interrupts, and leaves kernel code alone.
#[test]
fn when_a_preempted_task_gives_way() {
    let tick = Some(7 * MS);
    for kernel in ["v6.12", "v6.14"] {
        assert_eq!(preempts_at(kernel, Mode::User, true), Some(WAKES), "{kernel}");
        assert_eq!(preempts_at(kernel, Mode::User, false), Some(WAKES), "{kernel}");
        assert_eq!(preempts_at(kernel, Mode::Kernel, true), None, "{kernel}");
    }
    assert_eq!(preempts_at("v6.18", Mode::User, true), tick);
    assert_eq!(preempts_at("v6.18", Mode::User, false), Some(WAKES), "its own interrupt returns to user mode");
    assert_eq!(preempts_at("v6.18", Mode::Kernel, true), tick);
    assert_eq!(preempts_at("v6.18", Mode::Kernel, false), tick);
}

/// How a task leaves its CPU to a hog: its request is over at the tick of 2 ms, when it is in the kernel, up to 2.5 ms,
/// and sleeps after that.
fn leaves_as(kernel: &str, kthread: bool) -> PrevState {
    let mut set = TaskSet::default();
    let worker = set.task("worker", vec![Instr::Run { work: Ns(2_500 * US), mode: Mode::Kernel }, sleep(MS)]);
    set.tasks[worker].kthread = kthread;
    set.task("hog", vec![work(u64::MAX)]);
    let log = Log::of(one_cpu(1000, kernel, set, Ns(6 * MS)));
    let left = log.events.iter().find_map(|event| match event.2 {
        TraceEvent::SchedSwitch { prev, prev_state, .. } if prev == Some(worker) => Some((event.0, prev_state)),
        _ => None,
    });
    assert_eq!(left.unwrap().0, 2_500 * US, "{kernel}");
    left.unwrap().1
}

/// Only who returns to user mode gives way there: a kernel thread goes on to its sleep.
#[test]
fn a_kernel_thread_ends_its_work_before_it_gives_way() {
    for kernel in ["v6.12", "v6.18"] {
        assert_eq!(leaves_as(kernel, false), PrevState::Running, "{kernel}");
        assert_eq!(leaves_as(kernel, true), PrevState::Sleeping, "{kernel}");
    }
}
