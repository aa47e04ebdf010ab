//! The comparison as tables for people and as a document for programs.

mod decisions;
mod mismatch;
mod places;
mod quota;
mod tally;

pub use mismatch::{explain, parting};

use super::Conformance;
use super::share::percent;
use decisions::error_percent;
use fairground_conform::{Kind, KindTally, Outcome, Tally};
use fairground_report::units::format_count;
use fairground_report::{Cell, Document, Input, Table};
use serde_json::{Map, Value, json};
use tally::{quota_of, tally};

/// What was compared, and how far record and model agree: two lines.
pub fn summary(conformance: &Conformance) -> Vec<String> {
    let outcome = &conformance.outcome;
    let records = format_count(outcome.records);
    let compared = format!("{}: {records} records against {}", conformance.name, conformance.profile);
    let share = |kind: Kind| {
        let all = outcome.kinds.get(&kind).map(|row| row.all).filter(|all| all.decisions > 0)?;
        let percent = Cell::percent(all.agree.saturating_mul(10_000) / all.decisions).text;
        Some(format!("{} {percent} of {}", kind.name(), format_count(all.decisions)))
    };
    let shares: Vec<String> =
        [Kind::Pick, Kind::WakeupPreempt, Kind::TickPreempt, Kind::SelectCpu].into_iter().filter_map(share).collect();
    let agree = if shares.is_empty() { "nothing: no decision was compared".to_string() } else { shares.join(", ") };
    vec![compared, format!("agree in    {agree}")]
}

/// All tables that have something to say.
pub fn tables(conformance: &Conformance) -> Vec<Table> {
    let mut tables = vec![decisions::table(conformance), decisions::shares_table(conformance)];
    tables.extend(places::placement_table(conformance));
    tables.extend(places::moves_table(conformance));
    tables.extend(decisions::told_table(conformance));
    tables.extend(decisions::fitted_table(conformance));
    tables.extend(quota::quota_table(conformance));
    tables
}

/// The document of `conform --json`.
pub fn document(conformance: &Conformance) -> Document {
    let inputs = [Input::new(&conformance.name, conformance.digest)];
    let mut document = Document::new("conform", &inputs, None, Some(conformance.digest));
    let vruntimes = conformance.outcome.vruntimes;
    document
        .set("summary", summary(conformance))
        .set("profile", conformance.profile.as_str())
        .set("records", conformance.outcome.records)
        .set("partial", conformance.interrupted)
        .set("kinds", kinds(conformance, &conformance.outcome))
        .set(
            "vruntime",
            json!({
                "compared": vruntimes.compared,
                "exact": vruntimes.exact,
                "exact_pct": (vruntimes.compared > 0).then(|| percent(vruntimes.exact, vruntimes.compared)),
                "adopted": vruntimes.adopted,
                "largest_difference": vruntimes.largest,
            }),
        )
        .set("real_time", tally(conformance.outcome.classes))
        .set("placement", places::placement_json(conformance))
        .set("moves", places::moves_json(conformance))
        .set("quota", quota::quota_json(conformance))
        .set("tasks", tasks(conformance))
        .set("first_mismatch", conformance.outcome.mismatches.first().map(|first| mismatch::mismatch_json(conformance, first)))
        .set(
            "fitted",
            conformance.fitted.as_ref().map(|fit| {
                let lags: Vec<Value> =
                    fit.lags.iter().map(|&(task, lag)| json!({ "task": conformance.task_name(task), "lag_ns": lag })).collect();
                json!({ "lags": lags, "kinds": kinds(conformance, &fit.outcome) })
            }),
        )
        .set("threshold_applies", conformance.no_threshold.is_none())
        .set("recording", conformance.quality.clone())
        .set("notes", conformance.notes.clone());
    document
}

fn kinds(conformance: &Conformance, outcome: &Outcome) -> Value {
    let of = |kind: Kind| match quota_of(kind) {
        Some(what) => conformance.quota.as_ref().map_or_else(Tally::default, |quota| quota.of(what)).into(),
        None => outcome.kinds.get(&kind).copied().unwrap_or_default(),
    };
    let row = |kind: Kind| (kind.name().to_string(), kind_json(kind, of(kind)));
    Value::Object(Kind::ALL.into_iter().map(row).collect::<Map<_, _>>())
}

fn kind_json(kind: Kind, row: KindTally) -> Value {
    let mut value = tally(row.all);
    if kind.has_sides() {
        value["did"] = tally(row.did);
        value["did_not"] = tally(row.did_not);
        value["unclear"] = row.unclear.into();
    }
    if row.told.decisions > 0 || row.lessons > 0 {
        value["told"] = tally(row.told);
        value["lessons"] = row.lessons.into();
    }
    value
}

fn tasks(conformance: &Conformance) -> Vec<Value> {
    let ran = conformance.outcome.shares.iter_enumerated().filter(|row| row.1.ran.0 > 0);
    ran.map(|(task, share)| {
        json!({
            "task": conformance.task_name(task),
            "ran_ns": share.ran.0,
            "given_ns": share.given.0,
            "runtime_error_pct": error_percent(share.ran, share.given),
        })
    })
    .collect()
}
