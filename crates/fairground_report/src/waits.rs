//! What waits of a run were like: percentiles, histograms, queues, who ran meanwhile.

use crate::columns;
use crate::table::{Cell, Table};
use crate::timehist::{LatencyOrder, in_order, name_of};
use crate::units::{fixed, format_ns};
use fairground_metrics::Histogram;
use fairground_metrics::timehist::{Antagonist, Contention, DEPTHS, LatencyTable};
use fairground_stdx::Ns;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Percentiles of delays, those after wake-ups and those after preemptions apart.
pub fn percentiles_table(latency: &LatencyTable, order: LatencyOrder) -> Table {
    let columns = columns![
        left "task", left "after", right "delays", right "p50" "p50_ns", spare right "p90" "p90_ns", right "p99" "p99_ns",
        spare right "p99.9" "p99_9_ns", right "max" "max_ns", right "sum" "sum_ns",
    ];
    let mut table = Table::new("percentiles", "Delays after wake-ups and after preemptions", columns);
    table.grows("rows", &[]);
    for row in in_order(latency, order) {
        for (after, delays) in [("wake-up", &row.after_wakeup), ("preemption", &row.after_preemption)] {
            if delays.is_empty() {
                continue;
            }
            let [p50, p90, p99, p999] = [500, 900, 990, 999].map(|permille| Cell::ns(Ns(delays.quantile(permille))));
            let sum = Ns(u64::try_from(delays.sum()).unwrap_or(u64::MAX));
            let (count, max) = (Cell::count(delays.len()), Cell::ns(Ns(delays.max())));
            table.push(vec![name_of(row).into(), after.into(), count, p50, p90, p99, p999, max, Cell::ns(sum)]);
        }
    }
    table
}

/// Columns of the longest bar of a histogram.
const BAR: u64 = 30;

/// How many delays there are of each length, in powers of two of a nanosecond.
pub fn histogram_table(latency: &LatencyTable) -> Table {
    let columns = columns![
        right "from" "from_ns", right "to" "to_ns", right "wake-ups" "after_wakeup", right "preemptions" "after_preemption",
        left "all" "bar",
    ];
    let mut table = Table::new("histogram", "Delays by length, after wake-ups and after preemptions", columns);
    let (mut woken, mut preempted) = (Histogram::new(), Histogram::new());
    for row in &latency.rows {
        woken.merge(&row.after_wakeup);
        preempted.merge(&row.after_preemption);
    }
    let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for (side, delays) in [&woken, &preempted].into_iter().enumerate() {
        delays.magnitudes().into_iter().for_each(|(exponent, count)| counts.entry(exponent).or_default()[side] += count);
    }
    let most = counts.values().map(|[a, b]| a + b).max().unwrap_or_default();
    let (first, last) = (counts.keys().next().copied().unwrap_or(1), counts.keys().next_back().copied().unwrap_or(0));
    for exponent in first..=last {
        let [woken, preempted] = counts.get(&exponent).copied().unwrap_or_default();
        let length = ((woken + preempted) * BAR).div_ceil(most.max(1));
        let bar = "#".repeat(usize::try_from(length).unwrap_or_default());
        let edge = |exponent: u32| Cell::ns(Ns(if exponent == 0 { 0 } else { 1_u64.checked_shl(exponent).unwrap_or(u64::MAX) }));
        table.push(vec![
            edge(exponent),
            edge(exponent + 1),
            Cell::count(woken),
            Cell::count(preempted),
            Cell::new(bar, woken + preempted),
        ]);
    }
    table
}

/// Parts of a whole in hundredths of a percent.
fn share(part: Ns, whole: Ns) -> Cell {
    Cell::percent(u64::try_from(u128::from(part.0) * 10_000 / u128::from(whole.0.max(1))).unwrap_or_default())
}

