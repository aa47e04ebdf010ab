use super::*;
use crate::bootstrap::NEVER;
use crate::counters::{self, Counters};
use crate::verdict::is_unstable;
use fairground::run::{self, RunOptions};
use fairground_model::{CpuMax, NullSink};
use fairground_scenario::{Overrides, Scenario};
use fairground_stdx::{Ns, RngStream, StreamKind};
use fairground_workload::service::{Arrivals, Demand, Service};
use fluid::{Most, Request, Server};
use prior::{BURST_NS, CV_PERCENT, Draft, Guess, RATIO_PERCENT, SHARE, of_any_magnitude, service_bounds};
use std::path::Path;

/// What a run of the simulator counted.
#[derive(Debug)]
struct Counted {
    measured: Measured,
    /// Percentile of requests of the whole run, ns.
    p99: u64,
}

fn scenario(args: &str, end: u64) -> Scenario {
    let text = format!(
        "duration = \"{end}ns\"\n[machine]\npreset = \"smp-9\"\ncosts = \"zero\"\n[profile]\nkernel = \"6.12\"\n\
         [[group]]\npath = \"/service\"\n\"cpu.max\" = \"max\"\n\
         [[workload]]\nname = \"service\"\ngroup = \"/service\"\nargs = {{ {args}, cpus = \"0-7\", client-cpus = \"8\" }}\n"
    );
    Scenario::parse("t.toml", &text, Path::new(""), &Overrides::default()).unwrap()
}

/// A scenario in the simulator: nine CPUs, the last for clients.
fn simulated(scenario: &Scenario, limit: CpuMax, seed: u64) -> Counted {
    let (_, service) = scenario.service().unwrap();
    let (workers, end) = (u64::from(service.workers), scenario.duration.0);
    let scenario = scenario.with_group_limit("/service", limit).with_seed(seed);
    let outcome = run::run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let stats = &outcome.quotas[0].stats;
    let used: u64 = outcome.report.tasks.iter().skip(1).map(|row| row.runtime.0).sum();
    let per_second = |sum: u64| (u128::from(sum) * 1_000_000_000 / u128::from(end)) as u64;
    let marker = |name: &str| outcome.tasks.markers.iter_enumerated().find(|row| row.1.name == name).map(|row| row.0);
    let all = 0..outcome.tasks.tasks.len();
    let latencies =
        fairground_scenario::metrics::marker_values(&outcome.report, &outcome.tasks, &all, marker("request_latency").unwrap());
    let offered = outcome.report.markers.iter().filter(|row| Some(row.marker) == marker("requests"));
    let offered: u64 = offered.map(|row| row.values.len()).sum();
    let rank = ((offered.saturating_sub(workers)).max(latencies.len()) * 99).div_ceil(100);
    let p99 = if rank > latencies.len() { NEVER } else { latencies.at_rank(rank) };
    let measured = Measured {
        usage_ns_per_s: per_second(used),
        throttled: stats.nr_throttled,
        periods: stats.nr_periods,
        throttled_ns_per_s: Some(per_second(stats.throttled_time.0)),
        spread_us: None,
        limit,
        cpus: 8,
    };
    Counted { measured, p99 }
}

/// A service that is not the sampler's: drawn from a stream of the test's own, its requests by the workload's own clients. It uses 0.2 to
/// 1.6 CPUs, and its limit is 1.1 to 2 times that.
fn trial(row: u32, seconds: u64) -> Counted {
    let mut stream = RngStream::new(4711, StreamKind::Vopr, row);
    let usage: u64 = 200_000_000 << stream.below(4);
    let bounds = service_bounds(usage, seconds * 1_000_000_000);
    let [service, cv, ratio, burst, share] =
        [bounds, CV_PERCENT, RATIO_PERCENT, BURST_NS, SHARE].map(|bounds| of_any_magnitude(bounds, &mut stream));
    let workers = Guess::draw(usage, 1, &mut stream).workers;
    // Mean gap = service / usage; that of calm times is longer by (1 - share) + share * ratio.
    let every = service * 1000 / (usage / 1_000_000) * (10_000 - share + share * ratio / 100) / 10_000;
    let args = format!(
        "arrivals = \"mmpp\", every = \"{every}ns\", burst-every = \"{}ns\", calm-length = \"{}ns\", burst-length = \"{burst}ns\", \
         service = \"{service}ns\", spread = \"lognormal\", cv-percent = {cv}, workers = {workers}",
        every * 100 / ratio,
        burst * (10_000 - share) / share,
    );
    let quota = usage / 100 * stream.between(11, 20);
    simulated(&scenario(&args, seconds * 1_000_000_000), CpuMax { quota: Some(Ns(quota)), ..CpuMax::UNLIMITED }, u64::from(row))
}

