//! Quotas of a recorded set: what throttled queues had left, by the record and by our accounts.

use super::Conformance;
use super::share::{percent, tally};
use super::workload::{self, Limits};
use crate::quota_record::{Members, QuotaRecord};
use fairground_conform::{Below, Quota, QuotaMiss, QuotaOutcome, QuotaSetup, Recording, Seen, Tally, replay};
use fairground_formats::ImportStats;
use fairground_machine::Machine;
use fairground_metrics::Window;
use fairground_model::{CpuMax, QuotaCall, QuotaProbe, TaskGroupSpec};
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Cell, Table, columns};
use fairground_scenario::{Error, guard, trace_file};
use fairground_sched::Profile;
use fairground_stdx::{IndexVec, Instant, TaskId, TgId};
use serde_json::{Value, json};
use std::path::Path;

/// What a recording has of quota, and what came of a replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotaReplay {
    /// The groups with a limit.
    pub limits: Vec<(String, CpuMax)>,
    /// Recorded calls of throttle_cfs_rq().
    pub throttles: u64,
    /// Recorded calls of unthrottle_cfs_rq().
    pub unthrottles: u64,
    /// Recorded tasks that stopped on their way back to user mode.
    pub throttle_works: u64,
    /// What came of it, or why it cannot be judged.
    pub result: Result<QuotaOutcome, String>,
    /// Of how many groups accounts are compared: of those whose period timer is told.
    pub compared: usize,
    /// Whether a threshold applies: the recorded kernel is modelled, and one group has a quota.
    pub is_held: bool,
}

impl QuotaReplay {
    /// The counts of one comparison.
    pub fn of(&self, what: Quota) -> Tally {
        self.result.as_ref().map_or_else(|_| Tally::default(), |outcome| outcome.of(what))
    }
}

/// A group with its path and limit.
type Limit = (TgId, String, CpuMax);

/// What a replay needs of a comparison.
pub(super) struct Inputs<'a> {
    pub(super) path: &'a Path,
    pub(super) workload: &'a str,
    pub(super) recording: &'a Recording,
    pub(super) stats: &'a ImportStats,
    pub(super) profile: &'a Profile,
    pub(super) machine: &'a Machine,
    pub(super) groups: &'a IndexVec<TgId, TaskGroupSpec>,
    pub(super) members: &'a [(TaskId, TgId)],
    pub(super) keep: usize,
    pub(super) is_held: bool,
}

/// What a set's record tells of quotas.
pub struct RecordedQuotas {
    /// The probes of each group that has a quota and whose period timer is told, by its path.
    pub groups: Vec<(String, Vec<QuotaProbe>)>,
    /// The window that counts.
    pub window: Window,
}

/// The probes of a set; `None` if it has none.
pub fn recorded_quotas(folder: &Path) -> Result<Option<RecordedQuotas>, Error> {
    let workload = workload::read(folder);
    let Limits::Groups(limits) = workload::limits(&workload) else { return Ok(None) };
    if limits.is_empty() {
        return Ok(None);
    }
    let mut recording = Recording::default();
    let window = trace_file::open(folder)?.read_into(&mut recording)?.window;
    let probes = trace_file::open(folder)?.quota_probes();
    let (groups, members) = workload::groups(&workload, &recording.tasks);
    let found = match limits.as_slice() {
        [only] => vec![(only.1.clone(), probes)],
        several => {
            let record = owners(several, &groups, &members, &recording, &probes);
            let told = several.iter().filter(|limit| record.phases.contains_key(&limit.0));
            told.map(|limit| (limit.1.clone(), record.of(limit.0, &probes))).collect()
        }
    };
    let any = found.iter().any(|group| !group.1.is_empty());
    Ok(window.filter(|_| any).map(|(start, end)| RecordedQuotas { groups: found, window: Window { start, end } }))
}

/// Whose the probes are, where several groups have a quota.
fn owners(
    limits: &[Limit],
    groups: &IndexVec<TgId, TaskGroupSpec>,
    members: &[(TaskId, TgId)],
    recording: &Recording,
    probes: &[QuotaProbe],
) -> QuotaRecord {
    let mut groups = groups.clone();
    limits.iter().for_each(|limit| groups[limit.0].limit = limit.2);
    let members = members.iter().map(|&(task, group)| (recording.tasks[task].pid, group)).collect();
    QuotaRecord::read(probes, &Members { groups: &groups, members })
}

