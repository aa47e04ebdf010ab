//! Who gets a lock, and when.

use super::support::{fifo, for_ever, kern, kernel, later, read, run, setup, syscall, unlock, write};
use crate::common::{Build, Log, MS, US, free_machine, work};
use fairground_model::{Instr, LockKind, LockSpec, Op, TaskSet};
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{Id, Instant, LockId, MarkerId, Ns, TaskId};

/// A task on its own CPU that asks at `start` and reports when it has the lock, which it keeps for `keep`.
fn taker(set: &mut TaskSet, start: u64, ask: Instr, lock: LockId, keep: u64) -> TaskId {
    let marker = MarkerId::new(0);
    let body = syscall(&[ask, Instr::MarkValue { marker, value: 1 }, kern(keep), unlock(lock)]);
    let cpu = set.tasks.len() as u32;
    set.pinned(&format!("t{cpu}"), cpu, later(start, body))
}

/// When each task got the lock, in us.
fn got(log: &Log, tasks: &[TaskId]) -> Vec<u64> {
    tasks.iter().map(|&task| log.marks(task, MarkerId::new(0))[0].0 / US).collect()
}

fn set() -> TaskSet {
    let mut set = TaskSet::default();
    set.marker("got");
    set
}

/// Model: 12 T03
#[test]
fn a_waiting_writer_closes_the_lock_for_new_readers() {
    let mut set = set();
    let lock = set.locks.push(LockSpec::new("sem", LockKind::Rwsem));
    let tasks = [
        taker(&mut set, MS, read(lock), lock, 10 * MS),
        taker(&mut set, 2 * MS, write(lock), lock, 5 * MS),
        taker(&mut set, 3 * MS, read(lock), lock, MS),
    ];
    let (log, simulation) = run(set, 3, 50);
    assert_eq!(got(&log, &tasks), [1000, 11_000, 16_000]);
    let report = &simulation.lock_reports()[0];
    assert_eq!((report.holds.count(), report.holds.max(), report.throttled_holds), (3, 10 * MS, 0));
    assert_eq!((report.reads.times.count(), report.reads.times.max(), report.reads.contended), (2, 13 * MS, 1));
    assert_eq!((report.writes.times.max(), report.writes.while_holder[0]), (9 * MS, Ns(9 * MS)));
}

/// Model: 12 T04
#[test]
fn all_waiting_readers_go_together_whatever_stands_between_them() {
    let mut set = set();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    let kinds = [write(lock), write(lock), read(lock), write(lock), read(lock), read(lock)];
    let tasks: Vec<TaskId> = (1..).zip(kinds).map(|(at, ask)| taker(&mut set, at * MS, ask, lock, 10 * MS)).collect();
    let (log, _) = run(set, 6, 100);
    // W0 holds; the queue is W1 R1 W2 R2 R3.
    assert_eq!(got(&log, &tasks), [1000, 11_000, 21_000, 31_000, 21_000, 21_000]);
}

/// Model: 12 T05
#[test]
fn a_wake_up_lets_in_256_readers() {
    let mut set = set();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    let first = taker(&mut set, MS, write(lock), lock, 20 * MS);
    let body = syscall(&[
        read(lock),
        Instr::MarkValue { marker: MarkerId::new(0), value: 1 },
        Instr::Sleep { time: Ns(MS) },
        unlock(lock),
    ]);
    let readers: Vec<TaskId> = (0..300).map(|row| set.pinned(&format!("r{row}"), 1, later(2 * MS, body.clone()))).collect();
    let (log, _) = run(set, 2, 100);
    assert_eq!(got(&log, &[first]), [1000]);
    let at = got(&log, &readers);
    assert_eq!((at.iter().filter(|&&at| at == 21_000).count(), at.iter().filter(|&&at| at == 22_000).count()), (256, 44));
}

/// A writer that takes the lock again the moment it has released it, against one that waits.
fn stolen_until(hz: u32) -> u64 {
    let mut set = set();
    let lock = set.locks.push(LockSpec { spin: false, ..LockSpec::new("sem", LockKind::Rwsem) });
    set.pinned("thief", 0, for_ever(syscall(&[write(lock), kern(100 * US), unlock(lock)])));
    let waiter = taker(&mut set, 1050 * US, write(lock), lock, MS);
    let setup = Setup { machine: free_machine(2, hz), ..setup(set, 2, kernel("v6.12", "full"), 100) };
    got(&Log::of(setup), &[waiter])[0]
}

