//! `convert`: from one trace format to another, in bounded memory. `read`: a trace handed to a sink.

use crate::interval::Extent;
use crate::output::Outputs;
use fairground_formats::{ImportStats, WriterOptions};
use fairground_metrics::{Clip, Interval};
use fairground_model::Sink;
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Document, Input};
use fairground_scenario::inputs::FileId;
use fairground_scenario::{Error, trace_file};
use std::path::{Path, PathBuf};

/// A trace that was converted.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The input's name without its path.
    pub name: String,
    /// What was read.
    pub stats: ImportStats,
    /// Digest of the input's bytes.
    pub input_digest: u128,
    /// The file that was written.
    pub output: PathBuf,
}

impl Converted {
    /// What was odd in the input, warnings first, and what was read.
    pub fn notes(&self) -> Vec<String> {
        notes_of(&self.stats)
    }
    /// What was written, in at most ten lines.
    pub fn summary(&self) -> Vec<String> {
        let stats = &self.stats;
        let length = stats.last_at.saturating_since(stats.first_at);
        let put_in = stats.warnings().count();
        let odd = match put_in {
            0 => "nothing odd in it".to_string(),
            1 => "one warning".to_string(),
            many => format!("{many} warnings"),
        };
        vec![
            format!("{}, read as {}, is now {}", self.name, stats.format, self.output.display()),
            format!(
                "{} events in {} on {} CPUs; {} not used, {} unreadable, {} lost; {odd}",
                format_count(stats.events),
                format_ns(length),
                stats.nr_cpus(),
                format_count(stats.not_used),
                format_count(stats.skipped),
                format_count(stats.lost_events)
            ),
        ]
    }
    /// The document of `convert --json`.
    pub fn document(&self) -> Document {
        let mut document = Document::new("convert", &[Input::new(&self.name, self.input_digest)], None, None);
        let stats = &self.stats;
        document
            .set("format", stats.format)
            .set("events", stats.events)
            .set("skipped", stats.skipped)
            .set("not_used", stats.not_used)
            .set("lost_events", stats.lost_events)
            .set("notes", self.notes());
        document
    }
}

fn notes_of(stats: &ImportStats) -> Vec<String> {
    let mut notes: Vec<String> = stats.warnings().map(|note| format!("Warning: {note}")).collect();
    notes.push(format!("{} events read as {}, {} not used", stats.events, stats.format, stats.not_used));
    notes
}

/// A trace that was handed to a sink.
#[derive(Clone, Debug)]
pub struct Handed {
    /// The input's name without its path.
    pub name: String,
    /// What was read.
    pub stats: ImportStats,
    /// Digest of the input's bytes.
    pub input_digest: u128,
}

impl Handed {
    /// What was odd in the input, warnings first, and what was read.
    pub fn notes(&self) -> Vec<String> {
        notes_of(&self.stats)
    }
}

/// Hands the records of `input` that lie in the interval to `sink`, as they were recorded.
pub fn read(input: &Path, interval: Interval, sink: &mut dyn Sink) -> Result<Handed, Error> {
    let source = trace_file::open(input)?;
    let (name, input_digest) = (source.name.clone(), source.digest);
    let stats = source.read_as_recorded(&mut Clip::new(interval, sink))?;
    Extent::of(&stats).check_interval(interval)?;
    Ok(Handed { name, stats, input_digest })
}

/// Reads `input` and writes `output`, whose ending chooses the format. `strict` refuses dirty input; then
/// what was written keeps the ending `.partial`. Of an interval the records are written that lie in it, with the times that they have in the whole.
pub fn convert(input: &Path, output: &Path, interval: Interval, strict: bool) -> Result<Converted, Error> {
    let source = trace_file::open(input)?;
    let options = WriterOptions {
        command: "convert".to_string(),
        inputs: vec![(source.name.clone(), format!("{:032x}", source.digest))],
        ..WriterOptions::default()
    };
    if FileId::of(input).is_some_and(|id| FileId::of(output) == Some(id)) {
        let message = format!("{} is the input as well as the output", output.display());
        return Err(Error::one("command line", message, "Name another file: the input would be lost."));
    }
    let mut outputs = Outputs::open(&[output.to_path_buf()], &options)?;
    let (name, input_digest) = (source.name.clone(), source.digest);
    let stats = source.read_as_recorded(&mut Clip::new(interval, &mut outputs))?;
    if let Err(error) = Extent::of(&stats).check_interval(interval) {
        outputs.finish(false)?;
        return Err(error);
    }
    let clean = !strict || stats.is_clean();
    let written = outputs.finish(clean)?;
    if !clean {
        let warnings: Vec<String> = stats.warnings().map(ToString::to_string).collect();
        return Err(Error::one(
            name,
            format!("the recording is dirty: {}", warnings.join("; ")),
            "Leave out --strict to go on with notes.",
        ));
    }
    Ok(Converted { name, stats, input_digest, output: written.into_iter().next().unwrap_or_else(|| output.to_path_buf()) })
}
