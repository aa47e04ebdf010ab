//! Scheduling attributes of tasks and phases: policy, priority, slice, CPUs, group.

use super::group::{self, GroupUse};
use super::json::Fields;
use super::notes::Notes;
use fairground_model::{CLAMP_MAX, DlParams, Mistakes, Policy, RtPriority, UtilClamp};
use fairground_stdx::{CpuId, CpuMask, Ns};
use jsonc_parser::ast::{Object, ObjectProp};
use std::ops::{Range, RangeInclusive};

/// A policy that rt-app knows: what its priority means comes with that.
#[derive(Clone, Copy)]
pub(super) enum RtPolicy {
    /// One of the fair class, whose priority is a nice value.
    Fair(Policy),
    /// One of the real-time class.
    RealTime(fn(RtPriority) -> Policy),
    /// That of the deadline class, which has no priority.
    Deadline,
}

/// The priority of a real-time thread that gives none.
///
/// rt-app: rt-app_parse_config.c, DEFAULT_THREAD_PRIORITY.
const DEFAULT_THREAD_PRIORITY: i64 = 10;

/// Nice values.
const NICE: RangeInclusive<i64> = -20..=19;

/// Priorities of real-time tasks.
const PRIORITIES: RangeInclusive<i64> = RtPriority::MIN.get() as i64..=RtPriority::MAX.get() as i64;

impl RtPolicy {
    /// What a priority of this policy is, and which there are.
    fn priorities(self) -> (&'static str, RangeInclusive<i64>) {
        match self {
            RtPolicy::RealTime(_) => ("a real-time priority", PRIORITIES),
            RtPolicy::Fair(_) | RtPolicy::Deadline => ("a nice value", NICE),
        }
    }

    /// The policy and nice value of a thread that says so. A priority that is none was found to be wrong before; times of a deadline
    /// thread that make no sense are found where the kernel is known.
    pub(super) fn with(self, attributes: &Attributes) -> (Policy, i8) {
        let number = attributes.priority.as_ref().map(|priority| priority.number);
        match self {
            RtPolicy::RealTime(policy) => {
                let priority = RtPriority::new(number.unwrap_or(DEFAULT_THREAD_PRIORITY));
                (policy(priority.unwrap_or(RtPriority::MIN)), 0)
            }
            // The nice value of a SCHED_IDLE task has no meaning, and rt-app does not set it.
            RtPolicy::Fair(Policy::Idle) => (Policy::Idle, 0),
            RtPolicy::Fair(policy) => (policy, number.and_then(|nice| i8::try_from(nice).ok()).unwrap_or(0)),
            RtPolicy::Deadline => (Policy::Deadline(attributes.dl_params()), 0),
        }
    }

    /// Finds a priority that this policy does not have.
    pub(super) fn check(self, priority: Option<&Priority>, mistakes: &mut Mistakes) {
        let (what, range) = self.priorities();
        if let Some(Priority { number, span }) = priority.filter(|priority| !range.contains(&priority.number)) {
            let hint = format!("Expected {what}, a whole number from {} to {}.", range.start(), range.end());
            mistakes.at(span.clone(), format!("`{number}` is no value for `priority`"), hint);
        }
    }
}

pub(super) fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<RtPolicy> {
    match fields.string(property)? {
        "SCHED_OTHER" => Some(RtPolicy::Fair(Policy::Normal)),
        "SCHED_BATCH" => Some(RtPolicy::Fair(Policy::Batch)),
        "SCHED_IDLE" => Some(RtPolicy::Fair(Policy::Idle)),
        "SCHED_FIFO" => Some(RtPolicy::RealTime(Policy::Fifo)),
        "SCHED_RR" => Some(RtPolicy::RealTime(Policy::RoundRobin)),
        "SCHED_DEADLINE" => Some(RtPolicy::Deadline),
        _ => {
            fields.kind(property, "SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE");
            None
        }
    }
}

/// A `priority`: its meaning depends on the policy, which may stand elsewhere.
#[derive(Clone)]
pub(super) struct Priority {
    number: i64,
    span: Range<usize>,
}

