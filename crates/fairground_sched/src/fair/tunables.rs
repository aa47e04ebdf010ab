//! The scheduler's tunables: base values, how they grow with the number of CPUs, and what a user set.

use fairground_stdx::units::{UnitError, parse_ns};

use fairground_model::version::{KernelVersion, v};

/// CPUs beyond this number do not make the values larger.
const SCALING_CPU_LIMIT: u32 = 8;

/// The least and the largest request of an entity.
pub const MIN_SLICE_NS: u64 = 100_000;
/// See [`MIN_SLICE_NS`].
pub const MAX_SLICE_NS: u64 = 100_000_000;
/// A runtime of real-time tasks that is no limit. The kernel writes it -1.
pub const NO_LIMIT: u64 = u64::MAX;
/// What belongs to CFS alone is gone with EEVDF.
const CFS: Option<KernelVersion> = Some(v(6, 6));

/// How the base values grow with the number of online CPUs.
///
/// Kernel: fair.c get_update_sysctl_factor(), v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TunableScaling {
    /// Not at all.
    None,
    /// By 1 + floor(log2(CPUs)), at most 8 CPUs counted; the default.
    #[default]
    Logarithmic,
    /// By the number of CPUs, at most 8 counted.
    Linear,
}

impl TunableScaling {
    /// The factor for this number of online CPUs.
    pub fn factor(self, nr_online_cpus: u32) -> u64 {
        let cpus = nr_online_cpus.clamp(1, SCALING_CPU_LIMIT);
        match self {
            TunableScaling::None => 1,
            TunableScaling::Logarithmic => 1 + u64::from(cpus.ilog2()),
            TunableScaling::Linear => u64::from(cpus),
        }
    }
}

/// One tunable of the table.
#[derive(Debug)]
pub struct TunableRow {
    /// The kernel's name.
    pub name: &'static str,
    /// What it does, as a sentence.
    pub sentence: &'static str,
    /// First kernel of our profiles that has it.
    pub since: KernelVersion,
    /// First kernel that does not have it any more.
    pub until: Option<KernelVersion>,
    /// Value before scaling.
    pub base: u64,
    /// Whether the value grows with the number of CPUs.
    pub scaled: bool,
    /// Values that a user may set.
    pub range: std::ops::RangeInclusive<u64>,
}

impl TunableRow {
    /// A value as the kernel writes it.
    pub fn shown(&self, value: u64) -> String {
        if value == NO_LIMIT { "-1".to_string() } else { value.to_string() }
    }
    /// Whether a kernel has it.
    pub fn is_in(&self, kernel: KernelVersion) -> bool {
        kernel >= self.since && self.until.is_none_or(|until| kernel < until)
    }
}

macro_rules! tunables {
    ($($name:ident $since:expr, $until:expr, $base:literal, $scaled:literal, $range:expr, $sentence:literal;)*) => {
        /// Which tunable; the order is that of [`TUNABLES`].
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(non_camel_case_types, reason = "the kernel's own names")]
        enum Row { $($name),* }

        /// All tunables.
        pub static TUNABLES: &[TunableRow] = &[$(TunableRow {
            name: stringify!($name), sentence: $sentence, since: $since, until: $until, base: $base, scaled: $scaled, range: $range,
        }),*];

        const NR_TUNABLES: usize = [$(stringify!($name)),*].len();
    };
}

