//! The slow model against the worked examples of docs/model/02-fair-core.md.

use super::super::rules::Weight;
use super::kernel::{KERNELS, scaled};
use super::queue::{Entity, Fair, Leave, Queue};
use super::random::SWITCHES;
use super::{Act, Fact, Habit, Reference, Setting, Workload};
use fairground_model::Policy;

fn fair(kernel: &str) -> Fair {
    let &(_, kernel, has) = KERNELS.iter().find(|row| row.0 == kernel).unwrap();
    Fair { kernel, has, tick: 1_000_000, entities: Vec::new(), queues: vec![Queue::default()] }
}

fn weight(weight: u64) -> Weight {
    Weight { weight, inverse: (1 << 32) / weight }
}

/// Entities of `(vruntime, weight)` that wait on one queue.
fn waiting(rows: &[(i128, u64)]) -> Fair {
    let mut fair = fair("v6.14");
    for &(vruntime, w) in rows {
        add(&mut fair, vruntime, 0, w);
    }
    fair
}

fn add(fair: &mut Fair, vruntime: i128, deadline: i128, w: u64) -> usize {
    let row = fair.entities.len();
    fair.entities.push(Entity { vruntime, deadline, on_rq: true, ..Entity::new(weight(w), 3_000_000) });
    fair.queues[0].waiting.push(row);
    row
}

#[test]
fn averages_are_those_of_the_worked_examples() {
    assert_eq!(waiting(&[(0, 1024), (3_000_000, 1024)]).average(0), 1_500_000);
    assert_eq!(waiting(&[(0, 1024), (3_000_000, 1024), (6_000_000, 335)]).average(0), 2_132_605);
    assert_eq!(waiting(&[(9, 1024), (10, 1024)]).average(0), 9);
    assert_eq!(waiting(&[(90, 3), (100, 4)]).average(0), 95);
    assert_eq!(waiting(&[(-1, 1024), (0, 1024)]).average(0), -1);
}

#[test]
fn placements_are_those_of_the_worked_examples() {
    for (lag, vruntime) in [(500_000, 750_000), (-500_000, 2_250_000)] {
        let mut fair = waiting(&[(0, 1024), (3_000_000, 1024)]);
        fair.entities.push(Entity { lag, ..Entity::new(weight(1024), 3_000_000) });
        fair.enqueue(0, 2, false);
        assert_eq!((fair.entities[2].vruntime, fair.entities[2].deadline), (vruntime, vruntime + 3_000_000));
        assert_eq!(fair.lag(0, 2), lag);
    }
    let mut fair = waiting(&[(10_000_000, 1024)]);
    fair.entities.push(Entity { lag: 2_000_000, ..Entity::new(weight(335), 3_000_000) });
    fair.enqueue(0, 1, false);
    assert_eq!(fair.entities[1].vruntime, 7_345_704);
}

#[test]
fn picks_are_those_of_the_worked_examples() {
    let mut abc = fair("v6.14");
    for (vruntime, deadline) in [(0, 6), (0, 3), (3, 2)] {
        add(&mut abc, vruntime, deadline, 1024);
    }
    assert!(!abc.eligible(0, 2));
    assert_eq!(abc.pick(0, true), Some(1));

    let mut ab = fair("v6.14");
    let (a, b) = (add(&mut ab, 0, 30, 1024), add(&mut ab, 10, 25, 1024));
    assert_eq!(ab.pick(0, true), Some(a));
    ab.set_next(0, a);
    ab.entities[b].vruntime = 0;
    assert_eq!(ab.pick(0, true), Some(a));
    assert_eq!(ab.pick(0, false), Some(b));
    ab.entities[a].protection = None;
    assert_eq!(ab.pick(0, true), Some(b));
}

#[test]
fn equal_deadlines_are_taken_in_the_order_of_the_kernel() {
    for (kernel, best, against_running) in [("v6.6", 1, 2), ("v6.12", 0, 0)] {
        let mut fair = fair(kernel);
        for (vruntime, deadline) in [(2, 5), (1, 5), (2, 5), (9, 9)] {
            add(&mut fair, vruntime, deadline, 1024);
        }
        assert_eq!(fair.pick(0, true), Some(best), "{kernel}");
        fair.set_next(0, 2);
        assert_eq!(fair.pick(0, true), Some(2), "{kernel}: protected");
        fair.entities[2].protection = None;
        assert_eq!(fair.pick(0, true), Some(against_running), "{kernel}: beside the running one");
    }
}

