mod fresh_seeds;
mod slow;
mod tally;
mod trace;

use super::*;
use fairground_scenario::Overrides;
use std::path::Path;

fn scenario(text: &str) -> Scenario {
    Scenario::parse("t.toml", text, Path::new(""), &Overrides::default()).unwrap()
}

/// A service with a limit in ms per 100 ms.
fn service(quota: &str, args: &str, seconds: u64) -> Scenario {
    scenario(&format!(
        "title = \"a service\"\nduration = \"{seconds}s\"\nwindow = {{ from = \"2s\", to = \"{seconds}s\" }}\n\
         [machine]\npreset = \"smp-9\"\ncosts = \"zero\"\n[profile]\nkernel = \"6.12\"\n\
         [[group]]\npath = \"/service\"\n\"cpu.max\" = \"{quota}\"\n\
         [[workload]]\nname = \"service\"\ngroup = \"/service\"\nargs = {{ {args}, cpus = \"0-7\", client-cpus = \"8\" }}\n"
    ))
}

fn service_lab(base: &Scenario) -> Lab<'_> {
    Lab {
        base,
        group: "/service".to_string(),
        subject: Subject::Service(0),
        control: Control::none(),
        done: AtomicU64::new(0),
        expected: AtomicU64::new(0),
        runs: Runs::default(),
    }
}

/// The same machine with so many ticks per second.
fn with_hz(scenario: &Scenario, hz: u32) -> Scenario {
    let set = vec![format!("machine.hz={hz}")];
    let overrides = Overrides { set, ..Overrides::default() };
    scenario.with_machine(overrides.machine(Some(scenario.machine.clone()), &mut Vec::new()).unwrap().unwrap())
}

fn limit(quota_us: u64, period_ms: u64, burst_us: u64) -> CpuMax {
    CpuMax { quota: Some(Ns::from_us(quota_us)), period: Ns::from_ms(period_ms), burst: Ns::from_us(burst_us) }
}

/// 200 requests per second of 10 ms in the mean: 2 CPUs.
const TWO_CPUS: &str = "every = \"5ms\", service = \"10ms\", workers = 8";

#[test]
fn with_one_seed_requests_are_the_same_under_every_limit() {
    let base = service("max 100000", TWO_CPUS, 5);
    let lab = service_lab(&base);
    let variants: Vec<Variant> = [limit(220_000, 100, 0), limit(400_000, 100, 0), CpuMax::UNLIMITED].map(Variant::new).into();
    let samples = lab.samples(&variants, 2).unwrap();
    let count = |row: usize, seed: usize| samples[row][seed].requests();
    assert!(count(0, 0).abs_diff(count(2, 0)) <= 8 && count(1, 1).abs_diff(count(2, 1)) <= 8);
    assert!(samples[0][0].used.0.abs_diff(samples[2][0].used.0) < samples[2][0].used.0 / 10);
    assert_ne!(samples[2][0].digest, samples[2][1].digest);
    // The same runs once more, on other threads.
    let again = lab.samples(&variants, 2).unwrap();
    assert!(samples.iter().flatten().zip(again.iter().flatten()).all(|(one, other)| one.digest == other.digest));
}

/// The fluid model held against runs in which nothing but computing takes time, with a tick of 1 ms: p99 to 10 %,
/// the share of throttled periods to 0.04 (20 % with periods of 10 ms, where slices matter). Means of 12 seeds: with a limit of 2.2 CPUs
/// the p99 of one seed has a standard deviation of a quarter of it in the fluid model too.
///
/// The first row (207 ms, 63 %) lies outside its band: a queue of a CPU keeps up to 1 ms over the end of a period, and eight of them make
/// that 8 of 220 ms. The fluid model gives 189 ms with 220 ms (200 seeds), 159 with 224 and 137 with 228: what is asserted is the direction.
///
/// Model: 13 T14
#[test]
fn runs_agree_with_the_fluid_model_in_p99_and_throttled_share() {
    const SEEDS: u64 = 12;
    let base = with_hz(&service("max 100000", TWO_CPUS, 40), 1000);
    let lab = service_lab(&base);
    let run = |quota_us, period_ms| {
        let samples = lab.samples(&[Variant::new(limit(quota_us, period_ms, 0))], SEEDS).unwrap().remove(0);
        let p99_us = samples.iter().map(|sample| sample.percentile(990)).sum::<u64>() / SEEDS / 1000;
        let periods: u64 = samples.iter().map(|sample| sample.nr_periods).sum();
        (p99_us, samples.iter().map(|sample| sample.nr_throttled).sum::<u64>() * 100 / periods)
    };
    for (quota_us, period_ms, p99_ms, throttled, percent) in [
        (260_000, 100, 64, 22, 10),
        (300_000, 100, 48, 8, 10),
        (400_000, 100, 46, 0, 10),
        (26_000, 10, 106, 50, 20),
        (30_000, 10, 72, 31, 20),
        (40_000, 10, 49, 8, 20),
    ] {
        let (p99_us, share) = run(quota_us, period_ms);
        assert!(p99_us.abs_diff(p99_ms * 1000) <= p99_ms * 10 * percent, "{quota_us}/{period_ms}: {p99_us}");
        assert!(share.abs_diff(throttled) <= 4, "{quota_us}/{period_ms}: {share} %");
    }
    let (p99_us, share) = run(220_000, 100);
    assert!((140_000..207_000).contains(&p99_us) && share.abs_diff(63) <= 5, "{p99_us} {share} %");
}

