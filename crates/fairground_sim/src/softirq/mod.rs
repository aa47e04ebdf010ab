//! Softirqs: work that an interrupt or a system call has left for a better moment, and the thread for what is too much.
//!
//! ```text
//!  way out of an interrupt ──┐
//!  end of a transmit path  ──┼─► round: NET_RX, SCHED ─► pending again? ─ no ──► back
//!  ksoftirqd/N             ──┘     ▲                          │ yes
//!                                  └── 10 rounds, 2 ms, and ──┴─ else ► wake ksoftirqd/N ─► back
//!                                      no reschedule is due
//! ```
//!
//! Interrupts are on meanwhile: between two phases those that came are served.

use crate::cpu::{AfterWake, Interrupted, Then};
use crate::kernel::Next;
use crate::net::{Backlog, RxRing};
use crate::other_core::Entry;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::task::Want;
use crate::timers::Timer;
use fairground_model::{Mode, Op, PrevState, Recorder, Section, WakeContext};
use fairground_sched::{BalanceStep, Ctx, Sched, WakeFlags};
use fairground_stdx::{CpuId, Instant};

/// Rounds that are served in one go.
///
/// Kernel: softirq.c MAX_SOFTIRQ_RESTART, v4.12–
const MAX_SOFTIRQ_RESTART: u32 = 10;
/// For how long softirqs are served in one go, ms; counted in whole ticks, rounded up.
///
/// Kernel: softirq.c MAX_SOFTIRQ_TIME, v4.12–
const MAX_SOFTIRQ_TIME_MS: u64 = 2;
/// Packets of one queue in one round.
///
/// Kernel: dev.c weight_p, dev_rx_weight, v4.12–
const WEIGHT_P: u32 = 64;

/// What softirqs of a CPU have to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Softirqs {
    /// NET_RX_SOFTIRQ is raised. Whether SCHED_SOFTIRQ is, the scheduler knows.
    net_rx: bool,
    /// Packets that wait for NET_RX.
    pub(crate) backlog: Backlog,
    /// Packets from another machine.
    pub(crate) ring: RxRing,
    serving: Option<Serving>,
    /// Policies, by their rows, whose threads are to run as soon as no softirq is served.
    threads_wait: Vec<usize>,
}

/// Softirqs that are being served.
#[derive(Clone, Copy, Debug)]
struct Serving {
    by: Server,
    /// Up to when their time is booked.
    since: Instant,
    /// Rounds that may begin yet.
    rounds_left: u32,
    /// jiffies from when on no further round begins.
    until: u64,
    /// Packets that NET_RX may still receive in this round, if it is part of it.
    net_rx: Option<u32>,
    /// SCHED is part of this round and not over.
    sched: bool,
}

/// In whose context softirqs are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Server {
    /// On the way out of an interrupt.
    IrqExit,
    /// In a task's system call, which goes on so.
    Task(Then),
    /// In their thread.
    Ksoftirqd,
}

impl Softirqs {
    /// Nothing to do. Where there are sockets packets will wait: for a few of them there is room from the beginning.
    pub(crate) fn new(sockets: bool) -> Softirqs {
        let (backlog, ring) = if sockets { (Backlog::with_room(), RxRing::with_room()) } else { Default::default() };
        Softirqs { backlog, ring, ..Softirqs::default() }
    }
    /// Whether softirqs are being served: what interrupts them is nested.
    pub(crate) fn is_served(&self) -> bool {
        self.serving.is_some()
    }
    /// The thread of a policy is to run. It cannot as long as softirqs are served on its CPU.
    pub(crate) fn thread_waits(&mut self, policy: usize) {
        self.threads_wait.push(policy);
    }
    /// Kernel: interrupt.h __raise_softirq_irqoff(NET_RX_SOFTIRQ), v4.12–
    pub(crate) fn raise_net_rx(&mut self) {
        self.net_rx = true;
    }
    fn serving(&mut self) -> &mut Serving {
        self.serving.as_mut().expect("invariant: a softirq is served")
    }
    /// A round begins with all that is pending.
    fn begin_round(&mut self, sched: bool) {
        let net_rx = std::mem::take(&mut self.net_rx).then_some(WEIGHT_P);
        let serving = self.serving();
        (serving.net_rx, serving.sched) = (net_rx, sched);
    }
}

impl Simulation {
    /// Kernel: interrupt.h local_softirq_pending(), v4.12–
    pub(crate) fn softirq_pending(&self, cpu: CpuId) -> bool {
        // Asked at every tick: without sockets the second row need not be touched for that.
        self.sched.softirq_raised(cpu) || (!self.socks.is_empty() && self.softirqs[cpu].net_rx)
    }

