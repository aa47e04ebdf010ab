//! Frequencies that governors choose: when they change, and what tasks make of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use crate::common::{self, Build, MS, US, asleep_until, cpu, free_machine, repeat, setup, sleep, work};
use fairground_machine::{CostModel, Machine, machine_file};
use fairground_model::{
    Change, Governor, GovernorKind, Instr, Mode, Policy, RtPriority, Sink, Start, TaskSet, TraceEvent, Tunable,
};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId};

/// The five points of HiKey.
const KHZ: [u32; 5] = [208_000, 432_000, 729_000, 960_000, 1_200_000];

/// The board without prices: frequencies change at once, unless a test says otherwise.
fn hikey(governor: Governor, hz: u32) -> Machine {
    let mut machine = Machine::preset("hikey").unwrap();
    (machine.hz, machine.tick) = (hz, Ns(1_000_000_000 / u64::from(hz)));
    machine.costs = CostModel::preset("zero").unwrap();
    machine.policies[0].governor = governor;
    machine.policies[0].fast_switch = true;
    machine
}

fn schedutil() -> Governor {
    Governor::of(GovernorKind::Schedutil)
}

/// Changes of the frequency of CPU 0, and the utilisation of each task with its time.
#[derive(Default)]
struct Watch {
    changes: Vec<(u64, u32)>,
    utils: Vec<(u64, u32, u32)>,
    exits: Vec<(u64, u32)>,
}

