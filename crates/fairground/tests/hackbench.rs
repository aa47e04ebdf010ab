//! hackbench and perf bench sched pipe in whole runs: what is written is read, and who is woken for it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use fairground_machine::Machine;
use fairground_model::{Op, Sink, TaskSet, TraceEvent, WakeContext};
use fairground_sched::Profile;
use fairground_sim::{Ending, Setup, Simulation};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId};
use fairground_workload::{args_of_flags, build};

fn tasks(name: &str, flags: &str) -> TaskSet {
    let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
    build(name, &args_of_flags(name, &flags).unwrap()).unwrap()
}

/// What the tests count.
#[derive(Default, PartialEq, Eq, Debug)]
struct Counts {
    /// By task and name of the marker: how many, and the sum.
    marks: Vec<(TaskId, u32, u64)>,
    exits: u64,
    /// Wake-ups by tasks.
    wakeups: u64,
    switches: u64,
}

impl Sink for Counts {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Marker { task, marker, value } => self.marks.push((task, marker.get(), value)),
            TraceEvent::SchedProcessExit { .. } => self.exits += 1,
            TraceEvent::SchedWaking { context: WakeContext::Task, .. } => self.wakeups += 1,
            TraceEvent::SchedSwitch { .. } => self.switches += 1,
            _ => {}
        }
    }
}

fn run(kernel: &str, cpus: usize, tasks: TaskSet) -> (Counts, Simulation) {
    let machine = Machine::preset(&format!("smp-{cpus}")).unwrap();
    let setup =
        Setup { machine, profile: Profile::parse(kernel).unwrap(), tasks, seed: 1, duration: Ns::from_secs(60), paranoid: true };
    let mut simulation = Simulation::new(setup).unwrap();
    let mut counts = Counts::default();
    assert_eq!(simulation.run(&mut counts).unwrap().ending, Ending::AllExited);
    (counts, simulation)
}

const KERNELS: [&str; 4] = ["v4.12", "v5.19", "v6.12", "v6.14"];

/// Four tasks and twelve messages, six for each receiver.
///
/// Model: 08 T09
#[test]
fn each_receiver_of_hackbench_reads_six_messages() {
    for (flags, op) in [("-g 1 -f 2 -l 3", Op::UnixOp), ("-g 1 -f 2 -l 3 -T", Op::UnixOp), ("-g 1 -f 2 -l 3 -p", Op::PipeOp)] {
        for kernel in KERNELS {
            let set = tasks("hackbench", flags);
            assert_eq!(set.tasks.iter().filter(|task| task.name != "hackbench").count(), 4);
            let messages = set.markers.iter_enumerated().find(|row| row.1.name == "hackbench_messages").unwrap().0;
            let mut received: IndexVec<TaskId, u64> = set.tasks.iter().map(|_| 0).collect();
            let (counts, simulation) = run(kernel, 2, set);
            counts.marks.iter().filter(|mark| mark.1 == messages.get()).for_each(|mark| received[mark.0] += mark.2);
            assert_eq!(received.iter().copied().collect::<Vec<u64>>(), [6, 6, 0, 0, 0], "{flags} {kernel}");
            assert_eq!(counts.exits, 5);
            // Each message is sent and received; four bytes say who is ready, and are read, and one starts all.
            let beside = if op == Op::PipeOp { 9 } else { 0 };
            assert_eq!(simulation.op_total(op), 24 + beside, "{flags} {kernel}");
        }
    }
}

/// A thousand round trips: two thousand writes and as many reads, each of which wakes at most once.
///
/// Model: 08 T10
#[test]
fn a_thousand_round_trips_are_two_thousand_writes_and_reads() {
    for kernel in KERNELS {
        for cpus in [1, 2] {
            let (counts, simulation) = run(kernel, cpus, tasks("sched_pipe", "-l 1000"));
            assert_eq!(simulation.op_total(Op::PipeOp), 4_000);
            // And the child's end wakes its parent.
            assert!((1_000..=2_001).contains(&counts.wakeups), "{kernel}, {cpus} CPUs: {}", counts.wakeups);
        }
    }
}

/// Channels that run full all the time: everything arrives, in the same way each time.
#[test]
fn messages_beyond_what_fits_arrive_and_runs_are_repeated_exactly() {
    for flags in ["-g 2 -f 4 -l 200", "-g 2 -f 4 -l 200 -p", "-g 2 -f 4 -l 60 -s 2000 -p -T"] {
        for kernel in KERNELS {
            let one = || run(kernel, 4, tasks("hackbench", flags));
            let ((counts, first), (again, second)) = (one(), one());
            let loops = if flags.contains("60") { 60 } else { 200 };
            // The last mark is the parent's time.
            assert_eq!(counts.marks.len() - 1, 2 * 4 * 4 * loops, "{flags} {kernel}");
            assert_eq!((first.digest(), &counts), (second.digest(), &again), "{flags} {kernel}");
        }
    }
}
