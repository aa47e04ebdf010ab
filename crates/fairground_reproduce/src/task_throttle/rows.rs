//! The published histogram beside ours, and what our calls are made of.

use super::case::{Case, Measured, PUBLISHED, Prices};
use super::{Done, HZ, INLINE_QUOTAS_MS};
use crate::published::Published;
use fairground_metrics::Decimal;
use fairground_model::Distributed;
use fairground_report::searches::bpftrace_histogram;
use fairground_report::table::number;
use fairground_report::units::fixed;
use fairground_report::{Band, Cell, Claim, Kind, Quantity, ReproductionRow, Simulated, Table, columns};
use fairground_stdx::Log2Histogram;
use toml_edit::Item;

/// Buckets of the published histogram: from which duration on, ns, and how many calls.
fn published_buckets(file: &Published) -> Vec<(u64, u64)> {
    let rows = file.root().get("distribute_cfs_runtime_ns").and_then(Item::as_array);
    let number = |value: &toml_edit::Value| value.as_integer().and_then(|value| u64::try_from(value).ok());
    let row = |row: &toml_edit::Value| {
        let row = row.as_array()?;
        Some((number(row.get(0)?)?, number(row.get(2)?)?))
    };
    rows.into_iter().flat_map(|rows| rows.iter()).filter_map(row).collect()
}

/// Shorter calls are of another kind, ns.
const SMALL: u64 = 1 << 16;
/// In what most calls lie, ns.
const MOST: std::ops::Range<u64> = 500_000..4_000_000;
/// More queues than these are nearly all of 384.
const NEARLY_ALL: u32 = 300;

fn ms(ns: u64) -> Decimal {
    Decimal::ratio(ns / 1000, 1000)
}

fn between(lo: &str, hi: &str) -> Band {
    let decimal = |text| Decimal::parse(text).expect("invariant: bounds are decimals");
    Band::Between(decimal(lo), decimal(hi))
}

/// Smallest, middle and largest of some numbers.
fn spread(values: impl Iterator<Item = u64>) -> Option<[u64; 3]> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    Some([*values.first()?, values[values.len() / 2], *values.last()?])
}

fn percent(part: u64, of: u64) -> Decimal {
    Decimal::ratio((part * 1000).checked_div(of).unwrap_or(0), 10)
}

/// Collects rows and claims.
#[derive(Default)]
struct Parts {
    rows: Vec<ReproductionRow>,
    claims: Vec<Claim>,
}

impl Parts {
    fn row(&mut self, id: String, unit: &str, published: Quantity, ours: Simulated, prices: Prices, band: Band) {
        let kind = if prices == Prices::Calibrated { Kind::Calibrated } else { Kind::Predicted };
        self.rows.push(ReproductionRow { id, unit: unit.into(), published, simulated: ours, kind, band });
    }
    fn claim(&mut self, id: String, holds: bool) {
        self.claims.push(Claim { id, holds, value: None });
    }
}

/// All rows and claims.
pub(super) fn all(done: &Done, file: &Published) -> (Vec<ReproductionRow>, Vec<Claim>) {
    let mut parts = Parts::default();
    let buckets = published_buckets(file);
    for prices in Prices::ALL {
        for hz in HZ {
            let stages: Vec<&(Case, Measured)> = done.stages(hz, prices, true).collect();
            if !stages.is_empty() {
                parts.histogram(&format!("{}.hz{hz}", prices.name()), prices, &buckets, &stages);
                parts.quotas(&format!("{}.hz{hz}", prices.name()), prices, &stages);
            }
        }
        for (case, run) in done.stages(HZ[0], prices, false) {
            parts.inline(case, run);
        }
    }
    (parts.rows, parts.claims)
}

impl Parts {
    fn histogram(&mut self, id: &str, prices: Prices, buckets: &[(u64, u64)], stages: &[&(Case, Measured)]) {
        let calls: Vec<&Distributed> = stages.iter().flat_map(|stage| &stage.1.calls).collect();
        let published: u64 = buckets.iter().map(|row| row.1).sum();
        let most: u64 = buckets.iter().filter(|row| MOST.contains(&row.0)).map(|row| row.1).sum();
        let calibrated = prices == Prices::Calibrated;
        let longest = calls.iter().map(|call| call.took.0).max().unwrap_or(0);
        let whole = |value: Decimal| Simulated::same(Quantity::Number(value), 1);
        let band = if calibrated { between("0", "4") } else { between("0", "8") };
        self.row(format!("{id}.longest"), "ms", Quantity::Number(4.into()), whole(ms(longest)), prices, band);
        if let Some([lo, median, hi]) = spread(calls.iter().filter(|call| !call.slack).map(|call| call.took.0)) {
            let ours = Simulated { median: ms(median).into(), lo: ms(lo).into(), hi: ms(hi).into(), runs: 1 };
            let band = if calibrated { Band::NotJudged } else { between("0.333", "6") };
            self.row(format!("{id}.period_timer.median"), "ms", Quantity::Number(Decimal::ratio(15, 10)), ours, prices, band);
        }
        let ours = calls.iter().filter(|call| MOST.contains(&call.took.0)).count() as u64;
        let band = if calibrated { between("60", "100") } else { Band::NotJudged };
        let share = percent(ours, calls.len() as u64);
        self.row(format!("{id}.half_to_4ms"), "%", percent(most, published).into(), whole(share), prices, band);
        let small: u64 = buckets.iter().filter(|row| row.0 < SMALL).map(|row| row.1).sum();
        for slack in [false, true] {
            let ours = calls.iter().filter(|call| call.took.0 < SMALL && call.slack == slack).count() as u64;
            let caller = caller(slack);
            let published = if slack { Quantity::Unknown } else { percent(small, published).into() };
            let share = percent(ours, calls.len() as u64);
            self.row(format!("{id}.below_64us.{caller}"), "%", published, whole(share), prices, Band::NotJudged);
        }
    }

