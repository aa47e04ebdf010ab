//! Worked examples of schedutil: utilisation, next frequency, boost.
#![allow(clippy::unwrap_used, reason = "a test may stop where it likes")]

use super::iowait::{Boost, Bounds};
use super::next_freq::raw_khz;
use super::util::{CpuUtil, bw_dl};
use super::{Asked, FreqCause, Share};
use crate::Profile;
use crate::cpufreq::Policy;
use crate::fair::select_task_rq::TestMachine;
use crate::seam::{FreqMargin, FreqUtil, IowaitBoost, RateLimit};
use crate::uclamp::Clamps;
use fairground_model::version::v;
use fairground_model::{FreqPolicy, Governor, GovernorKind, MachineView, Opp, Tunable};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

const HIKEY_KHZ: [u32; 5] = [208_000, 432_000, 729_000, 960_000, 1_200_000];

fn hikey() -> FreqPolicy {
    FreqPolicy {
        cpus: CpuMask::first_n(8),
        opps: HIKEY_KHZ.map(|khz| Opp { khz, power_mw: None }).to_vec(),
        transition_latency: Ns::from_us(500),
        transition_delay: None,
        fast_switch: false,
        governor: Governor::default(),
    }
}

const NOTHING: CpuUtil = CpuUtil { cfs: 0, rt: 0, dl: 0, irq: 0, bw_dl: 0, rt_runnable: false, clamps: None, max: 1024 };

fn raw(margin: FreqMargin, util: u64) -> u32 {
    raw_khz(FreqUtil::Sum, margin, true, 1_200_000, 1_200_000, Share { util, max: 1024 })
}

/// Model: 04 T01
#[test]
fn the_requested_frequency_is_a_quarter_above_the_share() {
    let old = [0, 100, 142, 143, 256, 295, 498, 512, 655, 656, 819, 820, 1024].map(|util| raw(FreqMargin::OnFrequency, util));
    assert_eq!(
        old,
        [0, 146_484, 208_007, 209_472, 375_000, 432_128, 729_492, 750_000, 959_472, 960_937, 1_199_707, 1_201_171, 1_500_000]
    );
    let new = [142, 143, 295, 498, 655, 656, 819, 820].map(|util| raw(FreqMargin::OnUtil, util));
    assert_eq!(new, [207_421, 208_593, 431_250, 728_906, 958_593, 960_937, 1_198_828, 1_201_171]);
    let not_invariant = |util| raw_khz(util, FreqMargin::OnFrequency, false, 1_200_000, 432_000, Share { util: 512, max: 1024 });
    assert_eq!(not_invariant(FreqUtil::Sum), 270_000, "(432 + 108) MHz / 2");
    assert_eq!(not_invariant(FreqUtil::Bounded), 270_000);
}

#[test]
fn interrupts_take_their_share() {
    assert_eq!(CpuUtil { cfs: 512, irq: 256, ..NOTHING }.sum(), 640);
    assert_eq!(CpuUtil { cfs: 1000, irq: 100, ..NOTHING }.sum(), 1002);
    assert_eq!(CpuUtil { cfs: 10, irq: 1024, ..NOTHING }.sum(), 1024);
    assert_eq!(CpuUtil { cfs: 900, rt: 100, dl: 24, ..NOTHING }.sum(), 1024, "full with deadline tasks");
    assert_eq!(bw_dl(104_857), 102, "10 ms of 100");
    assert_eq!(CpuUtil { cfs: 100, bw_dl: 102, ..NOTHING }.sum(), 202);
}

/// Model: 04 T06
#[test]
fn the_rate_limit_follows_the_transition_latency_by_the_rule_of_each_kernel() {
    let of = |version, latency| <RateLimit as crate::seam::Seam>::at(version).of(latency);
    let hikey = Ns::from_us(500);
    let limits = [v(4, 12), v(4, 20), v(6, 1), v(6, 14)].map(|version| of(version, hikey));
    assert_eq!(limits, [Ns::from_ms(500), Ns::from_ms(10), Ns::from_ms(10), Ns::from_us(750)]);
    assert!([v(4, 12), v(4, 20), v(6, 1), v(6, 14)].iter().all(|&version| of(version, Ns::ZERO) == Ns::from_ms(1)));
}

