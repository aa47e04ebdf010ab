//! A kernel's core beside ours, behind the one engine: it makes each entry that ours has made, and both are compared.
//!
//! ```text
//! entry of ours, done ─► the same entry of the kernel ─► who runs, flags, tasks, queues, domains: the first difference stops
//! ```
//!
//! What the kernel asks for (interrupts, softirqs, timers) is not carried out: ours has asked for the same, and its entries
//! come. That both have asked is compared.

mod compare;
mod machine;
mod timers;

use fairground_kcore::{CallError, Fork, KernelCore, Kind, Policy as Attr, STOPPER, Seen, Wake, Why};
use fairground_machine::Machine;
use fairground_model::TaskGroupSpec;
use fairground_model::features::Feat;
use fairground_model::{Change, CpuMax, DlParams, FreqPolicy, PrevState, UtilClamp, WakeContext};
use fairground_sched::{Profile, Sched, TaskState, WakeFlags};
use fairground_sim::{Entry, OtherCore, Site};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, Ns, TaskId, TgId};
use machine::{begin_shares, hardware, numbers};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// The core boots at a time that is a multiple of the tick and of a period of load tracking, 2^20 ns: the queues, which have
/// decayed since 0, are then at the start of a period, as in a run that begins at 0.
const BOOT_NS: u64 = BOOT_TICKS * 4_000_000;
const BOOT_TICKS: u64 = 4096;
/// The run begins as long after the boot as that was after 0. Groups are made at the boot: what that leaves behind in sums of load
/// (the entity of a group joins its queue with a sum of 1) has decayed by then, as with groups that are there for long.
const BEGIN_NS: u64 = 2 * BOOT_NS;
/// A deadline task shares what others leave.
const SCHED_FLAG_RECLAIM: u32 = 2;
/// So many entries before a difference are shown.
const SHOWN: usize = 24;
/// How errors of the second kind begin: the core cannot do what was asked.
pub(crate) const UNABLE: &str = "the kernel's core cannot go on";

/// What became of a run with two cores.
#[derive(Clone, Default, Debug)]
pub(crate) struct Compared {
    /// Entries after which all was compared.
    pub(crate) calls: u64,
    /// The last entries.
    pub(crate) last: VecDeque<String>,
}

#[derive(Default, Clone)]
struct Pending {
    resched: bool,
    call: bool,
    softirqs: Vec<u32>,
    yields: bool,
    /// schedule() has chosen again by itself, since it was asked to within; ours is called once more for that.
    chosen_again: bool,
}

/// How the quota of a group begins that nobody has used, as the kernel has it.
#[derive(Clone, Copy)]
pub(crate) struct QuotaBegins {
    /// When a period begins, counted from the beginning of the run: kernels draw that.
    pub(crate) phase: Option<Ns>,
    pub(crate) left_on_cpus: Ns,
}

pub(crate) struct Beside {
    core: KernelCore,
    cpus: Vec<Pending>,
    tasks: BTreeMap<TaskId, u32>,
    names: BTreeMap<u64, TaskId>,
    /// The CPUs that each task may use as it is born. Ours has widened them by the time that it is told, if none of them is on line.
    born_with: BTreeMap<TaskId, CpuMask>,
    groups: Vec<u32>,
    /// Periods of each group's quota that were over when the run began.
    periods_before: Vec<u64>,
    timers: BTreeMap<u64, (u32, u64)>,
    /// Timers that a CPU left to another one as it went off line. That of a fair server without work is not there in ours.
    left_behind: BTreeSet<u64>,
    policies: Vec<FreqPolicy>,
    /// At which share of its highest frequency each CPU runs when the run begins, in 1/1024.
    shares: Vec<u32>,
    /// Timers of an instant that have fired in the kernel, and are yet to come in ours: it is compared when all have.
    fired: usize,
    jiffies: u64,
    /// The core's jiffies when the run began.
    first_jiffies: u64,
    eevdf: bool,
    /// A difference was found.
    differ: bool,
    /// What the last call of the kernel's core has looked at.
    seen: Vec<Seen>,
    compared: Rc<RefCell<Compared>>,
}

