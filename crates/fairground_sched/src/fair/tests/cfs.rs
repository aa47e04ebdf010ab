//! Tests of CFS on one CPU: weights, tunables, slices, placement, preemption and yielding. Those of whole runs are tests of
//! `fairground_sim`.

use super::bench::{Bench, CPU, Decisions, MS};
use crate::fair::Lead;
use crate::fair::place::Placement;
use crate::fair::tunables::Tunables;
use crate::fair::weight::{LoadWeight, SCHED_PRIO_TO_WMULT, calc_delta_fair};
use crate::profile::KnownKind;
use crate::sched::load_weight;
use crate::seam::{ScaleLoadDown, Seam};
use crate::{Profile, Sched, WakeFlags, Waking};
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::policy::SCHED_PRIO_TO_WEIGHT;
use fairground_model::{Policy, PrevState, Reason, WakeContext};
use fairground_stdx::{Instant, Ns, TaskId};

fn eight_cpu_tunables(name: &str) -> Profile {
    let set = [("sched_latency_ns", "24ms"), ("sched_min_granularity_ns", "3ms"), ("sched_wakeup_granularity_ns", "4ms")];
    let base = Profile::parse(name).unwrap();
    set.iter().fold(base, |profile, (name, value)| profile.with_tunable(name, value).unwrap())
}

/// The rule: to nearest, but floored at nice 13, 14, 16 and 17.
///
/// Model: 02 T01
#[test]
fn inverse_weights_are_rounded_to_nearest_but_for_four_nice_values() {
    for (row, (&weight, &inverse)) in SCHED_PRIO_TO_WEIGHT.iter().zip(&SCHED_PRIO_TO_WMULT).enumerate() {
        let nice = row as i32 - 20;
        let (whole, rest) = ((1u64 << 32) / u64::from(weight), (1u64 << 32) % u64::from(weight));
        let up = 2 * rest >= u64::from(weight) && ![13, 14, 16, 17].contains(&nice);
        assert_eq!(u64::from(inverse), whole + u64::from(up), "nice {nice}");
    }
    let (mut idle, mut nice_0) = (LoadWeight::idle_policy(), LoadWeight::nice(0));
    assert_eq!(idle.inverse(ScaleLoadDown::Shift), 1_431_655_765);
    assert_eq!(nice_0.inverse(ScaleLoadDown::Shift), 4_194_304);
}

/// Model: 02 T02
#[test]
fn calc_delta_fair_scales_time_by_the_inverse_weight() {
    let table = [
        (1_000_000, -20, 11_536),
        (1_000_000, -10, 107_247),
        (1_000_000, -5, 328_099),
        (1_000_000, -1, 801_879),
        (1_000_000, 0, 1_000_000),
        (1_000_000, 1, 1_248_780),
        (1_000_000, 5, 3_056_716),
        (1_000_000, 10, 9_309_090),
        (1_000_000, 19, 68_266_666),
        (24_000_000, 19, 1_638_399_999),
        (24_000_000, 5, 73_361_194),
    ];
    for kernel in ["v4.12", "v6.1", "v6.18"] {
        let how = Profile::parse(kernel).unwrap().division();
        for (delta, nice, virtual_ns) in table {
            assert_eq!(calc_delta_fair(how, delta, &mut LoadWeight::nice(nice)), virtual_ns, "{delta} ns at nice {nice}");
        }
        assert_eq!(calc_delta_fair(how, 1_000_000, &mut load_weight(Policy::Idle, 0)), 341_333_333);
    }
}

/// Model: 02 T03
#[test]
fn tunables_grow_with_the_logarithm_of_the_cpus() {
    for (cpus, factor) in [(1, 1), (2, 2), (4, 3), (8, 4), (12, 4)] {
        let at = Tunables::default().at(cpus);
        let scaled = [at.latency_ns, at.min_granularity_ns, at.wakeup_granularity_ns];
        assert_eq!(scaled, [6_000_000 * factor, 750_000 * factor, 1_000_000 * factor], "{cpus} CPUs");
        assert_eq!((at.nr_latency, at.migration_cost_ns, at.idle_min_granularity_ns), (8, 500_000, 750_000), "{cpus} CPUs");
        assert!(!at.child_runs_first);
    }
    let latencies_ms = [1, 2, 4, 8, 12].map(|cpus| Tunables::default().at(cpus).latency_ns / MS);
    assert_eq!(latencies_ms, [6, 12, 18, 24, 24]);
}

