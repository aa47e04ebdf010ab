use super::*;

fn paired(better: Better, a: &[u64], b: &[u64]) -> Paired {
    Paired { name: "latency".into(), unit: Unit::Us, better, a: a.to_vec(), b: b.to_vec() }
}
fn verdict(better: Better, a: &[u64], b: &[u64]) -> Verdict {
    paired(better, a, b).compare(Rule::default()).verdict
}

#[test]
fn direction_depends_on_the_metric() {
    let (low, high) = ([100, 101, 99, 100, 102, 98], [120, 118, 121, 119, 125, 120]);
    assert_eq!(verdict(Better::Lower, &low, &high), Verdict::Worse);
    assert_eq!(verdict(Better::Lower, &high, &low), Verdict::Better);
    assert_eq!(verdict(Better::Higher, &low, &high), Verdict::Better);
    assert_eq!(verdict(Better::Neither, &low, &high), Verdict::Differs);
}

#[test]
fn five_pairs_never_suffice_and_noise_is_no_verdict() {
    assert_eq!(verdict(Better::Lower, &[100; 5], &[200; 5]), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &[100; 6], &[200; 6]), Verdict::Worse);
    assert_eq!(verdict(Better::Lower, &[100; 6], &[90, 120, 80, 130, 95, 110]), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &[], &[]), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &[100], &[200]), Verdict::Inconclusive);
}

#[test]
fn equal_and_nearly_equal_sides_show_no_difference() {
    assert_eq!(verdict(Better::Lower, &[7; 2], &[7; 2]), Verdict::NoDifference);
    assert_eq!(verdict(Better::Lower, &[10_000; 6], &[10_001; 6]), Verdict::NoDifference);
    assert_eq!(verdict(Better::Lower, &[10_000; 5], &[10_001; 5]), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &[0; 6], &[1; 6]), Verdict::Worse);
}

#[test]
fn a_metric_beside_many_others_needs_more() {
    let noise = |seed: u64| -> Vec<u64> { (0..7u64).map(|pair| 1000 + (seed * 7 + pair * 5) * 2654435761 % 97).collect() };
    let others = (1..30).map(|seed| Paired { b: noise(seed + 100), ..paired(Better::Lower, &noise(seed), &[]) });
    let one = paired(Better::Lower, &[1000; 7], &[1010, 1012, 1009, 999, 1011, 1010, 1013]);
    let rule = Rule { worth_permille: 0, ..Rule::default() };
    assert!(one.compare(rule).p.to_f64() <= 0.05);
    let all: Vec<Paired> = std::iter::once(one.clone()).chain(others).collect();
    assert!(compare_all(&all, rule)[0].p.to_f64() > one.compare(rule).p.to_f64());
}

#[test]
fn only_metrics_of_all_runs_are_paired() {
    let run = |rows: &[(&str, u64)]| -> Vec<Metric> {
        rows.iter().map(|(name, value)| Metric::new(*name, *value, Unit::Count, Better::Neither)).collect()
    };
    let a = [run(&[("x", 1), ("y", 2)]), run(&[("y", 4)])];
    let b = [run(&[("x", 1), ("y", 3)]), run(&[("x", 1), ("y", 5)])];
    let pairs = Paired::collect(&a, &b);
    assert_eq!(pairs.len(), 1);
    assert_eq!((pairs[0].name.as_str(), &pairs[0].a[..], &pairs[0].b[..]), ("y", &[2, 4][..], &[3, 5][..]));
}

#[test]
fn metrics_that_not_every_run_has_are_named() {
    let run = |names: &[&str]| -> Vec<Metric> {
        names.iter().map(|name| Metric::new(*name, 1, Unit::Count, Better::Neither)).collect()
    };
    let (a, b) = ([run(&["x", "y"]), run(&["x", "y"])], [run(&["x", "z"]), run(&["x", "y"])]);
    assert_eq!(Paired::left_out(&a, &b), ["y", "z"]);
    assert_eq!(Paired::collect(&a, &b).len(), 1);
}

/// Six of 22 changes are wild ones for the worse: the mean goes up, the median down. Neither may be claimed.
#[test]
fn an_effect_whose_mean_points_the_other_way_is_not_claimed() {
    let (a, mut b) = (vec![100_000u64; 22], vec![99_000u64; 22]);
    b[..6].fill(200_000);
    let comparison = paired(Better::Lower, &a, &b).compare(Rule::default());
    assert!(comparison.effect.estimate < 0 && comparison.b.mean > comparison.a.mean, "{comparison:?}");
    assert_eq!(comparison.verdict, Verdict::Inconclusive, "{comparison:?}");
}

/// Half of the pairs are ties: they count as no evidence for either side.
#[test]
fn ties_and_constant_metrics_decide_nothing_by_themselves() {
    let a = [50u64; 12];
    let with = |changed: usize| -> Vec<u64> { (0..12).map(|pair| if pair < changed { 60 } else { 50 }).collect() };
    assert_eq!(verdict(Better::Lower, &a, &with(5)), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &a, &with(12)), Verdict::Worse);
    // A constant one beside others neither helps nor hinders them.
    let rows = [paired(Better::Lower, &a, &with(12)), paired(Better::Lower, &a, &a), paired(Better::Lower, &[0; 12], &[0; 12])];
    let judged: Vec<Verdict> = compare_all(&rows, Rule::default()).iter().map(|row| row.verdict).collect();
    assert_eq!(judged, [Verdict::Worse, Verdict::NoDifference, Verdict::NoDifference]);
}

#[test]
fn the_largest_values_do_not_overflow() {
    let (a, b) = ([0u64; 8], [u64::MAX; 8]);
    assert_eq!(verdict(Better::Lower, &a, &b), Verdict::Worse);
    assert_eq!(verdict(Better::Lower, &b, &a), Verdict::Better);
}

#[test]
fn statistics_for_the_eye() {
    let comparison = paired(Better::Lower, &[90, 100, 110], &[45, 50, 55]).compare(Rule::default());
    assert_eq!((comparison.a.mean, comparison.a.median, comparison.a.min, comparison.a.max), (100.0, 100, 90, 110));
    assert_eq!(format!("{:.2} {:.2}", comparison.a.std_percent, comparison.change_percent().unwrap()), "10.00 -50.00");
}
