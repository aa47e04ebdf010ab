//! When schedutil asks for the highest frequency: one task that computes, from a utilisation of 0 at the lowest one.
//!
//! Before the series contributions were scaled by the frequency, so that utilisation approached at each operating point a limit
//! just above what the next point asks for.

use super::{MAINLINE, PATCHED, Parts};
use crate::published::{Published, integer};
use crate::runs::refused;
use fairground_machine::{CostModel, Machine};
use fairground_metrics::Decimal;
use fairground_model::{Governor, GovernorKind, Instr, Mode, Program, Sink, Start, TaskSet, TaskSpec, TraceEvent};
use fairground_report::{Band, Kind, Quantity, ReproductionRow, Simulated};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};
use toml_edit::Item;

const MACHINE: &str = "hikey";
/// The task begins here, or a phase later: a whole number of ticks at every HZ and of PELT periods (2^20 · 5^7 ns).
const START: Instant = Instant::from_ns((1 << 20) * 78_125);
/// It is at the top by then.
const COMPUTES: Ns = Ns::from_ms(400);
/// Beginnings within a tick.
const PHASES: u64 = 8;
/// The HZ of an arm64 kernel, which the mail does not tell, first; the others are shown.
const HZ: [u32; 3] = [250, 1000, 100];
const SIDES: [(&str, &str); 2] = [("mainline", MAINLINE), ("patched", PATCHED)];
/// Within so many percent of the published time.
const PERCENT: u64 = 5;

/// How many runs the rows take.
pub(super) const RUNS: u64 = PHASES * 2 * (HZ.len() * SIDES.len()) as u64;

/// How a frequency is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Switch {
    /// By a kernel thread and after the latency of the board's driver.
    Thread,
    /// At once.
    Fast,
}

impl Parts {
    /// The times to the highest frequency at each HZ, over all phases of the tick.
    pub(super) fn time_to_max_opp(&mut self, published: &Published, control: Control<'_>) -> Result<(), Error> {
        let table = published.root().get("time_to_max_opp_ms").and_then(Item::as_table);
        for (switch, hz) in [Switch::Thread, Switch::Fast].into_iter().flat_map(|switch| HZ.map(|hz| (switch, hz))) {
            for (side, profile) in SIDES {
                let mut times_us = Vec::new();
                for phase in 0..PHASES {
                    if control.stopped() {
                        return Ok(());
                    }
                    times_us.extend(self.climb(profile, hz, switch, phase)?);
                    self.done += 1;
                    control.at(self.done, self.total);
                }
                self.rows.push(row(side, hz, switch, table.and_then(|table| integer(table, side)), times_us));
            }
        }
        Ok(())
    }

    /// How long the task computes until its CPU is at the highest frequency, us; `None` if it does not come there.
    fn climb(&mut self, profile: &'static str, hz: u32, switch: Switch, phase: u64) -> Result<Option<u64>, Error> {
        let profile = Profile::parse(profile).map_err(|error| Error::one(profile, error.message, error.hint))?;
        let mut machine = Machine::preset(MACHINE).map_err(refused)?;
        (machine.hz, machine.tick) = (hz, Ns(1_000_000_000 / u64::from(hz)));
        machine.costs = CostModel::preset("zero").map_err(refused)?;
        for policy in &mut machine.policies {
            policy.governor = Governor::of(GovernorKind::Schedutil);
            policy.fast_switch = switch == Switch::Fast;
        }
        let highest = machine.policies.first().map_or(0, |policy| policy.max_khz());
        let from = START + Ns(machine.tick.0 * phase / PHASES);
        let mut top = Top { highest, at: None };
        let duration = Ns(from.ns()) + COMPUTES;
        self.runs.run_setup(Setup { machine, profile, tasks: ramp(from), seed: 1, duration, paranoid: false }, &mut top)?;
        Ok(top.at.map(|at| at.saturating_since(from).0 / 1000))
    }
}

/// A task that has slept since long before and computes from then on, on CPU 0.
fn ramp(from: Instant) -> TaskSet {
    let mut set = TaskSet::default();
    let code =
        vec![Instr::Set { reg: 0, at: from }, Instr::SleepUntil { reg: 0 }, Instr::Run { work: Ns(u64::MAX), mode: Mode::User }];
    let program = set.programs.push(Program::from(code));
    let affinity = Some(CpuMask::only(CpuId::new(0)));
    set.tasks.push(TaskSpec { timer_slack: Ns::ZERO, start: Start::Asleep, affinity, ..TaskSpec::new("ramp", program) });
    set
}

/// When CPU 0 first runs at the highest frequency.
struct Top {
    highest: u32,
    at: Option<Instant>,
}

impl Sink for Top {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::CpuFrequency { cpu, khz } = *event
            && (cpu, khz) == (CpuId::new(0), self.highest)
        {
            self.at.get_or_insert(at);
        }
    }
}

fn row(side: &str, hz: u32, switch: Switch, published: Option<Decimal>, mut times_us: Vec<u64>) -> ReproductionRow {
    times_us.sort_unstable();
    let ms = |us: u64| Quantity::Number(Decimal::ratio(us, 1000));
    let simulated = match &times_us[..] {
        [] => Simulated::same(Quantity::Never, PHASES as u32),
        [lo, .., hi] => Simulated { median: ms(times_us[times_us.len() / 2]), lo: ms(*lo), hi: ms(*hi), runs: PHASES as u32 },
        [only] => Simulated::same(ms(*only), PHASES as u32),
    };
    let main = switch == Switch::Thread && hz == HZ[0];
    let around = |value: Decimal| {
        let whole = value.to_f64() as u64;
        Band::Between(Decimal::ratio(whole * (100 - PERCENT), 100), Decimal::ratio(whole * (100 + PERCENT), 100))
    };
    let id = match switch {
        Switch::Thread if main => format!("time_to_max_opp.{side}"),
        Switch::Thread => format!("time_to_max_opp_hz{hz}.{side}"),
        Switch::Fast => format!("time_to_max_opp_at_once_hz{hz}.{side}"),
    };
    ReproductionRow {
        id,
        unit: "ms".into(),
        published: published.map_or(Quantity::Unknown, Quantity::Number),
        simulated,
        kind: Kind::Predicted,
        band: published.filter(|_| main).map_or(Band::NotJudged, around),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With immediate switches 219 to 222.5 ms before and 118 to 121.5 ms after the series at HZ 250.
    #[test]
    fn the_top_is_reached_in_the_published_time_before_and_after_the_series() {
        let published = Published::open("clock-pelt.toml", include_str!("../published/clock-pelt.toml")).unwrap();
        let mut done = Parts::default();
        done.time_to_max_opp(&published, Control::none()).unwrap();
        let row = |id: &str| done.rows.iter().find(|row| row.id == id).unwrap();
        let number = |quantity| if let Quantity::Number(value) = quantity { value.to_f64() } else { panic!("it never happens") };
        for (side, lo, hi) in [("mainline", 219.0, 222.5), ("patched", 118.0, 121.5)] {
            let at_once = row(&format!("time_to_max_opp_at_once_hz250.{side}")).simulated;
            assert_eq!((number(at_once.lo), number(at_once.hi)), (lo, hi), "{side}");
            assert_eq!(row(&format!("time_to_max_opp.{side}")).within(), Some(true), "{side}");
        }
        assert_eq!(done.done, RUNS);
        for row in &done.rows {
            println!("{} {} [{}..{}]", row.id, row.simulated.median, row.simulated.lo, row.simulated.hi);
        }
    }
}
