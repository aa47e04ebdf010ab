//! Between two stretches of user mode nobody looks at the flags: how a program is spelt does not change what is decided.

use crate::common::{Build, Log, MS, US, free_machine, priced_machine, work};
use fairground_machine::Machine;
use fairground_model::{Arithmetic, Instr, LockKind, LockMode, LockSpec, Mode, PipeSpec, TaskSet, Test, Value, Word};
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::{LockId, MarkerId, Ns, TaskId};

const MODELS: [&str; 4] = ["none", "voluntary", "full", "lazy"];

/// The longest wait for a tick of 4 ms: less what 90 % of evenly spread wake-ups are ahead of it, and as long as it.
const P90_BEHIND_A_TICK: std::ops::RangeInclusive<u64> = 3300 * US..=4000 * US;

fn for_ever(mut code: Vec<Instr>) -> Vec<Instr> {
    code.push(Instr::Jump { to: 0 });
    code
}

/// A task that computes as `spelt`, and one beside it that another CPU wakes at random instants.
fn beside_a_sleeper(kernel: &str, preemption: &str, machine: Machine, ms: u64, spelt: &[Instr]) -> (Log, TaskId) {
    let mut set = TaskSet::default();
    let pipe = set.pipes.push(PipeSpec::new(64));
    set.words.push(0);
    set.locks.push(LockSpec::new("futex", LockKind::Futex));
    set.marker("rounds");
    set.pinned("computes", 0, spelt.to_vec());
    let sleeper = set.pinned("sleeper", 0, for_ever(vec![Instr::Read { pipe, into: 0 }, work(20 * US)]));
    let pause = Instr::SleepBetween { low: Ns(8 * MS), high: Ns(17 * MS) };
    set.pinned("waker", 1, for_ever(vec![pause, Instr::Write { pipe, value: None }]));
    let profile = Profile::parse(kernel).unwrap().with_seam("preemption", preemption).unwrap();
    let log = Log::of(Setup { machine, profile, tasks: set, seed: 1, duration: Ns::from_ms(ms), paranoid: false });
    (log, sleeper)
}

fn spellings() -> Vec<(&'static str, Vec<Instr>)> {
    let word: Word = fairground_stdx::WordId::new(0).into();
    let chain = |us| for_ever(vec![work(us * US)]);
    let until = [Instr::Now { reg: 1 }, Instr::Add { reg: 1, time: Ns(10 * US) }, Instr::RunUntil { reg: 1 }];
    let looks = [
        work(10 * US),
        Instr::Load { word, into: 1 },
        Instr::Calculate { reg: 2, by: Arithmetic::Plus, value: Value::Const(1) },
        Instr::JumpIf { reg: 1, is: Test::Equal, value: Value::Const(0), to: 0 },
    ];
    let counted =
        vec![work(US), Instr::Repeat { counter: 0, times: 1000, to: 0 }, Instr::RunTime { time: Ns(100 * US), mode: Mode::User }];
    vec![
        ("hog", vec![work(u64::MAX)]),
        ("run 1ms", chain(1000)),
        ("run 10us", chain(10)),
        ("run 1us", chain(1)),
        ("1,000 times 1us", for_ever(counted)),
        ("until", for_ever(until.to_vec())),
        ("load, if", looks.to_vec()),
        ("spin", vec![Instr::Spin { word, value: 0 }]),
    ]
}

/// From its wake-up to its next stay, for each of them.
fn latencies(log: &Log, task: TaskId) -> Vec<u64> {
    let stays: Vec<u64> = log.stays().iter().filter(|stay| stay.task == task.get()).map(|stay| stay.from).collect();
    let wakeups = log.wakeups(task);
    let mut first = 0;
    let mut waits: Vec<u64> = wakeups
        .iter()
        .filter_map(|&(at, _)| {
            first += stays[first..].iter().take_while(|&&from| from < at).count();
            stays.get(first).map(|from| from - at)
        })
        .collect();
    waits.sort_unstable();
    waits
}