/// The slice table at eight CPUs; nr = 9 and 16 have the longer period of 27 and 48 ms.
///
/// Model: 02 T04
#[test]
fn slices_divide_a_period_that_grows_beyond_eight_tasks() {
    let table = [
        (1, 23_999_994, 23_999_994),
        (2, 11_999_994, 11_999_994),
        (3, 7_999_998, 7_999_998),
        (4, 5_999_994, 5_999_994),
        (6, 3_999_996, 3_999_996),
        (8, 2_999_994, 3_000_000),
        (9, 2_999_994, 3_000_000),
        (16, 2_999_988, 3_000_000),
    ];
    let without = |name: &str| eight_cpu_tunables(name).with_feature("NO_BASE_SLICE").unwrap();
    let profiles = [(eight_cpu_tunables("v4.20"), false), (without("v5.19"), false), (eight_cpu_tunables("v5.19"), true)];
    for (profile, base_slice) in profiles {
        let mut bench = Bench::new(profile);
        for nr in 1..=16 {
            let task = bench.normal(0);
            if let Some(&(_, plain, floored)) = table.iter().find(|row| row.0 == nr) {
                assert_eq!(
                    bench.slice(task),
                    if base_slice { floored } else { plain },
                    "{nr} tasks, {}",
                    bench.sched.profile.name
                );
            }
        }
    }
    let mut bench = Bench::new(eight_cpu_tunables("v4.20"));
    let (heavy, light) = (bench.normal(0), bench.normal(5));
    assert_eq!((bench.slice(heavy), bench.slice(light)), (18_083_885, 5_916_114));
}

/// Model: 02 T05
#[test]
fn sleepers_are_placed_half_a_latency_back_and_forks_a_slice_ahead() {
    let wakes_at = |profile: Profile, policy, vruntime_ms: u64| {
        let mut bench = Bench::new(profile);
        let task = bench.forked(policy, 0);
        bench.set_min_vruntime(100 * MS);
        bench.set_vruntime(task, vruntime_ms * MS);
        bench.place(task, Placement::WakeUp)
    };
    let profile = |features: &[&str]| {
        features.iter().fold(eight_cpu_tunables("v5.19"), |profile, name| profile.with_feature(name).unwrap())
    };
    assert_eq!(wakes_at(profile(&[]), Policy::Normal, 50), 88 * MS);
    assert_eq!(wakes_at(profile(&["NO_GENTLE_FAIR_SLEEPERS"]), Policy::Normal, 50), 76 * MS);
    assert_eq!(wakes_at(profile(&[]), Policy::Normal, 95), 95 * MS);
    assert_eq!(wakes_at(profile(&[]), Policy::Idle, 50), 98_500_000);
    assert_eq!(wakes_at(eight_cpu_tunables("v4.20"), Policy::Idle, 50), 88 * MS, "idle entities came later");

    let mut bench = Bench::new(profile(&[]));
    for _ in 0..2 {
        let task = bench.normal(0);
        bench.set_vruntime(task, 100 * MS);
    }
    bench.set_min_vruntime(100 * MS);
    let child = bench.forked(Policy::Normal, 0);
    // A forked task holds its virtual time relative to the queue's minimum until it is queued.
    assert_eq!(bench.vruntime(child) + 100 * MS, 107_999_998);
}

/// Model: 02 T06
#[test]
fn a_wakee_preempts_if_it_leads_by_more_than_the_granularity() {
    let mut bench = Bench::new(eight_cpu_tunables("v4.20"));
    let (curr, wakee) = (bench.normal(0), bench.normal(0));
    bench.set_vruntime(curr, 100 * MS);
    for (lead, answer) in [
        (12_000_000, Lead::Enough),
        (4_000_001, Lead::Enough),
        (4_000_000, Lead::WithinGranularity),
        (1, Lead::WithinGranularity),
        (0, Lead::Behind),
        (-1, Lead::Behind),
        (-12_000_000, Lead::Behind),
    ] {
        bench.set_vruntime(wakee, (100 * MS).wrapping_add_signed(-lead));
        assert_eq!(bench.lead(curr, wakee), answer, "a lead of {lead}");
    }
    // The least lead that preempts is one more than the granularity of the wakee's weight.
    let granularities = [(-20, 46_146), (-5, 1_312_399), (0, 4_000_000), (5, 12_226_865), (19, 273_066_666)];
    let idle = bench.queued(Policy::Idle, 0);
    let rows = granularities.map(|(nice, gran)| (bench.normal(nice), gran));
    bench.set_vruntime(curr, 2_000 * MS);
    for (wakee, gran) in rows.into_iter().chain([(idle, 1_365_333_333)]) {
        bench.set_vruntime(wakee, 2_000 * MS - gran);
        assert_eq!(bench.lead(curr, wakee), Lead::WithinGranularity, "granularity {gran}");
        bench.set_vruntime(wakee, 2_000 * MS - gran - 1);
        assert_eq!(bench.lead(curr, wakee), Lead::Enough, "granularity {gran}");
    }
    bench.set_vruntime(rows[3].0, 2_000 * MS - 12 * MS);
    assert_eq!(bench.lead(curr, rows[3].0), Lead::WithinGranularity, "nice 5 with a lead of 12 ms");
}

