//! The part on one CPU: how long hogs wait when ticks come late.
//!
//! The mail's worked cases assume a latency of 24 ms (that of eight CPUs and more), equal hogs A, B, C and
//! slices of 8 ms. The jitter of ticks is a reference model of our own, whose figures an independent program gave: each tick is late by (s >> 8) mod 300 µs,
//! s = s * 1103515245 + 12345 mod 2^31 from 12345. It begins a slice at every pick, as kernels without
//! CONFIG_FAIR_GROUP_SCHED do; the rows `group_sched` show kernels with it.

use super::{ALIGNED, Parts, STOCK, in_ms, row};
use crate::runs::{Runs, one_cpu};
use fairground_machine::Machine;
use fairground_metrics::Decimal;
use fairground_model::{Instr, Mode, PrevState, Program, Sink, TaskSet, TaskSpec, TraceEvent};
use fairground_report::{Band, Claim, Kind, Quantity, Simulated};
use fairground_scenario::Error;
use fairground_sched::Profile;
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};
use toml_edit::{Item, Table};

/// What the mail's machine has, and what eight or more CPUs have.
const TUNABLES: [(&str, &str); 3] =
    [("sched_latency_ns", "24000000"), ("sched_min_granularity_ns", "3000000"), ("sched_wakeup_granularity_ns", "4000000")];
/// The jitter model.
const MODEL_JITTER: Ns = Ns::from_us(300);
const MODEL_SEED: u32 = 12345;
/// How long the model runs.
const MODEL_LENGTH: Ns = Ns::from_ms(2000);
/// The longest waits that an independent program found in the model, in ns, as bands: hogs; HZ 250 without and with the patch, HZ 1000 without and with.
const MODEL: [(usize, [u64; 4]); 4] = [
    (3, [40_125_304, 24_116_779, 26_105_002, 18_197_136]),
    (4, [48_141_359, 24_274_525, 31_824_280, 21_140_655]),
    (5, [64_137_503, 32_281_396, 40_079_566, 21_253_739]),
    (6, [55_840_504, 40_097_355, 36_862_402, 25_162_042]),
];
/// Lateness of ticks for which waits are shown too.
const OTHER_JITTERS: [(&str, Ns); 4] =
    [("0", Ns::ZERO), ("10us", Ns::from_us(10)), ("100us", Ns::from_us(100)), ("1ms", Ns::from_ms(1))];
/// Seeds of runs whose lateness is drawn.
const SEEDS: u64 = 5;
/// The mail's sleeper wakes when each hog has had a turn, and computes for three slices of four tasks. Ours
/// comes again, so that the run meets it at every state of the turn.
const SLEEPER_WAKES: Instant = Instant::from_ns(24_000_000);
const SLEEPER_WORK: Ns = Ns::from_ms(18);
const SLEEPER_PERIOD: Ns = Ns::from_ms(100);

/// One run's set-up.
struct Case {
    profile: &'static str,
    repeated_pick: &'static str,
    hogs: usize,
    sleeper: bool,
    tick: Ns,
    jitter: Ns,
    jitter_seed: Option<u32>,
    length: Ns,
}

