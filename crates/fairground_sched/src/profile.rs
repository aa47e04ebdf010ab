//! A profile says how a kernel schedules: the state of each switch and each seam at a version, and
//! what was changed from there. It is a query over the tables' histories; nothing is listed per version.

mod changes;
mod error;
mod idle_switches;
mod known;
mod rules;
#[cfg(test)]
mod tests;

pub use changes::{Change, ChangeKind};
pub use error::ProfileError;
pub use known::{Known, KnownKind};

use crate::fair::tunables::Tunables;
use crate::fair::weight::ScaleLoadDown;
use crate::features::{Feat, FeatSet};
use crate::pelt::{PeltClockRule, PeltFamily, PostInit, UtilEstRule, UtilEstSample};
use crate::seam::{
    AboveMean, ActiveBalance, AsymPacking, BalanceTasks, DetachAmount, DlAdmission, DlBandwidth, DlHrtick, DlPeriods,
    ExcessSteal, HotGained, HotplugQuota, LbInterval, LbLoop, LbPinned, Migratable, Misfit, NewidleBatch, NewidleCost,
    NohzBalance, NumaImbalance, OfflineClock, PeriodPhase, PeriodScale, PreferSibling, PushOverload, ReducedCapacity, Refill,
    RemainingOnSet, RtBandwidth, RunnableBoost, ScaleRtCapacity, ShouldWeBalance, SiblingBalance, SliceExpiry, SmtCapacity,
    SparePull, TaskOrder, Throttle, ThrottleAt, ThrottleStamp, ThrottledTime, Unthrottle, ZeroImbalance,
};
use crate::seam::{
    AsymCapacity, AsymSpread, ClusterSearch, Degenerate, DomainInit, DomainLevels, DomainNames, ExitingWaker, GroupFlags,
    IdleCapacity, IdleScan, IdleSearch, IdlestGroup, KthreadWaker, NumaAllowance, OverlapGroups, RecentCpu, SchedIdleCpu,
    StartNode, WakeAffine, WakeCap,
};
use crate::seam::{
    AttachNew, GroupIdle, GroupLoad, GroupSlice, GroupWeight, MigrateDetach, MoveRunning, Reweight, ShownWeight, TgLoadUpdate,
};
use crate::seam::{
    AvgVruntime, Balance, CacheAware, CurrentPlace, DelayedLag, ForkPlace, ForkPreempts, Hrtick, IdleEntity, IdleProtection,
    LagLimit, LongSleeper, MinVruntimeAtDequeue, Pick, PipeWakeup, Place, Preemption, Protection, RemoteWakeup, RepeatedPick,
    Seam, SoftirqHandover, TaskSlice, TickPreempt, Yield,
};
use crate::seam::{EnergyAware, EnergyModel, Pressure, RtFit, SchedstatText, TaskFit, Uclamp};
use crate::seam::{FreqHook, FreqMargin, FreqUtil, FreqWork, IowaitBoost, RateLimit};
use crate::version::KernelVersion;

/// A property of a profile, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Name of the seam, the switch or the tunable.
    pub name: &'static str,
    /// Its state.
    pub value: String,
    /// What that means, as a sentence.
    pub sentence: &'static str,
}

/// A difference between two profiles, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// Name of the seam, the switch or the tunable.
    pub name: &'static str,
    /// State and sentence in the first profile.
    pub from: Row,
    /// State and sentence in the second profile.
    pub to: Row,
}