/// Model: 12 T15
#[test]
fn a_lazy_request_waits_for_the_tick_however_the_running_task_is_spelt() {
    let mut digests = Vec::new();
    for (name, spelt) in spellings() {
        let (log, sleeper) = beside_a_sleeper("v6.18", "lazy", free_machine(2, 250), 2000, &spelt);
        let waits = latencies(&log, sleeper);
        assert!(waits.len() > 140, "{name}: {}", waits.len());
        let p90 = waits[waits.len() * 9 / 10];
        assert!(P90_BEHIND_A_TICK.contains(&p90), "{name}: p90 {p90}");
        digests.push((name, log.digest));
    }
    let differs: Vec<_> = digests.iter().filter(|row| row.1 != digests[0].1).map(|row| row.0).collect();
    assert_eq!(differs, [""; 0]);
}

/// A lock of user space that is free, and a mark: neither needs the kernel.
#[test]
fn what_needs_no_kernel_is_no_place_to_give_way() {
    let lock = LockId::new(0);
    let locks = [Instr::Lock { lock, mode: LockMode::Write }, work(10 * US), Instr::Unlock { lock }];
    let marks = [work(10 * US), Instr::MarkValue { marker: MarkerId::new(0), value: 1 }];
    for prices in ["zero", "epyc"] {
        for (name, spelt) in [("lock", for_ever(locks.to_vec())), ("mark", for_ever(marks.to_vec()))] {
            let mut machine = priced_machine(2, prices);
            (machine.hz, machine.tick) = (250, Ns::from_ms(4));
            let (log, sleeper) = beside_a_sleeper("v6.18", "lazy", machine, 2000, &spelt);
            let waits = latencies(&log, sleeper);
            let p90 = waits[waits.len() * 9 / 10];
            assert!(P90_BEHIND_A_TICK.contains(&p90), "{name}, {prices}: p90 {p90}");
        }
    }
}

/// Model: 12 T15
///
/// A system call is: the request is acted on at its end, within the 10 us to the next one.
#[test]
fn a_system_call_and_a_section_end_in_a_look_at_the_flags() {
    let calls = vec![work(10 * US), Instr::SetTimerSlack { slack: Ns(0) }];
    let sections = vec![work(10 * US), Instr::Enter, Instr::Run { work: Ns(US), mode: Mode::Kernel }, Instr::Leave];
    let kernel = vec![work(10 * US), Instr::Run { work: Ns(US), mode: Mode::Kernel }];
    for (name, spelt) in [("calls", calls), ("sections", sections), ("kernel", kernel)] {
        let (log, sleeper) = beside_a_sleeper("v6.18", "lazy", free_machine(2, 250), 2000, &for_ever(spelt));
        let waits = latencies(&log, sleeper);
        // Some wake-ups ask for nothing: the running task is protected.
        let p90 = waits[waits.len() * 9 / 10];
        assert!(p90 <= 11 * US, "{name}: p90 {p90}");
    }
}

/// Model: 12 T16
#[test]
fn the_exit_of_a_fault_is_a_return_to_user_mode() {
    let fault = [work(10 * US), Instr::PageFault { low: Ns(US), high: Ns(US) }];
    let (log, sleeper) = beside_a_sleeper("v6.18", "lazy", free_machine(2, 250), 2000, &for_ever(fault.to_vec()));
    let waits = latencies(&log, sleeper);
    let p90 = waits[waits.len() * 9 / 10];
    assert!(p90 <= 11 * US, "p90 {p90}");
}

#[test]
fn the_spelling_changes_nothing_in_any_model_of_preemption() {
    for (kernel, prices) in [("v6.1", "epyc"), ("v6.12", "epyc"), ("v6.18", "epyc"), ("v7.2", "zero")] {
        for model in MODELS {
            if Profile::parse(kernel).unwrap().with_seam("preemption", model).is_err() {
                continue;
            }
            let mut digests = Vec::new();
            for (name, spelt) in spellings() {
                let mut machine = priced_machine(2, prices);
                (machine.hz, machine.tick) = (250, Ns::from_ms(4));
                digests.push((name, beside_a_sleeper(kernel, model, machine, 300, &spelt).0.digest));
            }
            let differs: Vec<_> = digests.iter().filter(|row| row.1 != digests[0].1).map(|row| row.0).collect();
            assert_eq!(differs, [""; 0], "{kernel}, {model}");
        }
    }
}