impl Case {
    fn model(profile: &'static str, hogs: usize, hz: u64) -> Case {
        Case {
            profile,
            repeated_pick: "renews-slice",
            hogs,
            sleeper: false,
            tick: Ns(1_000_000_000 / hz),
            jitter: MODEL_JITTER,
            jitter_seed: Some(MODEL_SEED),
            length: MODEL_LENGTH,
        }
    }
    fn profile(&self) -> Result<Profile, Error> {
        let wrong = |error: fairground_sched::profile::ProfileError| Error::one(self.profile, error.message, error.hint);
        let base = Profile::parse(self.profile).and_then(|profile| profile.with_feature("NO_START_DEBIT"));
        let base = base.and_then(|profile| profile.with_seam("repeated_pick", self.repeated_pick)).map_err(wrong)?;
        TUNABLES.iter().try_fold(base, |profile, (name, value)| profile.with_tunable(name, value)).map_err(wrong)
    }
    fn machine(&self) -> Result<Machine, Error> {
        let mut machine = one_cpu(1000)?;
        (machine.tick, machine.tick_jitter, machine.tick_jitter_seed) = (self.tick, self.jitter, self.jitter_seed);
        Ok(machine)
    }
    fn tasks(&self) -> TaskSet {
        let mut set = TaskSet::default();
        let forever = Instr::Run { work: Ns(u64::MAX), mode: Mode::User };
        let program = set.programs.push(Program::from(vec![forever]));
        for hog in 0..self.hogs {
            set.tasks.push(TaskSpec::new(char::from(b'A' + hog as u8), program));
        }
        if self.sleeper {
            let code = vec![
                Instr::Set { reg: 0, at: SLEEPER_WAKES },
                Instr::SleepUntil { reg: 0 },
                Instr::Run { work: SLEEPER_WORK, mode: Mode::User },
                Instr::Add { reg: 0, time: SLEEPER_PERIOD },
                Instr::Jump { to: 1 },
            ];
            let program = set.programs.push(Program::from(code));
            set.tasks.push(TaskSpec { timer_slack: Ns::ZERO, ..TaskSpec::new("sleeper", program) });
        }
        set
    }
    /// The longest wait of a hog, in ns, and the order of the first turns.
    fn longest_wait(&self, runs: &mut Runs, seed: u64) -> Result<(u64, String), Error> {
        let mut waits = Waits::new(self.hogs);
        runs.run(self.machine()?, self.profile()?, self.tasks(), self.length, seed, &mut waits)?;
        Ok((waits.longest, waits.order))
    }
    /// Median and range of the longest wait over seeds.
    fn over_seeds(&self, runs: &mut Runs) -> Result<Simulated, Error> {
        let mut waits = Vec::new();
        for seed in 1..=SEEDS {
            waits.push(self.longest_wait(runs, seed)?.0);
        }
        waits.sort_unstable();
        let [lo, median, hi] = [waits[0], waits[waits.len() / 2], waits[waits.len() - 1]].map(in_ms);
        Ok(Simulated { median, lo, hi, runs: SEEDS as u32 })
    }
}

/// How long hogs wait from one turn to the next; the first wait counts from 0.
struct Waits {
    left: Vec<u64>,
    longest: u64,
    order: String,
}

impl Waits {
    fn new(hogs: usize) -> Waits {
        Waits { left: vec![0; hogs], longest: 0, order: String::new() }
    }
    fn hog(&mut self, task: Option<TaskId>) -> Option<&mut u64> {
        self.left.get_mut(task?.index())
    }
}

impl Sink for Waits {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        let TraceEvent::SchedSwitch { prev, prev_state, next } = *event else { return };
        if let Some(left) = self.hog(prev).filter(|_| prev_state == PrevState::Running) {
            *left = at.ns();
        }
        if let Some(&mut left) = self.hog(next) {
            self.longest = self.longest.max(at.ns() - left);
            let letter = next.map_or('?', |task| char::from(b'A' + (task.get() % 26) as u8));
            self.order.push(letter);
        }
    }
}

/// One of the mail's worked cases.
struct WorkedCase {
    name: &'static str,
    /// Its key in the published figures.
    figure: &'static str,
    tick: Ns,
    /// Whether ticks come late, as in the jitter model.
    late: bool,
    sleeper: bool,
    /// Whether ours must equal the mail's figure.
    judged: bool,
}

impl WorkedCase {
    fn case(&self, profile: &'static str) -> Case {
        let model = Case { sleeper: self.sleeper, tick: self.tick, ..Case::model(profile, 3, 1000) };
        if self.late { model } else { Case { repeated_pick: "keeps-slice", jitter: Ns::ZERO, ..model } }
    }
}