macro_rules! profile {
    ($($field:ident: $seam:ident, $doc:literal;)*) => {
        /// How a kernel schedules. Frozen before the first event.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Profile {
            /// The name as it was written: base version and overlays.
            pub name: String,
            /// The kernel that everything unchanged is taken from.
            pub base: KernelVersion,
            /// Switches that are on.
            pub feats: FeatSet,
            /// Switches that there are: the kernel's own, and those that overlays bring.
            known_feats: FeatSet,
            /// Tunables that were set.
            pub tunables: Tunables,
            $(#[doc = $doc] pub $field: $seam,)*
        }

        impl Profile {
            /// Asks each table for its state at a version.
            fn query(base: KernelVersion) -> Profile {
                Profile {
                    name: base.to_string(),
                    base,
                    feats: FeatSet::at(base),
                    known_feats: FeatSet::known_at(base),
                    tunables: Tunables::of(base),
                    $($field: $seam::at(base),)*
                }
            }

            fn set_seam(&mut self, name: &str, variant: &str) -> Result<(), ProfileError> {
                match name {
                    $($seam::NAME => match $seam::by_name(variant) {
                        Some(value) => self.$field = value,
                        None => return Err(ProfileError::unknown_variant(name, variant, &names($seam::VARIANTS))),
                    },)*
                    _ => return Err(ProfileError::unknown_seam(name, &[$($seam::NAME),*])),
                }
                Ok(())
            }

            /// What a variant of a seam, or a switch, does.
            fn sentence_of(name: &str, value: &str) -> &'static str {
                match name {
                    $($seam::NAME => $seam::by_name(value).map_or("", Seam::sentence),)*
                    _ => Feat::by_name(name).map_or("", |feat| feat.row().sentence),
                }
            }

            fn seam_rows(&self) -> Vec<Row> {
                vec![$(Row { name: $seam::NAME, value: self.$field.name().to_string(), sentence: self.$field.sentence() }),*]
            }
        }
    };
}

