//! `align-vruntime` (RFC of 2018): a task whose slice is over goes behind the last one of its queue.
//!
//! Two parts: hogs on one CPU, where the mail's worked cases and a reference model can be met to the nanosecond, and
//! the mail's own measurement, 36 processes on 12 CPUs.

mod one_cpu;
mod press;

use super::published::Published;
use super::runs::Runs;
use crate::experiment::{ReproduceOptions, Reproduced};
use fairground_metrics::Decimal;
use fairground_report::{Band, Claim, Kind, Quantity, Reproduction, ReproductionRow, Simulated};
use fairground_scenario::{Control, Error};

const STOCK: &str = "v4.20";
const OVERLAY: &str = "align-vruntime";
const ALIGNED: &str = "v4.20+align-vruntime";

/// What the experiment has given so far.
#[derive(Default)]
struct Parts {
    runs: Runs,
    rows: Vec<ReproductionRow>,
    claims: Vec<Claim>,
}

fn in_ms(ns: u64) -> Quantity {
    Quantity::Number(Decimal::ratio(ns, 1_000_000))
}

fn row(id: String, published: Quantity, simulated: Simulated, kind: Kind, band: Band) -> ReproductionRow {
    ReproductionRow { id, unit: "ms".into(), published, simulated, kind, band }
}

pub(super) fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let published = Published::open("align-vruntime.toml", include_str!("../published/align-vruntime.toml"))?;
    let mut parts = Parts::default();
    parts.worked_cases(published.root())?;
    parts.jitter_model()?;
    parts.other_jitters()?;
    parts.press(published.root(), options, control)?;
    let Parts { runs, rows, claims } = parts;
    let reproduction = Reproduction {
        experiment: "align-vruntime".into(),
        quick: options.quick,
        rows,
        claims,
        calibration: Vec::new(),
        tables: Vec::new(),
    };
    Ok(runs.reproduced(reproduction, &[&published], control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    /// The quick form, made once for all tests.
    fn quick() -> &'static Reproduction {
        static QUICK: OnceLock<Reproduction> = OnceLock::new();
        QUICK.get_or_init(|| run(&ReproduceOptions { quick: true, keep: None }, Control::none()).unwrap().reproduction)
    }

    #[test]
    fn judged_rows_of_one_cpu_and_all_claims_hold() {
        let Reproduction { rows, claims, .. } = quick();
        let one_cpu: Vec<_> = rows.iter().filter(|row| !row.id.starts_with("press")).collect();
        let missed: Vec<_> = one_cpu.iter().filter(|row| row.within() == Some(false)).collect();
        assert!(missed.is_empty(), "{missed:#?}");
        assert!(claims.iter().all(|claim| claim.holds), "{claims:#?}");
        assert_eq!(one_cpu.len(), 10 + 16 + 2 + 16);
    }

    /// What the patch is for comes out of the mechanism. The mail's 80 ms are shown beside ours, which need not be equal.
    ///
    /// Model: 02 T10
    #[test]
    fn the_patch_halves_the_longest_delay_of_press_on_12_cpus() {
        let rows = &quick().rows;
        let ms = |side: &str| {
            let row = rows.iter().find(|row| row.id == format!("press.box12.hz1000.futex.{side}")).unwrap();
            let Quantity::Number(ms) = row.simulated.median else { panic!("{side} has no number") };
            ms.to_f64()
        };
        let (before, after) = (ms("max_delay.before"), ms("max_delay.after"));
        assert!(before > 60.0 && after < before / 2.0, "{before} before, {after} after");
        assert!(ms("worst.saved_by_patch") > 0.0);
    }
}