/// Requests of a draft in the simulator.
fn listed(requests: &[Request], workers: u64, end: u64) -> Scenario {
    let scenario = scenario("workers = 8", end);
    let (row, service) = scenario.service().unwrap();
    let service = Service {
        arrivals: Arrivals::Listed(requests.iter().map(|request| Ns(request.arrival)).collect()),
        demand: Demand::Listed(requests.iter().map(|request| Ns(request.demand)).collect()),
        workers: workers as u32,
        ..service.clone()
    };
    scenario.with_service(row, service)
}

/// Throttled share, throttled time and p99 of 24 services with limits from 24 to 288 ms. What differs most is p99 where many workers share
/// few CPUs: which of them run first after a stall is not modelled. 61 workers on 8 CPUs have 1.00 to 1.19 s by the simulator's seed, and 0.81 s
/// here.
#[test]
fn the_fluid_counts_what_the_simulator_counts() {
    let mut near = 0;
    for row in 0..24 {
        let mut stream = RngStream::new(4712, StreamKind::Vopr, row);
        let usage = 200_000_000 << (row % 4);
        let guess = Guess::draw(usage, 30_000_000_000, &mut stream);
        let end = 30_000_000_000;
        let requests = Draft::new(&guess, usage, end, &mut stream).requests(of_any_magnitude(RATIO_PERCENT, &mut stream));
        let quota = Some(Ns(usage / 100 * [12, 14, 18][row as usize / 4 % 3]));
        let limit = CpuMax { quota, ..CpuMax::UNLIMITED };
        let real = simulated(&listed(&requests, guess.workers, end), limit, 1);
        let server = Server { workers: guess.workers, cpus: 8, limit };
        let mut ours = fluid::run(&requests, server, end, Most::ANY).unwrap();
        let per_mille = |part: u64, of: u64| part * 1000 / of.max(1);
        let shares = [per_mille(ours.throttled, ours.periods), per_mille(real.measured.throttled, real.measured.periods)];
        let times = [ours.throttled_time / (end / 1_000_000_000), real.measured.throttled_ns_per_s.unwrap()];
        let p99 = [ours.percentile(990), real.p99];
        let within = |pair: [u64; 2], percent: u64| {
            (pair == [NEVER; 2]) || pair[0].abs_diff(pair[1]) <= (u128::from(pair[1]) * u128::from(percent) / 100) as u64
        };
        assert!((ours.used / (end / 1_000_000_000)).abs_diff(real.measured.usage_ns_per_s) < usage / 500, "{row}");
        // Throttled time of less than 10 ms per second is that of a few stalls.
        let are_near = |share: u64, time: u64, latency: u64| {
            shares[0].abs_diff(shares[1]) <= share && (within(times, time) || times[1] < 10_000_000) && within(p99, latency)
        };
        near += u32::from(are_near(25, 12, 16));
        assert!(are_near(70, 25, 35), "{row}: {shares:?} {times:?} {p99:?}");
    }
    assert!(near >= 20, "{near} of 24");
}

/// Fits to the counters of so many services that are throttled, stable, and whose p99 is known. Returns for how many it lies in the range,
/// and how many had no answer.
fn coverage(trials: u32, options: &FitOptions) -> (u32, u32) {
    let (mut held, mut none, mut rows) = (0, 0, 0..);
    for _ in 0..trials {
        let counted = rows.by_ref().map(|row| trial(row, 60)).find(|counted| {
            let measured = &counted.measured;
            let unstable = is_unstable(measured.usage_ns_per_s, measured.limit);
            measured.throttled > 0 && !unstable && counted.p99 != NEVER
        });
        let counted = counted.expect("invariant: rows go on");
        let fit = fit(&counted.measured, options, Control::none());
        let now = fit.points.first().map(|now| now.latency);
        held += u32::from(now.is_some_and(|now| (now.low..=now.high).contains(&counted.p99)));
        none += u32::from(now.is_none());
        eprintln!("true {} ns, {now:?} of {} services in {} runs", counted.p99, fit.accepted, fit.runs);
    }
    (held, none)
}

/// Model: 13 T16
#[test]
fn the_true_p99_of_a_few_services_lies_in_the_fitted_range() {
    const TRIALS: u32 = 5;
    let (held, none) = coverage(TRIALS, &FitOptions { accept: 20, runs: 2500, ..FitOptions::default() });
    assert!(held >= 2 && held + none >= TRIALS - 1, "{held} of {TRIALS}, {none} without an answer");
}

/// Model: 13 T16
#[test]
#[ignore = "100 fits of up to 20,000 runs each: for the nightly run"]
fn the_true_p99_of_90_services_in_100_lies_in_the_range_fitted_to_counters_alone() {
    let (held, none) = coverage(100, &FitOptions { accept: 60, ..FitOptions::default() });
    assert!(held >= 90, "{held} of 100, {none} without an answer");
}

