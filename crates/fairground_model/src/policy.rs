//! Scheduling policies, and the weights of nice levels.

use fairground_stdx::Ns;

/// Weights (not scaled up) of nice -20 to 19; one step is about a factor of 1.25.
///
/// Kernel: core.c sched_prio_to_weight, v4.12–
#[rustfmt::skip]
pub const SCHED_PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
     9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
     1024,   820,   655,   526,   423,   335,   272,   215,   172,   137,
      110,    87,    70,    56,    45,    36,    29,    23,    18,    15,
];

/// Scheduling policies: three of the fair class, two of the real-time class, that of the deadline class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_BATCH: does not preempt on wake-up.
    Batch,
    /// SCHED_IDLE: weight 3, preempted by everybody else.
    Idle,
    /// SCHED_FIFO: runs until it sleeps, yields or a task of a higher priority comes.
    Fifo(RtPriority),
    /// SCHED_RR: as SCHED_FIFO, but takes turns with others of its priority.
    RoundRobin(RtPriority),
    /// SCHED_DEADLINE: runs for its runtime within its deadline, once a period.
    Deadline(DlParams),
}

impl Policy {
    /// The real-time priority, of the real-time class only.
    #[inline]
    pub const fn rt_priority(self) -> Option<RtPriority> {
        match self {
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => Some(priority),
            Policy::Normal | Policy::Batch | Policy::Idle | Policy::Deadline(_) => None,
        }
    }

    /// The parameters, of the deadline class only.
    #[inline]
    pub const fn deadline(self) -> Option<DlParams> {
        match self {
            Policy::Deadline(params) => Some(params),
            _ => None,
        }
    }

    /// What a task is born with that is to have this policy: nobody is born with a deadline.
    pub const fn at_birth(self) -> Policy {
        if self.deadline().is_some() { Policy::Normal } else { self }
    }

    /// Whether it is of the fair class.
    #[inline]
    pub const fn is_fair(self) -> bool {
        matches!(self, Policy::Normal | Policy::Batch | Policy::Idle)
    }

    /// Whether it is of the real-time class.
    #[inline]
    pub const fn is_rt(self) -> bool {
        self.rt_priority().is_some()
    }

    /// The kernel's priority number of a task, the smaller the more urgent: -1 of the deadline class, 99 - priority, or 120 + nice.
    ///
    /// Kernel: core.c __normal_prio(), v4.12–
    #[inline]
    pub const fn prio(self, nice: i8) -> i32 {
        match self {
            Policy::Deadline(_) => DL_PRIO,
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => priority.prio() as i32,
            Policy::Normal | Policy::Batch | Policy::Idle => NICE_0_PRIO + nice as i32,
        }
    }
}

/// The priority number of a fair task at nice 0.
///
/// Kernel: prio.h DEFAULT_PRIO, v4.12–
const NICE_0_PRIO: i32 = 120;

/// The priority number of every task of the deadline class.
///
/// Kernel: deadline.h MAX_DL_PRIO - 1, v4.12–
pub const DL_PRIO: i32 = -1;

/// What a task of SCHED_DEADLINE asks for: `runtime` within `deadline` of the beginning of each `period`.
///
/// Kernel: types.h struct sched_attr, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DlParams {
    /// How long it may run in a period.
    pub runtime: Ns,
    /// By when after the beginning of a period it has that.
    pub deadline: Ns,
    /// The period.
    pub period: Ns,
    /// It may use what other deadline tasks leave (SCHED_FLAG_RECLAIM).
    pub reclaim: bool,
}

/// The priority of a real-time task as sched_setscheduler() takes it: 1 (least urgent) to 99.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RtPriority(u8);

impl RtPriority {
    /// The least urgent.
    pub const MIN: RtPriority = RtPriority(1);
    /// The most urgent.
    pub const MAX: RtPriority = RtPriority(99);

    /// The priority of that number, if there is one.
    pub const fn new(number: i64) -> Option<RtPriority> {
        match number {
            1..=99 => Some(RtPriority(number as u8)),
            _ => None,
        }
    }
    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }
    /// The kernel's priority number: 98 (least urgent) to 0.
    #[inline]
    pub const fn prio(self) -> u8 {
        RtPriority::MAX.0 - self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_go_from_1_to_99_and_count_backwards_inside() {
        assert_eq!((RtPriority::new(0), RtPriority::new(100), RtPriority::new(-1)), (None, None, None));
        assert_eq!((RtPriority::MIN.prio(), RtPriority::MAX.prio()), (98, 0));
        assert_eq!(RtPriority::new(50).map(|priority| Policy::Fifo(priority).prio(5)), Some(49));
        let params = DlParams { runtime: Ns(1), deadline: Ns(2), period: Ns(3), reclaim: false };
        assert_eq!((Policy::Deadline(params).prio(5), Policy::Deadline(params).is_fair()), (-1, false));
        assert_eq!((Policy::Normal.prio(0), Policy::Batch.prio(-20), Policy::Idle.prio(19)), (120, 100, 139));
    }
}
