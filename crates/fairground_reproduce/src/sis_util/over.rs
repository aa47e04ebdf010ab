//! The same benchmark over a kernel tree that has the patch, which is a switch there: SIS_PROP limits searches, or SIS_UTIL does.

use super::case::{Lengths, MAIN, Measure, Point};
use super::measured::{Measured, run_begun};
use super::rows::{COUNTED_FOR, HIGHEST, INDICATORS, change, point_of, published};
use crate::over::{ATOMIC, Sides, as_built, begin};
use crate::published::Published;
use fairground_metrics::Decimal;
use fairground_model::Op;
use fairground_model::features::Feat;
use fairground_report::{Given, Quantity, SideRow};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::Ns;
use toml_edit::Item;

/// One load at which the patch changes nothing, and the highest, which it made three times as fast.
const LOADS: [u64; 2] = [84, HIGHEST];
/// Short, since a run over a tree has millions of searches over 112 CPUs each second.
const LENGTHS: Lengths = Lengths::fixed(Ns::from_ms(250), Ns::from_ms(150));
/// What limits a search, by the names of the published sides.
const SWITCHES: [(&str, [&str; 2]); 2] = [("vanilla", ["NO_SIS_UTIL", "SIS_PROP"]), ("patched", ["SIS_UTIL", "NO_SIS_PROP"])];
/// Why a tree has none of the published counters of searches.
const NOT_COUNTED: &str = "no tree has the patch that counts searches, and our tables do not search where a tree decides";

pub(crate) const OVER: Sides = Sides {
    lacks,
    rows,
    file: ("sis-util.toml", include_str!("../published/sis-util.toml")),
    notes: &[
        "One seed; 250 ms of warm-up, in which pairs begin 1 ms apart, then 150 ms that count. vanilla is NO_SIS_UTIL SIS_PROP, patched SIS_UTIL NO_SIS_PROP, of one kernel.",
        "Looks of a tree are those at other CPUs' run queues, ours those at the own one too.",
    ],
};

fn lacks(profile: &Profile) -> Option<String> {
    let without = [Feat::SIS_UTIL, Feat::SIS_PROP].into_iter().find(|&feat| !profile.has_feature(feat))?;
    Some(format!("{} has no feature {}, and v6.0 to v6.6 have both limits of a search", profile.base, without.row().name))
}

fn measure(point: &Point, profile: &Profile, switches: [&str; 2]) -> Result<Measured, Error> {
    let profile = switches.into_iter().try_fold(profile.clone(), Profile::with_feature);
    let profile = profile.map_err(|error| Error::one("--over", error.message, error.hint))?;
    let mut machine = MAIN.machine()?;
    as_built(&mut machine);
    let (tasks, duration) = (point.tasks()?, LENGTHS.warmup + LENGTHS.most);
    let setup = Setup { machine, profile, tasks, seed: 1, duration, paranoid: false };
    run_begun(setup, point.measure(), LENGTHS.warmup, begin)
}

/// Looks of searches at run queues: each is noted as one of these, whether its queue has changed since or not.
fn looks(run: &Measured) -> u64 {
    let [before, after] = &run.spent;
    after.ops[Op::ScanCpu as usize].count - before.ops[Op::ScanCpu as usize].count
}

/// A count as one per CPU in the time of the published ones.
fn per_cpu(count: u64, run: &Measured) -> Decimal {
    let all = u128::from(count) * u128::from(COUNTED_FOR.0) / u128::from(run.length.0);
    Decimal::from(u64::try_from(all / u128::from(run.cpus)).unwrap_or(u64::MAX))
}

/// Thousandths of `part` for each of `whole`.
fn ratio(part: u64, whole: u64) -> Decimal {
    let thousandths = (u128::from(part) * 1000).checked_div(u128::from(whole)).unwrap_or(0);
    Decimal::thousandths(i64::try_from(thousandths).unwrap_or(i64::MAX))
}

