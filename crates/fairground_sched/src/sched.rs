//! The tables of the scheduler, how they come to be, and what must always hold of them.

use crate::core::{RqLines, SchedInfo, Warned};
use crate::cpufreq::Cpufreq;
use crate::ctx::SCHED_CLOCK_AT_START;
use crate::deadline::{DlRoot, DlRq};
use crate::fair::balance::{BalanceWork, GroupNode, GroupStats, Nohz};
use crate::fair::bandwidth::Bandwidth;
use crate::fair::group::TaskGroup;
use crate::fair::select_task_rq::Searches;
use crate::fair::tunables::EffectiveTunables;
use crate::fair::weight::LoadWeight;
use crate::fair::{CfsRq, Energy, HrtickTimer, LastSlice, SchedEntity, WakeeFlips};
use crate::pelt::{RqClocks, SchedAvg};
use crate::profile::{Profile, ProfileError};
use crate::rq::{ClockSkip, Rq, RqBalance};
use crate::rt::{RtEntity, RtRoot, RtRq};
use crate::task::{Task, TaskState};
use crate::topology::Topology;
use crate::uclamp::{Clamps, Uclamps};
use fairground_model::features::FeatWrite;
use fairground_model::{MachineView, Policy, RqStats, SisStats, TaskSpec};
use fairground_stdx::{
    CfsRqId, CpuId, CpuMask, DeadlineLine, IndexVec, Log2Histogram, Ns, Rare, RngStream, SdId, SeId, StreamKind, TaskId, TgId,
};
use std::sync::Arc;

/// The scheduler of a machine. One value: it can be cloned, compared and continued.
#[derive(Clone)]
pub struct Sched {
    pub(crate) profile: Profile,
    pub(crate) topology: Topology,
    pub(crate) tunables: EffectiveTunables,
    pub(crate) rqs: IndexVec<CpuId, Rq>,
    pub(crate) groups: IndexVec<TgId, TaskGroup>,
    pub(crate) tasks: IndexVec<TaskId, Task>,
    /// The mask of CPUs that a task got last: most tasks get the same.
    last_mask: Arc<CpuMask>,
    pub(crate) ses: IndexVec<SeId, SchedEntity>,
    pub(crate) pelt_se: IndexVec<SeId, SchedAvg>,
    pub(crate) cfs_rqs: IndexVec<CfsRqId, CfsRq>,
    pub(crate) pelt_cfs: IndexVec<CfsRqId, SchedAvg>,
    /// Quotas of groups.
    pub(crate) bandwidth: Bandwidth,
    /// What the real-time queues of all CPUs share.
    pub(crate) rt: RtRoot,
    /// Some CPU has, or had, lost capacity.
    pub(crate) has_pressure: bool,
    /// Energy-aware placement.
    pub(crate) energy: Energy,
    /// Utilization clamps.
    pub(crate) uclamps: Uclamps,
    /// Which warnings there were.
    pub(crate) warned: Warned,
    /// Another core decides.
    pub(crate) led: bool,
    /// Frequencies and who chooses them.
    pub(crate) cpufreq: Cpufreq,
    /// What the deadline queues of all CPUs share.
    pub(crate) dl_root: DlRoot,
    /// The balance that each CPU is in the middle of; the table is out while one of them goes on.
    pub(crate) balance_works: IndexVec<CpuId, BalanceWork>,
    /// Statistics of groups for balance.
    pub(crate) group_stats: GroupStats,
    /// No-tick balance.
    pub(crate) nohz: Nohz,
    /// Some CPU balances a domain that only one at a time may balance.
    pub(crate) balancing: bool,
    /// The dice of newidle balance, by CPU.
    pub(crate) newidle_dice: IndexVec<CpuId, RngStream>,
    /// The CPUs that are idle ([`Sched::idle_cpu`]).
    pub(crate) idle_cpus: CpuMask,
    /// Who has which run queue in its cache.
    pub(crate) lines: RqLines,
    /// The search for an idle CPU that each CPU was last in the middle of.
    pub(crate) searches: Searches,
    /// How long searches of cache domains took, in us.
    pub(crate) idle_search_times: Log2Histogram,
    /// Some task has had policy SCHED_IDLE, or some group was idle.
    pub(crate) has_idle_policy: bool,
    /// Whether queues tell their groups their load when a record says so, and not once a millisecond.
    pub(crate) tells_by_record: bool,
    /// Ticks and switches may go the short way ([`Sched::choose_short_ways`]).
    pub(crate) plain_ticks: bool,
    pub(crate) plain_switches: bool,
    pub(crate) nr_switches: u64,
    pub(crate) nr_wakeups: u64,
    pub(crate) nr_migrations: u64,
}

