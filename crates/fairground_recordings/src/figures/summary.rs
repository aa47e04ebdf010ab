//! From slices and waits to the named figures.

use super::figure::{Figure, FigureMap};
use super::task::WorkloadTask;
use fairground_metrics::Decimal;
use fairground_metrics::percentile::percentile;
use fairground_stdx::{Ns, TaskId};
use std::collections::BTreeMap;

/// Four digits behind the point.
const FOUR_DIGITS: u128 = 10_000;
/// Run times are shifted right until their sum has no more bits than this, so that squares fit.
const CV_BITS: u32 = 40;

fn sorted<'a>(values: impl Iterator<Item = &'a Ns>) -> Vec<Ns> {
    let mut values: Vec<Ns> = values.copied().collect();
    values.sort_unstable();
    values
}

/// All figures under `tasks.` and `all.`.
pub(super) fn summary(tasks: &[(TaskId, WorkloadTask)], switches: u64) -> FigureMap {
    let mut figures = BTreeMap::new();
    tasks.iter().for_each(|(_, task)| one_task(task, &mut figures));
    let sum = |of: fn(&WorkloadTask) -> u64| tasks.iter().map(|(_, task)| of(task)).sum::<u64>().into();
    let mut all = |name: &str, figure: Figure| figures.insert(format!("all.{name}"), figure);
    all("tasks", (tasks.len() as u64).into());
    all("runtime_ns", sum(|task| task.runtime().0));
    all("switches", switches.into());
    all("migrations", sum(|task| task.migrations));
    all("preemptions", sum(|task| task.preemptions));
    all("max_wait_ns", tasks.iter().map(|(_, task)| task.max_wait).max().unwrap_or_default().into());
    if let Some(cv) = runtime_cv(&tasks.iter().map(|(_, task)| task.runtime()).collect::<Vec<_>>()) {
        all("runtime_cv", cv.into());
    }
    let slices = sorted(tasks.iter().flat_map(|(_, task)| &task.slices));
    let waits = sorted(tasks.iter().flat_map(|(_, task)| &task.wakeup_waits));
    spread("slice_ns", &slices, &[5, 25, 50, 75, 95], &mut figures);
    spread("wake_to_run_ns", &waits, &[50, 90, 99], &mut figures);
    figures
}

/// The share of the run time that each group's tasks got, rounded to four digits; nothing if nobody ran.
pub(super) fn group_shares(tasks: &[(TaskId, WorkloadTask)], groups: &[(TaskId, String)], figures: &mut FigureMap) {
    let mut runtimes: BTreeMap<&str, u128> = BTreeMap::new();
    let mut total: u128 = 0;
    for (task, row) in tasks {
        let runtime = u128::from(row.runtime().0);
        total += runtime;
        if let Some((_, group)) = groups.iter().find(|member| member.0 == *task) {
            *runtimes.entry(group).or_default() += runtime;
        }
    }
    for (group, runtime) in runtimes {
        let rounded = (runtime * FOUR_DIGITS + total / 2).checked_div(total).and_then(|share| u64::try_from(share).ok());
        if let Some(share) = rounded {
            figures.insert(format!("group_share.{group}"), Decimal::ratio(share, FOUR_DIGITS as u64).into());
        }
    }
}

fn one_task(task: &WorkloadTask, figures: &mut FigureMap) {
    let slices = sorted(task.slices.iter());
    let mut one = |name: &str, figure| figures.insert(format!("tasks.{}.{name}", task.name), figure);
    one("runtime_ns", task.runtime().into());
    one("slices", (slices.len() as u64).into());
    one("slice_median_ns", percentile(&slices, 50).unwrap_or_default().into());
    one("slice_max_ns", slices.last().copied().unwrap_or_default().into());
    one("max_wait_ns", task.max_wait.into());
    one("migrations", task.migrations.into());
    one("cpus", Figure::Cpus(task.cpus));
}

fn spread(of: &str, sorted: &[Ns], percents: &[usize], figures: &mut FigureMap) {
    figures.insert(format!("all.{of}.n"), (sorted.len() as u64).into());
    for &percent in percents {
        if let Some(value) = percentile(sorted, percent) {
            figures.insert(format!("all.{of}.p{percent}"), value.into());
        }
    }
    if let Some(&max) = sorted.last() {
        figures.insert(format!("all.{of}.max"), max.into());
    }
}

/// `sqrt(n * sum(x^2) - sum(x)^2) / sum(x)`, rounded to four digits; `None` if nothing ran.
fn runtime_cv(runtimes: &[Ns]) -> Option<Decimal> {
    let total: u128 = runtimes.iter().map(|runtime| u128::from(runtime.0)).sum();
    let shift = (u128::BITS - total.leading_zeros()).saturating_sub(CV_BITS);
    let scaled = || runtimes.iter().map(|runtime| u128::from(runtime.0 >> shift));
    let (sum, squares) = (scaled().sum::<u128>(), scaled().map(|x| x * x).sum::<u128>());
    if sum == 0 {
        return None;
    }
    let spread = runtimes.len() as u128 * squares - sum * sum;
    // One digit (a bit) more than needed, then rounded: floor(sqrt(floor(x))) = floor(sqrt(x)).
    let doubled = (spread * (2 * FOUR_DIGITS) * (2 * FOUR_DIGITS) / (sum * sum)).isqrt();
    let rounded = u64::try_from(doubled.div_ceil(2)).ok()?;
    Some(Decimal::ratio(rounded, FOUR_DIGITS as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_cv_rounds_to_four_digits() {
        let cv = |list: &[u64]| runtime_cv(&list.iter().map(|&x| Ns(x)).collect::<Vec<_>>()).map(|cv| cv.to_string());
        assert_eq!(cv(&[]), None);
        assert_eq!(cv(&[0, 0]), None);
        assert_eq!(cv(&[5, 5, 5]).unwrap(), "0");
        assert_eq!(cv(&[1, 3]).unwrap(), "0.5");
        assert_eq!(cv(&[1_324_569_720, 1_399_154_801, 1_276_125_248]).unwrap(), "0.038");
        assert_eq!(cv(&[u64::MAX / 4, u64::MAX / 4 * 3]).unwrap(), "0.5");
    }
}
