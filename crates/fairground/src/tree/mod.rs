//! Runs in which the scheduler of a kernel tree decides.
//!
//! The engine makes an entry, the library answers and leaves requests, and both go back as what the engine knows: tasks by
//! their rows, instants from the beginning of the run, which comes long after the boot (`begin.rs`).

mod attributes;
mod begin;
mod change;
mod frequencies;
mod limits;

use attributes::{policy_number, priority};
use fairground_kcore::{CallError, Flags, Fork, Hardware, IDLE, KernelCore, Kind, STOPPER, Wake, Why};
use fairground_machine::Machine;
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{CpuMax, FreqPolicy, Mistakes, PrevState, TaskGroupSpec, TaskSpec, WakeContext};
use fairground_scenario::profile;
use fairground_sched::profile::{Profile, Tree};
use fairground_sched::{BandwidthStats, Sched};
use fairground_sim::{CpuFlags, Entry, LeadingCore, Led, LedFrequency, Setup, Simulation, Site};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, Instant, Ns, TaskId, TgId};
use std::collections::BTreeMap;
use std::mem::swap;

/// The core boots after so many ticks: a multiple of 2^20 ns, a period of load tracking, whatever the tick.
const BOOT_TICKS: u64 = 1 << 20;

/// A run at its beginning in which that tree decides.
pub(crate) fn simulation(setup: Setup, tree: Tree<'_>) -> Result<Simulation, Mistakes> {
    let one = |message: String, hint: &str| {
        let mut mistakes = Mistakes::default();
        mistakes.whole(message, hint);
        mistakes
    };
    let named = profile::library(tree.name, Some(tree.digest)).map_err(|wrong| one(wrong.message, &wrong.hint))?;
    let core = KernelCore::load(&named.library, Some(&named.identity))
        .map_err(|why| one(why, "docs/kernel-core.md says what a tree and a machine need"))?;
    led_by(setup, tree.name, core)
}

/// The same with a core that is loaded already.
fn led_by(setup: Setup, name: &str, core: KernelCore) -> Result<Simulation, Mistakes> {
    limits::check(&setup, name, core.hz())?;
    let core = TreeCore::new(&setup, name, core);
    Simulation::led_by(setup, Box::new(core))
}

/// What waits for a CPU of the core.
#[derive(Clone, Default)]
struct Waiting {
    resched: bool,
    call: bool,
    softirqs: Vec<u32>,
    /// Its task has called sched_yield(), which schedule() is a part of.
    yields: bool,
}

/// The library, and which of its numbers is whose.
#[derive(Clone)]
struct TreeCore {
    name: String,
    core: KernelCore,
    /// When the run begins, in the core's time.
    begin_ns: u64,
    jiffies: u64,
    hardware: Hardware,
    policies: Vec<FreqPolicy>,
    /// At which share of its highest frequency each CPU runs when the run begins, in 1/1024.
    shares: Vec<u32>,
    specs: IndexVec<TaskId, TaskSpec>,
    group_specs: IndexVec<TgId, TaskGroupSpec>,
    switches: Vec<FeatWrite>,
    /// Tunables by the names of the tree's files, which begin without `sched_`.
    tunables: Vec<(String, u64)>,
    /// The number of each task and group in the core.
    tasks: IndexVec<TaskId, Option<u32>>,
    groups: Vec<u32>,
    /// Periods of each group's quota that were over when the run began.
    periods_before: Vec<u64>,
    /// Whose each number of a task is.
    rows: Vec<Option<TaskId>>,
    /// Where each task was last, as our tables know.
    homes: IndexVec<TaskId, Option<CpuId>>,
    /// Who has gone where since the last entry, in the order of that.
    moves: Vec<(TaskId, CpuId)>,
    running: Vec<u64>,
    waiting: Vec<Waiting>,
    /// CPUs that have gone off line. Timers that rang there ring on another.
    offline: Vec<bool>,
    /// What it has asked for since the last entry.
    asked: Led,
    /// Timers that run: the CPU, and when they are due in the core's time.
    timers: BTreeMap<u64, (u32, u64)>,
}