impl Sched {
    /// A scheduler for the CPUs of `machine`, all idle, and no task.
    pub fn new(profile: Profile, machine: &MachineView) -> Sched {
        let nr_cpus = machine.cpus.len();
        let tunables = profile.tunables.at(nr_cpus as u32);
        let clamps = Clamps { min: tunables.util_clamp_min, max: tunables.util_clamp_max };
        let mut sched = Sched {
            tunables,
            uclamps: Uclamps::new(nr_cpus, clamps, tunables.util_clamp_min_rt_default),
            topology: Topology::build(&profile, machine),
            has_pressure: false,
            energy: Energy::new(&profile, tunables.energy_aware, machine),
            cpufreq: Cpufreq::new(&profile, machine),
            profile,
            rqs: IndexVec::new(),
            groups: IndexVec::new(),
            tasks: IndexVec::new(),
            last_mask: Arc::new(CpuMask::EMPTY),
            ses: IndexVec::new(),
            pelt_se: IndexVec::new(),
            cfs_rqs: IndexVec::new(),
            pelt_cfs: IndexVec::new(),
            bandwidth: Bandwidth::default(),
            rt: RtRoot::default(),
            warned: Warned::default(),
            led: false,
            dl_root: DlRoot::default(),
            balance_works: (0..nr_cpus).map(|_| BalanceWork::None).collect(),
            group_stats: GroupStats::new(),
            nohz: Nohz::new(),
            balancing: false,
            newidle_dice: newidle_dice(nr_cpus, 0),
            idle_cpus: CpuMask::first_n(nr_cpus),
            lines: RqLines::new(),
            searches: Searches::new(nr_cpus),
            idle_search_times: Log2Histogram::new(),
            has_idle_policy: false,
            tells_by_record: false,
            plain_ticks: false,
            plain_switches: false,
            nr_switches: 0,
            nr_wakeups: 0,
            nr_migrations: 0,
        };
        sched.topology.tell_that_all_is_idle();
        for index in 0..nr_cpus {
            let cpu = CpuId::new(index as u32);
            // A CPU's own queue is used all the time, one of a group perhaps never.
            let cfs = sched.cfs_rqs.push(CfsRq { deadlines: DeadlineLine::with_room(), ..CfsRq::new(cpu) });
            sched.pelt_cfs.push(SchedAvg::default());
            sched.rqs.push(new_rq(cfs, sched.topology.capacity_orig[cpu], machine.cpus[cpu].clock_ahead));
        }
        (0..machine.policies.len()).for_each(|row| sched.cpufreq_update_pressure(row));
        sched
    }

    /// What is random in the scheduler follows from `seed` from now on.
    pub fn set_seed(&mut self, seed: u64) {
        self.newidle_dice = newidle_dice(self.rqs.len(), seed);
        self.topology.shift_balance_phases(seed);
        self.bandwidth.seed = seed;
    }

    /// From now on looks at run queues cost more where others have changed them; with `contend` also where others are at
    /// the same time.
    pub fn track_lines(&mut self, machine: &MachineView, contend: bool) {
        self.lines.track(machine, contend);
    }

