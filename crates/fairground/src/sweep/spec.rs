//! The sweep file: a base scenario and the axes along which it is varied.
//!
//! ```toml
//! title   = "slices against latency"
//! base    = "scenario.toml"         # relative to this file; or a table `[base]` with the scenario itself
//! metrics = ["switches"]            # columns that people see; files have all
//! zip     = [["workers", "load"]]   # axes that go along together
//! only    = "workers <= 8"          # combinations that are run
//! seeds   = "apart"                 # a row per run; without it a row per point, over its seeds
//! until   = "1%"                    # the seeds of a point end when the first metric is known so well
//!
//! [axes]                            # every combination is one run
//! seed    = "1..5"                  # or a list: [1, 2, 3]
//! profile = ["v5.19", "v4.20+align-vruntime"]
//! feature = ["NEXT_BUDDY", "NO_NEXT_BUDDY"]
//! machine = ["smp-4", "smp-8"]
//! set     = { sched_latency_ns = [6000000, 24000000] }
//! "workload.0.args.workers" = [1, 2, 4, 8]
//! "group.web.cpu.max"       = ["50000 100000", "max"]
//!
//! [sobol]                           # axes that are sampled together
//! count = 64
//! axes  = { "workload.0.args.load" = { from = 10, to = 90 } }
//! ```

use super::axes::conditions::Condition;
use super::axes::read::Read;
use super::axes::{Axis, AxisKind, AxisValue};
use super::until::Until;
use fairground_model::Mistakes;
use fairground_scenario::text::fields::{Fields, parse_toml};
use fairground_stdx::nearest;

/// Most runs of one sweep.
const MAX_RUNS: u128 = 1_000_000;

/// A sweep file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SweepSpec {
    /// What the sweep is about.
    pub title: String,
    /// Path of the base scenario, relative to the sweep file; empty if the file holds it, or the caller does.
    pub base: String,
    /// Metrics that people see; empty: a few of the scenario's.
    pub metrics: Vec<String>,
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// Whether each seed is a row of its own.
    pub seeds_apart: bool,
    /// When the seeds of a point end.
    pub until: Option<Until>,
    /// Axes that go along together, the slowest first; the seed is alone and last.
    dimensions: Vec<Vec<usize>>,
    /// The combinations that the conditions leave, if there are conditions.
    kept: Option<Vec<u32>>,
}