profile! {
    pelt: PeltFamily, "Rules of load tracking.";
    pelt_clock: PeltClockRule, "Time that load tracking reads.";
    post_init: PostInit, "Utilisation of a new task.";
    util_est: UtilEstRule, "How estimated utilisation is kept.";
    scale_load_down: ScaleLoadDown, "How stored weights are scaled down.";
    util_est_sample: UtilEstSample, "When a sleeper's utilisation is sampled.";
    pick: Pick, "Who runs next.";
    place: Place, "Where in virtual time an entity starts.";
    fork_place: ForkPlace, "When a new task is placed.";
    tick_preempt: TickPreempt, "When the running entity is preempted by its own run time.";
    avg_vruntime: AvgVruntime, "What the averages of virtual time are relative to.";
    lag_limit: LagLimit, "How much lag an entity can have.";
    delayed_lag: DelayedLag, "What lag a delayed sleeper has.";
    current_place: CurrentPlace, "When the current entity of a group is placed.";
    fork_preempts: ForkPreempts, "Which wakees may preempt by their deadlines.";
    protection: Protection, "For how long a picked entity is safe.";
    task_slice: TaskSlice, "Whose slice a request is.";
    yields: Yield, "What sched_yield() does.";
    preemption: Preemption, "When a running task gives way.";
    repeated_pick: RepeatedPick, "Whether a task that is picked again begins a new slice.";
    hrtick: Hrtick, "When the timer of HRTICK is armed.";
    min_vruntime_at_dequeue: MinVruntimeAtDequeue, "Which dequeues update min_vruntime.";
    long_sleeper: LongSleeper, "Placement after a very long sleep.";
    idle_entity: IdleEntity, "Whether entities, or only tasks' policies, are idle.";
    idle_protection: IdleProtection, "Whether an idle entity that is preempted keeps its protection.";
    group_load: GroupLoad, "How a group's load reaches the queue above.";
    tg_load_update: TgLoadUpdate, "How often a queue tells its group its load.";
    group_weight: GroupWeight, "When a group's entity gets its weight anew.";
    reweight: Reweight, "Lag and deadline of an entity whose weight changes.";
    group_slice: GroupSlice, "The request of a group's entity.";
    attach_new: AttachNew, "When a new task adds its load to its queue.";
    migrate_detach: MigrateDetach, "How the load of a runnable task leaves its old CPU.";
    move_running: MoveRunning, "Whether a running task that changes its group gives way.";
    group_idle: GroupIdle, "Whether a group may be idle as a whole.";
    throttle: Throttle, "Where tasks of a group without quota stop.";
    throttle_at: ThrottleAt, "When a queue without quota is throttled.";
    throttle_stamp: ThrottleStamp, "By which clock a throttled queue stands still.";
    throttled_time: ThrottledTime, "From when on cpu.stat counts a queue as throttled.";
    remaining_on_set: RemainingOnSet, "What each CPU has of a quota that was just set.";
    unthrottle: Unthrottle, "Who releases a queue that has quota again.";
    hotplug_quota: HotplugQuota, "Whose quota a CPU that goes off line releases.";
    offline_clock: OfflineClock, "How often a CPU that goes off line reads its clock.";
    slice_expiry: SliceExpiry, "Whether what a CPU took of a quota is lost after its period.";
    refill: Refill, "What a new period makes of what is left of a quota.";
    period_scale: PeriodScale, "What becomes of a period that is too short for its timer.";
    period_phase: PeriodPhase, "Where the periods of a quota begin.";
    rt_bandwidth: RtBandwidth, "What keeps real-time tasks from taking a CPU for ever.";
    push_overload: PushOverload, "When others look at a CPU for real-time or deadline tasks that wait.";
    dl_bandwidth: DlBandwidth, "What a deadline task consumes of its runtime, and when its share is free again.";
    dl_admission: DlAdmission, "What admission of deadline tasks goes by.";
    dl_hrtick: DlHrtick, "Which switch lets a timer end the runtime of a deadline task.";
    dl_periods: DlPeriods, "Which periods a deadline task may ask for.";
    shown_weight: ShownWeight, "What is read of cpu.weight after cpu.shares was written.";
    wake_affine: WakeAffine, "Whether a wakee goes towards its waker.";
    exiting_waker: ExitingWaker, "Whether wake-ups of an exiting task are synchronous.";
    wake_cap: WakeCap, "Whether capacity decides before the search for an idle CPU.";
    recent_used_cpu: RecentCpu, "What is remembered of a task's CPUs.";
    kthread_waker: KthreadWaker, "Whether a wakee queues up behind a kernel thread.";
    sched_idle_cpu: SchedIdleCpu, "Whether tasks of policy SCHED_IDLE make a CPU busy.";
    idle_search: IdleSearch, "How a cache domain is searched for an idle CPU.";
    idle_capacity: IdleCapacity, "How CPUs of different capacities are searched.";
    cluster_search: ClusterSearch, "Whether clusters are searched first.";
    idle_scan: IdleScan, "How far SIS_UTIL lets searches of small caches go.";
    idlest_group: IdlestGroup, "In which group a new task starts.";
    start_node: StartNode, "When a task starts on another node.";
    domain_levels: DomainLevels, "Which levels of domains there are.";
    domain_init: DomainInit, "What a domain starts with.";
    asym_capacity: AsymCapacity, "Which domains count as asymmetric in capacity.";
    asym_spread: AsymSpread, "What that does to them and those below.";
    degenerate: Degenerate, "Which domains have no use.";
    group_flags: GroupFlags, "What a group says of the domain below.";
    overlap_groups: OverlapGroups, "What groups of nodes three hops apart span.";
    numa_allowance: NumaAllowance, "How many tasks a node may have more than another.";
    domain_names: DomainNames, "How domains are called in debugfs.";
    lb_task_order: TaskOrder, "In what order tasks are tried for a move.";
    lb_detach_amount: DetachAmount, "How large a task may be for an imbalance.";
    lb_migratable: Migratable, "Which tasks balance leaves alone.";
    lb_hot_gained: HotGained, "When a move of a cache-hot task is counted.";
    should_we_balance: ShouldWeBalance, "Which CPU balances for its group.";
    lb_pinned: LbPinned, "What follows when tasks are pinned.";
    lb_loop: LbLoop, "How many tasks one look goes through.";
    lb_interval: LbInterval, "How the interval of a domain goes on.";
    active_balance: ActiveBalance, "When the running task is pushed.";
    newidle_cost: NewidleCost, "When newidle balance pays.";
    newidle_batch: NewidleBatch, "How many tasks newidle balance takes.";
    nohz_balance: NohzBalance, "How idle CPUs without a tick are balanced for.";
    remote_wakeup: RemoteWakeup, "Which wake-ups are left to the target CPU.";
    softirq_handover: SoftirqHandover, "Whether soft interrupts wait for their thread.";
    pipe_wakeup: PipeWakeup, "Whom reads and writes of a pipe wake.";
    balance: Balance, "What balance compares, and what it moves.";
    cache_aware: CacheAware, "Whether the threads of a process are drawn to one cache.";
    excess_steal: ExcessSteal, "What becomes of stolen time that does not fit.";
    scale_rt_capacity: ScaleRtCapacity, "What interrupts and other classes take off a CPU's capacity.";
    smt_capacity: SmtCapacity, "The full capacity of one thread of a core.";
    misfit: Misfit, "Whether tasks that need a bigger CPU are looked after.";
    spare_pull: SparePull, "Load-based: which idle CPUs pull whatever the loads are.";
    prefer_sibling: PreferSibling, "Load-based: when tasks go to siblings first.";
    zero_imbalance: ZeroImbalance, "Load-based: what an imbalance of zero means.";
    numa_imbalance: NumaImbalance, "Group-type: how small an imbalance between nodes is left alone.";
    above_mean: AboveMean, "Group-type: whether a group above the mean pulls.";
    reduced_capacity: ReducedCapacity, "Group-type: a CPU that lost capacity to interrupts.";
    sibling_balance: SiblingBalance, "Group-type: whether groups are compared by their cores.";
    balance_tasks: BalanceTasks, "Which tasks of a CPU balance counts.";
    asym_packing: AsymPacking, "When a CPU of high priority takes tasks from others.";
    runnable_boost: RunnableBoost, "Whether tasks that wait count as utilisation.";
    uclamp: Uclamp, "Who may ask for utilization clamps.";
    task_fit: TaskFit, "Whether a task fits a CPU, where clamps are in use.";
    energy_aware: EnergyAware, "How wake-ups go by energy where CPUs differ.";
    energy_model: EnergyModel, "What operating points cost.";
    pressure: Pressure, "What is made of capacity that heat takes.";
    rt_fit: RtFit, "Where real-time tasks go on unequal CPUs, where clamps are in use.";
    schedstat: SchedstatText, "How /proc/schedstat is printed.";
    cpufreq_hook: FreqHook, "Whose change of utilisation makes a governor look.";
    cpufreq_rate_limit: RateLimit, "The least time between two changes of frequency.";
    cpufreq_work: FreqWork, "Whether schedutil looks while a request is on its way.";
    cpufreq_util: FreqUtil, "The utilisation that schedutil goes by.";
    cpufreq_margin: FreqMargin, "Where schedutil puts its quarter of room.";
    cpufreq_iowait_boost: IowaitBoost, "What a task that waited for a device asks for.";
}