/// Hogs under the rules of v6.14 on eight CPUs (slice 3 ms), all new at 0, exact ticks.
struct Hogs {
    /// Task and length in ms of each turn that is over.
    turns: Vec<(usize, u64)>,
    /// CPU time of each in ms.
    cpu_ms: Vec<u64>,
    /// The longest wait of each in ms.
    wait_ms: Vec<u64>,
}

fn hogs(nices: &[i8], hz: u64, slices: &[u64]) -> Hogs {
    let setting = Setting::new("v6.14", 8, 1_000_000_000 / hz).unwrap();
    let slice = |row: usize| slices.get(row).copied();
    let habit = |(row, &nice): (usize, &i8)| Habit { nice, slice: slice(row), ..Habit::hog() };
    let habits: Vec<Habit> = nices.iter().enumerate().map(habit).collect();
    let mut reference = Reference::new(&setting, &habits, &[]);
    let mut found = Hogs { turns: Vec::new(), cpu_ms: vec![0; nices.len()], wait_ms: vec![0; nices.len()] };
    let (mut since, mut left) = (0, vec![0; nices.len()]);
    for fact in reference.run(10_000_000_000 + 1) {
        match *fact {
            Fact::Switch { at, prev, next, .. } => {
                if let Some(prev) = prev {
                    found.turns.push((prev, (at - since) / 1_000_000));
                    left[prev] = at;
                }
                let next = next.unwrap();
                found.wait_ms[next] = found.wait_ms[next].max((at - left[next]) / 1_000_000);
                since = at;
            }
            Fact::Ran { task, runtime, .. } => found.cpu_ms[task] += runtime / 1_000_000,
        }
    }
    found
}

/// Turns written as `A2 B2`.
fn turns(text: &str) -> Vec<(usize, u64)> {
    text.split_whitespace().map(|turn| ((turn.as_bytes()[0] - b'A') as usize, turn[1..].parse().unwrap())).collect()
}

/// Model: 02 T14
#[test]
fn hogs_take_the_worked_turns() {
    for (nices, hz, slices, order, cpu_ms, wait_ms) in [
        (&[0, 0][..], 1000, &[][..], "A2 B2 A3 B3 A3 B3", &[5000, 5000][..], &[3, 3][..]),
        (&[0, 0], 250, &[], "A4 B4 A4 B4 A4 B4", &[5000, 5000], &[4, 4]),
        (&[0, 5], 1000, &[], "A2 B2 A5 B4 A12 B4 A12 B4 A12 B4 A13 B4", &[7534, 2466], &[4, 13]),
        (&[0, 5], 250, &[], "A4 B4 A12 B4 A12 B4", &[7532, 2468], &[4, 16]),
        (&[0, 0, 0], 1000, &[], "A2 B2 C2 A3 B3 C3 A3 B3 C3", &[3335, 3333, 3332], &[6, 6, 6]),
        (&[0, 0, 0], 250, &[], "A4 B4 C4 A4 B4 C4", &[3336, 3332, 3332], &[8, 8, 8]),
        (&[0, 0, 5], 1000, &[], "A2 B2 C2 A3 B3 A3 B3 C4 A3 B3", &[4298, 4296, 1406], &[7, 7, 30]),
        (&[-5, 0], 1000, &[], "A2 B2 A5 B3 A9 B3 A9 B3", &[7529, 2471], &[3, 10]),
        (&[0, 0], 1000, &[3_000_000, 700_000], "B1 A2 B2 A3 B3 A3 B3", &[5000, 5000], &[3, 3]),
    ] {
        let (found, order) = (hogs(nices, hz, slices), turns(order));
        let case = format!("{nices:?} at HZ {hz}, slices {slices:?}");
        assert_eq!(found.turns[..order.len()], order, "{case}");
        assert_eq!(found.cpu_ms, cpu_ms, "{case}");
        assert_eq!(found.wait_ms, wait_ms, "{case}");
    }
}

/// Model: 02 T15
#[test]
fn a_sleeper_with_negative_lag_stays_until_it_is_used_up() {
    for (delay_zero, kept) in [(true, 0), (false, 500)] {
        let mut fair = waiting(&[(1_000, 1024), (0, 1024)]);
        fair.has.delay_zero = delay_zero;
        fair.set_next(0, 1);
        assert!(!fair.dequeue(0, 0, Leave::Sleep), "it has negative lag");
        assert_eq!(fair.on_queue(0), [0, 1]);
        assert!(!fair.eligible(0, 0));
        // The other one runs past it: now something is owed to it, and it can leave.
        fair.charge(0, 1, 2_000);
        assert!(fair.eligible(0, 0));
        assert!(fair.dequeue(0, 0, Leave::SleepAtLast));
        assert_eq!((fair.on_queue(0), fair.entities[0].lag), (vec![1], kept));
    }
    let mut fair = waiting(&[(0, 1024), (1_000, 1024)]);
    assert!(fair.dequeue(0, 0, Leave::Sleep), "it has positive lag");
    let mut fair = waiting(&[(1_000, 1024), (0, 1024)]);
    assert!(fair.dequeue(0, 0, Leave::Exit), "an end is never delayed");
}

