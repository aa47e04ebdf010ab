//! The comparison as a document for programs.

use super::Conformance;
use super::explain::sentence;
use super::places::{moves_json, placement_json};
use super::quota::quota_json;
use super::share::{percent, tally};
use super::tables::{choice, error_percent, mismatch_table, quota_of};
use fairground_conform::{Kind, KindTally, Mismatch, Outcome, Tally};
use fairground_report::{Document, Input};
use serde_json::{Map, Value, json};

/// The document of `conform --json`.
pub fn document(conformance: &Conformance) -> Document {
    let inputs = [Input::new(&conformance.name, conformance.digest)];
    let mut document = Document::new("conform", &inputs, None, Some(conformance.digest));
    let vruntimes = conformance.outcome.vruntimes;
    document
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
        .set("placement", placement_json(conformance))
        .set("moves", moves_json(conformance))
        .set("quota", quota_json(conformance))
        .set("tasks", tasks(conformance))
        .set("first_mismatch", conformance.outcome.mismatches.first().map(|first| mismatch(conformance, first)))
        .set(
            "fitted",
            conformance.fitted.as_ref().map(|fit| {
                let lags: Vec<Value> =
                    fit.lags.iter().map(|&(task, lag)| json!({ "task": conformance.task_name(task), "lag_ns": lag })).collect();
                json!({ "lags": lags, "kinds": kinds(conformance, &fit.outcome) })
            }),
        )
        .set("threshold_applies", conformance.no_threshold.is_none())
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

fn mismatch(conformance: &Conformance, mismatch: &Mismatch) -> Value {
    let names: Vec<String> = mismatch.unknown_lag.iter().map(|&task| conformance.task_name(task)).collect();
    json!({
        "at_ns": mismatch.at.ns(),
        "cpu": mismatch.cpu.get(),
        "kind": mismatch.kind.name(),
        "recorded": choice(conformance, mismatch.recorded),
        "model": choice(conformance, mismatch.core),
        "reason": mismatch.reason.map(|reason| reason.reason.slug()),
        "rule": mismatch.reason.map(|reason| sentence(conformance, reason)),
        "unknown_lag": names,
        "kernel_mode": mismatch.kernel_mode.map(|task| conformance.task_name(task)),
        "queue": mismatch_table(conformance, &mismatch.queue).to_json()["rows"],
    })
}