/// At which share of its highest frequency each CPU runs when a run begins, in 1/1024.
fn begin_shares(machine: &Machine) -> Vec<u32> {
    let share = |cpu: CpuId| {
        let policy = machine.policies.iter().find(|policy| policy.cpus.contains(cpu));
        let own = machine.cpus[cpu].freq_capacity;
        policy.map_or(own, |policy| policy.start_share(own))
    };
    machine.cpus.ids().map(share).collect()
}

impl TreeCore {
    fn new(setup: &Setup, name: &str, mut core: KernelCore) -> TreeCore {
        let cpus = &setup.machine.cpus;
        let boot_ns = setup.machine.tick.0 * BOOT_TICKS;
        let hardware = Hardware {
            core: cpus.iter().map(|cpu| cpu.core).collect(),
            cluster: cpus.iter().map(|cpu| cpu.cluster.unwrap_or(cpu.core)).collect(),
            package: cpus.iter().map(|cpu| cpu.llc).collect(),
            node: cpus.iter().map(|cpu| cpu.node).collect(),
            capacity: cpus.iter().map(|cpu| cpu.capacity).collect(),
            distance: setup.machine.distances.iter().flatten().copied().collect(),
            invariant: setup.machine.freq_invariant,
            nodes_in_package: setup.machine.has_nodes_in_package(),
            seed: setup.seed,
            now_ns: boot_ns,
        };
        let base = Profile::kernel(setup.profile.base).map_or(setup.profile.feats, |base| base.feats);
        let turned = |feat: Feat| base.has(feat) != setup.profile.feats.has(feat);
        // What the timers of the machine can do decides this one's default, and an architecture of ours says nothing of that.
        let has_hrtick = core.has_feature(Feat::HRTICK.row().name).is_some();
        let of_machine = |feat: Feat| feat == Feat::HRTICK && has_hrtick && setup.profile.has_feature(feat);
        let turned = Feat::ALL.iter().filter(|&&feat| turned(feat) || of_machine(feat));
        TreeCore {
            name: name.to_string(),
            core,
            begin_ns: 2 * boot_ns,
            jiffies: 0,
            hardware,
            policies: setup.machine.policies.clone(),
            shares: begin_shares(&setup.machine),
            specs: setup.tasks.tasks.clone(),
            group_specs: setup.tasks.groups.clone(),
            switches: turned.map(|&feat| FeatWrite { feat, on: setup.profile.feats.has(feat) }).collect(),
            tunables: setup.profile.tunables.overrides().map(|(row, value)| (row.name.replace("sched_", ""), value)).collect(),
            tasks: setup.tasks.tasks.iter().map(|_| None).collect(),
            groups: Vec::new(),
            periods_before: Vec::new(),
            rows: Vec::new(),
            homes: setup.tasks.tasks.iter().map(|_| None).collect(),
            moves: Vec::new(),
            running: vec![IDLE; cpus.len()],
            waiting: vec![Waiting::default(); cpus.len()],
            offline: vec![false; cpus.len()],
            asked: Led::default(),
            timers: BTreeMap::new(),
        }
    }

    /// What a setting came to, in words that say whose it is. A setting asks for nothing.
    fn set<T>(&self, answer: Result<T, CallError>) -> Result<T, String> {
        answer.map_err(|error| format!("kernel `{}`: {error}", self.name))
    }

    /// What an entry came to. What it asked for is noted.
    fn said<T>(&mut self, answer: Result<T, CallError>) -> Result<T, String> {
        let answer = self.set(answer)?;
        self.take()?;
        Ok(answer)
    }

    fn number(&self, task: TaskId) -> Result<u32, String> {
        self.tasks.get(task).copied().flatten().ok_or_else(|| format!("kernel `{}`: {task} is not made yet", self.name))
    }

    fn group(&self, group: Option<TgId>) -> u32 {
        group.and_then(|group| self.groups.get(group.index())).copied().unwrap_or(0)
    }

