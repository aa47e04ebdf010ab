//! The server of the fair class: a deadline entity of each CPU, 50 ms in 1000 ms, which lets fair tasks run where tasks of higher
//! classes leave them nothing.
//!
//! ```text
//! first fair task queued ──► put off: throttled, timer at deadline - runtime (zero laxity)
//!     fair tasks run by themselves ──► runtime goes down, the point moves on; all of it used: a new period
//!     timer, and they have not       ──► queued: its deadline is among those of tasks, and the fair class picks
//!     runtime used up                ──► throttled to the end of the period, then again, until fair tasks run by themselves
//! last one leaves ──► stopped (seam `fair_server_stop`: at once, or when it would run)
//! ```
//!
//! Where no task is of a higher class, or will be, it would decide nothing, and is not at work, but for schedutil, which counts what it has
//! reserved.

use super::DlSe;
use super::queue::Comes;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{FairServerIdle, RtBandwidth};
use fairground_model::{DlParams, GovernorKind, Policy};
use fairground_stdx::{CpuId, Ns};

/// What fair tasks get, and in which time.
///
/// Kernel: deadline.c dl_server_start(), sched_init_dl_servers() from v6.17, v6.12–
const FAIR_SERVER: DlParams =
    DlParams { runtime: Ns::from_ms(50), deadline: Ns::from_ms(1000), period: Ns::from_ms(1000), reclaim: false };

/// That as a share of a CPU, in 2^-20, rounded down.
pub(super) const FAIR_SERVER_BW: u64 = (FAIR_SERVER.runtime.0 << super::entity::BW_SHIFT) / FAIR_SERVER.period.0;

impl Sched {
    /// Some task will have this policy: servers of the fair class that will decide something are at work from the start.
    pub fn expect_policy(&mut self, policy: Policy) {
        self.note_class(policy);
    }

    /// Some policy of frequencies will have this governor.
    pub fn expect_governor(&mut self, kind: GovernorKind) {
        if kind == GovernorKind::Schedutil {
            self.put_fair_servers_to_work();
        }
    }

    /// A task that waits below a throttled queue will go to another group, and so onto its CPU without asking whether it preempts. The
    /// CPU is asked to choose only as its server starts.
    pub fn expect_moves_below_quotas(&mut self) {
        self.put_fair_servers_to_work();
    }

    /// A task has this policy from now on. With the first one above the fair class the servers begin their work.
    pub(crate) fn note_class(&mut self, policy: Policy) {
        if !policy.is_fair() {
            self.put_fair_servers_to_work();
        }
    }

    fn put_fair_servers_to_work(&mut self) {
        let begins = self.profile.rt_bandwidth == RtBandwidth::FairServer && !self.is_led();
        if !begins || std::mem::replace(&mut self.dl_root.serves, true) {
            return;
        }
        for cpu in self.rqs.ids() {
            let rq = &mut self.rqs[cpu];
            rq.dl.server.set_params(&FAIR_SERVER);
            rq.dl.server.defer = true;
            rq.dl.idle_since = rq.clocks.clock_task;
            self.add_rq_bw(DlSe::FairServer(cpu));
        }
    }

    /// Starts the servers of CPUs that had fair tasks before the first task of a higher class.
    pub(crate) fn start_fair_servers(&mut self, cx: &mut Ctx<'_, '_>) {
        if self.dl_root.serves {
            for cpu in self.rqs.ids() {
                let starts = self.cfs_rqs[self.rqs[cpu].cfs].h_nr_running > 0 && !self.rqs[cpu].dl.server.active;
                if starts && self.rqs[cpu].online {
                    self.update_rq_clock(cx, cpu);
                    self.dl_server_start(cx, cpu);
                }
            }
        }
    }

    /// A fair task was queued on a CPU, and is not counted among its tasks yet: with the first one the server starts, and idle time
    /// up to now is accounted.
    ///
    /// Kernel: fair.c enqueue_task_fair(), v6.12–
    #[inline]
    pub(crate) fn fair_task_comes(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.cfs_rqs[self.rqs[cpu].cfs].h_nr_running == 1 {
            if self.rqs[cpu].nr_counted() == 0 && self.profile.fair_server_idle == FairServerIdle::Discounted {
                self.discount_idle_time(cpu);
            }
            self.fair_server_follows(cx, cpu);
        }
    }

    /// The fair tasks of a CPU have become some, or none: its server follows.
    ///
    /// Kernel: fair.c dequeue_entities(), throttle_cfs_rq(), unthrottle_cfs_rq(), v6.12–
    #[inline]
    pub(crate) fn fair_server_follows(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.dl_root.serves {
            self.start_or_stop_server(cx, cpu);
        }
    }

    #[cold]
    fn start_or_stop_server(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let has_tasks = self.cfs_rqs[self.rqs[cpu].cfs].h_nr_running > 0;
        match (has_tasks, self.rqs[cpu].dl.server.active) {
            (true, false) => self.dl_server_start(cx, cpu),
            (true, true) => self.rqs[cpu].dl.server.defer_idle = false,
            (false, true) if !self.profile.fair_server_stop.outlasts_tasks() => self.dl_server_stop(cx, cpu),
            _ => {}
        }
    }

    /// Kernel: deadline.c dl_server_start(), v6.12–
    fn dl_server_start(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let se = DlSe::FairServer(cpu);
        if self.profile.fair_server_idle == FairServerIdle::Accounted {
            self.update_curr_of_cpu(cx, cpu);
        }
        self.rqs[cpu].dl.server.active = true;
        self.enqueue_dl_entity(cx, se, Comes::Wakes);
        let deadline = self.rqs[cpu].dl.server.deadline;
        self.resched_for_deadline(cx, cpu, deadline);
    }

