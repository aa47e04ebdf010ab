//! Searches for an idle CPU: how well they did, and how long they took.

use crate::columns;
use crate::table::{Cell, Table, number};
use fairground_metrics::Decimal;
use fairground_model::SisStats;
use fairground_stdx::Log2Histogram;

/// Thousandths of a percent, with three digits behind the point.
fn percent(thousandths: u64) -> Cell {
    Cell::new(format!("{}.{:03}", thousandths / 1000, thousandths % 1000), number(Decimal::ratio(thousandths, 1000)))
}

/// `case  load  se_eff%  dom_eff%  fast_rate%  success_rate%`: the searches of each row, in the layout in which they were
/// published.
pub fn efficiency_table<'a>(title: &str, rows: impl IntoIterator<Item = (&'a str, String, SisStats)>) -> Table {
    let columns = columns![
        left "case", left "load", right "se_eff%" "se_eff_pct", right "dom_eff%" "dom_eff_pct",
        right "fast_rate%" "fast_rate_pct", right "success_rate%" "success_rate_pct",
    ];
    let mut table = Table::new("search_efficiency", title, columns);
    for (case, load, sis) in rows {
        let rates = [sis.se_eff(), sis.dom_eff(), sis.fast_rate(), sis.success_rate()].map(percent);
        table.push([case.to_string().into(), load.into()].into_iter().chain(rates).collect());
    }
    table
}

/// Width of the longest bar.
const BAR: u64 = 52;

/// Counts by powers of two, as bpftrace prints a `hist()`.
pub fn bpftrace_histogram(name: &str, histogram: &Log2Histogram) -> Table {
    let columns = columns![right "from", right "count", left "share of the largest" "share"];
    let mut table = Table::new("histogram", format!("@{name}:"), columns);
    let buckets: Vec<(u64, u64)> = histogram.buckets().collect();
    let (Some(first), Some(last)) = (buckets.iter().position(|row| row.1 > 0), buckets.iter().rposition(|row| row.1 > 0)) else {
        table.line("(no value)");
        return table;
    };
    let largest = buckets.iter().map(|row| row.1).max().unwrap_or(1).max(1);
    for &(from, count) in &buckets[first..=last] {
        let bar = (u128::from(count) * u128::from(BAR) / u128::from(largest)) as usize;
        table.line(format!("{:<16} {count:>8} |{:<52}|", interval(from), "@".repeat(bar)));
        table.push(vec![Cell::count(from), Cell::count(count), "@".repeat(bar).into()]);
    }
    table
}

/// `[0]`, `[1]`, `[2, 4)`, …, `[512, 1K)`, `[1K, 2K)`.
fn interval(from: u64) -> String {
    match from {
        0 | 1 => format!("[{from}]"),
        _ => format!("[{}, {})", short(from), short(from.saturating_mul(2))),
    }
}

/// A power of two with its binary suffix.
fn short(value: u64) -> String {
    let suffixes = ["", "K", "M", "G", "T", "P", "E"];
    let step = (value.max(1).ilog2() / 10) as usize;
    format!("{}{}", value >> (10 * step), suffixes[step])
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn indicators_of_searches() {
        let sis = SisStats { sis_search: 1_000, sis_scanned: 5_000, sis_domain_search: 400, sis_failed: 10 };
        expect![[r#"
            netperf
            case    load       se_eff%  dom_eff%  fast_rate%  success_rate%
            ------  ---------  -------  --------  ----------  -------------
            TCP_RR  84 thread   19.800     8.864      60.000         99.000
        "#]]
        .assert_eq(&efficiency_table("netperf", [("TCP_RR", "84 thread".to_string(), sis)]).to_string());
    }

    #[test]
    fn histograms_look_as_those_of_bpftrace() {
        let mut histogram = Log2Histogram::new();
        [1, 2, 3, 9, 700, 1024, 1500, 1500].into_iter().for_each(|value| histogram.add(value));
        expect![[r#"
            @usecs:
            [1]                     1 |@@@@@@@@@@@@@@@@@                                   |
            [2, 4)                  2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@                  |
            [4, 8)                  0 |                                                    |
            [8, 16)                 1 |@@@@@@@@@@@@@@@@@                                   |
            [16, 32)                0 |                                                    |
            [32, 64)                0 |                                                    |
            [64, 128)               0 |                                                    |
            [128, 256)              0 |                                                    |
            [256, 512)              0 |                                                    |
            [512, 1K)               1 |@@@@@@@@@@@@@@@@@                                   |
            [1K, 2K)                3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
        "#]]
        .assert_eq(&bpftrace_histogram("usecs", &histogram).to_string());
        assert_eq!(bpftrace_histogram("usecs", &Log2Histogram::new()).to_string(), "@usecs:\n(no value)\n");
        assert_eq!(short(1 << 63), "8E");
    }
}
