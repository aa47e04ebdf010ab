//! Services side by side: each with a quota of a quarter of the machine, or with a quarter of its CPUs for itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use fairground::run::{self, RunOptions};
use fairground_metrics::Histogram;
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario, metrics::marker_values};
use std::path::Path;
use std::thread;

/// How the machine is shared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    /// 400 ms per 100 ms, on all 16 CPUs.
    Quota,
    /// Four CPUs, no quota.
    Cpuset,
}

/// Four services on 16 CPUs; each is offered 2 CPUs of requests of 1 ms, lognormal, with a standard deviation of twice the mean. CPUs 16
/// to 19 are for the clients. `collects` is the CPU time of a collection, ms, which as many threads share as the service sees CPUs; the
/// services collect at different times.
fn scenario(share: Share, collects_ms: u64, seed: u64) -> Scenario {
    let mut text = format!(
        "duration = \"8s\"\nwindow = {{ from = \"1s\", to = \"8s\" }}\nseed = {seed}\n[machine]\npreset = \"smp-20\"\nhz = 1000\n\
         costs = \"zero\"\n[profile]\nkernel = \"6.12\"\n"
    );
    for (row, every_ms) in [900, 1000, 1100, 1200].into_iter().enumerate() {
        let (quota, cpus, seen) = match share {
            Share::Quota => ("400000 100000", "0-15".to_string(), 16),
            Share::Cpuset => ("max", format!("{}-{}", 4 * row, 4 * row + 3), 4),
        };
        let collector = match collects_ms {
            0 => String::new(),
            work => format!(", gc-threads = {seen}, gc-every = \"{every_ms}ms\", gc-work = \"{work}ms\""),
        };
        text += &format!(
            "[[group]]\npath = \"/s{row}\"\n\"cpu.max\" = \"{quota}\"\n\
             [[workload]]\nname = \"service\"\ngroup = \"/s{row}\"\nargs = {{ every = \"500us\", service = \"1ms\", \
             spread = \"lognormal\", cv-percent = 200, workers = 16{collector}, cpus = \"{cpus}\", client-cpus = \"{}\" }}\n",
            16 + row
        );
    }
    Scenario::parse("cpusets.toml", &text, Path::new(""), &Overrides::default()).unwrap()
}

/// p50 and p99 of all requests of all services, ns.
fn percentiles(share: Share, collects_ms: u64, seed: u64) -> (u64, u64) {
    let scenario = scenario(share, collects_ms, seed);
    let outcome = run::run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let mut all = Histogram::new();
    for (marker, row) in outcome.tasks.markers.iter_enumerated() {
        if row.name == "request_latency" {
            all.merge(&marker_values(&outcome.report, &outcome.tasks, &(0..outcome.tasks.tasks.len()), marker));
        }
    }
    (all.quantile(500), all.quantile(990))
}

/// What cpusets do to p50 and p99 as against quotas, percent, over four seeds.
fn change(collects_ms: u64) -> (i64, i64) {
    let runs: Vec<_> = (1..=4)
        .flat_map(|seed| {
            [Share::Quota, Share::Cpuset].map(|share| (share, thread::spawn(move || percentiles(share, collects_ms, seed))))
        })
        .collect();
    let found: Vec<(Share, (u64, u64))> = runs.into_iter().map(|(share, run)| (share, run.join().unwrap())).collect();
    let sum = |wanted: Share, of: fn((u64, u64)) -> u64| {
        found.iter().filter(|row| row.0 == wanted).map(|row| of(row.1)).sum::<u64>().cast_signed()
    };
    let percent = |of: fn((u64, u64)) -> u64| (sum(Share::Cpuset, of) - sum(Share::Quota, of)) * 100 / sum(Share::Quota, of);
    (percent(|row| row.0), percent(|row| row.1))
}

/// The shape of the published move from quotas to cpusets: a much lower p99 for a slightly higher p50. It needs a service that is wider
/// than its share: here a collector of garbage with as many threads as it sees CPUs, and the 400 ms of work of test 8. On 16 CPUs it uses
/// up the quota of a period in 25 ms, and all requests stand still up to the next one. On four CPUs it has four threads, and runs beside
/// the requests.
///
/// Model: 13 T19
#[test]
fn cpusets_beat_quotas_in_p99_where_a_collector_runs() {
    let (p50, p99) = change(400);
    assert!((0..=15).contains(&p50) && p99 <= -30, "p50 {p50:+} %, p99 {p99:+} %");
}

/// Without such a collector it is the other way round. Up to the end of each period a quota on 16 CPUs lets at least as much be done as
/// four CPUs can, and mostly sooner: requests alone gain nothing from cpusets.
///
/// Model: 13 T19
#[test]
fn requests_alone_do_not_gain_from_cpusets() {
    let (p50, p99) = change(0);
    assert!((5..=20).contains(&p50) && (5..=30).contains(&p99), "p50 {p50:+} %, p99 {p99:+} %");
}