    /// Kernel: deadline.c dl_server_stop(), v6.12–
    pub(super) fn dl_server_stop(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let se = DlSe::FairServer(cpu);
        self.dequeue_dl_entity(se);
        self.task_non_contending(cx, se, false);
        self.cancel_dl_timer(cx, se);
        let server = &mut self.rqs[cpu].dl.server;
        (server.defer_armed, server.throttled, server.defer_idle, server.active) = (false, false, false, false);
    }

    /// A fair task has run, through the server or not: both count.
    ///
    /// Kernel: deadline.c dl_server_update(), v6.12–
    #[inline]
    pub(crate) fn dl_server_update(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, ran: Ns) {
        if self.rqs[cpu].dl.server.active {
            self.update_curr_dl_se(cx, DlSe::FairServer(cpu), ran);
        }
    }

    /// Whether the server of `cpu` counts what fair tasks run.
    #[inline]
    pub(crate) fn fair_server_counts(&self, cpu: CpuId) -> bool {
        self.dl_root.serves && self.rqs[cpu].dl.server.active
    }

    /// Fair tasks have used the runtime of a server that was put off, by themselves: it is not needed in this period, and the next
    /// one begins.
    ///
    /// Kernel: deadline.c update_curr_dl_se(), v6.12–
    pub(super) fn begin_next_period(&mut self, cx: &mut Ctx<'_, '_>, se: DlSe) {
        let now = self.rqs[self.dl_cpu(se)].clocks.clock;
        self.dl_mut(se).defer_running = false;
        self.cancel_dl_timer(cx, se);
        self.dl_mut(se).begin_period(now);
        self.start_dl_timer(cx, se);
    }

    /// Notes that a CPU goes idle: from here on fair tasks could have had its time.
    pub(crate) fn dl_server_idles(&mut self, cpu: CpuId) {
        if self.dl_root.serves {
            self.rqs[cpu].dl.idle_since = self.rqs[cpu].clocks.clock_task;
        }
    }

    /// The stopper of a CPU runs from now on.
    pub(crate) fn dl_server_sees_stopper(&mut self, cpu: CpuId) {
        if self.dl_root.serves {
            self.rqs[cpu].dl.stopper_since = self.rqs[cpu].clocks.clock_task;
        }
    }

    /// The idle time of a CPU so far counts for its server: a tick looks, or a task comes.
    ///
    /// Kernel: idle.c put_prev_task_idle(), v6.12–; task_tick_idle(), update_curr_idle(), v6.19–
    pub(crate) fn dl_server_update_idle(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        match self.profile.fair_server_idle {
            FairServerIdle::Discounted => self.discount_idle_time(cpu),
            FairServerIdle::Accounted if self.dl_root.serves && !self.rqs[cpu].stop_running => {
                let rq = &mut self.rqs[cpu];
                let now = rq.clocks.clock_task;
                let idle = now.saturating_sub(std::mem::replace(&mut rq.dl.idle_since, now));
                self.dl_server_update(cx, cpu, Ns(idle));
            }
            FairServerIdle::Accounted => {}
        }
    }

    /// The tick of a CPU that idles.
    ///
    /// Kernel: idle.c task_tick_idle(), v6.19–
    pub(crate) fn task_tick_idle(&mut self, cx: &mut Ctx<'_, '_>) {
        if self.profile.fair_server_idle == FairServerIdle::Accounted {
            self.dl_server_update_idle(cx, cx.cpu);
        }
    }

    /// Accounts what runs on a CPU, of a fair task the task alone.
    ///
    /// Kernel: sched.h struct sched_class update_curr(), called from deadline.c, v6.19–
    pub(super) fn update_curr_of_cpu(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        match self.rqs[cpu].curr {
            Some(curr) if self.is_rt(curr) => self.update_curr_rt(cx, cpu),
            Some(curr) if self.is_dl(curr) => self.update_curr_dl(cx, cpu),
            Some(curr) => self.update_curr(cx, self.se(curr).cfs_rq),
            None => self.dl_server_update_idle(cx, cpu),
        }
    }

    /// A CPU without tasks gets one: the time since what runs there was accounted counts as time of the fair class. That is idle time,
    /// or that of a stopper which is about to leave: it is accounted as it is put down, after the newidle balance. So it is with a task
    /// below a queue that was throttled as the CPU chose, before anybody had accounted it: its run time is lost, to its groups as well.
    ///
    /// Kernel: deadline.c dl_server_update_idle_time(), v6.12–v6.18
    fn discount_idle_time(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        // A server that is not at work here is one in the kernel, with time left.
        let is_none = self.profile.rt_bandwidth != RtBandwidth::FairServer;
        if is_none || rq.dl.server.runtime < 0 || (!self.dl_root.serves && rq.curr.is_none()) {
            return;
        }
        let now = rq.clocks.clock_task;
        let since = match rq.curr {
            Some(curr) => &mut self.ses[self.tasks[curr].se].exec_start,
            None if rq.stop_running => &mut rq.dl.stopper_since,
            None => &mut rq.dl.idle_since,
        };
        let idle = now.saturating_sub(std::mem::replace(since, now));
        if !self.dl_root.serves {
            return;
        }
        let server = &mut rq.dl.server;
        server.runtime -= idle as i64;
        if server.runtime < 0 {
            (server.defer_running, server.runtime) = (false, 0);
        }
    }

    /// Whether the timers of a CPU's server would fire on a CPU that goes off line: they go with its tasks.
    pub(crate) fn dl_server_off_line(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let se = DlSe::FairServer(cpu);
        if self.rqs[cpu].dl.server.zero_lag.is_some() {
            self.cancel_zero_lag(cx, se);
            self.inactive_task_timer(cx, se);
        }
    }
}
