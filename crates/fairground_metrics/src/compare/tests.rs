use super::*;

fn paired(better: Better, a: &[u64], b: &[u64]) -> Paired {
    Paired { name: "latency".into(), unit: Unit::Us, better, a: a.to_vec(), b: b.to_vec() }
}
fn verdict(better: Better, a: &[u64], b: &[u64]) -> Verdict {
    paired(better, a, b).compare(Rule::default()).verdict
}

#[test]
fn direction_depends_on_the_metric() {
    let (low, high) = ([100, 101, 99, 100, 102], [120, 118, 121, 119, 125]);
    assert_eq!(verdict(Better::Lower, &low, &high), Verdict::Worse);
    assert_eq!(verdict(Better::Lower, &high, &low), Verdict::Better);
    assert_eq!(verdict(Better::Higher, &low, &high), Verdict::Better);
    assert_eq!(verdict(Better::Neither, &low, &high), Verdict::Differs);
}

#[test]
fn four_pairs_never_suffice_and_noise_is_no_verdict() {
    assert_eq!(verdict(Better::Lower, &[100; 4], &[200; 4]), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &[100; 5], &[90, 120, 80, 130, 95]), Verdict::Inconclusive);
    assert_eq!(verdict(Better::Lower, &[], &[]), Verdict::Inconclusive);
}

#[test]
fn equal_and_nearly_equal_sides_show_no_difference() {
    assert_eq!(verdict(Better::Lower, &[7; 2], &[7; 2]), Verdict::NoDifference);
    assert_eq!(verdict(Better::Lower, &[10_000; 5], &[10_001; 5]), Verdict::NoDifference);
    assert_eq!(verdict(Better::Lower, &[0; 5], &[1; 5]), Verdict::Worse);
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
fn statistics_for_the_eye() {
    let comparison = paired(Better::Lower, &[90, 100, 110], &[45, 50, 55]).compare(Rule::default());
    assert_eq!((comparison.a.mean, comparison.a.median, comparison.a.min, comparison.a.max), (100.0, 100, 90, 110));
    assert_eq!(format!("{:.2} {:.2}", comparison.a.std_percent, comparison.change_percent().unwrap()), "10.00 -50.00");
}
