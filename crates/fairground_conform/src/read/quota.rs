//! Which account of run time an act of quota makes: what runs on the CPU of a queue is accounted as that is released, and who stops
//! for want of quota is accounted as he leaves his queue.

use super::Start;
use crate::recording::{QuotaAct, QuotaChange, Record, Recording};
use fairground_model::TraceEvent;
use fairground_stdx::{Ns, TaskId};

/// The account is so near.
const NEAR: Ns = Ns::from_us(50);

/// For each act the account that it makes, if the record has one. `stops_tasks`: tasks come back one by one, before their release is told.
pub(super) fn accounts(recording: &Recording, start: &Start, stops_tasks: bool) -> Vec<Option<usize>> {
    let mut running = start.running.clone();
    let mut next = 0;
    let mut found = Vec::new();
    for act in &recording.quota_acts {
        for record in recording.records.get(next..act.before).into_iter().flatten() {
            if let TraceEvent::SchedSwitch { next, .. } = record.event {
                running[record.cpu] = next;
            }
        }
        next = act.before;
        let runs = match act.what {
            QuotaChange::Throttle(..) => None,
            QuotaChange::Release(_, cpu) => running.get(cpu).copied().flatten(),
            QuotaChange::Stop(task) => Some(task),
        };
        let comes_later = act.at_entry || !(stops_tasks || matches!(act.what, QuotaChange::Stop(_)));
        found.push(runs.and_then(|task| account_of(recording, act, task, comes_later)));
    }
    found
}

/// The record that the CPU of an act wrote next to it, if that accounts `task`.
fn account_of(recording: &Recording, act: &QuotaAct, task: TaskId, comes_later: bool) -> Option<usize> {
    let records = &recording.records;
    let is_near = |record: &Record| record.at.ns().abs_diff(act.at.ns()) <= NEAR.0;
    let is_own = |record: &Record| record.cpu == act.cpu;
    let index = match comes_later {
        true => {
            records[act.before..].iter().take_while(|record| is_near(record)).position(is_own).map(|offset| act.before + offset)
        }
        false => records[..act.before]
            .iter()
            .rev()
            .take_while(|record| is_near(record))
            .position(is_own)
            .map(|back| act.before - 1 - back),
    }?;
    matches!(records[index].event, TraceEvent::SchedStatRuntime { task: ran, .. } if ran == task).then_some(index)
}
