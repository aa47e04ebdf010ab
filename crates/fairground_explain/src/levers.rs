//! What could be changed against a cause: the change that takes the cause itself away, and changes that people can make.

use super::cause::Cause;
use super::one::{Explained, is_crowding};
use super::own::is_of_kind;
use super::parts::{Keeps, Who};
use super::what_if::{CPUS, NO_DEEP_IDLE, NO_HOLDER_PREEMPTION, NO_INTERRUPTS, NO_STEAL, QUEUED_LOAD};
use fairground_model::{DEFAULT_SHARES, Policy, Start, TaskSet, TaskSpec, event};
use fairground_scenario::Scenario;
use fairground_sched::Profile;
use fairground_sched::profile::{Known, KnownKind};
use fairground_sim::GaveWay;
use fairground_stdx::{CpuMask, Ns, TaskId, TgId};

/// The greatest HZ that a kernel is built with.
const HZ_MOST: u32 = 1000;
/// Of the tasks that ran instead so many are taken away together.
const OTHERS_AT_MOST: usize = 32;
/// Credit follows from the latency: of 1 ms, half a millisecond is the most that a sleeper gets.
const SHORT_LATENCY: &str = "sched_latency_ns=1000000";

/// The names that levers speak of.
pub(super) struct Named<'a> {
    scenario: &'a Scenario,
    set: &'a TaskSet,
    one: &'a Explained,
    /// Whether a task was named.
    named: bool,
}

