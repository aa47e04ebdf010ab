//! Closed forms of quota and published cases, where nothing but computing takes time.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::{Build, MS, asleep_until, free_machine, profile, repeat, sleep, work};
use fairground_machine::Machine;
use fairground_model::{CpuMax, Decision, Instr, NullSink, Reason, Sink, TaskGroupSpec, TaskSet, TraceEvent};
use fairground_sched::{BandwidthStats, Profile};
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId, TgId};

const HOG: u64 = u64::MAX;
const US: u64 = 1_000;

/// A group with quota, period and burst in ms.
fn group(set: &mut TaskSet, quota_ms: u64, period_ms: u64, burst_ms: u64) -> TgId {
    let limit = CpuMax { quota: Some(Ns::from_ms(quota_ms)), period: Ns::from_ms(period_ms), burst: Ns::from_ms(burst_ms) };
    set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new("/limited", None) })
}

/// A task of the group on a CPU of its own.
fn task(set: &mut TaskSet, group: TgId, cpu: u32, code: Vec<Instr>) -> TaskId {
    let task = set.pinned(&format!("task{cpu}"), cpu, code);
    set.tasks[task].group = Some(group);
    task
}

/// All periods begin at whole multiples of them.
fn in_phase(name: &str) -> Profile {
    profile(name).with_seam("period_phase", "boot").unwrap()
}

fn simulation(set: TaskSet, cpus: usize, hz: u32, profile: Profile, ms: u64) -> Simulation {
    on(free_machine(cpus, hz), set, profile, ms)
}

fn on(machine: Machine, set: TaskSet, profile: Profile, ms: u64) -> Simulation {
    let setup = Setup { machine, profile, tasks: set, seed: 1, duration: Ns::from_ms(ms), paranoid: false };
    Simulation::new(setup).unwrap()
}

/// CPU time of the tasks up to an instant, us.
fn used(simulation: &mut Simulation, tasks: &[TaskId], at_us: u64) -> u64 {
    let now = Instant::from_ns(at_us * US);
    simulation.run_until(now, &mut NullSink).unwrap();
    let ran = |&task: &TaskId| {
        let se = simulation.sched().se(task);
        let is_running = simulation.sched().rq(simulation.sched().task(task).cpu).curr == Some(task);
        se.sum_exec_runtime + if is_running { now.saturating_since(se.accounted_until()).0 } else { 0 }
    };
    tasks.iter().map(ran).sum::<u64>() / US
}

fn stats(simulation: &Simulation, group: TgId) -> BandwidthStats {
    simulation.sched().cfs_bandwidth(group).unwrap().stats
}

/// T = k P + (B - k Q) / N: 4 threads have used 150 ms after 112.5 ms with 100 per 100 ms, and with 50 per 50 ms as well; with a burst
/// of 50 ms in hand after 37.5 ms.
///
/// Model: 13 T12
#[test]
fn four_threads_use_150_ms_in_the_time_that_the_burst_formula_tells() {
    // With 50 per 50 ms slices do not part the quota evenly: up to 1 ms stays on each CPU.
    for (quota, period, kept_us) in [(100, 100, 0), (50, 50, 4_000)] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, quota, period, 0);
        let hogs: Vec<TaskId> = (0..4).map(|cpu| task(&mut set, limited, cpu, vec![work(HOG)])).collect();
        let mut simulation = simulation(set, 4, 1000, in_phase("v6.12"), 200);
        assert_eq!(used(&mut simulation, &hogs, 100_000), 100_000, "{quota}");
        let at_the_end = used(&mut simulation, &hogs, 112_500);
        assert!((150_000 - kept_us..=150_000).contains(&at_the_end), "{quota}: {at_the_end}");
    }
    let mut set = TaskSet::default();
    let limited = group(&mut set, 100, 100, 50);
    // What starts the timer: it leaves 150 ms in the pool when it stops.
    task(&mut set, limited, 0, vec![work(MS)]);
    let late = || [asleep_until(300 * MS).to_vec(), vec![work(HOG)]].concat();
    let hogs: Vec<TaskId> = (0..4).map(|cpu| task(&mut set, limited, cpu, late())).collect();
    let mut simulation = simulation(set, 4, 1000, in_phase("v6.12"), 400);
    let at_the_end = used(&mut simulation, &hogs, 337_500);
    assert!((146_000..=150_000).contains(&at_the_end), "{at_the_end}");
}

