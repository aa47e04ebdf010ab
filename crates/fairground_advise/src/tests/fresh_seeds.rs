//! Whether an answer holds with seeds that it was not searched with.

use super::*;

/// Services that differ in how requests come, what they take, and who serves them; each with its goal for p99, in hundredths of the
/// worst without a limit: what is not reached with every seed has no answer.
const SERVICES: [(&str, u64); 20] = [
    ("every = \"5ms\", service = \"10ms\", workers = 8", 110),
    ("every = \"2ms\", service = \"1ms\", workers = 4", 150),
    ("arrivals = \"fixed\", every = \"10ms\", service = \"10ms\", spread = \"const\", workers = 4", 200),
    ("every = \"10ms\", service = \"5ms\", spread = \"lognormal\", cv-percent = 200, workers = 8", 125),
    ("every = \"4ms\", service = \"1ms\", spread = \"pareto\", service-max = \"200ms\", workers = 8", 130),
    ("arrivals = \"mmpp\", every = \"10ms\", burst-every = \"2ms\", service = \"5ms\", workers = 8", 130),
    ("arrivals = \"fixed\", every = \"200ms\", batch = 30, service = \"1ms\", workers = 4", 200),
    ("every = \"50ms\", batch = 5, batch-sizes = \"geometric\", service = \"4ms\", workers = 8", 150),
    ("arrivals = \"closed\", clients = 16, think = \"50ms\", service = \"5ms\", workers = 8", 150),
    ("every = \"50ms\", service = \"36ms\", spread = \"const\", workers = 16", 250),
    ("every = \"5ms\", service = \"10ms\", workers = 4", 120),
    ("every = \"5ms\", service = \"10ms\", workers = 32", 120),
    ("every = \"8ms\", service = \"4ms\", waits = 2, wait = \"5ms\", workers = 16", 120),
    ("every = \"20ms\", service = \"10ms\", workers = 8, gc-threads = 8, gc-every = \"1s\", gc-work = \"200ms\"", 200),
    ("every = \"5ms\", service = \"2ms\", workers = 8, timer-threads = 8", 200),
    ("every = \"3ms\", service = \"10ms\", workers = 8", 115),
    ("every = \"1ms\", service = \"500us\", workers = 2", 200),
    ("arrivals = \"fixed\", every = \"7ms\", service = \"10ms\", workers = 8", 140),
    ("every = \"20ms\", service = \"20ms\", spread = \"lognormal\", cv-percent = 50, workers = 8", 300),
    (
        "arrivals = \"mmpp\", every = \"20ms\", burst-every = \"4ms\", calm-length = \"2s\", burst-length = \"1s\", service = \"8ms\", workers = 8",
        200,
    ),
];

/// Searches with 95 % confidence, then counts with fresh seeds. Returns in how many of a hundred the goal is missed at the answer, and in how many at the largest
/// limit that is not enough.
fn misses(row: usize, seconds: u64, seeds: Option<u64>, fresh: u64) -> (u64, u64) {
    let (args, hundredths) = SERVICES[row];
    let base = service("max 100000", args, seconds);
    let mut lab = service_lab(&base);
    let free = lab.samples(&[Variant::new(CpuMax::UNLIMITED)], 40).unwrap().remove(0);
    let without = free.iter().map(|sample| sample.percentile(990)).max().unwrap();
    let goals = vec![Goal { permille: 990, most: Ns(without * hundredths / 100) }];
    let options = AdviseOptions { goals, seeds, aim: sure(), check: fresh, ..AdviseOptions::default() };
    let found = search(&lab, CpuMax::UNLIMITED, demand(&free), &options).unwrap();
    let checked = check(&mut lab, &found, &options).unwrap().unwrap();
    let below = checked.holds_below.map_or(fresh, |holds| fresh - holds);
    let ms = |limit: Option<CpuMax>| limit.map_or(0, |limit| limit.quota.unwrap().0 / 10_000) as f64 / 100.0;
    eprintln!(
        "service {row}: limit {} ms by {} seeds, not enough {} ms; of {fresh} fresh seeds {} hold, {below} miss with what is not enough",
        ms(found.limit),
        found.seeds,
        ms(found.below),
        checked.holds
    );
    ((fresh - checked.holds) * 100 / fresh, below * 100 / fresh)
}

