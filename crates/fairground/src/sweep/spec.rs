//! The sweep file: a base scenario and the axes along which it is varied.
//!
//! ```toml
//! title   = "slices against latency"
//! base    = "scenario.toml"         # relative to this file
//! metrics = ["switches"]            # columns of the table; all of them if left out
//!
//! [axes]                            # every combination is one run
//! seed    = "1..5"                  # or a list: [1, 2, 3]
//! profile = ["v5.19", "v4.20+align-vruntime"]
//! feature = ["NEXT_BUDDY", "NO_NEXT_BUDDY"]
//! machine = ["smp-4", "smp-8"]
//! set     = { sched_latency_ns = [6000000, 24000000] }
//! ```

use fairground_model::Mistakes;
use fairground_scenario::text::fields::{Fields, Spanned, parse_toml};
use std::ops::Range;
use toml_edit::{Item, Value};

/// Most runs of one sweep.
const MAX_RUNS: usize = 1_000_000;

/// One axis: a name and its values, as they are written in tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What is varied.
    pub kind: AxisKind,
    /// The values in order.
    pub values: Vec<String>,
    /// Where each value stands in the sweep file.
    pub(super) spans: Vec<Range<usize>>,
}

/// What an axis varies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AxisKind {
    /// The seed.
    Seed,
    /// The profile.
    Profile,
    /// One feature.
    Feature,
    /// The machine.
    Machine,
    /// A tunable or another setting of `--set`.
    Set(String),
}

impl AxisKind {
    /// The heading of the axis in tables.
    pub fn name(&self) -> &str {
        match self {
            AxisKind::Seed => "seed",
            AxisKind::Profile => "profile",
            AxisKind::Feature => "feature",
            AxisKind::Machine => "machine",
            AxisKind::Set(name) => name,
        }
    }
    /// The flag that says the same for one run.
    pub(super) fn flag(&self) -> &'static str {
        match self {
            AxisKind::Seed => "--seed",
            AxisKind::Profile => "--profile",
            AxisKind::Feature => "--feature",
            AxisKind::Machine => "--machine",
            AxisKind::Set(_) => "--set",
        }
    }
}

/// A sweep file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepSpec {
    /// What the sweep is about.
    pub title: String,
    /// Path of the base scenario, relative to the sweep file.
    pub base: String,
    /// Metrics shown in the table; empty = all.
    pub metrics: Vec<String>,
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
}

impl SweepSpec {
    /// Reads a sweep file; all mistakes together.
    pub fn parse(text: &str) -> Result<SweepSpec, Mistakes> {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let mut top = Fields::new(&table, 0..0, "sweep");
        let title = top.text("title", &mut m).map_or(String::new(), |title| title.value.to_string());
        let base = top.text("base", &mut m).map(|base| base.value.to_string());
        if base.is_none() && !table.contains_key("base") {
            m.whole("a sweep without `base`", "Name the scenario that is varied: `base = \"scenario.toml\"`.");
        }
        let metrics = top.texts("metrics", &mut m).into_iter().map(|row| row.value.to_string()).collect();
        let axes = match top.table("axes", &mut m) {
            Some(axes) => read_axes(axes, &mut m),
            None => Vec::new(),
        };
        if axes.is_empty() && !table.contains_key("axes") {
            m.whole("a sweep without `[axes]`", "Say what is varied: `[axes]` with `seed = \"1..5\"`.");
        }
        top.end(&mut m);
        let spec = SweepSpec { title, base: base.unwrap_or_default(), metrics, axes };
        if spec.runs().is_none_or(|runs| runs > MAX_RUNS) {
            m.whole("this sweep has too many runs", format!("A sweep has at most {MAX_RUNS} runs; split it."));
        }
        m.or(spec)
    }
    /// The number of runs, if it can be counted at all.
    pub fn runs(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |runs, axis| runs.checked_mul(axis.values.len()))
    }
    /// The value of each axis in run `number`.
    pub fn point(&self, number: usize) -> Vec<&str> {
        let mut rest = number;
        let mut values: Vec<&str> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            values.push(&axis.values[rest % axis.values.len()]);
            rest /= axis.values.len();
        }
        values.reverse();
        values
    }
}

