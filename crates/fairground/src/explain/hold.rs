//! By which rule the running task keeps its CPU from the waiting one.

use super::cause::Cause;
use super::past::Past;
use fairground_model::{Policy, Reason};
use fairground_sched::Sched;
use fairground_sched::fair::{Rivals, SchedEntity};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// From this factor on a weight is another one: three nice values.
const HEAVIER: u64 = 2;

/// A running task's hold on its CPU, seen at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    /// By what it keeps the CPU.
    pub(super) cause: Cause,
    /// The turn that it would have if it weighed no more than the waiting task: what goes beyond is its weight's.
    pub(super) equal_turn: Option<Ns>,
    /// From when on its slice is used up: it runs on because no tick has come.
    pub(super) used_up_from: Option<Instant>,
}

impl Hold {
    /// A hold that does not end by itself.
    const fn by(cause: Cause) -> Hold {
        Hold { cause, equal_turn: None, used_up_from: None }
    }
}

/// The hold of `holder` on `cpu`, where `waiter` is queued.
pub(super) fn hold(sched: &Sched, past: &Past, cpu: CpuId, waiter: TaskId, holder: TaskId, now: Instant) -> Hold {
    let (own, other) = (sched.task(waiter), sched.task(holder));
    let rq = sched.rq(cpu);
    if other.kthread {
        return Hold::by(Cause::KernelThread);
    }
    if rq.need_resched {
        return Hold::by(Cause::ReschedPending);
    }
    if own.policy == Policy::Idle && other.policy != Policy::Idle {
        return Hold::by(Cause::IdlePolicy);
    }
    let rule = past.rule(cpu);
    let cause = rule.map_or(Cause::QueueLength, |rule| of_rule(sched, past, rule.reason, waiter, holder));
    // A request of EEVDF is as long for every weight: there a greater weight shows in the deadline.
    let rivals = sched.rivals(waiter, holder);
    let heavier = cause == Cause::QueueLength && is_heavier(&rivals);
    let equal_turn = heavier.then(|| equal_turn(sched, holder, &rivals));
    let used_up_from = used_up(sched, holder, now);
    // A slice that was used up before the decision was no part of it: the decision went by something else.
    let ends_by_slice = rule.is_none_or(|rule| rule.decided < used_up_from);
    Hold { cause, equal_turn, used_up_from: ends_by_slice.then_some(used_up_from) }
}

/// What a decision means for the waiting task.
fn of_rule(sched: &Sched, past: &Past, rule: Reason, waiter: TaskId, holder: TaskId) -> Cause {
    match rule {
        Reason::WakeWithinGranularity => Cause::WithinWakeupGranularity,
        Reason::WakeFeatureOff => Cause::NoWakeupPreemption,
        Reason::WakeBatch => Cause::BatchPolicy,
        Reason::PickNextBuddy | Reason::PickLastBuddy | Reason::PickSkipped | Reason::PickEligibleBuddy => Cause::Buddy,
        Reason::PickProtected | Reason::TickProtected | Reason::WakeProtected if goes_before(sched, waiter, holder) => {
            Cause::Protected
        }
        _ if sched.profile().pick.is_eevdf() => by_deadline(sched, past, waiter, holder),
        _ if owes_place_to_credit(sched, past, waiter, holder) => Cause::SleeperCredit,
        _ => Cause::QueueLength,
    }
}

/// EEVDF: whether the waiting task would be picked before the holder, if nothing protected that.
fn goes_before(sched: &Sched, waiter: TaskId, holder: TaskId) -> bool {
    let rivals = sched.rivals(waiter, holder);
    rivals.eligible && rivals.other.deadline.since(rivals.own.deadline) > 0
}

/// EEVDF: the holder was picked, or would be again.
fn by_deadline(sched: &Sched, past: &Past, waiter: TaskId, holder: TaskId) -> Cause {
    let rivals = sched.rivals(waiter, holder);
    if !rivals.eligible && past.placed(waiter) == Some(Reason::DelayRequeue) {
        Cause::DelayedDequeue
    } else if !rivals.eligible {
        Cause::NotEligible
    } else if is_heavier(&rivals) {
        Cause::HeavierTask
    } else if rivals.other.slice < rivals.own.slice {
        Cause::ShorterSlice
    } else {
        Cause::EarlierDeadline
    }
}

/// CFS: the holder is ahead of the waiting task, but would not be without the credit with which it was placed. The
/// waiting task has none, or both would have to do without.
fn owes_place_to_credit(sched: &Sched, past: &Past, waiter: TaskId, holder: TaskId) -> bool {
    let credited = |task| past.placed(task) == Some(Reason::PlaceSleeperCredit);
    if !credited(holder) || credited(waiter) {
        return false;
    }
    let rivals = sched.rivals(waiter, holder);
    let ahead = rivals.own.vruntime.since(rivals.other.vruntime);
    (1..=sched.sleeper_credit_of(holder) as i64).contains(&ahead)
}

fn is_heavier(rivals: &Rivals<'_>) -> bool {
    rivals.other.load.weight() >= HEAVIER * rivals.own.load.weight()
}

/// When the running task has used up its slice (CFS), or reaches its deadline (EEVDF), if it runs on.
fn used_up(sched: &Sched, holder: TaskId, now: Instant) -> Instant {
    let entity = sched.se(holder);
    let accounted = sched.accounted_until(holder).min(now);
    if !sched.profile().pick.is_eevdf() {
        let (slice, used) = (sched.sched_slice_of(holder).0, entity.sum_exec_runtime - entity.prev_sum_exec_runtime);
        return Instant::from_ns((accounted.ns() + slice).saturating_sub(used));
    }
    // Virtual time passes at 1024/weight of real time.
    let weight = i128::from(sched.profile().scale_load_down.apply(entity.load.weight()));
    let left = i128::from(entity.deadline.since(entity.vruntime)) * weight / 1024;
    Instant::from_ns(u64::try_from(i128::from(accounted.ns()) + left).unwrap_or(0))
}

/// CFS: the slice that the running task would have if it weighed no more than the waiting one.
///
/// slice * (own / other) * (sum / (sum - other + own))
fn equal_turn(sched: &Sched, holder: TaskId, rivals: &Rivals<'_>) -> Ns {
    let weight = |entity: &SchedEntity| u128::from(sched.profile().scale_load_down.apply(entity.load.weight()));
    let (own, other, sum) = (weight(rivals.own), weight(rivals.other), u128::from(rivals.queue_weight));
    let slice = u128::from(sched.sched_slice_of(holder).0);
    Ns((slice * own * sum / (other * (sum + own).saturating_sub(other)).max(1)) as u64)
}
