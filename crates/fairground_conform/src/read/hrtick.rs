//! Which account of run time an hrtick makes, where the record tells when they fire: our own do, and kernels by `hrtimer_expire_entry`.

use crate::recording::Recording;
use fairground_model::{QueueAct, TraceEvent};
use fairground_stdx::Ns;
use std::collections::BTreeMap;

/// The account comes so soon behind the timer.
const NEAR: Ns = Ns::from_us(20);

/// For the rows about queues that are hrticks, by their numbers, the records of their accounts, if there are any.
pub(super) fn accounts(recording: &Recording) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for (number, row) in recording.queue_acts.iter().enumerate().filter(|row| row.1.act == QueueAct::Hrtick) {
        let records = recording.records.iter().enumerate().skip(row.before);
        let mut soon = records.take_while(|record| record.1.at.saturating_since(row.at) <= NEAR);
        if let Some((index, record)) = soon.find(|record| record.1.cpu == row.cpu)
            && matches!(record.event, TraceEvent::SchedStatRuntime { .. })
        {
            found.insert(number, index);
        }
    }
    found
}
