use super::*;
use crate::{Args, args_of_flags, build as built, testing};
use fairground_model::{Frame, Instr, Step, Surroundings};
use fairground_stdx::{CpuId, IndexVec, RngStream, StreamKind, TaskId};

fn set(args: &[(&str, &str)]) -> TaskSet {
    let set = built("mysql", &Args::of(args)).unwrap();
    testing::check(&set);
    set
}
fn count(set: &TaskSet, task: u32, is: impl Fn(&Instr) -> bool) -> usize {
    set.programs[set.tasks[TaskId::new(task)].program].code.iter().filter(|row| is(row)).count()
}

#[test]
fn each_user_has_a_thread_of_the_server_beside_those_of_the_log() {
    let set = set(&[("vu", "2"), ("count-ware", "2")]);
    let names: Vec<&str> = set.tasks.iter().map(|task| task.name.as_str()).collect();
    let log = ["log_writer", "log_flusher", "log_write_notifier", "log_flush_notifier"];
    assert_eq!(names, [&["connection"; 2][..], &log, &["hammerdb"; 2]].concat());
    // SET, EXECUTE and SELECT: each is sent, and answered.
    let ends = |task| {
        (count(&set, task, |row| matches!(row, Instr::Send { .. })), count(&set, task, |row| matches!(row, Instr::Recv { .. })))
    };
    assert_eq!([ends(0), ends(6)], [(3, 3); 2]);
    let mms: std::collections::BTreeSet<u32> = set.tasks.iter().map(|task| task.mm).collect();
    assert_eq!(mms.len(), 2);
}

#[test]
fn three_procedures_commit_and_each_commit_has_its_stages() {
    let set = set(&[("vu", "1"), ("count-ware", "2")]);
    let names: Vec<&str> = set.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert_eq!(names, ["LOCK_log", "LOCK_sync", "LOCK_commit"]);
    // A new order, a payment, a delivery. A leader of a stage releases its mutex where it leads the next one and where it follows there.
    let locks = count(&set, 0, |row| matches!(row, Instr::Lock { .. }));
    let unlocks = count(&set, 0, |row| matches!(row, Instr::Unlock { .. }));
    assert_eq!((locks, unlocks), (9, 9));
    let waits = |args: &[(&str, &str)], task| count(&self::set(args), task, |row| matches!(row, Instr::Io { .. }));
    // The thread's flushes of the binary log, and log_flusher's of the redo log.
    assert_eq!([waits(&[("vu", "1")], 0), waits(&[("vu", "1"), ("fsync", "0us")], 0), waits(&[("vu", "1")], 2)], [3, 0, 1]);
}

#[test]
fn users_stay_with_their_warehouse_or_go_to_another_one() {
    let draws = |args: &[(&str, &str)]| count(&set(args), 0, |row| matches!(row, Instr::Draw { reg: 0, .. }));
    assert_eq!([draws(&[]), draws(&[("allwarehouse", "true")])], [0, 2]);
}

#[test]
fn the_server_may_be_of_batch_tasks_and_users_elsewhere() {
    let set = set(&[("vu", "1"), ("batch", "true"), ("host", "remote")]);
    let policies: Vec<Policy> = set.tasks.iter().map(|task| task.policy).collect();
    assert_eq!(policies, [&[Policy::Batch; 5][..], &[Policy::Normal]].concat());
    let elsewhere: Vec<bool> = set.tasks.iter().map(|task| task.elsewhere).collect();
    assert_eq!(elsewhere, [&[false; 5][..], &[true]].concat());
}

/// Three take a row, one after the other: the first has it, the second gets it when the first releases it, and the third then.
#[test]
fn a_row_goes_to_the_one_that_has_waited_longest() {
    let mut set = TaskSet::default();
    let rows = rows::Rows::new(&mut set, 1, 3);
    let mut program = Program::default();
    program.push(Instr::Let { reg: 0, value: fairground_model::Value::Const(10) });
    rows.take(&mut program, 0);
    program.push(Instr::Run { work: Ns(1), mode: fairground_model::Mode::User });
    rows.release(&mut program, 0);
    let mut words: IndexVec<WordId, u64> = set.words.iter().copied().collect();
    let mut each: Vec<(Frame, RngStream)> =
        (0..3).map(|task| (Frame::default(), RngStream::new(1, StreamKind::TaskBehavior, task))).collect();
    let mut step = |task: usize| {
        let (frame, rng) = &mut each[task];
        let mut around = Surroundings { now: Instant::ZERO, cpu: CpuId::new(0), rng, words: &mut words };
        frame.next(&program, &mut around)
    };
    let runs = |step: &Step| matches!(step, Step::Run { .. });
    let place = |step: &Step| match step {
        Step::FutexWait { word, .. } | Step::FutexWake { word, .. } => Some(word.get()),
        _ => None,
    };
    assert!(runs(&step(0)));
    let (second, third) = (step(1), step(2));
    assert!(place(&second).is_some() && place(&third).is_some() && place(&second) != place(&third));
    // Who is woken for nothing sleeps again.
    assert_eq!(place(&step(2)), place(&third));
    assert_eq!(place(&step(0)), place(&second), "the first wakes the second");
    assert_eq!(place(&step(2)), place(&third));
    assert!(runs(&step(1)));
    assert_eq!(place(&step(1)), place(&third), "the second wakes the third");
    assert!(runs(&step(2)));
    assert_eq!(step(2), Step::Exit, "nobody is left to be woken");
}

#[test]
fn bad_flags_are_refused() {
    for flags in [["--vu", "0"], ["--count-ware", "0"], ["--host", "elsewhere"], ["-T", "0"], ["--statement", "5"]] {
        let args = args_of_flags("mysql", &flags.map(String::from)).unwrap();
        assert!(built("mysql", &args).is_err(), "{flags:?}");
    }
}