/// Ten minutes of counters of a service that uses 12 of 20 ms per period and is throttled in every second one, whose samples lie `step_ms` apart.
fn counters(step_ms: u64) -> Counters {
    let rows = (0..=600_000 / step_ms).map(|row| {
        let ms = row * step_ms;
        // Every second period uses nothing, if samples are so near that it shows.
        let used_us = if step_ms == 100 { row / 2 * 24_000 } else { ms * 120 };
        format!("{}.{:03},{used_us},{},{},{}\n", ms / 1000, ms % 1000, ms / 100, ms / 200, ms * 1500)
    });
    let text = format!("time_s,usage_usec,nr_periods,nr_throttled,throttled_usec\n{}", rows.collect::<String>());
    counters::read("stat.csv", &text, Some(crate::limit::of_flag("0.2").unwrap()), 8).unwrap()
}

#[test]
fn a_fit_is_the_same_each_time_and_says_what_would_narrow_it() {
    let options = FitOptions { goals: vec![Goal::parse("p99=100ms").unwrap()], accept: 20, runs: 4000, ..FitOptions::default() };
    let advice = |options: &FitOptions| CounterAdvice::new(counters(15_000), options, Control::none());
    let first = advice(&options);
    let fit = first.fit.as_ref().unwrap();
    assert!(fit.accepted >= 10, "{} of {} in {} runs", fit.accepted, fit.drawn, fit.runs);
    assert_eq!(first.fit, advice(&options).fit);
    assert_ne!(fit.digest, advice(&FitOptions { seed: 2, ..options.clone() }).fit.unwrap().digest);
    // The present limit first, none last; more quota is never worse.
    assert_eq!((fit.points[0].limit.quota, fit.points.last().unwrap().limit.quota), (Some(Ns::from_ms(20)), None));
    assert!(fit.points.windows(2).all(|pair| pair[1].latency.median <= pair[0].latency.median));
    assert!(fit.points.iter().all(|point| point.verdicts.iter().sum::<u64>() == point.of));
    assert!(fit.smallest.is_some_and(|smallest| smallest.low <= smallest.median));
    let text: Vec<String> = first.tables().iter().map(ToString::to_string).collect();
    let text = text.join("");
    for part in ["services that were drawn", "a log of requests", "Smallest limit for p99 <= 100ms", "MMPP-2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = first.page("stat.csv").to_string();
    assert!(page.contains("<svg") && page.contains("What this rests on"));
    let document = first.document("stat.csv").to_string();
    assert!(document.contains("\"accepted\": ") && document.contains("smallest_quota_ns"));
}

#[test]
fn samples_a_period_apart_say_how_use_differs_between_periods() {
    assert_eq!(Measured::of(&counters(15_000)).unwrap().spread_us, None);
    // 0 and 24 ms by turns.
    assert_eq!(Measured::of(&counters(100)).unwrap().spread_us, Some(12_000));
}

#[test]
fn counters_that_no_service_can_have_give_no_range() {
    let wrong =
        |counters: Counters| CounterAdvice::new(counters, &FitOptions { runs: 600, ..FitOptions::default() }, Control::none());
    let mut odd = counters(15_000);
    // More throttled time than eight CPUs have.
    odd.throttled_time.sum = odd.throttled_time.wall_ns * 9;
    let advice = wrong(odd);
    assert_eq!((advice.exit_code(), advice.fit.as_ref().unwrap().accepted), (4, 0));
    assert!(advice.tables().iter().any(|table| table.to_string().contains("fewer than 10 say nothing")));
    let refused = |change: fn(&mut Counters)| {
        let mut counters = counters(15_000);
        change(&mut counters);
        let advice = wrong(counters);
        (advice.exit_code(), advice.fit.unwrap_err())
    };
    let (code, why) = refused(|counters| counters.limit = None);
    assert!(code == 4 && why.contains("--cpu-max"), "{why}");
    let (code, why) = refused(|counters| counters.periods.sum = 0);
    assert!(code == 4 && why.contains("nr_periods"), "{why}");
    let (code, why) = refused(|counters| counters.throttled.sum = 0);
    assert!(code == 0 && why.contains("without throttling"), "{why}");
    let (code, _) = refused(|counters| counters.usage.sum *= 2);
    assert_eq!(code, 1);
    let (code, why) = refused(|counters| {
        counters.limit.as_mut().unwrap().quota = Some(Ns::from_secs(1000));
        counters.usage.sum *= 100;
    });
    assert!(code == 4 && why.contains("--cpus"), "{why}");
}
