//! What Prometheus answers to a query for a range of time: a matrix, with all samples of each series.

use super::series::{Labels, Name, PROMETHEUS, Samples};
use crate::text::printable;
use fairground_scenario::Error;
use serde_json::{Deserializer, Value};

/// How the counters are asked for.
pub(crate) const ASK: &str = "Ask for each counter itself: `container_cpu_usage_seconds_total{pod=\"NAME\",container=\"NAME\"}[6h]` by /api/v1/query, \
                              or the same without `[6h]` by /api/v1/query_range; docs/advise.md has all queries.";

/// Whether a text looks like it.
pub(super) fn is_answer(head: &str) -> bool {
    head.starts_with(['{', '[']) && ["\"resultType\"", "\"errorType\"", "\"values\""].iter().any(|word| head.contains(word))
}

/// Reads one answer, or several one after the other.
pub(crate) fn read(name: &str, text: &str) -> Result<Samples, Error> {
    let mut samples = Samples::default();
    let mut unknown = Vec::new();
    let mut series = 0;
    for document in Deserializer::from_str(text).into_iter::<Value>() {
        let document = document.map_err(|wrong| {
            let place = format!("{name}:{}", wrong.line());
            Error::one(place, format!("this is no JSON: {wrong}"), "Save the whole answer of Prometheus, as `curl -o FILE` does.")
        })?;
        for row in rows(name, &document)? {
            series += 1;
            one(row, &mut samples, &mut unknown);
        }
    }
    if series == 0 {
        return Err(Error::one(name, "the answer has no series: the query matched nothing", ASK));
    }
    if samples.series.is_empty() {
        return Err(nothing_known(name, samples.no_numbers, &unknown));
    }
    Ok(samples)
}

/// The series of an answer: the whole document, its `data`, or the list alone.
fn rows<'v>(name: &str, document: &'v Value) -> Result<&'v [Value], Error> {
    if let Some(list) = document.as_array() {
        return Ok(list);
    }
    if document["status"] == "error" {
        let said = format!("{}: {}", word(&document["errorType"]), word(&document["error"]));
        return Err(Error::one(name, format!("Prometheus refused the query: {}", printable(&said)), ASK));
    }
    let data = if document["data"].is_object() { &document["data"] } else { document };
    match (data["resultType"].as_str(), data["result"].as_array()) {
        (Some("matrix"), Some(list)) => Ok(list),
        (Some(kind), _) => {
            let message =
                format!("the answer is a {}, which has one sample of each series: counters need two at least", printable(kind));
            Err(Error::one(name, message, ASK))
        }
        _ => Err(Error::one(name, "this JSON is no answer to a query of Prometheus: it has no `data.resultType`", ASK)),
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn one(row: &Value, samples: &mut Samples, unknown: &mut Vec<String>) {
    let labels: Labels = row["metric"].as_object().map(all_labels).unwrap_or_default();
    let Some(name) = labels.get("__name__").and_then(|name| Name::find(&PROMETHEUS, name)) else {
        unknown.push(labels.get("__name__").cloned().unwrap_or_default());
        return;
    };
    let labels: Labels = labels.into_iter().filter(|label| label.0 != "__name__").collect();
    for pair in row["values"].as_array().into_iter().flatten() {
        match (pair[0].as_f64().and_then(ns), pair[1].as_str()) {
            (Some(at), Some(text)) => samples.add(name, &labels, at, text),
            (None, _) => samples.without_time += 1,
            (_, None) => samples.no_numbers += 1,
        }
    }
}

fn all_labels(labels: &serde_json::Map<String, Value>) -> Labels {
    labels.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_string()))).collect()
}

/// Prometheus knows times to a millisecond.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
fn ns(seconds: f64) -> Option<u64> {
    let ms = (seconds * 1000.0).round();
    (0.0..1e13).contains(&ms).then(|| ms as u64 * 1_000_000)
}

fn nothing_known(name: &str, no_numbers: u64, unknown: &[String]) -> Error {
    let without = unknown.iter().filter(|name| name.is_empty()).count();
    let message = match unknown.first() {
        None => format!("none of the {no_numbers} values is a number"),
        Some(_) if without > 0 => format!("{without} series have no name: what rate() and sum() give is no counter"),
        Some(other) => format!("no series is a counter of a container's CPU time; the first is `{}`", printable(other)),
    };
    Error::one(name, message, ASK)
}

#[cfg(test)]
mod tests {
    use super::super::series::Metric;
    use super::*;

    #[test]
    fn a_matrix_is_read_whole_or_in_parts() {
        let row = |name: &str| {
            format!(
                "{{\"metric\":{{\"__name__\":\"{name}\",\"pod\":\"p\"}},\"values\":[[1435781430.781,\"1.5\"],[1435781445.781,\"NaN\"],[1435781460.781,\"2\"]]}}"
            )
        };
        let whole = format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{},{}]}}}}",
            row("container_cpu_usage_seconds_total"),
            row("up")
        );
        let list = format!("[{}]", row("container_cpu_cfs_periods_total"));
        let found = read("a.json", &format!("{whole}\n{list}")).unwrap();
        assert_eq!((found.series.len(), found.no_numbers), (2, 2));
        let key = (Metric::Usage, Labels::from([("pod".to_string(), "p".to_string())]));
        assert_eq!(found.series[&key], [(1_435_781_430_781_000_000, 1_500_000_000), (1_435_781_460_781_000_000, 2_000_000_000)]);
    }

    #[test]
    fn what_holds_no_counter_says_what_to_ask() {
        let matrix =
            |result: &str| format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}");
        for (text, part) in [
            (matrix(""), "matched nothing"),
            (matrix("{\"metric\":{\"pod\":\"p\"},\"values\":[[1,\"1\"]]}"), "rate() and sum()"),
            (matrix("{\"metric\":{\"__name__\":\"up\\u001b[2J\"},\"values\":[[1,\"1\"]]}"), "the first is `up?[2J`"),
            (
                matrix("{\"metric\":{\"__name__\":\"container_cpu_usage_seconds_total\"},\"values\":[[1,\"NaN\"]]}"),
                "none of the 1 values is a number",
            ),
            (matrix("").replace("matrix", "vector"), "one sample of each series"),
            ("{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse error\"}".to_string(), "bad_data: parse error"),
            ("{\"a\":1}".to_string(), "no `data.resultType`"),
            ("{\"status\":\"success\",\"data\":{\"resultType\":".to_string(), "a.json:1: this is no JSON"),
            ("[1, {}, {\"metric\":3,\"values\":{}}]".to_string(), "have no name"),
            ("[".repeat(100_000), "this is no JSON"),
        ] {
            let wrong = read("a.json", &text).unwrap_err().to_string();
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
    }
}