/// What an idle CPU asks for, in 1/1024 or kHz, at each look; `true`: a task that waited for a device caused it.
fn series(rule: IowaitBoost, looks: &[bool]) -> Vec<u64> {
    let bounds = Bounds::of(rule, &hikey());
    let mut boost = Boost::default();
    let look = |&iowait: &bool| {
        boost.look(rule, bounds, iowait, false);
        boost.apply(rule, bounds, Share { util: 0, max: 1024 }, false).util
    };
    looks.iter().map(look).collect()
}

/// Model: 04 T07
#[test]
fn the_iowait_boost_rises_and_fades() {
    let (wake, other) = (true, false);
    let rises = [wake, wake, wake, wake, wake, other, other, other, other, other];
    assert_eq!(series(IowaitBoost::FromEighth, &rises), [128, 256, 512, 1024, 1024, 512, 256, 128, 0, 0]);
    assert_eq!(series(IowaitBoost::DoubledCapacity, &rises), [177, 354, 708, 1024, 1024, 512, 256, 0, 0, 0]);
    let khz = [208_000, 416_000, 832_000, 1_200_000, 1_200_000, 600_000, 300_000, 0, 0, 0];
    assert_eq!(series(IowaitBoost::DoubledFrequency, &rises), khz);
    let jump = [wake, other, other, wake];
    assert_eq!(series(IowaitBoost::Highest, &jump), [1_200_000, 600_000, 300_000, 1_200_000]);
}

#[test]
fn a_boost_is_forgotten_after_a_tick_and_raised_once_per_look() {
    let (rule, bounds) = (IowaitBoost::FromEighth, Bounds::of(IowaitBoost::FromEighth, &hikey()));
    let idle = Share { util: 0, max: 1024 };
    let mut boost = Boost::default();
    (0..3).for_each(|_| boost.look(rule, bounds, true, false));
    assert_eq!(boost.apply(rule, bounds, idle, false).util, 128, "three wake-ups before one evaluation count once");
    boost.look(rule, bounds, true, true);
    assert_eq!(boost.apply(rule, bounds, idle, false).util, 128, "it begins anew");
    boost.look(rule, bounds, false, true);
    assert_eq!(boost.apply(rule, bounds, idle, false).util, 0);
    let highest = Bounds::of(IowaitBoost::Highest, &hikey());
    let mut boost = Boost::default();
    boost.look(IowaitBoost::Highest, highest, true, true);
    boost.look(IowaitBoost::Highest, highest, false, true);
    assert_eq!(boost.apply(IowaitBoost::Highest, highest, idle, false), idle);
}

/// Model: 04 T09
#[test]
fn a_runnable_real_time_task_asks_for_the_highest_frequency() {
    assert_eq!(CpuUtil { rt: 50, rt_runnable: true, ..NOTHING }.sum(), 1024);
    assert_eq!(CpuUtil { rt: 50, ..NOTHING }.sum(), 50);
    let clamped = CpuUtil { rt: 50, rt_runnable: true, clamps: Some(Clamps { min: 512, max: 1024 }), ..NOTHING };
    assert_eq!(clamped.sum(), 512, "with clamps it asks for its least");
    assert_eq!(raw(FreqMargin::OnUtil, 512), 750_000, "640/1024 of the highest");
    assert_eq!(clamped.bounded(0), 512, "from v6.8 on without the quarter");
    let capped = CpuUtil { cfs: 1024, clamps: Some(Clamps { min: 0, max: 512 }), ..NOTHING };
    assert_eq!((capped.sum(), capped.bounded(0), capped.is_capped()), (512, 512, true));
    assert!(!CpuUtil { cfs: 1024, ..NOTHING }.is_capped());
}