impl Sink for Watch {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::CpuFrequency { cpu, khz } if cpu == CpuId::new(0) => self.changes.push((at.ns(), khz)),
            TraceEvent::SeSample { task, util_avg } => self.utils.push((at.ns(), task.get(), util_avg)),
            TraceEvent::SchedProcessExit { task } => self.exits.push((at.ns(), task.get())),
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl Watch {
    fn of(machine: Machine, profile: &str, tasks: TaskSet, duration_ns: u64) -> Watch {
        let profile = Profile::parse(profile).unwrap();
        let setup = Setup { machine, profile, tasks, seed: 1, duration: Ns(duration_ns), paranoid: true };
        let mut watch = Watch::default();
        Simulation::new(setup).unwrap_or_else(|mistakes| panic!("{mistakes}")).run(&mut watch).unwrap();
        watch
    }
    fn exit_of(&self, task: TaskId) -> u64 {
        self.exits.iter().find(|row| row.1 == task.get()).expect("the task ends").0
    }
}

/// When a ramp begins: the task has slept since long before. A whole number of ticks at every HZ, and of the periods of load
/// tracking (2^20 ns): the smallest such number, 2^20 · 5^7 ns.
const START: u64 = 81_920 * MS;

/// One task that is never idle from [`START`] on, with a utilisation of 0 at its beginning.
fn ramp(from: u64) -> TaskSet {
    let mut set = TaskSet::default();
    let asleep = common::asleep_until(from);
    let code = asleep.into_iter().chain([Instr::Run { work: Ns(u64::MAX), mode: Mode::User }]).collect();
    let task = set.pinned("ramp", 0, code);
    set.tasks[task].start = Start::Asleep;
    set
}

/// Time in ms and utilisation at each change of frequency.
fn climbs(profile: &str, hz: u32) -> Vec<(u64, u32)> {
    let watch = Watch::of(hikey(schedutil(), hz), profile, ramp(START), START + 400 * MS);
    let util_at = |at: u64| watch.utils.iter().rev().find(|row| row.0 == at).expect("a tick has changed it").2;
    assert_eq!(watch.changes.iter().map(|row| row.1).collect::<Vec<_>>(), KHZ[1..], "{profile} at HZ {hz}");
    watch.changes.iter().map(|&(at, _)| ((at - START) / MS, util_at(at))).collect()
}

/// Model: 04 T04
#[test]
fn each_operating_point_is_left_at_its_known_time() {
    let table = [
        ("v4.20", 1000, [(79, 142), (134, 295), (181, 498), (214, 656)]),
        ("v4.20", 250, [(80, 142), (136, 297), (184, 501), (220, 667)]),
        ("v4.20", 100, [(80, 143), (140, 302), (190, 508), (230, 682)]),
        ("v4.20+clock-pelt", 1000, [(43, 145), (70, 305), (96, 505), (117, 657)]),
        ("v4.20+clock-pelt", 250, [(44, 149), (72, 313), (96, 498), (120, 670)]),
        ("v4.20+clock-pelt", 100, [(50, 167), (80, 338), (110, 553), (130, 685)]),
    ];
    for (profile, hz, expected) in table {
        assert_eq!(climbs(profile, hz), expected, "{profile} at HZ {hz}");
    }
}

/// From the first computing to the highest frequency in us, for a beginning so long after a tick.
fn to_the_top(profile: &str, phase_us: u64) -> u64 {
    let from = START + phase_us * US;
    let watch = Watch::of(hikey(schedutil(), 250), profile, ramp(from), START + 400 * MS);
    let (at, khz) = *watch.changes.last().unwrap();
    assert_eq!(khz, KHZ[4]);
    (at - from) / US
}

/// Model: 04 T05
#[test]
fn the_phase_of_the_tick_moves_the_top_frequency_by_up_to_four_ms() {
    for (profile, least, most) in [("v4.20", 219_000, 222_500), ("v4.20+clock-pelt", 118_000, 121_500)] {
        let times: Vec<u64> = (0..8).map(|eighth| to_the_top(profile, 500 * eighth)).collect();
        let range = (times.iter().copied().min().unwrap(), times.iter().copied().max().unwrap());
        assert_eq!(range, (least, most), "{profile}: {times:?}");
    }
}

/// A policy for each CPU, with the points of HiKey.
fn two_clocks(governor: &str) -> Machine {
    let policy = |cpu| {
        format!(
            "[[policy]]\ncpus = \"{cpu}\"\nkhz = [208000, 432000, 729000, 960000, 1200000]\nfast_switch = true\ngovernor = {governor}\n"
        )
    };
    machine_file::parse(&format!("cores = 2\nhz = 1000\ncosts = \"zero\"\n{}{}", policy(0), policy(1))).unwrap()
}

/// A task that leaves the fair class sinks in utilisation, but its CPU was never idle. With another CPU on its clock that does not count.
///
/// Model: 04 T08
#[test]
fn a_cpu_that_was_never_idle_does_not_slow_down() {
    let mut set = TaskSet::default();
    let heavy = set.pinned("heavy", 0, vec![work(300 * MS)]);
    set.pinned("light", 0, vec![work(u64::MAX)]);
    let mut busy = two_clocks("\"schedutil\"");
    busy.policies[0].governor.set(Tunable::RateLimit, Some(MS));
    let run = |machine: Machine| Watch::of(machine, "v4.20", set.clone(), 1500 * MS);
    let watch = run(busy);
    assert!(watch.exit_of(heavy) < 1500 * MS);
    let highest = watch.changes.iter().position(|row| row.1 == KHZ[4]).expect("it comes to the top");
    assert_eq!(highest + 1, watch.changes.len(), "and stays there: {:?}", watch.changes);

    let mut set = TaskSet::default();
    set.pinned(
        "half",
        0,
        vec![work(200 * MS), sleep(20 * MS), work(5 * MS), sleep(20 * MS), Instr::Repeat { counter: 0, times: 40, to: 2 }],
    );
    let watch = Watch::of(two_clocks("\"schedutil\""), "v4.20", set, 2_000 * MS);
    let falls = watch.changes.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    assert!(falls > 0, "a CPU that idles in between slows down: {:?}", watch.changes);
}

/// Model: 04 T10
#[test]
fn the_policy_follows_its_busiest_cpu() {
    let mut set = ramp(START);
    let light = set.pinned("light", 5, vec![work(200 * US), sleep(10 * MS), Instr::Jump { to: 0 }]);
    set.tasks[light].start = Start::Asleep;
    let watch = Watch::of(hikey(schedutil(), 250), "v4.20", set, START + 1_000 * MS);
    let last = watch.changes.last().unwrap();
    assert_eq!(last.1, KHZ[4], "the light one does not slow the other down: {:?}", watch.changes);
    assert!(last.0 < START + 230 * MS);
}

/// Who computes runs at the highest frequency at once under performance, and under ondemand and a real-time policy soon.
///
/// Model: 04 T14
#[test]
fn performance_is_full_speed_from_the_beginning() {
    let utils = |profile: &str| {
        let watch = Watch::of(hikey(Governor::of(GovernorKind::Performance), 250), profile, ramp(START), START + 300 * MS);
        assert_eq!(watch.changes, [], "{profile}");
        watch.utils.iter().map(|row| (row.0, row.2)).collect::<Vec<_>>()
    };
    let (old, new) = (utils("v4.20"), utils("v4.20+clock-pelt"));
    assert_eq!(old.len(), new.len());
    let differ = old.iter().zip(&new).map(|(a, b)| a.1.abs_diff(b.1)).max().unwrap();
    assert!(differ <= 1, "old and new rules agree at full speed: {differ}");
}

/// A CPU with a clock of its own that has a point for each wish of [`boosts`].
fn steps() -> Machine {
    let khz = "100000, 124511, 125000, 156250, 249023, 250000, 312500, 498046, 500000, 625000, 996093, 1000000";
    let policy = format!("[[policy]]\ncpus = \"0\"\nkhz = [{khz}]\nfast_switch = true\n");
    let mut machine = machine_file::parse(&format!("cores = 1\nhz = 250\ncosts = \"zero\"\n{policy}")).unwrap();
    machine.policies[0].governor = schedutil().with(Tunable::RateLimit, MS);
    machine
}

/// When a task that waits `times` times for a device, then only sleeps, wakes up, and the frequencies that begin then.
fn boosts(profile: &str, times: u64, gap: u64) -> Vec<(u64, u32)> {
    let run = || Instr::RunTime { time: Ns(10 * US), mode: Mode::User };
    let cycle = gap + 10 * US;
    let mut set = TaskSet::default();
    let asleep = common::asleep_until(START);
    let code = asleep.into_iter().chain([run(), Instr::Io { time: Ns(gap) }, Instr::Repeat { counter: 0, times, to: 2 }]);
    let task = set.pinned("reader", 0, code.chain([run(), sleep(gap), Instr::Jump { to: 5 }]).collect());
    set.tasks[task].start = Start::Asleep;
    set.tasks[task].timer_slack = Ns(1);
    let watch = Watch::of(steps(), profile, set, START + (times + 10) * cycle);
    watch.changes.iter().map(|&(at, khz)| ((at - START) / cycle, khz)).collect()
}

/// The wake-ups 1 to 6 end a wait for a device, all later ones a sleep. A wake-up is looked at twice: for the wait, and because
/// a period of load tracking is over. Where the first look changed the frequency the rate limit drops the second; where it did
/// not, as the highest was reached, the second halves the boost, but a CPU that was not idle in between does not slow down.
///
/// ```text
/// wake-up             1    2    3    4     5        6        7    8    9
/// from-eighth         128  256  512  1024  1024/512 1024/512 256  128  0     of 1024
/// doubled-capacity    102  204  408  816   1024     1024/512 256  128  0     of 1024
/// doubled-frequency   100  200  400  800   1000/500 1000/500 250  125  0     MHz
/// highest             1000 …                        1000/500 250  125  62.5  MHz, halved after each look
/// ```
///
/// The frequency is 5/4 of that share of 1 GHz, in whole kHz.
///
/// Model: 04 T07
#[test]
fn waits_for_a_device_double_the_boost_of_a_run_and_sleeps_halve_it() {
    let falls = [(7, 312_500), (8, 156_250), (9, 100_000)];
    let series = |rises: &[(u64, u32)]| [rises, &falls].concat();
    let highest = series(&[(1, 1_000_000)]);
    let frequency = series(&[(1, 125_000), (2, 250_000), (3, 500_000), (4, 1_000_000)]);
    let capacity = series(&[(1, 124_511), (2, 249_023), (3, 498_046), (4, 996_093), (5, 1_000_000)]);
    let eighth = series(&[(1, 156_250), (2, 312_500), (3, 625_000), (4, 1_000_000)]);
    for (profile, expected) in [("v4.12", &highest), ("v4.20", &frequency), ("v5.1", &capacity)] {
        assert_eq!(&boosts(profile, 6, 2 * MS), expected, "{profile}");
    }
    for profile in ["v5.10", "v5.19", "v6.1", "v7.2"] {
        assert_eq!(boosts(profile, 6, 2 * MS), eighth, "{profile}");
    }
    // The server of the fair class stops with each sleep, and what it reserves anew with each wake-up sets the rate limit aside: the
    // second look halves the boost at once.
    assert_eq!(boosts("v6.14", 6, 2 * MS), [(1, 156_250), (7, 100_000)]);
}

/// More than a tick without a look forgets the boost: it begins anew at the least.
#[test]
fn a_device_that_answers_after_more_than_a_tick_gives_the_least_boost_each_time() {
    let khz = |profile| boosts(profile, 6, 5 * MS).iter().map(|row| row.1).max();
    assert_eq!((khz("v4.20"), khz("v5.1"), khz("v6.1")), (Some(125_000), Some(124_511), Some(156_250)));
}

/// Computes in slots of 20 ms: `busy` of them at the present speed.
fn duty(busy: u64) -> TaskSet {
    let mut set = TaskSet::default();
    let period = Ns::from_ms(20);
    let run = Instr::RunTime { time: Ns(busy), mode: Mode::User };
    let wait = Instr::TimerWait { reg: 0, period, mode: fairground_model::TimerMode::Absolute };
    set.pinned("duty", 0, vec![Instr::Now { reg: 0 }, run, wait, Instr::Jump { to: 1 }]);
    set
}

/// Model: 04 T15
#[test]
fn ondemand_goes_by_the_share_of_busy_time() {
    let ondemand = Governor::of(GovernorKind::Ondemand).with(Tunable::SamplingRate, 20 * MS);
    let all = Watch::of(hikey(ondemand, 250), "v6.1", ramp(START), START + 400 * MS);
    assert_eq!(all.changes.iter().map(|row| row.1).collect::<Vec<_>>(), [KHZ[4]], "the highest after one sample");
    let half = Watch::of(hikey(ondemand, 250), "v6.1", duty(10 * MS), 400 * MS);
    // 208000 + 50 · 992000 / 100 = 704000: 729000 is nearest.
    assert_eq!(half.changes.last().map(|row| row.1), Some(KHZ[2]), "{:?}", half.changes);
}

/// 85 % of busy time: 208000 + 85 · 992000 / 100 = 1051200, to which 960000 is nearest; above a threshold of 80 % the highest.
///
/// Model: 04 T15
#[test]
fn ondemand_goes_up_above_95_percent_unless_it_is_told_another_threshold() {
    let settled = |up_threshold, busy| {
        let mut governor = Governor::of(GovernorKind::Ondemand).with(Tunable::SamplingRate, 20 * MS);
        governor.set(Tunable::UpThreshold, up_threshold);
        Watch::of(hikey(governor, 250), "v6.1", duty(busy), 400 * MS).changes.last().map(|row| row.1)
    };
    assert_eq!(settled(None, 17 * MS), Some(KHZ[3]));
    assert_eq!(settled(Some(80), 17 * MS), Some(KHZ[4]));
    assert_eq!(settled(Some(85), 17 * MS), Some(KHZ[3]), "above, not at it");
}

#[test]
fn conservative_climbs_and_falls_in_steps() {
    let governor = Governor::of(GovernorKind::Conservative).with(Tunable::SamplingRate, 20 * MS);
    let mut set = TaskSet::default();
    set.pinned("burst", 0, vec![Instr::RunTime { time: Ns(600 * MS), mode: Mode::User }, sleep(u64::MAX / 4)]);
    let run = Instr::RunTime { time: Ns(MS), mode: Mode::User };
    set.pinned("rare", 0, vec![run, sleep(19 * MS), Instr::Jump { to: 0 }]);
    let watch = Watch::of(hikey(governor, 250), "v6.1", set, 2_000 * MS);
    let khz: Vec<u32> = watch.changes.iter().map(|row| row.1).collect();
    assert_eq!(khz[..4], KHZ[1..], "one point after the other: {khz:?}");
    assert_eq!(khz.last(), Some(&KHZ[0]), "{khz:?}");
}

#[test]
fn work_goes_on_exactly_across_changes_and_time_does_not_stretch() {
    let mut set = TaskSet::default();
    let worker = set.pinned("worker", 0, vec![work(10 * MS)]);
    let timer = set.pinned("timer", 1, vec![Instr::RunTime { time: Ns(10 * MS), mode: Mode::User }]);
    let irqs_off = Instr::Run { work: Ns(10 * MS), mode: Mode::IrqOff };
    let section = set.pinned("section", 2, vec![Instr::Enter, irqs_off, Instr::Leave]);
    let speed = |khz: u32| Governor::of(GovernorKind::Userspace).with(Tunable::SetspeedKhz, khz);
    set.at(4 * MS, Change::Governor { cpu: cpu(3), governor: speed(KHZ[0]) });
    let mut machine = hikey(Governor::of(GovernorKind::Performance), 250);
    machine.policies[0].transition_latency = Ns::ZERO;
    let watch = Watch::of(machine, "v5.19", set, 200 * MS);
    assert_eq!(watch.changes, [(4 * MS, KHZ[0])]);
    // 4 ms at full speed, the other 6 ms at 177/1024 of it.
    let exact = 4 * MS + 6 * MS * 1024 / 177;
    for task in [worker, section] {
        assert!(watch.exit_of(task).abs_diff(exact) <= 1024 / 177, "to a nanosecond of work: {}", watch.exit_of(task));
    }
    assert_eq!(watch.exit_of(timer), 10 * MS);
}

/// Work of a task that had a CPU of the policy in these spans of time, ns of the highest frequency.
fn work_in(spans: &[(u64, u64)], machine: &Machine, watch: &Watch) -> u64 {
    let mut started = machine.clone();
    started.start_governors();
    let speed_at = |ns: u64| match watch.changes.iter().rev().find(|row| row.0 <= ns) {
        Some(&(_, khz)) => machine.policies[0].freq_capacity(khz),
        None => started.cpus[cpu(0)].freq_capacity,
    };
    let scaled = |&(from, to): &(u64, u64)| {
        let ends = watch.changes.iter().map(|row| row.0).filter(|&ns| from < ns && ns < to).chain([to]);
        let (mut begin, mut scaled) = (from, 0);
        for end in ends {
            scaled += (end - begin) * u64::from(speed_at(begin));
            begin = end;
        }
        scaled
    };
    spans.iter().map(scaled).sum::<u64>() / 1024
}

/// The interrupt of a timer changes the frequency of the CPU on which it comes: by itself, as the thread of a governor, or by waking a
/// real-time task. What ran there has done what it has done, once.
#[test]
fn what_was_done_up_to_an_interrupt_that_changes_the_frequency_counts_once() {
    let worker = || {
        let mut set = TaskSet::default();
        let worker = set.pinned("worker", 0, vec![work(20 * MS)]);
        (set, worker)
    };
    let (mut set, task) = worker();
    let slow = Governor::of(GovernorKind::Userspace).with(Tunable::SetspeedKhz, KHZ[0]);
    set.at(3 * MS, Change::Governor { cpu: cpu(0), governor: slow });
    let mut machine = hikey(Governor::of(GovernorKind::Performance), 250);
    machine.policies[0].fast_switch = false;
    let watch = Watch::of(machine.clone(), "v6.1", set, 200 * MS);
    assert_eq!(watch.changes, [(3_500 * US, KHZ[0])]);
    let done = work_in(&[(0, watch.exit_of(task))], &machine, &watch);
    assert!(done.abs_diff(20 * MS) <= 2, "{done} beside the thread");

    let (mut set, task) = worker();
    let urgent = set.pinned("urgent", 0, vec![sleep(15 * MS), Instr::RunTime { time: Ns(500 * US), mode: Mode::User }]);
    set.tasks[urgent].policy = Policy::Fifo(RtPriority::new(10).unwrap());
    let machine = hikey(schedutil(), 250);
    let watch = Watch::of(machine.clone(), "v6.1", set, 200 * MS);
    assert_eq!(watch.changes[..2], [(0, KHZ[3]), (15 * MS, KHZ[4])]);
    let done = work_in(&[(0, 15 * MS), (15_500 * US, watch.exit_of(task))], &machine, &watch);
    assert!(done.abs_diff(20 * MS) <= 2, "{done} beside a real-time task");
}

/// The board begins at its highest frequency, for which a real-time task asks at the first look. That is a request all the same, so
/// that the rate limit keeps what a fair task asks for 1 ms later.
#[test]
fn the_first_look_of_schedutil_is_a_request_for_the_present_frequency_too() {
    let limit = 30 * MS;
    let mut set = TaskSet::default();
    let code = asleep_until(START).into_iter().chain([work(100 * US)]).collect();
    let urgent = set.pinned("urgent", 0, code);
    (set.tasks[urgent].start, set.tasks[urgent].policy) = (Start::Asleep, Policy::Fifo(RtPriority::new(10).unwrap()));
    let later = asleep_until(START + MS).into_iter().chain([work(100 * MS)]).collect();
    let fair = set.pinned("fair", 0, later);
    set.tasks[fair].start = Start::Asleep;
    let governor = schedutil().with(Tunable::RateLimit, limit).with(Tunable::StartKhz, KHZ[4]);
    let watch = Watch::of(hikey(governor, 250), "v6.1", set, START + 200 * MS);
    let first = watch.changes.first().expect("the frequency falls");
    assert!(first.1 < KHZ[4] && first.0 >= START + limit, "{:?}", watch.changes);
}

/// A writer on CPU 1 wakes a real-time reader on CPU 0, whose policy has a thread. The reader would have that CPU at its highest
/// frequency. That is asked for on CPU 1, if a governor looks there, and else at the next tick of CPU 0.
#[test]
fn a_policy_is_looked_after_from_another_ones_cpu_only_where_a_governor_looks() {
    let raised = |other: Governor| {
        let mut machine = hikey(schedutil(), 250);
        machine.policies[0].fast_switch = false;
        let mut rest = machine.policies[0].clone();
        (machine.policies[0].cpus, rest.cpus, rest.governor) = (CpuMask::only(cpu(0)), (1..8).map(cpu).collect(), other);
        machine.policies.push(rest);
        machine.cpus.iter_mut().skip(1).for_each(|cpu| cpu.freq_domain = 1);
        let mut set = TaskSet::default();
        let pipe = set.pipe(1);
        let reader = set.pinned("reader", 0, vec![Instr::Read { pipe, into: 0 }, work(10 * MS)]);
        set.tasks[reader].policy = Policy::Fifo(RtPriority::new(10).unwrap());
        let wake = 201 * MS;
        set.pinned("writer", 1, asleep_until(wake).into_iter().chain([Instr::Write { pipe, value: None }]).collect());
        // Somebody has CPU 0 at a low frequency before.
        set.pinned("light", 0, vec![work(100 * US), sleep(10 * MS), repeat(15)]);
        // From v5.19 on an idle CPU queues who is woken itself.
        let watch = Watch::of(machine, "v5.10", set, wake + 50 * MS);
        let up = watch.changes.iter().find(|row| row.0 >= wake && row.1 == KHZ[4]);
        up.expect("the reader gets the highest frequency").0 - wake
    };
    let (looks, does_not) = (raised(schedutil()), raised(Governor::of(GovernorKind::Performance)));
    assert!(looks < MS, "{looks}");
    assert!((3 * MS..8 * MS).contains(&does_not), "{does_not}");
}

#[test]
fn a_thread_changes_the_frequency_later() {
    let mut machine = hikey(schedutil(), 250);
    let fast = Watch::of(machine.clone(), "v4.20", ramp(START), START + 400 * MS).changes;
    machine.policies[0].fast_switch = false;
    let slow = Watch::of(machine, "v4.20", ramp(START), START + 400 * MS).changes;
    assert_eq!(slow.len(), fast.len());
    assert_eq!(slow[0], (fast[0].0 + 500 * US, fast[0].1), "the latency of the board later");
}

#[test]
fn a_real_time_task_runs_at_the_highest_frequency() {
    for kernel in ["v4.12", "v4.20", "v6.1", "v6.18"] {
        let mut set = TaskSet::default();
        let task = set.pinned("rt", 0, vec![Instr::RunTime { time: Ns(20 * MS), mode: Mode::User }, sleep(MS)]);
        set.tasks[task].policy = Policy::Fifo(RtPriority::new(10).unwrap());
        let watch = Watch::of(hikey(schedutil(), 250), kernel, set, 100 * MS);
        let first = watch.changes.first().map(|row| row.1);
        assert_eq!(first, Some(KHZ[4]), "{kernel}: {:?}", watch.changes);
    }
}

#[test]
fn impossible_changes_are_refused() {
    let refused = |machine: Machine, change: Change| {
        let mut set = TaskSet::default();
        set.task("one", vec![work(MS)]);
        set.at(MS, change);
        Simulation::new(setup(machine, "v6.1", set, 10 * MS)).err().expect("refused").to_string()
    };
    let board = || hikey(schedutil(), 250);
    let text = refused(board(), Change::FreqCapacity { cpu: cpu(0), freq_capacity: 512 });
    assert!(text.contains("its governor is `schedutil`"), "{text}");
    let speed = Governor::of(GovernorKind::Userspace).with(Tunable::SetspeedKhz, 5_u32);
    let text = refused(board(), Change::Governor { cpu: cpu(0), governor: speed });
    assert!(text.contains("would run at 5 kHz") && text.contains("208000"), "{text}");
    let text = refused(free_machine(2, 1000), Change::Governor { cpu: cpu(0), governor: schedutil() });
    assert!(text.contains("has no operating points"), "{text}");
}

/// Least and greatest utilisation of a task that computes `work_ns` each `period_ns`, once it has settled.
fn util_range(profile: &str, capacity: u32, work_ns: u64, period_ns: u64) -> (u32, u32) {
    let mut set = TaskSet::default();
    let wait = Instr::TimerWait { reg: 0, period: Ns(period_ns), mode: fairground_model::TimerMode::Absolute };
    set.pinned("periodic", 0, vec![Instr::Now { reg: 0 }, work(work_ns), wait, Instr::Jump { to: 1 }]);
    let mut machine = free_machine(1, 250);
    machine.cpus[cpu(0)].capacity = capacity;
    let watch = Watch::of(machine, profile, set, 3_000 * MS);
    let settled = || watch.utils.iter().filter(|row| row.0 > 2_000 * MS).map(|row| row.2);
    (settled().min().unwrap(), settled().max().unwrap())
}

/// With a clock that goes as fast as the CPU a task has the same utilisation on a CPU of half the speed, as long as it fits there; with scaled
/// contributions it has not.
#[test]
fn utilisation_is_the_same_on_a_slow_cpu_under_clock_pelt() {
    let mut rng = fairground_stdx::RngStream::new(4, fairground_stdx::StreamKind::Vopr, 0);
    let (mut worst, mut differ) = (0, 0);
    for _ in 0..50 {
        let period = rng.between(2 * MS, 60 * MS);
        let run = rng.between(period / 50, period * 9 / 20);
        let apart = |profile| {
            let (full, half) = (util_range(profile, 1024, run, period), util_range(profile, 512, run, period));
            full.0.abs_diff(half.0).max(full.1.abs_diff(half.1))
        };
        let (new, old) = (apart("v4.20+clock-pelt"), apart("v4.20"));
        assert!(new <= 1024 / 100, "{run} ns of each {period} ns: {new} apart");
        (worst, differ) = (new.max(worst), differ + u32::from(old > 1024 / 100));
    }
    assert!(differ > 20, "without it the ranges differ by more in {differ} of 50, with it by {worst} at most");
}
