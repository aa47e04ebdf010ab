//! Many scenarios: every combination of the axes of a sweep file, on the threads of this host or in parts elsewhere.
//!
//! A sweep is a list of runs, numbered from 0. [`Sweep::run`] makes all of them with a journal. Another engine takes them apart:
//! [`Sweep::begin`] says which are open, [`Sweep::run_points`] makes some of them anywhere, [`Sweep::line_of`] and
//! [`Sweep::row_of_line`] carry rows from one process to another, and [`Sweep::assemble`] puts them together. The result is the same.

mod aggregate;
mod axes;
mod base;
mod carried;
mod journal;
mod page;
mod row;
mod sheet;
mod show;
mod spec;
mod until;

pub use aggregate::{Aggregate, PointRow};
pub use axes::{Axis, AxisColumn, AxisKind, AxisValue};
pub use row::{Figures, Outcome, Row, Shape};
pub use show::{sweep_document, sweep_file, sweep_summary, sweep_table};
pub use spec::SweepSpec;
pub use until::Until;

use crate::run::{self, RunEnding, RunOptions};
use base::{Base, Changes};
use fairground_model::{Digest, Mistakes, NullSink};
use fairground_report::Input;
use fairground_report::document::hex;
use fairground_scenario::guard::VERSION;
use fairground_scenario::text::fields::parse_toml;
use fairground_scenario::text_file::{Texts, is_stdin, name_of, read_text};
use fairground_scenario::{BandResult, Control, Error, Scenario, Source};
use journal::{Finished, Journal};
use rayon::prelude::*;
use row::Shapes;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How a sweep is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepOptions {
    /// Threads; 0 = one per CPU of this host.
    pub threads: usize,
    /// Forgets what is finished and begins anew.
    pub fresh: bool,
    /// Where the journal lies; beside the sweep file if not said. A sweep of a text without a file has none then.
    pub journal: Option<PathBuf>,
}

/// A sweep as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepText {
    /// What it is called in messages and documents.
    pub name: String,
    /// The text of a sweep file.
    pub text: String,
    /// The folder in which files are looked for that it names.
    pub folder: PathBuf,
    /// The base scenario with its name, if the text names none.
    pub base: Option<Source>,
    /// Where the journal lies; none: there is none.
    pub journal: Option<PathBuf>,
    /// Texts that are taken instead of the files of these paths, as [`Sweep::carried`] has them.
    pub texts: Texts,
}

/// A sweep that ran.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The sweep file.
    pub spec: SweepSpec,
    /// One row per combination, by run number.
    pub rows: Vec<Row>,
    /// Rows that were finished before.
    pub resumed: usize,
    /// Lines of the journal that another version wrote; they were not used.
    pub foreign: usize,
    /// Lines of the journal that were changed or cut short; they were not used.
    pub damaged: usize,
    /// Digest over the rows' digests in order.
    pub digest: u128,
    /// Whether the caller stopped it.
    pub interrupted: bool,
    /// Metrics that people see.
    pub shown: Vec<String>,
}

impl Swept {
    /// 101 a run broke, 2 a combination was refused, 1 an expectation was missed, 0 fine.
    pub fn exit_code(&self) -> u8 {
        let any = |test: fn(&Outcome) -> bool| self.rows.iter().any(|row| test(&row.outcome));
        match () {
            () if any(|outcome| matches!(outcome, Outcome::Broken(_))) => 101,
            () if any(|outcome| matches!(outcome, Outcome::Refused(_))) => 2,
            () if any(|outcome| matches!(outcome, Outcome::Done { holds: false, .. })) => 1,
            () => 0,
        }
    }
}

/// A sweep file with its base scenario, checked.
pub struct Sweep {
    name: String,
    text: String,
    spec: SweepSpec,
    base: Base,
    input_digest: u128,
    base_digest: u128,
    journal: Option<PathBuf>,
    shapes: Shapes,
}

/// What is done of a sweep, and a journal open for the rest.
pub struct Begun {
    /// Rows that are finished, by number.
    pub finished: Vec<Row>,
    /// The numbers of all others.
    pub open: Vec<usize>,
    journal: Option<Journal>,
}

