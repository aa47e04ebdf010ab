//! The tasks of a run: what each is and which program it follows.

#![allow(missing_docs, reason = "the fields of a variant are explained by the variant")]

use crate::cpu_max::CpuMax;
use crate::features::FeatWrite;
use crate::governor::Governor;
use crate::lock::LockSpec;
use crate::noise::NoiseSpec;
use crate::policy::Policy;
use crate::pool::PoolSpec;
use crate::program::{Instr, Program};
use crate::socket::SockSpec;
use crate::util_clamp::UtilClamp;
use fairground_stdx::{
    CpuId, CpuMask, IndexVec, Instant, LockId, MarkerId, Ns, PartId, PipeId, PoolId, ProgramId, SockId, TaskId, TgId, WordId,
};

/// When a task comes to life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Forked by somebody outside the run at this instant.
    At(Instant),
    /// Forked by the [`crate::Instr::Fork`] of another task.
    Forked,
    /// It has slept since long before the run: a kernel thread that waits to be woken, or for the instant with which its program begins
    /// ([`crate::Frame::asleep`]).
    Asleep,
}

/// Default timer slack of a Linux task: 50 us.
pub const DEFAULT_TIMER_SLACK: Ns = Ns::from_us(50);

/// How long a task may wait uninterruptibly if nothing else is said.
///
/// Kernel: Kconfig.debug DEFAULT_HUNG_TASK_TIMEOUT, v4.12–
pub const HUNG_TASK_TIMEOUT: Ns = Ns::from_secs(120);

/// One task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskSpec {
    /// The command name.
    pub name: String,
    /// Its policy.
    pub policy: Policy,
    /// Its nice value, -20..=19.
    pub nice: i8,
    /// The slice of its own with which it starts (sched_runtime of sched_setattr), which kernels cut to
    /// 100 us to 100 ms; `None` = the base slice, or what its parent has when it is forked.
    pub slice: Option<Ns>,
    /// The utilization clamps that it asks for; what it leaves open it has from its parent when it is forked.
    pub clamp: UtilClamp,
    /// The CPUs it may use; `None` = all. CPUs that the machine does not have do not count.
    pub affinity: Option<CpuMask>,
    /// The CPU on which it starts, if that is not left to the scheduler.
    pub first_cpu: Option<CpuId>,
    /// The CPU cgroup that it starts in; `None` is the root group, and with [`Start::Forked`] the parent's.
    pub group: Option<TgId>,
    /// What it does.
    pub program: ProgramId,
    /// When it starts.
    pub start: Start,
    /// How much later than asked its sleeps may end. Children inherit by being declared so.
    pub timer_slack: Ns,
    /// Whether it is a kernel thread: it is not new when it starts, but slept since long before the run. One that is
    /// bound to a single CPU hands work on and sleeps. It never returns to user mode, where it would give way, and its
    /// timers are looked at in ticks.
    pub kthread: bool,
    /// What it has in the cache of its core while it runs, KiB, and fetches again when it comes to another core or others
    /// have been on that one. 0: it notices nothing of that.
    pub working_set_kib: u32,
    /// Tasks with the same number share an address space.
    pub mm: u32,
    /// Its number among tasks that are equal but for that: what [`Instr::Index`] tells.
    pub index: u32,
    /// Whether it runs on another machine, and talks with this one over the network: a client of a server. It has a CPU of its own there,
    /// so it waits for nothing but time and messages; policy, group and affinity mean nothing. A message takes [`Machine::wire`] to come.
    ///
    /// [`Machine::wire`]: ../fairground_machine/struct.Machine.html#structfield.wire
    pub elsewhere: bool,
    /// Whether its figures belong to the workload (helpers such as a forking parent say no).
    pub measured: bool,
}

impl TaskSpec {
    /// An ordinary task at nice 0 that starts at time 0 and may run anywhere.
    pub fn new(name: impl Into<String>, program: ProgramId) -> TaskSpec {
        TaskSpec {
            name: name.into(),
            policy: Policy::Normal,
            nice: 0,
            slice: None,
            clamp: UtilClamp::NONE,
            affinity: None,
            first_cpu: None,
            group: None,
            program,
            start: Start::At(Instant::ZERO),
            timer_slack: DEFAULT_TIMER_SLACK,
            kthread: false,
            working_set_kib: 0,
            mm: 0,
            index: 0,
            elsewhere: false,
            measured: true,
        }
    }
}