/// Model: 13 T13
#[test]
fn eight_busy_threads_run_25_ms_and_stall_75() {
    for (threads, at_ms, expected_us) in [(8, 25, 200_000), (8, 99, 200_000), (2, 99, 198_000)] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, 200, 100, 0);
        let hogs: Vec<TaskId> = (0..threads).map(|cpu| task(&mut set, limited, cpu, vec![work(HOG)])).collect();
        let mut simulation = simulation(set, 8, 1000, in_phase("v6.12"), 1000);
        assert_eq!(used(&mut simulation, &hogs, at_ms * 1000), expected_us);
        used(&mut simulation, &hogs, 990_000);
        assert_eq!(stats(&simulation, limited).nr_throttled > 0, threads == 8);
    }
}

/// LinkedIn 2016: 400 ms of collection with a limit of 2 CPUs: 125 ms with 8 threads, 50 ms without a limit; 200 ms with 2 threads, which
/// are never throttled.
///
/// 400 ms are exactly two quotas: up to 1 ms stays on each CPU, so that the last thread ends just after the next refill, at 204 ms. With
/// 368 ms, where each slice is used up, the formula holds.
///
/// Model: 13 T08
#[test]
fn a_collector_with_more_threads_than_its_limit_takes_125_ms_instead_of_50() {
    let run = |threads: u32, quota: u64, work_ms: u64| {
        let mut set = TaskSet::default();
        let limited = group(&mut set, quota, 100, 0);
        let each = work_ms * MS / u64::from(threads);
        let all: Vec<TaskId> = (0..threads).map(|cpu| task(&mut set, limited, cpu, vec![work(each)])).collect();
        let mut simulation = simulation(set, 8, 1000, in_phase("v6.12"), 300);
        let done = (1..300).find(|ms| used(&mut simulation, &all, ms * 1000) == work_ms * 1000).unwrap();
        (done, stats(&simulation, limited).nr_throttled)
    };
    assert_eq!([run(8, 800, 400), run(2, 200, 400)], [(50, 0), (200, 0)]);
    // 100 + (368 - 200) / 8.
    assert_eq!(run(8, 200, 368), (121, 1));
    let (done, _) = run(8, 200, 400);
    assert_eq!(done, 204);
    is_known_outside(done, 124..=126);
}

/// arXiv 2510.10747: 600m and a request of 26 ms that comes with nothing left and 40 ms to the refill.
///
/// Model: 13 T11
#[test]
fn a_request_of_26_ms_takes_66_ms_if_it_waits_for_the_refill() {
    for (before_ms, expected_us) in [(60, 66_000), (0, 26_000)] {
        let mut set = TaskSet::default();
        let limited = group(&mut set, 60, 100, 0);
        if before_ms > 0 {
            task(&mut set, limited, 0, vec![work(before_ms * MS)]);
        }
        let code = [asleep_until(60 * MS).to_vec(), vec![work(26 * MS)]].concat();
        let request = task(&mut set, limited, 1, code);
        let mut simulation = simulation(set, 2, 1000, in_phase("v6.12"), 300);
        let done = (60_000..200_000).step_by(500).find(|&us| used(&mut simulation, &[request], us) == 26_000).unwrap();
        assert!((done - 60_000_u64).abs_diff(expected_us) <= 1000, "{done}");
    }
}

/// The fibtest of the fix: a thread that computes, and slow ones that wake every 10 ms for 4 us, each on its own CPU, for 5 s. Returns
/// what all and the fast one have used, ms, and in how many periods the group was throttled.
fn fibtest(name: &str, cpus: u32, quota_ms: u64, hz: u32) -> (u64, u64, u64) {
    fibtest_on(free_machine(cpus as usize, hz), name, quota_ms)
}

fn fibtest_on(machine: Machine, name: &str, quota_ms: u64) -> (u64, u64, u64) {
    let cpus = machine.cpus.len() as u32;
    let mut set = TaskSet::default();
    let limited = group(&mut set, quota_ms, 100, 0);
    let fast = task(&mut set, limited, 0, vec![work(HOG)]);
    let mut all = vec![fast];
    let slow = |cpu: u32| {
        // Threads of a process that was just started do not wake at one instant.
        let phase = u64::from(cpu) * 10 * MS / u64::from(cpus);
        let round = [work(4 * US), sleep(10 * MS), Instr::Jump { to: 2 }];
        [asleep_until(phase).to_vec(), round.to_vec()].concat()
    };
    all.extend((1..cpus).map(|cpu| task(&mut set, limited, cpu, slow(cpu))));
    let mut simulation = on(machine, set, in_phase(name), 5_001);
    let total = used(&mut simulation, &all, 5_000_000) / 1000;
    let fast = used(&mut simulation, &[fast], 5_000_000) / 1000;
    // The timer at 5 s ends the fiftieth period.
    used(&mut simulation, &all, 5_000_500);
    (total, fast, stats(&simulation, limited).nr_throttled)
}

const EXPIRING: &str = "v5.1";
const KEPT: &str = "v5.10";