fn rows(profile: &Profile, file: &Published, control: Control<'_>) -> Result<(Vec<SideRow>, Vec<u128>), Error> {
    let is_tree = profile.tree().is_some();
    let ours = |value: Decimal, why: &'static str| if is_tree { Given::Nothing(why) } else { Given::Number(value) };
    let (mut rows, mut digests) = (Vec::new(), Vec::new());
    let mut push = |id: String, unit, published, given| rows.push(SideRow { id, unit, published, given });
    for load in LOADS {
        let point = Point::new("netperf", "TCP_RR", load, "thread");
        let mut rates = Vec::new();
        for (index, (side, switches)) in SWITCHES.into_iter().enumerate() {
            if control.stopped() {
                return Ok((rows, digests));
            }
            let run = measure(&point, profile, switches)?;
            digests.push(run.digest);
            rates.push(run.value);
            let of = |what: &str| format!("{what}.{}.{side}", point.id());
            let told = |key: &str, is: bool| if is { published(file.root(), key) } else { Quantity::Unknown };
            let counted = |key: &str| {
                let counters = file.root().get("counters_224").and_then(Item::as_table).filter(|_| load == HIGHEST);
                let value = counters.and_then(|table| table.get(key)?.as_array()?.get(index)?.as_integer());
                value.map_or(Quantity::Unknown, |value| Quantity::Number(Decimal::thousandths(value * 1000)))
            };
            let number = Given::Number;
            push(of("rate"), "1/s", Quantity::Unknown, number(Decimal::from(run.value / 1000)));
            let p99 = told("netperf_TCP_RR_224_threads_lat_p99_us", (side, load) == ("vanilla", HIGHEST));
            push(of("latency.p99"), "us", p99, number(run.p99_us.into()));
            let [before, after] = &run.spent;
            let (idle, all) = (after.idle.0 - before.idle.0, after.all.0 - before.all.0);
            push(of("busy"), "%", Quantity::Unknown, number(ratio((all - idle) * 100, all)));
            push(of("looks"), "per CPU in 300 s", counted("sis_scanned"), number(per_cpu(looks(&run), &run)));
            push(of("looks_per_wakeup"), "looks", Quantity::Unknown, number(ratio(looks(&run), run.wakeups)));
            let sis =
                [("sis_search", run.sis.sis_search), ("sis_scanned", run.sis.sis_scanned), ("sis_failed", run.sis.sis_failed)];
            for (key, count) in sis {
                push(of(key), "per CPU in 300 s", counted(key), ours(per_cpu(count, &run), NOT_COUNTED));
            }
            push(
                of("looks_per_search"),
                "looks",
                Quantity::Unknown,
                ours(ratio(run.sis.sis_scanned, run.sis.sis_search), NOT_COUNTED),
            );
            let efficiency = file.rows("efficiency").find(|row| point_of(row).as_ref() == Some(&point));
            for (key, indicator) in INDICATORS {
                let told = efficiency.filter(|_| side == "vanilla").map_or(Quantity::Unknown, |row| published(row, key));
                let value = Decimal::thousandths(i64::try_from(indicator(&run.sis)).unwrap_or(i64::MAX));
                push(of(key), "%", told, ours(value, NOT_COUNTED));
            }
            push(of("lock_handovers"), "per CPU in 300 s", Quantity::Unknown, ours(per_cpu(run.handovers, &run), ATOMIC));
            push(
                of("search.median"),
                "us",
                Quantity::Unknown,
                match run.times.median() {
                    Some(median) => ours(median.into(), ATOMIC),
                    None => Given::Nothing(if is_tree { ATOMIC } else { "no search came to the cache domain" }),
                },
            );
        }
        let row = file.rows("compare").find(|row| point_of(row).as_ref() == Some(&point));
        let told = row.map_or(Quantity::Unknown, |row| published(row, "change_pct"));
        if let [vanilla, patched] = rates[..] {
            let change = Decimal::thousandths(change(Measure::Rate(""), vanilla, patched));
            push(format!("change.{}", point.id()), "%", told, Given::Number(change));
        }
    }
    Ok((rows, digests))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both limits of a search are features of v6.0 to v6.6 only.
    #[test]
    fn a_kernel_without_both_limits_is_refused_by_the_one_that_it_lacks() {
        let told = |kernel: &str| lacks(&Profile::parse(kernel).unwrap());
        assert_eq!(told("v6.1"), None);
        assert!(told("v6.12").unwrap().contains("v6.12 has no feature SIS_PROP"), "{:?}", told("v6.12"));
        assert!(told("v5.19").unwrap().contains("has no feature SIS_UTIL"), "{:?}", told("v5.19"));
    }
}
