//! Quotas of a recorded set: what throttled queues had left, by the record and by our accounts.

use super::workload::{self, Limits};
use super::{Conformance, percent};
use crate::error::Error;
use crate::guard;
use crate::trace_file;
use fairground_conform::{Quota, QuotaMiss, QuotaOutcome, QuotaSetup, Recording, Seen, Tally, replay};
use fairground_formats::ImportStats;
use fairground_machine::Machine;
use fairground_metrics::Window;
use fairground_model::{CpuMax, NullSink, QuotaCall, QuotaProbe};
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Cell, Column, Table};
use fairground_sched::Profile;
use fairground_stdx::{Instant, TaskId, TgId};
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
    /// Whether a threshold applies: the recorded kernel is modelled.
    pub is_held: bool,
}

impl QuotaReplay {
    /// The counts of one comparison.
    pub fn of(&self, what: Quota) -> Tally {
        self.result.as_ref().map_or_else(|_| Tally::default(), |outcome| outcome.of(what))
    }
}

/// What a replay needs of a comparison.
pub(super) struct Inputs<'a> {
    pub(super) path: &'a Path,
    pub(super) workload: &'a str,
    pub(super) recording: &'a Recording,
    pub(super) stats: &'a ImportStats,
    pub(super) profile: &'a Profile,
    pub(super) machine: &'a Machine,
    pub(super) members: &'a [(TaskId, TgId)],
    pub(super) keep: usize,
    pub(super) is_held: bool,
}

/// The probes of a set in which one group has a quota, with the window that counts.
pub(crate) fn recorded_probes(folder: &Path) -> Result<Option<(Vec<QuotaProbe>, Window)>, Error> {
    let workload = std::fs::read_to_string(folder.join("workload.txt")).unwrap_or_default();
    if !matches!(workload::limits(&workload), Limits::Groups(groups) if groups.len() == 1) {
        return Ok(None);
    }
    let window = trace_file::open(folder)?.read_into(&mut NullSink)?.window;
    let probes = trace_file::open(folder)?.quota_probes();
    Ok(window.filter(|_| !probes.is_empty()).map(|(start, end)| (probes, Window { start, end })))
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
        is_held: inputs.is_held,
    };
    made.result = match limits {
        Limits::Unknown => Err("its groups are made in a way that is not read: in a loop, or not by `mk`".to_string()),
        Limits::Groups(groups) => {
            made.limits = groups.iter().map(|group| (group.1.clone(), group.2)).collect();
            match groups.as_slice() {
                _ if probes.is_empty() => Err("no probe of quota was recorded".to_string()),
                [group] => Ok(replayed(inputs, group.0, group.2, &probes)?),
                several => Err(format!("{} groups have a quota: whose a recorded period timer is, is not told", several.len())),
            }
        }
    };
    Ok(Some(made))
}

fn replayed(inputs: &Inputs<'_>, group: TgId, limit: CpuMax, probes: &[QuotaProbe]) -> Result<QuotaOutcome, Error> {
    let setup = QuotaSetup {
        profile: inputs.profile.clone(),
        machine: inputs.machine.view(),
        limit,
        members: inputs.members.iter().filter(|row| row.1 == group).map(|row| row.0).collect(),
        joined: inputs.stats.window.map_or(Instant::ZERO, |window| window.0),
        judged: inputs.stats.first_at + QuotaSetup::LEFT_OUT,
        keep: inputs.keep,
    };
    guard::catch(|| replay(inputs.recording, probes, &setup)).map_err(|broken| Error::Broken(Box::new(broken)))
}

/// Comparisons and agreements, with the first differences as notes.
pub fn quota_table(conformance: &Conformance) -> Option<Table> {
    let quota = conformance.quota.as_ref()?;
    let columns = vec![
        Column::left("account", "what"),
        Column::right("compared", "compared"),
        Column::right("exact", "exact"),
        Column::right("exact %", "exact_pct"),
    ];
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
         money after all; {} members were put on a CPU or queued while out of quota",
        outcome.races, outcome.found_money, outcome.overdue
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
                value[what.name()] = super::document::tally(outcome.of(what));
            }
            value["races"] = outcome.races.into();
            value["found_money"] = outcome.found_money.into();
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
