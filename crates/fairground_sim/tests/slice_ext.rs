//! Extensions of slices: who has asked for one goes on for 5 us after an interrupt or a fault, once.

use crate::common::{Build, Log, MS, US, cpu, free_machine, work};
use fairground_model::{Instr, Mode, Policy, RtPriority, TaskSet};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation, SliceExtensions};
use fairground_stdx::{Ns, TaskId};

const ON: Instr = Instr::SliceExt { request: true };
const OFF: Instr = Instr::SliceExt { request: false };

fn setup(kernel: &str, preemption: &str, set: TaskSet) -> Setup {
    let profile = Profile::parse(kernel).unwrap().with_seam("preemption", preemption).unwrap();
    Setup { machine: free_machine(3, 250), profile, tasks: set, seed: 1, duration: Ns::from_ms(3), paranoid: true }
}

/// The holder on CPU 0, and tasks there that another CPU wakes at these instants, us. Returns when each has its CPU, and what came of
/// extensions.
fn run(preemption: &str, holder: Vec<Instr>, wakes_us: &[u64]) -> (Vec<u64>, SliceExtensions) {
    let mut set = TaskSet::default();
    set.pinned("holder", 0, [holder, vec![work(50 * MS)]].concat());
    let mut woken = Vec::new();
    for (row, &at) in wakes_us.iter().enumerate() {
        let pipe = set.pipe(16);
        let task = set.pinned(&format!("woken{row}"), 0, vec![Instr::Read { pipe, into: 0 }, work(10 * US)]);
        // A fair one with a short slice is not kept waiting by protection.
        set.tasks[task].slice = (preemption == "lazy").then_some(Ns::from_us(100));
        set.tasks[task].policy = match preemption {
            "lazy" => Policy::Normal,
            _ => Policy::Fifo(RtPriority::new(1 + row as i64).unwrap()),
        };
        set.pinned("waker", 1 + row as u32, vec![work(at * US), Instr::Write { pipe, value: None }]);
        woken.push(task);
    }
    // Who is woken waits before that: it comes first.
    set.tasks[TaskId::new(0)].start = fairground_model::Start::At(fairground_stdx::Instant::from_ns(1));
    let (log, simulation, _) = Log::and_simulation(setup("v7.2", preemption, set));
    let stays = log.stays_on(cpu(0));
    let began = |task: &TaskId| stays.iter().rfind(|stay| stay.task == task.get()).map_or(0, |stay| stay.from);
    (woken.iter().map(began).collect(), simulation.slice_extensions().unwrap_or_default())
}

fn counts(granted: u64, yielded: u64, expired: u64, aborted: u64) -> SliceExtensions {
    SliceExtensions { granted, yielded, expired, aborted }
}

/// Model: 12 T21
#[test]
fn an_interrupt_grants_five_microseconds_once() {
    let begun = |holder, wakes: &[u64]| run("full", holder, wakes);
    assert_eq!(begun(vec![], &[100]), (vec![100 * US], counts(0, 0, 0, 0)));
    assert_eq!(begun(vec![ON], &[100]), (vec![105 * US], counts(1, 0, 1, 0)));
    assert_eq!(begun(vec![ON, work(50 * US), OFF], &[100]), (vec![100 * US], counts(0, 0, 0, 0)));
    // It gives its CPU away in time.
    let section = vec![work(90 * US), ON, work(12 * US), OFF];
    assert_eq!(begun(section, &[100]), (vec![102 * US + 1], counts(1, 1, 0, 0)));
}

/// Model: 12 T22
///
/// Another task is woken within the extension: it ends there. The more urgent one goes first.
#[test]
fn a_second_request_ends_the_extension() {
    let (began, counts_) = run("full", vec![ON], &[100, 103]);
    assert_eq!((began, counts_), (vec![113 * US, 103 * US], counts(1, 0, 0, 0)));
}

/// Model: 12 T23
///
/// The wake-up comes in the middle of a stretch of kernel code from 99 to 101 us.
#[test]
fn a_fault_grants_it_and_a_system_call_does_not() {
    let kernel = || vec![Instr::Enter, Instr::Run { work: Ns(2 * US), mode: Mode::Kernel }, Instr::Leave];
    let fault = || vec![Instr::PageFault { low: Ns(2 * US), high: Ns(2 * US) }];
    let section = |on: Instr, inside: Vec<Instr>| [vec![work(98 * US), on, work(US)], inside, vec![work(US), OFF]].concat();
    let begun = |holder| run("lazy", holder, &[100]);
    assert_eq!(begun(section(OFF, fault())), (vec![101 * US + 1], counts(0, 0, 0, 0)));
    assert_eq!(begun(section(ON, fault())), (vec![102 * US + 1], counts(1, 1, 0, 0)));
    assert_eq!(begun(section(ON, kernel())), (vec![101 * US + 1], counts(0, 0, 0, 0)));
}

#[test]
fn a_system_call_within_it_ends_it() {
    let call = Instr::SetTimerSlack { slack: Ns(0) };
    let (began, ended) = run("full", vec![ON, work(103 * US), call], &[100]);
    assert_eq!((began, ended), (vec![103 * US + 1], counts(1, 0, 0, 1)));
}

#[test]
fn kernels_before_7_0_have_none_and_say_so() {
    let mut set = TaskSet::default();
    set.task("t", vec![ON]);
    let wrong = Simulation::new(setup("v6.18", "full", set.clone())).err().unwrap().to_string();
    assert!(wrong.contains("profile `v6.18` has none") && wrong.contains("v7.0"), "{wrong}");
    let mut without = setup("v7.2", "full", set);
    without.profile = without.profile.with_seam("slice_extension", "absent").unwrap();
    assert!(Simulation::new(without).is_err());
}
