//! The published numbers beside ours: one row each.

use super::case::{Case, MAIN, Measure, PATCHED, Point, Reading, VANILLA};
use super::measured::Measured;
use super::{Done, Plan};
use crate::published::{Published, decimal};
use fairground_metrics::Decimal;
use fairground_model::SisStats;
use fairground_report::{Band, Claim, Kind, Quantity, ReproductionRow, Simulated};
use fairground_sched::Profile;
use fairground_stdx::{Log2Histogram, Ns};
use toml_edit::{Item, Table};

/// For how long the published counters counted: three runs of 100 s.
pub(super) const COUNTED_FOR: Ns = Ns::from_secs(300);
/// The load of the counters and of the histogram.
pub(super) const HIGHEST: u64 = 224;
/// From this load on the patch made netperf three times as fast.
const JUMP: u64 = 196;
/// No change is above this, in percent.
const ANY_GAIN: u64 = 10_000;

/// Between two numbers of percent.
fn percent_band(lo: i64, hi: i64) -> Band {
    Band::Between(Decimal::thousandths(lo * 1000), Decimal::thousandths(hi * 1000))
}

/// In what the change of throughput or latency must lie.
fn change_band(point: &Point) -> Band {
    match (point.bench.as_str(), point.load) {
        ("netperf", load) if load >= JUMP => percent_band(50, ANY_GAIN as i64),
        ("netperf", 140 | 168) => percent_band(-10, 10),
        ("netperf", _) => percent_band(-3, 3),
        ("schbench", _) => percent_band(-20, 20),
        _ => percent_band(-15, 15),
    }
}

/// In what an indicator of the searches of the unpatched kernel must lie.
fn efficiency_band(point: &Point, indicator: &str) -> Band {
    match (point.bench.as_str(), point.case.as_str(), point.load, indicator) {
        ("netperf", "TCP_RR", 84, "se_eff") => percent_band(15, 28),
        ("netperf", "TCP_RR", 84, "dom_eff") => percent_band(4, 9),
        ("netperf", "TCP_RR", 84, "fast_rate") => percent_band(65, 85),
        ("netperf", "TCP_RR", 84, "success_rate") => Band::Between(Decimal::thousandths(99_900), 100.into()),
        ("netperf", "TCP_RR", 28 | 56, "fast_rate") => percent_band(99, 100),
        ("netperf", "TCP_RR", HIGHEST, "fast_rate") => percent_band(15, 40),
        ("netperf", "TCP_RR", HIGHEST, "se_eff") => percent_band(3, 8),
        _ => Band::NotJudged,
    }
}

/// By how much `patched` is better than `vanilla`, in thousandths of a percent.
pub(super) fn change(measure: Measure, vanilla: u64, patched: u64) -> i64 {
    let (base, other) = (i128::from(vanilla), i128::from(patched));
    let better = match measure {
        Measure::Rate(_) => other - base,
        Measure::P90(_) => base - other,
    };
    (better * 100_000).checked_div(base).map_or(0, |change| i64::try_from(change).unwrap_or(i64::MAX))
}

fn thousandths(value: i64) -> Quantity {
    Quantity::Number(Decimal::thousandths(value))
}

/// Median and range, in thousandths.
fn spread(mut values: Vec<i64>) -> Simulated {
    values.sort_unstable();
    let [lo, median, hi] = [values[0], values[values.len() / 2], values[values.len() - 1]].map(thousandths);
    Simulated { median, lo, hi, runs: values.len() as u32 }
}

/// The standard deviation in percent of the mean, in thousandths; of one run nobody knows it.
fn deviation(values: &[u64]) -> Quantity {
    let n = values.len() as u128;
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    if n < 2 || sum == 0 {
        return Quantity::Unknown;
    }
    // n * value - sum is n times the distance to the mean, in integers.
    let squares: u128 = values.iter().map(|&value| (u128::from(value) * n).abs_diff(sum).pow(2)).sum();
    let deviation = (squares / (n - 1)).isqrt();
    thousandths((deviation * 100_000 / sum) as i64)
}

pub(super) fn published(table: &Table, key: &str) -> Quantity {
    decimal(table, key).map_or(Quantity::Unknown, Quantity::Number)
}

/// The point of a published row.
pub(super) fn point_of(row: &Table) -> Option<Point> {
    let text = |key: &str| row.get(key).and_then(Item::as_str);
    let load = row.get("load").and_then(Item::as_integer).and_then(|load| u64::try_from(load).ok())?;
    Some(Point::new(text("bench")?, text("case")?, load, text("unit")?))
}

