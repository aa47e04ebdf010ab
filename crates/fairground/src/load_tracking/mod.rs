//! Load tracking against recorded kernels: each recorded update, made again from its own inputs by our code,
//! must give the state that the kernel had at the next update of the same entity, bit for bit. Where it does not, entities
//! joined or left a queue in between, or changed their weight, or a group's entity took what happened below it: our
//! functions for these, fed with the recorded neighbours, must give it (`causes.rs`).

mod causes;

use crate::error::Error;
use crate::recorded_set::System;
pub use causes::{Cause, Rules};
use causes::{Tracked, Verdict};
pub use fairground_formats::recorded::{LoadKind, LoadRow};
use fairground_formats::recorded::{LoadState, read_load_rows};
use fairground_sched::pelt::{CfsRqLoad, PeltFamily, Scale, SchedAvg, SeLoad};
use fairground_stdx::CpuId;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The updates of load tracking in a set's folder.
const RECORDS: &str = "pelt.csv.zst";
/// The capacity of a CPU whose clock of load tracking keeps step with its task clock.
const FULL: u64 = 1024;

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

/// The load-tracking updates of a set's folder; `None` if it has none.
pub fn read(folder: &Path) -> Result<Option<Vec<LoadRow>>, Error> {
    let path = folder.join(RECORDS);
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(&path).map_err(|cause| Error::world("read", &path, cause))?;
    let (rows, stats) = read_load_rows(file);
    if let Some(note) = stats.notes.first() {
        let hint = "It is written by the recorder; take the original file.";
        return Err(Error::one(path.display().to_string(), format!("{} lines: {note}", stats.skipped), hint));
    }
    Ok(Some(rows))
}

/// Follows the updates of a set's folder with the rules of its kernel; `None` if it has none.
pub fn follow_set(folder: &Path) -> Result<Option<BTreeMap<LoadKind, Followed>>, Error> {
    let Some(rows) = read(folder)? else { return Ok(None) };
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

/// The capacity of each CPU on which tasks computed without a pause, by the pace of its two clocks: from one
/// update of a running task to the next, `clock_pelt` goes on by capacity / 1024 of `clock_task`.
pub fn capacities(rows: &[LoadRow]) -> BTreeMap<CpuId, u32> {
    let mut before: BTreeMap<CpuId, &LoadRow> = BTreeMap::new();
    let mut paces: BTreeMap<CpuId, BTreeMap<u64, u64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.clocks.is_some()) {
        let Some(last) = before.insert(row.cpu, row) else { continue };
        let (Some(from), Some(to)) = (last.clocks, row.clocks) else { continue };
        let (task, pelt) = (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1));
        // Shorter stretches round to any pace.
        if last.id == row.id && last.input.running && row.input.running && task >= FULL * FULL {
            *paces.entry(row.cpu).or_default().entry((pelt * FULL + task / 2) / task).or_default() += 1;
        }
    }
    let most = |paces: &BTreeMap<u64, u64>| paces.iter().max_by_key(|(_, count)| **count).map(|(pace, _)| *pace as u32);
    paces.iter().filter_map(|(cpu, paces)| Some((*cpu, most(paces)?))).collect()
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
