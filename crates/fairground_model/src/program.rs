//! What a task does, as byte code: every workload and every replayed trace is made of these
//! instructions and nothing else, so a task's state is a few integers that can be cloned and compared.

#![allow(missing_docs, reason = "the fields of a variant are explained by the variant")]

use fairground_stdx::{
    CpuId, CpuMask, Distribution, Id, IndexVec, Instant, LockId, MarkerId, Ns, PipeId, RngStream, SockId, TaskId, TgId, WordId,
};

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
    const fn of(self, left: u64, right: u64) -> u64 {
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
    ThreadClock,
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
    SetAffinity { cpus: CpuMask },
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
    /// Goes to instruction `to`.
    Jump { to: u32 },
    /// Goes to `to` if the register's instant lies before `at`.
    JumpIfBefore { reg: Reg, at: Instant, to: u32 },
    /// Goes to `to` if the comparison of the register with `value` holds.
    JumpIf { reg: Reg, is: Test, value: Value, to: u32 },
    /// Counts a round in `counter`; goes to `to` until `times` rounds are done, then clears the counter.
    Repeat { counter: u8, times: u64, to: u32 },
    /// Ends the task.
    Exit,
}

impl Instr {
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
    pub code: Vec<Instr>,
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

/// What a task wants next, with all numbers filled in: the engine knows nothing else of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// See [`Instr::Run`].
    Run { work: Ns, mode: Mode },
    /// See [`Instr::RunTime`].
    RunTime { time: Ns, mode: Mode },
    /// See [`Instr::RunUntil`].
    RunUntil { at: Instant },
    /// See [`Instr::Sleep`].
    SleepFor(Ns),
    /// See [`Instr::Io`].
    Io(Ns),
    /// See [`Instr::SleepUntil`].
    SleepUntil(Instant),
    /// See [`Instr::Write`].
    Write { pipe: PipeId, value: u64 },
    /// See [`Instr::Read`]. The engine answers with [`Frame::set`].
    Read { pipe: PipeId, into: Reg },
    /// See [`Instr::Send`].
    Send { sock: SockId, bytes: u32 },
    /// See [`Instr::Recv`].
    Recv { sock: SockId, bytes: u32 },
    /// See [`Instr::ServeSoftirqs`].
    ServeSoftirqs,
    /// See [`Instr::Spin`].
    Spin { word: WordId, value: u64 },
    /// See [`Instr::FutexWait`].
    FutexWait { word: WordId, value: u64 },
    /// See [`Instr::FutexWake`].
    FutexWake { word: WordId, count: u32 },
    /// See [`Instr::Enter`].
    Enter,
    /// See [`Instr::Leave`].
    Leave,
    /// See [`Instr::CondResched`].
    CondResched,
    /// See [`Instr::MightSleep`].
    MightSleep,
    /// See [`Instr::Lock`].
    Lock { lock: LockId, mode: LockMode },
    /// See [`Instr::Unlock`].
    Unlock { lock: LockId },
    /// See [`Instr::Downgrade`].
    Downgrade { lock: LockId },
    /// See [`Instr::Poll`].
    Poll { pipe: PipeId },
    /// See [`Instr::Fork`].
    Fork { task: TaskId },
    /// See [`Instr::WaitChildren`].
    WaitChildren,
    /// See [`Instr::Yield`].
    Yield,
    /// See [`Instr::Exec`].
    Exec,
    /// See [`Instr::ThreadClock`].
    ThreadClock,
    /// See [`Instr::SetNice`].
    SetNice { nice: i8 },
    /// See [`Instr::SetPolicy`].
    SetPolicy { policy: Policy },
    /// See [`Instr::SetSlice`].
    SetSlice { slice: Option<Ns> },
    /// See [`Instr::SetClamp`].
    SetClamp { clamp: UtilClamp },
    /// See [`Instr::SetAffinity`]. The mask is read from the program ([`Frame::affinity`]).
    SetAffinity,
    /// See [`Instr::SetGroup`].
    SetGroup { group: Option<TgId> },
    /// See [`Instr::SetTimerSlack`].
    SetTimerSlack { slack: Ns },
    /// A measurement.
    Mark { marker: MarkerId, value: u64 },
    /// The task ends.
    Exit,
    /// The program has touched a word that does not exist.
    Fault,
    /// The program has run a great many instructions without asking for anything: it will never end.
    Stuck,
}

/// What a program can see of the world.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The time.
    pub now: Instant,
    /// The CPU on which it runs.
    pub cpu: CpuId,
    /// The random stream of its task.
    pub rng: &'a mut RngStream,
    /// The memory that tasks share.
    pub words: &'a mut IndexVec<WordId, u64>,
}

/// Where a task is in its program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    pc: u32,
    regs: [u64; REGS],
    counters: [u64; COUNTERS],
}

