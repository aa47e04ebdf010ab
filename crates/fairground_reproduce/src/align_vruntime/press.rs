//! The mail's measurement: 36 processes bound to 12 CPUs, woken once a second, each of which works for 120 ms.
//!
//! The mail says neither HZ nor what the 12 CPUs are, nor what else ran, for how long, or how the processes are woken.
//! Its stable 27 ms after the patch tell two of these. At HZ 250 turns, and so waits, are whole sums of 4 ms: it was HZ
//! 1000. And a write to a pipe is a synchronous wake-up: at loads of next to nothing after 880 ms of sleep wake_affine()
//! takes the waker's own CPU, and two thirds of the processes pile up there, before and after: it was another kind.
//! Judged is `box12` at HZ 1000 with wake-ups by futex, for ten rounds; HZ 250, 12 cores without SMT and wake-ups by
//! pipe are shown beside it. Ticks come late by up to 10 us, and rounds begin at another phase of the tick for each seed.

use super::{ALIGNED, OVERLAY, Parts, STOCK, in_ms, row};
use crate::delay::{Delay, Part, Split, WorstDelay, split};
use crate::experiment::ReproduceOptions;
use crate::runs::{Runs, refused, stopped};
use fairground_machine::Machine;
use fairground_metrics::Decimal;
use fairground_model::TaskSet;
use fairground_report::{Band, Claim, Kind, Quantity, Simulated};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{Instant, Ns};
use fairground_workload::{Args, build};
use toml_edit::{Item, Table};

const CPUS: usize = 12;
const PROCESSES: usize = 36;
/// From one round to the next.
const ROUND: Ns = Ns::from_ms(1000);
/// Rounds of a run.
const ROUNDS: u64 = 10;
/// Runs of a variant, with `--quick` too: worst delays spread far over the seeds (quartiles before: 96 and 116 ms), and
/// the median of ten moved by 15 ms where that of a hundred moved by 2.
const SEEDS: u64 = 100;
/// How late a tick comes at most.
const JITTER: Ns = Ns::from_us(10);
/// By how much rounds move against the ticks from one seed to the next: no multiple or divisor of a tick.
const PHASE: Ns = Ns::from_us(1_313);
/// In what the mail's longest delays, about 80 ms before and 27 ms after, must come out.
const BANDS_MS: [(u64, u64); 2] = [(60, 110), (20, 40)];

/// A machine and a tick rate.
#[derive(Clone, Copy)]
struct Variant {
    machine: &'static str,
    hz: u32,
    woken_by: WokenBy,
    judged: bool,
}

/// How the parent wakes the processes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WokenBy {
    Futex,
    Pipe,
}

/// With `--quick` the first two.
const VARIANTS: [Variant; 6] = [
    Variant { machine: "box12", hz: 1000, woken_by: WokenBy::Futex, judged: true },
    Variant { machine: "box12", hz: 1000, woken_by: WokenBy::Pipe, judged: false },
    Variant { machine: "box12", hz: 250, woken_by: WokenBy::Futex, judged: false },
    Variant { machine: "box12", hz: 250, woken_by: WokenBy::Pipe, judged: false },
    Variant { machine: "box12-nosmt", hz: 1000, woken_by: WokenBy::Futex, judged: false },
    Variant { machine: "box12-nosmt", hz: 250, woken_by: WokenBy::Futex, judged: false },
];

impl Variant {
    fn name(&self) -> String {
        let woken_by = match self.woken_by {
            WokenBy::Futex => "futex",
            WokenBy::Pipe => "pipe",
        };
        format!("press.{}.hz{}.{woken_by}", self.machine, self.hz)
    }
    fn setup(&self, profile: &str, seed: u64, duration: Ns) -> Result<Setup, Error> {
        let wrong = |error: fairground_sched::profile::ProfileError| Error::one(profile, error.message, error.hint);
        let mut machine = Machine::preset(self.machine).map_err(refused)?;
        (machine.hz, machine.tick) = (self.hz, Ns(1_000_000_000 / u64::from(self.hz)));
        machine.tick_jitter = JITTER;
        Ok(Setup {
            machine,
            profile: Profile::parse(profile).map_err(wrong)?,
            tasks: tasks(self.woken_by, seed)?,
            seed,
            duration,
            paranoid: false,
        })
    }
}

/// The press, begun at another phase of the tick for each seed.
fn tasks(woken_by: WokenBy, seed: u64) -> Result<TaskSet, Error> {
    let cpus = format!("0-{}", CPUS - 1);
    let processes = PROCESSES.to_string();
    let futex = if woken_by == WokenBy::Futex { "true" } else { "false" };
    let args = [("cpus", cpus.as_str()), ("processes", &processes), ("every", "1s"), ("work", "120ms"), ("futex", futex)];
    let mut set = build("press", &Args::of(&args)).map_err(refused)?;
    set.delay(Ns(PHASE.0 * seed));
    Ok(set)
}

/// One run, to its worst delay.
struct Pressed {
    setup: Setup,
    worst: Delay,
}

