//! A CPU of the engine: what it is doing, and what comes next.

use crate::idle::IdleDevice;
use crate::net::Packet;
use crate::pipe::Wakes;
use crate::tick::TickClock;
use fairground_model::{LockMode, Meter, Section};
use fairground_sched::{Distribution, Leaving, PeriodTick, WakeFlags};
use fairground_stdx::{CpuId, Instant, LockId, Ns, PipeId, SockId, TaskId, WordId};
use std::collections::VecDeque;

/// What a CPU is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    /// The idle task: waits for an interrupt.
    Idle,
    /// The current task computes; interrupts are on.
    Compute,
    /// A phase of kernel work, interrupts off.
    Kernel,
}

/// What follows a phase of kernel work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Call schedule().
    Schedule,
    /// In the middle of schedule(), with nothing to run: look for a task elsewhere.
    NewidleBalance(Leaving),
    /// The rest of schedule() after newidle balance.
    FinishSchedule(Leaving),
    /// The stopper goes on, once the switch away from the task (if any) is over.
    Stopper(Option<TaskId>),
    /// The switch away from the task (if any) is over; the current task goes on, or the CPU idles.
    Switched(Option<TaskId>),
    /// Back to the current task: reschedule if that is due, else go on with what it wants.
    Resume,
    /// On with what the current task wants, from where nobody looks at the reschedule flags: it is in user mode.
    GoOn,
    /// The current task leaves its queue before it returns to user mode, if that is throttled.
    ThrottleWork,
    /// In an interrupt: wake the next task whose timer has expired.
    ExpireTimers,
    /// In an interrupt: the host has given the CPU back, which it took for so long.
    GivenBack { took: Ns, told: bool },
    /// The lock for which the CPU spins is its own: on with what it wanted it for.
    Locked,
    /// In an interrupt: what it came for, the tick that a timer needs and what an idle CPU has seen by polling included.
    Interrupt { ticks: bool, polled: bool },
    /// In an interrupt: the next phase of a period timer of a group's quota.
    PeriodTimer(PeriodTick),
    /// In an interrupt: the next queue that gets what a slack timer hands out.
    Distribute(Distribution),
    /// The tick, which had to wait.
    Tick,
    /// The hrtick timer fires.
    Hrtick,
    /// Select a CPU for a new task.
    WakeNew(TaskId),
    /// Queue a new task for the first time.
    ActivateNew { child: TaskId, target: CpuId },
    /// Wake a task.
    Wake { wakee: TaskId, flags: WakeFlags, after: AfterWake },
    /// Wait until the wakee's old CPU has switched away from it, then select a CPU.
    SpinOnCpu { wakee: TaskId, flags: WakeFlags, after: AfterWake },
    /// Go on with the search for a CPU for a woken task.
    Search { wakee: TaskId, flags: WakeFlags, after: AfterWake },
    /// Queue a woken task, for which a CPU was selected in the phase before.
    Activate { wakee: TaskId, flags: WakeFlags, target: CpuId, after: AfterWake },
    /// The interrupt is over.
    IrqExit,
    /// The next phase of the softirqs that are served.
    Softirq,
    /// The next phase of the softirq that balances load.
    SchedSoftirq,
    /// All softirqs of a round are served.
    SoftirqRound,
    /// Back to where softirqs were served.
    SoftirqEnd,
    /// The loop of ksoftirqd.
    Ksoftirqd,
    /// The end of a packet's receive path: it lies in its socket.
    NetReceive(Packet),
    /// The next packet of a message, which has so many bytes left.
    SockSend { sock: SockId, left: u32 },
    /// A packet is ready to be sent.
    NetTransmit { sock: SockId, bytes: u32, left: u32 },
    /// The body of a receive, to which so many bytes are missing.
    SockRecv { sock: SockId, left: u32 },
    /// The body of sched_yield(): schedule() follows at once, by the clock that it has read.
    Yield,
    /// The body of a write into a pipe.
    PipeWrite { pipe: PipeId, value: u64, slept: bool },
    /// The body of a read from a pipe.
    PipeRead { pipe: PipeId, into: u8, slept: bool },
    /// The body of a poll of a pipe.
    PipePoll(PipeId),
    /// The end of a read or write of a pipe.
    PipeWake(PipeId, Wakes),
    /// A message to an AF_UNIX stream is ready to be queued.
    UnixSend { sock: SockId, bytes: u32 },
    /// The end of a receive from an AF_UNIX stream, to which so many bytes are missing.
    UnixWriteSpace { sock: SockId, left: u32 },
    /// The body of a futex wait.
    FutexWait { word: WordId, value: u64 },
    /// The body of a futex wake.
    FutexWake { word: WordId, count: u32 },
    /// The current task asks for a lock again, or for the first time in the kernel.
    LockSlow { lock: LockId, mode: LockMode },
    /// The current task is back from a sleep between two tries for a spin lock of user space.
    SpinAwake { lock: LockId },
    /// The return from a fault on a page of a pool.
    FaultEnds,
    /// The end of a system call: wake whom it has collected, with this hint.
    WakeUpQ { sync: bool },
    /// The end of a write: wake who waits for a message.
    WakeReader(PipeId),
    /// The end of a read: wake who waits for room.
    WakeWriter(PipeId),
}

