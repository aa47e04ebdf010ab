//! Many scenarios: every combination of the axes of a sweep file, on the threads of this host.

mod journal;
mod row;
mod show;
mod spec;

pub use row::{Outcome, Row};
pub use show::{sweep_document, sweep_file, sweep_summary, sweep_table};
pub use spec::{Axis, AxisKind, SweepSpec};

use crate::run::{self, RunEnding, RunOptions};
use fairground_model::{Digest, Mistakes, NullSink};
use fairground_report::Input;
use fairground_report::document::hex;
use fairground_scenario::text_file::{is_stdin, name_of, read_text};
use fairground_scenario::{BandResult, Control, Error, FileMistakes, Overrides, Scenario};
use journal::Journal;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How a sweep is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepOptions {
    /// Threads; 0 = one per CPU of this host.
    pub threads: usize,
    /// Forgets what is finished and begins anew.
    pub fresh: bool,
    /// Where the journal lies; beside the sweep file if not said.
    pub journal: Option<PathBuf>,
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
    /// Digest over the rows' digests in order.
    pub digest: u128,
    /// Whether the caller stopped it.
    pub interrupted: bool,
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
    spec: SweepSpec,
    base_name: String,
    base_text: String,
    base_folder: PathBuf,
    input_digest: u128,
    base_digest: u128,
    journal: PathBuf,
}

impl Sweep {
    /// Reads a sweep file and checks each value of each axis once, so that a wrong one is found before
    /// the first run and not after a night.
    pub fn load(path: &Path) -> Result<Sweep, Error> {
        let text = read_text(path)?;
        let spec = SweepSpec::parse(&text).map_err(|wrong| Error::input(name_of(path), text.clone(), wrong))?;
        let base = path.parent().unwrap_or(Path::new("")).join(&spec.base);
        let base_text = read_text(&base)?;
        let digest_of = |text: &str| {
            let mut digest = Digest::default();
            digest.bytes(text.as_bytes());
            digest.value()
        };
        let mut journal = if is_stdin(path) { "stdin".into() } else { path.as_os_str().to_os_string() };
        journal.push(".journal");
        let sweep = Sweep {
            base_name: base.display().to_string(),
            base_folder: base.parent().unwrap_or(Path::new("")).to_path_buf(),
            name: name_of(path),
            input_digest: digest_of(&text),
            base_digest: digest_of(&base_text),
            base_text,
            spec,
            journal: PathBuf::from(journal),
        };
        sweep.check_axes(&text)?;
        Ok(sweep)
    }
    /// The sweep file and its base as inputs of documents.
    pub fn inputs(&self) -> Vec<Input> {
        vec![Input::new(&self.name, self.input_digest), Input::new(&self.base_name, self.base_digest)]
    }
    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.spec.runs().unwrap_or(0)
    }
    /// Runs what is not finished yet.
    pub fn run(&self, options: &SweepOptions, control: Control<'_>) -> Result<Swept, Error> {
        let path = options.journal.as_deref().unwrap_or(&self.journal);
        let (journal, finished) = Journal::open(path, options.fresh)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
        let pool =
            pool.map_err(|error| Error::World { what: "cannot start threads".into(), cause: std::io::Error::other(error) })?;
        let (done, resumed) = (AtomicU64::new(0), AtomicU64::new(0));
        let total = self.runs();
        let one = |number: usize| -> Result<Row, Error> {
            let row = self.row(number, &finished, &journal, &resumed, control)?;
            control.at(done.fetch_add(1, Ordering::Relaxed) + 1, total as u64);
            Ok(row)
        };
        // `collect` of an indexed iterator keeps the order of the numbers.
        let rows: Vec<Row> = pool.install(|| (0..total).into_par_iter().map(one).collect::<Result<_, _>>())?;
        let mut digest = Digest::default();
        for row in &rows {
            if let Outcome::Done { digest: of_run, .. } = &row.outcome {
                digest.bytes(of_run.as_bytes());
            }
        }
        Ok(Swept {
            spec: self.spec.clone(),
            interrupted: rows.iter().any(|row| row.outcome == Outcome::Missing),
            rows,
            resumed: usize::try_from(resumed.into_inner()).unwrap_or(usize::MAX),
            digest: digest.value(),
        })
    }
    fn row(
        &self,
        number: usize,
        finished: &journal::Finished,
        journal: &Journal,
        resumed: &AtomicU64,
        control: Control<'_>,
    ) -> Result<Row, Error> {
        let point: Vec<String> = self.spec.point(number).into_iter().map(str::to_string).collect();
        let mut row = Row { number, scenario_digest: String::new(), outcome: Outcome::Missing, point };
        if control.stopped() {
            return Ok(row);
        }
        let scenario = match self.scenario(&row.point) {
            Ok(scenario) => scenario,
            Err(error) => {
                row.outcome = Outcome::Refused(error.to_string());
                return Ok(row);
            }
        };
        row.scenario_digest = hex(scenario.digest());
        if let Some(outcome) = finished.get(&row.scenario_digest) {
            resumed.fetch_add(1, Ordering::Relaxed);
            row.outcome = outcome.clone();
            if let Outcome::Done { metrics, holds, .. } = &mut row.outcome {
                *holds = fairground_scenario::check(&scenario.bands, metrics).iter().all(BandResult::within);
            }
            return Ok(row);
        }
        row.outcome = match run::run(&scenario, &RunOptions::default(), &mut NullSink, control.quiet()) {
            Ok(outcome) if outcome.ending == RunEnding::Interrupted => return Ok(row),
            Ok(outcome) => Outcome::Done {
                digest: hex(outcome.digest),
                simulated_ns: outcome.simulated.0,
                events: outcome.counts.events(),
                holds: outcome.holds(),
                metrics: outcome.metrics,
            },
            Err(Error::Broken(broken)) => Outcome::Broken(broken.to_string()),
            Err(error @ Error::Input(_)) => Outcome::Refused(error.to_string()),
            Err(error) => return Err(error),
        };
        journal.append(&row)?;
        Ok(row)
    }
    /// The scenario of one combination.
    fn scenario(&self, point: &[String]) -> Result<Scenario, Error> {
        let mut flags = Overrides::default();
        self.spec.axes.iter().zip(point).for_each(|(axis, value)| set_flag(&mut flags, &axis.kind, value));
        self.changed(&flags)
    }
    fn changed(&self, flags: &Overrides) -> Result<Scenario, Error> {
        Scenario::parse(&self.base_name, &self.base_text, &self.base_folder, flags)
    }
    /// Tries every value of every axis, beside the first good ones of the axes before it.
    fn check_axes(&self, text: &str) -> Result<(), Error> {
        let (mut good, mut wrong, mut files) = (Overrides::default(), Mistakes::default(), Vec::new());
        let mut complete = true;
        for axis in &self.spec.axes {
            let mut first = None;
            for (value, span) in axis.values.iter().zip(&axis.spans).filter(|_| axis.kind != AxisKind::Seed) {
                let mut flags = good.clone();
                set_flag(&mut flags, &axis.kind, value);
                match self.changed(&flags) {
                    Err(Error::Input(found)) if found.iter().any(|file| file.name != self.base_name) => {
                        let prefix = format!("{}: ", axis.kind.flag());
                        // What stands in a file that the value names has lines of its own.
                        let (of_files, of_value): (Vec<_>, Vec<_>) = found.into_iter().partition(|file| !file.text.is_empty());
                        files.extend(of_files);
                        for mistake in of_value.into_iter().flat_map(|file| file.mistakes.0) {
                            let message = mistake.message.strip_prefix(&prefix).unwrap_or(&mistake.message);
                            wrong.at(span.clone(), message, mistake.hint);
                        }
                    }
                    Err(error @ (Error::World { .. } | Error::Broken(_))) => return Err(error),
                    Ok(_) | Err(Error::Input(_)) => first = first.or(Some(flags)),
                }
            }
            complete &= first.is_some() || axis.kind == AxisKind::Seed;
            good = first.unwrap_or(good);
        }
        // Without a good value on every axis the base may lack what the axis was to give.
        if complete && let Err(Error::Input(of_base)) = self.changed(&good) {
            files.extend(of_base);
        }
        if !wrong.0.is_empty() {
            let text = text.to_string();
            files.insert(0, FileMistakes { name: self.name.clone(), text, mistakes: wrong });
        }
        if files.is_empty() { Ok(()) } else { Err(Error::Input(files)) }
    }
}

