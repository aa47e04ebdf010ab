//! `[expect]`: bands for the metrics of a run, each with its reason beside it.
//!
//! `"wait.max" = { max = "33ms", why = "…" }`. Times carry their unit, counts are whole numbers, shares end
//! in `%`. A run whose metric lies outside a band ends with exit code 1.

use crate::text::canonical;
use crate::text::fields::{Fields, Spanned};
use fairground_metrics::{Metric, Unit};
use fairground_model::Mistakes;
use fairground_stdx::nearest;
use fairground_stdx::units::parse_ns;
use toml_edit::Value;

/// The band of one metric. Limits are in the unit in which the metric is held, both included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Band {
    /// The metric's name.
    pub metric: String,
    /// The smallest value that passes, as held and as written.
    pub min: Option<Limit>,
    /// The largest value that passes.
    pub max: Option<Limit>,
    /// Why the band is where it is.
    pub why: Option<String>,
}

/// One end of a band.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// As the metric is held (see [`Unit`]).
    pub held: u64,
    /// As written, without quotes.
    pub text: String,
}

impl Limit {
    /// As a TOML value: a count is a number, everything else is text.
    pub(crate) fn literal(&self) -> String {
        if self.text.bytes().all(|byte| byte.is_ascii_digit()) { self.text.clone() } else { canonical::quoted(&self.text) }
    }
}

/// A band beside the value of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BandResult {
    /// The band.
    pub band: Band,
    /// The value, if the run has this metric.
    pub value: Option<Metric>,
}

impl BandResult {
    /// Whether the value lies in the band; a missing value does not.
    pub fn within(&self) -> bool {
        let inside = |value: u64| {
            self.band.min.as_ref().is_none_or(|min| value >= min.held)
                && self.band.max.as_ref().is_none_or(|max| value <= max.held)
        };
        self.value.as_ref().is_some_and(|metric| inside(metric.value))
    }
}

/// Puts the metrics of a run beside the bands.
pub fn check(bands: &[Band], metrics: &[Metric]) -> Vec<BandResult> {
    let find = |name: &str| metrics.iter().find(|metric| metric.name == name).cloned();
    bands.iter().map(|band| BandResult { band: band.clone(), value: find(&band.metric) }).collect()
}

/// A band as it stands in the file; its limits wait until the metrics of the run are known.
pub(crate) struct RawBand<'t> {
    name: Spanned<&'t str>,
    min: Option<Spanned<&'t Value>>,
    max: Option<Spanned<&'t Value>>,
    why: Option<String>,
}

/// Reads the table `[expect]`.
pub(crate) fn read<'t>(table: Option<Fields<'t>>, m: &mut Mistakes) -> Vec<RawBand<'t>> {
    let mut bands = Vec::new();
    for (name, item) in table.map(|mut table| table.free()).unwrap_or_default() {
        const HINT: &str = "Write a band: `{ max = \"33ms\", why = \"…\" }`.";
        let span = item.span().unwrap_or_else(|| name.span.clone());
        let Some(table) = item.as_table_like() else {
            m.at(span, format!("the band of `{}` is no table", name.value), HINT);
            continue;
        };
        let mut fields = Fields::new(table, span, "[expect]");
        let limit = |fields: &mut Fields<'t>, key| {
            let value = fields.item(key).and_then(|item| item.as_value())?;
            Some(Spanned { value, span: fields.span_of(key) })
        };
        let (min, max) = (limit(&mut fields, "min"), limit(&mut fields, "max"));
        let why = fields.text("why", m).map(|why| why.value.to_string());
        if min.is_none() && max.is_none() {
            m.at(fields.span(), format!("the band of `{}` has neither `min` nor `max`", name.value), HINT);
        }
        fields.end(m);
        bands.push(RawBand { name, min, max, why });
    }
    bands
}

/// Checks names and units against the metrics that the run will have.
pub(crate) fn resolve(bands: Vec<RawBand<'_>>, known: &[Metric], m: &mut Mistakes) -> Vec<Band> {
    let mut resolved = Vec::new();
    for raw in bands {
        let Some(metric) = known.iter().find(|metric| metric.name == raw.name.value) else {
            let names: Vec<&str> = known.iter().map(|metric| metric.name.as_str()).take(40).collect();
            let hint = nearest::hint(raw.name.value, "Metrics of this run", names.iter().copied());
            m.at(raw.name.span, format!("this run has no metric `{}`", raw.name.value), hint);
            continue;
        };
        let mut limit = |value: Option<Spanned<&Value>>| value.and_then(|value| read_limit(metric, value, m));
        let (min, max) = (limit(raw.min), limit(raw.max));
        if let (Some(min), Some(max)) = (&min, &max)
            && min.held > max.held
        {
            m.at(raw.name.span, format!("the band of `{}` is empty", metric.name), "`min` must not be larger than `max`.");
        }
        resolved.push(Band { metric: metric.name.clone(), min, max, why: raw.why });
    }
    resolved
}