/// A waiter lets others steal for 4 ms in whole jiffies. The first time that it is woken in vain after that it asks for the
/// lock, and has it at the next release.
///
/// Model: 12 T06
#[test]
fn a_waiter_is_not_stolen_from_for_ever() {
    // It asks in jiffy 1 and lets others steal up to jiffy 5; jiffy 6 begins at 6 ms.
    assert_eq!(stolen_until(1000), 6100);
    // It asks in jiffy 0 and lets others steal up to jiffy 1; jiffy 2 begins at 8 ms.
    assert_eq!(stolen_until(250), 8100);
}

/// Model: 12 T07
#[test]
fn readers_share_the_lock_as_long_as_nobody_writes() {
    let mut set = set();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    taker(&mut set, MS, read(lock), lock, 85 * MS);
    let body = syscall(&[read(lock), kern(10 * US), unlock(lock)]);
    for row in 0..1000 {
        set.pinned(&format!("r{row}"), 1, later(2 * MS + row * 80 * US, body.clone()));
    }
    let (_, simulation) = run(set, 2, 100);
    let report = &simulation.lock_reports()[0];
    assert_eq!((report.reads.times.count(), report.reads.times.max(), report.reads.contended), (1001, 0, 0));
}

/// The second task of each pair waits for the first one of the other.
fn ring(kinds: [LockKind; 2], mutual: bool) -> Simulation {
    let mut set = set();
    let [a, b] = [("a", kinds[0]), ("b", kinds[1])].map(|(name, kind)| fifo(&mut set, name, kind));
    let order = if mutual { [b, a] } else { [a, b] };
    for (name, cpu, [first, second]) in [("x", 0, [a, b]), ("y", 1, order)] {
        let body = [Instr::Enter, write(first), Instr::Sleep { time: Ns(5 * MS) }, write(second), unlock(second), unlock(first)];
        set.pinned(name, cpu, body.to_vec());
    }
    set.pinned("clock", 1, vec![work(MS), Instr::Sleep { time: Ns::from_secs(200) }]);
    run(set, 2, 150_000).1
}

/// Model: 12 T11
#[test]
fn a_ring_of_waiters_is_named() {
    let simulation = ring([LockKind::Futex, LockKind::Rwsem], true);
    assert_eq!(simulation.deadlocks().len(), 1);
    let deadlock = &simulation.deadlocks()[0];
    assert_eq!(deadlock.at, Instant::from_ns(5 * MS));
    let mut named: Vec<(usize, usize)> = deadlock.waits.iter().map(|row| (row.0.index(), row.1.index())).collect();
    named.sort_unstable();
    assert_eq!(named, [(0, 1), (1, 0)]);
    let reports = simulation.lock_reports();
    assert_eq!((reports[0].longest_chain, reports[1].longest_chain), (2, 1));
    // Who waits for the rwsem does so uninterruptibly, for longer than 120 s.
    assert_eq!((reports[0].hung_tasks, reports[1].hung_tasks), (0, 1));
    assert!(ring([LockKind::Futex, LockKind::Rwsem], false).deadlocks().is_empty());
}

#[test]
fn a_mutex_goes_to_its_waiters_in_order_and_is_not_stolen_twice() {
    let mut set = set();
    let lock = set.locks.push(LockSpec { spin: false, ..LockSpec::new("m", LockKind::Mutex) });
    set.pinned("thief", 0, for_ever(syscall(&[write(lock), kern(MS), unlock(lock)])));
    let tasks = [1500, 1600].map(|at| taker(&mut set, at * US, write(lock), lock, MS));
    let (log, _) = run(set, 3, 100);
    // At 2 ms the first is woken in vain; at 3 ms the lock is handed to it. The thief queues behind the second.
    assert_eq!(got(&log, &tasks), [3000, 4000]);
}

#[test]
fn who_wants_to_write_spins_while_the_owner_runs() {
    for kind in [LockKind::Rwsem, LockKind::Mutex] {
        let mut set = set();
        let lock = set.locks.push(LockSpec::new("l", kind));
        taker(&mut set, MS, write(lock), lock, 3 * MS);
        let spinner = taker(&mut set, 2 * MS, write(lock), lock, MS);
        let (log, simulation) = run(set, 2, 50);
        assert_eq!(got(&log, &[spinner]), [4000]);
        assert_eq!(log.runtime(spinner), 3 * MS, "it has computed all the time");
        assert_eq!(simulation.lock_reports()[0].writes.times.max(), 2 * MS);
    }
}