tunables! {
    sched_latency_ns v(4, 12), CFS, 6_000_000, true, 1..=0xffff_ffff, "Period in which each of a few runnable tasks runs once.";
    sched_min_granularity_ns v(4, 12), CFS, 750_000, true, 1..=0xffff_ffff, "Least time that a task runs before the tick may end its slice.";
    sched_wakeup_granularity_ns v(4, 12), CFS, 1_000_000, true, 0..=0xffff_ffff, "Lead in virtual time that a woken task needs to preempt.";
    sched_idle_min_granularity_ns v(5, 16), CFS, 750_000, false, 0..=0xffff_ffff, "Least slice of an idle entity beside others.";
    sched_base_slice_ns v(6, 6), None, 750_000, true, MIN_SLICE_NS..=MAX_SLICE_NS, "Request of an entity: it runs that long before its deadline moves on.";
    sched_migration_cost_ns v(4, 12), None, 500_000, false, 0..=0xffff_ffff, "A task that ran within this time counts as cache hot.";
    sched_cfs_bandwidth_slice_us v(4, 12), None, 5_000, false, 1..=0xffff_ffff, "What a queue of a group with a quota takes from its pool at once, in us.";
    sched_child_runs_first v(4, 12), CFS, 0, false, 0..=1, "Whether a forked child is to run before its parent.";
    sched_energy_aware v(5, 0), None, 1, false, 0..=1, "Whether wake-ups go by energy where that is possible.";
    sched_util_clamp_min v(5, 3), None, 1024, false, 0..=1024, "The most that utilization clamps raise anybody.";
    sched_util_clamp_max v(5, 3), None, 1024, false, 0..=1024, "The most that utilization clamps leave anybody.";
    sched_util_clamp_min_rt_default v(5, 9), None, 1024, false, 0..=1024, "What real-time tasks that ask for nothing are raised to.";
    sched_rt_period_us v(4, 12), None, 1_000_000, false, 1..=0x7fff_ffff, "Period of the limit on real-time tasks, in us. From v6.12 on it limits deadline tasks only.";
    sched_rt_runtime_us v(4, 12), None, 950_000, false, 1..=NO_LIMIT, "What real-time and deadline tasks of a CPU may run of it, in us; -1: all. From v6.12 on deadline tasks only.";
    sched_tunable_scaling v(4, 12), None, 1, false, 0..=2, "How values grow with the number of CPUs: 0 not, 1 logarithmic, 2 linear.";
}

/// Why a tunable could not be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TunableError {
    /// No kernel of the table has a tunable of this name.
    Unknown,
    /// Another kernel has it, this one not.
    NotInKernel {
        /// The first kernel that has it.
        since: KernelVersion,
        /// The first kernel that does not have it any more.
        until: Option<KernelVersion>,
    },
    /// The value is no number, or has a wrong unit.
    NotAValue(UnitError),
    /// The value is too small or too large.
    OutOfRange(std::ops::RangeInclusive<u64>),
}

/// What a user set; everything else has the kernel's value for the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunables {
    set: [Option<u64>; NR_TUNABLES],
    /// The kernel's own values of the rows of [`OWN_VALUES`].
    own: [u64; OWN_VALUES.len()],
}

/// A tunable whose value kernels changed: a row of profiles by itself, apart from what a user sets.
pub(crate) struct OwnValue {
    /// Name of that row.
    pub(crate) name: &'static str,
    /// What the value is, as a sentence.
    pub(crate) sentence: &'static str,
    tunable: Row,
    /// The value from a kernel on, before it grows with the number of CPUs; the first also holds for all before.
    history: &'static [(KernelVersion, u64)],
}

/// All of them. A slice of 0.70 ms ends, times the factor of several CPUs, before a tick. A runtime of 100 % was read in 7.2.13, and is not
/// in 6.18.15.
pub(crate) static OWN_VALUES: [OwnValue; 2] = [
    OwnValue {
        name: "sched_base_slice_ns (default)",
        sentence: "The request of an entity on one CPU where nobody has set it, in ns (EEVDF).",
        tunable: Row::sched_base_slice_ns,
        history: &[(v(4, 12), 750_000), (v(6, 12), 700_000), (v(6, 14), 750_000), (v(6, 18), 700_000)],
    },
    OwnValue {
        name: "sched_rt_runtime_us (default)",
        sentence: "What real-time and deadline tasks may use of a CPU where nobody has set it, in us of a second.",
        tunable: Row::sched_rt_runtime_us,
        history: &[(v(4, 12), 950_000), (v(7, 2), 1_000_000)],
    },
];

impl OwnValue {
    fn at(&self, kernel: KernelVersion) -> u64 {
        self.history.iter().rev().find(|row| row.0 <= kernel).map_or(self.history[0].1, |row| row.1)
    }
}

