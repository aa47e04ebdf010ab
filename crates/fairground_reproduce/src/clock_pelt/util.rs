//! How long a task must run until its utilisation reaches a value.
//!
//! A task that has slept until nothing is left of its utilisation computes on a CPU of full or half
//! capacity; its utilisation is read at every tick. The published table is a closed form in which one PELT
//! period is called a millisecond, so the rows that are judged against it run with a tick of one period.

use super::{MAINLINE, PATCHED, Parts};
use crate::published::{Published, integer};
use crate::runs::{Runs, one_cpu};
use fairground_machine::Machine;
use fairground_metrics::Decimal;
use fairground_model::{Instr, Mode, Program, Sink, TaskSet, TaskSpec, TraceEvent};
use fairground_report::{Band, Claim, Kind, Quantity, ReproductionRow, Simulated};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, Instant, Ns};

/// One PELT period.
const PERIOD: Ns = Ns(1 << 20);
/// The task wakes here: a whole number of PELT periods, of milliseconds and of ticks at HZ 250 after the
/// start, and long after the utilisation of its birth has decayed to nothing.
const START: Instant = Instant::from_ns((1 << 20) * 15_625);
/// It computes for longer than the slowest row takes.
const COMPUTES: Ns = Ns::from_ms(500);
/// Half of the full capacity or frequency.
const HALF: u32 = 512;
/// By how many periods a row may be off the published one: the closed form rounds, and adds the two halves
/// of a doubled time after rounding.
const TOLERANCE: u64 = 2;

/// A column of the table.
struct Side {
    id: &'static str,
    profile: &'static str,
    slow: fn(&mut Machine),
    /// Where the published number of this column stands.
    published: &'static str,
}

const SIDES: [Side; 4] = [
    Side { id: "max_capacity", profile: MAINLINE, slow: |_| {}, published: "max_capacity_ms" },
    Side { id: "half_capacity_mainline", profile: MAINLINE, slow: half_capacity, published: "half_capacity_mainline_ms" },
    Side { id: "half_frequency_mainline", profile: MAINLINE, slow: half_frequency, published: "half_capacity_mainline_ms" },
    Side { id: "half_capacity_patched", profile: PATCHED, slow: half_capacity, published: "half_capacity_patched_ms" },
];

fn half_capacity(machine: &mut Machine) {
    machine.cpus.iter_mut().for_each(|cpu| cpu.capacity = HALF);
}
fn half_frequency(machine: &mut Machine) {
    machine.cpus.iter_mut().for_each(|cpu| cpu.freq_capacity = HALF);
}

/// The tick of a group of rows.
struct Step {
    id: &'static str,
    unit: &'static str,
    tick: Ns,
    /// What one unit of the row is.
    one: Ns,
}

const STEPS: [Step; 3] = [
    Step { id: "time_to_util", unit: "PELT periods", tick: PERIOD, one: PERIOD },
    Step { id: "time_to_util_hz1000", unit: "ms", tick: Ns::from_ms(1), one: Ns::from_ms(1) },
    Step { id: "time_to_util_hz250", unit: "ms", tick: Ns::from_ms(4), one: Ns::from_ms(1) },
];

/// The utilisation of the one task at each tick since it woke.
struct UtilCurve(Vec<(Ns, u32)>);