impl Beside {
    /// Boots the core for a run that has not begun, and makes its groups, which then wait for the run. Also answers how each group's
    /// quota begins.
    pub(crate) fn boot(
        mut core: KernelCore,
        profile: &Profile,
        machine: &Machine,
        groups: &IndexVec<TgId, TaskGroupSpec>,
        seed: u64,
    ) -> Result<(Beside, IndexVec<TgId, QuotaBegins>), CallError> {
        core.boot(&hardware(machine, seed))?;
        for &feat in Feat::ALL {
            let name = feat.row().name;
            match core.has_feature(name) {
                Some(_) if profile.has_feature(feat) => core.feature(name, profile.feats.has(feat))?,
                // A stable kernel has it and the profile has not.
                Some(true) if name == "NI_RANDOM" => core.feature(name, false)?,
                _ => {}
            }
        }
        let first_jiffies = core.cpu(0).unwrap().next_balance + BOOT_TICKS;
        let mut beside = Beside {
            core,
            cpus: vec![Pending::default(); machine.cpus.len()],
            tasks: BTreeMap::new(),
            names: BTreeMap::new(),
            born_with: BTreeMap::new(),
            groups: Vec::new(),
            periods_before: Vec::new(),
            timers: BTreeMap::new(),
            left_behind: BTreeSet::new(),
            policies: machine.policies.clone(),
            shares: begin_shares(machine),
            fired: 0,
            jiffies: 0,
            first_jiffies,
            eevdf: profile.has_feature(Feat::PLACE_LAG),
            differ: false,
            seen: Vec::new(),
            compared: Rc::default(),
        };
        beside.take_requests();
        let mut quotas = IndexVec::new();
        for group in groups.iter() {
            let parent = group.parent.map_or(0, |parent| beside.groups[parent.index()]);
            let row = beside.core.group_new(0, BOOT_NS, parent)?;
            beside.groups.push(row);
            if group.idle {
                beside.core.group_file(0, BOOT_NS, row, "idle", 1)?;
            } else if group.shares != 1024 {
                beside.core.group_file(0, BOOT_NS, row, "shares", group.shares as i64)?;
            }
            beside.clamp(BOOT_NS, row, group.clamp)?;
            let others: Vec<u64> = beside.timers.keys().copied().collect();
            beside.limit(row, group.limit)?;
            let timer = beside.timers.iter().find(|row| !others.contains(row.0));
            let phase = |at_ns: u64| (at_ns as i64 - BEGIN_NS as i64).rem_euclid(group.limit.period.0 as i64);
            let left = beside.core.queue(row, 0).map_or(0, |queue| queue.runtime_remaining_ns);
            quotas.push(QuotaBegins {
                phase: timer.map(|(_, &(_, at_ns))| Ns(phase(at_ns) as u64)),
                left_on_cpus: Ns(left as u64),
            });
        }
        beside.wait_for_the_run()?;
        let periods = |&row: &u32| beside.core.quota(row).map_or(0, |quota| quota.nr_periods);
        beside.periods_before = beside.groups.iter().map(periods).collect();
        Ok((beside, quotas))
    }

    /// The timers of quotas find nobody, and stop.
    fn wait_for_the_run(&mut self) -> Result<(), CallError> {
        while let Some((&timer, &(cpu, at_ns))) = self.timers.iter().min_by_key(|row| row.1.1).filter(|row| row.1.1 < BEGIN_NS) {
            self.timers.remove(&timer);
            self.core.timer(cpu, at_ns, timer as u32)?;
            self.take_requests();
        }
        self.core.count_jiffies(BEGIN_NS, BOOT_TICKS)
    }

    /// The run is about to begin, in the middle of the same life as ours: domains were balanced before, searches may look at all CPUs,
    /// and every CPU has gone idle just before.
    pub(crate) fn begin(&mut self, sched: &Sched) -> Result<Rc<RefCell<Compared>>, String> {
        if sched.uses_clamps() {
            self.core.tunable("clamps_used", 1).map_err(|why| why.to_string())?;
        }
        self.born_with = sched.task_ids().map(|task| (task, *sched.task(task).cpus_allowed)).collect();
        for id in sched.cpu_ids() {
            self.begin_as(sched, id)?;
        }
        self.begin_frequencies(sched).map_err(|why| why.to_string())?;
        Ok(Rc::clone(&self.compared))
    }

    /// A machine whose domains are not the same in both, as the shrinker may make one, is none to compare.
    fn begin_as(&mut self, sched: &Sched, id: CpuId) -> Result<(), String> {
        let (mut domain, mut level) = (sched.topology().cpus[id].base, 0);
        while let Some(sd) = domain {
            let row = &sched.topology().domains[sd];
            let Some(theirs) = self.core.domain(id.get(), level) else { break };
            let both = ((theirs.weight, theirs.balance_interval), (row.span_weight, row.balance_interval));
            if both.0 != both.1 {
                return Err(format!(
                    "domain {level} of {id:?} has weight and interval {:?} in the kernel, {:?} in ours",
                    both.0, both.1
                ));
            }
            let at = self.first_jiffies.wrapping_add_signed(row.last_balance);
            self.core.set_domain(id.get(), level, at, sched.nr_idle_scan_of(sd)).map_err(|why| why.to_string())?;
            (domain, level) = (row.parent, level + 1);
        }
        if domain.is_some() || self.core.domain(id.get(), level).is_some() {
            return Err(format!("{id:?} has {level} domains in one of both, and more in the other"));
        }
        self.core.set_idle_since(id.get(), BEGIN_NS).map_err(|why| why.to_string())
    }