/// Says with flags what a value of an axis says.
fn set_flag(flags: &mut Overrides, kind: &AxisKind, value: &str) {
    match kind {
        AxisKind::Seed => flags.seed = value.parse().ok(),
        AxisKind::Profile => flags.profile = Some(value.to_string()),
        AxisKind::Feature => flags.features.push(value.to_string()),
        AxisKind::Machine => flags.machine = Some(value.to_string()),
        AxisKind::Set(name) => flags.set.push(format!("{name}={value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_of_all_axes_and_mistakes_of_the_base_are_found_together() {
        let folder = std::env::temp_dir().join(format!("fairground-sweep-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let base =
            "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[[workload]]\ntasks = [{ name = \"a\", hog = true, nice = 99 }]\n";
        std::fs::write(folder.join("base.toml"), base).unwrap();
        let sweep = "base = \"base.toml\"\n[axes]\nprofile = [\"v9\", \"v5.19\"]\nfeature = [\"FOO\", \"NEXT_BUDDY\"]\n\
                     machine = [\"smp-0\", \"smp-2\"]\nset = { sched_latency_ns = [1000000, 0] }\nseed = \"1..2\"\n";
        let path = folder.join("sweep.toml");
        std::fs::write(&path, sweep).unwrap();
        let Err(Error::Input(files)) = Sweep::load(&path) else { panic!("much is wrong") };
        std::fs::remove_dir_all(&folder).unwrap();
        let lines: Vec<String> = files.iter().flat_map(FileMistakes::lines).collect();
        let parts = [
            "toml:3: there is no profile `v9`",
            "toml:4: ",
            "toml:5: unknown machine",
            "toml:6: 0 is out",
            "base.toml:5: nice 99",
        ];
        assert_eq!(lines.len(), parts.len(), "{lines:?}");
        for part in parts {
            assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:?}");
        }
    }
}