impl Parts {
    /// Turns of 8 ms at exact ticks, at ticks that come a little late, and with a sleeper.
    pub(super) fn worked_cases(&mut self, root: &Table) -> Result<(), Error> {
        let figure = |key: &str| {
            let cases = root.get("cases").and_then(Item::as_table);
            let value = cases.and_then(|cases| cases.get(key)).and_then(Item::as_integer);
            value.and_then(|value| u64::try_from(value).ok())
        };
        // Late ticks and the sleeper are worked with made-up run times in the mail, and the sleeper's figure
        // depends on HZ: ours stand beside them unjudged, at both tick rates.
        let (hz250, hz1000) = (Ns::from_ms(4), Ns::from_ms(1));
        let worked = |name, figure, tick, judged| WorkedCase { name, figure, tick, late: false, sleeper: false, judged };
        let late = |name, tick| WorkedCase { late: true, ..worked(name, "late_tick_delay_ms", tick, false) };
        let sleeper = |name, tick| WorkedCase { sleeper: true, ..worked(name, "sleeper_delay_ms", tick, false) };
        let cases = [
            worked("ideal", "ideal_delay_ms", hz1000, true),
            late("late_tick.hz250", hz250),
            late("late_tick.hz1000", hz1000),
            sleeper("sleeper.hz250", hz250),
            sleeper("sleeper.hz1000", hz1000),
        ];
        for worked in cases {
            for (side, profile) in [("before", STOCK), ("after", ALIGNED)] {
                let wait = worked.case(profile).longest_wait(&mut self.runs, 1)?.0;
                let simulated = Simulated::same(in_ms(wait), 1);
                let (shown, band) = match figure(worked.figure).filter(|_| side == "before") {
                    Some(ms) if worked.judged => (Quantity::Number(ms.into()), Band::Between(ms.into(), ms.into())),
                    Some(ms) => (Quantity::Number(ms.into()), Band::NotJudged),
                    None => (Quantity::Unknown, Band::NotJudged),
                };
                self.rows.push(row(format!("case.{}.{side}", worked.name), shown, simulated, Kind::Predicted, band));
            }
        }
        Ok(())
    }

    pub(super) fn jitter_model(&mut self) -> Result<(), Error> {
        for (hogs, figures) in MODEL {
            let sides = [(250, "before", STOCK), (250, "after", ALIGNED), (1000, "before", STOCK), (1000, "after", ALIGNED)];
            for ((hz, side, profile), expected) in sides.into_iter().zip(figures) {
                let (wait, order) = Case::model(profile, hogs, hz).longest_wait(&mut self.runs, 1)?;
                let exact = Decimal::ratio(expected, 1_000_000);
                let id = format!("jitter_300us.{hogs}_hogs.hz{hz}.{side}");
                let simulated = Simulated::same(in_ms(wait), 1);
                self.rows.push(row(id, Quantity::Unknown, simulated, Kind::Exact, Band::Between(exact, exact)));
                if hogs == 3 && hz == 1000 {
                    self.claim_order(side, &order);
                }
            }
        }
        for (side, profile) in [("before", STOCK), ("after", ALIGNED)] {
            let case = Case { repeated_pick: "keeps-slice", ..Case::model(profile, 3, 250) };
            let wait = case.longest_wait(&mut self.runs, 1)?.0;
            let id = format!("jitter_300us.3_hogs.hz250.group_sched.{side}");
            self.rows.push(row(id, Quantity::Unknown, Simulated::same(in_ms(wait), 1), Kind::Predicted, Band::NotJudged));
        }
        Ok(())
    }

    fn claim_order(&mut self, side: &str, order: &str) {
        let in_turn = order.chars().zip("ABC".chars().cycle()).all(|(got, turn)| got == turn);
        let (id, holds) = match side {
            "before" => ("late ticks make hogs leave the order A B C", !in_turn),
            _ => ("with the patch the order A B C is kept", in_turn),
        };
        self.claims.push(Claim { id: id.into(), holds, value: None });
    }

    pub(super) fn other_jitters(&mut self) -> Result<(), Error> {
        for (name, jitter) in OTHER_JITTERS {
            for (hz, side, profile) in
                [(250, "before", STOCK), (250, "after", ALIGNED), (1000, "before", STOCK), (1000, "after", ALIGNED)]
            {
                // A tick comes before the next one is due.
                let tick = Ns(1_000_000_000 / hz);
                let jitter = jitter.min(Ns(tick.0 - 1));
                let case = Case { jitter, jitter_seed: None, ..Case::model(profile, 3, hz) };
                let simulated = case.over_seeds(&mut self.runs)?;
                let id = format!("jitter_{name}.3_hogs.hz{hz}.{side}");
                self.rows.push(row(id, Quantity::Unknown, simulated, Kind::Predicted, Band::NotJudged));
            }
        }
        Ok(())
    }
}
