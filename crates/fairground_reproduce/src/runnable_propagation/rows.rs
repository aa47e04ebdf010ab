//! The percentiles beside the published ones, their ratios, and what must hold in most of the runs.

use super::case::{Measured, Variant};
use super::{Parts, SEEDS};
use fairground_metrics::Decimal;
use fairground_report::{Band, Claim, Kind, Quantity, ReproductionRow, Simulated};
use toml_edit::Table;

/// Percentiles in thousandths of a percent, by their keys in the published data.
const PERCENTILES: [(&str, u32); 7] =
    [("p50", 50_000), ("p75", 75_000), ("p90", 90_000), ("p95", 95_000), ("p99", 99_000), ("p99_5", 99_500), ("p99_9", 99_900)];
const P99: u32 = 99_000;
const SIDES: [&str; 3] = ["root", "cgroup", "cgroup_patched"];
/// The longest that any wake-up may take, us.
const LONGEST_US: u64 = 20_000;
/// In what the cgroup's p99 must lie, us.
const NESTED_US: (u64, u64) = (3_000, 12_000);
/// Within how much of the published p99 that of the root group must lie.
const ROOT_P99_FACTOR: u64 = 3;
/// Within how much of the published ones the percentiles up to p95 must lie.
const LOW_FACTOR: u64 = 2;
/// In how many of the runs the ratios must hold.
const MOST: usize = 8;
/// The least that a cgroup's p99 is of the root group's, and the most that the patched one's is.
const RATIOS: [(&str, Decided); 2] = [("cgroup_to_root", Decided::AtLeast(400)), ("patched_to_root", Decided::AtMost(150))];
/// No ratio is above this.
const ANY_RATIO: u64 = 1_000;

/// A bound in percent.
#[derive(Clone, Copy)]
enum Decided {
    AtLeast(u64),
    AtMost(u64),
}

impl Decided {
    fn holds(self, value: u64, of: u64) -> bool {
        match self {
            Decided::AtLeast(percent) => value * 100 >= of * percent,
            Decided::AtMost(percent) => value * 100 <= of * percent,
        }
    }
    fn band(self) -> Band {
        match self {
            Decided::AtLeast(percent) => Band::Between(Decimal::ratio(percent, 100), Decimal::from(ANY_RATIO)),
            Decided::AtMost(percent) => Band::Between(Decimal::from(0), Decimal::ratio(percent, 100)),
        }
    }
}

/// A natural number of a table.
fn natural(table: &Table, key: &str) -> Option<u64> {
    u64::try_from(table.get(key)?.as_integer()?).ok()
}

fn p99(run: &Measured) -> u64 {
    run.latencies.percentile(P99).0
}

fn spread(mut values: Vec<u64>, of: impl Fn(u64) -> Quantity) -> Simulated {
    values.sort_unstable();
    let [lo, median, hi] = [values[0], values[values.len() / 2], values[values.len() - 1]].map(of);
    Simulated { median, lo, hi, runs: values.len() as u32 }
}

fn whole(value: u64) -> Quantity {
    Quantity::Number(value.into())
}

impl Parts {
    /// The rows and claims of a variant: root, cgroup, cgroup with the patch.
    pub(super) fn add(&mut self, variant: &Variant, published: &Table, sides: [&[Measured]; 3]) {
        let prefix = if variant.is_main() { String::new() } else { format!("{}.", variant.name) };
        for (side, runs) in SIDES.into_iter().zip(sides) {
            let table = published.get(side).and_then(|item| item.as_table()).filter(|_| variant.is_main());
            for (key, milli) in PERCENTILES {
                let values = runs.iter().map(|run| run.latencies.percentile(milli).0).collect();
                self.percentile_row(
                    format!("{prefix}{side}.{key}"),
                    table.and_then(|table| natural(table, key)),
                    key,
                    side,
                    values,
                );
            }
            let values = runs.iter().map(|run| run.latencies.max()).collect();
            self.percentile_row(
                format!("{prefix}{side}.max"),
                table.and_then(|table| natural(table, "max")),
                "max",
                side,
                values,
            );
        }
        let [root, cgroup, patched] = sides;
        for ((what, bound), runs) in RATIOS.into_iter().zip([cgroup, patched]) {
            let pairs: Vec<(u64, u64)> = runs.iter().zip(root).map(|(run, root)| (p99(run), p99(root).max(1))).collect();
            self.ratio_row(format!("{prefix}p99.{what}"), variant, published, what, bound, &pairs);
        }
    }

    fn percentile_row(&mut self, id: String, published: Option<u64>, key: &str, side: &str, values: Vec<u64>) {
        let times = |value: u64, factor: u64| Band::Between((value / factor).into(), (value * factor).into());
        let band = match (published, key, side) {
            (None, ..) => Band::NotJudged,
            (Some(value), "p50" | "p75" | "p90" | "p95", _) => times(value, LOW_FACTOR),
            (Some(value), "p99", "root") => times(value, ROOT_P99_FACTOR),
            (Some(_), "p99", "cgroup") => Band::Between(NESTED_US.0.into(), NESTED_US.1.into()),
            (Some(_), "max", _) => Band::Between(Decimal::from(0), LONGEST_US.into()),
            _ => Band::NotJudged,
        };
        let kind = if side == "root" && published.is_some() { Kind::Calibrated } else { Kind::Predicted };
        let published = published.map_or(Quantity::Unknown, whole);
        self.rows.push(ReproductionRow { id, unit: "us".into(), published, simulated: spread(values, whole), kind, band });
    }

    fn ratio_row(&mut self, id: String, variant: &Variant, published: &Table, what: &str, bound: Decided, pairs: &[(u64, u64)]) {
        let percent = pairs.iter().map(|&(value, of)| value * 100 / of).collect();
        let side = if what == "cgroup_to_root" { "cgroup" } else { "cgroup_patched" };
        let p99_of = |side: &str| natural(published.get(side)?.as_table()?, "p99");
        let ratio = p99_of(side).zip(p99_of("root")).map(|(value, of)| Quantity::Number(Decimal::ratio(value * 100 / of, 100)));
        let most = pairs.iter().filter(|&&(value, of)| bound.holds(value, of)).count();
        if variant.judged {
            let claim = format!("{id} keeps its bound in at least {MOST} of {SEEDS} runs");
            self.claims.push(Claim { id: claim, holds: most >= MOST, value: Some(Decimal::from(most as u64)) });
        }
        self.rows.push(ReproductionRow {
            id,
            unit: "ratio".into(),
            published: ratio.filter(|_| variant.is_main()).unwrap_or(Quantity::Unknown),
            simulated: spread(percent, |percent| Quantity::Number(Decimal::ratio(percent, 100))),
            kind: Kind::Predicted,
            band: if variant.judged { bound.band() } else { Band::NotJudged },
        });
    }
}