/// Model: 04 T16
#[test]
fn bounds_and_boost_come_before_the_quarter_from_v6_8_on() {
    assert_eq!(CpuUtil { rt: 50, rt_runnable: true, ..NOTHING }.bounded(0), 1024, "a runnable real-time task is the lower bound");
    assert_eq!(CpuUtil { cfs: 100, ..NOTHING }.bounded(512), 640, "512 and a quarter");
    assert_eq!(CpuUtil { cfs: 512, ..NOTHING }.bounded(0), 640);
    assert_eq!(CpuUtil { cfs: 900, ..NOTHING }.bounded(0), 1024, "never more than the capacity");
    assert_eq!(CpuUtil { cfs: 10, irq: 100, bw_dl: 300, ..NOTHING }.bounded(0), 400, "what is reserved");
    let raw = raw_khz(FreqUtil::Bounded, FreqMargin::OnUtil, true, 1_200_000, 208_000, Share { util: 640, max: 1024 });
    assert_eq!(raw, 750_000);
}

/// Of 300 MHz at 200 mW and 600 MHz at 250 mW the first costs more for the same work: from v5.16 on nobody asks for it, unless the limits
/// have no other.
#[test]
fn points_that_are_not_worth_it_are_passed_over() {
    let opp = |mhz: u32, mw: u32| Opp { khz: 1000 * mhz, power_mw: Some(mw) };
    let spec = FreqPolicy { opps: vec![opp(300, 200), opp(600, 250), opp(900, 600)], ..hikey() };
    let machine = MachineView::flat(8, Ns::from_ms(1));
    let resolve =
        |kernel: &str, spec: &FreqPolicy, khz| Policy::new(&Profile::parse(kernel).unwrap(), spec, &machine).resolve(khz);
    assert_eq!(["v5.10", "v5.19", "v6.14"].map(|kernel| resolve(kernel, &spec, 100_000)), [300_000, 600_000, 600_000]);
    assert_eq!(["v5.10", "v5.19"].map(|kernel| resolve(kernel, &spec, 700_000)), [900_000, 900_000]);
    let mut low = spec.clone();
    low.governor.set(Tunable::MaxKhz, Some(300_000));
    assert_eq!(resolve("v6.14", &low, 900_000), 300_000, "within its limits");
    let unknown = FreqPolicy { opps: spec.opps.iter().map(|opp| Opp { power_mw: None, ..*opp }).collect(), ..spec };
    assert_eq!(resolve("v6.14", &unknown, 100_000), 300_000, "without power nothing is known to be a waste");
}

/// A task that goes to sleep takes what it was expected to use with it before schedutil looks, in the kernels that were read from v5.10 on.
#[test]
fn a_look_within_a_dequeue_no_longer_counts_who_leaves() {
    let opps = [300_000, 600_000, 1_000_000].map(|khz| Opp { khz, power_mw: None }).to_vec();
    let spec = FreqPolicy {
        cpus: CpuMask::first_n(1),
        opps,
        transition_latency: Ns::ZERO,
        transition_delay: Some(Ns(1)),
        fast_switch: true,
        governor: Governor::of(GovernorKind::Schedutil),
    };
    let mut view = MachineView::flat(1, Ns::from_ms(1));
    (view.policies, view.cpus[CpuId::new(0)].policy) = (vec![spec], Some(0));
    let khz = |kernel: &str| {
        let profile = Profile::parse(kernel).unwrap().with_seam("cpufreq_hold", "never").unwrap();
        let mut machine = TestMachine::of(profile, view.clone());
        let task = machine.running(0);
        let queue = machine.sched.rqs[CpuId::new(0)].cfs;
        let avg = &mut machine.sched.pelt_cfs[queue];
        (avg.util_avg, avg.util_sum, avg.util_est.enqueued) = (100, 100 * 47_000, 700);
        machine.sched.pelt_se[machine.sched.tasks[task].se].util_est.enqueued = 700;
        machine.now += Ns::from_ms(2);
        machine.sleep(task);
        machine.sched.frequency_state(0).cur_khz
    };
    assert_eq!((khz("v5.1"), khz("v5.10"), khz("v6.1")), (1_000_000, 300_000, 300_000));
}