/// A CPU cgroup. The root group is none of these: it is what `None` stands for wherever a group may be named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskGroupSpec {
    /// Its path from the root, such as `/web/api`.
    pub name: String,
    /// The group in which it lies; it has a lower row than this one.
    pub parent: Option<TgId>,
    /// Its weight among its siblings as cpu.shares tells it: 2 to 262144, 1024 is the default. Not looked at while it is idle.
    pub shares: u64,
    /// cpu.idle: it runs when no sibling wants to, but for a weight of 3.
    pub idle: bool,
    /// cpu.max and cpu.max.burst.
    pub limit: CpuMax,
    /// cpu.uclamp.min and cpu.uclamp.max.
    pub clamp: UtilClamp,
    /// One of the instants at which a period of its quota begins, ns of the run, if it is known: it says on which grid the period timer
    /// fires. `None`: as the kernel has it, at boot or drawn at random.
    pub period_phase: Option<Ns>,
    /// What each CPU has of its quota when the run begins. None, as of a group that was used and sleeps; where nobody was in it yet, what
    /// writing the limit has left: 1 ns from v6.18 on.
    pub left_on_cpus: Ns,
}

/// The weight of a group that was told nothing else (cpu.shares; cpu.weight 100).
pub const DEFAULT_SHARES: u64 = 1024;

impl TaskGroupSpec {
    /// A group of default weight.
    pub fn new(name: impl Into<String>, parent: Option<TgId>) -> TaskGroupSpec {
        TaskGroupSpec {
            name: name.into(),
            parent,
            shares: DEFAULT_SHARES,
            idle: false,
            limit: CpuMax::UNLIMITED,
            clamp: UtilClamp::NONE,
            period_phase: None,
            left_on_cpus: Ns::ZERO,
        }
    }
}

/// One pipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PipeSpec {
    /// Messages that fit before a writer blocks; if messages have a size, pages.
    pub capacity: u32,
    /// Whether who wakes the other end says that it will sleep soon (WF_SYNC), as pipes do; a queue that is guarded by a
    /// futex or a semaphore does not.
    pub sync: bool,
    /// The size of every message, 1 to [`PAGE_SIZE`] bytes: whole messages share a page as long as they fit, and who is woken
    /// is what a pipe of the kernel does. `None`: messages have no size, and each wakes one reader, each read one writer.
    pub bytes: Option<u32>,
}

/// A page of a pipe, bytes.
pub const PAGE_SIZE: u32 = 4096;

/// The pages of a pipe that was told nothing else.
///
/// Kernel: pipe_fs_i.h PIPE_DEF_BUFFERS, v4.12–
const PIPE_DEF_BUFFERS: u32 = 16;

impl PipeSpec {
    /// A pipe for so many messages.
    pub fn new(capacity: u32) -> PipeSpec {
        PipeSpec { capacity, sync: true, bytes: None }
    }
    /// A pipe as pipe(2) makes it, for messages of so many bytes.
    pub fn of_bytes(bytes: u32) -> PipeSpec {
        PipeSpec { bytes: Some(bytes), ..PipeSpec::new(PIPE_DEF_BUFFERS) }
    }
}

/// The unit of a marker's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkerUnit {
    /// Nanoseconds.
    Ns,
    /// Nanoseconds too, but of a program whose clock shows whole microseconds. Its values are also counted in the
    /// buckets by which schbench makes its percentiles; 0, which schbench does not count, is never recorded.
    WholeUs,
    /// Nanoseconds too, of a program that counts each whole microsecond by itself.
    EachUs,
    /// Nanoseconds that were left until something was due: more is better.
    Left,
    /// A plain number per second. Its values too are counted in those buckets.
    PerSecond,
    /// A plain number.
    Count,
    /// Nothing but that it happened: it is counted, and its value is 1.
    Event,
}

/// One kind of measurement that programs make. Aggregated per task: count, sum, max, percentiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkerSpec {
    /// Its name in tables and JSON, such as `latency`.
    pub name: String,
    /// Its unit.
    pub unit: MarkerUnit,
}