impl Begun {
    /// Notes a row in the journal, if there is one and the row tells of a run that was made.
    pub fn note(&self, row: &Row) -> Result<(), Error> {
        let is_made = !row.scenario_digest.is_empty() && !matches!(row.outcome, Outcome::Missing | Outcome::Spared);
        self.journal.as_ref().filter(|_| is_made).map_or(Ok(()), |journal| journal.append(row))
    }
    /// Puts the finished rows of a sweep and these together.
    pub fn assemble(self, sweep: &Sweep, rows: Vec<Row>) -> Result<Swept, Error> {
        let resumed = self.finished.len();
        let (foreign, damaged) = self.journal.as_ref().map_or((0, 0), |journal| (journal.foreign, journal.damaged));
        let mut all = self.finished;
        all.extend(rows);
        Ok(Swept { resumed, foreign, damaged, ..sweep.assemble(all)? })
    }
}

impl Sweep {
    /// Reads a sweep file, or stdin for `-`, and checks each value of each axis once, so that a wrong one is found before the first run
    /// and not after a night.
    pub fn load(path: &Path) -> Result<Sweep, Error> {
        let mut journal = if is_stdin(path) { "stdin".into() } else { path.as_os_str().to_os_string() };
        journal.push(".journal");
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let (name, text) = (name_of(path), read_text(path)?);
        Sweep::parse(SweepText { name, text, folder, journal: Some(PathBuf::from(journal)), ..SweepText::default() })
    }
    /// The same of a text. Its base is a file that it names, a table `[base]`, or what the caller gives.
    pub fn parse(input: SweepText) -> Result<Sweep, Error> {
        let input_digest = digest_of(&input.text);
        let SweepText { name, text, folder, base, journal, texts } = input;
        let spec = SweepSpec::read(&text, base.is_some()).map_err(|wrong| Error::input(&name, text.clone(), wrong))?;
        let mut wrong = Mistakes::default();
        let mut base = match base {
            Some(source) => Base { table: parse_toml(&source.text, &mut wrong), source, wrong, folder, texts },
            None if spec.base.is_empty() => {
                let mut table = parse_toml(&text, &mut wrong);
                let base = table.remove("base").and_then(|base| base.into_table().ok()).unwrap_or_default();
                Base { table: base, source: Source { name: name.clone(), text: text.clone() }, wrong, folder, texts }
            }
            None => {
                let path = folder.join(&spec.base);
                let source = Source { name: path.display().to_string(), text: read_text(&path)? };
                let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                Base { table: parse_toml(&source.text, &mut wrong), source, wrong, folder, texts }
            }
        };
        base.name_prices(&spec);
        base::check(&base, &spec, &name, &text)?;
        let base_digest = digest_of(&base.source.text);
        Ok(Sweep { name, text, spec, base, input_digest, base_digest, journal, shapes: Shapes::default() })
    }
    /// The sweep file and its base as inputs of documents.
    pub fn inputs(&self) -> Vec<Input> {
        vec![Input::new(&self.name, self.input_digest), Input::new(&self.base.source.name, self.base_digest)]
    }
    /// What the sweep file says.
    pub fn spec(&self) -> &SweepSpec {
        &self.spec
    }
    /// Each seed becomes a row of its own.
    pub fn set_seeds_apart(&mut self) {
        self.spec.seeds_apart = true;
    }
    /// The seeds of a point end when the metric is known so well: `1%` or `METRIC=1%`.
    pub fn set_until(&mut self, text: &str) -> Result<(), Error> {
        let until = Until::parse(text, &self.spec.metrics);
        self.spec.until = Some(until.map_err(|(message, hint)| Error::one("--until", message, hint))?);
        Ok(())
    }
    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.spec.runs()
    }
    /// The value of each axis in run `number`.
    pub fn point(&self, number: usize) -> Vec<&AxisValue> {
        self.spec.point(number)
    }
    /// The values of each axis in all runs, by number.
    pub fn points(&self) -> impl Iterator<Item = Vec<&AxisValue>> {
        (0..self.runs()).map(|number| self.spec.point(number))
    }
    /// Runs what is not finished yet, and notes it in the journal.
    pub fn run(&self, options: &SweepOptions, control: Control<'_>) -> Result<Swept, Error> {
        let (journal, finished) = self.open(options)?;
        let resumed = AtomicU64::new(0);
        let note = |row: &Row| journal.as_ref().map_or(Ok(()), |journal| journal.append(row));
        let how = How { finished: &finished, resumed: &resumed, note: &note };
        let rows = self.rows(0..self.runs(), options.threads, &how, control)?;
        let resumed = usize::try_from(resumed.into_inner()).unwrap_or(usize::MAX);
        let (foreign, damaged) = journal.map_or((0, 0), |journal| (journal.foreign, journal.damaged));
        Ok(Swept { resumed, foreign, damaged, ..self.assemble(rows)? })
    }
    /// Runs some of the runs, without a journal: what a worker does. With `until` the seeds of a point are run one after another, in
    /// the part that has the first of them; parts side by side still make each run once.
    pub fn run_points(&self, numbers: Range<usize>, threads: usize, control: Control<'_>) -> Result<Vec<Row>, Error> {
        let (finished, resumed) = (Finished::new(), AtomicU64::new(0));
        let how = How { finished: &finished, resumed: &resumed, note: &|_| Ok(()) };
        self.rows(numbers, threads, &how, control)
    }
    /// Reads the journal: which rows are finished, and which runs are open. Nothing is run.
    pub fn begin(&self, options: &SweepOptions) -> Result<Begun, Error> {
        let (journal, finished) = self.open(options)?;
        let (mut done, mut open) = (Vec::new(), Vec::new());
        for group in self.groups(&(0..self.runs())) {
            let mut rows = Vec::new();
            let mut ended = Ended::new(self, group.clone());
            for number in group.clone() {
                let row =
                    if ended.is_over() { Some(self.row_of(number, Outcome::Spared)) } else { self.finished(number, &finished) };
                if let Some(row) = row {
                    ended.push(&row);
                    rows.push(row);
                }
            }
            // Seeds that follow one another are made as a whole.
            if self.spec.until.is_none() || rows.len() == group.len() {
                open.extend(group.filter(|number| rows.iter().all(|row| row.number != *number)));
                done.extend(rows);
            } else {
                open.extend(group);
            }
        }
        Ok(Begun { finished: done, open, journal })
    }
    /// Puts rows together, in any order. Runs without a row are missing; two rows of one run are refused.
    pub fn assemble(&self, mut rows: Vec<Row>) -> Result<Swept, Error> {
        rows.sort_by_key(|row| row.number);
        let is_bad = rows.windows(2).any(|pair| pair[0].number == pair[1].number)
            || rows.last().is_some_and(|row| row.number >= self.runs());
        if is_bad {
            return Err(Error::one(&self.name, "rows of one run twice, or of no run", "Give each run of the sweep one row."));
        }
        let mut given = rows.into_iter().peekable();
        let rows: Vec<Row> = (0..self.runs())
            .map(|number| match given.next_if(|row| row.number == number) {
                Some(row) => row,
                None => self.row_of(number, Outcome::Missing),
            })
            .collect();
        let mut digest = Digest::default();
        for row in &rows {
            if let Outcome::Done { digest: of_run, .. } = &row.outcome {
                digest.bytes(of_run.as_bytes());
            }
        }
        Ok(Swept {
            spec: self.spec.clone(),
            interrupted: rows.iter().any(|row| row.outcome == Outcome::Missing),
            shown: show::shown_metrics(&self.spec, self.expected(), &rows),
            rows,
            resumed: 0,
            foreign: 0,
            damaged: 0,
            digest: digest.value(),
        })
    }
    /// A row as a line of text, as journals hold it.
    pub fn line_of(&self, row: &Row) -> String {
        journal::write_line(row)
    }
    /// Reads such a line. One of another version of this program is refused by name.
    pub fn row_of_line(&self, line: &str) -> Result<Row, Error> {
        let wrong = |message: String, hint: &str| Error::one(&self.name, message, hint);
        let Some(line) = journal::parse_line(line, &self.shapes) else {
            return Err(wrong("this is no row of a sweep".into(), "A row is one line of JSON, as `line_of` makes it."));
        };
        if line.version != VERSION {
            let message = format!("a row was made by fairground {}, and this is {VERSION}", line.version);
            return Err(wrong(message, "Use the same version on all machines."));
        }
        if line.number >= self.runs() {
            return Err(wrong(format!("there is no run {}", line.number), "Use the same sweep on all machines."));
        }
        Ok(Row { scenario_digest: line.scenario, ..self.row_of(line.number, line.outcome) })
    }
    /// The scenario of run `number`.
    pub fn scenario(&self, number: usize) -> Result<Scenario, Error> {
        let mut changes = Changes::default();
        self.spec.axes.iter().zip(self.spec.point(number)).for_each(|(axis, value)| changes.add(&axis.kind, value));
        self.base.changed(&changes)
    }
    /// The name by which its journal knows it, wherever its folder lies.
    fn short_name(&self) -> String {
        Path::new(&self.name).file_name().map_or_else(|| self.name.clone(), |name| name.to_string_lossy().into_owned())
    }
    /// Where finished runs are noted; none of a text without a file.
    pub fn journal<'a>(&'a self, options: &'a SweepOptions) -> Option<&'a Path> {
        options.journal.as_deref().or(self.journal.as_deref())
    }
    fn open(&self, options: &SweepOptions) -> Result<(Option<Journal>, Finished), Error> {
        match self.journal(options) {
            None => Ok((None, Finished::new())),
            Some(path) => Journal::open(path, &self.short_name(), options.fresh, &self.shapes)
                .map(|(journal, finished)| (Some(journal), finished)),
        }
    }
    /// The metrics that the base expects something of.
    fn expected(&self) -> Vec<String> {
        let expect = self.base.table.get("expect").and_then(|item| item.as_table_like());
        expect.map_or_else(Vec::new, |table| table.iter().map(|row| row.0.to_string()).collect())
    }
    /// The runs that are made together: single ones, or with `until` all seeds of a point.
    fn groups(&self, numbers: &Range<usize>) -> Vec<Range<usize>> {
        if self.spec.until.is_none() {
            return numbers.clone().map(|number| number..number + 1).collect();
        }
        let same = |a: usize, b: usize| self.spec.cell(a) == self.spec.cell(b);
        let mut groups = Vec::new();
        let mut first = numbers.start;
        while first < numbers.end.min(self.runs()) {
            let end = (first + 1..self.runs()).find(|&next| !same(first, next)).unwrap_or(self.runs());
            // A point whose first seed lies before this part belongs to another one.
            if first == 0 || !same(first - 1, first) {
                groups.push(first..end);
            }
            first = end;
        }
        groups
    }
    fn rows(&self, numbers: Range<usize>, threads: usize, how: &How<'_>, control: Control<'_>) -> Result<Vec<Row>, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool =
            pool.map_err(|error| Error::World { what: "cannot start threads".into(), cause: std::io::Error::other(error) })?;
        let numbers = numbers.start..numbers.end.min(self.runs());
        let groups = self.groups(&numbers);
        let total: usize = groups.iter().map(ExactSizeIterator::len).sum();
        let done = AtomicU64::new(0);
        control.at(0, total as u64);
        let one = |group: Range<usize>| -> Result<Vec<Row>, Error> {
            let mut rows: Vec<Row> = Vec::with_capacity(group.len());
            let mut ended = Ended::new(self, group.clone());
            for number in group {
                let row = if ended.is_over() { self.row_of(number, Outcome::Spared) } else { self.row(number, how, control)? };
                ended.push(&row);
                rows.push(row);
                control.at(done.fetch_add(1, Ordering::Relaxed) + 1, total as u64);
            }
            Ok(rows)
        };
        // `collect` of an indexed iterator keeps the order of the numbers.
        let rows: Vec<Vec<Row>> = pool.install(|| groups.into_par_iter().map(one).collect::<Result<_, _>>())?;
        Ok(rows.into_iter().flatten().collect())
    }
    fn row_of(&self, number: usize, outcome: Outcome) -> Row {
        let point = self.spec.point(number).into_iter().cloned().collect();
        Row { number, point, scenario_digest: String::new(), outcome }
    }
    /// The row of a run that is finished.
    fn finished(&self, number: usize, finished: &Finished) -> Option<Row> {
        if finished.is_empty() {
            return None;
        }
        let scenario = self.scenario(number).ok()?;
        let scenario_digest = hex(scenario.digest());
        let outcome = finished.get(&scenario_digest)?.clone();
        Some(Row { scenario_digest, ..self.row_of(number, with_bands(outcome, &scenario)) })
    }
    fn row(&self, number: usize, how: &How<'_>, control: Control<'_>) -> Result<Row, Error> {
        let mut row = self.row_of(number, Outcome::Missing);
        if control.stopped() {
            return Ok(row);
        }
        let scenario = match self.scenario(number) {
            Ok(scenario) => scenario,
            Err(error) => {
                row.outcome = Outcome::Refused(error.to_string());
                return Ok(row);
            }
        };
        row.scenario_digest = hex(scenario.digest());
        if let Some(outcome) = how.finished.get(&row.scenario_digest) {
            how.resumed.fetch_add(1, Ordering::Relaxed);
            row.outcome = with_bands(outcome.clone(), &scenario);
            return Ok(row);
        }
        row.outcome = match run::run(&scenario, &RunOptions::default(), &mut NullSink, control.quiet()) {
            Ok(outcome) if outcome.ending == RunEnding::Interrupted => return Ok(row),
            Ok(outcome) => Outcome::Done {
                digest: hex(outcome.digest),
                simulated_ns: outcome.simulated.0,
                events: outcome.counts.events(),
                holds: outcome.holds(),
                metrics: self.shapes.figures(outcome.metrics),
            },
            Err(Error::Broken(broken)) => Outcome::Broken(broken.to_string()),
            Err(error @ Error::Input(_)) => Outcome::Refused(error.to_string()),
            Err(error) => return Err(error),
        };
        (how.note)(&row)?;
        Ok(row)
    }
}