/// CPU 0, or 0 and 1, in one policy whose driver switches fast, at most once in 10 ms.
fn fast_machine(kernel: &str, cpus: usize) -> TestMachine {
    let opps = [300_000, 600_000, 1_000_000].map(|khz| Opp { khz, power_mw: None }).to_vec();
    let spec = FreqPolicy {
        cpus: CpuMask::first_n(cpus),
        opps,
        transition_latency: Ns::ZERO,
        transition_delay: Some(Ns::from_ms(10)),
        fast_switch: true,
        governor: Governor::of(GovernorKind::Schedutil),
    };
    let mut view = MachineView { irq_time_accounting: true, ..MachineView::flat(cpus, Ns::from_ms(1)) };
    (0..cpus as u32).for_each(|number| view.cpus[CpuId::new(number)].policy = Some(0));
    view.policies = vec![spec];
    let profile = Profile::parse(kernel).unwrap().with_seam("cpufreq_hold", "never").unwrap();
    TestMachine::of(profile, view)
}

fn look(machine: &mut TestMachine, number: u32, ms: u64) {
    let asked = Asked { row: 0, cpu: CpuId::new(number), time: ms * 1_000_000, cause: FreqCause::Util, may_change: true };
    machine.on(number, |sched, cx| sched.sugov_update(cx, asked));
}

/// 10 % of CPU 1 are reserved. The look for CPU 0 notes that, so that of CPU 1 waits for the rate limit.
#[test]
fn a_look_notes_what_all_cpus_of_a_policy_have_reserved() {
    for kernel in ["v5.10", "v6.1", "v6.12"] {
        let mut machine = fast_machine(kernel, 2);
        machine.sched.rqs[CpuId::new(1)].dl.running_bw = 104_857;
        look(&mut machine, 0, 20);
        assert_eq!(machine.sched.cpufreq.cpus[CpuId::new(1)].sugov.reserved, 102, "{kernel}");
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 300_000, "{kernel}");
        let queue = machine.sched.rqs[CpuId::new(1)].cfs;
        machine.sched.pelt_cfs[queue].util_avg = 1000;
        look(&mut machine, 1, 21);
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 300_000, "{kernel}: not yet");
        machine.sched.rqs[CpuId::new(1)].dl.running_bw = 209_715;
        look(&mut machine, 1, 22);
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 1_000_000, "{kernel}: more is reserved");
    }
}

/// 20 % of CPU 1 are reserved, and a CPU of another policy looks for it, which may not change the frequency. The next look from within the
/// policy does not wait for the rate limit, whichever CPU it is for, and the one after it does.
#[test]
fn a_look_that_may_not_change_the_frequency_has_the_next_one_do_without_the_rate_limit() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let mut machine = fast_machine(kernel, 2);
        look(&mut machine, 0, 20);
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 300_000, "{kernel}");
        let queue = machine.sched.rqs[CpuId::new(1)].cfs;
        machine.sched.pelt_cfs[queue].util_avg = 1000;
        machine.sched.rqs[CpuId::new(1)].dl.running_bw = 209_715;
        let asked = Asked { row: 0, cpu: CpuId::new(1), time: 20_500_000, cause: FreqCause::Util, may_change: false };
        machine.on(1, |sched, cx| sched.sugov_update(cx, asked));
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 300_000, "{kernel}: it may not");
        look(&mut machine, 0, 21);
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 1_000_000, "{kernel}: 1 ms after the last change");
        machine.sched.pelt_cfs[queue].util_avg = 0;
        machine.sched.rqs[CpuId::new(1)].dl.running_bw = 0;
        look(&mut machine, 0, 22);
        assert_eq!(machine.sched.frequency_state(0).cur_khz, 1_000_000, "{kernel}: not yet");
    }
}