/// The change of each benchmark at each load, and how much runs differ.
pub(super) fn changes(plan: &Plan, done: &Done, file: &Published, reading: Reading) -> Vec<ReproductionRow> {
    let (prefix, main) = (reading.prefix(), reading == MAIN);
    let mut rows = Vec::new();
    for row in file.rows("compare") {
        let Some(point) = point_of(row).filter(|point| plan.has(point)) else { continue };
        let [Some(vanilla), Some(patched)] = [VANILLA, PATCHED].map(|profile| done.of(&prefix, &point, profile)) else {
            continue;
        };
        let pairs = vanilla.iter().zip(patched);
        let changes = pairs.map(|(vanilla, patched)| change(point.measure(), vanilla.value, patched.value)).collect();
        rows.push(ReproductionRow {
            id: format!("{prefix}change.{}", point.id()),
            unit: "%".into(),
            published: published(row, "change_pct"),
            simulated: spread(changes),
            kind: Kind::Predicted,
            band: if main { change_band(&point) } else { Band::NotJudged },
        });
        if main && point.bench == "netperf" {
            let looks = patched.iter().map(|run| i64::from(run.nr_idle_scan) * 1000).collect();
            rows.push(ReproductionRow {
                unit: "CPUs".into(),
                ..shown(format!("nr_idle_scan.{}.patched", point.id()), Quantity::Unknown, spread(looks))
            });
        }
        for (side, key, runs) in [("vanilla", "baseline_std_pct", vanilla), ("patched", "patched_std_pct", patched)] {
            let values: Vec<u64> = runs.iter().map(|run| run.value).collect();
            if main && values.len() > 1 {
                rows.push(shown(
                    format!("std.{}.{side}", point.id()),
                    published(row, key),
                    Simulated::same(deviation(&values), values.len() as u32),
                ));
            }
        }
    }
    rows
}

/// A row in percent that is not judged.
fn shown(id: String, published: Quantity, simulated: Simulated) -> ReproductionRow {
    ReproductionRow { id, unit: "%".into(), published, simulated, kind: Kind::Predicted, band: Band::NotJudged }
}

/// An indicator of searches in thousandths of a percent.
pub(super) type Indicator = fn(&SisStats) -> u64;
pub(super) const INDICATORS: [(&str, Indicator); 4] = [
    ("se_eff", SisStats::se_eff),
    ("dom_eff", SisStats::dom_eff),
    ("fast_rate", SisStats::fast_rate),
    ("success_rate", SisStats::success_rate),
];

/// The published indicators of the unpatched kernel. Rows that were published as all zero are missing data.
pub(super) fn efficiencies(plan: &Plan, done: &Done, file: &Published) -> Vec<ReproductionRow> {
    let mut rows = Vec::new();
    for row in file.rows("efficiency") {
        let Some(point) = point_of(row).filter(|point| plan.has(point)) else { continue };
        let Some(runs) = done.of("", &point, VANILLA) else { continue };
        let missing = INDICATORS.iter().all(|(key, _)| decimal(row, key) == Some(0.into()));
        for (key, indicator) in INDICATORS {
            let values = runs.iter().map(|run| indicator(&run.sis) as i64).collect();
            rows.push(ReproductionRow {
                id: format!("efficiency.{}.{key}", point.id()),
                unit: "%".into(),
                published: if missing { Quantity::Unknown } else { published(row, key) },
                simulated: spread(values),
                kind: Kind::Predicted,
                band: if missing { Band::NotJudged } else { efficiency_band(&point, key) },
            });
        }
    }
    rows
}

/// How many CPUs may be looked at, by how much a cache domain is used: arithmetic alone.
pub(super) fn scan_table(file: &Published) -> Vec<ReproductionRow> {
    let mut rows = Vec::new();
    let (Some(table), Ok(profile)) = (file.root().get("scan_table").and_then(Item::as_table), Profile::parse(PATCHED)) else {
        return rows;
    };
    let list = |key: &str| -> Vec<u64> {
        let values = table.get(key).and_then(Item::as_array).into_iter().flatten();
        values.filter_map(|value| value.as_integer().and_then(|value| u64::try_from(value).ok())).collect()
    };
    let percents = list("sum_util_pct");
    for (key, weight) in [("llc112", 112), ("llc16", 16)] {
        for (&percent, expected) in percents.iter().zip(list(key)) {
            let nr = profile.nr_idle_scan(weight, u64::from(weight) * 1024 * percent / 100);
            rows.push(ReproductionRow {
                id: format!("scan_table.{key}.{percent}"),
                unit: "CPUs".into(),
                published: Quantity::Number(expected.into()),
                simulated: Simulated::same(Quantity::Number(nr.into()), 1),
                kind: Kind::Exact,
                band: Band::Between(expected.into(), expected.into()),
            });
        }
    }
    rows
}

