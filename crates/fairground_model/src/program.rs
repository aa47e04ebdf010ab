//! What a task does, as byte code: every workload and every replayed trace is made of these
//! instructions and nothing else, so a task's state is a few integers that can be cloned and compared.

#![allow(missing_docs, reason = "the fields of a variant are explained by the variant")]

use fairground_stdx::{
    CpuMask, Distribution, Instant, LockId, MarkerId, Ns, PartId, PipeId, PoolId, SockId, TaskId, TgId, WordId,
};

use crate::code::Code;
use crate::lock::LockMode;
use crate::policy::Policy;
use crate::util_clamp::UtilClamp;

/// In which mode a task computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// User code: can be preempted whenever an interrupt returns.
    User,
    /// Kernel code on the task's behalf: preempted only where the preemption model allows it.
    Kernel,
    /// Kernel code with preemption disabled (a spinlock is held, say): interrupts come, but the task stays.
    NoPreempt,
    /// Kernel code with interrupts off: ticks, timers and other CPUs wait for its end.
    IrqOff,
}

impl Mode {
    /// Whether an interrupt may take the task off its CPU here, if the preemption model allows that.
    pub const fn is_preemptible(self) -> bool {
        matches!(self, Mode::User | Mode::Kernel)
    }
}

/// How a periodic timer treats a period that has already passed (rt-app's `mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerMode {
    /// Periods follow one another from the last expiry; if the task is late the grid restarts now.
    Relative,
    /// Periods lie on a fixed grid, late or not.
    Absolute,
}

/// One of a task's [`REGS`] private time registers, which hold an instant in ns.
pub type Reg = u8;
/// The number of time registers of a task.
pub const REGS: usize = 8;
/// The number of loop counters of a task.
pub const COUNTERS: usize = 16;

/// Longest work that a register can ask for: 1000 s. The engine adds it to the present time, also stretched for a slow CPU.
pub const RUN_REG_MAX: Ns = Ns::from_secs(1000);

/// A word of memory that tasks share: `first`, or the one that lies as many words behind it as a register says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The word, or the first of an array.
    pub first: WordId,
    /// The register that holds an index into the array.
    pub plus: Option<Reg>,
}

impl From<WordId> for Word {
    fn from(first: WordId) -> Word {
        Word { first, plus: None }
    }
}

/// A number that a program stores, or compares with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// This one.
    Const(u64),
    /// What the register holds.
    Reg(Reg),
}

/// A comparison of a register (left) with a value (right).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// left = right
    Equal,
    /// left ≤ right
    AtMost,
}

/// A way to calculate with whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// The sum; at most 2^64 − 1.
    Plus,
    /// The difference; 0 if negative.
    Minus,
    /// The product; at most 2^64 − 1.
    Times,
    /// The quotient, rounded down; 0 by 0.
    Over,
}

impl Arithmetic {
    pub(crate) const fn of(self, left: u64, right: u64) -> u64 {
        match self {
            Arithmetic::Plus => left.saturating_add(right),
            Arithmetic::Minus => left.saturating_sub(right),
            Arithmetic::Times => left.saturating_mul(right),
            Arithmetic::Over if right == 0 => 0,
            Arithmetic::Over => left / right,
        }
    }
}