/// Late ticks give A 9.2, B 9.0 and C 9.1 ms in the first round. By virtual time the second round is
/// B, C, A; with the aligned rule it is A, B, C again.
///
/// Model: 02 T08
#[test]
fn aligned_vruntimes_keep_the_order_that_late_ticks_change() {
    for (profile, second_round) in [("v4.20", [1, 2, 0]), ("v4.20+align-vruntime", [0, 1, 2])] {
        let mut bench = Bench::new(eight_cpu_tunables(profile).with_feature("NO_START_DEBIT").unwrap());
        let tasks = [0; 3].map(|nice| bench.normal(nice));
        let start = bench.vruntime(tasks[0]);
        assert_eq!(bench.schedule(), tasks[0]);
        assert_eq!(bench.tick(9_200_000), tasks[1], "{profile}");
        assert_eq!(bench.tick(18_200_000), tasks[2], "{profile}");
        let mut at = 27_300_000;
        let fourth = bench.tick(at);
        let virtual_ns = tasks.map(|task| bench.vruntime(task).wrapping_sub(start));
        match profile {
            "v4.20" => assert_eq!(virtual_ns, [9_200_000, 9_000_000, 9_100_000]),
            _ => assert_eq!(virtual_ns, [9_200_001, 9_200_002, 9_200_003]),
        }
        let mut order = vec![fourth];
        for _ in 0..2 {
            at += 8 * MS;
            order.push(bench.tick(at));
        }
        assert_eq!(order, second_round.map(|row| tasks[row]), "{profile}");
    }
}

/// A turn: who got the CPU at a schedule(), and when.
type Turn = (char, u64);

/// Three hogs A, B, C whose first slices end late, and a sleeper D that wakes when C's turn ends.
/// Ticks fall right behind the end of each slice; D sleeps again after three slices.
fn turns_with_sleeper(profile: &str) -> Vec<Turn> {
    let profile = eight_cpu_tunables(profile).with_feature("NO_START_DEBIT").unwrap();
    // The mail counts a slice for every pick, also for a repeated one.
    let mut bench = Bench::new(profile.with_seam("repeated_pick", "renews-slice").unwrap());
    let tasks = ['D', 'A', 'B', 'C'].map(|name| (name, bench.normal(0)));
    let sleeper = tasks[0].1;
    let name = |task| tasks.iter().find(|row| row.1 == task).unwrap().0;
    let mut curr = bench.schedule();
    assert_eq!(curr, sleeper);
    bench.call(|sched, _| sched.set_current_state(CPU, PrevState::Sleeping));
    curr = bench.schedule();
    bench.sched.finish_task_switch(sleeper);
    let start = bench.vruntime(curr);
    bench.set_vruntime(sleeper, start.wrapping_sub(100 * MS));

    let (mut turns, mut now, mut slices_of_sleeper) = (Vec::new(), 0, 0);
    for turn in 0..9 {
        turns.push((name(curr), now));
        let late = [3_000, 2_000, 1_000].get(turn).copied().unwrap_or(0);
        now += bench.slice(curr) + 1 + late;
        slices_of_sleeper += u32::from(curr == sleeper);
        curr = if turn == 2 {
            bench.wakes_and_preempts(now, sleeper, curr)
        } else if curr == sleeper && slices_of_sleeper == 3 {
            bench.now = Instant::from_ns(now);
            bench.call(|sched, _| sched.set_current_state(CPU, PrevState::Sleeping));
            bench.schedule()
        } else {
            bench.tick(now)
        };
    }
    turns
}

