use super::outcome::is_shown;
use super::*;
use fairground_scenario::Overrides;
use fairground_stdx::{RngStream, StreamKind};
use std::path::Path;

/// Four tasks that sleep and compute on two CPUs.
const TEXT: &str = "title = \"four\"\nduration = \"300ms\"\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"5.19\"\n\
                    [[workload]]\ntasks = [{ name = \"a\", run = \"1ms\", period = \"3ms\", count = 4 }]\n";

fn scenario(text: &str) -> Scenario {
    Scenario::parse("four.toml", text, Path::new(""), &Overrides::default()).unwrap()
}
fn look(options: &SensitivityOptions) -> Sensitivity {
    sensitivity(&scenario(TEXT), options, Control::none()).unwrap()
}
fn metric(name: &str) -> SensitivityOptions {
    SensitivityOptions { metrics: vec![name.to_string()], ..SensitivityOptions::default() }
}

#[test]
fn dearer_ticks_cost_kernel_time_and_unused_classes_are_not_run() {
    let found = look(&metric("kernel_pct"));
    let row = &found.metrics[0];
    let change = |factor| row.scaled(CostClass::Timer, factor).unwrap().change(row.given()).unwrap();
    assert!(change(Factor::HALF) < -1_000 && change(Factor::DOUBLE) > 2_000, "{row:?}");
    assert!(found.unused.contains(&CostClass::Network) && row.scaled(CostClass::Network, Factor::DOUBLE).is_none());
    assert_eq!((row.cases.len(), found.exit_code()), (1 + 2 * (CostClass::ALL.len() - found.unused.len()), 0));
    assert_eq!(row.given().change(row.given()), Some(0));
}

#[test]
fn one_and_four_threads_give_the_same() {
    let of = |threads| look(&SensitivityOptions { threads, runs: 2, ..SensitivityOptions::default() });
    let (one, four) = (of(1), of(4));
    assert_eq!(one, four);
    assert_eq!(one.seeds, 2);
    assert_eq!(one.metrics[0].metric.name, "wakeup_latency_us.p50");
}

/// A class that is multiplied is priced so, and nothing else: the digest is that of the same scenario with such a machine.
#[test]
fn a_setting_is_a_run_on_a_machine_with_these_prices() {
    let scenario = scenario(TEXT);
    let machine = scaled(&scenario.machine, CostClass::Switch, Factor::HALF).unwrap();
    let outcome = run::run(&scenario.with_machine(machine), &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let value = outcome.metrics.iter().find(|metric| metric.name == "wakeup_latency_us.p99").unwrap().value;
    let found = look(&metric("wakeup_latency_us.p99"));
    assert_eq!(found.metrics[0].scaled(CostClass::Switch, Factor::HALF).unwrap().a, [value]);
}

#[test]
fn two_sides_are_held_against_each_other_at_each_price() {
    let options = SensitivityOptions { changes: vec!["NO_WAKEUP_PREEMPTION".to_string()], ..metric("wakeup_latency_us.p99") };
    let found = look(&options);
    assert_eq!(found.sides, ["v5.19", "v5.19 NO_WAKEUP_PREEMPTION"]);
    let row = &found.metrics[0];
    assert!(row.cases.iter().all(|case| case.b.is_some() && case.sign().is_some()));
    assert!(found.summary()[0].starts_with("Nothing is decided: 1 seed is too few"), "{:?}", found.summary());
    assert_eq!(found.exit_code(), 4);
}

/// With six seeds the effect is tested at each price, and the verdict says whether it holds.
#[test]
fn six_seeds_decide_whether_an_effect_holds() {
    let changes = vec!["NO_WAKEUP_PREEMPTION".to_string()];
    let found = look(&SensitivityOptions { changes, runs: 6, ..metric("wakeup_latency_us.p99") });
    let summary = found.summary();
    let shown = is_shown(&found.judged[0][0]);
    assert_eq!(shown, !summary[0].starts_with("No effect"), "{summary:?}");
    assert!(summary.len() <= 10 && found.with_sign(Sign::Turned).is_empty(), "{summary:?}");
    let one = look(&SensitivityOptions { runs: 6, ..metric("kernel_pct") });
    assert!(one.summary()[0].starts_with("1 of 1 metrics change with assumed prices"), "{:?}", one.summary());
    assert_eq!(one.exit_code(), 0);
}

/// Two metrics without an effect, at many prices: a sign that differs by chance is no turned sign.
#[test]
fn noise_does_not_turn_a_sign() {
    let mut rng = RngStream::new(7, StreamKind::Vopr, 0);
    let mut noise = || -> Vec<u64> { (0..12).map(|_| 1_000 + rng.between(0, 50)).collect() };
    let prices = CostClass::ALL.iter().flat_map(|&class| FACTORS.map(|factor| Prices::Scaled(class, factor)));
    let cases = std::iter::once(Prices::AsGiven).chain(prices);
    let cases: Vec<Case> = cases.map(|prices| Case { prices, a: noise(), b: Some(noise()) }).collect();
    let metrics = vec![MetricCases { metric: metric_named("x"), cases }];
    assert!(metrics[0].turned().next().is_some(), "by their sums some signs differ");
    let judged = judged(&metrics, Rule::default());
    assert!(judged[0].iter().all(|comparison| !is_shown(comparison)));
}

#[test]
fn signs_and_changes_are_exact() {
    let case = |prices, a, b: Option<u64>| Case { prices, a: vec![a], b: b.map(|b| vec![b]) };
    let given = case(Prices::AsGiven, 200, Some(300));
    let scaled = case(Prices::Scaled(CostClass::Scan, Factor::DOUBLE), 400, Some(300));
    assert_eq!((given.effect(), given.sign()), (Some(5_000), Some(1)));
    assert_eq!((scaled.effect(), scaled.sign()), (Some(-2_500), Some(-1)));
    // From 1.5 to 0.75.
    assert_eq!(scaled.change(&given), Some(-5_000));
    assert_eq!(case(Prices::AsGiven, 0, None).change(&case(Prices::AsGiven, 0, None)), None);
    // 1/3 and -1/3 round alike.
    assert_eq!(
        [4, 2].map(|a| case(Prices::AsGiven, a, None).change(&case(Prices::AsGiven, 3, None))),
        [Some(3_333), Some(-3_333)]
    );
    let turned = scaled.prices;
    let row = MetricCases { metric: metric_named("x"), cases: vec![given, scaled] };
    assert_eq!(row.turned().collect::<Vec<_>>(), [turned]);
}

fn metric_named(name: &str) -> Metric {
    Metric::new(name, 0, fairground_metrics::Unit::Count, fairground_metrics::Better::Higher)
}

#[test]
fn bad_input_is_refused_before_the_first_run() {
    let wrong = |text: &str, options: &SensitivityOptions| {
        sensitivity(&scenario(text), options, Control::none()).unwrap_err().to_string()
    };
    let unknown = wrong(TEXT, &metric("kernel_pc"));
    assert!(unknown.contains("no metric `kernel_pc`") && unknown.contains("Did you mean `kernel_pct`?"), "{unknown}");
    let expensive = TEXT.replace("preset = \"smp-2\"", "preset = \"smp-2\"\ncosts = { preset = \"xeon-spr\", fork = \"6ms\" }");
    let expensive = wrong(&expensive, &SensitivityOptions::default());
    assert!(expensive.contains("`fork` x 2 is too expensive"), "{expensive}");
    let profile = wrong(TEXT, &SensitivityOptions { a: Some("v9".to_string()), ..SensitivityOptions::default() });
    assert!(profile.contains("there is no profile `v9`"), "{profile}");
}
