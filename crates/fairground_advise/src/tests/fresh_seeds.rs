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

/// Searches with 40 seeds, then counts with fresh ones. Returns in how many of a hundred the goal holds at the answer, and in how many it
/// fails at the next smaller step.
fn shares(row: usize, seconds: u64, fresh: u64) -> (u64, u64) {
    let (args, hundredths) = SERVICES[row];
    let base = service("max 100000", args, seconds);
    let mut lab = service_lab(&base);
    let free = lab.samples(&[Variant::new(CpuMax::UNLIMITED)], 40).unwrap().remove(0);
    let without = free.iter().map(|sample| sample.percentile(990)).max().unwrap();
    let goals = vec![Goal { permille: 990, most: Ns(without * hundredths / 100) }];
    let options = AdviseOptions { goals, seeds: 40, check: fresh, ..AdviseOptions::default() };
    let found = search_one(&lab, CpuMax::UNLIMITED, demand(&free), &options, Bursts::AsNow).unwrap();
    let checked = check(&mut lab, &found, &options).unwrap().unwrap();
    let fails = checked.holds_below.map_or(fresh, |holds| fresh - holds);
    let ms = |limit: Option<CpuMax>| limit.map_or(0, |limit| limit.quota.unwrap().0 / 10_000) as f64 / 100.0;
    eprintln!(
        "service {row}: limit {} ms, next smaller {} ms, holds {} of {fresh}, fails {fails} below",
        ms(found.limit),
        ms(found.below),
        checked.holds
    );
    (checked.holds * 100 / fresh, fails * 100 / fresh)
}

#[test]
fn an_answer_holds_with_seeds_that_were_not_tried() {
    for row in [0, 2, 6] {
        let (holds, fails) = shares(row, 12, 60);
        assert!(holds >= 95 && fails >= 50, "service {row}: holds {holds} %, fails below {fails} %");
    }
}

#[test]
#[ignore = "20 services with 200 fresh seeds each take many minutes"]
fn answers_of_twenty_services_hold_with_fresh_seeds() {
    let shares: Vec<(u64, u64)> = (0..SERVICES.len()).map(|row| shares(row, 30, 200)).collect();
    let wrong: Vec<usize> = (0..shares.len()).filter(|&row| shares[row].0 < 95 || shares[row].1 < 50).collect();
    assert!(wrong.is_empty(), "{wrong:?} of {shares:?}");
}
