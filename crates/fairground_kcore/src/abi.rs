//! What passes between the engine and a core, as `kcore/arch/fg/include/asm/fg_abi.h` has it: one table of functions, plain
//! structs, numbers. That header says what each field means; the sizes are compared when a library is loaded.

use std::ffi::{c_char, c_void};

/// The version of the interface. A library of another version is refused.
pub const VERSION: u32 = 11;
/// The answer of a core that has stopped.
pub(crate) const BROKEN: i64 = -10_000;
/// The idle task in a [`Kind::Switch`].
pub const IDLE: u64 = 0xffff_ffff;
/// The stopper in a [`Kind::Switch`].
pub const STOPPER: u64 = 0xffff_fffe;

/// What a request asks of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The reschedule interrupt of a CPU.
    Resched,
    /// The function call interrupt of a CPU.
    Call,
    /// A softirq was raised: its number.
    Softirq,
    /// A timer is due: its number, and when.
    Timer,
    /// A timer is no longer wanted: its number.
    Untimer,
    /// A CPU went from one task to another.
    Switch,
    /// The stopper of a CPU has work.
    Stop,
    /// The core met a WARN; the log has its text.
    Warn,
    /// The CPUs of a policy run at another frequency from now on: the policy, and kHz.
    Frequency,
    /// The thread that changes a policy's frequency is to run: the policy.
    FrequencyThread,
    /// The driver of a policy is done later: the policy, and when.
    FrequencyTimer,
    /// A task goes to another CPU: the task. It may be there already.
    Move,
}

const KINDS: [Kind; 12] = [
    Kind::Resched,
    Kind::Call,
    Kind::Softirq,
    Kind::Timer,
    Kind::Untimer,
    Kind::Switch,
    Kind::Stop,
    Kind::Warn,
    Kind::Frequency,
    Kind::FrequencyThread,
    Kind::FrequencyTimer,
    Kind::Move,
];

/// One request of the ring.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    kind: u32,
    /// The CPU that it is about.
    pub cpu: u32,
    /// When it was made, in ns.
    pub time_ns: u64,
    /// Number of a softirq, timer or policy, or the task that leaves or moves.
    pub a: u64,
    /// When a timer is due, in ns, a frequency in kHz, or the task that comes.
    pub b: u64,
}

impl Request {
    /// What it asks; `None` if the library has a kind that this version does not know.
    pub fn kind(&self) -> Option<Kind> {
        KINDS.get((self.kind as usize).checked_sub(1)?).copied()
    }
}

/// What a call has seen of another CPU.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen(u32);

impl Seen {
    const LOCKED: u32 = 1 << 31;

    /// Which CPU.
    pub fn cpu(self) -> u32 {
        self.0 & !Seen::LOCKED
    }
    /// Whether it took the lock of that CPU's run queue, which may be its own; else it looked at the queue.
    pub fn is_lock(self) -> bool {
        self.0 & Seen::LOCKED != 0
    }
}

/// What a CPU is to do before its task goes on in user mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(pub(crate) i64);

impl Flags {
    /// schedule(), at once.
    pub fn must_schedule(self) -> bool {
        self.0 & 1 != 0
    }
    /// schedule(), at the next return to user mode or tick, as a lazy request asks.
    pub fn may_schedule(self) -> bool {
        self.0 & 2 != 0
    }
    /// The works of the running task.
    pub fn user_works(self) -> bool {
        self.0 & 4 != 0
    }
}

/// Where a wake-up has put a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Woken {
    /// The CPU on which it will run.
    pub cpu: u32,
    /// It is on that CPU's wake list, and queued with the function call interrupt there.
    pub listed: bool,
}

/// The machine as the core gets it. The tables outlive the call only in the core's copies.
#[repr(C)]
pub(crate) struct MachineTables {
    pub(crate) cpus: u32,
    pub(crate) nodes: u32,
    pub(crate) seed: u64,
    pub(crate) now: u64,
    pub(crate) core: *const u32,
    pub(crate) cluster: *const u32,
    pub(crate) package: *const u32,
    pub(crate) node: *const u32,
    pub(crate) capacity: *const u32,
    pub(crate) distance: *const u32,
    pub(crate) invariant: u32,
    pub(crate) nodes_in_package: u32,
}

