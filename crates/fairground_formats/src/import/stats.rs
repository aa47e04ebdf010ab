//! What a reader found beside the events: counts and notes.

use crate::fgr::Container;
use crate::import::Inferred;
use fairground_stdx::{CpuMask, Instant};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Distinct notes kept; whatever is noted beyond is counted under one heading, so that hostile input
/// cannot fill the memory with notes.
const NOTES_MAX: usize = 100;
/// The end of the release in Perfetto traces that we write, which must name one.
pub(crate) const OWN_RELEASE: &str = "-fairground";
const FURTHER: &str = "further notes of other kinds";

/// How much a note matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Worth knowing; the events are all there.
    Info,
    /// Something is missing or was changed: read before you trust the result.
    Warning,
}

/// One kind of oddity in the input and how often it was met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// How often it was met.
    pub count: u64,
    /// The line (in JSON and binary files: the record) where it was met first, counted from 1; 0 = the input as a whole.
    pub first_line: u64,
    /// What is counted by [`Note::first_line`]: `line` or `record`.
    pub unit: &'static str,
    /// What it is, as a sentence.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first_line {
            0 => write!(f, "{}", self.what)?,
            line => write!(f, "{} {line}: {}", self.unit, self.what)?,
        }
        if self.count > 1 { write!(f, " ({} times)", self.count) } else { Ok(()) }
    }
}

/// Counts and notes of one import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportStats {
    /// The format that was read, as the registry names it.
    pub format: &'static str,
    /// Events handed on.
    pub events: u64,
    /// Events handed on, by kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Lines that look like records but could not be read.
    pub skipped: u64,
    /// Records that were understood but are of no use here (bandwidth probes, other tracepoints).
    pub not_used: u64,
    /// Events that the recorder itself reports as lost.
    pub lost_events: u64,
    /// Records that follow from others and were put between them.
    pub inferred: Inferred,
    /// Tasks whose control group the recording tells.
    pub grouped_tasks: u64,
    /// How often such a task went to another group.
    pub group_moves: u64,
    /// How often a record was earlier than the one before it.
    pub time_went_back: u64,
    /// Records that came too late to be sorted in and were given the time of the one before.
    pub clamped: u64,
    /// The CPUs that records name.
    pub cpus: CpuMask,
    /// The input's time that counts as 0, in ns: that of the first event; 0 where a format's own times
    /// are kept (recorded experiments, our own files).
    pub offset_ns: u64,
    /// When the first event happened.
    pub first_at: Instant,
    /// When the last event happened.
    pub last_at: Instant,
    /// The part of the recording that counts, where the recording says so.
    pub window: Option<(Instant, Instant)>,
    /// The release of the recorded kernel (`uname -r`), where the recording says it.
    pub kernel_release: Option<String>,
    /// What lay beside the recording in its container, if it has one.
    pub container: Option<Arc<Container>>,
    /// What was odd.
    pub notes: Vec<Note>,
    /// What notes count places by: `line` or `record`.
    unit: &'static str,
}

impl ImportStats {
    pub(crate) fn new(format: &'static str) -> ImportStats {
        ImportStats {
            format,
            events: 0,
            kinds: BTreeMap::new(),
            skipped: 0,
            not_used: 0,
            lost_events: 0,
            inferred: Inferred::default(),
            grouped_tasks: 0,
            group_moves: 0,
            time_went_back: 0,
            clamped: 0,
            cpus: CpuMask::EMPTY,
            offset_ns: 0,
            first_at: Instant::ZERO,
            last_at: Instant::ZERO,
            window: None,
            kernel_release: None,
            container: None,
            notes: Vec::new(),
            unit: "line",
        }
    }
    /// The input has no lines: places are numbers of records.
    pub(crate) fn count_records(&mut self) {
        self.unit = "record";
    }
    /// Whether there is nothing to warn of: what `--strict` asks for.
    pub fn is_clean(&self) -> bool {
        self.notes.iter().all(|note| note.severity == Severity::Info)
    }
    /// The number of CPUs of a machine that has all CPUs seen: the highest number plus one.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.iter().last().map_or(0, |cpu| cpu.get() + 1)
    }
    /// The notes to show at the top of a report.
    pub fn warnings(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.severity == Severity::Warning)
    }

    /// The recording tells its kernel; what a simulator wrote as such is none.
    pub(crate) fn recorded_on(&mut self, release: &str) {
        let release = release.trim();
        if release.starts_with(|c: char| c.is_ascii_digit()) && !release.ends_with(OWN_RELEASE) {
            self.kernel_release = Some(release.to_string());
        }
    }
    pub(crate) fn info(&mut self, line: u64, what: &str) {
        self.add(Severity::Info, line, 1, what);
    }
    pub(crate) fn warn(&mut self, line: u64, what: &str) {
        self.add(Severity::Warning, line, 1, what);
    }
    /// A record that could not be read.
    pub(crate) fn skip(&mut self, line: u64, what: &str) {
        self.skipped += 1;
        self.warn(line, what);
    }
    /// Whether the model can hold a CPU of this number, whose data are left out as a whole if not.
    pub(crate) fn holds_cpu(&mut self, cpu: u32) -> bool {
        let holds = (cpu as usize) < CpuMask::CAPACITY;
        if !holds {
            self.skip(0, &format!("the data of CPUs {} and above were left out", CpuMask::CAPACITY));
        }
        holds
    }
    /// A record that was understood and is of no use.
    pub(crate) fn unused(&mut self, line: u64, what: &str) {
        self.not_used += 1;
        self.info(line, what);
    }
    /// The recorder says that it lost events; it may not know how many.
    pub(crate) fn lost(&mut self, line: u64, events: Option<u64>) {
        self.lost_events = self.lost_events.saturating_add(events.unwrap_or(1));
        match events {
            Some(_) => self.warn(line, "the recorder lost events here"),
            None => self.warn(line, "the recorder lost events here and does not say how many: each such place counts as one"),
        }
    }
    fn add(&mut self, severity: Severity, first_line: u64, count: u64, what: &str) {
        if let Some(note) = self.notes.iter_mut().find(|note| note.what == what) {
            note.count += count;
            note.first_line = note.first_line.min(first_line);
        } else if self.notes.len() < NOTES_MAX {
            self.notes.push(Note { severity, count, first_line, unit: self.unit, what: what.to_string() });
        } else {
            let last = self.notes.last_mut().expect("invariant: the list is full, so it has a last row");
            if last.what != FURTHER {
                last.what = FURTHER.to_string();
            }
            last.severity = last.severity.max(severity);
            last.count += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_are_counted_together_and_the_number_of_kinds_is_bounded() {
        let mut stats = ImportStats::new("test");
        stats.info(7, "a");
        stats.info(3, "a");
        assert_eq!(stats.notes, [Note { severity: Severity::Info, count: 2, first_line: 3, unit: "line", what: "a".into() }]);
        assert!(stats.is_clean());
        (0..1000).for_each(|n| stats.warn(n, &format!("kind {n}")));
        assert_eq!(stats.notes.len(), NOTES_MAX);
        assert_eq!(stats.notes.iter().map(|note| note.count).sum::<u64>(), 1002);
        assert!(!stats.is_clean());
    }

    #[test]
    fn notes_read_as_sentences() {
        let note =
            |first_line, count, unit| Note { severity: Severity::Info, count, first_line, unit, what: "odd".into() }.to_string();
        let texts = [note(0, 1, "line"), note(4, 1, "line"), note(4, 2, "record")];
        assert_eq!(texts, ["odd", "line 4: odd", "record 4: odd (2 times)"]);
    }
}
