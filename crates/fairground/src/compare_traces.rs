//! Two recordings beside each other: what their tasks of the same name did.
//!
//! One recording a side is one pair, from which nothing follows. So each is split into windows of equal length, and these are the samples: window *i* of
//! one is paired with window *i* of the other. A verdict then says whether these two recordings differ by more than their windows differ among
//! themselves. Whether another pair of recordings would, only further recordings can tell.

use crate::interval::Extent;
use crate::perf_sched::{self, Origin, Source};
use fairground_metrics::timehist::{ReadyMark, Share, Windows};
use fairground_metrics::{Better, FEWEST_PAIRS, Metric, Paired, Rule, Verdict, compare_all};
use fairground_model::NullSink;
use fairground_report::compare::overall;
use fairground_report::compare_traces::{SideBySide, figures_table, verdicts_table};
use fairground_report::units::format_ns;
use fairground_report::{Document, Table};
use fairground_scenario::{Control, Error};
use fairground_stdx::{Ns, nearest};
use std::collections::BTreeMap;
use std::path::Path;

/// How two recordings are compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceOptions {
    /// Only tasks of these names; all without any.
    pub tasks: Vec<String>,
    /// Into how many windows each recording is split.
    pub windows: u64,
    /// The smallest effect that matters, in thousandths of the baseline's mean.
    pub worth_permille: u64,
}

/// Two recordings side by side.
#[derive(Clone, Debug)]
pub struct ComparedTraces {
    /// Where both come from.
    pub origins: [Origin; 2],
    /// What they are called: their files, with folders where those are called alike.
    pub names: [String; 2],
    /// One line: what the windows say.
    pub verdict: String,
    /// The figures that some window of either lacks.
    pub unpaired: Vec<String>,
    /// Figures by name of tasks, and what the windows say of those of all tasks chosen.
    pub tables: Vec<Table>,
    exit_code: u8,
}

/// Reads both recordings twice: for their lengths, and window by window.
pub fn compare_traces(paths: [&Path; 2], options: &TraceOptions, control: Control<'_>) -> Result<ComparedTraces, Error> {
    let source = Source::default();
    for path in paths {
        if perf_sched::is_scenario(path, &source) {
            let message =
                format!("`{}` is no recording: two recordings are compared, or one scenario under two profiles", path.display());
            return Err(Error::one(
                "command line",
                message,
                "`fairground run SCENARIO -o FILE.json` makes a recording of a scenario.",
            ));
        }
    }
    let read = |path: &Path, control: Control<'_>| perf_sched::feed(path, &source, &mut NullSink, control);
    let origins = [read(paths[0], control)?, read(paths[1], control)?];
    let length = |extent: Extent| extent.last.saturating_since(extent.first).0;
    let window = Ns(origins.iter().map(|origin| length(origin.extent)).min().unwrap_or_default() / options.windows.max(1));
    if window == Ns::ZERO {
        return Err(Error::one("command line", "one of the recordings is too short to be split", "Record for some seconds."));
    }
    let mut sides = Vec::new();
    for (path, origin) in paths.into_iter().zip(&origins) {
        let mut sink = Windows::new(ReadyMark::Waking, origin.extent.first, window, options.windows);
        perf_sched::feed(path, &source, &mut sink, control.quiet())?;
        sides.push(sink.finish());
    }
    let b = sides.pop().unwrap_or_default();
    let a = sides.pop().unwrap_or_default();
    if let Some(wanted) = options.tasks.iter().find(|name| !a.contains_key(*name) && !b.contains_key(*name)) {
        let near = nearest::nearest(wanted, a.keys().chain(b.keys()).map(String::as_str));
        let hint = near.map_or("`fairground latency` lists the tasks.".to_string(), |near| format!("Did you mean `{near}`?"));
        return Err(Error::one("command line", format!("--task: neither recording has a task called `{wanted}`"), hint));
    }
    let is_ambiguous = origins[0].name() == origins[1].name();
    let name = |side: usize| if is_ambiguous { paths[side].display().to_string() } else { origins[side].name().to_string() };
    let names = [name(0), name(1)];
    Ok(side_by_side(origins, names, [a, b], window, options))
}

type Side = BTreeMap<String, Vec<Share>>;