impl Bench {
    /// `wakee` wakes at `ns`, gets the sleeper's credit of 12 ms and preempts `curr`.
    fn wakes_and_preempts(&mut self, ns: u64, wakee: TaskId, curr: TaskId) -> TaskId {
        self.now = Instant::from_ns(ns);
        let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
        assert_eq!(self.call(|sched, cx| sched.ttwu_select(cx, wakee, flags)), Waking::Selected(CPU));
        let mut decisions = Decisions::default();
        self.call_with(&mut decisions, |sched, cx| sched.ttwu_activate(cx, wakee, CPU));
        assert_eq!(decisions.0, [Reason::PlaceSleeperCredit, Reason::WakePreempts]);
        assert_eq!(self.vruntime(wakee), self.vruntime(curr).wrapping_sub(12 * MS));
        self.schedule()
    }
}

/// Model: 02 T11
#[test]
fn a_sleeper_makes_a_hog_wait_50_ms_if_vruntimes_are_not_aligned() {
    let order = |turns: &[Turn]| turns.iter().map(|turn| turn.0).collect::<String>();
    let stock = turns_with_sleeper("v4.20");
    assert_eq!(order(&stock), "ABCDDDCBA");
    let lengths_ms: Vec<u64> = stock.windows(2).map(|pair| (pair[1].1 - pair[0].1 + MS / 2) / MS).collect();
    assert_eq!(lengths_ms, [8, 8, 8, 6, 6, 6, 8, 8]);
    assert_eq!((stock[8].1 - stock[1].1) / MS, 50, "the wait of A");

    let aligned = turns_with_sleeper("v4.20+align-vruntime");
    assert_eq!(order(&aligned[..6]), "ABCDCA");
    assert_eq!((aligned[5].1 - aligned[1].1) / MS, 28, "the wait of A");
}

/// Model: 02 T18
#[test]
fn every_switch_can_be_set_and_unknown_ones_are_refused_by_profile() {
    let known: Vec<_> = Profile::known().into_iter().filter(|known| known.kind == KnownKind::Modelled).collect();
    assert!(known.len() >= 6, "{known:?}");
    for known in known {
        let base = Profile::parse(&known.name).unwrap();
        for &feat in Feat::ALL {
            let name = feat.row().name;
            if base.idle_switch(feat).is_some() && base.has_feature(feat) {
                // It stays as it is; see profile/tests.rs.
            } else if base.has_feature(feat) {
                switch_both_ways(&base, feat);
            } else {
                let error = base.clone().with_feature(name).unwrap_err();
                assert_eq!(error.message, format!("profile `{}` has no feature `{name}`", known.name));
            }
        }
        for name in ["NO_SUCH_FEATURE", "SUCH_FEATURE", "next_buddy", "", "NO_"] {
            let error = base.clone().with_feature(name).unwrap_err();
            assert!(error.message.contains(&format!("profile `{}`", known.name)), "{error}");
        }
    }
}

/// In the profile and in mid-run, as a write to debugfs.
fn switch_both_ways(base: &Profile, feat: Feat) {
    let name = feat.row().name;
    let mut sched = Sched::new(base.clone(), &fairground_model::MachineView::flat(1, Ns(MS)));
    for (text, on) in [(name.to_string(), true), (format!("NO_{name}"), false), (name.to_string(), true)] {
        assert_eq!(base.clone().with_feature(&text).unwrap().feats.has(feat), on, "{text} in {}", base.name);
        sched.set_feature(FeatWrite { feat, on });
        assert_eq!(sched.profile().feats.has(feat), on, "{text} in {}", base.name);
    }
}

/// Model: 02 T19
#[test]
fn yield_skips_to_the_second_task() {
    for name in ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1"] {
        let mut bench = Bench::new(eight_cpu_tunables(name).with_feature("NO_START_DEBIT").unwrap());
        let [a, b, c] = [0; 3].map(|nice| bench.normal(nice));
        let start = bench.vruntime(a);
        assert_eq!(bench.schedule(), a);
        let mut yields = |virtual_ms: [u64; 3]| {
            for (task, ms) in [a, b, c].into_iter().zip(virtual_ms) {
                bench.set_vruntime(task, start.wrapping_add(ms * MS));
            }
            let mut decisions = Decisions::default();
            bench.call_with(&mut decisions, |sched, cx| sched.sched_yield(cx));
            let next = bench.call_with(&mut decisions, |sched, cx| sched.schedule(cx)).next.unwrap();
            (next, decisions.0)
        };
        let skipped = vec![Reason::YieldSkip, Reason::PickSkipped];
        // A yields and is the earliest: the second, B, gets the CPU.
        assert_eq!(yields([10, 12, 13]), (b, skipped.clone()), "{name}");
        // B yields and is not the earliest: its mark does not matter.
        assert_eq!(yields([10, 12, 13]), (a, vec![Reason::YieldSkip, Reason::PickLeftmost]), "{name}");
        // Exactly the granularity of 4 ms behind is still near enough, 1 ms more is not.
        assert_eq!(yields([10, 15, 14]), (c, skipped), "{name}");
        assert_eq!(yields([12, 11, 10]), (b, vec![Reason::YieldSkip, Reason::PickSkipped]), "{name}");
        assert_eq!(yields([16, 10, 15]), (b, vec![Reason::YieldSkip, Reason::PickCurrEarlier]), "{name}");
    }
}

