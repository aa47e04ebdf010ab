//! Counted operations. The core counts what it does; it never knows what anything costs beyond the
//! integer price table that the engine hands in with the meter.

use crate::cost_class::CostClass;
use crate::turns::Turns;
use fairground_stdx::Ns;

macro_rules! is {
    (works) => {
        true
    };
    (waits) => {
        false
    };
}

macro_rules! ops {
    ($($name:ident $key:literal $class:ident $pace:ident $text:literal;)*) => {
        /// An operation of the kernel that has a price. The counts follow the kernel's walk, not our
        /// loops: a faster structure of ours never changes a result.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Op { $(#[doc = $text] $name,)* }
        impl Op {
            /// All operations in order.
            pub const ALL: &'static [Op] = &[$(Op::$name),*];
            /// How many there are.
            pub const COUNT: usize = Op::ALL.len();
            /// The key in price lists and tables.
            pub const fn key(self) -> &'static str { match self { $(Op::$name => $key),* } }
            /// What is counted, as a sentence.
            pub const fn sentence(self) -> &'static str { match self { $(Op::$name => $text),* } }
            /// The class that it belongs to.
            pub const fn class(self) -> CostClass { match self { $(Op::$name => CostClass::$class),* } }
            /// Whether it is work of the CPU, which takes longer on a slower one. The others wait: a look at, a lock of or a wake
            /// list of another CPU's run queue for the cache line, a refill of the cache, an interrupt for the wire, the exit from
            /// idle for the hardware.
            pub const fn is_cpu_work(self) -> bool { match self { $(Op::$name => is!($pace)),* } }
        }
    };
}

