//! Percentiles of a histogram as HdrHistogram writes them (`.hgrm`), for its plotter and for everything else that reads that text.

use crate::units::fixed;
use fairground_metrics::Histogram;
use std::fmt::Write;

/// Times are shown in microseconds, exact to the ns.
const NS_PER_US: u64 = 1000;
/// How HdrHistogram would divide its values: [`Histogram`] has the classes of two significant digits up to 2^41 ns.
const BUCKETS: u32 = 34;
const SUB_BUCKETS: u32 = 256;

/// The percentile distribution of times in ns, shown in microseconds.
///
/// ```text
///        Value     Percentile TotalCount 1/(1-Percentile)
///
///        1.200 0.000000000000          3           1.00
/// ```
#[allow(clippy::cast_precision_loss, reason = "for display only")]
pub fn hgrm(values: &Histogram) -> String {
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for level in values.distribution() {
        let share = level.parts as f64 / level.of as f64;
        let _ = write!(text, "{:>12} {share:.12} {:>10}", fixed(level.value, NS_PER_US, 3), level.up_to);
        if level.parts < level.of {
            let _ = write!(text, " {:>14.2}", level.of as f64 / (level.of - level.parts) as f64);
        }
        text.push('\n');
    }
    let mean = values.sum() as f64 / values.len().max(1) as f64 / NS_PER_US as f64;
    let deviation = values.std_deviation() / NS_PER_US as f64;
    let _ = writeln!(text, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let _ = writeln!(text, "#[Max     = {:>12}, Total count    = {:>12}]", fixed(values.max(), NS_PER_US, 3), values.len());
    let _ = writeln!(text, "#[Buckets = {BUCKETS:>12}, SubBuckets     = {SUB_BUCKETS:>12}]");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn text() {
        let mut values = Histogram::new();
        [1_000, 2_000, 3_000, 100_000].into_iter().for_each(|value| values.record(value));
        expect![[r#"
                   Value     Percentile TotalCount 1/(1-Percentile)

                   1.003 0.000000000000          1           1.00
                   1.003 0.100000000000          1           1.11
                   1.003 0.200000000000          1           1.25
                   2.007 0.300000000000          2           1.43
                   2.007 0.400000000000          2           1.67
                   2.007 0.500000000000          2           2.00
                   3.007 0.550000000000          3           2.22
                   3.007 0.600000000000          3           2.50
                   3.007 0.650000000000          3           2.86
                   3.007 0.700000000000          3           3.33
                   3.007 0.750000000000          3           4.00
                 100.000 0.775000000000          4           4.44
                 100.000 1.000000000000          4
            #[Mean    =       26.500, StdDeviation   =       42.439]
            #[Max     =      100.000, Total count    =            4]
            #[Buckets =           34, SubBuckets     =          256]
        "#]]
        .assert_eq(&hgrm(&values));
    }

    #[test]
    fn without_values_there_are_no_levels() {
        let text = hgrm(&Histogram::new());
        assert!(text.lines().nth(2).unwrap().starts_with("#[Mean    =        0.000"), "{text}");
    }
}