impl Parts {
    /// The longest delay before and after, and what the worst one before consists of.
    pub(super) fn press(&mut self, root: &Table, options: &ReproduceOptions, control: Control<'_>) -> Result<(), Error> {
        let variants = if options.quick { 2 } else { VARIANTS.len() };
        let total = 2 * SEEDS * variants as u64;
        let mut done = 0;
        for variant in &VARIANTS[..variants] {
            let mut worst_before: Option<Pressed> = None;
            for (side, profile) in [STOCK, ALIGNED].into_iter().enumerate() {
                let mut delays = Vec::new();
                for seed in 1..=SEEDS {
                    if control.stopped() {
                        return Ok(());
                    }
                    let pressed = run(&mut self.runs, variant.setup(profile, seed, Ns(ROUND.0 * ROUNDS))?)?;
                    delays.push(pressed.worst.length().0);
                    let longer = |known: &Pressed| known.worst.length() < pressed.worst.length();
                    if side == 0 && worst_before.as_ref().is_none_or(longer) {
                        worst_before = Some(pressed);
                    }
                    done += 1;
                    control.at(done, total);
                }
                self.press_row(variant, side, root, &mut delays);
            }
            if let Some(worst) = worst_before {
                self.taken_apart(variant, &worst)?;
                self.counterfactual(variant, &worst)?;
            }
        }
        Ok(())
    }

    fn press_row(&mut self, variant: &Variant, side: usize, root: &Table, delays: &mut [u64]) {
        delays.sort_unstable();
        let [lo, median, hi] = [delays[0], delays[delays.len() / 2], delays[delays.len() - 1]].map(in_ms);
        let simulated = Simulated { median, lo, hi, runs: delays.len() as u32 };
        let published = root.get("max_scheduling_delay_ms").and_then(Item::as_array).and_then(|row| row.get(side)?.as_integer());
        let published =
            published.and_then(|ms| u64::try_from(ms).ok()).map_or(Quantity::Unknown, |ms| Quantity::Number(ms.into()));
        let (lo, hi) = BANDS_MS[side];
        let band = if variant.judged { Band::Between(lo.into(), hi.into()) } else { Band::NotJudged };
        let id = format!("{}.max_delay.{}", variant.name(), ["before", "after"][side]);
        self.rows.push(row(id, published, simulated, Kind::Predicted, band));
    }

    /// The worst delay before, in its parts.
    fn taken_apart(&mut self, variant: &Variant, pressed: &Pressed) -> Result<(), Error> {
        let simulation = Simulation::new(pressed.setup.clone()).map_err(refused)?;
        let parts: Split = split(simulation, &pressed.worst, PROCESSES / CPUS - 1).map_err(stopped)?;
        for part in Part::ALL {
            let id = format!("{}.worst.{}", variant.name(), part.name());
            let simulated = Simulated::same(in_ms(parts.of(part).0), 1);
            self.rows.push(row(id, Quantity::Unknown, simulated, Kind::Predicted, Band::NotJudged));
        }
        let sums = parts.total() == pressed.worst.length();
        let id =
            format!("{}: the parts of the worst delay add up to it, the largest is {}", variant.name(), parts.largest().name());
        self.claims.push(Claim { id, holds: sums, value: Some(Decimal::ratio(parts.of(parts.largest()).0, 1_000_000)) });
        Ok(())
    }

    /// The round of the worst delay again, from the state in which it began, with the patch.
    fn counterfactual(&mut self, variant: &Variant, pressed: &Pressed) -> Result<(), Error> {
        let phase = Ns(PHASE.0 * pressed.setup.seed);
        let begins = round_of(pressed.worst.since, phase);
        let mut simulation = Simulation::new(pressed.setup.clone()).map_err(refused)?;
        simulation.run_until(begins, &mut fairground_model::NullSink).map_err(stopped)?;
        simulation.add_overlay(OVERLAY).map_err(|error| Error::one(OVERLAY, error.message, error.hint))?;
        let mut worst = watch(&pressed.setup.tasks, begins);
        simulation.run_until(begins + ROUND, &mut worst).map_err(stopped)?;
        let with_patch = worst.worst().map_or(Ns::ZERO, |delay| delay.length());
        let saved = pressed.worst.length().saturating_sub(with_patch);
        for (what, length) in [("same_state_with_patch", with_patch), ("saved_by_patch", saved)] {
            let id = format!("{}.worst.{what}", variant.name());
            self.rows.push(row(id, Quantity::Unknown, Simulated::same(in_ms(length.0), 1), Kind::Predicted, Band::NotJudged));
        }
        Ok(())
    }
}

/// When the round of `at` begins: 50 ms before the parent's timer, when everybody sleeps.
fn round_of(at: Instant, phase: Ns) -> Instant {
    let first = 50_000_000 + phase.0;
    let round = at.ns().saturating_sub(first) / ROUND.0;
    Instant::from_ns(first + round * ROUND.0)
}

fn watch(tasks: &TaskSet, from: Instant) -> WorstDelay {
    WorstDelay::new(tasks.tasks.iter().map(|spec| spec.measured).collect(), from)
}

fn run(runs: &mut Runs, setup: Setup) -> Result<Pressed, Error> {
    // What forking leaves behind is over when the first round begins.
    let mut worst = watch(&setup.tasks, round_of(Instant::ZERO, Ns(PHASE.0 * setup.seed)));
    runs.run_setup(setup.clone(), &mut worst)?;
    let worst = worst.worst().ok_or_else(|| Error::one("press", "nobody ever waited", "It is an error in this build."))?;
    Ok(Pressed { setup, worst })
}
