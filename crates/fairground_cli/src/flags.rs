//! Flags that several commands have.

use clap::{Args, ValueEnum};
use fairground::Overrides;
use fairground::perf_sched::{ReadyMark, Source};

/// Seeds are whole numbers of TOML as well.
const MAX_SEED: u64 = i64::MAX as u64;

/// What flags change of a scenario.
#[derive(Args, Clone, Debug, Default)]
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
    /// Seed of all random streams
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    seed: Option<u64>,
    /// How long is simulated, with its unit: 10s
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
}

/// Where the records of `latency` and `timehist` come from, and what counts as the time of a wake-up.
#[derive(Args, Clone, Debug)]
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
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            profile: self.profile.clone(),
            features: self.features.clone(),
            set: self.set.clone(),
            machine: self.machine.clone(),
            seed: self.seed,
            duration: self.duration.clone(),
        }
    }
}
