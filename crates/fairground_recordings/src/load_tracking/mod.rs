//! Load tracking against recorded kernels: each recorded update, made again from its own inputs by our code,
//! must give the state that the kernel had at the next update of the same entity, bit for bit. Where it does not, entities
//! joined or left a queue in between, or changed their weight, or a group's entity took what happened below it: our
//! functions for these, fed with the recorded neighbours, must give it (`causes.rs`).

mod causes;

use crate::load;
use crate::system::System;
pub use causes::{Cause, Rules};
use causes::{Tracked, Verdict};
use fairground_formats::recorded::LoadState;
pub use fairground_formats::recorded::{LoadKind, LoadRow};
use fairground_scenario::Error;
use fairground_sched::pelt::{CfsRqLoad, PeltFamily, Scale, SchedAvg, SeLoad};
use std::collections::BTreeMap;
use std::path::Path;

/// How the states that updates of one kind lead to are explained.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Followed {
    /// The update gives them, bit for bit.
    pub exact: u64,
    /// The update and what happened since give them, bit for bit.
    pub explained: BTreeMap<Cause, u64>,
    /// Nothing of that gives them.
    pub other: u64,
}

impl Followed {
    /// All rows that have a row before them.
    pub fn rows(&self) -> u64 {
        self.exact + self.explained.values().sum::<u64>() + self.other
    }
    /// Adds the counts of another.
    pub fn add(&mut self, more: &Followed) {
        self.exact += more.exact;
        self.other += more.other;
        more.explained.iter().for_each(|(cause, rows)| *self.explained.entry(*cause).or_default() += rows);
    }
}

/// Follows the updates of a set's folder with the rules of its kernel; `None` if it has none.
pub fn follow_set(folder: &Path) -> Result<Option<BTreeMap<LoadKind, Followed>>, Error> {
    let Some(rows) = load::read(folder)? else { return Ok(None) };
    let version = System::find(folder)?.version()?;
    Ok(Some(follow(Rules::at(version), &rows)))
}

/// Makes each update again and compares with the next row of the same entity or queue.
pub fn follow(rules: Rules, rows: &[LoadRow]) -> BTreeMap<LoadKind, Followed> {
    let mut tracked = Tracked::new(rules, rows);
    let mut followed: BTreeMap<LoadKind, Followed> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        if let Some(verdict) = tracked.compare(index) {
            let count = followed.entry(row.kind).or_default();
            match verdict {
                Verdict::Exact => count.exact += 1,
                Verdict::After(cause) => *count.explained.entry(cause).or_default() += 1,
                Verdict::Unexplained => count.other += 1,
            }
        }
        tracked.update(index);
    }
    followed
}

fn average(state: &LoadState) -> SchedAvg {
    let LoadState { last_update_time, load_sum, runnable_sum, util_sum, period_contrib, load_avg, runnable_avg, util_avg } =
        *state;
    SchedAvg {
        last_update_time,
        load_sum,
        runnable_sum,
        util_sum,
        period_contrib,
        load_avg,
        runnable_avg,
        util_avg,
        ..SchedAvg::default()
    }
}

/// The state after the update, by our code.
fn updated(family: PeltFamily, row: &LoadRow) -> SchedAvg {
    let (mut sa, input) = (average(&row.before), row.input);
    let (weight, running) = (input.weight, input.running);
    match row.kind {
        LoadKind::Blocked => family.update_blocked_se(row.now, &mut sa, weight, 0, Scale::FULL),
        LoadKind::Task | LoadKind::Group => {
            let runnable = input.runnable.unwrap_or(u64::from(input.on_rq && !input.delayed));
            family.update_se(row.now, &mut sa, SeLoad { on_rq: input.on_rq, runnable, running, weight }, Scale::FULL)
        }
        LoadKind::Queue => {
            let runnable = input.runnable.unwrap_or_default();
            family.update_cfs_rq(row.now, &mut sa, CfsRqLoad { weight, runnable, running }, Scale::FULL)
        }
    };
    sa
}