    fn fork(&mut self, ours: &Sched, (cpu, now): (u32, u64), parent: Option<TaskId>, child: TaskId) -> Result<(), String> {
        let (row, asked) = (ours.task(child), ours.requested_clamp(child));
        let how = Fork {
            name: format!("t{}", child.get()),
            nice: row.nice.into(),
            policy: policy_number(row.policy),
            priority: priority(row.policy),
            group: self.group(row.group),
            outside: parent.is_none(),
            clamp: (asked.min, asked.max),
        };
        if how.clamp != (None, None) {
            // Who was given clamps before its birth has them of a parent that asked for them.
            let answer = self.core.tunable("clamps_used", 1);
            self.said(answer)?;
        }
        let number = self.core.fork(cpu, now, &how);
        let number = self.said(number)?;
        set(&mut self.tasks, child, number);
        set(&mut self.homes, child, row.cpu);
        let rows = (number as usize + 1).max(self.rows.len());
        self.rows.resize(rows, None);
        self.rows[number as usize] = Some(child);
        if row.cpus_allowed.weight() < self.waiting.len() {
            self.allow(cpu, now, number, &row.cpus_allowed)?;
        }
        if let Some(slice) = self.specs.get(child).and_then(|spec| spec.slice) {
            self.set_slice(ours, (cpu, now), child, Some(slice))?;
        }
        Ok(())
    }

    fn schedule(&mut self, (cpu, now): (u32, u64), prev_state: PrevState, led: &mut Led) -> Result<(), String> {
        let yields = std::mem::take(&mut self.waiting[cpu as usize].yields);
        let before = self.running[cpu as usize];
        let answer = match prev_state {
            PrevState::Dead => self.core.exit(cpu, now),
            PrevState::DiskSleep => self.core.schedule(cpu, now, Why::SleepsUninterruptible),
            PrevState::Sleeping | PrevState::IdleWait => self.core.schedule(cpu, now, Why::Sleeps),
            PrevState::Running if yields && before != IDLE => self.core.schedule(cpu, now, Why::Yields),
            PrevState::Running => self.core.schedule(cpu, now, Why::Preempted),
        };
        let mut next = self.said(answer)?;
        // The stopper does its works in no time, and then somebody else runs.
        while next == STOPPER {
            led.stopped = true;
            let answer = self.core.stopper(cpu, now);
            next = self.said(answer)?;
        }
        self.running[cpu as usize] = next;
        if next != IDLE {
            let row = self.row(next);
            led.next = Some(row.ok_or_else(|| format!("kernel `{}`: CPU {cpu} runs task {next}, which nobody made", self.name))?);
        }
        Ok(())
    }

    /// What the last call asked for.
    fn take(&mut self) -> Result<(), String> {
        let led = &mut self.asked;
        let row_of = |number: u64| self.rows.get(number as usize).copied().flatten();
        for seen in self.core.seen() {
            let list = if seen.is_lock() { &mut led.locked } else { &mut led.looked };
            list.push(CpuId::new(seen.cpu()));
        }
        for request in self.core.requests() {
            let waiting = &mut self.waiting[request.cpu as usize];
            match request.kind() {
                Some(Kind::Resched) => {
                    waiting.resched = true;
                    led.ipis.push(CpuId::new(request.cpu));
                }
                Some(Kind::Call) => {
                    waiting.call = true;
                    led.ipis.push(CpuId::new(request.cpu));
                }
                // A softirq is pending or not: raised twice it runs once.
                Some(Kind::Softirq) => {
                    let number = request.a as u32;
                    if !waiting.softirqs.contains(&number) {
                        waiting.softirqs.push(number);
                    }
                    led.softirq = true;
                }
                Some(Kind::Timer) => {
                    self.timers.insert(request.a, (request.cpu, request.b));
                    let due = Instant::from_ns(request.b.saturating_sub(self.begin_ns));
                    led.timers.push((request.a as usize, Some(due).filter(|&due| due < Instant::MAX)));
                }
                Some(Kind::Untimer) => {
                    self.timers.remove(&request.a);
                    led.timers.push((request.a as usize, None));
                }
                // A stopper is nobody's task, and stays where it is.
                Some(Kind::Move) => self.moves.extend(row_of(request.a).map(|task| (task, CpuId::new(request.cpu)))),
                // The switch is the answer of schedule(), and a stopper that has work is woken as any task.
                Some(Kind::Switch | Kind::Stop) => {}
                Some(Kind::Warn) => return Err(format!("kernel `{}` warns: {}", self.name, self.core.log().trim())),
                Some(Kind::Frequency) => {
                    led.frequencies.push(LedFrequency::Changed { policy: request.a as usize, khz: request.b as u32 });
                }
                Some(Kind::FrequencyThread) => led.frequencies.push(LedFrequency::Thread { policy: request.a as usize }),
                Some(Kind::FrequencyTimer) => {
                    let at = Instant::from_ns(request.b.saturating_sub(self.begin_ns));
                    led.frequencies.push(LedFrequency::Coming { policy: request.a as usize, at });
                }
                None => {
                    return Err(format!("kernel `{}` asks for what the engine does not know: {request:?}", self.name));
                }
            }
        }
        Ok(())
    }

