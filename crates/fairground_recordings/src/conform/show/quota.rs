//! What throttled queues had left, by the record and by our accounts.

use super::super::Conformance;
use super::tally::{cells, tally};
use fairground_conform::{Quota, QuotaMiss, QuotaOutcome, QuotaSetup, Seen};
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Cell, Table, columns};
use fairground_stdx::Instant;
use serde_json::{Value, json};

/// Comparisons and agreements, with the first differences as notes.
pub(super) fn quota_table(conformance: &Conformance) -> Option<Table> {
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
                let mut row: Vec<Cell> = vec![what.name().into()];
                row.extend(cells(outcome.of(what)));
                table.push(row);
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