fn side_by_side(
    origins: [Origin; 2],
    names: [String; 2],
    sides: [Side; 2],
    window: Ns,
    options: &TraceOptions,
) -> ComparedTraces {
    let keeps = |name: &String| options.tasks.is_empty() || options.tasks.contains(name);
    let whole = |side: &Side, name: &String| {
        side.get(name).map(|shares| {
            let mut sum = Share::default();
            shares.iter().for_each(|share| sum.merge(share));
            sum
        })
    };
    let mut tasks: Vec<&String> = sides.iter().flat_map(BTreeMap::keys).filter(|name| keeps(name)).collect();
    tasks.sort();
    tasks.dedup();
    let mut rows: Vec<SideBySide> = tasks
        .iter()
        .map(|name| SideBySide { name: (*name).clone(), sides: sides.each_ref().map(|side| whole(side, name)) })
        .collect();
    let on_cpu = |row: &SideBySide| row.sides.iter().flatten().map(|share| share.on_cpu).max();
    rows.sort_by_key(|row| std::cmp::Reverse(on_cpu(row)));
    let time = Ns(window.0.saturating_mul(options.windows));
    let mut tables = vec![figures_table(&rows, time)];
    if options.windows < FEWEST_PAIRS {
        let too_few = if options.windows == 1 { "1 window is".to_string() } else { format!("{} windows are", options.windows) };
        let verdict = format!("Nothing is decided: {too_few} too few, {FEWEST_PAIRS} are the fewest (--windows {FEWEST_PAIRS}).");
        return ComparedTraces { origins, names, verdict, unpaired: Vec::new(), tables, exit_code: 4 };
    }
    let samples = sides.each_ref().map(|side| samples(side, options, &keeps));
    let pairs = Paired::collect(&samples[0], &samples[1]);
    let rule = Rule { worth_permille: options.worth_permille, ..Rule::default() };
    let judged = compare_all(&pairs, rule);
    let count = |verdict| judged.iter().filter(|row| row.verdict == verdict).count();
    let undecided = judged.iter().any(|row| row.better != Better::Neither && row.verdict == Verdict::Inconclusive);
    let has_delays = judged.iter().any(|row| row.better != Better::Neither);
    let verdict = overall("B", &judged.iter().map(|row| row.verdict).collect::<Vec<_>>());
    let unpaired = Paired::left_out(&samples[0], &samples[1]);
    let exit_code = if count(Verdict::Worse) > 0 {
        1
    } else if undecided || !has_delays {
        4
    } else {
        0
    };
    tables.push(verdicts_table(&judged, options.windows, window));
    ComparedTraces { origins, names, verdict, unpaired, tables, exit_code }
}

/// The figures of each window: of all tasks chosen together, and of each name that was asked for.
fn samples(side: &Side, options: &TraceOptions, keeps: &impl Fn(&String) -> bool) -> Vec<Vec<Metric>> {
    let count = usize::try_from(options.windows).unwrap_or_default();
    let mut all = vec![Share::default(); count];
    for shares in side.iter().filter(|row| keeps(row.0)).map(|row| row.1) {
        all.iter_mut().zip(shares).for_each(|(sum, share)| sum.merge(share));
    }
    let mut samples: Vec<Vec<Metric>> = all.iter().map(|share| share.metrics("")).collect();
    if options.tasks.len() > 1 {
        for (name, shares) in side.iter().filter(|row| keeps(row.0)) {
            samples.iter_mut().zip(shares).for_each(|(sample, share)| sample.extend(share.metrics(&format!("tasks.{name}."))));
        }
    }
    samples
}

impl ComparedTraces {
    /// 0 no figure speaks against B, 1 one is worse, 4 the windows do not tell.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
    /// What came out, in at most ten lines.
    pub fn summary(&self) -> Vec<String> {
        let side = |letter: &str, name: &str, origin: &Origin| {
            let length = origin.extent.last.saturating_since(origin.extent.first);
            format!("{letter:<12}{name}, {} long", format_ns(length))
        };
        let mut lines =
            vec![self.verdict.clone(), side("A", &self.names[0], &self.origins[0]), side("B", &self.names[1], &self.origins[1])];
        if !self.unpaired.is_empty() {
            let names = self.unpaired.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
            let more = if self.unpaired.len() > 4 { ", ..." } else { "" };
            lines.push(format!("not tested  {names}{more}: some window of A or B lacks them"));
        }
        lines
    }
    /// Notes on both recordings.
    pub fn notes(&self) -> Vec<String> {
        let named = |side: &str, origin: &Origin| origin.notes.iter().map(|note| format!("{side}: {note}")).collect::<Vec<_>>();
        [named("A", &self.origins[0]), named("B", &self.origins[1])].concat()
    }
    /// The document of `compare A B --json`.
    pub fn document(&self) -> Document {
        let inputs = self.origins.each_ref().map(Origin::input);
        let mut document = Document::new("compare", &inputs, None, None);
        document.set("overall", self.verdict.as_str()).set("notes", self.notes()).set_tables(&self.tables);
        document
    }
}