fn read_limit(metric: &Metric, value: Spanned<&Value>, m: &mut Mistakes) -> Option<Limit> {
    let (found, want) = match metric.unit {
        Unit::Ns | Unit::Us | Unit::Ms => {
            (value.value.as_str().and_then(|text| Some((parse_ns(text).ok()?.0, text.to_string()))), "a time in quotes: \"33ms\"")
        }
        Unit::Count => {
            let count = value.value.as_integer().and_then(|number| u64::try_from(number).ok());
            (count.map(|count| (count, count.to_string())), "a whole number")
        }
        Unit::Percent => (value.value.as_str().and_then(percent), "a share in quotes: \"95%\""),
        Unit::Rate => {
            let whole = value.value.as_integer().and_then(|number| u64::try_from(number).ok()?.checked_mul(1000));
            let whole = whole.map(|held| (held, (held / 1000).to_string()));
            (
                whole.or_else(|| value.value.as_str().and_then(thousandths)),
                "a number per second, in quotes if it has a point: \"43.5\"",
            )
        }
    };
    if found.is_none() {
        m.at(value.span, format!("no value for `{}`", metric.name), format!("Write {want}."));
    }
    found.map(|(held, text)| Limit { held, text })
}

/// `99.5%` in thousandths of a percent.
fn percent(text: &str) -> Option<(u64, String)> {
    Some((thousandths(text.strip_suffix('%')?)?.0, text.to_string()))
}

/// `43.5` in thousandths.
fn thousandths(text: &str) -> Option<(u64, String)> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    if places.len() > 3 || whole.is_empty() {
        return None;
    }
    Some((format!("{whole}{places:0<3}").parse().ok()?, text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fields::parse_toml;
    use fairground_metrics::Better;

    fn known() -> Vec<Metric> {
        let metric = |name: &str, unit| Metric::new(name, 0, unit, Better::Neither);
        vec![metric("wait.max", Unit::Us), metric("switches", Unit::Count), metric("busy_pct", Unit::Percent)]
    }
    fn read_text(text: &str) -> (Vec<Band>, Mistakes) {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let raw = read(Some(Fields::new(&table, 0..0, "[expect]")), &mut m);
        (resolve(raw, &known(), &mut m), m)
    }

    #[test]
    fn bands_are_read_in_the_unit_of_their_metric() {
        let (bands, wrong) = read_text(
            "\"wait.max\" = { max = \"33ms\", why = \"x\" }\nswitches = { min = 3, max = 5 }\nbusy_pct = { min = \"99.5%\" }",
        );
        assert!(wrong.0.is_empty(), "{wrong}");
        let held: Vec<_> =
            bands.iter().map(|band| (band.min.as_ref().map(|l| l.held), band.max.as_ref().map(|l| l.held))).collect();
        assert_eq!(held, [(None, Some(33_000_000)), (Some(3), Some(5)), (Some(99_500), None)]);
        let at = |value| check(&bands[1..2], &[Metric { value, ..known()[1].clone() }])[0].within();
        assert_eq!([2, 3, 5, 6].map(at), [false, true, true, false]);
        assert!(!check(&bands[1..2], &[])[0].within());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("\"wait.mix\" = { max = \"3ms\" }", "no metric `wait.mix`"),
            ("\"wait.max\" = { max = 33 }", "no value for `wait.max`"),
            ("switches = { max = \"3ms\" }", "no value for `switches`"),
            ("busy_pct = { max = \"3\" }", "no value for `busy_pct`"),
            ("switches = { why = \"x\" }", "neither `min` nor `max`"),
            ("switches = 3", "is no table"),
            ("switches = { min = 3, max = 2 }", "is empty"),
            ("switches = { max = 2, mx = 1 }", "unknown key `mx`"),
        ] {
            let (_, wrong) = read_text(text);
            assert_eq!(wrong.0.len(), 1, "{text}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{text}: {wrong}");
        }
    }
}