/// A change in mid-run, made from outside (`[[at]]` of a scenario).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// setpriority on a task.
    Nice { task: TaskId, nice: i8 },
    /// sched_setaffinity on a task.
    Affinity { task: TaskId, cpus: CpuMask },
    /// sched_setscheduler on a task.
    Policy { task: TaskId, policy: Policy },
    /// sched_setattr on a task: a slice of its own, or the base slice again.
    Slice { task: TaskId, slice: Option<Ns> },
    /// sched_setattr on a task: utilization clamps, of which those left open stay.
    Clamp { task: TaskId, clamp: UtilClamp },
    /// A task goes to another CPU cgroup (cgroup.procs, cgroup.threads); `None` is the root group.
    Group { task: TaskId, group: Option<TgId> },
    /// The weight of a group, as cpu.shares tells it (cpu.weight, cpu.weight.nice, cpu.shares).
    Shares { group: TgId, shares: u64 },
    /// The limit of a group (cpu.max, cpu.max.burst), which it may have ([`CpuMax::check`]).
    CpuMax { group: TgId, limit: CpuMax },
    /// cpu.idle of a group.
    GroupIdle { group: TgId, idle: bool },
    /// cpu.uclamp.min or cpu.uclamp.max of a group, or both; what is left open stays.
    GroupClamp { group: TgId, clamp: UtilClamp },
    /// A group is removed (rmdir); refused while tasks or groups are in it.
    RemoveGroup { group: TgId },
    /// A scheduler feature is switched.
    Feature(FeatWrite),
    /// Frequency of a CPU relative to its highest, 1..=1024.
    FreqCapacity { cpu: CpuId, freq_capacity: u32 },
    /// Another governor for the policy of a CPU.
    Governor { cpu: CpuId, governor: Governor },
    /// A CPU loses a share of its capacity to heat or a limit of its hardware, in 1/1024: 0..=1023, 0 = none.
    Pressure { cpu: CpuId, lost: u32 },
    /// A CPU goes off line or comes back (/sys/devices/system/cpu/cpuN/online).
    Hotplug { cpu: CpuId, online: bool },
    /// The stopper of a CPU runs for an instant and moves nothing: its watchdog looks whether it still can.
    Watchdog { cpu: CpuId },
}

/// A change and when it happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimedChange {
    /// When.
    pub at: Instant,
    /// What.
    pub change: Change,
}

/// Everything that the engine needs to know of a workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskSet {
    /// The programs.
    pub programs: IndexVec<ProgramId, Program>,
    /// The CPU cgroups, parents first.
    pub groups: IndexVec<TgId, TaskGroupSpec>,
    /// The tasks. A task's row here is its id in the run.
    pub tasks: IndexVec<TaskId, TaskSpec>,
    /// The pipes.
    pub pipes: IndexVec<PipeId, PipeSpec>,
    /// The sockets, two for each connection.
    pub socks: IndexVec<SockId, SockSpec>,
    /// The thread that serves the soft interrupts of each CPU, where there are any: see [`TaskSet::add_ksoftirqd`].
    pub ksoftirqd: IndexVec<CpuId, TaskId>,
    /// The memory that tasks share, as it is at the beginning.
    pub words: IndexVec<WordId, u64>,
    /// The memory that programs touch page by page.
    pub pools: IndexVec<PoolId, PoolSpec>,
    /// The locks.
    pub locks: IndexVec<LockId, LockSpec>,
    /// The parts of programs, by name.
    pub parts: IndexVec<PartId, String>,
    /// The kinds of measurement.
    pub markers: IndexVec<MarkerId, MarkerSpec>,
    /// How long a task may wait uninterruptibly before it counts as hung (kernel.hung_task_timeout_secs); `None` is
    /// [`HUNG_TASK_TIMEOUT`].
    pub hung_task_timeout: Option<Ns>,
    /// What takes time from CPUs beside the tasks.
    pub noise: Vec<NoiseSpec>,
    /// Changes in mid-run, in order of time.
    pub changes: Vec<TimedChange>,
    /// From when to when its programs' measurements count; `None` is the whole run. Of two sets, when both count.
    pub window: Option<(Instant, Instant)>,
}

impl TaskSet {
    /// The policies that tasks have from the start, are given, or give themselves; some more than once.
    pub fn policies(&self) -> impl Iterator<Item = Policy> {
        let own = self.programs.iter().flat_map(|program| &program.code).filter_map(|instr| match *instr {
            Instr::SetPolicy { policy } => Some(policy),
            _ => None,
        });
        let given = self.changes.iter().filter_map(|timed| match timed.change {
            Change::Policy { policy, .. } => Some(policy),
            _ => None,
        });
        self.tasks.iter().map(|task| task.policy).chain(own).chain(given)
    }