    /// Gives a new group its limit. One file after the other must be valid in between: period, quota, burst.
    fn limit(&mut self, row: u32, limit: CpuMax) -> Result<(), CallError> {
        let Some(quota) = limit.quota else { return Ok(()) };
        // Up to v5.13 there is no file for a burst, and nobody has one.
        let burst = Some(("cfs_burst_us", limit.burst)).filter(|row| row.1 > Ns::ZERO);
        for (file, ns) in [("cfs_period_us", limit.period), ("cfs_quota_us", quota)].into_iter().chain(burst) {
            self.core.group_file(0, BOOT_NS, row, file, (ns.0 / 1000) as i64)?;
            self.take_requests();
        }
        Ok(())
    }

    fn clamp(&mut self, now: u64, row: u32, clamp: UtilClamp) -> Result<(), CallError> {
        for (file, value) in [("uclamp.min", clamp.min), ("uclamp.max", clamp.max)] {
            if let Some(value) = value {
                self.core.group_file(0, now, row, file, value.into())?;
            }
        }
        Ok(())
    }

    /// The kernel makes the entry.
    fn enter(&mut self, ours: &Sched, site: Site, entry: Entry<'_>) -> Result<(), Trouble> {
        let (cpu, now) = (site.cpu.get(), BEGIN_NS + site.now.ns());
        if site.jiffies > self.jiffies {
            self.core.count_jiffies(now, site.jiffies - self.jiffies)?;
            self.jiffies = site.jiffies;
        }
        match entry {
            Entry::Fork { parent, child } => self.fork(ours, (cpu, now), parent, child)?,
            Entry::WakeNew { wanted: Some(_), .. } => {
                return Err(Trouble::Untold("a task that starts on a CPU of the scenario's choice"));
            }
            Entry::WakeNew { child, wanted: None } => {
                self.core.wake_up_new_task(cpu, now, self.tasks[&child])?;
            }
            Entry::Wake { wakee, flags } => {
                let how = match flags {
                    WakeFlags { context: WakeContext::Task, sync: true } if ours.exits(site.cpu) => Wake::Exits,
                    WakeFlags { context: WakeContext::Task, sync: true } => Wake::Sync,
                    WakeFlags { context: WakeContext::Task, sync: false } => Wake::Task,
                    WakeFlags { context: WakeContext::Hardirq, .. } => Wake::Timer,
                    WakeFlags { context: WakeContext::Softirq, .. } => {
                        return Err(Trouble::Untold("a wake-up in a soft interrupt"));
                    }
                };
                self.core.wake(cpu, now, self.tasks[&wakee], how)?;
            }
            Entry::Exec => self.core.exec(cpu, now)?,
            Entry::Yield => self.cpus[cpu as usize].yields = true,
            Entry::Schedule { prev_state } => self.schedule(ours, cpu, now, prev_state)?,
            Entry::Tick => self.core.tick(cpu, now)?,
            Entry::Softirq => {
                let raised = std::mem::take(&mut self.cpus[cpu as usize].softirqs);
                if raised.is_empty() {
                    return Err(Trouble::Differs(vec![format!("softirq of CPU {cpu}: not raised in the kernel")]));
                }
                for softirq in raised {
                    self.core.softirq(cpu, now, softirq)?;
                    self.take_requests();
                }
            }
            Entry::Ipi => {
                let row = &mut self.cpus[cpu as usize];
                let (resched, call) = (std::mem::take(&mut row.resched), std::mem::take(&mut row.call));
                if call {
                    self.core.ipi(cpu, now, false)?;
                    self.take_requests();
                }
                if resched {
                    self.core.ipi(cpu, now, true)?;
                }
            }
            // One of those that have fired already in the kernel.
            Entry::Timer if self.fired > 0 => self.fired -= 1,
            Entry::Timer => self.fire(cpu, now)?,
            Entry::Frequency { policy } => self.core.frequency_work(cpu, now, policy as u32)?,
            Entry::UserReturn => self.core.user_return(cpu, now)?,
            Entry::Change(change) => self.change(ours, cpu, now, change)?,
        }
        self.take_requests();
        // Before the views, which look at all.
        self.seen = self.core.seen().to_vec();
        Ok(())
    }