fn digest_of(text: &str) -> u128 {
    let mut digest = Digest::default();
    digest.bytes(text.as_bytes());
    digest.value()
}

/// What becomes of finished rows: which were finished before, and who is told of a new one.
struct How<'a> {
    finished: &'a Finished,
    resumed: &'a AtomicU64,
    note: &'a (dyn Fn(&Row) -> Result<(), Error> + Sync),
}

/// Whether the seeds of a point are enough, as they come.
struct Ended<'s> {
    until: Option<&'s Until>,
    most: usize,
    values: Vec<u64>,
    is_over: bool,
}

impl<'s> Ended<'s> {
    fn new(sweep: &'s Sweep, group: Range<usize>) -> Ended<'s> {
        Ended { until: sweep.spec.until.as_ref(), most: group.len(), values: Vec::new(), is_over: false }
    }
    fn push(&mut self, row: &Row) {
        let Some(until) = self.until.filter(|_| !self.is_over) else { return };
        if let Some(value) = row.figures().and_then(|figures| figures.get(&until.metric)) {
            self.values.push(value);
            self.is_over = until.is_enough(&self.values, self.most);
        }
    }
    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// What was finished before, held against what is expected now.
fn with_bands(mut outcome: Outcome, scenario: &Scenario) -> Outcome {
    if let Outcome::Done { metrics, holds, .. } = &mut outcome {
        let bands = &scenario.bands;
        *holds = bands.is_empty() || fairground_scenario::check(bands, &metrics.to_metrics()).iter().all(BandResult::within);
    }
    outcome
}

#[cfg(test)]
mod tests;