/// One instruction.
///
/// All that a program does between two instructions that take time happens at one instant: what it does to shared
/// memory there is atomic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instr {
    /// Computes `work`: ns of running on a CPU of capacity 1024 at its highest frequency.
    Run { work: Ns, mode: Mode },
    /// Computes an amount of work drawn from the task's random stream, both bounds included.
    RunBetween { low: Ns, high: Ns, mode: Mode },
    /// Is on the CPU for `time`, however fast the CPU is (rt-app `runtime`).
    RunTime { time: Ns, mode: Mode },
    /// Computes as much work as the register says, ns; at most [`RUN_REG_MAX`].
    RunReg { reg: Reg, mode: Mode },
    /// Computes until the clock shows the instant in the register (a loop that looks at the clock).
    RunUntil { reg: Reg },
    /// Sleeps for a length of time from now (nanosleep).
    Sleep { time: Ns },
    /// Waits for a device, uninterruptibly and counted as iowait (io_schedule): it answers after `time`.
    Io { time: Ns },
    /// Sleeps for a length drawn from the task's random stream, both bounds included.
    SleepBetween { low: Ns, high: Ns },
    /// Computes an amount of work drawn from the task's random stream: exponential, with this mean.
    RunExponential { mean: Ns, mode: Mode },
    /// Sleeps for a length drawn from the task's random stream: exponential, with this mean.
    SleepExponential { mean: Ns },
    /// Sleeps until the instant in the register; goes on at once if it has passed (absolute timer).
    SleepUntil { reg: Reg },
    /// rt-app's timer: the register holds the last expiry (at first what [`Instr::Now`] put there).
    /// Adds `period`, then sleeps until then, or not at all if that time has passed.
    TimerWait { reg: Reg, period: Ns, mode: TimerMode },
    /// reg = now.
    Now { reg: Reg },
    /// reg = now in whole microseconds, rounded down, as an instant in ns (gettimeofday).
    TimeOfDay { reg: Reg },
    /// reg = the number of the CPU (getcpu).
    GetCpu { into: Reg },
    /// reg = the task's number among equal ones ([`crate::TaskSpec::index`]).
    Index { into: Reg },
    /// reg = a value.
    Let { reg: Reg, value: Value },
    /// reg = a number drawn from the task's random stream.
    Draw { reg: Reg, from: Distribution },
    /// reg = reg combined with a value.
    Calculate { reg: Reg, by: Arithmetic, value: Value },
    /// reg = a word of shared memory.
    Load { word: Word, into: Reg },
    /// A word of shared memory = a value.
    Store { word: Word, value: Value },
    /// Computes until the word holds something else than `value` (a loop that looks at it). Whoever comes back to the
    /// CPU looks again.
    Spin { word: Word, value: u64 },
    /// Sleeps until woken by [`Instr::FutexWake`] on the same word, if this holds `value`; else goes on (FUTEX_WAIT).
    FutexWait { word: Word, value: Value },
    /// Wakes up to `count` tasks that wait on the word, first come first served, without the sync hint (FUTEX_WAKE).
    FutexWake { word: Word, count: u32 },
    /// An exception that lasts so long beside its entry and exit, drawn from the task's random stream, both bounds included: kernel code
    /// that ends in a return to user mode.
    PageFault { low: Ns, high: Ns },
    /// Touches an entry of a pool: a page fault if its process has not mapped that page. Reading also maps the pages around it.
    Touch { pool: PoolId, entry: Value, write: bool },
    /// Enters the kernel (a system call or a fault): all up to [`Instr::Leave`] happens there.
    Enter,
    /// Goes back to user mode.
    Leave,
    /// Gives way if that is due and preemption is none or voluntary (cond_resched).
    CondResched,
    /// Gives way if that is due and preemption is voluntary (might_sleep).
    MightSleep,
    /// Takes a lock: see [`crate::LockSpec`]. A mutex and a futex have one mode, [`LockMode::Write`].
    Lock { lock: LockId, mode: LockMode },
    /// Releases a lock.
    Unlock { lock: LockId },
    /// Keeps a rwsem that was taken to write to read only: waiting readers at the head of its queue come in.
    Downgrade { lock: LockId },
    /// reg = a fixed instant.
    Set { reg: Reg, at: Instant },
    /// reg += time.
    Add { reg: Reg, time: Ns },
    /// Writes one message into a pipe: the value of `value`, or the present time if `None`.
    /// Blocks while the pipe is full. The reader is woken with the sync hint.
    Write { pipe: PipeId, value: Option<Reg> },
    /// Takes one message from a pipe into a register; blocks while the pipe is empty.
    Read { pipe: PipeId, into: Reg },
    /// Sends one message (`send`): see [`crate::SockSpec`].
    Send { sock: SockId, bytes: u32 },
    /// Receives: see [`crate::SockSpec`]. From a stream it calls `recv` until it has all `bytes`; from a datagram socket it
    /// takes one datagram, of which what is more than `bytes` is lost.
    Recv { sock: SockId, bytes: u32 },
    /// Serves the soft interrupts of its CPU, or sleeps until there are any: all that `ksoftirqd` does.
    ServeSoftirqs,
    /// Blocks while a pipe is empty, and takes nothing out of it (poll for POLLIN). A write wakes all who do so.
    Poll { pipe: PipeId },
    /// Starts a task of the set whose start is [`crate::Start::Forked`].
    Fork { task: TaskId },
    /// Blocks until all tasks that this one forked have ended.
    WaitChildren,
    /// Gives the CPU away (sched_yield).
    Yield,
    /// Becomes another program (execve): a good moment to move, since nothing of it is in a cache.
    Exec,
    /// Looks at its own CPU time (clock_gettime of CLOCK_THREAD_CPUTIME_ID), which is accounted for that.
    /// What it shows goes into the register, if one is named.
    ThreadClock { into: Option<Reg> },
    /// Changes its own nice value.
    SetNice { nice: i8 },
    /// Changes its own policy.
    SetPolicy { policy: Policy },
    /// Gives itself a slice of its own (sched_runtime of sched_setattr), or the base slice again.
    SetSlice { slice: Option<Ns> },
    /// Asks for utilization clamps (sched_util_min and sched_util_max of sched_setattr), of which those left open stay. Clamps that
    /// contradict each other are refused (EINVAL), and nothing changes.
    SetClamp { clamp: UtilClamp },
    /// Changes its own allowed CPUs.
    SetAffinity { cpus: Box<CpuMask> },
    /// Goes to another CPU cgroup; `None` is the root group.
    SetGroup { group: Option<TgId> },
    /// Changes its own timer slack.
    SetTimerSlack { slack: Ns },
    /// Reports `now - reg` (0 if reg lies in the future).
    MarkSince { marker: MarkerId, reg: Reg },
    /// Reports the difference of two registers, `late - early` (0 if negative).
    MarkBetween { marker: MarkerId, early: Reg, late: Reg },
    /// Reports a constant, to count things.
    MarkValue { marker: MarkerId, value: u64 },
    /// From here on its CPU time counts for this part; `None`: for none.
    Part { part: Option<PartId> },
    /// Asks that it is not preempted for some microseconds, or says that this is not needed any more.
    SliceExt { request: bool },
    /// Goes to instruction `to`.
    Jump { to: u32 },
    /// Goes to `to` if the register's instant lies before `at`.
    JumpIfBefore { reg: Reg, at: Instant, to: u32 },
    /// Goes to `to` if the comparison of the register with `value` holds.
    JumpIf { reg: Reg, is: Test, value: Value, to: u32 },
    /// Goes to `to` with a chance of `hits` in `of`, drawn from the task's random stream.
    JumpByChance { hits: u32, of: u32, to: u32 },
    /// Counts a round in `counter`; goes to `to` until `times` rounds are done, then clears the counter.
    Repeat { counter: u8, times: u64, to: u32 },
    /// Ends the task.
    Exit,
}