    fn fork(&mut self, ours: &Sched, (cpu, now): (u32, u64), parent: Option<TaskId>, child: TaskId) -> Result<(), CallError> {
        let (task, asked) = (ours.task(child), ours.requested_clamp(child));
        let (policy, priority) = numbers(task.policy);
        let group = task.group.map_or(0, |group| self.groups[group.index()]);
        let how = Fork {
            name: format!("t{}", child.get()),
            nice: task.nice.into(),
            policy,
            priority,
            group,
            outside: parent.is_none(),
            clamp: (asked.min, asked.max),
        };
        if how.clamp != (None, None) {
            // Who was given clamps before its birth has them of a parent that asked for them.
            self.core.tunable("clamps_used", 1)?;
        }
        let row = self.core.fork(cpu, now, &how)?;
        self.take_requests();
        let allowed = self.born_with.get(&child).unwrap_or(&task.cpus_allowed);
        let cpus: Vec<u32> = ours.cpu_ids().filter(|&cpu| allowed.contains(cpu)).map(CpuId::get).collect();
        if cpus.len() < self.cpus.len() {
            self.core.affinity(cpu, now, row, &cpus)?;
        }
        self.tasks.insert(child, row);
        self.names.insert(row.into(), child);
        Ok(())
    }

    fn schedule(&mut self, ours: &Sched, cpu: u32, now: u64, prev_state: PrevState) -> Result<(), CallError> {
        if std::mem::take(&mut self.cpus[cpu as usize].chosen_again) {
            return Ok(());
        }
        let running = self.core.cpu(cpu).unwrap().running;
        let yields = std::mem::take(&mut self.cpus[cpu as usize].yields);
        if u64::from(running) == STOPPER {
            return self.core.stopper(cpu, now).map(|_| ());
        }
        let why = match prev_state {
            PrevState::Dead => return self.core.exit(cpu, now).map(|_| ()),
            PrevState::Running if yields => Why::Yields,
            PrevState::Running => Why::Preempted,
            PrevState::Sleeping | PrevState::IdleWait => Why::Sleeps,
            PrevState::DiskSleep => Why::SleepsUninterruptible,
        };
        let mut next = self.core.schedule(cpu, now, why)?;
        // A task that has called exec is taken elsewhere by the stopper, at once; ours goes by itself.
        let id = CpuId::new(cpu);
        while next == STOPPER && !ours.rq(id).stop_running && !ours.stop_work_due(id) {
            self.take_requests();
            next = self.core.stopper(cpu, now)?;
        }
        Ok(())
    }

    /// Ours is to choose again after schedule(). The kernel's does so within the same call, as long as it is asked to.
    fn has_chosen_again(&self, ours: &Sched, cpu: CpuId) -> bool {
        let row = ours.rq(cpu);
        (row.need_resched || row.need_resched_lazy) && self.core.cpu(cpu.get()).unwrap().need_resched == 0
    }