/// How many tasks were runnable on each CPU, and how long some were queued while another CPU idled.
pub fn queues_table(contention: &Contention) -> Table {
    let columns = columns![
        right "cpu", right "mean depth" "depth_mean", right "max" "depth_max", right "idle %" "idle_pct", right "1 %" "depth_1_pct",
        spare right "2 %" "depth_2_pct", spare right "3-4 %" "depth_3_4_pct", spare right "5-7 %" "depth_5_7_pct",
        spare right "8+ %" "depth_8_pct", right "queued" "queued_ns", right "beside idle" "queued_while_idle_ns",
    ];
    let mut table = Table::new("queues", "Runnable tasks of each CPU, the running one included", columns);
    table.grows("CPUs", &["queued_while_idle_ns", "queued_ns"]);
    for (cpu, row) in contention.queues() {
        let watched = row.watched();
        let of = |depths: std::ops::Range<usize>| share(Ns(row.depth[depths].iter().map(|time| time.0).sum()), watched);
        let mean = u64::try_from(row.sum_ns * 1000 / u128::from(watched.0.max(1))).unwrap_or(u64::MAX);
        table.push(vec![
            u64::from(cpu.get()).into(),
            Cell::fixed(mean, 1000, 2),
            (row.max as u64).into(),
            of(0..1),
            of(1..2),
            of(2..3),
            of(3..5),
            of(5..8),
            of(8..DEPTHS),
            Cell::ns(row.queued),
            Cell::ns(row.queued_while_idle),
        ]);
    }
    let both = contention.queued_while_idle();
    table.note(format!(
        "beside idle: some task waited behind another while another CPU idled: {} in all; which CPUs it may use is in no record",
        format_ns(both)
    ));
    table
}

/// Rows of antagonists of one task that are shown.
const ANTAGONISTS_SHOWN: usize = 5;
/// Tasks whose antagonists are shown.
const WAITERS_SHOWN: usize = 20;

/// Who had the CPU while a task waited there: the tasks that waited longest, and for each of them those that ran longest.
/// Tasks of one name are one row, or with `by_task` a row each.
pub fn antagonists_table(antagonists: &[Antagonist], left_out: Ns, by_task: bool, keep: impl Fn(&str, u32) -> bool) -> Table {
    let columns =
        columns![left "task", right "waited" "waited_ns", left "who ran" "ran", right "for" "time_ns", right "%" "share_pct"];
    let mut table = Table::new("antagonists", "Who ran while a task waited on that CPU", columns);
    table.grows("rows", &[]);
    let mut waiters: BTreeMap<String, BTreeMap<String, Ns>> = BTreeMap::new();
    let name =
        |info: &fairground_model::TaskInfo| if by_task { format!("{}:{}", info.name, info.pid) } else { info.name.clone() };
    for row in antagonists.iter().filter(|row| keep(&row.waiter.name, row.waiter.pid)) {
        let ran = row.ran.as_ref().map_or("(idle)".to_string(), name);
        *waiters.entry(name(&row.waiter)).or_default().entry(ran).or_default() += row.time;
    }
    let sum = |ran: &BTreeMap<String, Ns>| Ns(ran.values().map(|time| time.0).sum());
    let mut rows: Vec<(String, Ns, BTreeMap<String, Ns>)> = waiters.into_iter().map(|(who, ran)| (who, sum(&ran), ran)).collect();
    rows.sort_by_key(|row| Reverse(row.1));
    let further = rows.len().saturating_sub(WAITERS_SHOWN);
    for (waiter, waited, ran) in rows.into_iter().take(WAITERS_SHOWN) {
        let mut ran: Vec<(String, Ns)> = ran.into_iter().collect();
        ran.sort_by_key(|row| Reverse(row.1));
        for (who, time) in ran.into_iter().take(ANTAGONISTS_SHOWN) {
            table.push(vec![waiter.clone().into(), Cell::ns(waited), who.into(), Cell::ns(time), share(time, waited)]);
        }
    }
    if further > 0 {
        table.note(format!("{further} further tasks waited less; --task shows one"));
    }
    if left_out > Ns::ZERO {
        let seconds = fixed(left_out.0, 1_000_000_000, 3);
        table.note(format!(
            "{seconds} s of waits are not in it: queues of more than 256 waiting tasks, or more than a million pairs"
        ));
    }
    table
}
