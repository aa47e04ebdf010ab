//! A moment of a machine, in plain lists.

use super::Rules;
use fairground_machine::Machine;
use fairground_model::Policy;
use fairground_sched::{Sched, TaskState};
use fairground_stdx::{CpuId, Id, TaskId};

/// A CPU as others see it without taking a lock.
#[derive(Clone, Debug)]
struct Cpu {
    core: u32,
    cluster: Option<u32>,
    llc: u32,
    node: u32,
    online: bool,
    /// A thread of its core still: on line, or leaving and not down yet.
    up: bool,
    /// Neither a task nor the stopper is current.
    runs_idle_task: bool,
    /// A woken task waits for it to queue it.
    pending: bool,
    /// The tasks on its queue: whether each is of policy SCHED_IDLE, or below a group with cpu.idle.
    queued: Vec<bool>,
    /// What counts as a task and is none: the stopper, and the server of the fair class.
    others: usize,
}

/// A wake-up, and everything that a search may see.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) rules: Rules,
    cpus: Vec<Cpu>,
    /// The CPUs that the task may use.
    allowed: Vec<bool>,
    /// It is of policy SCHED_IDLE itself.
    has_idle_policy: bool,
    /// The CPU that wakes it.
    pub(super) this: usize,
    /// Where it ran last.
    pub(super) prev: usize,
    /// Where it ran before that.
    pub(super) recent: usize,
    /// A task wakes it, and that is a kernel thread which may run on one CPU only.
    pub(super) waker_is_bound_kthread: bool,
    pub(super) jiffies: u64,
    /// has_idle_cores of each CPU's cache.
    pub(super) has_idle_cores: Vec<bool>,
    /// How many CPUs of each CPU's cache a search may look at, as the last balance of all of it says.
    pub(super) nr_idle_scan: Vec<u64>,
    /// Mean cost of a search of each CPU's cache domain, ns; 0 if it has none.
    pub(super) avg_scan_cost: Vec<u64>,
    pub(super) avg_idle: u64,
    pub(super) wake_avg_idle: u64,
    pub(super) wake_stamp: u64,
    /// What a look costs, ns.
    pub(super) look_ns: u64,
}

impl State {
    /// What `this` would see at this moment when it woke `task`.
    pub(super) fn of(sched: &Sched, machine: &Machine, rules: Rules, wake: (TaskId, CpuId, bool)) -> State {
        let (task, this, from_task) = wake;
        let row = sched.task(task);
        let estimate = sched.idle_estimate(this);
        let topology = sched.topology();
        let cpus = || sched.cpu_ids();
        let shared = |cpu| topology.cpus[cpu].sd_llc_shared.is_some_and(|id| topology.shared[id].has_idle_cores);
        let scans = |cpu| topology.cpus[cpu].sd_llc_shared.map_or(0, |id| u64::from(topology.shared[id].nr_idle_scan));
        let cost = |cpu| topology.cpus[cpu].sd_llc.map_or(0, |sd| topology.domains[sd].avg_scan_cost);
        let waker = sched.rq(this).curr.filter(|_| from_task).map(|waker| sched.task(waker));
        State {
            rules,
            cpus: cpus().map(|cpu| cpu_of(sched, machine, cpu)).collect(),
            allowed: cpus().map(|cpu| row.cpus_allowed.contains(cpu)).collect(),
            has_idle_policy: row.policy == Policy::Idle,
            this: this.index(),
            prev: row.cpu.index(),
            recent: row.recent_used_cpu.index(),
            waker_is_bound_kthread: waker.is_some_and(|waker| waker.kthread && waker.cpus_allowed.weight() == 1),
            jiffies: 0,
            has_idle_cores: cpus().map(shared).collect(),
            nr_idle_scan: cpus().map(scans).collect(),
            avg_scan_cost: cpus().map(cost).collect(),
            avg_idle: estimate.avg_idle,
            wake_avg_idle: estimate.wake_avg_idle,
            wake_stamp: estimate.wake_stamp,
            look_ns: 0,
        }
    }

    /// Whether a CPU has nothing to do and nothing on its way.
    pub(super) fn is_idle(&self, cpu: usize) -> bool {
        let row = &self.cpus[cpu];
        row.runs_idle_task && self.nr_running(cpu) == 0 && !row.pending
    }

    /// Whether it has tasks, but of policy SCHED_IDLE only.
    fn has_idle_policy_only(&self, cpu: usize) -> bool {
        let queued = &self.cpus[cpu].queued;
        !queued.is_empty() && queued.iter().all(|&idle| idle) && self.cpus[cpu].others == 0
    }

    /// Whether a woken task would run there at once.
    pub(super) fn is_free(&self, cpu: usize) -> bool {
        let for_it = !(self.has_idle_policy && self.rules.idle_policy_is_for_others);
        self.is_idle(cpu) || (self.rules.idle_policy_is_free() && for_it && self.has_idle_policy_only(cpu))
    }

