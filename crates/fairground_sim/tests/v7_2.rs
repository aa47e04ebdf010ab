//! Turns and quota in Linux 7.2. Every run is checked after every few events.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::quota::{group, hog, in_phase, simulation};
use crate::common::{Log, MS, Stay, US, cpu, free_machine, hogs};
use fairground_model::{Decision, NullSink, Reason, Sink, TaskSet, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Flow, Setup};
use fairground_stdx::{CpuId, Instant, Ns};

fn hogs_run(cpus: usize, count: usize, switches: &[&str], ms: u64) -> Log {
    let base = Profile::parse("v7.2").unwrap();
    let profile = switches.iter().fold(base, |profile, text| profile.with_feature(text).unwrap());
    let (machine, tasks) = (free_machine(cpus, 250), hogs(&vec![0; count]));
    Log::of(Setup { machine, profile, tasks, seed: 1, duration: Ns(ms * MS), paranoid: true })
}

/// Stays after the first two ticks, when requests are whole ones.
fn settled(log: &Log, on: u32) -> Vec<Stay> {
    log.stays_on(cpu(on)).into_iter().filter(|stay| stay.from >= 8 * MS).collect()
}

/// Model: 14 T01
#[test]
fn three_hogs_take_turns_of_a_request() {
    let stays = settled(&hogs_run(1, 3, &[], 1_000), 0);
    assert!(stays.len() > 1_000, "{}", stays.len());
    assert!(stays.iter().all(|stay| stay.ns == 700 * US), "{:?}", stays.iter().find(|stay| stay.ns != 700 * US));
    assert!(stays.windows(4).all(|four| four[0].task == four[3].task && four[0].task != four[1].task), "in order A B C");
    let ticks = settled(&hogs_run(1, 3, &["NO_HRTICK"], 400), 0);
    assert!(ticks.iter().all(|stay| stay.ns == 4 * MS), "{ticks:?}");
}

/// Model: 14 T01
#[test]
fn two_hogs_take_requests_or_whole_ticks() {
    let stays = settled(&hogs_run(1, 2, &[], 1_000), 0);
    let odd = stays.iter().find(|stay| stay.ns != 700 * US && stay.ns % (4 * MS) != 0);
    assert!(odd.is_none(), "{odd:?}");
}

/// Twelve hogs on eight CPUs: four CPUs have two.
///
/// Model: 14 T01
#[test]
fn shared_cpus_alternate_at_the_scaled_request() {
    let log = hogs_run(8, 12, &[], 1_000);
    let shared: Vec<Vec<Stay>> = (0..8).map(|number| settled(&log, number)).filter(|stays| stays.len() > 40).collect();
    assert!(shared.len() >= 4, "{}", shared.len());
    let stays: Vec<u64> = shared.iter().flatten().map(|stay| stay.ns).collect();
    let requests = stays.iter().filter(|&&ns| (2_790 * US..=2_900 * US).contains(&ns)).count();
    assert!(requests * 10 > stays.len() * 8, "{requests} of {}", stays.len());
}

/// What happens to a group of four hogs with 20 ms of 100 ms: throttles and marks with their instants, and the debts.
#[derive(Default)]
struct Quota(Vec<(u64, CpuId, Reason, u32)>);

impl Sink for Quota {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(Decision { reason, b, .. }) = *event
            && matches!(reason, Reason::Throttle | Reason::ThrottleMark | Reason::ThrottleWork | Reason::Unthrottle)
        {
            self.0.push((at.ns(), cpu, reason, b));
        }
    }
}

impl Quota {
    fn of(kernel: &str) -> (Quota, Vec<u64>) {
        let mut set = TaskSet::default();
        let limited = group(&mut set, "/limited", None, 20, 100);
        let tasks: Vec<_> = (0..4).map(|number| hog(&mut set, limited, number)).collect();
        let mut simulation = simulation(set, 4, 250, in_phase(kernel), 1_000);
        let mut log = Quota::default();
        while simulation.run_until(Instant::MAX, &mut log).unwrap() == Flow::More {}
        let ran = tasks.iter().map(|&task| simulation.sched().se(task).sum_exec_runtime).collect();
        (log, ran)
    }
    fn rows(&self, wanted: Reason) -> Vec<(u64, CpuId, u32)> {
        self.0.iter().filter(|row| row.2 == wanted).map(|row| (row.0, row.1, row.3)).collect()
    }
}

/// Model: 14 T05
#[test]
fn a_queue_is_throttled_in_the_tick_and_its_task_stops_on_its_way_out() {
    let ((new, ran), (old, ran_before)) = (Quota::of("v7.2"), Quota::of("v6.18"));
    let throttles = new.rows(Reason::Throttle);
    assert!(throttles.len() >= 30, "{}", throttles.len());
    assert!(throttles.iter().all(|row| row.0 % (4 * MS) == 0), "at a tick");
    let at = |rows: Vec<(u64, CpuId, u32)>| rows.into_iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
    assert_eq!(at(new.rows(Reason::ThrottleMark)), at(throttles.clone()), "the running task is marked there");
    assert_eq!(at(new.rows(Reason::ThrottleWork)), at(throttles), "and leaves when the interrupt is over");
    // In the first period queues begin with nothing: v6.18 gives each a slice at its first enqueue, v7.2 with the first charge.
    let later = |quota: &Quota, wanted| quota.rows(wanted).into_iter().filter(|row| row.0 >= 100 * MS).collect::<Vec<_>>();
    for wanted in [Reason::Throttle, Reason::Unthrottle] {
        assert_eq!(later(&new, wanted), later(&old, wanted), "the same amounts as v6.18");
    }
    for total in [ran.iter().sum::<u64>(), ran_before.iter().sum()] {
        assert!(total.abs_diff(200 * MS) < 16 * MS, "{total}");
    }
}

/// Where nothing is charged twice a run in quota ends as it began: checked by the invariants of every few events. Who follows within the inner
/// group while the outer one is throttled runs on, so a bit more is used than 60 ms in each of 7 periods.
#[test]
fn groups_in_groups_with_quotas_keep_their_accounts() {
    let mut set = TaskSet::default();
    let outer = group(&mut set, "/outer", None, 60, 100);
    let inner = group(&mut set, "/outer/inner", Some(outer), 30, 50);
    for number in 0..4 {
        hog(&mut set, if number % 2 == 0 { inner } else { outer }, number);
        hog(&mut set, inner, number);
    }
    let mut simulation = simulation(set, 4, 1000, in_phase("v7.2"), 700);
    while simulation.run_until(Instant::MAX, &mut NullSink).unwrap() == Flow::More {}
    let ran: u64 = simulation.sched().task_ids().map(|task| simulation.sched().se(task).sum_exec_runtime).sum();
    assert!((420 * MS..460 * MS).contains(&ran), "{ran}");
}