/// A part of the core's memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UnusedPart {
    pub(crate) start: *const u8,
    pub(crate) bytes: u64,
}

#[repr(C)]
pub(crate) struct FreqPolicyTables {
    pub(crate) cpu: *const u32,
    pub(crate) khz: *const u32,
    pub(crate) milliwatt: *const u32,
    pub(crate) latency: u64,
    pub(crate) cpus: u32,
    pub(crate) points: u32,
    pub(crate) fast_switch: u32,
    pub(crate) pad: u32,
}

/// Who chooses the frequency of a policy.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Governing {
    /// 1: schedutil of the tree; 0: a rule of the engine.
    pub schedutil: u32,
    /// The lowest frequency that may be chosen, a point of the policy.
    pub min_khz: u32,
    /// The highest.
    pub max_khz: u32,
    /// At which it runs now.
    pub cur_khz: u32,
    /// The least time between two changes.
    pub rate_limit_us: u32,
    /// Without schedutil: what is asked for as it begins; 0: nothing.
    pub begin_khz: u32,
}

/// What has become of the frequency of a policy.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FreqView {
    /// How often it has changed.
    pub changes: u64,
    /// At which it runs.
    pub cur_khz: u32,
    /// What the driver is at work on; 0: nothing.
    pub coming_khz: u32,
    /// Whether something was asked for that the driver has not begun with.
    pub waits: u32,
    pad: u32,
}

#[repr(C)]
pub(crate) struct ForkTables {
    pub(crate) nice: i32,
    pub(crate) policy: u32,
    pub(crate) priority: u32,
    pub(crate) group: u32,
    pub(crate) outside: u32,
    pub(crate) clamp_min: i32,
    pub(crate) clamp_max: i32,
    pub(crate) name: *const c_char,
}

/// Policy and what goes with it, as `sched_setattr` takes them.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "the fields of the system call sched_setattr")]
pub struct Policy {
    pub policy: u32,
    pub nice: i32,
    pub priority: u32,
    pub flags: u32,
    pub runtime_ns: u64,
    pub deadline_ns: u64,
    pub period_ns: u64,
    pub clamp_min: u32,
    pub clamp_max: u32,
}

/// A task, as the core sees it. A field that the tree lacks is 0.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct TaskView {
    pub vruntime: u64,
    pub deadline: u64,
    pub slice_ns: u64,
    pub sum_exec_ns: u64,
    pub weight: u64,
    pub vlag: i64,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    pub last_update_ns: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u64,
    pub cpu: u32,
    pub state: u32,
    pub on_rq: u32,
    pub on_cpu: u32,
    pub prio: u32,
    pub delayed: u32,
    pub group: u32,
    pub util_est: u32,
    /// Ticks that are left to a SCHED_RR task.
    pub rr_slice: u32,
    pub dl_throttled: u32,
    pub dl_non_contending: u32,
    pub dl_yielded: u32,
    /// What is left of a deadline task's runtime.
    pub dl_runtime_ns: i64,
    /// Absolute, by the clock of the run queue.
    pub dl_deadline_ns: u64,
    /// In effect, those of its group among them.
    pub clamp_min: u32,
    pub clamp_max: u32,
}

/// A fair queue: that of a group on a CPU.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct QueueView {
    pub weight: u64,
    pub min_vruntime: u64,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u64,
    pub last_update_ns: u64,
    pub runtime_remaining_ns: i64,
    pub pool_ns: u64,
    pub group_load_avg: u64,
    pub nr_queued: u32,
    pub h_nr_queued: u32,
    pub throttled: u32,
    pub util_est: u32,
    /// What stands for the queue above it, without what only a task has.
    pub entity: TaskView,
}