fn read_axes(mut axes: Fields<'_>, m: &mut Mistakes) -> Vec<Axis> {
    let mut found = Vec::new();
    let keys: Vec<&'static str> = vec!["profile", "feature", "machine", "set", "seed"];
    for key in keys {
        let Some(item) = axes.item(key) else { continue };
        let span = axes.span_of(key);
        let kind = match key {
            "profile" => AxisKind::Profile,
            "feature" => AxisKind::Feature,
            "machine" => AxisKind::Machine,
            "seed" => AxisKind::Seed,
            _ => {
                let Some(table) = item.as_table_like() else {
                    m.at(span, "`set` is no table", "Write `set = { sched_latency_ns = [6000000, 24000000] }`.");
                    continue;
                };
                for (name, values) in table.iter() {
                    let span = values.span().unwrap_or_else(|| span.clone());
                    push(AxisKind::Set(name.to_string()), Spanned { value: values, span }, &mut found, m);
                }
                continue;
            }
        };
        push(kind, Spanned { value: item, span }, &mut found, m);
    }
    axes.end(m);
    found
}

fn push(kind: AxisKind, item: Spanned<&Item>, axes: &mut Vec<Axis>, m: &mut Mistakes) {
    let name = kind.name().to_string();
    let list = item.value.as_array();
    let spans = |count| match list {
        Some(list) => list.iter().map(|value| value.span().unwrap_or_else(|| item.span.clone())).collect(),
        None => vec![item.span.clone(); count],
    };
    let values = match (item.value.as_str(), list) {
        (Some(range), _) if kind == AxisKind::Seed => seeds(range),
        (None, Some(list)) => list.iter().map(scalar).collect(),
        _ => None,
    };
    let is_seed = |value: &String| value.parse::<i64>().is_ok_and(|seed| seed >= 0);
    let values = values.filter(|values| kind != AxisKind::Seed || values.iter().all(is_seed));
    match values {
        Some(values) if !values.is_empty() => axes.push(Axis { kind, spans: spans(values.len()), values }),
        _ => {
            let hint = if kind == AxisKind::Seed {
                "Write `\"1..5\"` or a list of whole numbers."
            } else {
                "Write a list: `[\"…\", \"…\"]`."
            };
            m.at(item.span, format!("the axis `{name}` has no list of values"), hint);
        }
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        _ => None,
    }
}

/// `1..5` is 1, 2, 3, 4, 5.
fn seeds(range: &str) -> Option<Vec<String>> {
    let (low, high) = range.split_once("..")?;
    let (low, high): (u64, u64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    let length = high.checked_sub(low)?;
    (length < MAX_RUNS as u64).then(|| (low..=high).map(|seed| seed.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_one_run() {
        let text = "base = \"a.toml\"\n[axes]\nprofile = [\"v5.19\", \"v6.1\"]\nset = { x_ns = [1, 2, 3] }\nseed = \"7..8\"\n";
        let spec = SweepSpec::parse(text).unwrap();
        assert_eq!(spec.runs(), Some(12));
        assert_eq!(spec.point(0), ["v5.19", "1", "7"]);
        assert_eq!(spec.point(1), ["v5.19", "1", "8"]);
        assert_eq!(spec.point(11), ["v6.1", "3", "8"]);
    }

    #[test]
    fn all_mistakes_are_found_together() {
        let text = "titel = \"x\"\n[axes]\nseed = \"5..1\"\nprofile = 3\nset = 4\ncolour = [1]\n";
        let wrong = SweepSpec::parse(text).unwrap_err();
        let messages: Vec<&str> = wrong.0.iter().map(|row| row.message.as_str()).collect();
        assert_eq!(messages.len(), 6, "{wrong}");
        assert!(messages.iter().any(|text| text.contains("without `base`")));
        assert!(messages.iter().any(|text| text.contains("`colour`")));
    }

    #[test]
    fn a_sweep_has_an_end() {
        let text = "base = \"a\"\n[axes]\nseed = \"0..99999999999\"\n";
        assert!(SweepSpec::parse(text).is_err());
        let text = "base = \"a\"\n[axes]\nseed = \"1..100000\"\nset = { a = [1,2,3,4,5,6,7,8,9,10,11] }\n";
        assert!(SweepSpec::parse(text).unwrap_err().to_string().contains("too many runs"));
    }
}