    fn row(&self, number: u64) -> Option<TaskId> {
        self.rows.get(number as usize).copied().flatten()
    }

    fn flags_of(&self, cpu: CpuId) -> CpuFlags {
        let flags = self.core.flags(cpu.get());
        CpuFlags {
            cpu,
            resched: flags.is_some_and(Flags::must_schedule),
            resched_lazy: flags.is_some_and(Flags::may_schedule),
            user_works: flags.is_some_and(Flags::user_works),
        }
    }

    /// The tasks that are elsewhere than they were, in the order of their rows. Who went twice is where it went last.
    fn tell_moves(&mut self, led: &mut Led) {
        if self.moves.is_empty() {
            return;
        }
        self.moves.sort_by_key(|row| row.0);
        for (at, &(task, cpu)) in self.moves.iter().enumerate() {
            let is_last = self.moves.get(at + 1).is_none_or(|next| next.0 != task);
            if is_last && self.homes[task] != Some(cpu) {
                self.homes[task] = Some(cpu);
                led.moved.push((task, cpu));
            }
        }
        self.moves.clear();
    }
}

/// What was asked for goes to an empty list, most often nothing.
fn swap_filled<T>(led: &mut Vec<T>, asked: &mut Vec<T>) {
    if !asked.is_empty() {
        swap(led, asked);
    }
}

/// The row of `task` is there from now on.
fn set<T>(table: &mut IndexVec<TaskId, Option<T>>, task: TaskId, value: T) {
    while table.len() <= task.index() {
        table.push(None);
    }
    table[task] = Some(value);
}

impl LeadingCore for TreeCore {
    /// Period and slack of each group, a turn and a server of each CPU, those of deadline tasks, and the real-time period.
    fn nr_timers(&self) -> usize {
        2 * (self.group_specs.len() + 1) + 4 * self.waiting.len() + 2 * self.specs.len() + 2
    }

    fn begin(&mut self, ours: &Sched) -> Result<(), String> {
        self.begin_run(ours)
    }

    fn copy(&self) -> Box<dyn LeadingCore> {
        Box::new(self.clone())
    }

    fn quota(&self, group: TgId) -> Option<(CpuMax, BandwidthStats)> {
        let quota = self.core.quota(self.group(Some(group)))?;
        let before = self.periods_before.get(group.index()).copied().unwrap_or(0);
        let stats = BandwidthStats {
            nr_periods: quota.nr_periods - before,
            nr_throttled: quota.nr_throttled,
            throttled_time: Ns(quota.throttled_time_ns),
            nr_burst: quota.nr_burst,
            burst_time: Ns(quota.burst_time_ns),
            ..BandwidthStats::default()
        };
        let limit = CpuMax { quota: quota.quota_ns().map(Ns), period: Ns(quota.period_ns), burst: Ns(quota.burst_ns) };
        (limit.quota.is_some() || stats.nr_periods > 0).then_some((limit, stats))
    }