/// A band that the simulator misses stays here: should it come to lie inside, this line goes.
fn is_known_outside(value: u64, band: std::ops::RangeInclusive<u64>) {
    assert!(!band.contains(&value), "{value} lies in its band {band:?} now");
}

/// Model: 13 T01
#[test]
fn one_thread_gets_its_quota() {
    let (total, _, throttled) = fibtest(KEPT, 1, 10, 1000);
    assert!((489..=511).contains(&total) && (50..=51).contains(&throttled), "{total} {throttled}");
}

/// Published: 88 ms, throttled 58 times, and 493 ms, 51 times; 76.9 % of the iterations of one thread alone.
///
/// Model: 13 T02
#[test]
fn slices_that_expire_starve_a_thread_beside_63_others() {
    let (total, _, throttled) = fibtest(EXPIRING, 64, 10, 1000);
    assert!((25..=130).contains(&total) && (50..=60).contains(&throttled), "{total} {throttled}");
    let (total, fast, throttled) = fibtest(KEPT, 64, 10, 1000);
    assert!((480..=501).contains(&total) && (50..=51).contains(&throttled), "{total} {throttled}");
    assert!((74..=79).contains(&(fast * 100 / total)), "{fast} of {total}");
}

/// Model: 10 T15
#[test]
fn sixty_four_cpus_lose_most_of_a_quota_whose_slices_expire() {
    assert!((25..=130).contains(&fibtest(EXPIRING, 64, 10, 1000).0));
    assert!((480..=501).contains(&fibtest(KEPT, 64, 10, 1000).0));
}

/// Published: almost 30 times better on 80 CPUs. Here it is 6 times: a thread that is throttled has its debt paid first at each refill,
/// then runs to the next tick before it is charged, so that one tick of each period is its own whatever the others take.
///
/// Model: 13 T03
#[test]
fn eighty_cpus_get_six_times_as_much_if_slices_do_not_expire() {
    for (hz, before_band) in [(1000, 50..=65), (250, 200..=215)] {
        let (_, before, _) = fibtest(EXPIRING, 80, 10, hz);
        let (_, after, _) = fibtest(KEPT, 80, 10, hz);
        assert!(before_band.contains(&before) && (335..=345).contains(&after), "{hz} Hz: {before} -> {after}");
        is_known_outside(after / before, 10..=50);
    }
    let (before, _, _) = fibtest(EXPIRING, 88, 100, 1000);
    let (after, _, _) = fibtest(KEPT, 88, 100, 1000);
    assert!((780..=850).contains(&before) && after >= 4990, "{before} -> {after}");
}

/// Which part of a tick lies between a refill and the next tick is another one with each boot of the kernels whose slices expire
/// (v4.19 to v5.3). That is what the thread runs before it is charged, and the published figure lies within.
///
/// Model: 13 T03
#[test]
fn the_gain_of_eighty_cpus_depends_on_the_phase_of_the_ticks() {
    let fast = |name, sixteenth: u64| {
        let mut machine = free_machine(80, 1000);
        machine.tick_phase = Ns(sixteenth * MS / 16);
        fibtest_on(machine, name, 10).1
    };
    let before: Vec<u64> = (0..8).map(|boot| fast(EXPIRING, 2 * boot + 1)).collect();
    assert!(before.is_sorted(), "{before:?}");
    let ratio = |sixteenth| fast(KEPT, sixteenth) / fast(EXPIRING, sixteenth);
    let [early, middle, late] = [1, 8, 15].map(ratio);
    assert!(early > 25 && (late + 1..early).contains(&middle) && late < 10, "{early} {middle} {late}");
}

/// Model: 13 T04
#[test]
fn eight_cpus_lose_less() {
    let [(little, all), (before, after)] = [10, 100].map(|quota| {
        let (before, _, _) = fibtest(EXPIRING, 8, quota, 1000);
        (before, fibtest(KEPT, 8, quota, 1000).0)
    });
    assert!((4600..=4720).contains(&before) && after >= 4990, "{before} -> {after}");
    assert!((170..195).contains(&little) && all >= 485, "{little} -> {all}");
    is_known_outside(little, 195..=275);
}

/// Lengths of throttled spans.
#[derive(Default)]
struct Spans {
    since: Option<Instant>,
    lengths_us: Vec<u64>,
}

impl Sink for Spans {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(Decision { reason, .. }) = event {
            match reason {
                Reason::Throttle => self.since = Some(at),
                Reason::Unthrottle => {
                    let since = self.since.take();
                    self.lengths_us.extend(since.map(|since| at.since(since).0 / US));
                }
                _ => {}
            }
        }
    }
}