/// Replays the accounts of a set; `None` if nothing in it has a quota.
pub(super) fn of_set(inputs: &Inputs<'_>) -> Result<Option<QuotaReplay>, Error> {
    let limits = workload::limits(inputs.workload);
    if limits == Limits::Groups(Vec::new()) {
        return Ok(None);
    }
    let probes = trace_file::open(inputs.path)?.quota_probes();
    let count = |of: fn(&QuotaCall) -> bool| probes.iter().filter(|probe| of(&probe.call)).count() as u64;
    let mut made = QuotaReplay {
        limits: Vec::new(),
        throttles: count(|call| matches!(call, QuotaCall::Throttle { .. })),
        unthrottles: count(|call| matches!(call, QuotaCall::Unthrottle { .. })),
        throttle_works: count(|call| matches!(call, QuotaCall::ThrottleWork { .. })),
        result: Err(String::new()),
        compared: 0,
        is_held: false,
    };
    made.result = match limits {
        Limits::Unknown => Err("its groups are made in a way that is not read: in a loop, or not by `mk`".to_string()),
        Limits::Groups(groups) => {
            made.limits = groups.iter().map(|group| (group.1.clone(), group.2)).collect();
            match groups.as_slice() {
                _ if probes.is_empty() => Err("no probe of quota was recorded".to_string()),
                [group] => {
                    (made.compared, made.is_held) = (1, inputs.is_held);
                    Ok(replayed(inputs, group, (&probes, &probes), &groups, &QuotaRecord::default())?)
                }
                several => {
                    let (compared, outcome) = of_several(inputs, several, &probes)?;
                    made.compared = compared;
                    let why = || format!("{} groups have a quota: whose a recorded period timer is, is not told", several.len());
                    (compared > 0).then_some(outcome).ok_or_else(why)
                }
            }
        }
    };
    Ok(Some(made))
}

/// The groups whose period timers are told, all together, and how many they are.
fn of_several(inputs: &Inputs<'_>, limits: &[Limit], probes: &[QuotaProbe]) -> Result<(usize, QuotaOutcome), Error> {
    let record = owners(limits, inputs.groups, inputs.members, inputs.recording, probes);
    let told: Vec<&Limit> = limits.iter().filter(|limit| record.phases.contains_key(&limit.0)).collect();
    let mut all = QuotaOutcome::default();
    for &limit in &told {
        all.add(replayed(inputs, limit, (&record.of(limit.0, probes), probes), limits, &record)?, inputs.keep);
    }
    Ok((told.len(), all))
}

/// The accounts of one group, from its own probes; `all` are those of the record.
fn replayed(
    inputs: &Inputs<'_>,
    &(group, _, limit): &Limit,
    (probes, all): (&[QuotaProbe], &[QuotaProbe]),
    limits: &[Limit],
    record: &QuotaRecord,
) -> Result<QuotaOutcome, Error> {
    let path = |group: TgId| std::iter::successors(Some(group), |&group| inputs.groups[group].parent);
    let members =
        |group: TgId| inputs.members.iter().filter(|row| path(row.1).any(|above| above == group)).map(|row| row.0).collect();
    let is_below = |other: &&Limit| other.0 != group && path(other.0).any(|above| above == group);
    let below = limits.iter().filter(is_below).map(|other| Below { members: members(other.0), probes: record.of(other.0, all) });
    let setup = QuotaSetup {
        profile: inputs.profile.clone(),
        machine: inputs.machine.view(),
        limit,
        members: members(group),
        below: below.collect(),
        joined: inputs.stats.window.map_or(Instant::ZERO, |window| window.0),
        judged: inputs.stats.first_at + QuotaSetup::LEFT_OUT,
        keep: inputs.keep,
    };
    guard::catch(|| replay(inputs.recording, probes, &setup)).map_err(|broken| Error::Broken(Box::new(broken)))
}