// Name, key, class of costs, whether the CPU works or waits, and what is counted.
ops! {
    Tick "tick" Timer works "The timer interrupt with the scheduler tick";
    HrtimerIrq "hrtimer_irq" Timer works "A timer interrupt that expires task timers";
    PickSwitch "pick_switch" Switch works "schedule(): pick and switch within one address space";
    MmSwitch "mm_switch" Switch works "Extra for a switch to another address space";
    SwitchIdle "switch_idle" Switch works "A switch to or from the idle task";
    Enqueue "enqueue" Enqueue works "Enqueue of a fair entity at the root level, load tracking included";
    EnqueueRemote "enqueue_remote" Enqueue waits "Queueing a woken task on another core: the lines of its run queue come from there before it is seen in it";
    Dequeue "dequeue" Enqueue works "Dequeue of a fair entity at the root level, load tracking included";
    PeltScale "pelt_scale" Enqueue works "Scaling by frequency and capacity in load tracking: of what an update of an average adds (up to v5.0), or of the time by which a clock moves";
    BwGroup "bw_group" Enqueue works "A group at or below one that is throttled or released on a CPU: its clocks stop or go on";
    BwVisit "bw_visit" Enqueue works "A queue of another CPU of the socket that quota is handed to: lines of its account, of that CPU's releases, of the call, of its calls";
    BwVisitSocket "bw_visit_xsocket" Enqueue works "The same on a CPU of another socket";
    BwMark "bw_mark" Enqueue works "A task that is told to stop on its way back to user mode, when a group of it is throttled";
    CgroupLevel "cgroup_level" Enqueue works "A level of groups that an enqueue, a dequeue or a pick goes through";
    TtwuBase "ttwu_base" Wakeup works "try_to_wake_up(): flags, locks, state checks";
    ScanCpu "scan" Scan waits "A look at a run queue that has not changed since, during placement";
    ScanDirty "scan_dirty" Scan waits "A line of a run queue of the same socket that others have changed since this core last looked at it";
    ScanSocket "scan_xsocket" Scan waits "A look at a run queue of another socket that others have changed";
    ScanContend "scan_contend" Scan waits "A further CPU that touched within 1 us what a look finds changed";
    LockFree "lock_free" Lock works "An uncontended run-queue lock whose line is local";
    LockRemote "lock_remote" Lock waits "An uncontended run-queue lock of another CPU of the socket";
    LockRemoteSocket "lock_remote_xsocket" Lock waits "An uncontended run-queue lock of another socket";
    LockHandoff "lock_handoff" Lock waits "The handover of a run-queue lock to a CPU that spins for it";
    LockHandoffSocket "lock_handoff_xsocket" Lock waits "The handover of a run-queue lock to a CPU of another socket that spins for it";
    IpiSend "ipi_send" Ipi works "Sending an interrupt to another CPU";
    IpiFlight "ipi_flight" Ipi waits "From sending an interrupt to its handler's first instruction";
    IpiBody "ipi_body" Ipi works "The handler of a reschedule interrupt";
    IdleExit "idle_exit" IdleExit waits "Leaving the idle state";
    Fork "fork" Life works "fork() on the parent's side";
    Exit "exit" Life works "The end of a task";
    Syscall "syscall" Syscall works "System call entry and exit";
    PipeOp "pipe_op" Pipe works "A read or write of at most 4 KiB on a pipe, without the wake-up";
    RecvBlock "recv_block" Socket works "A read that finds nothing and prepares to sleep";
    FutexOp "futex_op" Pipe works "A futex wait or wake, without sleeping and without the wake-up";
    TimerProgram "timer_program" Timer works "Arming a timer for a sleep";
    WakeListAdd "wake_list_add" Wakeup waits "Appending a task to another CPU's wake list";
    WakeListTask "wake_list_task" Wakeup works "Taking a task off the own wake list, without the enqueue";
    LbDomain "lb_domain" Balance works "A call of load_balance() for one domain: set-up, checks and end";
    LbCpu "lb_cpu" Balance waits "A look at a CPU's run queue in the statistics of load balance";
    LbDetach "lb_detach" Balance works "A task of another CPU's list that load balance considers";
    BlockedAvg "blocked_avg" Balance works "A group's queue whose averages balance ages";
    LbAttach "lb_attach" Balance works "A task that load balance queues on its new CPU, beside the enqueue";
    TcpSend1b "tcp_send_1b" Network works "Sending a TCP packet, from the system call to the backlog; whole KiB are copied besides";
    SoftirqTcp1b "softirq_tcp_1b" Network works "Receiving a TCP packet, from the backlog to the socket, without the wake-up";
    UdpSend1b "udp_send_1b" Network works "Sending a datagram, from the system call to the backlog; whole KiB are copied besides";
    SoftirqUdp1b "softirq_udp_1b" Network works "Receiving a datagram, from the backlog to the socket, without the wake-up";
    RecvCopy "recv_copy" Socket works "Taking data from a socket; whole KiB are copied besides";
    CopyKib "copy_kib" Copy works "Copying a whole KiB between a program and the kernel, caches warm";
    CacheRefill "cache_refill" Refill waits "A KiB of a task's working set that its core must fetch from the last-level cache, when it is switched in";
    CacheRefillLlc "cache_refill_llc" Refill waits "The same from another last-level cache of the socket";
    CacheRefillSocket "cache_refill_xsocket" Refill waits "The same from another socket";
    UnixOp "unix_op" Socket works "A send or receive of less than 1 KiB on an AF_UNIX stream, without the wake-up";
    FutexFast "futex_fast" Pipe works "Taking or releasing a lock of user space, without the kernel";
    Exception "exception" Syscall works "Entry and exit of an exception, such as a page fault";
    PageFault "page_fault" Syscall works "A fault on memory that is there: finding its page, without mapping it";
    FaultMap "fault_map" Syscall works "A page of 4 or 64 KiB that a fault maps";
    FaultMapHuge "fault_map_huge" Syscall works "A page of 2 MiB or 1 GiB that a fault maps";
    FaultLine "fault_line" Syscall waits "A further CPU that faults on the same page at that moment: it changes the same cache line of the page's counts";
    TasContend "tas_contend" Lock waits "A further CPU that spins for a lock of user space, at each look and as it is taken and released: the line of the lock goes round among them";
    KernelLock "kernel_lock" Lock works "Taking or releasing a lock of the kernel for a task (rwsem, per-CPU rwsem, mutex), without waiting and waking";
}