fn names<S>(variants: &'static [(&'static str, S)]) -> Vec<&'static str> {
    variants.iter().map(|row| row.0).collect()
}

impl Profile {
    /// A mainline kernel (or the recorded stable one of that version); refused if it is not modelled yet.
    pub fn kernel(version: KernelVersion) -> Result<Profile, ProfileError> {
        match known::KERNELS.iter().find(|known| known.version == version) {
            Some(known) if known.modelled => Ok(Profile::query(version)),
            Some(_) => Err(ProfileError::not_modelled_yet(&version.to_string())),
            None => Err(ProfileError::unknown_profile(&version.to_string())),
        }
    }

    /// Reads a name such as `v4.20+align-vruntime`: a kernel and overlays.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let mut parts = text.trim().split('+');
        let base = parts.next().unwrap_or_default();
        let version = KernelVersion::parse(base).ok_or_else(|| ProfileError::unknown_profile(base))?;
        parts.try_fold(Profile::kernel(version)?, Profile::with_overlay)
    }

    /// Reads a name as [`Profile::parse`] does, for a look at its state and not for a run: kernels between those that can be run, too.
    pub fn parse_to_show(text: &str) -> Result<Profile, ProfileError> {
        match KernelVersion::parse(text.trim()) {
            Some(version) if known::has_tables(version) => Ok(Profile::query(version)),
            _ => Profile::parse(text),
        }
    }

    /// All names that [`Profile::parse`] knows, with those that it refuses as not modelled yet.
    pub fn known() -> Vec<Known> {
        known::all()
    }

    /// Adds an overlay: an unmerged patch, under the name of [`Profile::known`].
    pub fn with_overlay(mut self, name: &str) -> Result<Profile, ProfileError> {
        let overlay = known::overlay(name).ok_or_else(|| ProfileError::unknown_overlay(name))?;
        if !overlay.modelled() {
            return Err(ProfileError::not_modelled_yet(&format!("{}+{name}", self.name)));
        }
        if self.base != overlay.base {
            return Err(ProfileError::wrong_base(name, &self.name, overlay.base));
        }
        if self.name.split('+').any(|part| part == name) {
            return Err(ProfileError::twice(name, &self.name));
        }
        if let Some(first) = overlay.over.filter(|first| self.name.split('+').all(|part| part != *first)) {
            return Err(ProfileError::needs_overlay(name, first, overlay.base));
        }
        for (seam, variant) in overlay.seams {
            self.set_seam(seam, variant)?;
        }
        for &(feat, on) in overlay.feats {
            self.known_feats.set(feat, true);
            self.feats.set(feat, on);
        }
        self.name = format!("{}+{name}", self.name);
        rules::check(self)
    }

    /// Sets a switch as in the kernel: `NEXT_BUDDY` on, `NO_NEXT_BUDDY` off. One that does nothing here stays as the kernel has it.
    pub fn with_feature(mut self, text: &str) -> Result<Profile, ProfileError> {
        let (off, name) = match text.strip_prefix("NO_") {
            Some(name) => ("NO_", name),
            None => ("", text),
        };
        let known = Feat::by_name(name).filter(|&feat| self.has_feature(feat));
        let feat = known.ok_or_else(|| ProfileError::unknown_feature(off, name, &self))?;
        let turned = feat.row().at(self.base).is_some_and(|default| default != off.is_empty());
        if let Some(sentence) = self.idle_switch(feat).filter(|_| turned) {
            return Err(ProfileError::idle_switch(name, sentence, &self));
        }
        self.feats.set(feat, off.is_empty());
        rules::check(self)
    }

    /// Whether there is such a switch: in the kernel, or from an overlay.
    pub fn has_feature(&self, feat: Feat) -> bool {
        self.known_feats.has(feat)
    }

    /// Sets a tunable by its kernel name, in ns or with a unit.
    pub fn with_tunable(mut self, name: &str, value: &str) -> Result<Profile, ProfileError> {
        let outcome = self.tunables.set(self.base, name, value);
        outcome.map_err(|error| ProfileError::tunable(name, value, error, &self))?;
        Ok(self)
    }

    /// Sets one seam to one of its variants.
    pub fn with_seam(mut self, seam: &str, variant: &str) -> Result<Profile, ProfileError> {
        self.set_seam(seam, variant)?;
        rules::check(self)
    }

    /// Everything that the profile says: seams, the switches that the kernel has, tunables that were set.
    pub fn describe(&self) -> Vec<Row> {
        let mut rows = self.seam_rows();
        let present = Feat::ALL.iter().filter(|&&feat| self.has_feature(feat));
        rows.extend(present.map(|&feat| self.feature_row(feat)));
        rows.extend(self.tunables.overrides().map(|(row, value)| Row {
            name: row.name,
            value: value.to_string(),
            sentence: row.sentence,
        }));
        rows
    }

    /// What differs in `other`.
    pub fn diff(&self, other: &Profile) -> Vec<DiffRow> {
        let (mine, theirs) = (self.describe(), other.describe());
        let missing = |row: &Row| Row { name: row.name, value: "-".to_string(), sentence: "Not there, or not set." };
        let find = |rows: &[Row], row: &Row| rows.iter().find(|r| r.name == row.name).cloned().unwrap_or_else(|| missing(row));
        let added = theirs.iter().filter(|row| mine.iter().all(|r| r.name != row.name));
        mine.iter()
            .chain(added)
            .map(|row| DiffRow { name: row.name, from: find(&mine, row), to: find(&theirs, row) })
            .filter(|row| row.from.value != row.to.value)
            .collect()
    }

    /// What kernels do where switches of this profile contradict each other: a sentence each, to be shown to the user.
    pub fn contradictions(&self) -> impl Iterator<Item = &'static str> + '_ {
        rules::contradictions(self)
    }

    fn feature_row(&self, feat: Feat) -> Row {
        let value = if self.feats.has(feat) { "on" } else { "off" };
        Row { name: feat.row().name, value: value.to_string(), sentence: feat.row().sentence }
    }
}
