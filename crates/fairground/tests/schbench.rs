//! schbench in whole runs: who is woken in which order, and what a spin by the clock on the wall means.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use fairground_machine::Machine;
use fairground_model::{PrevState, Sink, TaskSet, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId};
use fairground_workload::{args_of_flags, build};

fn tasks(name: &str, flags: &str) -> TaskSet {
    let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
    build(name, &args_of_flags(name, &flags).unwrap()).unwrap()
}

#[derive(Default)]
struct Log(Vec<(Instant, TraceEvent)>);
impl Sink for Log {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        self.0.push((at, *event));
    }
}

fn run(machine: &str, tasks: TaskSet, duration: Ns) -> Vec<(Instant, TraceEvent)> {
    let mut machine = Machine::preset(machine).unwrap();
    (machine.hz, machine.tick) = (1000, Ns::from_ms(1));
    let setup = Setup { machine, profile: Profile::parse("v4.12").unwrap(), tasks, seed: 1, duration, paranoid: true };
    let mut log = Log::default();
    Simulation::new(setup).unwrap().run(&mut log).unwrap();
    log.0
}

fn row_of(tasks: &TaskSet, name: &str) -> TaskId {
    tasks.tasks.iter_enumerated().find(|row| row.1.name == name).unwrap().0
}

/// Each batch: who came (known by its post of the message thread, or by its sleep), and who was woken, both in order.
fn batches(log: &[(Instant, TraceEvent)], workers: &[TaskId], message: TaskId) -> Vec<(Vec<TaskId>, Vec<TaskId>)> {
    let mut came: Vec<TaskId> = Vec::new();
    let mut all = Vec::new();
    let mut woken = Vec::new();
    for (_, event) in log {
        match *event {
            TraceEvent::SchedSwitch { prev: Some(task), prev_state: PrevState::Sleeping, .. }
                if workers.contains(&task) && !came.contains(&task) =>
            {
                came.push(task);
            }
            // Who posts the message thread goes to sleep later than who comes after it and need not.
            TraceEvent::SchedWaking { task, waker: Some(waker), .. } if task == message && workers.contains(&waker) => {
                came.push(waker);
            }
            TraceEvent::SchedWaking { task, waker, .. } if workers.contains(&task) => {
                assert_eq!(waker, Some(message), "workers are woken by their message thread");
                woken.push(task);
            }
            TraceEvent::SchedSwitch { prev: Some(task), prev_state: PrevState::Sleeping, .. }
                if task == message && !woken.is_empty() =>
            {
                let batch: Vec<TaskId> = came.iter().filter(|task| woken.contains(task)).copied().collect();
                came.retain(|task| !woken.contains(task));
                all.push((batch, std::mem::take(&mut woken)));
            }
            _ => {}
        }
    }
    all
}

/// Model: 08 T11
#[test]
fn the_first_arrival_posts_and_the_last_is_woken_first() {
    for (sleep, whole) in [("0", 1), ("10000", 3)] {
        let set = tasks("schbench-2016", &format!("-m 1 -t 3 -c 1000 -s {sleep} -r 1"));
        let workers: Vec<TaskId> = ["worker0.0", "worker0.1", "worker0.2"].map(|name| row_of(&set, name)).into();
        let message = row_of(&set, "message0");
        let log = run("smp-8", set, Ns::from_secs(1));
        let batches = batches(&log, &workers, message);
        assert!(batches.len() > 50 && batches.iter().any(|batch| batch.0.len() >= whole), "{sleep}: {batches:?}");
        for (came, woken) in &batches {
            let last_first: Vec<TaskId> = came.iter().rev().copied().collect();
            assert_eq!(woken, &last_first, "-s {sleep}");
        }
        // Only who finds the message thread blocked wakes it: with a sleep, once per batch by a worker, once by its timer.
        let posts = log.iter().filter(
            |row| matches!(row.1, TraceEvent::SchedWaking { task, waker: Some(waker), .. } if task == message && workers.contains(&waker)),
        );
        let posts = posts.count();
        assert!(posts.abs_diff(batches.len()) <= 1, "{posts} posts for {} batches with -s {sleep}", batches.len());
    }
}

/// Model: 08 T12
#[test]
fn a_spin_ends_by_wall_clock_and_not_by_cpu_time() {
    let mut set = tasks("schbench-2016", "-m 1 -t 2 -c 15000 -s 10000 -r 1");
    let workers = ["worker0.0", "worker0.1"].map(|name| row_of(&set, name));
    for (id, task) in set.tasks.ids().zip(set.tasks.clone().iter()) {
        let cpu = CpuId::new(u32::from(!workers.contains(&id)));
        set.tasks[id].affinity = Some(CpuMask::only(cpu));
        assert_eq!(task.name, set.tasks[id].name);
    }
    let log = run("smp-2", set, Ns::from_ms(60));
    let first_sleep = |worker: TaskId| {
        let found = log.iter().find(|row| {
            matches!(row.1, TraceEvent::SchedSwitch { prev: Some(task), prev_state: PrevState::Sleeping, .. } if task == worker)
        });
        found.unwrap().0.ns()
    };
    for worker in workers {
        // The slice of one of two tasks on a machine of two CPUs is 6 ms (half of 6 ms times 1 + log2 of 2), and ends in a tick.
        let at = first_sleep(worker);
        assert!((15_000_000..15_000_000 + 7_500_000).contains(&at), "{at}");
    }
}

#[test]
fn a_lock_that_never_sleeps_lets_one_work_at_a_time() {
    // Two workers on one CPU: whoever is preempted while it works keeps the lock, and the other burns its time.
    let busy = |flags: &str| {
        let set = tasks("schbench", &format!("-m 1 -t 2 -r 1 -W 0 -M 1 -s 0 -n 10 {flags}"));
        let rps = fairground_stdx::MarkerId::new(2);
        let log = run("smp-2", set, Ns::from_secs(1) + Ns::from_ms(100));
        let rates = log.iter().filter_map(|row| match row.1 {
            TraceEvent::Marker { marker, value, .. } if marker == rps => Some(value),
            _ => None,
        });
        let log_request =
            |marker| move |row: &&(Instant, TraceEvent)| matches!(row.1, TraceEvent::Marker { marker: m, .. } if m == marker);
        (rates.count(), log.iter().filter(log_request(fairground_stdx::MarkerId::new(1))).count())
    };
    let (rates, locked) = busy("");
    let (_, free) = busy("-L");
    assert_eq!(rates, 1, "the count at the start; that of the first second comes when the run is over");
    // 11.2 ms a request, longer than a slice: about 89 in a second, and those at its end. A slice spent on spinning is lost for both.
    assert!((85..=91).contains(&free), "{free}");
    assert!(locked < free && locked > free / 3, "{locked} with locks, {free} without");
}