/// Which prices of a CPU hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prices {
    /// Its core is its own.
    Alone,
    /// Another thread of its core is busy.
    Shared,
    /// Everything is free: somebody outside the machine acts.
    Free,
}

/// Counts operations and, through a price table in picoseconds, the time that they took.
///
/// `ps` is what the current phase has cost so far. What each operation took in all is not kept while it is counted: it is
/// its count times its price for as long as prices hold, and settled when they change.
#[derive(Clone, Debug)]
pub struct Meter {
    prices_ps: [[u64; Op::COUNT]; 3],
    prices: Prices,
    /// Counted at the present prices, by which of them held.
    counted: [[u64; Op::COUNT]; 3],
    /// Counted at earlier prices, or with a time of their own.
    settled: [Settled; Op::COUNT],
    ps: u64,
    turns: Turns,
}

/// Counts of an operation with the time that they took.
#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    count: u64,
    ps: u64,
}

impl Meter {
    /// A meter with a price in picoseconds per operation.
    pub fn new(prices_ps: [u64; Op::COUNT]) -> Meter {
        let free = [0; Op::COUNT];
        Meter {
            prices_ps: [prices_ps, prices_ps, free],
            prices: Prices::Alone,
            counted: [free; 3],
            settled: [Settled::default(); Op::COUNT],
            ps: 0,
            turns: Turns::ALONE,
        }
    }
    /// A meter for which everything is free.
    pub fn free() -> Meter {
        Meter::new([0; Op::COUNT])
    }
    /// Counts `op` once.
    #[inline]
    pub fn count(&mut self, op: Op) {
        self.counted[self.prices as usize][op as usize] += 1;
        self.ps += self.price_ps(op);
    }
    /// Counts `op` `n` times.
    #[inline]
    pub fn count_n(&mut self, op: Op, n: u64) {
        self.counted[self.prices as usize][op as usize] += n;
        self.ps += self.price_ps(op) * n;
    }
    /// Counts `op` without spending time here: something else takes the time.
    #[inline]
    pub fn note(&mut self, op: Op) {
        self.settled[op as usize].count += 1;
    }
    /// Counts `op` `n` times; it took so long, which is spent elsewhere.
    #[inline]
    pub fn settle(&mut self, op: Op, n: u64, time: Ns) {
        let settled = &mut self.settled[op as usize];
        settled.count += n;
        settled.ps += time.0 * 1000;
    }
    /// Counts `op` once, with a time of its own in place of its price.
    #[inline]
    pub fn count_at(&mut self, op: Op, time: Ns) {
        self.settle(op, 1, time);
        self.ps += time.0 * 1000;
    }
    /// What the current phase has cost so far, in whole ns (rounded down).
    #[inline]
    pub fn so_far_ns(&self) -> u64 {
        self.ps / 1000
    }
    /// What the current phase has cost so far, in picoseconds.
    #[inline]
    pub fn so_far_ps(&self) -> u64 {
        self.ps
    }
    /// How long the current phase has lasted so far, ns: what it has cost, and where CPUs take turns those of the others.
    #[inline]
    pub fn lasted_ns(&self) -> u64 {
        self.turns.last(self.so_far_ns())
    }
    /// From now on phases are spent in these turns.
    pub fn set_turns(&mut self, turns: Turns) {
        self.turns = turns;
    }
    /// Ends the phase: returns its cost in picoseconds and starts the next at zero.
    #[inline]
    pub fn take_ps(&mut self) -> u64 {
        std::mem::take(&mut self.ps)
    }
    /// The prices of the CPU from now on, alone and beside a busy thread of its core.
    pub fn set_prices(&mut self, alone_ps: [u64; Op::COUNT], shared_ps: [u64; Op::COUNT]) {
        for (counted, prices_ps) in self.counted.iter_mut().zip(&self.prices_ps) {
            for (settled, (counted, price)) in self.settled.iter_mut().zip(counted.iter_mut().zip(prices_ps)) {
                let count = std::mem::take(counted);
                settled.count += count;
                settled.ps += count * price;
            }
        }
        [self.prices_ps[Prices::Alone as usize], self.prices_ps[Prices::Shared as usize]] = [alone_ps, shared_ps];
    }
    /// From now on these prices hold. Returns which held before.
    #[inline]
    pub fn use_prices(&mut self, prices: Prices) -> Prices {
        std::mem::replace(&mut self.prices, prices)
    }
    /// The price of `op`, in picoseconds.
    #[inline]
    pub fn price_ps(&self, op: Op) -> u64 {
        self.prices_ps[self.prices as usize][op as usize]
    }
    /// How often `op` was counted at the prices that hold now, since they hold: enough to see whether a call counts it.
    #[inline]
    pub fn counted(&self, op: Op) -> u64 {
        self.counted[self.prices as usize][op as usize]
    }
    /// How often `op` was counted in the run.
    pub fn total(&self, op: Op) -> u64 {
        self.settled[op as usize].count + self.counted.iter().map(|counted| counted[op as usize]).sum::<u64>()
    }
    /// The time that all counts of `op` took, in picoseconds.
    pub fn spent_ps(&self, op: Op) -> u64 {
        let at = |(counted, prices_ps): (&[u64; Op::COUNT], &[u64; Op::COUNT])| counted[op as usize] * prices_ps[op as usize];
        self.settled[op as usize].ps + self.counted.iter().zip(&self.prices_ps).map(at).sum::<u64>()
    }
}