/// What a task or phase object says of scheduling.
#[derive(Clone, Default)]
pub(super) struct Attributes {
    pub(super) policy: Option<RtPolicy>,
    pub(super) priority: Option<Priority>,
    /// The slice of its own that a SCHED_OTHER or SCHED_BATCH thread asks for, or the runtime of a SCHED_DEADLINE thread.
    pub(super) dl_runtime: Option<Ns>,
    /// The utilization clamps that it asks for.
    pub(super) clamp: UtilClamp,
    /// The period of the latter, and its deadline.
    dl_period: Option<Ns>,
    dl_deadline: Option<Ns>,
    pub(super) cpus: Option<CpuMask>,
    pub(super) group: Option<GroupUse>,
}

impl Attributes {
    /// Runtime, deadline and period of a SCHED_DEADLINE thread: the period is the runtime, and the deadline the period, where nothing
    /// is given.
    fn dl_params(&self) -> DlParams {
        let runtime = self.dl_runtime.unwrap_or(Ns::ZERO);
        let period = self.dl_period.unwrap_or(runtime);
        DlParams { runtime, deadline: self.dl_deadline.unwrap_or(period), period, reclaim: false }
    }

    /// Whether rt-app calls the kernel for it: a slice alone makes no call.
    pub(super) fn sets_policy(&self) -> bool {
        self.policy.is_some() || self.priority.is_some()
    }
}

/// The keys that [`attributes`] reads.
pub(super) const KEYS: &[&str] = &[
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "cpus",
    "nodes_membind",
    "taskgroup",
];

pub(super) fn attributes(object: &Object<'_>, fields: &mut Fields<'_>, notes: &mut Notes) -> Attributes {
    let mut attributes = Attributes::default();
    let mut refused = false;
    if let Some(property) = fields.one(object, "policy") {
        attributes.policy = read(property, fields);
        refused = attributes.policy.is_none();
    }
    if let Some(property) = fields.one(object, "priority").filter(|_| !refused) {
        let any = ("a nice value, or a real-time priority", *NICE.start()..=*PRIORITIES.end());
        let (what, range) = attributes.policy.map_or(any, RtPolicy::priorities);
        let number = fields.int(property, *range.start(), *range.end(), what);
        attributes.priority = number.map(|number| Priority { number, span: super::json::span(&property.value) });
    }
    // 0 is what rt-app takes where nothing is given. The times of a policy that was not understood are not looked at.
    if let Some(property) = fields.one(object, "dl-runtime").filter(|_| !refused) {
        attributes.dl_runtime = fields.usec(property).filter(|&usec| usec > 0).map(Ns::from_us);
    }
    attributes.clamp = clamp(object, fields);
    if let Some(property) = fields.one(object, "dl-period").filter(|_| !refused) {
        attributes.dl_period = fields.usec(property).filter(|&usec| usec > 0).map(Ns::from_us);
    }
    if let Some(property) = fields.one(object, "dl-deadline").filter(|_| !refused) {
        attributes.dl_deadline = fields.usec(property).filter(|&usec| usec > 0).map(Ns::from_us);
    }
    if let Some(property) = fields.one(object, "cpus") {
        let cpus = fields.numbers(property, CpuMask::CAPACITY as u32 - 1);
        attributes.cpus = cpus.map(|cpus| cpus.into_iter().map(CpuId::new).collect());
    }
    if let Some(property) = fields.one(object, "nodes_membind")
        && fields.numbers(property, 1023).is_some()
    {
        notes.add("`nodes_membind` is accepted and has no effect: where memory lies is not part of the model");
    }
    if let Some(property) = fields.one(object, "taskgroup") {
        attributes.group = group::read(property, fields);
    }
    attributes
}

/// `util_min` and `util_max`.
fn clamp(object: &Object<'_>, fields: &mut Fields<'_>) -> UtilClamp {
    let mut value = |name| {
        let property = fields.one(object, name)?;
        let number = fields.int(property, 0, i64::from(CLAMP_MAX), "a utilization, 1024 of which is the biggest CPU");
        number.and_then(|number| u32::try_from(number).ok())
    };
    let clamp = UtilClamp { min: value("util_min"), max: value("util_max") };
    if !clamp.is_valid() {
        let hint = "The least is not above the most.";
        fields.mistakes.at(super::json::span(object), "`util_min` above `util_max` is refused (EINVAL)", hint);
    }
    clamp
}
