//! Frequency governors: who chooses the frequency of a policy, and by which tunables.

use fairground_stdx::Ns;

/// Who chooses.
///
/// Kernel: cpufreq.c struct cpufreq_governor, v4.12–
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GovernorKind {
    /// Nobody: the frequency stays as the machine says, unless something outside changes it.
    #[default]
    Fixed,
    /// The scheduler, by utilisation.
    Schedutil,
    /// Always the highest.
    Performance,
    /// Always the lowest.
    Powersave,
    /// The user.
    Userspace,
    /// By the share of busy time of the last period, up at once.
    Ondemand,
    /// By the same share, up and down in steps.
    Conservative,
}

impl GovernorKind {
    /// All governors with their names and what they do.
    pub const ALL: [(&'static str, GovernorKind, &'static str); 7] = [
        ("fixed", GovernorKind::Fixed, "No governor: CPUs run at `freq_capacity`, unless a scenario changes that."),
        (
            "schedutil",
            GovernorKind::Schedutil,
            "The scheduler chooses by utilisation, whenever that changes and the rate limit allows.",
        ),
        (
            "performance",
            GovernorKind::Performance,
            "Always the highest frequency; intel_pstate and amd-pstate in active mode come closest to it.",
        ),
        ("powersave", GovernorKind::Powersave, "Always the lowest frequency."),
        ("userspace", GovernorKind::Userspace, "The frequency that was set last (`setspeed`)."),
        (
            "ondemand",
            GovernorKind::Ondemand,
            "Each sampling period: the highest frequency above `up_threshold` percent busy time, else in proportion.",
        ),
        (
            "conservative",
            GovernorKind::Conservative,
            "Each sampling period: a step up above `up_threshold` percent busy time, a step down below `down_threshold`.",
        ),
    ];
    /// The name in machine files.
    pub fn name(self) -> &'static str {
        GovernorKind::ALL.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
    /// The governor of that name.
    pub fn by_name(name: &str) -> Option<GovernorKind> {
        GovernorKind::ALL.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

/// A governor with its tunables; what is not set has the kernel's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Governor {
    /// Who chooses.
    pub kind: GovernorKind,
    /// The least time between two changes (schedutil's rate_limit_us).
    pub rate_limit: Option<Ns>,
    /// The period of ondemand and conservative (sampling_rate).
    pub sampling_rate: Option<Ns>,
    /// Percent of busy time above which the frequency goes up.
    pub up_threshold: Option<u32>,
    /// Percent of busy time below which conservative goes down.
    pub down_threshold: Option<u32>,
    /// A step of conservative, in percent of the highest frequency.
    pub freq_step: Option<u32>,
    /// By how much ondemand lengthens its period at the highest frequency, and how many periods conservative waits before it goes down.
    pub sampling_down_factor: Option<u32>,
    /// The frequency that the user has set (scaling_setspeed).
    pub setspeed_khz: Option<u32>,
    /// The lowest frequency that may be chosen (scaling_min_freq).
    pub min_khz: Option<u32>,
    /// The highest frequency that may be chosen (scaling_max_freq).
    pub max_khz: Option<u32>,
    /// The frequency at the beginning of the run; the lowest unless the governor has another of its own.
    pub start_khz: Option<u32>,
}

impl Governor {
    /// A governor with the kernel's defaults.
    pub fn of(kind: GovernorKind) -> Governor {
        Governor { kind, ..Governor::default() }
    }
}