    fn enter(&mut self, ours: &Sched, site: Site, entry: Entry<'_>, led: &mut Led) -> Result<(), String> {
        let (cpu, now) = (site.cpu.get(), self.begin_ns + site.now.ns());
        let waited = site.jiffies - std::mem::replace(&mut self.jiffies, site.jiffies);
        if waited > 0 {
            let counted = self.core.count_jiffies(now, waited);
            self.set(counted)?;
        }
        match entry {
            Entry::Fork { parent, child } => {
                self.fork(ours, (cpu, now), parent, child)?;
            }
            Entry::WakeNew { child, wanted } => {
                let number = self.number(child)?;
                if let Some(wanted) = wanted {
                    self.allow(cpu, now, number, &CpuMask::only(wanted))?;
                }
                let target = self.core.wake_up_new_task(cpu, now, number);
                let target = CpuId::new(self.said(target)?);
                if wanted.is_some() {
                    self.allow(cpu, now, number, &ours.task(child).cpus_allowed)?;
                }
                set(&mut self.homes, child, target);
                led.target = Some(target);
            }
            Entry::Wake { wakee, flags } => {
                let number = self.number(wakee)?;
                let how = match flags.context {
                    WakeContext::Hardirq | WakeContext::Softirq => Wake::Timer,
                    WakeContext::Task if flags.sync && ours.exits(site.cpu) => Wake::Exits,
                    WakeContext::Task if flags.sync => Wake::Sync,
                    WakeContext::Task => Wake::Task,
                };
                let woken = self.core.wake(cpu, now, number, how);
                let woken = self.said(woken)?;
                let target = CpuId::new(woken.cpu);
                set(&mut self.homes, wakee, target);
                (led.target, led.listed) = (Some(target), woken.listed);
            }
            Entry::Yield => self.waiting[site.cpu.index()].yields = true,
            Entry::Exec => {
                let answer = self.core.exec(cpu, now);
                self.said(answer)?;
            }
            Entry::Schedule { prev_state } => self.schedule((cpu, now), prev_state, led)?,
            Entry::Tick => {
                let answer = self.core.tick(cpu, now);
                self.said(answer)?;
            }
            Entry::Softirq => {
                for number in std::mem::take(&mut self.waiting[site.cpu.index()].softirqs) {
                    let answer = self.core.softirq(cpu, now, number);
                    self.said(answer)?;
                }
            }
            Entry::Ipi => {
                let waiting = &mut self.waiting[site.cpu.index()];
                let asked = [(false, std::mem::take(&mut waiting.call)), (true, std::mem::take(&mut waiting.resched))];
                for (resched, _) in asked.into_iter().filter(|row| row.1) {
                    let answer = self.core.ipi(cpu, now, resched);
                    self.said(answer)?;
                }
            }
            Entry::Timer => {
                let rings_here = |of: u32| of == cpu || self.offline[of as usize];
                let due: Vec<u64> =
                    self.timers.iter().filter(|(_, row)| rings_here(row.0) && row.1 <= now).map(|row| *row.0).collect();
                for timer in due {
                    self.timers.remove(&timer);
                    let answer = self.core.timer(cpu, now, timer as u32);
                    self.said(answer)?;
                }
            }
            Entry::Frequency { policy } => {
                let answer = self.core.frequency_work(cpu, now, policy as u32);
                self.said(answer)?;
            }
            Entry::UserReturn => {
                let answer = self.core.user_return(cpu, now);
                self.said(answer)?;
            }
            Entry::Change(change) => self.change(ours, (cpu, now), change, led)?,
        }
        self.tell_moves(led);
        // Those of the boot too, with the first entry. The lists change places, so both keep their room.
        let asked = &mut self.asked;
        led.softirq = std::mem::take(&mut asked.softirq);
        swap_filled(&mut led.ipis, &mut asked.ipis);
        swap_filled(&mut led.timers, &mut asked.timers);
        swap_filled(&mut led.looked, &mut asked.looked);
        swap_filled(&mut led.locked, &mut asked.locked);
        swap_filled(&mut led.frequencies, &mut asked.frequencies);
        // Its own flag a CPU sets without an interrupt.
        led.ipis.retain(|&target| target != site.cpu);
        led.ipis.dedup();
        for &target in &led.ipis {
            led.flags.push(self.flags_of(target));
        }
        led.flags.push(self.flags_of(site.cpu));
        Ok(())
    }
}