/// Comparisons and agreements, with the first differences as notes.
pub fn quota_table(conformance: &Conformance) -> Option<Table> {
    let quota = conformance.quota.as_ref()?;
    let columns = columns![left "account" "what", right "compared", right "exact", right "exact %" "exact_pct"];
    let mut table = Table::new("quota", "Quota: what accounts had, to the nanosecond", columns);
    for (name, limit) in &quota.limits {
        let quota = limit.quota.map_or_else(|| "max".to_string(), format_ns);
        table.note(format!("{name}: {quota} each {}", format_ns(limit.period)));
    }
    let (throttles, unthrottles) = (format_count(quota.throttles), format_count(quota.unthrottles));
    table.note(format!("recorded: {throttles} throttles, {unthrottles} releases, {} throttle works", quota.throttle_works));
    match &quota.result {
        Err(why) => table.note(format!("not judged: {why}")),
        Ok(outcome) => {
            for what in Quota::ALL {
                let Tally { decisions, agree } = outcome.of(what);
                let share = if decisions == 0 { Cell::from("-") } else { Cell::float(percent(agree, decisions), 2) };
                table.push(vec![what.name().into(), Cell::count(decisions), Cell::count(agree), share]);
            }
            if quota.compared < quota.limits.len() {
                table.note(format!(
                    "{} of {} groups: of the others it is not told which period timer is theirs",
                    quota.compared,
                    quota.limits.len()
                ));
            }
            facts(outcome, &mut table);
        }
    }
    Some(table)
}

fn facts(outcome: &QuotaOutcome, table: &mut Table) {
    let left_out = format_ns(QuotaSetup::LEFT_OUT);
    table.note(format!("the first {left_out} are left out: tasks come to their group then, at moments that are not recorded"));
    table.note(format!(
        "{} times the order of CPUs that asked one pool at the same time was taken from the outcome; {} calls of throttle_cfs_rq() found \
         runtime after all; {} members were put on a CPU or queued while runtime_remaining was 0 or less",
        outcome.races, outcome.found_runtime, outcome.overdue
    ));
    outcome.misses.iter().for_each(|miss| table.note(sentence(miss)));
}

/// A difference in words.
fn sentence(miss: &QuotaMiss) -> String {
    let seen = |seen: Seen| match seen {
        Seen::Left(left) => format!("{} ns left", format_signed(left)),
        Seen::LeftThrottled(left) => format!("{} ns left, throttled already", format_signed(left)),
        Seen::HandsOut(true) => "hands out".to_string(),
        Seen::HandsOut(false) => "hands out nothing".to_string(),
    };
    let (at, cpu, pool) = (format_ns(miss.at.saturating_since(Instant::ZERO)), miss.cpu.get(), format_count(miss.pool));
    let (recorded, core) = (seen(miss.recorded), seen(miss.core));
    format!("differs at {at}, CPU {cpu}, {}: recorded {recorded}; expected {core}, pool {pool} ns", miss.what.name())
}

fn format_signed(value: i64) -> String {
    format!("{}{}", if value < 0 { "-" } else { "" }, format_count(value.unsigned_abs()))
}

/// The same for programs.
pub(super) fn quota_json(conformance: &Conformance) -> Option<Value> {
    let quota = conformance.quota.as_ref()?;
    let limits: Vec<Value> = quota
        .limits
        .iter()
        .map(|(name, limit)| json!({ "group": name, "quota_ns": limit.quota.map(|quota| quota.0), "period_ns": limit.period.0 }))
        .collect();
    let mut value = json!({
        "limits": limits,
        "recorded": { "throttles": quota.throttles, "unthrottles": quota.unthrottles, "throttle_works": quota.throttle_works },
        "threshold_applies": quota.is_held && quota.result.is_ok(),
    });
    match &quota.result {
        Err(why) => value["not_judged"] = why.as_str().into(),
        Ok(outcome) => {
            for what in Quota::ALL {
                value[what.name()] = tally(outcome.of(what));
            }
            value["groups_compared"] = quota.compared.into();
            value["races"] = outcome.races.into();
            value["found_runtime"] = outcome.found_runtime.into();
            value["overdue"] = outcome.overdue.into();
            value["misses"] = outcome.misses.iter().map(miss_json).collect();
        }
    }
    Some(value)
}

fn miss_json(miss: &QuotaMiss) -> Value {
    let seen = |seen: Seen| match seen {
        Seen::Left(left) => json!({ "left_ns": left }),
        Seen::LeftThrottled(left) => json!({ "left_ns": left, "throttled": true }),
        Seen::HandsOut(hands_out) => json!({ "hands_out": hands_out }),
    };
    json!({
        "at_ns": miss.at.ns(),
        "cpu": miss.cpu.get(),
        "what": miss.what.name(),
        "recorded": seen(miss.recorded),
        "model": seen(miss.core),
        "pool_ns": miss.pool,
    })
}