    /// Whether some task goes to another group, and some group has a quota, now or later.
    pub fn moves_below_quotas(&self) -> bool {
        let limited = self.groups.iter().any(|group| group.limit.quota.is_some());
        let limits = |change: &Change| matches!(change, Change::CpuMax { limit, .. } if limit.quota.is_some());
        let moves = |change: &Change| matches!(change, Change::Group { .. });
        let program_moves = |instr: &Instr| matches!(instr, Instr::SetGroup { .. });
        (limited || self.changes.iter().any(|timed| limits(&timed.change)))
            && (self.changes.iter().any(|timed| moves(&timed.change))
                || self.programs.iter().any(|program| program.code.iter().any(program_moves)))
    }

    /// Moves everything that happens at a fixed instant by `length`: starts, changes, and the instants
    /// that programs name.
    pub fn delay(&mut self, length: Ns) {
        for task in self.tasks.iter_mut() {
            if let Start::At(at) = &mut task.start {
                *at += length;
            }
        }
        for instr in self.programs.iter_mut().flat_map(|program| &mut program.code) {
            if let Instr::Set { at, .. } | Instr::JumpIfBefore { at, .. } = instr {
                *at += length;
            }
        }
        self.changes.iter_mut().for_each(|timed| timed.at += length);
        self.noise.iter_mut().for_each(|noise| noise.start += length);
        self.window = self.window.map(|(from, to)| (from + length, to + length));
        self.groups.iter_mut().filter_map(|group| group.period_phase.as_mut()).for_each(|phase| *phase += length);
    }

    /// Who asks for a slice of its own, or for the base slice again (`None`): tasks at their start, then programs,
    /// each under the first task that follows it, then changes.
    pub fn slices(&self) -> Vec<(TaskId, Option<Ns>)> {
        let mut asked: Vec<(TaskId, Option<Ns>)> =
            self.tasks.iter_enumerated().filter_map(|(id, task)| Some((id, Some(task.slice?)))).collect();
        for (id, program) in self.programs.iter_enumerated() {
            for instr in &program.code {
                if let Instr::SetSlice { slice } = instr
                    && let Some((task, _)) = self.tasks.iter_enumerated().find(|(_, task)| task.program == id)
                {
                    asked.push((task, *slice));
                }
            }
        }
        asked.extend(self.changes.iter().filter_map(|timed| match timed.change {
            Change::Slice { task, slice } => Some((task, slice)),
            _ => None,
        }));
        asked
    }

    /// The first task that asks for utilization clamps: at its start, in its program, or by a change.
    pub fn asks_for_clamp(&self) -> Option<TaskId> {
        let in_program = |task: &TaskSpec| {
            let code = &self.programs[task.program].code;
            code.iter().any(|instr| matches!(instr, Instr::SetClamp { .. }))
        };
        let asks = |task: &TaskSpec| task.clamp != UtilClamp::NONE || in_program(task);
        let changed = self.changes.iter().find_map(|timed| match timed.change {
            Change::Clamp { task, .. } => Some(task),
            _ => None,
        });
        self.tasks.iter_enumerated().find(|(_, task)| asks(task)).map(|(id, _)| id).or(changed)
    }

    /// The first group that has utilization clamps, at the start or by a change.
    pub fn clamped_group(&self) -> Option<&str> {
        let changed = self.changes.iter().find_map(|timed| match timed.change {
            Change::GroupClamp { group, .. } => Some(&self.groups[group]),
            _ => None,
        });
        self.groups.iter().find(|group| group.clamp != UtilClamp::NONE).or(changed).map(|group| group.name.as_str())
    }

    /// The group in which each task starts; forked ones start where the task is that forks them.
    pub fn first_groups(&self) -> IndexVec<TaskId, Option<TgId>> {
        let mut groups: IndexVec<TaskId, Option<TgId>> = self.tasks.iter().map(|task| task.group).collect();
        // A child may stand before its parent; a chain is no longer than there are tasks that are forked.
        let forks: Vec<(TaskId, TaskId)> = self
            .tasks
            .iter_enumerated()
            .flat_map(|(parent, task)| {
                let children = self.programs[task.program].code.iter().filter_map(|instr| match instr {
                    Instr::Fork { task } => Some(*task),
                    _ => None,
                });
                children.map(move |child| (parent, child))
            })
            .filter(|row| self.tasks[row.1].start == Start::Forked && self.tasks[row.1].group.is_none())
            .collect();
        for _ in 0..forks.len() {
            let before = groups.clone();
            forks.iter().for_each(|&(parent, child)| groups[child] = groups[parent]);
            if groups == before {
                break;
            }
        }
        groups
    }
}