impl Instr {
    /// The instruction to which it may go, if it is a jump.
    pub fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            Instr::Jump { to }
            | Instr::JumpIfBefore { to, .. }
            | Instr::JumpIf { to, .. }
            | Instr::JumpByChance { to, .. }
            | Instr::Repeat { to, .. } => Some(to),
            _ => None,
        }
    }
    /// The instruction to which it may go, if it is a jump.
    pub fn target(&self) -> Option<u32> {
        self.clone().target_mut().copied()
    }
    /// The socket that it sends into or receives from, if it does.
    pub fn socket(&self) -> Option<SockId> {
        match *self {
            Instr::Send { sock, .. } | Instr::Recv { sock, .. } => Some(sock),
            _ => None,
        }
    }
    /// Whether a task of another machine ([`crate::TaskSpec::elsewhere`]) may do so: compute, wait for time and messages, measure, and
    /// what takes no time.
    pub fn is_possible_elsewhere(&self) -> bool {
        match self {
            Instr::Run { .. }
            | Instr::RunBetween { .. }
            | Instr::RunExponential { .. }
            | Instr::RunTime { .. }
            | Instr::RunReg { .. }
            | Instr::RunUntil { .. }
            | Instr::Sleep { .. }
            | Instr::SleepBetween { .. }
            | Instr::SleepExponential { .. }
            | Instr::SleepUntil { .. }
            | Instr::TimerWait { .. }
            | Instr::Io { .. }
            | Instr::Now { .. }
            | Instr::TimeOfDay { .. }
            | Instr::Index { .. }
            | Instr::Let { .. }
            | Instr::Draw { .. }
            | Instr::Calculate { .. }
            | Instr::Load { .. }
            | Instr::Store { .. }
            | Instr::Set { .. }
            | Instr::Add { .. }
            | Instr::Send { .. }
            | Instr::Recv { .. }
            | Instr::MarkSince { .. }
            | Instr::MarkBetween { .. }
            | Instr::MarkValue { .. }
            | Instr::Exit => true,
            _ => self.target().is_some(),
        }
    }
    /// The word of shared memory that it names, if it does.
    pub fn word_mut(&mut self) -> Option<&mut Word> {
        match self {
            Instr::Load { word, .. }
            | Instr::Store { word, .. }
            | Instr::Spin { word, .. }
            | Instr::FutexWait { word, .. }
            | Instr::FutexWake { word, .. } => Some(word),
            _ => None,
        }
    }
}

/// A list of instructions. Falling off the end ends the task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The instructions; jump targets are indices into this list.
    pub code: Code,
}

impl From<Vec<Instr>> for Program {
    fn from(code: Vec<Instr>) -> Program {
        Program { code: code.into() }
    }
}

impl Program {
    /// Appends an instruction and returns its index.
    pub fn push(&mut self, instr: Instr) -> u32 {
        self.code.push(instr);
        self.code.len() as u32 - 1
    }
    /// The index that the next instruction will get.
    pub fn here(&self) -> u32 {
        self.code.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Arithmetic::{Minus, Over, Plus, Times};

    #[test]
    fn arithmetic_never_overflows() {
        assert_eq!([Plus.of(2, 3), Minus.of(3, 2), Times.of(2, 3), Over.of(7, 2)], [5, 1, 6, 3]);
        assert_eq!([Plus.of(u64::MAX, 1), Minus.of(2, 3), Times.of(u64::MAX, 2), Over.of(7, 0)], [u64::MAX, 0, u64::MAX, 0]);
    }
}