/// Control instructions that a program may run in one go before it counts as stuck.
const FUEL: u32 = 100_000;

impl Frame {
    /// A frame at the first instruction, all registers zero.
    pub fn new() -> Frame {
        Frame::default()
    }
    /// That of a task which sleeps already as a run begins, and until when: its program begins with a sleep until a fixed instant.
    pub fn asleep(program: &Program) -> Option<(Frame, Instant)> {
        match *program.code.as_slice() {
            [Instr::Set { reg, at }, Instr::SleepUntil { reg: until }, ..] if reg == until => {
                let mut frame = Frame { pc: 2, ..Frame::default() };
                frame.set(reg, at.ns());
                Some((frame, at))
            }
            _ => None,
        }
    }
    /// The index of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }
    /// Stores the answer to a [`Step::Read`].
    pub fn set(&mut self, reg: Reg, value: u64) {
        self.regs[usize::from(reg)] = value;
    }
    /// The mask of the [`Instr::SetAffinity`] that was just returned as a step.
    pub fn affinity<'p>(&self, program: &'p Program) -> Option<&'p CpuMask> {
        match program.code.get(self.pc as usize - 1) {
            Some(Instr::SetAffinity { cpus }) => Some(cpus),
            _ => None,
        }
    }
    /// Runs to the next thing that the task wants.
    #[inline]
    pub fn next(&mut self, program: &Program, around: &mut Surroundings<'_>) -> Step {
        for _ in 0..FUEL {
            if let Some(step) = self.run_one(program, around) {
                return step;
            }
        }
        Step::Stuck
    }
    /// Runs one instruction: what the task wants, or nothing if it was one of control. Apart from the loop, which else would begin with
    /// what only rare instructions need.
    #[inline(never)]
    fn run_one(&mut self, program: &Program, around: &mut Surroundings<'_>) -> Option<Step> {
        let now = around.now;
        let Some(instr) = program.code.get(self.pc as usize) else { return Some(Step::Exit) };
        self.pc += 1;
        match *instr {
            Instr::Run { work, mode } => return Some(Step::Run { work, mode }),
            Instr::RunBetween { low, high, mode } => {
                return Some(Step::Run { work: Ns(around.rng.between(low.0, high.0)), mode });
            }
            Instr::RunTime { time, mode } => return Some(Step::RunTime { time, mode }),
            Instr::RunReg { reg, mode } => {
                return Some(Step::Run { work: Ns(self.regs[usize::from(reg)]).min(RUN_REG_MAX), mode });
            }
            Instr::RunUntil { reg } => return Some(Step::RunUntil { at: self.at(reg) }),
            Instr::Sleep { time } => return Some(Step::SleepFor(time)),
            Instr::Io { time } => return Some(Step::Io(time)),
            Instr::SleepBetween { low, high } => return Some(Step::SleepFor(Ns(around.rng.between(low.0, high.0)))),
            Instr::RunExponential { mean, mode } => {
                return Some(Step::Run { work: Ns(around.rng.exponential(mean.0)), mode });
            }
            Instr::SleepExponential { mean } => return Some(Step::SleepFor(Ns(around.rng.exponential(mean.0)))),
            Instr::SleepUntil { reg } => return Some(Step::SleepUntil(self.at(reg))),
            Instr::TimerWait { reg, period, mode } => {
                let slot = &mut self.regs[usize::from(reg)];
                *slot = slot.saturating_add(period.0);
                if *slot > now.ns() {
                    return Some(Step::SleepUntil(Instant::from_ns(*slot)));
                }
                if mode == TimerMode::Relative {
                    *slot = now.ns();
                }
            }
            Instr::Now { reg } => self.set(reg, now.ns()),
            Instr::TimeOfDay { reg } => self.set(reg, now.ns() / 1000 * 1000),
            Instr::GetCpu { into } => self.set(into, u64::from(around.cpu.get())),
            Instr::Let { reg, value } => self.set(reg, self.value(value)),
            Instr::Draw { reg, from } => self.set(reg, from.draw(around.rng)),
            Instr::Calculate { reg, by, value } => {
                self.set(reg, by.of(self.regs[usize::from(reg)], self.value(value)));
            }
            Instr::Load { word, into } => match self.word(word, around).map(|word| around.words[word]) {
                Some(value) => self.set(into, value),
                None => return Some(Step::Fault),
            },
            Instr::Store { word, value } => match self.word(word, around) {
                Some(word) => around.words[word] = self.value(value),
                None => return Some(Step::Fault),
            },
            Instr::Spin { word, value } => match self.word(word, around) {
                Some(word) if around.words[word] == value => return Some(Step::Spin { word, value }),
                Some(_) => {}
                None => return Some(Step::Fault),
            },
            Instr::FutexWait { word, value } => {
                let value = self.value(value);
                return Some(self.word(word, around).map_or(Step::Fault, |word| Step::FutexWait { word, value }));
            }
            Instr::FutexWake { word, count } => {
                return Some(self.word(word, around).map_or(Step::Fault, |word| Step::FutexWake { word, count }));
            }
            Instr::Enter => return Some(Step::Enter),
            Instr::Leave => return Some(Step::Leave),
            Instr::CondResched => return Some(Step::CondResched),
            Instr::MightSleep => return Some(Step::MightSleep),
            Instr::Lock { lock, mode } => return Some(Step::Lock { lock, mode }),
            Instr::Unlock { lock } => return Some(Step::Unlock { lock }),
            Instr::Downgrade { lock } => return Some(Step::Downgrade { lock }),
            Instr::Set { reg, at } => self.set(reg, at.ns()),
            Instr::Add { reg, time } => self.set(reg, self.regs[usize::from(reg)].saturating_add(time.0)),
            Instr::Write { pipe, value } => {
                return Some(Step::Write { pipe, value: value.map_or(now.ns(), |reg| self.regs[usize::from(reg)]) });
            }
            Instr::Read { pipe, into } => return Some(Step::Read { pipe, into }),
            Instr::Send { sock, bytes } => return Some(Step::Send { sock, bytes }),
            Instr::Poll { pipe } => return Some(Step::Poll { pipe }),
            Instr::Recv { sock, bytes } => return Some(Step::Recv { sock, bytes }),
            Instr::ServeSoftirqs => return Some(Step::ServeSoftirqs),
            Instr::Fork { task } => return Some(Step::Fork { task }),
            Instr::WaitChildren => return Some(Step::WaitChildren),
            Instr::Yield => return Some(Step::Yield),
            Instr::Exec => return Some(Step::Exec),
            Instr::ThreadClock => return Some(Step::ThreadClock),
            Instr::SetNice { nice } => return Some(Step::SetNice { nice }),
            Instr::SetPolicy { policy } => return Some(Step::SetPolicy { policy }),
            Instr::SetSlice { slice } => return Some(Step::SetSlice { slice }),
            Instr::SetClamp { clamp } => return Some(Step::SetClamp { clamp }),
            Instr::SetAffinity { .. } => return Some(Step::SetAffinity),
            Instr::SetGroup { group } => return Some(Step::SetGroup { group }),
            Instr::SetTimerSlack { slack } => return Some(Step::SetTimerSlack { slack }),
            Instr::MarkSince { marker, reg } => {
                return Some(Step::Mark { marker, value: now.saturating_since(self.at(reg)).0 });
            }
            Instr::MarkBetween { marker, early, late } => {
                return Some(Step::Mark { marker, value: self.at(late).saturating_since(self.at(early)).0 });
            }
            Instr::MarkValue { marker, value } => return Some(Step::Mark { marker, value }),
            Instr::Jump { to } => self.pc = to,
            Instr::JumpIfBefore { reg, at, to } => {
                if self.at(reg) < at {
                    self.pc = to;
                }
            }
            Instr::JumpIf { reg, is, value, to } => {
                let (left, right) = (self.regs[usize::from(reg)], self.value(value));
                let holds = match is {
                    Test::Equal => left == right,
                    Test::AtMost => left <= right,
                };
                if holds {
                    self.pc = to;
                }
            }
            Instr::Repeat { counter, times, to } => {
                let count = &mut self.counters[usize::from(counter)];
                *count += 1;
                if *count < times {
                    self.pc = to;
                } else {
                    *count = 0;
                }
            }
            Instr::Exit => return Some(Step::Exit),
        }
        None
    }
    fn at(&self, reg: Reg) -> Instant {
        Instant::from_ns(self.regs[usize::from(reg)])
    }
    fn value(&self, value: Value) -> u64 {
        match value {
            Value::Const(value) => value,
            Value::Reg(reg) => self.regs[usize::from(reg)],
        }
    }
    /// The word's row, if there is one.
    fn word(&self, word: Word, around: &Surroundings<'_>) -> Option<WordId> {
        let plus = word.plus.map_or(0, |reg| self.regs[usize::from(reg)]);
        let row = usize::try_from(plus).ok()?.checked_add(word.first.index())?;
        (row < around.words.len()).then(|| WordId::from_index(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::StreamKind;

    #[test]
    fn only_a_program_that_begins_with_a_sleep_until_an_instant_sleeps_as_the_run_begins() {
        let at = Instant::from_ns(7);
        let begins = |code: Vec<Instr>| Frame::asleep(&Program { code });
        let (set, until) = (Instr::Set { reg: 3, at }, Instr::SleepUntil { reg: 3 });
        let (frame, until_when) = begins(vec![set.clone(), until.clone(), Instr::Yield]).unwrap();
        assert_eq!((frame.pc(), until_when), (2, at));
        assert_eq!(begins(vec![set.clone(), Instr::SleepUntil { reg: 2 }]), None, "another register");
        assert_eq!(begins(vec![Instr::Yield, set, until]), None);
    }

    fn steps(code: Vec<Instr>, nows: &[u64]) -> Vec<Step> {
        let (program, mut frame) = (Program { code }, Frame::new());
        let mut rng = RngStream::new(1, StreamKind::TaskBehavior, 0);
        let mut words = [7, 8, 9].into_iter().collect();
        let mut next = |&now: &u64| {
            let now = Instant::from_ns(now);
            frame.next(&program, &mut Surroundings { now, cpu: CpuId::new(1), rng: &mut rng, words: &mut words })
        };
        nows.iter().map(&mut next).collect()
    }

    #[test]
    fn loops_count_and_nest() {
        let run = Instr::Run { work: Ns(1), mode: Mode::User };
        let code =
            vec![run, Instr::Repeat { counter: 0, times: 2, to: 0 }, Instr::Repeat { counter: 1, times: 2, to: 0 }, Instr::Exit];
        let got = steps(code, &[0; 5]);
        assert_eq!(got.iter().filter(|step| matches!(step, Step::Run { .. })).count(), 4);
        assert_eq!(got[4], Step::Exit);
    }

    #[test]
    fn relative_timer_restarts_when_late_and_absolute_does_not() {
        let timer = |mode| {
            let wait = Instr::TimerWait { reg: 0, period: Ns(10), mode };
            let run = Instr::Run { work: Ns(1), mode: Mode::User };
            steps(vec![Instr::Now { reg: 0 }, wait, run, Instr::Jump { to: 1 }], &[100, 110, 135, 136])
        };
        // at 100: sleep to 110; run; at 135 the second period (120) has passed: no sleep, run; then the third.
        assert_eq!(timer(TimerMode::Relative)[3], Step::SleepUntil(Instant::from_ns(145)));
        assert_eq!(timer(TimerMode::Absolute)[3], Step::Run { work: Ns(1), mode: Mode::User });
    }

    #[test]
    fn memory_is_read_written_and_indexed() {
        let word = |plus| Word { first: WordId::new(1), plus };
        let mark = |reg| Instr::MarkBetween { marker: MarkerId::new(0), early: 7, late: reg };
        let code = vec![
            Instr::GetCpu { into: 0 },
            Instr::Load { word: word(Some(0)), into: 1 },
            mark(1),
            Instr::Store { word: word(None), value: Value::Reg(1) },
            Instr::Load { word: word(None), into: 2 },
            Instr::JumpIf { reg: 2, is: Test::AtMost, value: Value::Const(8), to: 11 },
            Instr::JumpIf { reg: 2, is: Test::Equal, value: Value::Reg(1), to: 8 },
            Instr::Exit,
            Instr::TimeOfDay { reg: 3 },
            mark(3),
            Instr::Let { reg: 0, value: Value::Const(2) },
            Instr::FutexWait { word: word(Some(0)), value: Value::Const(0) },
        ];
        let got = steps(code, &[0, 12_345, 12_345]);
        let marked = |value| Step::Mark { marker: MarkerId::new(0), value };
        assert_eq!(got, [marked(9), marked(12_000), Step::Fault]);
    }

    #[test]
    fn what_is_drawn_is_run() {
        let code = vec![Instr::Draw { reg: 3, from: Distribution::Uniform(7, 7) }, Instr::RunReg { reg: 3, mode: Mode::User }];
        assert_eq!(steps(code, &[0]), [Step::Run { work: Ns(7), mode: Mode::User }]);
    }

    #[test]
    fn arithmetic_never_overflows() {
        use Arithmetic::{Minus, Over, Plus, Times};
        assert_eq!([Plus.of(2, 3), Minus.of(3, 2), Times.of(2, 3), Over.of(7, 2)], [5, 1, 6, 3]);
        assert_eq!([Plus.of(u64::MAX, 1), Minus.of(2, 3), Times.of(u64::MAX, 2), Over.of(7, 0)], [u64::MAX, 0, u64::MAX, 0]);
    }

    #[test]
    fn a_spin_on_a_word_that_has_changed_is_over() {
        let spin = |value| Instr::Spin { word: WordId::new(0).into(), value };
        assert_eq!(steps(vec![spin(6), spin(7)], &[0]), [Step::Spin { word: WordId::new(0), value: 7 }]);
    }

    #[test]
    fn an_endless_loop_without_a_wish_is_found() {
        assert_eq!(steps(vec![Instr::Jump { to: 0 }], &[0]), [Step::Stuck]);
        assert_eq!(steps(vec![], &[0]), [Step::Exit]);
    }
}