/// Model: 13 T15
#[test]
fn more_quota_or_burst_is_never_worse() {
    let base = service("max 100000", TWO_CPUS, 20);
    let lab = service_lab(&base);
    let p99 = |limits: Vec<CpuMax>| {
        let variants: Vec<Variant> = limits.into_iter().map(Variant::new).collect();
        let samples = lab.samples(&variants, 4).unwrap();
        // Per seed, as requests are the same.
        (0..4).map(|seed| samples.iter().map(|row| row[seed].percentile(990)).collect::<Vec<u64>>()).collect::<Vec<_>>()
    };
    let quotas = [210_000, 230_000, 260_000, 300_000, 350_000, 500_000].map(|quota| limit(quota, 100, 0)).to_vec();
    let bursts = [0, 60_000, 120_000, 240_000].map(|burst| limit(240_000, 100, burst)).to_vec();
    for row in p99(quotas).into_iter().chain(p99(bursts)) {
        assert!(row.windows(2).all(|pair| pair[1] * 100 <= pair[0] * 102), "{row:?}");
    }
}

/// The dev.to incident: 800m, 36 ms per request, 16 workers. Means of 12 seeds of 40 s each, with a tick of 1 ms. The p99 of 5 requests per
/// second is to lie between 90 and 110 ms; it lies a little below, as each CPU keeps up to 1 ms of quota over the end of a period.
///
/// Model: 13 T09
#[test]
fn twenty_requests_a_second_with_800m_wait_longer_than_mean_use_shows() {
    const SEEDS: u64 = 12;
    let case = |every: &str, quota_us: u64| {
        let args = format!("every = \"{every}\", service = \"36ms\", spread = \"const\", workers = 16");
        let base = with_hz(&service("max 100000", &args, 40), 1000);
        let lab = service_lab(&base);
        let samples = lab.samples(&[Variant::new(limit(quota_us, 100, 0))], SEEDS).unwrap().remove(0);
        let p99_ms = samples.iter().map(|sample| sample.percentile(990)).sum::<u64>() / SEEDS / 1_000_000;
        let periods: u64 = samples.iter().map(|sample| sample.nr_periods).sum();
        (p99_ms, samples.iter().map(|sample| sample.nr_throttled).sum::<u64>() * 100 / periods)
    };
    let (quiet, _) = case("200ms", 80_000);
    assert!((75..90).contains(&quiet), "{quiet}: known to lie outside of 90..=110");
    let (busy, throttled) = case("50ms", 80_000);
    assert!((500..=1000).contains(&busy) && (65..=85).contains(&throttled), "{busy} {throttled}");
    let (doubled, _) = case("50ms", 160_000);
    assert!(doubled <= 125, "{doubled}");
}

#[test]
fn what_cannot_be_advised_on_is_said() {
    let wrong = |scenario: &Scenario, cgroup: Option<&str>| {
        let options = AdviseOptions { cgroup: cgroup.map(String::from), ..AdviseOptions::default() };
        advise(scenario, &options, Control::none()).unwrap_err().to_string()
    };
    let base = service("200000 100000", TWO_CPUS, 5);
    assert!(wrong(&base, Some("/web")).contains("there is no group `/web`"));
    let head = "duration = \"1s\"\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"6.12\"\n";
    let hog = scenario(&format!("{head}[[workload]]\ntasks = [{{ name = \"hog\", hog = true }}]\n"));
    assert!(wrong(&hog, None).contains("no workload `service`"));
    let outside = scenario(&format!("{head}[[group]]\npath = \"/a\"\n[[workload]]\nname = \"service\"\n"));
    assert!(wrong(&outside, None).contains("is in no group"));
    let two = scenario(&format!(
        "{head}[[group]]\npath = \"/a\"\n[[group]]\npath = \"/b\"\n[[workload]]\nname = \"service\"\ngroup = \"/a\"\n"
    ));
    assert!(wrong(&two, Some("/c")).contains("Groups: /a, /b."));
    // The service's own group is meant, or the nearest above it that has a limit.
    assert_eq!(subject(&two, &AdviseOptions::default()).unwrap().0, "/a");
    let nested = scenario(&format!(
        "{head}[[group]]\npath = \"/a\"\n\"cpu.max\" = \"50000\"\n[[group]]\npath = \"/a/b\"\n\
         [[workload]]\nname = \"service\"\ngroup = \"/a/b\"\n"
    ));
    assert_eq!(subject(&nested, &AdviseOptions::default()).unwrap().0, "/a");
    let changing = scenario(&format!(
        "{head}[[group]]\npath = \"/a\"\n\"cpu.max\" = \"50000\"\n[[workload]]\nname = \"service\"\ngroup = \"/a\"\n\
         [[at]]\ntime = \"500ms\"\ndo = \"cpu.max /a 70000\"\n"
    ));
    assert!(wrong(&changing, None).contains("changes during the run"));
}