/// Where a wake-up goes on when its last phase is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterWake {
    /// In the timer interrupt.
    ExpireTimers,
    /// In the task that made it.
    Resume,
    /// In the task that made it, which ends.
    Schedule,
    /// In the task that made it, which may wake more.
    WakeUpQ { sync: bool },
    /// In the softirq that made it.
    Softirq,
    /// At the end of the softirqs that woke ksoftirqd.
    SoftirqEnd,
}

impl AfterWake {
    pub(crate) const fn then(self) -> Then {
        match self {
            AfterWake::ExpireTimers => Then::ExpireTimers,
            AfterWake::Resume => Then::Resume,
            AfterWake::Schedule => Then::Schedule,
            AfterWake::WakeUpQ { sync } => Then::WakeUpQ { sync },
            AfterWake::Softirq => Then::Softirq,
            AfterWake::SoftirqEnd => Then::SoftirqEnd,
        }
    }
}

/// Picoseconds in a nanosecond.
const PSEC_PER_NSEC: u64 = 1000;

/// One CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) doing: Doing,
    /// What follows the phase of kernel work that the CPU is in or enters. Here, and not handed from one function to the
    /// next: what was just written in parts is slow to read back in one piece.
    pub(crate) then: Then,
    /// What the CPU goes back to when the interrupt that it serves is over, and when that began.
    pub(crate) interrupted: Option<Interrupted>,
    /// Up to when the host keeps it while it idles, and whether it tells.
    pub(crate) stolen: Option<(Instant, bool)>,
    /// Its idle state and what the governor remembers.
    pub(crate) idle: IdleDevice,
    /// The CPU that waits for the end of the switch that is under way here.
    pub(crate) spinner: Option<CpuId>,
    /// Since when this one waits for another's.
    pub(crate) spins_since: Instant,
    /// How many other threads of its core are busy, where that matters.
    pub(crate) busy_siblings: u32,
    /// Tasks that the present system call will wake at its end.
    pub(crate) wake_q: VecDeque<TaskId>,
    /// Another CPU asks this one to balance on behalf of the idle ones; the interrupt is under way.
    pub(crate) nohz_kick: bool,
    /// From when on the current task's computing counts: the start of its stretch, moved on by
    /// every interrupt that took time away from it.
    pub(crate) computes_from: Instant,
    /// What the kernel's operations cost here.
    pub(crate) meter: Meter,
    /// Picoseconds that earlier phases cost beyond whole nanoseconds.
    pub(crate) carry_ps: u64,
    pub(crate) tick: TickClock,
    /// The turn that it waits for, or waited for last, where CPUs take turns.
    pub(crate) turn_at: Instant,
    /// How often each section of the kernel ran here, and for how long in all.
    pub(crate) kernel_time: [(u64, Ns); Section::ALL.len()],
    /// Up to when kernel time is booked: later than now while a section is under way.
    pub(crate) booked_until: Instant,
    /// Idle time up to the last time that it ended, and when it last began.
    pub(crate) idle_time: Ns,
    pub(crate) idle_since: Instant,
    /// Program steps taken at the present instant, to find programs that never let time pass.
    pub(crate) steps_at: (Instant, u32),
    /// Program steps taken since an instant, to find programs that let hardly any time pass.
    pub(crate) steps_since: (Instant, u32),
}

impl Cpu {
    /// The price of what was counted since the last payment, in whole ns; the rest is carried. Half of all phases count nothing.
    #[inline]
    pub(crate) fn price(&mut self) -> Ns {
        let ps = self.meter.take_ps() + self.carry_ps;
        if ps < PSEC_PER_NSEC {
            self.carry_ps = ps;
            return Ns::ZERO;
        }
        self.carry_ps = ps % PSEC_PER_NSEC;
        Ns(ps / PSEC_PER_NSEC)
    }

    /// Whether the next payment is free, if nothing is counted until then.
    #[inline]
    pub(crate) fn owes_nothing(&self) -> bool {
        self.meter.so_far_ps() == 0 && self.carry_ps < PSEC_PER_NSEC
    }

    /// Books kernel time under its name: so much from `since` on.
    #[inline]
    pub(crate) fn book(&mut self, section: Section, since: Instant, took: Ns) {
        let (count, time) = &mut self.kernel_time[section as usize];
        (*count, *time) = (*count + 1, *time + took);
        self.booked_until = since + took;
    }
}

/// The interrupt that a CPU serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interrupted {
    /// Up to when its time is booked as interrupt time.
    pub(crate) since: Instant,
    pub(crate) section: Section,
}
