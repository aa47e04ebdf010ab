//! The rules of one entity: its constant bandwidth server.
//!
//! ```text
//! wake-up      deadline past, or runtime / (deadline - now) > Q / D: deadline = now + D, runtime = Q
//!              D < P and the deadline still to come: runtime = Q / D * (deadline - now)
//! used up      throttled until deadline - D + P
//! replenish    while runtime <= 0: deadline += P, runtime += Q
//! ```

use crate::seam::FairServerWake;
use fairground_model::{DlParams, Policy};
use fairground_stdx::{Instant, Unused};

/// Shares of a CPU are in 2^-20.
///
/// Kernel: sched.h BW_SHIFT, v4.12–
pub(crate) const BW_SHIFT: u32 = 20;

/// The low bits of a time that comparisons of bandwidth leave away.
///
/// Kernel: sched.h DL_SCALE, v4.12–
pub(super) const DL_SCALE: u32 = 10;

/// What the class keeps of a task, or of a server.
///
/// Kernel: sched.h struct sched_dl_entity, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DlEntity {
    /// Runtime, relative deadline and period that it asked for, ns; all 0 = nothing.
    pub(super) dl_runtime: u64,
    pub(super) dl_deadline: u64,
    pub(super) dl_period: u64,
    /// Runtime / period and runtime / deadline, in 2^-20, rounded down.
    pub(super) dl_bw: u64,
    pub(super) dl_density: u64,
    /// It shares what others leave (SCHED_FLAG_RECLAIM).
    pub(super) reclaim: bool,
    /// What is left of its runtime, ns.
    pub(super) runtime: i64,
    /// Its absolute deadline, by the clock of its run queue.
    pub(super) deadline: u64,
    /// It has no runtime, and waits for the timer.
    pub(super) throttled: bool,
    /// That timer fired while its task was in another class: nothing replenishes it until it is throttled anew.
    pub(super) forgotten: bool,
    /// It came back into the class with what runtime it had left, perhaps none, and has not been accounted since.
    pub(super) came_back: bool,
    /// It gave its runtime away.
    pub(super) yielded: bool,
    /// It sleeps, and its 0-lag time is yet to come.
    pub(super) non_contending: bool,
    /// It stands on a queue.
    pub(super) on_list: bool,
    /// A server: it runs only when fair tasks have not had their part by its zero-laxity point.
    pub(super) defer: bool,
    /// Its timer is that of the zero-laxity point.
    pub(super) defer_armed: bool,
    /// That point has passed in this period.
    pub(super) defer_running: bool,
    /// A server: fair tasks are queued.
    pub(super) active: bool,
    /// A server: the CPU has idled through a period of it, and idles still.
    pub(super) defer_idle: bool,
    /// Its share counts in what admission has granted.
    pub(super) admitted: bool,
    /// What the share of each CPU became smaller by then, in 2^-20.
    pub(super) per_cpu: i64,
    /// Its share counts on the CPU that it belongs to (this_bw).
    pub(super) counted: bool,
    /// It counts there as active (running_bw).
    pub(super) contends: bool,
    /// When the timer that replenishes it fires.
    pub(super) timer: Option<Instant>,
    /// When the timer of its 0-lag time fires.
    pub(super) zero_lag: Option<Instant>,
}

impl Unused for DlEntity {
    const UNUSED: &'static DlEntity = &DlEntity {
        dl_runtime: 0,
        dl_deadline: 0,
        dl_period: 0,
        dl_bw: 0,
        dl_density: 0,
        reclaim: false,
        runtime: 0,
        deadline: 0,
        throttled: false,
        forgotten: false,
        came_back: false,
        yielded: false,
        non_contending: false,
        on_list: false,
        defer: false,
        defer_armed: false,
        defer_running: false,
        active: false,
        defer_idle: false,
        admitted: false,
        per_cpu: 0,
        counted: false,
        contends: false,
        timer: None,
        zero_lag: None,
    };
}

impl Default for DlEntity {
    fn default() -> DlEntity {
        *DlEntity::UNUSED
    }
}

/// `runtime / period` in 2^-20, rounded down; 0 for an empty period.
///
/// Kernel: core.c to_ratio(), v4.12–
pub(super) fn to_ratio(period: u64, runtime: u64) -> u64 {
    // The kernel's own product wraps for runtimes beyond 4.8 hours.
    (runtime << BW_SHIFT).checked_div(period).unwrap_or(0)
}

impl DlEntity {
    /// That of a new task of that policy.
    pub(crate) fn new(policy: Policy) -> DlEntity {
        let mut entity = DlEntity::default();
        if let Some(params) = policy.deadline() {
            entity.set_params(&params);
        }
        entity
    }

    /// Kernel: deadline.c __setparam_dl(), v4.12–
    pub(super) fn set_params(&mut self, params: &DlParams) {
        (self.dl_runtime, self.dl_deadline, self.dl_period) = (params.runtime.0, params.deadline.0, params.period.0);
        self.reclaim = params.reclaim;
        self.dl_bw = to_ratio(self.dl_period, self.dl_runtime);
        self.dl_density = to_ratio(self.dl_deadline, self.dl_runtime);
    }

