//! Files that are written beside a run. A file bears the ending `.partial` until it is complete, so that an
//! interrupted or failed run never leaves something that looks like a result. All are begun before the run.

mod as_kernel;
mod file;
mod of_run;
mod results;
mod stopper;

pub use as_kernel::AsKernel;
use file::{OutputFile, Stream};
pub use file::{TextOutput, is_stdout};
pub use results::{ResultFiles, ResultKind, table_parquet};

use crate::pages;
use crate::run::RunOutcome;
use fairground_formats::{TraceWriter, WriterOptions, writer_with};
use fairground_metrics::TimelineSink;
use fairground_model::{LockEvent, Mistakes, Sink, TaskInfo, TraceEvent};
use fairground_scenario::{Error, Scenario};
use fairground_stdx::{CpuId, Instant, TaskId};
use file::{check, ending};
use of_run::OfRun;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The files that a run writes beside its report: `-o FILE`, the writer chosen by the file's ending.
#[derive(Default)]
pub struct Outputs {
    /// A writer ends before its file does.
    writers: Vec<(Box<dyn TraceWriter>, OutputFile)>,
    /// Files that are made of what came out of the whole run.
    of_run: Vec<(BufWriter<Stream>, OutputFile, OfRun)>,
    /// What CPUs did, where a page wants it.
    timeline: Option<TimelineSink>,
}

impl Outputs {
    /// Begins all files; an ending without a writer is refused before any file is made.
    pub fn open(paths: &[PathBuf], options: &WriterOptions) -> Result<Outputs, Error> {
        let mut wrong = Mistakes::default();
        check(paths, None)?;
        for path in paths {
            if let Err(refusal) = writer_with(ending(path), Box::new(std::io::sink()), options) {
                wrong.whole(
                    format!("-o {}: {refusal}", path.display()),
                    "The ending of the file chooses the writer; see `fairground list formats`.",
                );
            }
        }
        wrong.or(()).map_err(|wrong| Error::input("command line", "", wrong))?;
        let mut outputs = Outputs::default();
        // A writer may write at once: all files are begun before the first one does.
        let files = paths.iter().map(|path| OutputFile::create(path)).collect::<Result<Vec<_>, Error>>()?;
        for (path, (file, out)) in paths.iter().zip(files) {
            match writer_with(ending(path), Box::new(out), options) {
                Ok(writer) => outputs.writers.push((writer, file)),
                Err(refusal) => return Err(Error::one("-o", refusal.to_string(), "Choose another ending.")),
            }
        }
        Ok(outputs)
    }
    /// The files of a run of `scenario`.
    pub fn for_run(paths: &[PathBuf], scenario: &Scenario) -> Result<Outputs, Error> {
        if paths.is_empty() {
            return Ok(Outputs::default());
        }
        let (of_run, traces): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(|path| OfRun::of(path).is_some());
        let tasks = scenario.tasks();
        let options = WriterOptions {
            command: "run".to_string(),
            inputs: vec![(scenario.name(), format!("{:032x}", scenario.digest()))],
            seed: Some(scenario.seed),
            markers: tasks.markers,
            locks: tasks.locks.iter().map(|lock| lock.name.clone()).collect(),
        };
        check(paths, None)?;
        let of_run = of_run.into_iter().map(|path| Ok::<_, Error>((OutputFile::create(path)?, OfRun::of(path))));
        let of_run = of_run.collect::<Result<Vec<_>, Error>>()?;
        let mut outputs = Outputs::open(&traces.into_iter().cloned().collect::<Vec<_>>(), &options)?;
        let as_kernel = |writer| -> Box<dyn TraceWriter> { Box::new(AsKernel::new(writer)) };
        outputs.writers = outputs.writers.into_iter().map(|(writer, file)| (as_kernel(writer), file)).collect();
        for ((file, out), kind) in of_run {
            let Some(kind) = kind else { continue };
            outputs.of_run.push((out, file, kind));
            if kind == OfRun::Page {
                outputs.timeline.get_or_insert_with(|| pages::timeline_of(scenario));
            }
        }
        Ok(outputs)
    }
    /// Ends the files of a run of `scenario`: those that are made of its outcome get it. Returns their paths.
    pub fn finish_run(mut self, scenario: &Scenario, outcome: &RunOutcome) -> Result<Vec<PathBuf>, Error> {
        let timeline = self.timeline.take().map(|sink| sink.finish(outcome.end()));
        for (out, file, kind) in &mut self.of_run {
            let text = kind.text(scenario, outcome, timeline.as_ref());
            let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            written.map_err(|cause| Error::world("write", &file.target, cause))?;
        }
        self.finish(!outcome.is_partial())
    }
    /// Ends all files. Those of an incomplete run keep the ending `.partial`. Returns their paths.
    pub fn finish(self, complete: bool) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::new();
        for (writer, file) in self.writers {
            writer.finish().map_err(|cause| Error::world("write", &file.target, cause))?;
            paths.push(if complete { file.complete()? } else { file.leave_partial() });
        }
        for (_, file, _) in self.of_run {
            paths.push(if complete { file.complete()? } else { file.leave_partial() });
        }
        Ok(paths)
    }
}

impl Sink for Outputs {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.writers.iter_mut().for_each(|(writer, _)| writer.task(task, info));
        self.timeline.iter_mut().for_each(|timeline| timeline.task(task, info));
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        for (writer, _) in &mut self.writers {
            if !event.is_sample() || writer.wants_samples() {
                writer.record(at, cpu, event);
            }
        }
        self.timeline.iter_mut().for_each(|timeline| timeline.record(at, cpu, event));
    }
    fn lock(&mut self, at: Instant, cpu: CpuId, event: &LockEvent) {
        self.writers.iter_mut().for_each(|(writer, _)| writer.lock(at, cpu, event));
    }
    fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.writers.iter_mut().for_each(|(writer, _)| writer.no_runtime(at, cpu, task));
    }
    fn listens(&self) -> bool {
        self.timeline.is_some() || !self.writers.is_empty()
    }
    fn wants_samples(&self) -> bool {
        self.timeline.is_some() || self.writers.iter().any(|(writer, _)| writer.wants_samples())
    }
}