/// A run queue.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct CpuView {
    pub clock_ns: u64,
    pub clock_task_ns: u64,
    pub clock_pelt_ns: u64,
    pub next_balance: u64,
    pub nr_switches: u64,
    pub capacity: u64,
    pub avg_idle_ns: u64,
    pub nr_running: u32,
    pub running: u32,
    pub nr_idle_scan: u32,
    /// 1: at once; 2: at the next return to user mode.
    pub need_resched: u32,
    pub rt_time_ns: u64,
    pub rt_runtime_ns: u64,
    pub rt_util_avg: u64,
    pub dl_util_avg: u64,
    pub rt_nr_running: u32,
    pub rt_highest: u32,
    pub rt_next: u32,
    pub rt_overloaded: u32,
    pub rt_throttled: u32,
    /// The number of the first real-time task that waits and may go; 0: none.
    pub rt_first_pushable: u32,
    pub server_runtime_ns: i64,
    pub server_deadline_ns: u64,
    pub server_active: u32,
    pub server_throttled: u32,
    pub dl_running_bw: u64,
    pub dl_this_bw: u64,
    pub dl_total_bw: u64,
    /// 0: no entity of the deadline class is queued.
    pub dl_earliest_ns: u64,
    pub dl_nr_running: u32,
    pub dl_overloaded: u32,
    /// As of the real-time class.
    pub dl_first_pushable: u32,
    pub clamp_min: u32,
    pub clamp_max: u32,
    pub online: u32,
    /// Whether the running task has works to do before it returns to user mode.
    pub user_works: u32,
    /// Whether wake-ups go by energy while nobody has too much to do.
    pub by_energy: u32,
    /// Of the running task, if it does not fit; 0: it does.
    pub misfit_load: u64,
    /// Whether somebody waits on any CPU.
    pub overloaded: u32,
    /// Whether any CPU has more to do than it can.
    pub overutilized: u32,
}

/// What cpu.max of a group says and cpu.stat counts.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names of the files' lines")]
pub struct QuotaView {
    quota: u64,
    pub period_ns: u64,
    pub burst_ns: u64,
    pub nr_periods: u64,
    pub nr_throttled: u64,
    pub throttled_time_ns: u64,
    pub nr_burst: u64,
    pub burst_time_ns: u64,
}

impl QuotaView {
    const UNLIMITED: u64 = u64::MAX;

    /// What the group may use in a period; `None`: as much as it likes.
    pub fn quota_ns(&self) -> Option<u64> {
        Some(self.quota).filter(|&ns| ns != QuotaView::UNLIMITED)
    }
}

/// A scheduling domain of a CPU.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct DomainView {
    name: [u8; 16],
    pub last_balance: u64,
    pub max_newidle_cost_ns: u64,
    pub weight: u32,
    pub flags: u32,
    pub balance_interval: u32,
    pub first_cpu: u32,
    pub nr_balance_failed: u32,
    pad: u32,
    span: [u32; 16],
}

impl DomainView {
    pub(crate) const EMPTY: DomainView = DomainView {
        name: [0; 16],
        last_balance: 0,
        max_newidle_cost_ns: 0,
        weight: 0,
        flags: 0,
        balance_interval: 0,
        first_cpu: 0,
        nr_balance_failed: 0,
        pad: 0,
        span: [0; 16],
    };