impl Sink for UtilCurve {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::SeSample { util_avg, .. } = *event
            && at > START
        {
            self.0.push((at.since(START), util_avg));
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl UtilCurve {
    /// When the utilisation is `target` for the first time, in units of `one`.
    fn reaches(&self, target: u32, one: Ns) -> Option<u64> {
        self.0.iter().find(|row| row.1 >= target).map(|row| row.0.0 / one.0)
    }
}

fn sleeper() -> TaskSet {
    let mut set = TaskSet::default();
    let code =
        vec![Instr::Set { reg: 0, at: START }, Instr::SleepUntil { reg: 0 }, Instr::Run { work: Ns(u64::MAX), mode: Mode::User }];
    let program = set.programs.push(Program::from(code));
    set.tasks.push(TaskSpec { timer_slack: Ns::ZERO, ..TaskSpec::new("ramp", program) });
    set
}

fn curve(runs: &mut Runs, side: &Side, step: &Step) -> Result<UtilCurve, Error> {
    let mut machine = one_cpu(1000)?;
    machine.tick = step.tick;
    (side.slow)(&mut machine);
    let profile = Profile::parse(side.profile).map_err(|error| Error::one(side.profile, error.message, error.hint))?;
    let mut curve = UtilCurve(Vec::new());
    let length = Ns(START.ns() + COMPUTES.0);
    runs.run(machine, profile, sleeper(), length, 1, &mut curve)?;
    Ok(curve)
}

/// How many runs the rows take.
pub(super) const RUNS: u64 = (STEPS.len() * SIDES.len()) as u64;

impl Parts {
    /// All rows of the table, and that a slow CPU never reaches what it cannot.
    pub(super) fn time_to_util(&mut self, published: &Published, control: Control<'_>) -> Result<(), Error> {
        for (step, side) in STEPS.iter().flat_map(|step| SIDES.iter().map(move |side| (step, side))) {
            if control.stopped() {
                break;
            }
            let curve = curve(&mut self.runs, side, step)?;
            for figures in published.rows("time_to_util") {
                let Some(util) = figures.get("util").and_then(toml_edit::Item::as_integer) else { continue };
                self.rows.push(row(step, side, util as u32, integer(figures, side.published), &curve));
            }
            if step.tick == PERIOD && side.profile == MAINLINE && side.id != "max_capacity" {
                let holds = curve.reaches(972, step.one).is_none();
                let what = side.id.trim_end_matches("_mainline").replace('_', " ");
                self.claims.push(Claim { id: format!("{what} mainline never reaches 972"), holds, value: None });
            }
            self.done += 1;
            control.at(self.done, self.total);
        }
        Ok(())
    }
}

/// Rows at one tick per period are judged by the published number; at other ticks that number is shown beside.
fn row(step: &Step, side: &Side, util: u32, published: Option<Decimal>, curve: &UtilCurve) -> ReproductionRow {
    let ours = curve.reaches(util, step.one).map_or(Quantity::Never, |count| Quantity::Number(count.into()));
    let never = published.is_none();
    let band = match published {
        _ if step.tick != PERIOD => Band::NotJudged,
        None => Band::Never,
        Some(value) => around(value),
    };
    ReproductionRow {
        id: format!("{}.{util}.{}", step.id, side.id),
        unit: step.unit.into(),
        published: if never { Quantity::Never } else { published.map_or(Quantity::Unknown, Quantity::Number) },
        simulated: Simulated::same(ours, 1),
        kind: Kind::Exact,
        band,
    }
}

fn around(value: Decimal) -> Band {
    let whole = value.to_f64() as u64;
    Band::Between(Decimal::from(whole - TOLERANCE), Decimal::from(whole + TOLERANCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/model/01-pelt.md: the first updates at which a running task reaches a utilisation.
    #[test]
    fn every_row_is_the_specified_one() {
        let published = Published::open("clock-pelt.toml", include_str!("../published/clock-pelt.toml")).unwrap();
        let mut done = Parts::default();
        done.time_to_util(&published, Control::none()).unwrap();
        let got = |step: &str, util: u32, side: &str| {
            let id = format!("{step}.{util}.{side}");
            let row = done.rows.iter().find(|row| row.id == id).unwrap();
            match row.simulated.median {
                Quantity::Number(value) => Some(value.to_f64() as u64),
                _ => None,
            }
        };
        let table = |step: &str, side: &str| [972, 486, 256].map(|util| got(step, util, side));
        let (full, capacity, frequency, patched) =
            ("max_capacity", "half_capacity_mainline", "half_frequency_mainline", "half_capacity_patched");
        assert_eq!(table("time_to_util", full), [Some(137), Some(30), Some(14)]);
        assert_eq!(table("time_to_util", capacity), [None, Some(137), Some(32)]);
        assert_eq!(table("time_to_util", frequency), [None, Some(137), Some(32)]);
        assert_eq!(table("time_to_util", patched), [Some(274), Some(60), Some(28)]);
        assert_eq!(table("time_to_util_hz1000", full), [Some(144), Some(32), Some(14)]);
        assert_eq!(table("time_to_util_hz1000", capacity), [None, Some(144), Some(34)]);
        assert_eq!(table("time_to_util_hz1000", frequency), [None, Some(145), Some(34)]);
        assert_eq!(table("time_to_util_hz1000", patched), [Some(288), Some(63), Some(28)]);
        assert_eq!(table("time_to_util_hz250", full), [Some(148), Some(32), Some(16)]);
        assert_eq!(table("time_to_util_hz250", capacity), [None, Some(148), Some(36)]);
        assert_eq!(table("time_to_util_hz250", frequency), [None, Some(148), Some(36)]);
        assert_eq!(table("time_to_util_hz250", patched), [Some(292), Some(64), Some(28)]);
        assert!(done.rows.iter().all(|row| row.within() != Some(false)) && done.claims.iter().all(|claim| claim.holds));
    }
}
