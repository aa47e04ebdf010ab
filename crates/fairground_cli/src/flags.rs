//! Flags that several commands have.

use clap::{Args, ValueEnum};
use fairground::input::RunInput;
use fairground::interval::{self, Interval};
use fairground::perf_sched::{Filter, ReadyMark, Source};
use fairground_scenario::{Error, Overrides};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Seeds are whole numbers of TOML as well.
const MAX_SEED: u64 = i64::MAX as u64;

/// More threads than any host has CPUs are a mistake.
pub(crate) const THREADS_MAX: usize = 4096;

/// Reads a whole number within a range: the parser of every option that is one, so that all of them say what they expect.
pub(crate) fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// The two sides of a comparison.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The two sides")]
pub(crate) struct SidesFlags {
    /// Profile of the baseline; the scenario's own if left out
    #[arg(long, value_name = "PROFILE")]
    pub(crate) a: Option<String>,
    /// Profile of the other side; the baseline's if left out
    #[arg(long, value_name = "PROFILE")]
    pub(crate) b: Option<String>,
    /// What makes the other side out of its profile: NEXT_BUDDY, sched_latency_ns=24000000, +align-vruntime
    #[arg(long = "change", value_name = "CHANGE")]
    pub(crate) changes: Vec<String>,
}

impl SidesFlags {
    /// The changes of other flags. An input that names no kernel has that of the baseline.
    pub(crate) fn overrides(&self, change: &ScenarioFlags) -> Overrides {
        Overrides { else_profile: self.a.clone(), ..change.overrides() }
    }
}

/// What is run.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputFlags {
    /// A scenario (.toml), an rt-app file (.json) or the folder of a recorded experiment; - is stdin
    #[arg(required_unless_present = "workload", conflicts_with = "workload")]
    scenario: Option<PathBuf>,
    /// A workload by its name; the flags of the real program follow behind `--`
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Flags of the real program
    #[arg(last = true)]
    flags: Vec<String>,
}

impl InputFlags {
    /// The file or folder that is run, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.scenario.as_deref()
    }
    pub(crate) fn open(&self, overrides: &Overrides) -> Result<RunInput, Error> {
        match (&self.workload, &self.scenario) {
            (Some(name), _) => RunInput::workload(name, &self.flags, overrides),
            // `requires` does not help here: a scenario, which excludes a workload, would satisfy it.
            (None, _) if !self.flags.is_empty() => {
                let message = "flags behind `--` are those of a workload, and none is given";
                Err(Error::one("command line", message, "Name it with --workload, or leave them out."))
            }
            (None, Some(path)) => RunInput::open(path, overrides),
            (None, None) => Err(Error::one("command line", "nothing to run", "Give a scenario, or --workload NAME.")),
        }
    }
}

/// What flags change of a scenario.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is changed of the scenario")]
pub(crate) struct ScenarioFlags {
    /// Kernel and overlays, such as v5.19 or v4.20+align-vruntime
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// A scheduler feature as debugfs spells it: NEXT_BUDDY, NO_NEXT_BUDDY
    #[arg(long = "feature", value_name = "FEATURE")]
    features: Vec<String>,
    /// A tunable (sched_latency_ns=24000000), a seam (tick_preempt=align-rightmost) or a key of the machine (machine.hz=1000)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A preset, a machine file (.toml), an lstopo file (.xml) or an hwloc synthetic string
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Capacities of CPUs, before all that a machine or a recording tells: 0-3=512,4-7=1024
    #[arg(long, value_name = "CPUS=CAPACITY,...")]
    capacities: Option<String>,
    /// Seed of all random streams
    #[arg(long, value_name = "N", value_parser = whole(0..=MAX_SEED))]
    seed: Option<u64>,
    /// How long is simulated, with its unit: 10s
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
}

/// What `latency` and `timehist` look at, and how. Its groups have headings that would hold for flags behind it: it stands last.
#[derive(Args, Clone, Debug)]
pub(crate) struct WatchFlags {
    /// A trace, a scenario, or the folder of a recorded experiment; - is a scenario on stdin
    pub(crate) input: PathBuf,
    /// Only this task, by name or pid
    #[arg(long = "task", value_name = "TASK")]
    tasks: Vec<String>,
    /// Only tasks of this control group and those below it, where the trace tells groups
    #[arg(long = "cgroup", value_name = "PATH")]
    cgroups: Vec<String>,
    #[command(flatten)]
    time: TimeFlags,
    #[command(flatten)]
    pub(crate) clock: ClockFlags,
    #[command(flatten)]
    pub(crate) records: RecordFlags,
}