/// The values that hold on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EffectiveTunables {
    /// Period in which each of at most `nr_latency` tasks runs once, in ns.
    pub latency_ns: u64,
    /// Least run time before a tick preemption, in ns.
    pub min_granularity_ns: u64,
    /// Lead of a wakee that preempts, in ns of nice 0.
    pub wakeup_granularity_ns: u64,
    /// Least slice of an idle entity beside others, in ns.
    pub idle_min_granularity_ns: u64,
    /// Request of an entity, in ns.
    pub base_slice_ns: u64,
    /// The same before scaling by the number of CPUs, in ns.
    pub normalized_base_slice_ns: u64,
    /// A task that ran within this time is cache hot, in ns.
    pub migration_cost_ns: u64,
    /// What a queue of a group with a quota takes from its pool at once, in ns.
    pub cfs_bandwidth_slice_ns: u64,
    /// Whether a forked child runs before its parent.
    pub child_runs_first: bool,
    /// Whether wake-ups go by energy where that is possible.
    pub energy_aware: bool,
    /// The most that anybody's least may be, and the most that anybody gets, in 1/1024 of the biggest CPU.
    pub util_clamp_min: u32,
    /// See `util_clamp_min`.
    pub util_clamp_max: u32,
    /// The least of real-time tasks that ask for nothing.
    pub util_clamp_min_rt_default: u32,
    /// What real-time tasks of a CPU may run.
    pub rt: RtLimit,
    /// With more tasks than this the period grows: ceil(latency / min_granularity).
    pub nr_latency: u64,
}

/// How much of a period real-time tasks of a CPU may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtLimit {
    /// sysctl_sched_rt_period, in ns.
    pub period_ns: u64,
    /// sysctl_sched_rt_runtime, in ns; none: all of it.
    pub runtime_ns: Option<u64>,
}

impl Default for Tunables {
    fn default() -> Tunables {
        Tunables::of(v(4, 12))
    }
}

impl Tunables {
    /// Nothing set, on a kernel (or the recorded stable one of that version).
    pub fn of(kernel: KernelVersion) -> Tunables {
        Tunables { set: [None; NR_TUNABLES], own: OWN_VALUES.each_ref().map(|row| row.at(kernel)) }
    }

    /// Sets a tunable by its kernel name, with or without `sched_` in front (debugfs has it without).
    /// The value is in ns, or a number with its unit; it holds as it is, whatever the number of CPUs.
    pub fn set(&mut self, kernel: KernelVersion, name: &str, value: &str) -> Result<(), TunableError> {
        let short = |full: &'static str| full.trim_start_matches("sched_");
        let wanted = name.strip_prefix("sched_").unwrap_or(name);
        let Some(index) = TUNABLES.iter().position(|row| short(row.name) == wanted) else {
            return Err(TunableError::Unknown);
        };
        let row = &TUNABLES[index];
        if !row.is_in(kernel) {
            return Err(TunableError::NotInKernel { since: row.since, until: row.until });
        }
        let number = parse_value(row, value)?;
        let most = if row.range.end() == &NO_LIMIT { self.rt_limit().period_ns / 1000 } else { *row.range.end() };
        if number != NO_LIMIT && !(*row.range.start()..=most).contains(&number) {
            return Err(TunableError::OutOfRange(*row.range.start()..=most));
        }
        let before = self.set[index].replace(number);
        let rt = self.rt_limit();
        if rt.runtime_ns.is_some_and(|runtime| runtime > rt.period_ns) {
            self.set[index] = before;
            return Err(TunableError::OutOfRange(rt.runtime_ns.unwrap_or(0) / 1000..=most));
        }
        Ok(())
    }

    /// What real-time tasks of a CPU may run.
    pub fn rt_limit(&self) -> RtLimit {
        let value = |row: Row| self.set[row as usize].unwrap_or(self.base(row));
        let runtime = Some(value(Row::sched_rt_runtime_us)).filter(|&runtime| runtime != NO_LIMIT);
        RtLimit { period_ns: value(Row::sched_rt_period_us) * 1000, runtime_ns: runtime.map(|us| us.saturating_mul(1000)) }
    }