    pub(super) fn nr_running(&self, cpu: usize) -> usize {
        self.cpus[cpu].queued.len() + self.cpus[cpu].others
    }

    pub(super) fn may_use(&self, cpu: usize) -> bool {
        self.allowed[cpu]
    }

    /// Whether the core code lets the task go there.
    pub(super) fn may_go(&self, cpu: usize) -> bool {
        self.allowed[cpu] && self.cpus[cpu].online
    }

    fn where_equal<T: PartialEq>(&self, cpu: usize, key: impl Fn(&Cpu) -> T) -> Vec<usize> {
        let of = key(&self.cpus[cpu]);
        let alike = |other: usize| other == cpu || (key(&self.cpus[other]) == of && self.cpus[other].online);
        if !self.cpus[cpu].online {
            return vec![cpu];
        }
        (0..self.cpus.len()).filter(|&other| alike(other)).collect()
    }

    /// The CPUs of its last-level cache, alone if it is off line.
    pub(super) fn llc(&self, cpu: usize) -> Vec<usize> {
        self.where_equal(cpu, |row| row.llc)
    }

    /// How many CPUs of its node are on line.
    pub(super) fn node_len(&self, cpu: usize) -> u64 {
        let node = self.cpus[cpu].node;
        self.cpus.iter().filter(|row| row.node == node && row.online).count() as u64
    }

    /// The threads of its core.
    pub(super) fn threads(&self, cpu: usize) -> Vec<usize> {
        let core = self.cpus[cpu].core;
        (0..self.cpus.len()).filter(|&other| self.cpus[other].core == core && self.cpus[other].up).collect()
    }

    /// The CPUs of its cluster, if that is more than a core.
    pub(super) fn cluster(&self, cpu: usize) -> Option<Vec<usize>> {
        self.cpus[cpu].cluster?;
        let cluster = self.where_equal(cpu, |row| row.cluster);
        (cluster.len() > self.where_equal(cpu, |row| row.core).len()).then_some(cluster)
    }

    /// Whether some core has more than one thread.
    pub(super) fn has_threads(&self) -> bool {
        (0..self.cpus.len()).any(|cpu| self.where_equal(cpu, |row| row.core).len() > 1)
    }

    /// Whether some cluster is more than a core.
    pub(super) fn has_clusters(&self) -> bool {
        (0..self.cpus.len()).any(|cpu| self.cluster(cpu).is_some())
    }

    pub(super) fn share_cache(&self, a: usize, b: usize) -> bool {
        self.llc(a).contains(&b)
    }

    /// What tells clusters apart: the first CPU of the cluster, or of the cache for a CPU without one. A CPU without one
    /// counts as near the first cluster of its cache for that.
    pub(super) fn share_id(&self, cpu: usize) -> usize {
        self.cluster(cpu).unwrap_or_else(|| self.llc(cpu))[0]
    }

    /// How many CPUs there are.
    pub(super) fn len(&self) -> usize {
        self.cpus.len()
    }
}

fn cpu_of(sched: &Sched, machine: &Machine, cpu: CpuId) -> Cpu {
    let (rq, spec) = (sched.rq(cpu), &machine.cpus[cpu]);
    // Who waits for quota of its group, for its own runtime, or until real-time tasks may run again is in no way of anybody.
    let counts = |task| match sched.task(task).policy.is_fair() {
        false => {
            let there = matches!(sched.task(task).state, TaskState::Running | TaskState::Queued);
            let stopped = sched.task(task).policy.is_rt() && sched.first_rt_task(cpu).is_none();
            there && !sched.is_dl_throttled(task) && !stopped
        }
        true => sched.se(task).on_rq && !sched.waits_for_quota(task),
    };
    let there = sched.task_ids().filter(|&task| sched.task(task).cpu == cpu && counts(task));
    Cpu {
        core: spec.core,
        cluster: spec.cluster,
        llc: spec.llc,
        node: spec.node,
        online: rq.online,
        up: sched.topology().threads.of(cpu).contains(&cpu),
        runs_idle_task: rq.curr.is_none() && !rq.stop_running,
        pending: sched.ttwu_pending(cpu),
        queued: there.map(|task| is_idle_task(sched, task)).collect(),
        others: (rq.nr_counted() - rq.nr_running) as usize,
    }
}

/// Whether a task counts as idle on its CPU: by its policy, or since some group above it is idle, which tasks of higher classes do not mind.
fn is_idle_task(sched: &Sched, task: TaskId) -> bool {
    let mut groups = std::iter::successors(sched.task(task).group, |&group| sched.group(group).parent);
    match sched.task(task).policy {
        Policy::Idle => true,
        policy => policy.is_fair() && groups.any(|group| sched.group(group).idle),
    }
}
