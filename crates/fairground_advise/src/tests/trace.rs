//! Advice from traces: of recorded kernels, and of runs of our own at one limit that are compared with runs at another.

use super::super::trace::{TraceCase, TraceOptions};
use super::*;
use fairground::run::{RunOptions, run};
use fairground_formats::{WriterOptions, writer_with};
use fairground_workload::replay::Loop;
use std::path::PathBuf;

fn case(path: &Path, comm: &str, flags: &[&str]) -> TraceCase {
    let options = TraceOptions { comms: vec![comm.to_string()], cgroup: None, limit: None, arrivals: Loop::Open };
    let [machine, profile] = [0, 1].map(|place| flags.get(place).map(ToString::to_string));
    TraceCase::open(path, &options, &Overrides { machine, profile, ..Overrides::default() }).unwrap()
}

/// The samples of so many seeds at a limit.
fn at(case: &TraceCase, limit: CpuMax, seeds: u64) -> Vec<Sample> {
    let lab =
        lab(&case.scenario, case.group.clone(), Subject::Trace(case.facts.pieces), Control::none(), &AdviseOptions::default());
    lab.samples(&[Variant::new(limit)], seeds).unwrap().remove(0)
}
fn mean_us(samples: &[Sample], permille: u64) -> u64 {
    samples.iter().map(|sample| sample.percentile(permille) / 1000).sum::<u64>() / samples.len() as u64
}
fn recorded_us(case: &TraceCase, permille: u64) -> u64 {
    case.facts.percentile(permille).unwrap().0 / 1000
}
fn close(what: &str, ours: u64, wanted: u64, percent: u64) {
    assert!(ours.abs_diff(wanted) * 100 <= wanted * percent, "{what}: {ours}, and not {wanted} within {percent} %");
}

/// Eight threads that want 2 CPUs and were recorded with 1. When each piece of work was due is known from the program of the recording: with
/// that, the response times were 934, 1868 and 2069 ms. Only 47 of 810 arrivals stand in the trace.
#[test]
fn what_a_kernel_did_under_a_quota_is_found_again() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/quota_5.10_per8.txt.zst");
    let case = case(&sample, "p0?", &["smp-8", "v5.10"]);
    assert!((700..800).contains(&case.facts.overdue), "{}", case.facts.overdue);
    let as_recorded = at(&case, limit(100_000, 100, 0), 4);
    for (permille, truth_us) in [(500, 933_710), (900, 1_868_230), (990, 2_068_870)] {
        close("recorded", recorded_us(&case, permille), truth_us, 3);
        close("run as recorded", mean_us(&as_recorded, permille), truth_us, 5);
    }
    // The same work recorded without a quota takes 5.035 ms (5.10, one thread alone on its CPU).
    let free = at(&case, CpuMax::UNLIMITED, 4);
    close("without a limit", mean_us(&free, 500), 5_035, 3);
    // 8 times 5 ms each 20 ms; the threads also began and ended.
    close("demand", demand(&free) / 1_000_000, 2_000, 3);
}

/// Recorded at 150 ms, run at 20 ms, and compared with the recording of the same four hogs at 20 ms: each runs 5 ms and stands still until the
/// next period. A hog never sleeps within the recording; it is one long piece of work.
#[test]
fn hogs_recorded_at_one_quota_stand_still_at_another_as_recorded_there() {
    for kernel in ["5.10", "6.1", "6.12", "6.18"] {
        let [from, to] =
            ["f_q150_4", "f_q20_4"].map(|name| fairground_testing::recording(&format!("k{kernel}-bandwidth-8cpu/{name}")));
        let mut case = case(&from, "h0?", &[]);
        case.scenario.duration = Ns::from_secs(2);
        let lab = lab(
            &case.scenario,
            case.group.clone(),
            Subject::Trace(case.facts.pieces),
            Control::none(),
            &AdviseOptions::default(),
        );
        let stalls = super::super::slow::stalls(&lab, limit(20_000, 100, 0)).unwrap();
        let summary: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(to.join("summary.json")).unwrap()).unwrap();
        let longest = summary["all"]["max_wait_ns"].as_u64().unwrap();
        close(&format!("{kernel}: longest stall"), stalls.last().unwrap().0, longest, 3);
        let sample = at(&case, limit(20_000, 100, 0), 1).remove(0);
        let used = summary["all"]["runtime_ns"].as_u64().unwrap();
        close(&format!("{kernel}: used"), sample.used.0, used, 3);
    }
}

/// Four threads that each want 10 ms at the same time, each time at another phase of the quota's period and of the tick. The limit is set after
/// their first piece of work, from which their timers count.
fn four(quota: &str) -> Scenario {
    scenario(&format!(
        "duration = \"10s\"\n[machine]\npreset = \"smp-4\"\n[profile]\nkernel = \"6.12\"\n[[group]]\npath = \"/a\"\n\"cpu.max\" = \"max\"\n\
         [[workload]]\ngroup = \"/a\"\ntasks = [{{ name = \"beat\", run = \"10ms\", period = \"113137us\", count = 4 }}]\n\
         [[at]]\ntime = \"50ms\"\ndo = \"cpu.max /a {quota}\"\n"
    ))
}

/// A run as ftrace text.
fn exported(scenario: &Scenario, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let out = Box::new(std::fs::File::create(&path).unwrap());
    let mut writer = writer_with("txt", out, &WriterOptions::default()).unwrap();
    run(scenario, &RunOptions::default(), writer.as_mut(), Control::none()).unwrap();
    writer.finish().unwrap();
    path
}

fn mean(times: impl Iterator<Item = u64>) -> u64 {
    let times: Vec<u64> = times.collect();
    times.iter().sum::<u64>() / times.len() as u64
}

/// Recorded at one limit and run at another is what is recorded there: the mean of eight runs each, as the phase of the period is chance.
#[test]
fn our_own_runs_at_one_limit_tell_of_another() {
    const SEEDS: u64 = 8;
    let folder = std::env::temp_dir().join(format!("fairground-advise-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = case(&exported(&four("25000 50000"), &folder, "a.txt"), "beat*", &["smp-4", "v6.12"]);
    assert_eq!(trace.facts.overdue, 0);
    assert!(recorded_us(&trace, 900) > 20_000, "it was throttled");
    for (quota_us, period_ms) in [(100_000, 100), (15_000, 25), (24_000, 40), (40_000, 100)] {
        let samples = at(&trace, limit(quota_us, period_ms, 0), SEEDS);
        let ours = mean(samples.iter().map(|sample| mean((0..100).map(|percent| sample.percentile(percent * 10 + 5)))));
        let direct = mean((0..SEEDS).map(|seed| {
            let run = four(&format!("{quota_us} {}", period_ms * 1000)).with_seed(seed + 1);
            let case = case(&exported(&run, &folder, "b.txt"), "beat*", &["smp-4", "v6.12"]);
            mean(case.facts.recorded.iter().map(|time| time.0))
        }));
        close(&format!("{quota_us}/{period_ms}"), ours / 1000, direct / 1000, 4);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