impl SweepSpec {
    /// Reads a sweep file; all mistakes together.
    pub fn parse(text: &str) -> Result<SweepSpec, Mistakes> {
        SweepSpec::read(text, false)
    }
    /// The same; `has_base`: the caller has the scenario.
    pub(super) fn read(text: &str, has_base: bool) -> Result<SweepSpec, Mistakes> {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let mut top = Fields::new(&table, 0..0, "sweep");
        let title = top.text("title", &mut m).map_or(String::new(), |title| title.value.to_string());
        let is_inline = top.item("base").is_some_and(|base| base.is_table_like());
        let base = if is_inline { None } else { top.text("base", &mut m).map(|base| base.value.to_string()) };
        if base.is_none() && !table.contains_key("base") && !has_base {
            m.whole("a sweep without `base`", "Name the scenario that is varied: `base = \"scenario.toml\"`.");
        }
        let metrics: Vec<String> = top.texts("metrics", &mut m).into_iter().map(|row| row.value.to_string()).collect();
        let seeds = top.text("seeds", &mut m);
        let seeds_apart = seeds.as_ref().is_some_and(|seeds| seeds.value == "apart");
        if let Some(seeds) = seeds.filter(|seeds| !matches!(seeds.value, "apart" | "together")) {
            m.at(seeds.span, format!("`seeds = \"{}\"` is unknown", seeds.value), "Write \"apart\" or \"together\".");
        }
        let until = top.text("until", &mut m).and_then(|row| m.keep(Until::parse(row.value, &metrics), &row.span));
        let mut read = Read::default();
        if let Some(axes) = top.table("axes", &mut m) {
            read.axes(&axes, &mut m);
        }
        if let Some(sobol) = top.table("sobol", &mut m) {
            read.sobol(sobol, &mut m);
        }
        if !table.contains_key("axes") && !table.contains_key("sobol") {
            m.whole("a sweep without `[axes]`", "Say what is varied: `[axes]` with `seed = \"1..5\"`.");
        }
        // A machine of the axis takes the place of the base's, with all that a path changes there.
        if read.axes.iter().any(|axis| axis.kind == AxisKind::Machine) {
            for axis in
                read.axes.iter().filter(|axis| ["machine.", "costs."].iter().any(|start| axis.kind.name().starts_with(start)))
            {
                let span = axis.spans.first().cloned().unwrap_or(0..0);
                let message = format!("the axis `machine` takes the place of what `{}` changes", axis.kind.name());
                m.at(
                    span,
                    message,
                    "Write the axis `\"machine.preset\"` in place of `machine`, or `set = { \"machine.KEY\" = […] }`.",
                );
            }
        }
        // Samples come behind the axes of the table; the seed stays the fastest.
        let seed = read.axes.iter().position(|axis| axis.kind == AxisKind::Seed);
        let mut dimensions: Vec<Vec<usize>> = (0..read.axes.len())
            .filter(|axis| !read.sampled.contains(axis) && Some(*axis) != seed)
            .map(|axis| vec![axis])
            .collect();
        dimensions.extend((!read.sampled.is_empty()).then(|| read.sampled.clone()));
        zip(&mut top, &read, &mut dimensions, &mut m);
        dimensions.extend(seed.map(|seed| vec![seed]));
        let runs = dimensions.iter().try_fold(1u128, |runs, axes| runs.checked_mul(read.counts[axes[0]]));
        if runs.is_none_or(|runs| runs > MAX_RUNS) {
            let number = runs.map_or("more than 10^38".to_string(), |runs| runs.to_string());
            m.whole(format!("this sweep has too many runs: {number}"), format!("A sweep has at most {MAX_RUNS}; split it."));
        }
        let conditions = only(&mut top, &read.axes, &mut m);
        top.end(&mut m);
        let base = base.unwrap_or_default();
        let mut spec = SweepSpec { title, base, metrics, axes: read.axes, seeds_apart, until, dimensions, kept: None };
        if m.0.is_empty() && !conditions.is_empty() {
            let holds = |number: &u32| {
                let values = spec.combination(*number as usize);
                conditions.iter().all(|condition| condition.holds(&values))
            };
            let all = u32::try_from(spec.combinations()).unwrap_or(u32::MAX);
            let kept: Vec<u32> = (0..all).filter(holds).collect();
            if kept.is_empty() {
                m.at(top_span(&table, "only"), "`only` leaves no combination", "Loosen it, or give the axes other values.");
            }
            spec.kept = Some(kept);
        }
        m.or(spec)
    }
    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.kept.as_ref().map_or_else(|| self.combinations(), Vec::len)
    }
    /// The value of each axis in run `number`.
    pub fn point(&self, number: usize) -> Vec<&AxisValue> {
        self.combination(self.number_of(number))
    }
    /// Which value of each axis run `number` has.
    pub fn places(&self, number: usize) -> Vec<usize> {
        self.places_of(self.number_of(number))
    }
    /// The place of run `number` among all combinations of the axes but the seed: runs of one point have the same.
    pub(super) fn cell(&self, number: usize) -> usize {
        self.number_of(number) / self.nr_seeds()
    }
    /// The number of seeds; 1 without an axis of seeds.
    pub fn nr_seeds(&self) -> usize {
        self.axes.iter().find(|axis| axis.kind == AxisKind::Seed).map_or(1, |axis| axis.values.len())
    }
    /// Whether rows are over several seeds.
    pub fn is_aggregated(&self) -> bool {
        !self.seeds_apart && self.nr_seeds() > 1
    }
    /// The dimensions: axes that go along together.
    pub(super) fn dimensions(&self) -> &[Vec<usize>] {
        &self.dimensions
    }
    /// The runs, first and last, that have a value of a dimension.
    pub(super) fn runs_with(&self, dimension: usize, place: usize) -> Option<(usize, usize)> {
        let axis = self.dimensions[dimension][0];
        let has = |number: &usize| self.places(*number)[axis] == place;
        let first = (0..self.runs()).find(has)?;
        (0..self.runs()).rev().find(has).map(|last| (first, last))
    }
    fn number_of(&self, number: usize) -> usize {
        self.kept.as_ref().map_or(number, |kept| kept[number] as usize)
    }
    fn length(&self, dimension: &[usize]) -> usize {
        self.axes[dimension[0]].values.len()
    }
    fn combinations(&self) -> usize {
        self.dimensions.iter().map(|dimension| self.length(dimension)).product()
    }
    fn combination(&self, number: usize) -> Vec<&AxisValue> {
        self.axes.iter().zip(self.places_of(number)).map(|(axis, place)| &axis.values[place]).collect()
    }
    fn places_of(&self, number: usize) -> Vec<usize> {
        let (mut rest, mut places) = (number, vec![0; self.axes.len()]);
        for dimension in self.dimensions.iter().rev() {
            let length = self.length(dimension).max(1);
            dimension.iter().for_each(|&axis| places[axis] = rest % length);
            rest /= length;
        }
        places
    }
}