    /// Counters of the searches for an idle CPU, of all CPUs.
    pub fn sis_stats(&self) -> SisStats {
        let mut all = SisStats::default();
        self.rqs.iter().for_each(|rq| all.add(&rq.sis));
        all
    }

    /// How many CPUs a search of the cache domain of `cpu` may look at, as the last balance of it has found; `None` where
    /// nothing is shared.
    ///
    /// Kernel: fair.c update_idle_cpu_scan(), v6.0–
    pub fn nr_idle_scan(&self, cpu: CpuId) -> Option<u32> {
        Some(self.topology.shared[self.topology.cpus[cpu].sd_llc_shared?].nr_idle_scan)
    }

    /// The same of a domain.
    pub fn nr_idle_scan_of(&self, sd: SdId) -> Option<u32> {
        self.topology.domains[sd].shared.map(|shared| self.topology.shared[shared].nr_idle_scan)
    }

    /// How long searches of cache domains for an idle CPU took, in us.
    ///
    /// Kernel: fair.c select_idle_cpu(), v4.12–
    pub fn idle_search_times(&self) -> &Log2Histogram {
        &self.idle_search_times
    }

    /// Tasks of these groups are to come: makes room for their rows, and for those of the queues that they use as long as they move
    /// little, at most one for each level above a task. A table that grows is copied, and for that moment held twice.
    pub fn make_room(&mut self, tasks: impl Iterator<Item = Option<TgId>>) {
        let levels = |group| std::iter::successors(group, |&group: &TgId| self.groups[group].parent).count();
        let (nr_tasks, above) = tasks.fold((0, 0), |(tasks, above), group| (tasks + 1, above + levels(group)));
        let queues = above.min(self.groups.len() * self.rqs.len());
        self.tasks.reserve(nr_tasks);
        self.ses.reserve(nr_tasks + queues);
        self.pelt_se.reserve(nr_tasks + queues);
        self.cfs_rqs.reserve(queues);
        self.pelt_cfs.reserve(queues);
    }

    /// Adds a task of that description, not forked yet. `allowed` are its CPUs, at least one.
    pub fn add_task(&mut self, spec: &TaskSpec, allowed: CpuMask) -> TaskId {
        self.note_policy(spec.policy);
        let cpu = spec.first_cpu.or_else(|| allowed.first()).expect("invariant: a task has at least one allowed CPU");
        let load = load_weight(spec.policy, spec.nice);
        let mut avg = SchedAvg::default();
        // Kernel threads have slept since long before the run, and of what they used nothing is left.
        if !spec.kthread {
            self.profile.pelt.init_task(&mut avg, self.profile.scale_load_down.apply(load.weight()));
        }
        // That may make entities of groups, whose rows come first in both tables.
        let queue = self.group_queue(spec.group, cpu);
        self.pelt_se.push(avg);
        let se = self.ses.push(SchedEntity::new(queue, load, self.tunables.base_slice_ns));
        if let Some(slice) = spec.slice.and_then(|slice| self.profile.task_slice.granted(slice)) {
            (self.ses[se].slice, self.ses[se].custom_slice) = (slice.0, true);
        }
        let allowed = self.shared_mask(allowed);
        let task = self.tasks.push(Task {
            se,
            cpu,
            group: spec.group,
            state: TaskState::New,
            sleep_state: None,
            in_iowait: false,
            on_cpu: false,
            sched_remote_wakeup: false,
            wakes_sync: false,
            policy: spec.policy.at_birth(),
            asks_for: Some(spec.policy).filter(|policy| policy.deadline().is_some()).map(Box::new),
            nice: spec.nice,
            cpus_allowed: allowed,
            migration_pending: None,
            throttle_work: false,
            throttled: false,
            throttle_next: None,
            kthread: spec.kthread,
            wakees: WakeeFlips::default(),
            recent_used_cpu: cpu,
            mm: spec.mm,
            group_node: GroupNode::default(),
            rt: RtEntity::default(),
            dl: Rare::default(),
            sched_info: SchedInfo::default(),
        });
        self.add_task_clamps(spec.clamp);
        (self.ses[se].task, self.ses[se].parent) = (Some(task), self.cfs_rqs[queue].se);
        task
    }

