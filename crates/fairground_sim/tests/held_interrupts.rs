//! Interrupts that come during a phase of kernel work are served between that phase and the next.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, asleep_until, busy_until, cpu, priced_machine, repeat, setup, sleep, work};
use fairground_model::{Instr, Op, Policy, RtPriority, Section, TaskSet, TraceEvent, Value, Word};
use fairground_stdx::TaskId;

const KERNELS: [&str; 4] = ["v4.12", "v5.19", "v6.6", "v6.18"];

/// System calls without end.
fn caller() -> Vec<Instr> {
    vec![Instr::ThreadClock { into: None }, repeat(u64::MAX)]
}

#[test]
fn a_task_of_nothing_but_system_calls_has_its_ticks() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        set.pinned("caller", 0, caller());
        let (log, simulation, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), kernel, set, 100 * MS));
        assert_eq!(simulation.counts().ticks, 99, "{kernel}: the hundredth is due with the end");
        // Each comes at the end of the call in which it was due.
        assert!(log.busy_ticks(cpu(0)).iter().all(|at| at % MS < US), "{kernel}");
    }
}

#[test]
fn two_tasks_of_system_calls_alone_share_a_cpu() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        let tasks = [0, 1].map(|_| set.pinned("caller", 0, caller()));
        let (log, _, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), kernel, set, 200 * MS));
        let shares = tasks.map(|task| log.runtime(task) / MS);
        assert!(shares.iter().all(|share| (90..=110).contains(share)), "{kernel}: {shares:?}");
    }
}

#[test]
fn a_pair_on_a_pipe_has_its_ticks() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        let (ping, pong) = (set.pipe(1), set.pipe(1));
        let [write, read] = [|pipe| Instr::Write { pipe, value: None }, |pipe| Instr::Read { pipe, into: 0 }];
        set.pinned("ping", 0, vec![write(ping), read(pong), repeat(u64::MAX)]);
        set.pinned("pong", 0, vec![read(ping), write(pong), repeat(u64::MAX)]);
        let (_, simulation, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), kernel, set, 100 * MS));
        assert!((98..=99).contains(&simulation.counts().ticks), "{kernel}: {}", simulation.counts().ticks);
    }
}

#[test]
fn a_timer_ends_a_row_of_system_calls() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        set.pinned("caller", 0, caller());
        let urgent = set.pinned("urgent", 0, [&asleep_until(50 * MS + 500 * US)[..], &[work(US)]].concat());
        set.tasks[urgent].policy = Policy::Fifo(RtPriority::new(1).unwrap());
        let (log, _, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), kernel, set, 100 * MS));
        let woken = log.wakeups(urgent)[0].0;
        assert!((50_500 * US..50_503 * US).contains(&woken), "{kernel}: {woken}");
    }
}

#[test]
fn an_interrupt_from_another_cpu_ends_a_row_of_system_calls() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        let pipe = set.pipe(1);
        set.pinned("caller", 0, caller());
        let urgent = set.pinned("urgent", 0, vec![Instr::Read { pipe, into: 0 }, work(US), repeat(u64::MAX)]);
        set.tasks[urgent].policy = Policy::Fifo(RtPriority::new(1).unwrap());
        set.pinned("waker", 1, vec![sleep(10 * MS), Instr::Write { pipe, value: None }]);
        let (log, _, _) = Log::and_simulation(setup(priced_machine(2, "xeon-spr"), kernel, set, 20 * MS));
        let (woken, _) = log.wakeups(urgent)[0];
        let starts = |row: &&(u64, _, TraceEvent)| {
            row.0 >= woken && matches!(row.2, TraceEvent::SchedSwitch { next, .. } if next == Some(urgent))
        };
        let ran = log.events.iter().find(starts).unwrap().0;
        assert!(ran - woken < 10 * US, "{kernel}: {} ns", ran - woken);
    }
}

#[test]
fn a_tick_that_comes_during_the_switch_to_idle_is_not_lost() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        // Goes to sleep so shortly before each tick that the switch is not over when that comes.
        let round = |tick: u64| [&busy_until(tick * MS - 200)[..], &asleep_until(tick * MS + 500 * US)[..]].concat();
        set.pinned("sleeper", 0, (1..=50).flat_map(round).collect());
        let (log, simulation, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), kernel, set, 100 * MS));
        assert_eq!(simulation.counts().ticks, 50, "{kernel}");
        assert!(log.end < 51 * MS);
    }
}

#[test]
fn interrupts_come_between_the_wake_ups_of_one_call_which_is_not_left() {
    const WAITERS: u32 = 200;
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        let word: Word = set.words.push(0).into();
        let waiters: Vec<TaskId> =
            (0..WAITERS).map(|_| set.pinned("waiter", 0, vec![Instr::FutexWait { word, value: Value::Const(0) }])).collect();
        let wakes = Instr::FutexWake { word, count: WAITERS };
        let waker = set.pinned("waker", 0, [&busy_until(50 * MS)[..], &[wakes, work(MS)]].concat());
        let urgent = set.pinned("urgent", 0, [&asleep_until(50 * MS + 50 * US)[..], &[work(US)]].concat());
        set.tasks[waker].nice = -10;
        set.tasks[urgent].nice = -20;
        let (log, simulation, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), kernel, set, 60 * MS));
        assert_eq!(simulation.op_total(Op::FutexOp), u64::from(WAITERS) + 1);
        let last = waiters.iter().map(|&waiter| log.wakeups(waiter)[0].0).max().unwrap();
        let (woken, _) = log.wakeups(urgent)[0];
        assert!(woken - (50 * MS + 50 * US) < 5 * US && woken + 20 * US < last, "{kernel}: {woken}, {last}");
        let starts = |row: &&(u64, _, TraceEvent)| row.0 >= woken && matches!(row.2, TraceEvent::SchedSwitch { .. });
        let left = log.events.iter().find(starts).unwrap().0;
        assert!(left >= last, "{kernel}: the waker has the list of whom it wakes and stays until all are awake");
    }
}

#[test]
fn an_interrupt_that_wakes_nobody_leaves_an_idle_cpu_idle() {
    for kernel in KERNELS {
        let mut machine = priced_machine(2, "xeon-spr");
        machine.nohz_idle = false;
        let mut set = TaskSet::default();
        set.pinned("sleeper", 0, asleep_until(90 * MS).into());
        (0..2).for_each(|_| _ = set.pinned("hog", 1, vec![work(u64::MAX)]));
        let (_, simulation, _) = Log::and_simulation(setup(machine, kernel, set, 100 * MS));
        let searched = simulation.kernel_time(cpu(0)).find(|row| row.0 == Section::NewidleBalance).unwrap().1;
        assert!(searched <= 4, "{kernel}: {searched} searches for a task, where three are due");
    }
}