/// From v6.8 on it is the least that the CPU needs, 1024 with a real-time task, so no reserve is more.
#[test]
fn what_is_noted_is_the_least_that_is_needed_from_v6_8_on() {
    let util = CpuUtil { irq: 10, bw_dl: 102, ..NOTHING };
    let noted = |util: CpuUtil| [FreqUtil::Sum, FreqUtil::Boosted, FreqUtil::Bounded].map(|rule| util.reserved(rule));
    assert_eq!(noted(util), [102, 102, 112]);
    assert_eq!(noted(CpuUtil { rt_runnable: true, ..util }), [102, 102, 1024]);
    assert_eq!(noted(CpuUtil { irq: 1024, ..util }), [102, 102, 1024]);
}

/// A CPU that nobody has used is aged from outside: a period of nothing makes schedutil look from v5.4 on. That of interrupts does so
/// where their time is accounted.
#[test]
fn a_period_of_what_other_classes_or_interrupts_use_makes_schedutil_look() {
    const CPU: CpuId = CpuId::new(0);
    let looked = |kernel: &str, irq_time_accounting: bool, classes_aged: bool| {
        let mut machine = fast_machine(kernel, 1);
        machine.view.irq_time_accounting = irq_time_accounting;
        machine.now = Instant::from_ns(20_000_000);
        machine.on(0, |sched, cx| sched.update_rq_clock(cx, CPU));
        if classes_aged {
            let rq = &mut machine.sched.rqs[CPU];
            let now = rq.clocks.pelt(machine.sched.profile.pelt_clock);
            (rq.avg_rt.last_update_time, rq.avg_dl.last_update_time) = (now, now);
        }
        machine.on(0, |sched, cx| sched.age_blocked_averages(cx, CPU));
        machine.sched.cpufreq.cpus[CPU].sugov.last_update > 0
    };
    assert_eq!(["v5.1", "v5.10", "v6.12"].map(|kernel| looked(kernel, false, false)), [false, true, true]);
    assert_eq!([true, false].map(|accounting| looked("v6.12", accounting, true)), [true, false]);
}

/// A fast switch counts at once: what the same call ages after it goes by the new frequency.
#[test]
fn a_fast_switch_counts_within_the_call() {
    const CPU: CpuId = CpuId::new(0);
    let mut machine = fast_machine("v6.12", 1);
    machine.view.cpus[CPU].freq_capacity = 307;
    let scales = machine.on(0, |sched, cx| {
        let before = cx.scale(CPU).freq;
        sched.rqs[CPU].dl.running_bw = 1 << 20;
        sched.sugov_update(cx, Asked { row: 0, cpu: CPU, time: 20_000_000, cause: FreqCause::Util, may_change: true });
        (before, cx.scale(CPU).freq)
    });
    assert_eq!(scales, (307, 1024));
}

/// A new task comes to a CPU whose queue has not been aged for 20 ms. Up to v5.19 it joins the averages before it is queued, and schedutil looks
/// before that: at nothing. Its rate limit then keeps the lowest frequency. Within the first period there is no such look.
#[test]
fn schedutil_looks_before_a_new_task_joins_the_averages_up_to_v5_19() {
    for (kernel, ms, expected) in
        [("v5.10", 20, 300_000), ("v5.19", 20, 300_000), ("v6.1", 20, 1_000_000), ("v5.10", 1, 1_000_000)]
    {
        let mut machine = fast_machine(kernel, 1);
        machine.now = Instant::from_ns(ms * 1_000_000);
        machine.running(0);
        assert_eq!(machine.sched.frequency_state(0).cur_khz, expected, "{kernel} {ms}");
    }
}