    /// The mask to be kept by a task, shared with who got the same one just before.
    pub(crate) fn shared_mask(&mut self, cpus: CpuMask) -> Arc<CpuMask> {
        if *self.last_mask != cpus {
            self.last_mask = Arc::new(cpus);
        }
        Arc::clone(&self.last_mask)
    }

    /// Switches a feature, as a write to the kernel's debugfs does.
    pub fn set_feature(&mut self, FeatWrite { feat, on }: FeatWrite) {
        assert!(self.profile.has_feature(feat), "invariant: features are checked before the run begins: {feat:?}");
        self.profile.feats.set(feat, on);
        self.group_stats.forget();
    }

    /// From now on an overlay holds too: what would it have done from here? Only one that changes rules, and not what
    /// the tables mean, can join a run.
    pub fn add_overlay(&mut self, name: &str) -> Result<(), ProfileError> {
        self.change_profile(self.profile.clone().with_overlay(name)?, name)
    }

    /// From now on another form of the profile holds, with other features or tunables: as writes to the kernel's
    /// debugfs. `change` is what it is called; it cannot join a run if it changes what the tables mean.
    pub fn change_profile(&mut self, changed: Profile, change: &str) -> Result<(), ProfileError> {
        // Where throttled tasks are is another thing by each rule.
        let meaning = |profile: &Profile| {
            let load = (profile.pelt, profile.pelt_clock, profile.scale_load_down);
            (load, profile.pick, profile.place, profile.throttle)
        };
        if meaning(&changed) != meaning(&self.profile) {
            return Err(ProfileError::not_in_mid_run(change));
        }
        let nr_online = self.rqs.iter().filter(|rq| rq.online).count();
        self.tunables = changed.tunables.at(nr_online as u32);
        let counts_otherwise = changed.group_load != self.profile.group_load;
        self.profile = changed;
        if counts_otherwise {
            self.restart_runnable_load();
        }
        self.group_stats.forget();
        Ok(())
    }

    /// All CPUs in order of their numbers.
    pub fn cpu_ids(&self) -> impl Iterator<Item = CpuId> + use<> {
        self.rqs.ids()
    }
    /// All tasks in order of their rows.
    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        self.tasks.ids()
    }
    /// All groups in order of their rows, removed ones too.
    pub fn group_ids(&self) -> impl Iterator<Item = TgId> + use<> {
        self.groups.ids()
    }
    /// How many groups there are, removed ones too.
    pub fn nr_groups(&self) -> usize {
        self.groups.len()
    }
    /// The profile in force.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
    /// A task.
    pub fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task]
    }
    /// The scheduling domains.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
    /// A CPU's run queue.
    pub fn rq(&self, cpu: CpuId) -> &Rq {
        &self.rqs[cpu]
    }
    /// The entity of a task.
    pub fn se(&self, task: TaskId) -> &SchedEntity {
        &self.ses[self.tasks[task].se]
    }
    /// What a CPU has for fair tasks, as balance has found it last.
    pub fn capacity_for_fair(&self, cpu: CpuId) -> u64 {
        self.capacity_of(cpu)
    }
    /// Load tracking of a task.
    pub fn se_avg(&self, task: TaskId) -> &SchedAvg {
        &self.pelt_se[self.tasks[task].se]
    }
    /// The root queue of a CPU.
    pub fn cfs_rq(&self, cpu: CpuId) -> &CfsRq {
        &self.cfs_rqs[self.rqs[cpu].cfs]
    }
    /// Load tracking of a CPU's root queue.
    pub fn cfs_avg(&self, cpu: CpuId) -> &SchedAvg {
        &self.pelt_cfs[self.rqs[cpu].cfs]
    }
    /// A queue: the root's of a CPU, or that of a group on it ([`Sched::group_on`]).
    pub fn queue(&self, queue: CfsRqId) -> &CfsRq {
        &self.cfs_rqs[queue]
    }
    /// Load tracking of a queue.
    pub fn queue_avg(&self, queue: CfsRqId) -> &SchedAvg {
        &self.pelt_cfs[queue]
    }
    /// All entities, of tasks and of groups.
    pub fn entity_ids(&self) -> impl Iterator<Item = SeId> + use<> {
        self.ses.ids()
    }
    /// An entity, of a task or of a group.
    pub fn entity(&self, se: SeId) -> &SchedEntity {
        &self.ses[se]
    }
    /// Load tracking of an entity.
    pub fn entity_avg(&self, se: SeId) -> &SchedAvg {
        &self.pelt_se[se]
    }
    /// Context switches so far.
    pub fn nr_switches(&self) -> u64 {
        self.nr_switches
    }
    /// Wake-ups so far.
    pub fn nr_wakeups(&self) -> u64 {
        self.nr_wakeups
    }
    /// Migrations so far.
    pub fn nr_migrations(&self) -> u64 {
        self.nr_migrations
    }
}