#[test]
fn yield_alone_and_yield_of_a_batch_task() {
    let mut bench = Bench::new(eight_cpu_tunables("v5.19"));
    let batch = bench.queued(Policy::Batch, 0);
    bench.schedule();
    bench.now = Instant::from_ns(MS);
    let mut decisions = Decisions::default();
    bench.call_with(&mut decisions, |sched, cx| sched.sched_yield(cx));
    assert_eq!(decisions.0, [Reason::YieldAlone]);
    bench.normal(0);
    let before = bench.vruntime(batch);
    bench.call(|sched, cx| sched.sched_yield(cx));
    assert_eq!(bench.vruntime(batch), before, "a batch task that yields is not accounted");
}

#[test]
fn what_is_set_to_its_own_value_stays_as_it_is_and_a_policy_preempts_nobody() {
    // With slices of tasks' own, the same policy again asks for another slice.
    for (profile, after_policy) in [("v5.19", 0), ("v6.18", MS)] {
        let mut bench = Bench::new(Profile::parse(profile).unwrap());
        let first = bench.normal(0);
        bench.schedule();
        let second = bench.queued(Policy::Batch, 0);
        bench.now = Instant::from_ns(MS);
        let mut decisions = Decisions::default();
        for task in [first, second] {
            bench.call_with(&mut decisions, |sched, cx| sched.set_user_nice(cx, task, 0));
        }
        let slice = Ns(bench.sched.se(first).slice);
        bench.call_with(&mut decisions, |sched, cx| sched.set_slice(cx, first, Some(slice)));
        assert_eq!(bench.sched.se(first).sum_exec_runtime, 0, "{profile}: nobody touched the queue");
        bench.call_with(&mut decisions, |sched, cx| sched.sched_setscheduler(cx, first, Policy::Normal)).unwrap();
        assert_eq!(bench.sched.se(first).sum_exec_runtime, after_policy, "{profile}");
        bench.call_with(&mut decisions, |sched, cx| sched.sched_setscheduler(cx, second, Policy::Normal)).unwrap();
        assert_eq!(bench.sched.se(first).sum_exec_runtime, MS, "{profile}");
        assert!(decisions.0.iter().all(|reason| !reason.slug().starts_with("wake-")), "{profile}: {:?}", decisions.0);
    }
}

/// An idle task is asked to give way in every kernel; where it keeps its protection it is picked again all the same.
#[test]
fn idle_tasks_lose_their_protection_in_some_kernels_only() {
    for (kernel, gives_way) in [("v6.1", true), ("v6.6", false), ("v6.12", true), ("v6.14", false), ("v6.18", true)] {
        let mut bench = Bench::new(Profile::parse(kernel).unwrap());
        let idle = bench.queued(Policy::Idle, 0);
        bench.schedule();
        let normal = bench.normal(0);
        assert!(bench.sched.rq(CPU).resched_on_user_return(), "{kernel}");
        assert_eq!(bench.schedule(), if gives_way { normal } else { idle }, "{kernel}");
    }
}

/// The history of a seam never goes back in time, so that a query finds the latest row.
#[test]
fn histories_are_in_order() {
    fn check<S: Seam>() {
        assert!(S::HISTORY.windows(2).all(|pair| pair[0].0 < pair[1].0), "{}", S::NAME);
    }
    check::<crate::seam::TickPreempt>();
    check::<crate::seam::MinVruntimeAtDequeue>();
    check::<crate::seam::LongSleeper>();
    check::<crate::seam::IdleEntity>();
    check::<crate::seam::IdleProtection>();
    check::<crate::seam::RepeatedPick>();
    check::<ScaleLoadDown>();
}