    /// Names and values of what was set, in the order of the table.
    pub fn overrides(&self) -> impl Iterator<Item = (&'static TunableRow, u64)> + '_ {
        TUNABLES.iter().zip(self.set).filter_map(|(row, set)| Some((row, set?)))
    }

    /// The names of tunables that were set otherwise.
    pub(crate) fn set_apart(&self, other: &Tunables) -> impl Iterator<Item = &'static str> {
        let values = TUNABLES.iter().zip(self.set.into_iter().zip(other.set));
        values.filter(|(_, (mine, theirs))| mine != theirs).map(|(row, _)| row.name)
    }
    /// Takes what was set of one tunable, or that it was not.
    pub(crate) fn take(&mut self, other: &Tunables, name: &str) {
        if let Some(index) = TUNABLES.iter().position(|row| row.name == name) {
            self.set[index] = other.set[index];
        }
    }
    /// The kernel's own value of a row of [`OWN_VALUES`].
    pub(crate) fn own_value(&self, index: usize) -> u64 {
        self.own[index]
    }
    /// Takes the kernel's own value of a row of [`OWN_VALUES`].
    pub(crate) fn take_own_value(&mut self, other: &Tunables, index: usize) {
        self.own[index] = other.own[index];
    }
    /// The kernel's own value, before it grows with the number of CPUs.
    fn base(&self, row: Row) -> u64 {
        let own = OWN_VALUES.iter().zip(self.own).find(|own| own.0.tunable == row);
        own.map_or(TUNABLES[row as usize].base, |own| own.1)
    }

    /// sched_util_clamp_min and sched_util_clamp_max.
    pub fn util_clamps(&self) -> (u64, u64) {
        let value = |row: Row| self.set[row as usize].unwrap_or(TUNABLES[row as usize].base);
        (value(Row::sched_util_clamp_min), value(Row::sched_util_clamp_max))
    }

    /// The values on a machine with this number of online CPUs.
    pub fn at(&self, nr_online_cpus: u32) -> EffectiveTunables {
        let factor = self.scaling().factor(nr_online_cpus);
        let value = |row: Row| {
            let entry = &TUNABLES[row as usize];
            let scaled = self.base(row) * if entry.scaled { factor } else { 1 };
            self.set[row as usize].unwrap_or(scaled)
        };
        let (latency_ns, min_granularity_ns) = (value(Row::sched_latency_ns), value(Row::sched_min_granularity_ns));
        EffectiveTunables {
            latency_ns,
            min_granularity_ns,
            wakeup_granularity_ns: value(Row::sched_wakeup_granularity_ns),
            idle_min_granularity_ns: value(Row::sched_idle_min_granularity_ns),
            base_slice_ns: value(Row::sched_base_slice_ns),
            normalized_base_slice_ns: self.base(Row::sched_base_slice_ns),
            migration_cost_ns: value(Row::sched_migration_cost_ns),
            cfs_bandwidth_slice_ns: value(Row::sched_cfs_bandwidth_slice_us) * 1000,
            child_runs_first: value(Row::sched_child_runs_first) != 0,
            energy_aware: value(Row::sched_energy_aware) != 0,
            util_clamp_min: value(Row::sched_util_clamp_min) as u32,
            util_clamp_max: value(Row::sched_util_clamp_max) as u32,
            util_clamp_min_rt_default: value(Row::sched_util_clamp_min_rt_default) as u32,
            rt: self.rt_limit(),
            nr_latency: latency_ns.div_ceil(min_granularity_ns),
        }
    }

    fn scaling(&self) -> TunableScaling {
        match self.set[Row::sched_tunable_scaling as usize] {
            Some(0) => TunableScaling::None,
            Some(2) => TunableScaling::Linear,
            _ => TunableScaling::Logarithmic,
        }
    }
}