fn top_span(table: &toml_edit::Table, key: &str) -> std::ops::Range<usize> {
    table.get(key).and_then(toml_edit::Item::span).unwrap_or(0..0)
}

/// `zip = [["a", "b"], …]`: lists of axes that go along together.
fn zip(top: &mut Fields<'_>, read: &Read, dimensions: &mut Vec<Vec<usize>>, m: &mut Mistakes) {
    const HINT: &str = "Write lists of names of axes: `zip = [[\"a\", \"b\"]]`.";
    let Some(item) = top.item("zip") else { return };
    let span = top.span_of("zip");
    let Some(lists) = item.as_array() else {
        m.at(span, "`zip` is no list", HINT);
        return;
    };
    for list in lists {
        let span = list.span().unwrap_or_else(|| span.clone());
        let names: Option<Vec<&str>> = list.as_array().and_then(|list| list.iter().map(|name| name.as_str()).collect());
        let Some(names) = names.filter(|names| names.len() > 1) else {
            m.at(span, "`zip` holds no list of two names", HINT);
            continue;
        };
        let mut together: Vec<usize> = Vec::new();
        let before = m.0.len();
        for name in names {
            let known: Vec<&str> = read.axes.iter().map(|axis| axis.kind.name()).collect();
            match known.iter().position(|known| *known == name) {
                None => {
                    m.at(span.clone(), format!("there is no axis `{name}`"), nearest::hint(name, "Axes", known.iter().copied()))
                }
                Some(axis) if !dimensions.contains(&vec![axis]) || together.contains(&axis) => {
                    let hint = "Seeds, samples and axes of another list go along with no other axis.";
                    m.at(span.clone(), format!("the axis `{name}` cannot be zipped"), hint);
                }
                Some(axis) => together.push(axis),
            }
        }
        let lengths: Vec<u128> = together.iter().map(|&axis| read.counts[axis]).collect();
        if lengths.windows(2).any(|pair| pair[0] != pair[1]) {
            let lengths: Vec<String> = lengths.iter().map(u128::to_string).collect();
            let message = format!("axes of different lengths are zipped: {}", lengths.join(", "));
            m.at(span, message, "Give each the same number of values.");
        } else if m.0.len() == before {
            dimensions.retain(|dimension| dimension.len() > 1 || !together[1..].contains(&dimension[0]));
            dimensions.iter_mut().filter(|dimension| dimension[0] == together[0]).for_each(|row| row.clone_from(&together));
        }
    }
}