impl<'a> Named<'a> {
    pub(super) fn new(scenario: &'a Scenario, set: &'a TaskSet, one: &'a Explained, named: bool) -> Named<'a> {
        Named { scenario, set, one, named }
    }
    fn task(&self) -> &str {
        &self.set.tasks[self.one.delay.task].name
    }
    fn name(&self, task: TaskId) -> &str {
        self.set.tasks.get(task).map_or("?", |spec| spec.name.as_str())
    }
    /// Those who share the work of the late one: of a request, or of a service that is asked about as a whole, all who run the
    /// same program; else nobody but itself.
    fn team(&self) -> Vec<&str> {
        let own = &self.set.tasks[self.one.delay.task];
        if self.one.delay.request.is_none() && (self.named || self.scenario.service().is_none()) {
            return vec![own.name.as_str()];
        }
        let alike = self.set.tasks.iter().filter(|spec| spec.program == own.program);
        let mut names: Vec<&str> = alike.map(|spec| spec.name.as_str()).collect();
        names.dedup();
        names.truncate(OTHERS_AT_MOST);
        names
    }
    /// A change of each of them.
    fn of_team(&self, text: &str) -> String {
        let acts: Vec<String> = self.team().iter().map(|name| text.replace("{task}", name)).collect();
        acts.join("; ")
    }
    /// Whether one of the tasks that a change names is forked: it cannot be changed before that.
    pub(super) fn names_forked(&self, text: &str) -> bool {
        let is_named = |spec: &TaskSpec| text.split("; ").filter_map(|act| act.split(' ').nth(1)).any(|name| name == spec.name);
        self.set.tasks.iter().any(|spec| spec.start == Start::Forked && is_named(spec))
    }
    /// Whether the program of a task makes changes of this kind itself, so that none from outside lasts.
    pub(super) fn sets_itself(&self, text: &str) -> bool {
        let sets = |part: &str| {
            let Some((kind, rest)) = part.trim().split_once(' ') else { return false };
            let mut tasks = self
                .set
                .tasks
                .iter()
                .filter(|spec| rest.strip_prefix(spec.name.as_str()).is_some_and(|rest| rest.starts_with(' ')));
            tasks.any(|spec| self.set.programs[spec.program].code.iter().any(|step| is_of_kind(step, kind)))
        };
        text.split(';').any(sets)
    }
    /// The tasks that ran instead, had the lock, or ran instead of who had it: each once, the longest first. Of a crowd those too that
    /// run the same programs: next time others of them have their turns.
    fn others(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let ran = self.one.parts.tasks();
        let alike = self.one.parts.is_many_turns().then(|| {
            let is_alike =
                |spec: &TaskSpec| ran.iter().any(|&task| self.set.tasks.get(task).is_some_and(|row| row.program == spec.program));
            self.set.tasks.iter_enumerated().filter(move |row| is_alike(row.1)).map(|row| row.0)
        });
        for task in ran.iter().copied().chain(alike.into_iter().flatten()) {
            let name = self.name(task);
            if !self.team().contains(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
        names.truncate(OTHERS_AT_MOST);
        names
    }
    /// Those that had the CPU of a lock's holder; none that bears its name or the late task's, which would yield with it.
    fn instead_of_holders(&self) -> Vec<&str> {
        let instead = self.one.parts.rows().iter().filter_map(|part| match part.who {
            Who::Holder(_, Keeps::Task(instead, _)) => Some(self.name(instead)),
            _ => None,
        });
        let holders: Vec<&str> = self.holders().into_iter().map(|holder| self.name(holder)).collect();
        let mut names: Vec<&str> = Vec::new();
        for name in instead.filter(|name| *name != self.task() && !holders.contains(name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
    /// Whether holders of locks gave way at exits from the kernel for most of their time.
    fn holders_gave_way_at_exits(&self) -> bool {
        let time = |at_exit: bool| {
            let places = self.one.parts.rows().iter().filter_map(|part| match part.who {
                Who::Holder(_, Keeps::Task(_, Some(place))) => Some((part.time.0, place)),
                _ => None,
            });
            let is_exit = |place| matches!(place, GaveWay::AfterFault | GaveWay::AfterSyscall);
            places.filter(|row| is_exit(row.1) == at_exit).map(|row| row.0).sum::<u64>()
        };
        time(true) > time(false)
    }
    /// The other tasks that go before all fair ones.
    fn other_real_time(&self) -> Vec<&str> {
        let is_urgent = |policy: &Policy| policy.is_rt() || matches!(policy, Policy::Deadline { .. });
        let is_other = |spec: &&TaskSpec| is_urgent(&spec.policy) && spec.name != self.task();
        self.set.tasks.iter().filter(is_other).map(|spec| spec.name.as_str()).take(OTHERS_AT_MOST).collect()
    }
    fn holders(&self) -> Vec<TaskId> {
        let holder = |who| if let Who::Holder(holder, _) = who { Some(holder) } else { None };
        self.one.parts.rows().iter().filter_map(|part| holder(part.who)).collect()
    }
    /// The groups whose quota was used up.
    fn throttled(&self) -> Vec<TgId> {
        let mut groups: Vec<TgId> = Vec::new();
        for part in self.one.parts.rows() {
            let found = match part.who {
                Who::Quota(group) => group,
                Who::Holder(_, Keeps::Quota(group)) => group,
                _ => None,
            };
            groups.extend(found.filter(|group| !groups.contains(group)));
        }
        groups
    }
    fn path(&self, group: TgId) -> &str {
        self.set.groups.get(group).map_or("/", |spec| spec.name.as_str())
    }
    /// All CPUs but those that stand for other machines.
    fn cpus(&self) -> CpuMask {
        let all = CpuMask::first_n(self.scenario.machine.cpus.len());
        if self.set.tasks[self.one.delay.task].measured { all.and_not(&self.one.reserved) } else { all }
    }
    fn offline(&self) -> CpuMask {
        self.one.offline
    }

    /// What takes a cause away, each as [`super::Change::parse`] reads it; nothing if no change does: then the account of the
    /// time stands for itself.
    pub(super) fn removals(&self, cause: Cause) -> Vec<String> {
        let task = self.task();
        let ordinary = |names: &[&str]| all(names.iter().map(|name| format!("policy {name} other")).collect());
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<String>>();
        let idle = |names: Vec<&str>| all(names.iter().map(|name| format!("policy {name} idle")).collect());
        match cause {
            Cause::Throttled | Cause::LockHolderThrottled => {
                // The second is that of cgroup v1; what a scenario does not have is not tried.
                let unlimited = |file: &str, value: &str| {
                    all(self.throttled().into_iter().map(|group| format!("{file} {} {value}", self.path(group))).collect())
                };
                [unlimited("cpu.max", "max"), unlimited("cpu.cfs_quota_us", "-1")].concat()
            }
            Cause::Burst => all(self.bursts()),
            Cause::QueueLength | Cause::EarlierDeadline | Cause::NotEligible | Cause::KernelThread => idle(self.others()),
            Cause::HeavierTask => self.equal_weights(),
            Cause::IdlePolicy => [self.busy_groups(), vec![format!("policy {task} other")]].concat(),
            Cause::BatchPolicy => vec![format!("policy {task} other")],
            // Where one of them makes room for the next, all must go.
            Cause::RealTime | Cause::Deadline => {
                let all = [self.others(), self.other_real_time()];
                let yields = all.iter().flat_map(|names| idle(names.clone())).collect::<Vec<_>>();
                all.iter().flat_map(|names| ordinary(names)).chain(yields).collect()
            }
            Cause::SleeperCredit => texts(&["GENTLE_FAIR_SLEEPERS", SHORT_LATENCY]),
            Cause::WithinWakeupGranularity => texts(&["sched_wakeup_granularity_ns=0"]),
            Cause::NoWakeupPreemption => texts(&["WAKEUP_PREEMPTION"]),
            Cause::ShorterSlice => vec![format!("slice {task} 100us"), "NO_PREEMPT_SHORT".to_string()],
            Cause::Protected => texts(&["NO_RUN_TO_PARITY"]),
            Cause::DelayedDequeue => texts(&["NO_DELAY_DEQUEUE", "NO_DELAY_DEQUEUE; NO_PLACE_LAG"]),
            Cause::Buddy => texts(&["NO_NEXT_BUDDY", "NO_LAST_BUDDY"]),
            Cause::TickGranularity => texts(&["HRTICK"]).into_iter().chain(self.finer_ticks()).collect(),
            Cause::KernelSection => texts(&["preemption=full"]),
            Cause::TimerLate => vec![format!("slack {task} 0ns")],
            Cause::IdleExit => texts(&[NO_DEEP_IDLE]),
            Cause::Interrupt => texts(&[NO_INTERRUPTS]),
            Cause::Stolen => texts(&[NO_STEAL]),
            // Where holders give way is what a preemption model decides.
            Cause::LockHolderPreempted => {
                let model = self.holders_gave_way_at_exits().then(|| "preemption=full".to_string());
                [model.into_iter().collect(), idle(self.instead_of_holders()), texts(&[NO_HOLDER_PREEMPTION])].concat()
            }
            Cause::CpuOffline => vec![format!("online {}", self.offline())],
            Cause::Affinity => vec![self.of_team(&format!("affinity {{task}} {}", self.cpus()))],
            Cause::SearchCut => [texts(&["NO_SIS_PROP", "NO_SIS_UTIL"]), self.to_idle_cpu()].concat(),
            Cause::OtherCache | Cause::IdleCpuTaken => {
                [texts(&["NO_WA_WEIGHT", "NO_WA_IDLE", "NO_TTWU_QUEUE"]), self.to_idle_cpu()].concat()
            }
            Cause::MisledStatistic => texts(&[QUEUED_LOAD, "NO_LB_BIAS"]),
            Cause::NewidleGate | Cause::CacheHot => texts(&["sched_migration_cost_ns=0"]),
            Cause::NewidleOff => texts(&["NO_NI_RANDOM"]),
            Cause::EnergyFirst
            | Cause::NotDue
            | Cause::OtherBalances
            | Cause::NoImbalance
            | Cause::OtherQueue
            | Cause::NotMovable
            | Cause::NobodyWaits
            | Cause::NoBalance => self.to_idle_cpu(),
            Cause::RtThrottled => {
                let whole_period = self.scenario.profile.tunables.rt_limit().period_ns / 1000;
                let limits = [format!("sched_rt_runtime_us={whole_period}"), "RT_RUNTIME_SHARE".to_string()];
                [ordinary(&self.other_real_time()), limits.to_vec(), vec![format!("policy {task} other")]].concat()
            }
            Cause::DeadlineThrottled => vec![format!("policy {task} fifo:50")],
            Cause::PreemptOff
            | Cause::IrqsOff
            | Cause::LockHeld
            | Cause::LockHolderAsleep
            | Cause::SpinBackOff
            | Cause::ReschedPending
            | Cause::KernelTime
            | Cause::IpiFlight
            | Cause::WorkersBusy
            | Cause::OnTheWay => Vec::new(),
        }
    }

    /// The groups that stood for the task and were idle are no longer so.
    fn busy_groups(&self) -> Vec<String> {
        let waited = self.one.parts.rows().iter().filter(|part| part.cause == Cause::IdlePolicy).filter_map(|part| part.meeting);
        let mut acts: Vec<String> = Vec::new();
        for meeting in waited {
            if let event::Who::Group(group) = meeting.waited {
                let act = format!("cpu.idle {} 0", self.path(group));
                if !acts.contains(&act) {
                    acts.push(act);
                }
            }
        }
        if acts.is_empty() { acts } else { vec![acts.join("; ")] }
    }

    /// The task on the CPU that stood idle longest.
    fn to_idle_cpu(&self) -> Vec<String> {
        self.one.longest_idle(true).map(|row| format!("affinity {} {}", self.task(), row.cpu)).into_iter().collect()
    }

    /// The entities that were compared get equal weights: those of groups, or the tasks' own.
    fn equal_weights(&self) -> Vec<String> {
        // Of several tasks and groups each is brought to the weight of the waiting one, or to the default.
        let own_nice = self.set.tasks[self.one.delay.task].nice;
        let mut acts: Vec<String> = Vec::new();
        for part in self.one.parts.rows().iter().filter(|part| part.heavier) {
            let Who::Task(other, _) = part.who else { continue };
            let act = match part.meeting.map(|meeting| meeting.ran) {
                Some(event::Who::Group(group)) => format!("cpu.weight {} 100", self.path(group)),
                _ => format!("nice {} {own_nice}", self.name(other)),
            };
            if !acts.contains(&act) {
                acts.push(act);
            }
        }
        [all(acts), self.greater_weight()].concat()
    }

    /// The groups that stood for the task where it was compared get the weight of those that were heavier.
    fn greater_weight(&self) -> Vec<String> {
        let mut acts: Vec<String> = Vec::new();
        for meeting in self.one.parts.rows().iter().filter(|part| part.heavier).filter_map(|part| part.meeting) {
            let event::Who::Group(waited) = meeting.waited else { continue };
            let shares = match meeting.ran {
                event::Who::Group(ran) => self.set.groups.get(ran).map_or(DEFAULT_SHARES, |spec| spec.shares),
                event::Who::Task(_) => DEFAULT_SHARES,
            };
            let act = format!("cpu.weight {} {}", self.path(waited), (shares * 100 / 1024).clamp(1, 10_000));
            if !acts.contains(&act) {
                acts.push(act);
            }
        }
        all(acts)
    }

    /// The largest burst that a kernel takes, which is the quota, for each group that was throttled and has less.
    fn bursts(&self) -> Vec<String> {
        let act = |group| {
            let path = self.path(group);
            let limit = self.scenario.group_limit(path)?;
            let quota = limit.quota.filter(|quota| limit.burst < *quota)?;
            Some(format!("cpu.max.burst {path} {}", quota.0 / 1000))
        };
        self.throttled().into_iter().filter_map(act).collect()
    }

    /// What people can change where a task waits behind others, for its quota, or for a lock.
    pub(super) fn remedies(&self) -> Vec<String> {
        let mut texts = self.bursts();
        for group in self.throttled() {
            let path = self.path(group);
            if let Some(limit) = self.scenario.group_limit(path)
                && let Some(quota) = limit.quota
            {
                texts.push(format!("cpu.max {path} {} {}", quota.0 / 500, limit.period.0 / 1000));
            }
        }
        let named = ["nice {task} -20", "slice {task} 100us", "affinity {task} {all}"];
        texts.extend(named.iter().map(|text| self.of_team(&text.replace("{all}", &self.cpus().to_string()))));
        if !self.scenario.machine.policies.is_empty() {
            texts.push(format!("governor {} performance", self.cpus()));
        }
        for other in self.others().iter().take(2) {
            texts.push(format!("nice {other} 19"));
        }
        for holder in self.holders().iter().take(1) {
            texts.push(format!("nice {} -20", self.name(*holder)));
        }
        if let Some(group) = self.one.group {
            texts.push(format!("cpu.weight {} 10000", self.path(group)));
        }
        let tunables = [
            "HRTICK",
            "sched_min_granularity_ns=100000",
            SHORT_LATENCY,
            "sched_base_slice_ns=100000",
            "sched_wakeup_granularity_ns=0",
            "NO_RUN_TO_PARITY",
            "NEXT_BUDDY",
            "preemption=full",
            "NO_TTWU_QUEUE",
        ];
        texts.extend(tunables.iter().map(|text| text.to_string()));
        if !self.one.misses.is_empty() {
            texts.push(QUEUED_LOAD.to_string());
        }
        texts
    }

    /// The greatest HZ, if this machine has a lower one.
    fn finer_ticks(&self) -> Option<String> {
        (self.scenario.machine.hz < HZ_MOST).then(|| format!("machine.hz={HZ_MOST}"))
    }

    /// Twice as many CPUs, if it waited behind others, or for somebody who did.
    fn more_cpus(&self) -> Option<String> {
        let is_behind = |cause: Cause| is_crowding(cause) || matches!(cause, Cause::LockHolderPreempted | Cause::WorkersBusy);
        let behind = self.one.parts.rows().iter().filter(|part| is_behind(part.cause)).map(|part| part.time.0).sum();
        let twice = self.scenario.machine.cpus.len() * 2;
        (self.one.is_worth(Ns(behind)) && twice <= CpuMask::CAPACITY).then(|| format!("{CPUS}{twice}"))
    }

    /// Changes with which a run must begin: another HZ, the latest kernel, and more CPUs.
    pub(super) fn to_begin_with(&self) -> Vec<String> {
        let is_kernel = |row: &Known| row.kind == KnownKind::Modelled && !row.name.contains('+');
        let latest = Profile::known().into_iter().rfind(is_kernel).map(|row| format!("kernel={}", row.name));
        self.finer_ticks().into_iter().chain(latest).chain(self.more_cpus()).collect()
    }

    /// The overlays that are modelled for this kernel.
    pub(super) fn overlays(&self) -> Vec<String> {
        let rows = Profile::known().into_iter().filter(|row| row.kind == KnownKind::Modelled);
        rows.filter_map(|row| {
            let (base, overlay) = row.name.split_once('+')?;
            (Profile::parse(base).ok()?.base == self.scenario.profile.base).then(|| overlay.to_string())
        })
        .collect()
    }
}

/// All of these as one change; none if there are none.
fn all(acts: Vec<String>) -> Vec<String> {
    if acts.is_empty() { Vec::new() } else { vec![acts.join("; ")] }
}