    /// Whether softirqs of `cpu` are pending, and not left to its thread.
    ///
    /// Kernel: softirq.c do_softirq(), invoke_softirq(), v4.12–
    pub(crate) fn serves_softirqs(&self, cpu: CpuId) -> bool {
        let left = || self.ksoftirqd.get(cpu).is_some_and(|&thread| self.sched.leaves_to_ksoftirqd(thread));
        self.softirq_pending(cpu) && !left()
    }

    /// Softirqs of `cpu` are served from now on.
    pub(crate) fn begin_softirqs(&mut self, cpu: CpuId, by: Server) -> Next {
        let limit = (MAX_SOFTIRQ_TIME_MS * self.view.hz()).div_ceil(1000);
        let until = self.jiffies.count() + limit;
        let rounds_left = MAX_SOFTIRQ_RESTART;
        self.softirqs[cpu].serving = Some(Serving { by, since: self.now, rounds_left, until, net_rx: None, sched: false });
        self.begin_softirq_round(cpu)
    }

    fn begin_softirq_round(&mut self, cpu: CpuId) -> Next {
        self.softirqs[cpu].begin_round(self.sched.softirq_raised(cpu));
        self.go_on(cpu, Then::Softirq)
    }

    /// One phase of the softirqs, those of lower number first. What interrupted the last one is served before.
    ///
    /// Kernel: softirq.c __do_softirq(), handle_softirqs() from v6.10, v4.12–
    #[inline(never)]
    pub(crate) fn softirq(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if let Some(next) = self.nested_interrupt(rec, cpu) {
            return next;
        }
        let Serving { net_rx, sched, .. } = *self.softirqs[cpu].serving();
        match (net_rx, sched) {
            (Some(quota), _) => self.net_rx_action(cpu, quota),
            (None, true) => self.sched_softirq(rec, cpu),
            (None, false) => self.go_on(cpu, Then::SoftirqRound),
        }
    }

    /// One phase of the balance softirq.
    pub(crate) fn sched_softirq(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        if self.beside.leads() {
            self.sched.led_softirq(cpu, false);
            self.softirqs[cpu].serving().sched = false;
            self.enter(rec, cpu, Entry::Softirq);
            return self.pay(cpu, Section::SchedSoftirq, Then::SoftirqRound);
        }
        let balance = |sched: &mut Sched, cx: &mut Ctx<'_, '_>| sched.run_rebalance_domains(cx);
        let step = match self.balance_phase(rec, cpu, None, Section::SchedSoftirq, Then::SchedSoftirq, balance) {
            Ok(step) => step,
            Err(wait) => return wait,
        };
        let over = step == BalanceStep::Done;
        self.softirqs[cpu].serving().sched = !over;
        if over {
            self.enter(rec, cpu, Entry::Softirq);
        }
        self.pay(cpu, Section::SchedSoftirq, if over { Then::SoftirqRound } else { Then::Softirq })
    }

    /// The next packet of the CPU's backlog or of its ring. Who has used up the weight of a queue is looked at again in another round. The
    /// two queues of a CPU count as one, so the limit of 300 packets that all queues have in a round is never met.
    ///
    /// Kernel: dev.c net_rx_action(), napi_poll(), process_backlog(), v4.12–
    fn net_rx_action(&mut self, cpu: CpuId, quota: u32) -> Next {
        let row = &mut self.softirqs[cpu];
        if quota == 0 {
            row.raise_net_rx();
            row.serving().net_rx = None;
            return self.go_on(cpu, Then::Softirq);
        }
        let Some(packet) = row.backlog.pop().or_else(|| row.ring.poll(self.now)) else {
            row.serving().net_rx = None;
            if let Some(at) = row.ring.complete() {
                self.arm_timer_at(cpu, Timer::Nic(cpu), at);
            }
            return self.go_on(cpu, Then::Softirq);
        };
        row.serving().net_rx = Some(quota - 1);
        self.receive_packet(cpu, packet)
    }

    /// The round is over: another one follows, or the thread gets what is pending, or nothing is.
    pub(crate) fn softirq_round_ends(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        self.book_softirq_time(cpu);
        if !self.softirq_pending(cpu) {
            return self.softirq_ends(rec, cpu);
        }
        // Without sockets there is no thread, as only packets can ever be too much for the way out of an interrupt.
        let Some(&thread) = self.ksoftirqd.get(cpu) else { return self.begin_softirq_round(cpu) };
        let (jiffies, need_resched) = (self.jiffies.count(), self.sched.rq(cpu).need_resched);
        let serving = self.softirqs[cpu].serving();
        serving.rounds_left -= 1;
        if jiffies < serving.until && !need_resched && serving.rounds_left > 0 {
            return self.begin_softirq_round(cpu);
        }
        if self.sched.is_task_running(thread) {
            return self.softirq_ends(rec, cpu);
        }
        // Kernel: softirq.c wakeup_softirqd(), v4.12–
        let flags = WakeFlags { sync: false, context: WakeContext::Softirq };
        self.wake(rec, cpu, thread, flags, AfterWake::SoftirqEnd)
    }

