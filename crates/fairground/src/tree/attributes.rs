//! Policies and clamps as sched_setattr() takes them.

use fairground_kcore::Policy as Attributes;
use fairground_model::{DlParams, Policy, UtilClamp};

/// The numbers of policies in Linux.
const SCHED_NORMAL: u32 = 0;
const SCHED_FIFO: u32 = 1;
const SCHED_RR: u32 = 2;
const SCHED_BATCH: u32 = 3;
const SCHED_IDLE: u32 = 5;
const SCHED_DEADLINE: u32 = 6;
/// It shares what others leave.
const SCHED_FLAG_RECLAIM: u32 = 2;
/// Policy and priority stay as they are.
const SCHED_FLAG_KEEP_POLICY: u32 = 8;
const SCHED_FLAG_KEEP_PARAMS: u32 = 16;
const SCHED_FLAG_UTIL_CLAMP_MIN: u32 = 32;
const SCHED_FLAG_UTIL_CLAMP_MAX: u32 = 64;

pub(super) fn policy_number(policy: Policy) -> u32 {
    match policy {
        Policy::Batch => SCHED_BATCH,
        Policy::Idle => SCHED_IDLE,
        Policy::Fifo(_) => SCHED_FIFO,
        Policy::RoundRobin(_) => SCHED_RR,
        Policy::Normal => SCHED_NORMAL,
        Policy::Deadline(_) => SCHED_DEADLINE,
    }
}

/// A task asks for clamps, and for nothing else.
pub(super) fn clamps(clamp: UtilClamp) -> Attributes {
    let keep = SCHED_FLAG_KEEP_POLICY | SCHED_FLAG_KEEP_PARAMS;
    let asks = |value: Option<u32>, flag: u32| if value.is_some() { flag } else { 0 };
    let asked = asks(clamp.min, SCHED_FLAG_UTIL_CLAMP_MIN) | asks(clamp.max, SCHED_FLAG_UTIL_CLAMP_MAX);
    let (clamp_min, clamp_max) = (clamp.min.unwrap_or(0), clamp.max.unwrap_or(0));
    Attributes { flags: keep | asked, clamp_min, clamp_max, ..Attributes::default() }
}

/// What goes with a policy when a task asks for it.
pub(super) fn attributes(policy: Policy, nice: i8) -> Attributes {
    let plain =
        Attributes { policy: policy_number(policy), nice: nice.into(), priority: priority(policy), ..Attributes::default() };
    match policy.deadline() {
        None => plain,
        Some(DlParams { runtime, deadline, period, reclaim }) => Attributes {
            flags: if reclaim { SCHED_FLAG_RECLAIM } else { 0 },
            runtime_ns: runtime.0,
            deadline_ns: deadline.0,
            period_ns: period.0,
            ..plain
        },
    }
}

/// 0 below the real-time class.
pub(super) fn priority(policy: Policy) -> u32 {
    policy.rt_priority().map_or(0, |priority| priority.get().into())
}
