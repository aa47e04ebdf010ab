//! Quotas of a recorded set: what throttled queues had left, by the record and by our accounts.

use super::workload::{self, Limits};
use crate::quota_record::{Members, QuotaRecord};
use fairground_conform::{Below, Quota, QuotaChange, QuotaOutcome, QuotaSetup, Recording, Tally, cpus_of_queues, replay};
use fairground_formats::ImportStats;
use fairground_machine::Machine;
use fairground_metrics::Window;
use fairground_model::{CpuMax, QuotaCall, QuotaProbe, TaskGroupSpec};
use fairground_scenario::{Error, guard, trace_file};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, IndexVec, Instant, TaskId, TgId};
use std::collections::{BTreeMap, BTreeSet};
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

/// When queues of a set are throttled and released, by its probes, and tasks below them stop. The groups get their limits.
pub(super) fn changes(
    path: &Path,
    workload: &str,
    recording: &Recording,
    groups: &mut IndexVec<TgId, TaskGroupSpec>,
    members: &[(TaskId, TgId)],
) -> Result<Vec<(Instant, CpuId, QuotaChange)>, Error> {
    let limits = match workload::limits(workload) {
        Limits::Groups(limits) if !limits.is_empty() => limits,
        _ => return Ok(Vec::new()),
    };
    let probes = trace_file::open(path)?.quota_probes();
    let queues: BTreeMap<u32, (TgId, CpuId)> = match limits.as_slice() {
        [only] => {
            let pids: BTreeSet<u32> = members.iter().map(|row| recording.tasks[row.0].pid).collect();
            cpus_of_queues(&probes, |pid| pids.contains(&pid)).into_iter().map(|(queue, cpu)| (queue, (only.0, cpu))).collect()
        }
        several => owners(several, groups, members, recording, &probes).queues,
    };
    limits.iter().for_each(|limit| groups[limit.0].limit = limit.2);
    let pids: BTreeMap<u32, TaskId> = members.iter().map(|row| (recording.tasks[row.0].pid, row.0)).collect();
    let changes = probes.iter().enumerate().filter_map(|(row, probe)| {
        let what = match probe.call {
            QuotaCall::Throttle { queue, .. } if is_throttled_by(&probes[row + 1..], queue) => {
                queues.get(&queue).map(|&(group, cpu)| QuotaChange::Throttle(group, Some(cpu)))
            }
            QuotaCall::Unthrottle { queue, .. } => queues.get(&queue).map(|&(group, cpu)| QuotaChange::Release(group, cpu)),
            QuotaCall::ThrottleWork { task } => pids.get(&task).copied().map(QuotaChange::Stop),
            _ => None,
        };
        Some((probe.at, probe.cpu, what?))
    });
    Ok(changes.collect())
}

/// Whether a queue that asked was throttled: it is released before it asks again. One that got something asks again.
fn is_throttled_by(later: &[QuotaProbe], asked: u32) -> bool {
    let next = later.iter().find_map(|probe| match probe.call {
        QuotaCall::Throttle { queue, .. } if queue == asked => Some(false),
        QuotaCall::Unthrottle { queue, .. } if queue == asked => Some(true),
        _ => None,
    });
    next == Some(true)
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
