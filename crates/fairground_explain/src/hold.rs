//! By which rule the running task keeps its CPU from the waiting one.

use super::cause::Cause;
use super::parts::Meeting;
use super::past::Past;
use fairground_model::{Mode, Policy, Reason};
use fairground_sched::fair::SchedEntity;
use fairground_sched::{Rivals, Sched};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// From this factor on a weight is another one: three nice values.
const HEAVIER: u64 = 2;

/// A running task's hold on its CPU, seen at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    /// By what it keeps the CPU.
    pub(super) cause: Cause,
    /// Where the two are compared, if groups stand for them there.
    pub(super) meeting: Option<Meeting>,
    /// Whether it, or the group that stands for it, weighs at least twice as much.
    pub(super) heavier: bool,
    /// The slice that it would have with the weight of the waiting task: what it runs beyond is due to its weight.
    pub(super) equal_slice: Option<Ns>,
    /// From when on its slice is used up: it runs on because no tick has come.
    pub(super) used_up_from: Option<Instant>,
}

/// The hold of `holder` on `cpu`, where `waiter` is queued.
pub(super) fn hold(simulation: &Simulation, past: &Past, cpu: CpuId, waiter: TaskId, holder: TaskId, now: Instant) -> Hold {
    let sched = simulation.sched();
    let (own, other) = (sched.task(waiter), sched.task(holder));
    // A hold that does not end by itself.
    let held_by = |cause, meeting| Hold { cause, meeting, heavier: false, equal_slice: None, used_up_from: None };
    if !own.policy.is_fair() || !other.policy.is_fair() {
        // They meet on no queue. One that is more urgent waits only until the CPU looks.
        let cause = match other.policy {
            _ if own.prio() < other.prio() && sched.fair_server_runs(cpu) => Cause::RtThrottled,
            _ if own.prio() < other.prio() => pending(simulation, cpu),
            Policy::Deadline { .. } => Cause::Deadline,
            _ => Cause::RealTime,
        };
        return held_by(cause, None);
    }
    let rivals = sched.rivals(waiter, holder);
    let meeting = Meeting::of(&rivals);
    let by = |cause| Hold { heavier: is_heavier(&rivals), ..held_by(cause, meeting) };
    if other.kthread {
        return by(Cause::KernelThread);
    }
    if sched.rq(cpu).need_resched || sched.rq(cpu).need_resched_lazy {
        return by(pending(simulation, cpu));
    }
    if rivals.own_is_idle && !rivals.other_is_idle {
        return by(Cause::IdlePolicy);
    }
    let places = Places { own: past.placed(rivals.own.stands_for()), other: past.placed(rivals.other.stands_for()) };
    let rule = past.rule(cpu, rivals.other.stands_for());
    let cause = rule.map_or(Cause::QueueLength, |rule| of_rule(sched, rule.reason, &rivals, places));
    // A request of EEVDF is as long for every weight: there a greater weight shows in the deadline.
    let heavier = cause == Cause::QueueLength && is_heavier(&rivals);
    let equal_slice = heavier.then(|| equal_slice(sched, &rivals));
    let used_up_from = used_up(sched, rivals.other, now);
    // A slice that was used up before the decision was no part of it: the decision went by something else.
    let ends_by_slice = rule.is_none_or(|rule| rule.decided < used_up_from);
    Hold { equal_slice, used_up_from: ends_by_slice.then_some(used_up_from), ..by(cause) }
}

/// Why a CPU does not reschedule, though that is due.
fn pending(simulation: &Simulation, cpu: CpuId) -> Cause {
    match simulation.mode_of_current(cpu) {
        Some(Mode::IrqOff) => Cause::IrqsOff,
        Some(Mode::NoPreempt) => Cause::PreemptOff,
        Some(Mode::Kernel) if !simulation.sched().preempts_in_kernel(cpu) => Cause::KernelSection,
        _ => Cause::ReschedPending,
    }
}

/// How the two were placed where they are compared.
#[derive(Clone, Copy)]
struct Places {
    own: Option<Reason>,
    other: Option<Reason>,
}