    /// What each of the two groups used of its quota, stage by stage.
    fn quotas(&mut self, id: &str, prices: Prices, stages: &[&(Case, Measured)]) {
        for (case, run) in stages {
            let allowed = |periods: u64| case.quota_ms * 1_000_000 * periods;
            let share = |used: &super::case::Used| (used.cpu_time.0 * 10_000).checked_div(allowed(used.nr_periods)).unwrap_or(0);
            let Some([lo, _, hi]) = spread(run.groups.iter().map(share)) else { continue };
            let hundredths = |value: u64| Quantity::Number(Decimal::ratio(value, 100));
            let median = hundredths(lo.midpoint(hi));
            let ours = Simulated { median, lo: hundredths(lo), hi: hundredths(hi), runs: 2 };
            let name = format!("{id}.quota_{}ms.used", case.quota_ms);
            self.row(name, "%", Quantity::Number(100.into()), ours, prices, between("99", "101"));
            let always = run.groups.iter().all(|used| used.nr_periods == used.nr_throttled);
            self.claim(format!("{id}.quota_{}ms: somebody is throttled in every period", case.quota_ms), always);
        }
    }

    /// The timer releases all queues itself, with interrupts off.
    fn inline(&mut self, case: &Case, run: &Measured) {
        let Some([lo, median, hi]) = spread(run.calls.iter().filter(|call| !call.slack).map(|call| call.took.0)) else { return };
        let ours = Simulated { median: ms(median).into(), lo: ms(lo).into(), hi: ms(hi).into(), runs: 1 };
        let (prices, of_all) = (case.prices, case.quota_ms == INLINE_QUOTAS_MS[1]);
        let band = if of_all && prices == Prices::Calibrated { between("60", "80") } else { Band::NotJudged };
        let id = format!("{}.hz{}.inline.quota_{}ms.period_timer.median", prices.name(), case.hz, case.quota_ms);
        self.row(id, "ms", Quantity::Number(100.into()), ours, prices, band);
    }
}

const fn caller(slack: bool) -> &'static str {
    if slack { "slack_timer" } else { "period_timer" }
}

/// The histograms, and what calls are made of.
pub(super) fn tables(done: &Done) -> Vec<Table> {
    let mut tables = Vec::new();
    for prices in Prices::ALL {
        for hz in HZ {
            let mut histogram = Log2Histogram::new();
            let calls = done.stages(hz, prices, true).flat_map(|stage| &stage.1.calls);
            calls.for_each(|call| histogram.add(call.took.0));
            if histogram.count() > 0 {
                let name = format!("distribute_cfs_runtime_ns, {} prices, HZ {hz}", prices.name());
                tables.push(bpftrace_histogram(&name, &histogram));
            }
        }
    }
    tables.push(decomposition(done));
    tables
}

/// By prices, HZ, stage, caller and pass: how many calls, of how many queues, out of how much, for how long.
fn decomposition(done: &Done) -> Table {
    let columns = columns![
        left "prices", right "HZ" "hz", left "released", right "quota ms" "quota_ms", left "caller", right "pass",
        right "calls", right "visits", right "from" "visits_min", right "to" "visits_max",
        right "nearly all %" "nearly_all_percent", right "pool ms before" "pool_before_ms",
        right "after" "pool_after_ms", right "took ms" "took_ms", right "longest" "took_max_ms",
    ];
    let mut table = Table::new("calls", "Calls of distribute_cfs_runtime(): medians", columns);
    for (case, run) in &done.0 {
        let mut kinds: Vec<(bool, u32)> = run.calls.iter().map(|call| (call.slack, call.pass)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let calls: Vec<&Distributed> = run.calls.iter().filter(|call| (call.slack, call.pass) == kind).collect();
            let of = |value: fn(&Distributed) -> u64| spread(calls.iter().map(|call| value(call))).unwrap_or_default();
            let milli = |ns: u64| Cell::new(fixed(ns / 1000, 1000, 3), number(ms(ns)));
            let [least, visits, most] = of(|call| u64::from(call.visits));
            let nearly_all = calls.iter().filter(|call| call.visits >= NEARLY_ALL).count() as u64;
            let nearly_all = match case.tree == PUBLISHED {
                true => Cell::new(
                    percent(nearly_all, calls.len() as u64).to_string(),
                    number(percent(nearly_all, calls.len() as u64)),
                ),
                false => "".into(),
            };
            table.push(vec![
                case.prices.name().into(),
                u64::from(case.hz).into(),
                if case.on_its_cpu { "by each CPU" } else { "by the timer" }.into(),
                case.quota_ms.into(),
                caller(kind.0).into(),
                u64::from(kind.1).into(),
                (calls.len() as u64).into(),
                visits.into(),
                least.into(),
                most.into(),
                nearly_all,
                milli(of(|call| call.before.0)[1]),
                milli(of(|call| call.after.0)[1]),
                milli(of(|call| call.took.0)[1]),
                milli(of(|call| call.took.0)[2]),
            ]);
        }
    }
    table
}
