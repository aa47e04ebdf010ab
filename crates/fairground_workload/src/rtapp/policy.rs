//! Scheduling attributes of tasks and phases: policy, priority, slice, CPUs, group.

use super::Notes;
use super::group::{self, GroupUse};
use super::json::Fields;
use fairground_model::Policy;
use fairground_stdx::{CpuId, CpuMask, Ns};
use jsonc_parser::ast::{Object, ObjectProp};

/// A policy that rt-app knows.
pub(super) enum RtPolicy {
    /// One of the fair class.
    Fair(Policy),
    /// One of another class, already refused.
    Refused,
}

pub(super) fn read(property: &ObjectProp<'_>, fields: &mut Fields<'_>) -> Option<RtPolicy> {
    match fields.string(property)? {
        "SCHED_OTHER" => Some(RtPolicy::Fair(Policy::Normal)),
        "SCHED_BATCH" => Some(RtPolicy::Fair(Policy::Batch)),
        "SCHED_IDLE" => Some(RtPolicy::Fair(Policy::Idle)),
        name @ ("SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE") => {
            let message = format!("policy `{name}` is not modelled yet (needs the real-time and deadline classes)");
            let hint = "Use SCHED_OTHER, SCHED_BATCH or SCHED_IDLE.";
            fields.mistakes.at(super::json::span(&property.value), message, hint);
            Some(RtPolicy::Refused)
        }
        _ => {
            fields.kind(property, "SCHED_OTHER, SCHED_BATCH or SCHED_IDLE");
            None
        }
    }
}

/// What a task or phase object says of scheduling.
#[derive(Clone, Default)]
pub(super) struct Attributes {
    pub(super) policy: Option<Policy>,
    /// The nice value.
    pub(super) priority: Option<i8>,
    /// The slice of its own that a SCHED_OTHER or SCHED_BATCH thread asks for.
    pub(super) dl_runtime: Option<Ns>,
    pub(super) cpus: Option<CpuMask>,
    pub(super) group: Option<GroupUse>,
}

impl Attributes {
    /// Whether rt-app calls the kernel for it: a slice alone makes no call.
    pub(super) fn sets_policy(&self) -> bool {
        self.policy.is_some() || self.priority.is_some()
    }
}

/// The keys that [`attributes`] reads.
pub(super) const KEYS: &[&str] = &["policy", "priority", "dl-runtime", "cpus", "nodes_membind", "taskgroup"];
/// Keys of the same kind that are refused, with what they need.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("dl-period", "needs the deadline class"),
    ("dl-deadline", "needs the deadline class"),
    ("period", "needs the deadline class"),
    ("deadline", "needs the deadline class"),
    ("util_min", "needs utilization clamping"),
    ("util_max", "needs utilization clamping"),
];

pub(super) fn attributes(object: &Object<'_>, fields: &mut Fields<'_>, notes: &mut Notes) -> Attributes {
    let mut attributes = Attributes::default();
    let mut refused = false;
    if let Some(property) = fields.one(object, "policy") {
        match read(property, fields) {
            Some(RtPolicy::Fair(policy)) => attributes.policy = Some(policy),
            Some(RtPolicy::Refused) => refused = true,
            None => {}
        }
    }
    if let Some(property) = fields.one(object, "priority").filter(|_| !refused) {
        attributes.priority = fields.int(property, -20, 19, "a nice value").and_then(|nice| i8::try_from(nice).ok());
    }
    // 0 is what rt-app takes where nothing is given. The budget of a refused class is refused with it.
    if let Some(property) = fields.one(object, "dl-runtime").filter(|_| !refused) {
        attributes.dl_runtime = fields.usec(property).filter(|&usec| usec > 0).map(Ns::from_us);
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
    for (name, needs) in REFUSED {
        if let Some(property) = fields.one(object, name) {
            fields.not_modelled(property, needs);
        }
    }
    attributes
}