/// Queues of random entities.
fn random_queue(seed: u64) -> Fair {
    let mut dice = crate::dice::Dice::new(seed, 8);
    let mut fair = fair(dice.pick(&["v6.6", "v6.12", "v6.14", "v6.18"]));
    for _ in 0..dice.between(2, 20) {
        let weight = Weight::of_nice(dice.between(0, 39) as i8 - 20);
        let vruntime = i128::from(dice.between(0, 20_000_000)) - 10_000_000;
        fair.entities.push(Entity { vruntime, on_rq: true, ..Entity::new(weight, 3_000_000) });
        fair.queues[0].waiting.push(fair.entities.len() - 1);
    }
    fair
}

/// Model: 02 T13
#[test]
fn weighted_lags_cancel_out() {
    for seed in 0..1_000 {
        let fair = random_queue(seed);
        let rows = fair.on_queue(0);
        let weights: i128 = rows.iter().map(|&row| fair.entities[row].w()).sum();
        let lags: i128 = rows.iter().map(|&row| fair.entities[row].w() * (fair.average(0) - fair.entities[row].vruntime)).sum();
        assert!((-weights..=0).contains(&lags), "seed {seed}: {lags} of {weights}");
    }
}

/// Rounding: the average is rounded down before and after, the inflated lag once.
///
/// Model: 02 T13
#[test]
fn lag_is_kept_over_a_sleep() {
    for seed in 0..1_000 {
        let mut fair = random_queue(seed);
        fair.has.delay_dequeue = false;
        fair.dequeue(0, 0, Leave::Sleep);
        let lag = fair.entities[0].lag;
        fair.enqueue(0, 0, false);
        assert!((fair.lag(0, 0) - lag).abs() <= 2, "seed {seed}: {} after {lag}", fair.lag(0, 0));
    }
}

#[test]
fn yields_put_off_or_forfeit() {
    let setting = Setting::new("v6.18", 8, 1_000_000).unwrap();
    let polite = Habit { rounds: vec![Act::Run(100_000), Act::Yield], policy: Policy::Normal, ..Habit::hog() };
    let facts = Reference::new(&setting, &[polite, Habit::hog()], &[]).run(20_000_000).to_vec();
    let ran = |row: usize| -> u64 {
        facts
            .iter()
            .map(|fact| {
                if let Fact::Ran { task, runtime, .. } = *fact
                    && task == row
                {
                    runtime
                } else {
                    0
                }
            })
            .sum()
    };
    // Each time it gives up what is left of 2.8 ms of virtual time.
    assert!(ran(0) < ran(1) / 8, "{} and {}", ran(0), ran(1));
    assert_eq!(ran(0) + ran(1), 20_000_000);
}

#[test]
fn the_request_grows_with_the_cpus() {
    assert_eq!([1, 2, 3, 4, 7, 8, 64].map(|cpus| scaled(700_000, cpus) / 1_000), [700, 1400, 1400, 2100, 2100, 2800, 2800]);
}

/// The first seed whose workload takes another course when its setting is changed.
fn first_seed_that_tells(change: impl Fn(&mut Setting)) -> Option<u64> {
    (0..400).find(|&seed| {
        let workload = Workload::random(seed);
        let setting = workload.setting().unwrap();
        let mut other = setting.clone();
        change(&mut other);
        let run =
            |setting: &Setting| Reference::new(setting, &workload.habits, &workload.changes).run(workload.duration).to_vec();
        run(&setting) != run(&other)
    })
}

/// A rule that no workload can tell from its opposite would not be compared at all.
#[test]
fn random_workloads_tell_every_rule_from_its_opposite() {
    for switch in SWITCHES {
        assert!(first_seed_that_tells(|setting| setting.turn(switch)).is_some(), "{switch}");
    }
    for (kernel, rules, switches) in KERNELS {
        for (other, other_rules, _) in KERNELS.iter().filter(|row| row.0 != kernel) {
            let told = first_seed_that_tells(|setting| {
                let base_slice = if setting.kernel == rules { other_rules.base_slice } else { rules.base_slice };
                (setting.kernel, setting.has) = (if setting.kernel == rules { *other_rules } else { rules }, switches);
                setting.set_base_slice(base_slice);
            });
            assert!(told.is_some(), "{kernel} and {other}");
        }
    }
}