fn newidle_dice(nr_cpus: usize, seed: u64) -> IndexVec<CpuId, RngStream> {
    (0..nr_cpus as u32).map(|cpu| RngStream::new(seed, StreamKind::NewidleBalance, cpu)).collect()
}

/// How long a wake list grows without an allocation.
const WAKE_LIST: usize = 16;

fn new_rq(cfs: CfsRqId, capacity: u32, clock_ahead: Ns) -> Rq {
    let start = SCHED_CLOCK_AT_START + clock_ahead.0;
    Rq {
        curr: None,
        cfs,
        rt: RtRq::default(),
        dl: DlRq::default(),
        clocks: RqClocks { clock: start, clock_task: start, clock_pelt: start, ..RqClocks::default() },
        clock_skip: ClockSkip::default(),
        told_clock: 0,
        irq_time: Ns::ZERO,
        prev_irq_time: Ns::ZERO,
        steal_time: Ns::ZERO,
        prev_steal_time: Ns::ZERO,
        nr_running: 0,
        need_resched: false,
        need_resched_lazy: false,
        hrtick: HrtickTimer::default(),
        last_slice: LastSlice::default(),
        last_seen_need_resched: 0,
        idle_polling: false,
        stop_running: false,
        stopper_leaves: false,
        sets_all: false,
        idle_stop_work: false,
        online: true,
        takedown_due: false,
        push_off: None,
        stopper_queued: false,
        server_queued: false,
        wake_list: Vec::with_capacity(WAKE_LIST),
        stopper_on_list: false,
        last_spread: 0,
        cfsb_csd: Vec::new(),
        leaf_cfs_rqs: Vec::new(),
        leaf_branch: None,
        lb: RqBalance::new(capacity),
        stats: RqStats::default(),
        sis: SisStats::default(),
        avg_irq: SchedAvg::default(),
        avg_rt: SchedAvg::default(),
        avg_dl: SchedAvg::default(),
        avg_hw: SchedAvg::default(),
        hw_pressure: 0,
        cpufreq_pressure: 0,
    }
}

/// The weight of a policy and nice value; a real-time task has that of its nice value, for when it returns.
///
/// Kernel: core.c set_load_weight(), v4.12–
pub(crate) fn load_weight(policy: Policy, nice: i8) -> LoadWeight {
    match policy {
        Policy::Idle => LoadWeight::idle_policy(),
        Policy::Normal | Policy::Batch | Policy::Fifo(_) | Policy::RoundRobin(_) | Policy::Deadline(_) => LoadWeight::nice(nice),
    }
}