    fn change(&mut self, ours: &Sched, cpu: u32, now: u64, change: &Change) -> Result<(), Trouble> {
        let row = |task: &TaskId| self.tasks.get(task).copied();
        match change {
            // What has not been made yet is made as it is by then.
            Change::Nice { task, nice } => match row(task) {
                Some(row) if ours.task(*task).state != TaskState::Dead => self.core.nice(cpu, now, row, (*nice).into())?,
                _ => {}
            },
            Change::Policy { task, policy } => {
                let (number, priority) = numbers(*policy);
                if let Some(row) = row(task).filter(|_| ours.task(*task).state != TaskState::Dead) {
                    let mut attr = Attr { policy: number, priority, nice: ours.task(*task).nice.into(), ..Attr::default() };
                    if let Some(DlParams { runtime, deadline, period, reclaim }) = policy.deadline() {
                        (attr.runtime_ns, attr.deadline_ns, attr.period_ns) = (runtime.0, deadline.0, period.0);
                        attr.flags = if reclaim { SCHED_FLAG_RECLAIM } else { 0 };
                    }
                    self.core.policy(cpu, now, row, &attr)?;
                }
            }
            Change::Clamp { task, clamp } => {
                if let Some(row) = row(task).filter(|_| ours.task(*task).state != TaskState::Dead) {
                    let flags = 24 | if clamp.min.is_some() { 32 } else { 0 } | if clamp.max.is_some() { 64 } else { 0 };
                    let (clamp_min, clamp_max) = (clamp.min.unwrap_or(0), clamp.max.unwrap_or(0));
                    match self.core.policy(cpu, now, row, &Attr { flags, clamp_min, clamp_max, ..Attr::default() }) {
                        // It may not have them, and ours has refused them too.
                        Err(CallError::Refused(-22)) => {}
                        answer => answer?,
                    }
                }
            }
            Change::Governor { cpu: of, governor } => {
                // The same one again changes nothing.
                let row = self.policies.iter().position(|policy| policy.cpus.contains(*of) && policy.governor != *governor);
                if let Some(row) = row {
                    self.policies[row].governor = *governor;
                    self.govern(ours, now, row)?;
                }
            }
            Change::FreqCapacity { cpu: of, freq_capacity } => self.core.frequency(of.get(), now, *freq_capacity)?,
            Change::Hotplug { cpu: of, online } => self.core.hotplug(of.get(), now, *online)?,
            Change::RemoveGroup { group } => self.core.group_remove(cpu, now, self.groups[group.index()])?,
            Change::GroupClamp { group, clamp } => self.clamp(now, self.groups[group.index()], *clamp)?,
            Change::Group { task, group } => {
                if let Some(row) = row(task).filter(|_| ours.task(*task).state != TaskState::Dead) {
                    let group = group.map_or(0, |group| self.groups[group.index()]);
                    self.core.group_move(cpu, now, row, group)?;
                }
            }
            Change::Shares { group, shares } => {
                self.core.group_file(cpu, now, self.groups[group.index()], "shares", *shares as i64)?;
            }
            Change::GroupIdle { group, idle } => {
                self.core.group_file(cpu, now, self.groups[group.index()], "idle", (*idle).into())?;
            }
            _ => return Err(Trouble::Untold("a change that no entry of the core makes")),
        }
        Ok(())
    }

    fn take_requests(&mut self) {
        for request in self.core.requests().to_vec() {
            let row = &mut self.cpus[request.cpu as usize];
            match request.kind() {
                Some(Kind::Resched) => row.resched = true,
                Some(Kind::Call) => row.call = true,
                Some(Kind::Softirq) if !row.softirqs.contains(&(request.a as u32)) => row.softirqs.push(request.a as u32),
                Some(Kind::Timer) => self.timer_is_set(request.a, (request.cpu, request.b)),
                Some(Kind::Untimer) => drop(self.timers.remove(&request.a)),
                _ => {}
            }
        }
    }
}

/// Why a run with two cores stops.
enum Trouble {
    Core(CallError),
    Differs(Vec<String>),
    /// The engine does not tell enough of that, or the core has no entry for it.
    Untold(&'static str),
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Trouble {
        Trouble::Core(error)
    }
}

impl OtherCore for Beside {
    fn entered(&mut self, ours: &Sched, site: Site, entry: Entry<'_>) -> Result<(), String> {
        if self.differ {
            // The run ends with that; what the engine does before it does is compared no more.
            return Ok(());
        }
        let told = format!("{:>12} ns CPU {} {entry:?}", site.now.ns(), site.cpu.get());
        {
            let mut compared = self.compared.borrow_mut();
            compared.last.push_back(told);
            if compared.last.len() > SHOWN {
                compared.last.pop_front();
            }
        }
        let differs = match self.enter(ours, site, entry) {
            Err(Trouble::Core(error)) => return Err(format!("{UNABLE}: {error}\n{}", self.core.log())),
            Err(Trouble::Untold(what)) => return Err(format!("{UNABLE}: {what}")),
            Err(Trouble::Differs(what)) => what,
            // yield() and exec are one with their schedule(), which comes next. Who is started from outside is queued in ours already.
            Ok(()) if matches!(entry, Entry::Timer) && self.fired > 0 => return Ok(()),
            Ok(()) if matches!(entry, Entry::Yield | Entry::Exec | Entry::Fork { parent: None, .. }) => return Ok(()),
            Ok(()) if matches!(entry, Entry::Schedule { .. }) && self.has_chosen_again(ours, site.cpu) => {
                self.cpus[site.cpu.index()].chosen_again = true;
                return Ok(());
            }
            Ok(()) => self.differences(ours, site.cpu.get()),
        };
        let mut compared = self.compared.borrow_mut();
        compared.calls += 1;
        if let Some(last) = compared.last.back_mut() {
            last.push_str(&self.runs_where(ours));
        }
        match differs.is_empty() {
            true => Ok(()),
            false => {
                if let Some(last) = compared.last.back_mut() {
                    last.push_str(&format!("\n      the kernel's call looked at, or locked: {:?}", self.seen));
                }
                drop(compared);
                self.differ = true;
                Err(differs.join("\n"))
            }
        }
    }
}