/// What a decision means for the waiting task, or for the group that stands for it.
fn of_rule(sched: &Sched, rule: Reason, rivals: &Rivals<'_>, places: Places) -> Cause {
    match rule {
        Reason::WakeWithinGranularity => Cause::WithinWakeupGranularity,
        Reason::WakeFeatureOff => Cause::NoWakeupPreemption,
        Reason::WakeBatch => Cause::BatchPolicy,
        Reason::PickNextBuddy | Reason::PickLastBuddy | Reason::PickSkipped | Reason::PickEligibleBuddy => Cause::Buddy,
        Reason::PickProtected | Reason::TickProtected | Reason::WakeProtected if goes_before(rivals) => Cause::Protected,
        _ if sched.profile().pick.is_eevdf() => by_deadline(rivals, places),
        _ if owes_place_to_credit(rivals, places) => Cause::SleeperCredit,
        _ => Cause::QueueLength,
    }
}

/// EEVDF: whether the waiting one would be picked before the holder, if nothing protected that.
fn goes_before(rivals: &Rivals<'_>) -> bool {
    rivals.eligible && rivals.other.deadline.since(rivals.own.deadline) > 0
}

/// EEVDF: the holder was picked, or would be again.
fn by_deadline(rivals: &Rivals<'_>, places: Places) -> Cause {
    if !rivals.eligible && places.own == Some(Reason::DelayRequeue) {
        Cause::DelayedDequeue
    } else if !rivals.eligible {
        Cause::NotEligible
    } else if is_heavier(rivals) {
        Cause::HeavierTask
    } else if rivals.other.slice < rivals.own.slice {
        Cause::ShorterSlice
    } else {
        Cause::EarlierDeadline
    }
}

/// CFS: the holder is ahead of the waiting one, but would not be without the credit with which it was placed. The
/// waiting one has none, or both would have to do without.
fn owes_place_to_credit(rivals: &Rivals<'_>, places: Places) -> bool {
    let credited = |placed| placed == Some(Reason::PlaceSleeperCredit);
    let ahead = rivals.own.vruntime.since(rivals.other.vruntime);
    credited(places.other) && !credited(places.own) && (1..=rivals.credit as i64).contains(&ahead)
}

fn is_heavier(rivals: &Rivals<'_>) -> bool {
    rivals.other.load.weight() >= HEAVIER * rivals.own.load.weight()
}

/// When the running entity has used up its slice (CFS), or reaches its deadline (EEVDF), if it runs on.
fn used_up(sched: &Sched, entity: &SchedEntity, now: Instant) -> Instant {
    let accounted = entity.accounted_until().min(now);
    if !sched.profile().pick.is_eevdf() {
        let (slice, used) = (sched.sched_slice_of_entity(entity).0, entity.sum_exec_runtime - entity.prev_sum_exec_runtime);
        return Instant::from_ns((accounted.ns() + slice).saturating_sub(used));
    }
    // Virtual time passes at 1024/weight of real time.
    let weight = i128::from(sched.profile().scale_load_down.apply(entity.load.weight()));
    let left = i128::from(entity.deadline.since(entity.vruntime)) * weight / 1024;
    Instant::from_ns(u64::try_from(i128::from(accounted.ns()) + left).unwrap_or(0))
}

/// CFS: the slice that the running entity would have if it weighed no more than the waiting one.
///
/// slice * (own / other) * (sum / (sum - other + own))
fn equal_slice(sched: &Sched, rivals: &Rivals<'_>) -> Ns {
    let weight = |entity: &SchedEntity| u128::from(sched.profile().scale_load_down.apply(entity.load.weight()));
    let (own, other, sum) = (weight(rivals.own), weight(rivals.other), u128::from(rivals.queue_weight));
    let slice = u128::from(sched.sched_slice_of_entity(rivals.other).0);
    Ns((slice * own * sum / (other * (sum + own).saturating_sub(other)).max(1)) as u64)
}