    /// Softirqs are served, or left to their thread: on with what they delayed.
    pub(crate) fn softirq_ends(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        self.book_softirq_time(cpu);
        let by = self.softirqs[cpu].serving().by;
        self.softirqs[cpu].serving = None;
        while let Some(policy) = self.softirqs[cpu].threads_wait.pop() {
            self.arm_timer_at(cpu, Timer::Frequency(policy), self.now);
        }
        match by {
            Server::IrqExit => self.leave_irq(rec, cpu),
            Server::Task(then) => self.go_on(cpu, then),
            // Kernel: sched.h cond_resched(), v4.12–
            Server::Ksoftirqd if self.sched.rq(cpu).need_resched => self.schedule(rec, cpu),
            Server::Ksoftirqd => self.go_on(cpu, Then::Ksoftirqd),
        }
    }

    /// Time of softirqs is interrupt time, but in their thread, where it is the thread's.
    ///
    /// Kernel: cputime.c irqtime_account_irq(), v4.12–
    fn book_softirq_time(&mut self, cpu: CpuId) {
        let serving = self.softirqs[cpu].serving();
        let took = self.now.since(std::mem::replace(&mut serving.since, self.now));
        if self.view.irq_time_accounting && serving.by != Server::Ksoftirqd {
            self.sched.irq_time(cpu, took);
        }
    }

    /// Whether interrupts came during the last phase: all of them are begun, as one. The tick waits for the end of a
    /// balance.
    fn nested_interrupt(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Option<Next> {
        let Serving { by, net_rx, .. } = *self.softirqs[cpu].serving();
        let tick = net_rx.is_some() && self.queue.get(cpu, Slot::Tick).is_some_and(|due| due <= self.now);
        let ipi = self.ipi_due(cpu);
        let timer = self.queue.first_timer(cpu).is_some_and(|(_, _, hard)| hard <= self.now);
        if !(tick || ipi || timer) {
            return None;
        }
        if tick || (ipi && self.sched.ttwu_pending(cpu)) {
            let section = if tick { Section::SchedTick } else { Section::RescheduleIpi };
            if let Some(wait) = self.lock(cpu, cpu, section, Then::Softirq) {
                return Some(wait);
            }
        }
        if by != Server::IrqExit {
            let section = match (tick, ipi) {
                (true, _) => Section::SchedTick,
                (false, true) => Section::RescheduleIpi,
                (false, false) if self.nic_interrupts(cpu) => Section::DeviceInterrupt,
                (false, false) => Section::HrtimerInterrupt,
            };
            self.cpus[cpu].interrupted = Some(Interrupted { since: self.now, section });
        }
        if tick {
            let due = self.scheduler_tick(rec, cpu);
            self.queue.set(cpu, Slot::Tick, Some(due));
        }
        if ipi {
            self.cpus[cpu].meter.count(Op::IpiBody);
            self.scheduler_ipi(rec, cpu);
        }
        Some(self.go_on(cpu, Then::ExpireTimers))
    }

    /// An interrupt that came while softirqs were served is over: they go on.
    pub(crate) fn nested_irq_exit(&mut self, cpu: CpuId) -> Next {
        let by = self.softirqs[cpu].serving().by;
        if by != Server::IrqExit {
            let irq = self.cpus[cpu].interrupted.take().expect("invariant: an interrupt that ends has begun");
            if by == Server::Ksoftirqd && self.view.irq_time_accounting {
                self.sched.irq_time(cpu, self.now.since(irq.since));
            }
        }
        self.go_on(cpu, Then::Softirq)
    }

    /// The loop of the thread: it serves what is pending, or sleeps.
    ///
    /// Kernel: softirq.c run_ksoftirqd(), smpboot.c smpboot_thread_fn(), v4.12–
    #[inline(never)]
    pub(crate) fn ksoftirqd(&mut self, cpu: CpuId) -> Next {
        let task = self.sched.rq(cpu).curr.expect("invariant: the thread runs");
        let row = &mut self.tasks[task];
        (row.want, row.mode) = (Want::Retry(Then::Ksoftirqd), Mode::Kernel);
        if self.softirq_pending(cpu) {
            return self.begin_softirqs(cpu, Server::Ksoftirqd);
        }
        self.sched.set_current_state(cpu, PrevState::Sleeping);
        self.go_on(cpu, Then::Schedule)
    }
}

#[cfg(test)]
mod tests;
