//! A record as input of a run: its clock, and what hangs on that.
//!
//! A machine that was recorded had been up for a while. How its ticks lay, and when periods of quotas began, followed from
//! that, and from 6.4 on from a drawing for each group: nothing that scheduling decides.

use crate::quota_record::{Members, QuotaRecord};
use fairground_model::{Instr, Mistakes, QuotaProbe, TaskSet, TaskSpec};
use fairground_scenario::{Workload, trace_file::TraceFile};
use fairground_sched::seam::PeriodPhase;
use fairground_stdx::{Instant, Ns, TaskId, TgId};
use fairground_workload::recorded;
use std::collections::BTreeMap;

/// A firing of a timer is seen so much later than its tick at most, if both were due at one instant.
const LATENESS: Ns = Ns::from_us(100);
/// Ticks that are tried before the record's periods count as those of no clock that began at 0: a whole second of a tick of 1 ms.
const TICKS_TRIED: u64 = 1000;

/// What a record beside a workload tells.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its events.
    pub file: &'a TraceFile,
    /// Its probes of quota.
    pub probes: &'a [QuotaProbe],
    /// When its window begins.
    pub start: Instant,
    /// The tick of its machine.
    pub tick: Ns,
    /// Where its kernel had periods begin.
    pub period_phase: PeriodPhase,
}

impl Record<'_> {
    /// The workload of a `workload.txt` with what the record beside it tells: the tasks' own beginnings, kernel threads, the phases of the tick and of quotas. The
    /// run is shifted so that a tick of the record is a tick of the run.
    pub fn workload(&self, text: &str) -> Result<Workload, Mistakes> {
        let Record { file, start, tick, .. } = *self;
        let starts = recorded::Starts::new(&file.trace.events, &file.trace.tasks, start);
        let mut parsed = recorded::parse_from(text, Some(&starts))?;
        let beside = recorded::housekeeping(&file.trace.events, &file.trace.tasks, tick);
        let threads = beside.tasks.tasks.len();
        let phases = self.phases_of_quotas(&parsed.tasks);
        parsed.tasks.append(beside.tasks);
        let shift = self.align(&mut parsed.tasks, beside.tick_phase, &phases);
        parsed.window = (parsed.window.0 + shift, parsed.window.1 + shift);
        let mut workload = Workload::of_recording(text, parsed, format!("housekeeping = \"{:032x}\"\n", file.digest))?;
        workload.notes.push(format!(
            "from the recording: the phase of the tick, those of {} quotas, and {} wake-ups of {threads} kernel threads, {} of stoppers for the watchdog ({} for a task's move left out)",
            phases.len(), beside.wakeups, beside.watchdogs, beside.left_out
        ));
        Ok(workload)
    }
    /// When periods of each group's quota begin: an instant of the record.
    fn phases_of_quotas(&self, tasks: &TaskSet) -> BTreeMap<TgId, Instant> {
        let pid = |name: &str| self.file.trace.tasks.iter().find(|info| info.name == name).map(|info| info.pid);
        let row = |(id, task): (TaskId, &TaskSpec)| Some((pid(&task.name)?, last_group(tasks, id)?));
        let members = tasks.tasks.iter_enumerated().filter_map(row).collect();
        QuotaRecord::read(self.probes, &Members { groups: &tasks.groups, members }).phases
    }

    /// Shifts the run so that its ticks are those of the record and periods begin when they did. Returns by how much it is behind the
    /// record.
    fn align(&self, tasks: &mut TaskSet, tick_phase: Option<Ns>, phases: &BTreeMap<TgId, Instant>) -> Ns {
        let tick = self.tick.0;
        let to_tick = tick_phase.map_or(0, |phase| (tick - phase.0) % tick);
        let from_boot = self.period_phase == PeriodPhase::Boot && !phases.is_empty();
        let whole = if from_boot { to_whole_periods(tasks, phases, to_tick, tick) } else { None };
        if whole.is_none() {
            phases.iter().for_each(|(&group, &at)| tasks.groups[group].period_phase = Some(Ns(at.ns())));
        }
        let shift = Ns(whole.unwrap_or(to_tick));
        tasks.delay(shift);
        shift
    }
}

/// The least shift of so many ticks more than `to_tick` by which all periods begin at whole multiples of them.
fn to_whole_periods(tasks: &TaskSet, phases: &BTreeMap<TgId, Instant>, to_tick: u64, tick: u64) -> Option<u64> {
    let begins = |(&group, &at): (&TgId, &Instant), shift| is_near_start(at.ns() + shift, tasks.groups[group].limit.period);
    (0..TICKS_TRIED).map(|ticks| to_tick + ticks * tick).find(|&shift| phases.iter().all(|row| begins(row, shift)))
}

/// Whether a timer that was seen at `at` may have been due at a whole number of periods.
fn is_near_start(at: u64, period: Ns) -> bool {
    let late = at % period.0;
    late.min(period.0 - late) <= LATENESS.0
}

/// The group to which a task goes last, or in which it starts.
pub fn last_group(tasks: &TaskSet, task: TaskId) -> Option<TgId> {
    let goes_to = |instr: &Instr| match *instr {
        Instr::SetGroup { group } => Some(group),
        _ => None,
    };
    let spec = &tasks.tasks[task];
    tasks.programs[spec.program].code.iter().rev().find_map(goes_to).unwrap_or(spec.group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::{CpuMax, TaskGroupSpec};

    const MS: u64 = 1_000_000;

    /// The least shift of whole ticks beyond `to_tick` for a group with a period of 100 ms that begins at `seen` in the record.
    fn shift(seen: u64, to_tick: u64) -> Option<u64> {
        let limit = CpuMax { quota: Some(Ns::from_ms(20)), ..CpuMax::UNLIMITED };
        let mut tasks = TaskSet::default();
        let group = tasks.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new("/a", None) });
        to_whole_periods(&tasks, &[(group, Instant::from_ns(seen))].into(), to_tick, 4 * MS)
    }

    #[test]
    fn the_clock_of_a_record_shows_whole_periods_since_boot() {
        assert_eq!(shift(78 * MS + 30_000, 2 * MS), Some(22 * MS), "30 us late");
        assert_eq!(shift(79 * MS - 30_000, MS), Some(21 * MS), "the phase of the tick is late, too");
        assert_eq!(shift(79 * MS, 2 * MS), None, "at no tick: that is no period since boot");
    }
}