/// ebpf_exporter's example: CPUQuota=8 % and one hog: spans of 87 to 96 ms were seen.
///
/// Model: 13 T10
#[test]
fn a_hog_with_eight_percent_is_throttled_for_92_ms_on_average() {
    let mut lengths = Vec::new();
    for seed in 1..=40 {
        let mut set = TaskSet::default();
        let limited = group(&mut set, 8, 100, 0);
        task(&mut set, limited, 0, vec![work(HOG)]);
        let setup = Setup {
            machine: free_machine(1, 250),
            profile: profile("v6.12"),
            tasks: set,
            seed,
            duration: Ns::from_secs(10),
            paranoid: false,
        };
        let mut spans = Spans::default();
        Simulation::new(setup).unwrap().run(&mut spans).unwrap();
        // The first span ends with the first period, whose phase is random.
        lengths.extend(spans.lengths_us.into_iter().skip(1));
    }
    let mean = lengths.iter().sum::<u64>() / lengths.len() as u64;
    eprintln!("{} to {} us, mean {mean}", lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    assert!(lengths.iter().all(|us| (84_000..=96_000).contains(us)), "{lengths:?}");
    assert!(mean.abs_diff(92_000) <= 1000, "{mean}");
}

/// How long each of 100 burns of 5 ms took, one a second, with a quota of four times the need. The clock of its CPU is so far ahead.
fn burns(name: &str, ahead: Ns) -> Vec<u64> {
    let mut set = TaskSet::default();
    let limited = group(&mut set, 20, 100, 0);
    let marker = set.marker("burn");
    // A sleep has timer slack, so that burns begin at any phase of the ticks.
    let rest = sleep(1000 * MS + 50 * US);
    let burn = vec![Instr::Now { reg: 0 }, work(5 * MS), Instr::MarkSince { marker, reg: 0 }, rest, repeat(100)];
    task(&mut set, limited, 0, burn);
    let mut machine = free_machine(2, 1000);
    machine.cpus[CpuId::new(0)].clock_ahead = ahead;
    let mut simulation = on(machine, set, profile(name), 130_000);
    struct Lengths(Vec<u64>);
    impl Sink for Lengths {
        fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
            if let TraceEvent::Marker { value, .. } = event {
                self.0.push(*value);
            }
        }
    }
    let mut lengths = Lengths(Vec::new());
    simulation.run(&mut lengths).unwrap();
    assert_eq!(lengths.0.len(), 100);
    lengths.0
}

/// None takes longer where slices do not expire.
///
/// Model: 13 T05
#[test]
fn a_burn_far_below_the_quota_is_not_late_if_slices_do_not_expire() {
    assert!(burns(KEPT, Ns(1_500 * US)).iter().all(|&burn| burn < 7 * MS));
}

/// Up to v4.17 some wait for the refill, none for two. A clock that is ahead is not needed: when the period timer starts again the pool
/// has the deadline of an old period, which slices take over, and each tick loses one.
///
/// Model: 13 T05
#[test]
fn a_burn_waits_for_the_refill_where_slices_expire_in_their_own_period() {
    for ahead in [Ns::ZERO, Ns(1_500 * US)] {
        let burns = burns("v4.12", ahead);
        let late = burns.iter().filter(|&&burn| burn >= 90 * MS).count();
        assert!(late >= 10 && burns.iter().all(|&burn| burn <= 205 * MS), "{late} {burns:?}");
    }
    assert!(
        burns("v5.1", Ns(1_500 * US)).iter().all(|&burn| burn < 7 * MS),
        "a deadline is told from the next one by its number"
    );
}

/// The clock of a CPU is 1.5 ms ahead of the one that holds the timer: 1 ms before the refill it takes a slice for an old one.
#[test]
fn a_clock_that_is_ahead_loses_a_slice_of_its_own_period() {
    let left_in_pool = |name: &str, ahead: u64| {
        let mut set = TaskSet::default();
        let limited = group(&mut set, 40, 100, 0);
        task(&mut set, limited, 0, vec![work(MS / 2)]);
        let late = [asleep_until(98_200 * US).to_vec(), vec![work(5 * MS)]].concat();
        task(&mut set, limited, 1, late);
        let mut machine = free_machine(2, 1000);
        machine.cpus[CpuId::new(1)].clock_ahead = Ns(ahead * US);
        let mut simulation = on(machine, set, in_phase(name), 300);
        simulation.run_until(Instant::from_ns(99_500 * US), &mut NullSink).unwrap();
        simulation.sched().cfs_bandwidth(limited).unwrap().runtime / MS
    };
    let of = |name| [0, 1_500].map(|ahead| left_in_pool(name, ahead));
    let [right, early] = of("v4.12");
    assert_eq!(right - early, 5);
    for name in [EXPIRING, KEPT] {
        let [right, early] = of(name);
        assert_eq!(right, early, "{name}");
    }
}