/// The counters per CPU with 224 pairs, over the published 300 s.
pub(super) fn counters(done: &Done, file: &Published) -> (Vec<ReproductionRow>, Vec<Claim>) {
    let point = Point::new("netperf", "TCP_RR", HIGHEST, "thread");
    let (mut rows, mut claims) = (Vec::new(), Vec::new());
    let [Some(vanilla), Some(patched)] = [VANILLA, PATCHED].map(|profile| done.of("", &point, profile)) else {
        return (rows, claims);
    };
    let table = file.root().get("counters_224").and_then(Item::as_table);
    let per_cpu = |count: u64, run: &Measured| {
        (u128::from(count) * u128::from(COUNTED_FOR.0) / u128::from(run.length.0.max(1)) / u128::from(run.cpus)) as u64
    };
    type Counter = fn(&SisStats) -> u64;
    let counters: [(&str, Counter); 4] = [
        ("sis_search", |sis| sis.sis_search),
        ("sis_domain_search", |sis| sis.sis_domain_search),
        ("sis_scanned", |sis| sis.sis_scanned),
        ("sis_failed", |sis| sis.sis_failed),
    ];
    for (key, counter) in counters {
        for (index, (side, runs)) in [("vanilla", vanilla), ("patched", patched)].into_iter().enumerate() {
            let mut values: Vec<u64> = runs.iter().map(|run| per_cpu(counter(&run.sis), run)).collect();
            values.sort_unstable();
            let number = |value: u64| Quantity::Number(value.into());
            let expected = table.and_then(|table| table.get(key)?.as_array()?.get(index)?.as_integer());
            let simulated = Simulated {
                median: number(values[values.len() / 2]),
                lo: number(values[0]),
                hi: number(values[values.len() - 1]),
                runs: values.len() as u32,
            };
            rows.push(ReproductionRow {
                id: format!("counters_224.{key}.{side}"),
                unit: "per CPU".into(),
                published: expected.and_then(|value| u64::try_from(value).ok()).map_or(Quantity::Unknown, number),
                simulated,
                kind: if (key, side) == ("sis_search", "vanilla") { Kind::Calibrated } else { Kind::Predicted },
                band: Band::NotJudged,
            });
        }
    }
    for (side, runs, key) in [("vanilla", vanilla, "netperf_TCP_RR_224_threads_lat_p99_us"), ("patched", patched, "")] {
        rows.push(ReproductionRow {
            unit: "us".into(),
            ..shown(
                format!("latency.{}.p99.{side}", point.id()),
                published(file.root(), key),
                spread(runs.iter().map(|run| run.p99_us as i64 * 1000).collect()),
            )
        });
    }
    let both = || vanilla.iter().zip(patched);
    let less = |of: fn(&Measured) -> u64| both().map(|(a, b)| change(Measure::Rate(""), of(a), of(b))).collect::<Vec<i64>>();
    rows.push(ReproductionRow {
        band: percent_band(-100, -80),
        ..shown(
            "counters_224.sis_scanned.change".into(),
            Quantity::Number(Decimal::thousandths(-87_900)),
            spread(less(|run| run.sis.sis_scanned)),
        )
    });
    let contention = table.map_or(Quantity::Unknown, |table| published(table, "rq_lock_contention_change_pct"));
    rows.push(shown("counters_224.rq_lock_contention.change".into(), contention, spread(less(|run| run.handovers))));
    claims.push(Claim {
        id: "nr_idle_scan is 0 with 224 pairs in the patched run".into(),
        holds: patched.iter().all(|run| run.nr_idle_scan == 0),
        value: patched.iter().map(|run| u64::from(run.nr_idle_scan)).max().map(Decimal::from),
    });
    (rows, claims)
}

/// Of all values the share that lies in classes from `lo` to below `hi`, in thousandths of a percent.
fn share(histogram: &Log2Histogram, lo: u64, hi: u64) -> i64 {
    let within: u64 = histogram.buckets().filter(|row| (lo..hi).contains(&row.0)).map(|row| row.1).sum();
    (u128::from(within) * 100_000).checked_div(u128::from(histogram.count())).unwrap_or(0) as i64
}

