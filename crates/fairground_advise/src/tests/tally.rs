//! What a run is asked for, held against the statistics of the whole run.

use super::*;
use fairground::run::{self, RunOptions};
use fairground_metrics::Histogram;
use fairground_model::NullSink;
use fairground_scenario::metrics::marker_values;

/// Open with time-outs, closed, and in two states beside a collector.
const SERVICES: [&str; 3] = [
    "every = \"5ms\", service = \"10ms\", workers = 8, timeout = \"40ms\"",
    "arrivals = \"closed\", clients = 12, think = \"30ms\", service = \"8ms\", workers = 6",
    "arrivals = \"mmpp\", every = \"10ms\", burst-every = \"2ms\", calm-length = \"800ms\", burst-length = \"100ms\", service = \"6ms\", \
     workers = 8, gc-threads = 4, gc-every = \"1s\", gc-work = \"50ms\"",
];

#[test]
fn a_run_counts_what_its_statistics_count() {
    for args in SERVICES {
        let base = service("max 100000", args, 6);
        let lab = service_lab(&base);
        for limit in [limit(230_000, 100, 0), CpuMax::UNLIMITED] {
            let sample = lab.sample(&lab.bench(&Variant::new(limit)).unwrap(), 3).unwrap();
            let scenario = lab.seeded(&lab.scenario(&Variant::new(limit)), 3);
            let whole = run::run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
            let tasks = &whole.tasks;
            let values = |name: &str| {
                let marker = tasks.markers.iter_enumerated().find(|row| row.1.name == name).map(|row| row.0);
                marker.map_or_else(Histogram::new, |id| marker_values(&whole.report, tasks, &(0..tasks.tasks.len()), id))
            };
            let of = |values: &Histogram| (values.len(), values.sum(), values.max(), values.quantile(990));
            assert_eq!(of(&sample.latency), of(&values("request_latency")), "{args}");
            assert_eq!((sample.good, sample.timeouts), (values("good").len(), values("timeouts").len()), "{args}");
            let inside = |task| tasks.tasks[task].group.is_some() && tasks.tasks[task].measured;
            let used: u64 = whole.report.tasks.iter().filter(|row| inside(row.task)).map(|row| row.runtime.0).sum();
            let gc: u64 = whole.report.tasks.iter().filter(|row| row.info.name.starts_with("gc")).map(|row| row.runtime.0).sum();
            let extra = if tasks.tasks.iter().any(|task| task.name.starts_with("gc") && task.measured) { 0 } else { gc };
            assert_eq!(sample.used.0, used + extra, "{args}");
            let offered = values("requests").len();
            let workers = tasks.tasks.iter().filter(|task| task.measured).count() as u64;
            assert_eq!(sample.late, offered.saturating_sub(sample.latency.len()).saturating_sub(workers), "{args}");
            assert_eq!((sample.digest, sample.events), (whole.digest, whole.counts.events()), "{args}");
        }
    }
}

/// Limits that are far from enough, nearly, and more than enough; goals that are decided before the end and at it.
#[test]
fn a_run_that_ends_early_answers_as_the_whole_one() {
    let (mut met, mut missed) = (0, 0);
    for args in SERVICES {
        let base = service("max 100000", args, 6);
        let lab = service_lab(&base);
        for quota_ms in [100, 180, 220, 260, 320, 600] {
            let bench = lab.bench(&Variant::new(limit(quota_ms * 1000, 100, 0))).unwrap();
            for seed in 0..3 {
                let whole = lab.sample(&bench, seed).unwrap();
                assert!(whole.decided.is_none());
                for (permille, ms) in [(500, 15), (500, 40), (900, 30), (900, 90), (990, 60), (990, 150)] {
                    let goals = [Goal { permille, most: Ns::from_ms(ms) }];
                    let early = lab.decide(&bench, seed, &goals, whole.most).unwrap();
                    assert_eq!(early.holds(&goals), whole.holds(&goals), "{args} {quota_ms} {seed} {permille} {ms}");
                    assert!(early.decided.is_none() || early.length < whole.length);
                    met += u64::from(early.decided == Some(true));
                    missed += u64::from(early.decided == Some(false));
                }
            }
        }
        // Who waits for answers asks less often if they are late: nothing is known before the end.
        let bench = lab.bench(&Variant::new(CpuMax::UNLIMITED)).unwrap();
        assert_eq!(lab.sample(&bench, 0).unwrap().most.is_none(), args.contains("closed"), "{args}");
    }
    assert!(met > 20 && missed > 40, "{met} {missed}");
}