/// At most 5 % of all seeds miss the goal: of 60, more than 6 are chance in 3 of 100 cases.
#[test]
fn an_answer_holds_with_seeds_that_were_not_tried() {
    for row in [0, 2, 6] {
        let (above, below) = misses(row, 12, Some(59), 60);
        assert!(above <= 10 && below > above, "service {row}: misses {above} %, with what is not enough {below} %");
    }
}

#[test]
#[ignore = "20 services with 200 fresh seeds each take many minutes"]
fn answers_of_twenty_services_hold_with_fresh_seeds() {
    let shares: Vec<(u64, u64)> = (0..SERVICES.len()).map(|row| misses(row, 30, None, 200)).collect();
    let wrong: Vec<usize> = (0..shares.len()).filter(|&row| shares[row].0 > 8 || shares[row].1 < 5).collect();
    assert!(wrong.is_empty(), "{wrong:?} of {shares:?}");
}

fn sure() -> Aim {
    Aim::Proof(Confidence::percent(95).unwrap())
}

/// The goal is met in 39 of 40 runs without a limit: that is enough, and no answer `none`.
#[test]
fn one_run_that_misses_the_goal_without_a_limit_is_no_reason_for_none() {
    let base = service("max 100000", SERVICES[0].0, 6);
    let lab = service_lab(&base);
    let mut free: Vec<u64> =
        lab.samples(&[Variant::new(CpuMax::UNLIMITED)], 100).unwrap().remove(0).iter().map(|one| one.percentile(990)).collect();
    free.sort_unstable();
    let goals = vec![Goal { permille: 990, most: Ns(free[98]) }];
    let options = AdviseOptions { goals, seeds: Some(93), aim: sure(), ..AdviseOptions::default() };
    let found = search(&lab, CpuMax::UNLIMITED, 2_000_000_000, &options).unwrap();
    assert!(found.limit.is_some() && found.misses > 0 && found.confidence >= 90, "{found:?}");
    // Half of what most runs need: none, and surely.
    let goals = vec![Goal { permille: 990, most: Ns(free[50] / 2) }];
    let options = AdviseOptions { goals, seeds: Some(59), aim: sure(), ..AdviseOptions::default() };
    let found = search(&lab, CpuMax::UNLIMITED, 2_000_000_000, &options).unwrap();
    assert_eq!((found.limit, found.misses, found.confidence), (None, 59, 100));
}

/// Which seeds are hard with a period of 250 or 20 ms, or with a burst, is not which are with 100 ms: how requests lie to periods decides.
#[test]
fn other_periods_and_bursts_meet_the_goal_with_seeds_that_were_not_tried() {
    let base = service("260000 100000", TWO_CPUS, 8);
    let goals = vec![Goal::parse("p99=60ms").unwrap()];
    let options = AdviseOptions { goals: goals.clone(), seeds: Some(59), ..AdviseOptions::default() };
    let found = advise(&base, &options, Control::none()).unwrap();
    // Four periods with and without a burst, but for the present one. A burst needs less, whatever the period.
    assert_eq!(found.alternatives.len() + found.dearer.len(), 7, "{:?} {:?}", found.alternatives, found.dearer);
    let answer = found.smallest.as_ref().and_then(|one| one.limit).unwrap();
    let share = |limit: CpuMax| limit.quota.unwrap().0 * 1_000 / limit.period.0;
    let best = found.alternatives.first().unwrap().limit;
    assert!(best.burst > Ns::ZERO && share(best) * 100 <= share(answer) * 98, "{best} {answer}");
    let fresh = base.with_seed(FRESH);
    let lab = service_lab(&fresh);
    for row in &found.alternatives {
        let samples = lab.samples(&[Variant::new(row.limit)], 20).unwrap().remove(0);
        let holds = samples.iter().filter(|sample| sample.holds(&goals)).count();
        assert!(holds >= 16, "{}: {holds} of 20", row.limit);
    }
}