/// A bare number is in the unit of the tunable's name; times may also have a unit of their own.
fn parse_value(row: &TunableRow, value: &str) -> Result<u64, TunableError> {
    if *row.range.end() == NO_LIMIT && value.trim() == "-1" {
        return Ok(NO_LIMIT);
    }
    match parse_ns(value) {
        Ok(time) if row.name.ends_with("_ns") => Ok(time.0),
        Ok(_) => Err(TunableError::NotAValue(UnitError::NotANumber(value.to_string()))),
        Err(UnitError::NoUnit) => {
            let digits = value.trim().replace('_', "");
            digits.parse().map_err(|_| TunableError::NotAValue(UnitError::NotANumber(value.to_string())))
        }
        Err(error) => Err(TunableError::NotAValue(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_grow_with_the_cpus() {
        let known = [(1, 6, 750), (2, 12, 1500), (3, 12, 1500), (4, 18, 2250), (8, 24, 3000), (12, 24, 3000), (0, 6, 750)];
        for (cpus, latency_ms, granularity_us) in known {
            let at = Tunables::default().at(cpus);
            assert_eq!((at.latency_ns, at.min_granularity_ns), (latency_ms * 1_000_000, granularity_us * 1_000), "{cpus} CPUs");
            assert_eq!((at.nr_latency, at.idle_min_granularity_ns, at.migration_cost_ns), (8, 750_000, 500_000));
        }
    }

    /// As in the kernel a runtime beyond the period is refused, whichever is written; -1 is no limit.
    #[test]
    fn real_time_tasks_may_run_a_part_of_the_period() {
        let mut tunables = Tunables::default();
        let limit = |tunables: &Tunables| (tunables.rt_limit().period_ns, tunables.rt_limit().runtime_ns);
        assert_eq!(limit(&tunables), (1_000_000_000, Some(950_000_000)));
        let full = Tunables::of(v(7, 2)).rt_limit();
        assert_eq!(
            (full.period_ns, full.runtime_ns),
            (1_000_000_000, Some(1_000_000_000)),
            "all of it, of which the servers have 5 %"
        );
        let mut set = |name: &str, value: &str| (tunables.set(v(5, 10), name, value), limit(&tunables));
        let refused = |range| Err(TunableError::OutOfRange(range));
        assert_eq!(set("sched_rt_runtime_us", "1000001").0, refused(1..=1_000_000));
        assert_eq!(set("sched_rt_period_us", "949999"), (refused(950_000..=0x7fff_ffff), (1_000_000_000, Some(950_000_000))));
        assert_eq!(set("sched_rt_runtime_us", "1000000"), (Ok(()), (1_000_000_000, Some(1_000_000_000))));
        assert_eq!(set("sched_rt_runtime_us", "-1"), (Ok(()), (1_000_000_000, None)));
        assert_eq!(set("sched_rt_period_us", "100"), (Ok(()), (100_000, None)));
        let shown: Vec<String> = tunables.overrides().map(|(row, value)| row.shown(value)).collect();
        assert_eq!(shown, ["100", "-1"]);
    }

    #[test]
    fn set_values_hold_as_they_are() {
        let mut tunables = Tunables::default();
        tunables.set(v(5, 1), "sched_latency_ns", "24ms").unwrap();
        tunables.set(v(5, 1), "min_granularity_ns", "5_000_000").unwrap();
        tunables.set(v(5, 1), "sched_tunable_scaling", "2").unwrap();
        let at = tunables.at(4);
        assert_eq!((at.latency_ns, at.min_granularity_ns, at.nr_latency), (24_000_000, 5_000_000, 5));
        assert_eq!(at.wakeup_granularity_ns, 4_000_000);
        assert_eq!(tunables.overrides().count(), 3);
    }

    #[test]
    fn refuses_with_a_reason() {
        let mut tunables = Tunables::default();
        assert_eq!(tunables.set(v(5, 1), "sched_latency", "1"), Err(TunableError::Unknown));
        let slice = tunables.set(v(5, 1), "base_slice_ns", "3ms");
        assert_eq!(slice, Err(TunableError::NotInKernel { since: v(6, 6), until: None }));
        let idle = tunables.set(v(5, 1), "sched_idle_min_granularity_ns", "1ms");
        assert_eq!(idle, Err(TunableError::NotInKernel { since: v(5, 16), until: Some(v(6, 6)) }));
        for (name, value) in [("sched_min_granularity_ns", "0"), ("sched_child_runs_first", "2"), ("sched_latency_ns", "10s")] {
            assert!(matches!(tunables.set(v(5, 1), name, value), Err(TunableError::OutOfRange(_))), "{name}={value}");
        }
        for (name, value) in [("latency_ns", ""), ("latency_ns", "-1"), ("latency_ns", "1.5"), ("sched_child_runs_first", "1ms")]
        {
            assert!(matches!(tunables.set(v(5, 1), name, value), Err(TunableError::NotAValue(_))), "{name}={value}");
        }
        assert_eq!(tunables, Tunables::default());
    }
}