    /// The kernel's name of the level, if the build has names.
    pub fn name(&self) -> String {
        self.name.iter().take_while(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect()
    }
    /// Whether the domain spans that CPU, of the first 512.
    pub fn spans(&self, cpu: u32) -> bool {
        self.span.get(cpu as usize / 32).is_some_and(|word| word & (1 << (cpu % 32)) != 0)
    }
}

#[repr(C)]
pub(crate) struct FaultTables {
    pub(crate) kind: u32,
    pub(crate) line: u32,
    pub(crate) file: *const c_char,
    pub(crate) what: *const c_char,
    pub(crate) address: u64,
    pub(crate) caller: u64,
}

type Call0 = unsafe extern "C" fn(u32, u64) -> i64;
type Call1 = unsafe extern "C" fn(u32, u64, u32) -> i64;
type Call2 = unsafe extern "C" fn(u32, u64, u32, u32) -> i64;

/// The table of a library.
#[repr(C)]
pub(crate) struct Table {
    pub(crate) abi: u32,
    pub(crate) size: u32,
    pub(crate) release: *const c_char,
    pub(crate) identity: *const c_char,
    pub(crate) hz: u32,
    pub(crate) preemption: u32,
    pub(crate) boot: unsafe extern "C" fn(*const MachineTables) -> i64,
    pub(crate) fault: unsafe extern "C" fn() -> *const FaultTables,
    pub(crate) requests: unsafe extern "C" fn(*mut u32) -> *const Request,
    pub(crate) seen: unsafe extern "C" fn(*mut u32) -> *const Seen,
    pub(crate) log: unsafe extern "C" fn() -> *const c_char,
    pub(crate) signalled: unsafe extern "C" fn(u32, u64, u64),
    pub(crate) unused: unsafe extern "C" fn() -> UnusedPart,
    pub(crate) feature: unsafe extern "C" fn(*const c_char, u32) -> i64,
    pub(crate) tunable: unsafe extern "C" fn(*const c_char, u64) -> i64,
    pub(crate) jiffies: unsafe extern "C" fn(u64, u64) -> i64,
    pub(crate) fork: unsafe extern "C" fn(u32, u64, *const ForkTables) -> i64,
    pub(crate) start: Call1,
    pub(crate) wake: Call2,
    pub(crate) schedule: Call1,
    pub(crate) tick: Call0,
    pub(crate) softirq: Call1,
    pub(crate) ipi: Call1,
    pub(crate) timer: Call1,
    pub(crate) stopper: Call0,
    pub(crate) exit: Call0,
    pub(crate) user_return: Call0,
    pub(crate) nice: unsafe extern "C" fn(u32, u64, u32, i32) -> i64,
    pub(crate) affinity: unsafe extern "C" fn(u32, u64, u32, *const u32, u32) -> i64,
    pub(crate) policy: unsafe extern "C" fn(u32, u64, u32, *const Policy) -> i64,
    pub(crate) group_new: Call1,
    pub(crate) group_file: unsafe extern "C" fn(u32, u64, u32, *const c_char, i64) -> i64,
    pub(crate) group_move: Call2,
    pub(crate) group_remove: Call1,
    pub(crate) exec: Call0,
    pub(crate) hotplug: Call1,
    pub(crate) frequency: Call1,
    pub(crate) policy_new: unsafe extern "C" fn(u32, u64, *const FreqPolicyTables) -> i64,
    pub(crate) govern: unsafe extern "C" fn(u32, u64, u32, *const Governing) -> i64,
    pub(crate) frequency_work: Call1,
    pub(crate) flags: unsafe extern "C" fn(u32) -> i64,
    pub(crate) view_task: unsafe extern "C" fn(u32, *mut TaskView) -> i64,
    pub(crate) view_queue: unsafe extern "C" fn(u32, u32, *mut QueueView) -> i64,
    pub(crate) view_cpu: unsafe extern "C" fn(u32, *mut CpuView) -> i64,
    pub(crate) view_quota: unsafe extern "C" fn(u32, *mut QuotaView) -> i64,
    pub(crate) view_domain: unsafe extern "C" fn(u32, u32, *mut DomainView) -> i64,
    pub(crate) view_policy: unsafe extern "C" fn(u32, *mut FreqView) -> i64,
    pub(crate) set_domain: unsafe extern "C" fn(u32, u32, u64, i64) -> i64,
    pub(crate) set_idle_since: unsafe extern "C" fn(u32, u64) -> i64,
}

/// The one symbol of a library.
pub(crate) type Entry = unsafe extern "C" fn() -> *const Table;
/// What the system gives for a library.
pub(crate) type Handle = *mut c_void;