impl WatchFlags {
    /// Which tasks are shown, of these CPUs if they are given.
    pub(crate) fn filter(&self, cpus: Option<&str>) -> Result<Filter, Error> {
        Filter::new(self.tasks.clone(), cpus, self.time.interval()?)?.in_groups(&self.cgroups)
    }
}

/// Where the records of `latency` and `timehist` come from, and what counts as the time of a wake-up.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Which records")]
pub(crate) struct RecordFlags {
    /// Count a wake-up from `waking` (the waker begins; the default where the trace has it) or from `wakeup` (it is queued)
    #[arg(long, value_name = "RECORD", value_enum, default_value = "waking")]
    mark: Mark,
    /// Simulate the folder of a recorded experiment instead of reading its record
    #[arg(long)]
    simulate: bool,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// The part of a record that counts.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which time")]
pub(crate) struct TimeFlags {
    /// Only this part: each of A and B in seconds as perf and trace-cmd print them (2105.336885), or from the beginning of the
    /// trace (+1.5, 200ms); either may be left out
    #[arg(long, value_name = "A,B", allow_hyphen_values = true)]
    time: Option<String>,
}

impl TimeFlags {
    pub(crate) fn interval(&self) -> Result<Interval, Error> {
        interval::interval(self.time.as_deref())
    }
}

/// By which clock times are shown.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Which time")]
pub(crate) struct ClockFlags {
    /// Times are those of the recording's own clock, as perf and trace-cmd print them (recorded), or count from the first event (start)
    #[arg(long, value_name = "CLOCK", value_enum, default_value = "recorded")]
    clock: Clock,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    Recorded,
    Start,
}

impl ClockFlags {
    pub(crate) fn is_recorded(self) -> bool {
        self.clock == Clock::Recorded
    }
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Mark {
    Waking,
    Wakeup,
}

impl RecordFlags {
    pub(crate) fn source(&self) -> Source {
        Source { overrides: self.change.overrides(), simulate: self.simulate }
    }
    pub(crate) fn mark(&self) -> ReadyMark {
        match self.mark {
            Mark::Waking => ReadyMark::Waking,
            Mark::Wakeup => ReadyMark::Wakeup,
        }
    }
}

impl ScenarioFlags {
    /// The flags as they are typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let ScenarioFlags { profile, features, set, machine, capacities, seed, duration } = self;
        let seed = seed.map(|seed| seed.to_string());
        let flag = |name: &str, value: &String| [format!("--{name}"), value.clone()];
        let once =
            [("profile", profile), ("machine", machine), ("capacities", capacities), ("seed", &seed), ("duration", duration)];
        let once = once.into_iter().filter_map(|(name, value)| Some(flag(name, value.as_ref()?)));
        let often = features.iter().map(|value| flag("feature", value)).chain(set.iter().map(|value| flag("set", value)));
        once.chain(often).flatten().collect()
    }
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            profile: self.profile.clone(),
            else_profile: None,
            features: self.features.clone(),
            set: self.set.clone(),
            machine: self.machine.clone(),
            capacities: self.capacities.clone(),
            seed: self.seed,
            duration: self.duration.clone(),
            ..Overrides::default()
        }
    }
}

/// A percentage with at most one digit behind the point, in thousandths.
pub(crate) fn permille(flag: &str, text: &str) -> Result<u64, Error> {
    let wrong = || Error::one(flag, format!("`{text}` is no percentage"), "A number from 0 to 100, such as 2% or 0.5%.");
    let (whole, tenth) = text.trim_end_matches('%').split_once('.').unwrap_or((text.trim_end_matches('%'), "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(tenth) || tenth.len() > 1 {
        return Err(wrong());
    }
    let number = |part: &str| part.parse::<u64>().map_err(|_| wrong());
    let value = number(whole)?.saturating_mul(10).saturating_add(number(tenth)?);
    if value <= 1000 { Ok(value) } else { Err(wrong()) }
}