impl CostClass {
    /// Its operations, in the order of [`Op::ALL`].
    pub fn ops(self) -> impl Iterator<Item = Op> {
        Op::ALL.iter().copied().filter(move |op| op.class() == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_an_operation_is_that_of_the_prices_that_held() {
        let mut meter = Meter::new([7; Op::COUNT]);
        meter.count_n(Op::Tick, 3);
        meter.use_prices(Prices::Free);
        meter.count(Op::Tick);
        meter.set_prices([5; Op::COUNT], [11; Op::COUNT]);
        meter.use_prices(Prices::Shared);
        meter.count_n(Op::Tick, 2);
        meter.note(Op::Tick);
        meter.count_at(Op::IdleExit, Ns(5));
        assert_eq!((meter.total(Op::Tick), meter.spent_ps(Op::Tick)), (7, 3 * 7 + 2 * 11));
        assert_eq!((meter.total(Op::IdleExit), meter.spent_ps(Op::IdleExit)), (1, 5_000));
        assert_eq!(meter.take_ps(), 3 * 7 + 2 * 11 + 5_000);
    }
    #[test]
    fn keys_of_classes_differ_and_every_class_has_operations() {
        for (index, &class) in CostClass::ALL.iter().enumerate() {
            assert!(CostClass::ALL[..index].iter().all(|other| other.key() != class.key()), "{class:?}");
            assert!(class.ops().count() > 0, "{class:?}");
        }
        assert_eq!(CostClass::ALL.iter().map(|class| class.ops().count()).sum::<usize>(), Op::COUNT);
    }

    /// The page on costs has a row for each class, with its operations.
    #[test]
    fn the_page_on_costs_lists_all_classes() {
        let page = include_str!("../../../docs/costs.md");
        for class in CostClass::ALL {
            let ops: Vec<String> = class.ops().map(|op| format!("`{}`", op.key())).collect();
            let row = format!("\n| `{}` | {}", class.key(), ops.join(", "));
            assert!(page.contains(&row), "docs/costs.md has no row `{}`", row.trim());
        }
    }
}