/// How long searches took with 224 pairs before the patch.
pub(super) fn histogram(done: &Done, file: &Published) -> Vec<ReproductionRow> {
    let point = Point::new("netperf", "TCP_RR", HIGHEST, "thread");
    let Some(runs) = done.of("", &point, VANILLA) else { return Vec::new() };
    let pairs: Vec<(u64, u64)> = file
        .root()
        .get("select_idle_cpu_us")
        .and_then(Item::as_array)
        .into_iter()
        .flatten()
        .filter_map(|pair| {
            let pair = pair.as_array()?;
            let number = |index: usize| u64::try_from(pair.get(index)?.as_integer()?).ok();
            Some((number(0)?, number(1)?))
        })
        .collect();
    let all: u64 = pairs.iter().map(|pair| pair.1).sum();
    let classes = pairs.iter().map(|&(lo, count)| {
        let hi = if lo == 0 { 1 } else { 2 * lo };
        let expected = (u128::from(count) * 100_000).checked_div(u128::from(all)).unwrap_or(0) as i64;
        let values = runs.iter().map(|run| share(&run.times, lo, hi)).collect();
        shown(format!("select_idle_cpu_us.{lo}"), thousandths(expected), spread(values))
    });
    let mut rows: Vec<ReproductionRow> = classes.collect();
    let medians = runs.iter().filter_map(|run| run.times.median()).map(|median| median as i64 * 1000).collect();
    let body = runs.iter().map(|run| share(&run.times, 8, 128)).collect();
    let expected = |lo: u64, hi: u64| pairs.iter().filter(|pair| (lo..hi).contains(&pair.0)).map(|pair| pair.1).sum::<u64>();
    rows.push(ReproductionRow {
        unit: "us".into(),
        band: Band::Between(16.into(), 64.into()),
        ..shown("select_idle_cpu_us.median_class".into(), Quantity::Number(32.into()), spread(medians))
    });
    let published_body =
        Decimal::thousandths((u128::from(expected(8, 128)) * 100_000).checked_div(u128::from(all)).unwrap_or(0) as i64);
    rows.push(ReproductionRow {
        band: percent_band(60, 100),
        ..shown("select_idle_cpu_us.8_to_128".into(), Quantity::Number(published_body), spread(body))
    });
    rows
}

/// The success of schbench's searches falls between four and five message threads.
pub(super) fn schbench_falls(done: &Done) -> Option<Claim> {
    let success = |load: u64| {
        let runs = done.of("", &Point::new("schbench", "normal", load, "mthread"), VANILLA)?;
        let mut rates: Vec<u64> = runs.iter().map(|run| run.sis.success_rate()).collect();
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied()
    };
    let (four, five) = (success(4)?, success(5)?);
    Some(Claim {
        id: "schbench: the success rate falls by more than 20 points from 4 to 5 message threads".into(),
        holds: four > five + 20_000,
        value: Some(Decimal::thousandths(five as i64 - four as i64)),
    })
}

impl Done {
    /// The runs of a point, if all of them were made.
    pub(super) fn of(&self, prefix: &str, point: &Point, profile: &str) -> Option<&[Measured]> {
        let is = |case: &Case| case.reading.prefix() == prefix && case.point == *point && case.profile == profile;
        self.0.iter().find(|(case, _)| is(case)).map(|(_, runs)| &runs[..]).filter(|runs| !runs.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sis_util::QUICK_POINTS;

    fn file() -> Published {
        Published::open("sis-util.toml", include_str!("../published/sis-util.toml")).unwrap()
    }

    #[test]
    fn better_is_more_of_a_rate_and_less_of_a_latency() {
        assert_eq!(change(Measure::Rate(""), 200, 500), 150_000);
        assert_eq!(change(Measure::P90(""), 200, 150), 25_000);
        assert_eq!(change(Measure::P90(""), 200, 250), -25_000);
        assert_eq!(change(Measure::Rate(""), 0, 5), 0);
    }

    #[test]
    fn deviations_are_those_of_samples() {
        // Mean 100, squares 100 + 0 + 100 over 2: 10 %.
        assert_eq!(deviation(&[90, 100, 110]), thousandths(10_000));
        assert_eq!(deviation(&[100]), Quantity::Unknown);
    }

    #[test]
    fn shares_of_a_histogram() {
        let mut times = Log2Histogram::new();
        [1, 9, 20, 127, 128].into_iter().for_each(|us| times.add(us));
        assert_eq!(share(&times, 8, 128), 60_000);
        assert_eq!(share(&Log2Histogram::new(), 8, 128), 0);
    }

    /// All 22 numbers that were published, exactly.
    #[test]
    fn the_scan_table_is_exact() {
        let rows = scan_table(&file());
        assert_eq!(rows.len(), 22);
        assert!(rows.iter().all(|row| row.within() == Some(true)), "{rows:?}");
    }

    /// Each published row is a benchmark that can be built, and the quick ones are among them.
    #[test]
    fn every_published_row_can_be_run() {
        let file = file();
        let [compared, efficient] =
            ["compare", "efficiency"].map(|name| file.rows(name).filter_map(point_of).collect::<Vec<_>>());
        assert_eq!((compared.len(), efficient.len()), (44, 64));
        for point in compared.iter().chain(&efficient) {
            assert!(!point.tasks().unwrap().tasks.is_empty(), "{point:?}");
        }
        for (bench, case, load, unit) in QUICK_POINTS {
            let point = Point::new(bench, case, load, unit);
            assert!(compared.contains(&point) && efficient.contains(&point), "{point:?}");
        }
    }
}