#[test]
fn who_spins_sleeps_when_the_owner_does() {
    let mut set = set();
    let lock = set.locks.push(LockSpec::new("l", LockKind::Mutex));
    let body = [write(lock), kern(2 * MS), Instr::Sleep { time: Ns(3 * MS) }, unlock(lock)];
    set.pinned("owner", 0, later(MS, syscall(&body)));
    let waiter = set.pinned("waiter", 1, later(2 * MS, syscall(&[write(lock), unlock(lock)])));
    let (log, _) = run(set, 2, 50);
    assert_eq!(log.runtime(waiter), MS, "from 2 ms, when it asked, to 3 ms, when the owner slept");
    assert_eq!(log.exit_of(waiter), Some(6 * MS));
}

#[test]
fn a_writer_of_a_percpu_rwsem_closes_it_and_waits_for_rcu_and_the_readers() {
    let mut set = set();
    let lock = set.locks.push(LockSpec::new("c", LockKind::PercpuRwsem { rcu_sync: Ns::from_ms(10) }));
    let tasks = [
        taker(&mut set, MS, read(lock), lock, 15 * MS),
        taker(&mut set, 2 * MS, write(lock), lock, 2 * MS),
        taker(&mut set, 3 * MS, read(lock), lock, MS),
        taker(&mut set, 4 * MS, write(lock), lock, 2 * MS),
        taker(&mut set, 5 * MS, read(lock), lock, MS),
    ];
    let (log, _) = run(set, 5, 100);
    // The reader leaves at 16 ms, after the wait for RCU. The second writer has waited for that too, and for the reader before it.
    assert_eq!(got(&log, &tasks), [1000, 16_000, 18_000, 19_000, 21_000]);
}

#[test]
fn a_futex_is_taken_without_the_kernel_and_its_waiters_compete() {
    let mut set = set();
    let lock = set.locks.push(LockSpec::new("f", LockKind::Futex));
    let body = |start, keep| {
        vec![
            Instr::Sleep { time: Ns(start) },
            write(lock),
            Instr::MarkValue { marker: MarkerId::new(0), value: 1 },
            work(keep),
            unlock(lock),
        ]
    };
    let tasks: Vec<TaskId> =
        (0..3).map(|row| set.pinned(&format!("t{row}"), row, body(u64::from(row + 1) * MS, 4 * MS))).collect();
    let (log, simulation) = run(set, 3, 50);
    assert_eq!(got(&log, &tasks), [1000, 5000, 9000]);
    let report = &simulation.lock_reports()[0];
    assert_eq!((report.writes.contended, report.writes.times.max(), report.hung_tasks), (2, 6 * MS, 0));
}

/// A writer that goes on as a reader lets in the readers that wait, if the first in line is one.
#[test]
fn a_writer_that_downgrades_lets_readers_in() {
    for (kinds, expected) in
        [([read as fn(LockId) -> Instr, read, write], [6000, 6000, 11_000]), ([write, read, read], [11_000, 12_000, 12_000])]
    {
        let mut set = set();
        let lock = fifo(&mut set, "sem", LockKind::Rwsem);
        let body = syscall(&[write(lock), kern(5 * MS), Instr::Downgrade { lock }, kern(5 * MS), unlock(lock)]);
        set.pinned("W", 0, later(MS, body));
        let tasks: Vec<TaskId> = (2..).zip(kinds).map(|(at, ask)| taker(&mut set, at * MS, ask(lock), lock, MS)).collect();
        let (log, simulation) = run(set, 4, 50);
        assert_eq!(got(&log, &tasks), expected);
        let report = &simulation.lock_reports()[0];
        assert_eq!((report.holds.count(), report.holds.max()), (4, 10 * MS));
    }
}

#[test]
fn taking_and_releasing_has_a_price() {
    for (kind, op, section) in [(LockKind::Rwsem, Op::KernelLock, true), (LockKind::Futex, Op::FutexFast, false)] {
        let mut set = set();
        let lock = fifo(&mut set, "l", kind);
        let body = vec![write(lock), unlock(lock)];
        let task = set.pinned("a", 0, if section { syscall(&body) } else { body });
        let mut machine = free_machine(1, 1000);
        machine.costs = fairground_machine::CostModel::preset("xeon-spr").unwrap();
        let mut simulation = Simulation::new(Setup { machine, ..setup(set, 1, kernel("v6.12", "full"), 10) }).unwrap();
        simulation.run(&mut fairground_model::NullSink).unwrap();
        assert_eq!(simulation.op_total(op), 2, "{task:?}");
    }
}