    /// Its parameters go. What is left of its runtime, and its deadline, stay: if it comes back before that, it goes on with them.
    ///
    /// Kernel: deadline.c __dl_clear_params(), v4.12–
    pub(super) fn clear_params(&mut self) {
        let DlEntity { runtime, deadline, timer, zero_lag, on_list, .. } = *self;
        *self = DlEntity { runtime, deadline, timer, zero_lag, on_list, ..DlEntity::default() };
    }

    /// Whether deadline and period are the same.
    pub(super) fn is_implicit(&self) -> bool {
        self.dl_deadline == self.dl_period
    }

    /// When the period after the present one begins.
    ///
    /// Kernel: deadline.c dl_next_period(), v4.12–
    pub(super) fn next_period(&self) -> u64 {
        self.deadline - self.dl_deadline + self.dl_period
    }

    /// When a server that was put off must run at the latest to get its runtime before its deadline (zero laxity).
    pub(super) fn zero_laxity(&self) -> i64 {
        self.deadline as i64 - self.runtime
    }

    /// Whether what is left, used from now on, would be more than its share: `runtime / (deadline - now) > Q / D`.
    ///
    /// Kernel: deadline.c dl_entity_overflow(), v4.12–
    fn overflows(&self, now: u64) -> bool {
        let left = (self.dl_deadline >> DL_SCALE).wrapping_mul((self.runtime >> DL_SCALE) as u64);
        let right = (self.deadline.wrapping_sub(now) >> DL_SCALE).wrapping_mul(self.dl_runtime >> DL_SCALE);
        (right.wrapping_sub(left) as i64) < 0
    }

    /// A new period begins now. A server that is not needed yet is put off.
    ///
    /// Kernel: deadline.c replenish_dl_new_period(), setup_new_dl_entity() before v6.8, v4.12–
    pub(super) fn begin_period(&mut self, now: u64) {
        (self.deadline, self.runtime) = (now + self.dl_deadline, self.dl_runtime as i64);
        if self.defer && !self.defer_running {
            (self.throttled, self.defer_armed) = (true, true);
        }
    }

    /// An entity that is new to the class begins its first period.
    ///
    /// Kernel: deadline.c setup_new_dl_entity(), v4.12–
    pub(super) fn setup_new(&mut self, now: u64) {
        if !self.throttled {
            self.begin_period(now);
        }
    }

    /// It wakes up: it goes on with what it has if that is no more than its share. `revises`: with a deadline before the period,
    /// what it has is cut to its share where a new period would give it more. `server`: what a server does then.
    ///
    /// Kernel: deadline.c update_dl_entity(), update_dl_revised_wakeup(), v4.12–
    pub(super) fn wake(&mut self, now: u64, revises: bool, server: FairServerWake) {
        let past = self.deadline < now;
        if past || self.overflows(now) {
            let serves_on = server == FairServerWake::Share && self.defer_running;
            if revises && !past && (!self.is_implicit() || serves_on) {
                let laxity = self.deadline - now;
                self.runtime = (self.dl_density.wrapping_mul(laxity) >> BW_SHIFT) as i64;
                return;
            }
            self.defer_running &= server == FairServerWake::New;
            self.begin_period(now);
        } else if self.defer && !self.defer_running {
            (self.throttled, self.defer_armed) = (true, true);
        }
    }

    /// It gets runtime again: that of as many periods as it has used. The deadline goes with it. A server that was put off has a
    /// period that begins now.
    ///
    /// Kernel: deadline.c replenish_dl_entity(), v4.12–
    pub(super) fn replenish(&mut self, now: u64) {
        if self.defer_armed && self.overflows(now) {
            // What it was put off for would be more than its share of what is left.
            (self.deadline, self.runtime) = (now + self.dl_deadline, self.dl_runtime as i64);
        }
        if self.yielded && self.runtime > 0 {
            self.runtime = 0;
        }
        if self.runtime <= 0 {
            // So many periods that runtime is positive; rounded down, plus one.
            let periods = self.runtime.unsigned_abs() / self.dl_runtime + 1;
            // The kernel's own sum wraps for periods of years.
            let later = periods.saturating_mul(self.dl_period);
            self.deadline = self.deadline.saturating_add(later).min(i64::MAX as u64);
            self.runtime += (periods * self.dl_runtime) as i64;
        }
        if self.deadline < now {
            self.begin_period(now);
        }
        (self.yielded, self.throttled) = (false, false);
    }

    /// The 0-lag time: by then it would have used its share of the time had it run evenly. Relative to `now`.
    ///
    /// Kernel: deadline.c task_non_contending(), v4.13–
    pub(super) fn zero_lag_after(&self, now: u64) -> i64 {
        // The kernel's own product wraps for runtimes beyond 3 s.
        let paid = self.runtime.wrapping_mul(self.dl_period as i64) / self.dl_runtime as i64;
        (self.deadline as i64).wrapping_sub(paid).wrapping_sub(now as i64)
    }
}