/// `only`: one condition or a list of conditions, all of which must hold.
fn only(top: &mut Fields<'_>, axes: &[Axis], m: &mut Mistakes) -> Vec<Condition> {
    let Some(item) = top.item("only") else { return Vec::new() };
    let span = top.span_of("only");
    let texts = match (item.as_str(), item.as_array()) {
        (Some(text), _) => vec![(text, span)],
        (None, Some(list)) => {
            list.iter().filter_map(|row| Some((row.as_str()?, row.span().unwrap_or_else(|| span.clone())))).collect()
        }
        (None, None) => {
            m.at(span, "`only` is no condition", "Write `only = \"workers <= 8\"`.");
            Vec::new()
        }
    };
    let mut found = Vec::new();
    for (text, span) in texts {
        match Condition::parse(text, axes) {
            Ok(condition) => found.push(condition),
            Err((at, message, hint)) => {
                // The text begins behind its quote.
                let at = (span.start + 1 + at).min(span.end.saturating_sub(1));
                m.at(
                    at..span.end,
                    format!(
                        "`only`, at character {}: {message}",
                        text[..text.len().min(at - span.start - 1)].chars().count() + 1
                    ),
                    hint,
                );
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(spec: &SweepSpec, number: usize) -> String {
        spec.point(number).iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_combination_is_one_run() {
        let text = "base = \"a.toml\"\n[axes]\nprofile = [\"v5.19\", \"v6.1\"]\nset = { x_ns = [1, 2, 3] }\nseed = \"7..8\"\n";
        let spec = SweepSpec::parse(text).unwrap();
        assert_eq!(spec.runs(), 12);
        assert_eq!(point(&spec, 0), "v5.19 1 7");
        assert_eq!(point(&spec, 1), "v5.19 1 8");
        assert_eq!(point(&spec, 11), "v6.1 3 8");
    }

    #[test]
    fn paths_stand_in_quotes_or_as_nested_tables() {
        let text = "base = \"a\"\n[axes]\n\"workload.0.nice\" = [1]\nmachine.cpus = { from = 1, to = 3, step = 1 }\n\
                    [axes.window]\nfrom = [\"1s\"]\n";
        let spec = SweepSpec::parse(text).unwrap();
        let names: Vec<&str> = spec.axes.iter().map(|axis| axis.kind.name()).collect();
        assert_eq!(names, ["workload.0.nice", "machine.cpus", "window.from"]);
        assert_eq!(spec.runs(), 3);
    }

    #[test]
    fn axes_go_along_together_and_conditions_leave_some_out() {
        let text = "base = \"a\"\nzip = [[\"a.x\", \"a.y\"]]\nonly = \"x > 1 and z != 5\"\n[axes]\nseed = [1, 2]\n\
                    a.x = [1, 2, 3]\na.y = [\"k\", \"l\", \"m\"]\nb.z = [5, 6]\n";
        let spec = SweepSpec::parse(text).unwrap();
        let points: Vec<String> = (0..spec.runs()).map(|number| point(&spec, number)).collect();
        assert_eq!(points, ["2 l 6 1", "2 l 6 2", "3 m 6 1", "3 m 6 2"]);
        assert_eq!((0..4).map(|number| spec.cell(number)).collect::<Vec<_>>(), [3, 3, 5, 5]);
        assert_eq!(spec.runs_with(0, 2), Some((2, 3)));
    }

    #[test]
    fn samples_of_several_axes_are_one_dimension() {
        let text = "base = \"a\"\n[axes]\nseed = [1, 2]\n[sobol]\ncount = 4\naxes = { a.x = { from = 0, to = 8 }, a.t = { from = \"1ms\", to = \"16ms\", scale = \"log\" } }\n";
        let spec = SweepSpec::parse(text).unwrap();
        let points: Vec<String> = (0..spec.runs()).step_by(2).map(|number| point(&spec, number)).collect();
        assert_eq!(points, ["1 0 1ms", "1 4 4ms", "1 6 2ms", "1 2 8ms"]);
    }

    #[test]
    fn all_mistakes_are_found_together() {
        let text = "titel = \"x\"\n[axes]\nseed = \"5..1\"\nprofile = 3\nset = 4\ncolour = []\n";
        let wrong = SweepSpec::parse(text).unwrap_err();
        let messages: Vec<&str> = wrong.0.iter().map(|row| row.message.as_str()).collect();
        assert_eq!(messages.len(), 6, "{wrong}");
        assert!(messages.iter().any(|text| text.contains("without `base`")));
        assert!(messages.iter().any(|text| text.contains("`colour` is empty")));
    }

    #[test]
    fn a_sweep_has_an_end_and_says_how_many_runs_it_has() {
        for (axes, part) in [
            ("seed = \"1..1000000000\"", "too many runs: 1000000000 "),
            ("x = { random = 1000000000, from = 1, to = 2 }", "too many runs: 1000000000 "),
            ("seed = \"1..100000\"\nset = { a = [1,2,3,4,5,6,7,8,9,10,11] }", "too many runs: 1100000 "),
            ("x = { from = 0.0, to = 1.0, step = 1e-9 }", "too many runs: 1000000001 "),
        ] {
            let wrong = SweepSpec::parse(&format!("base = \"a\"\n[axes]\n{axes}\n")).unwrap_err().to_string();
            assert!(wrong.contains(part), "{axes}: {wrong}");
        }
        let sobol = "base = \"a\"\n[sobol]\ncount = 1000000000\naxes = { x = { from = 0, to = 1 } }\n";
        assert!(SweepSpec::parse(sobol).unwrap_err().to_string().contains("too many runs: 1000000000"));
    }

    #[test]
    fn mistakes_of_zip_and_only_have_a_place() {
        for (top, line) in [("zip = [[\"x\", \"w\"]]", "no axis `w`"), ("zip = [[\"x\", \"y\"]]", "different lengths: 2, 1")] {
            let wrong = SweepSpec::parse(&format!("base = \"a\"\n{top}\n[axes]\nx = [1, 2]\ny = [1]\n")).unwrap_err().to_string();
            assert!(wrong.contains(&line.replace("different lengths:", "different lengths are zipped:")), "{wrong}");
        }
        let text = "base = \"a\"\nonly = \"x < 1 and yy = 2\"\n[axes]\nx = [1, 2]\ny = [1]\n";
        let wrong = SweepSpec::parse(text).unwrap_err();
        assert_eq!(wrong.0[0].span.as_ref().map(|span| &text[span.start..span.start + 2]), Some("yy"), "{wrong}");
        assert!(SweepSpec::parse(&text.replace("yy", "y")).unwrap_err().to_string().contains("no combination"));
    }
}
