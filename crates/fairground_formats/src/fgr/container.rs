//! The files of a container: which there are, and what they say.

use super::json::{Members, flag, number, object, of_texts, text, texts};
use super::snapshot::{Host, SnapGroup, SnapTask, Snapshot};
use crate::folder::{Folder, read_whole};
use serde_json::Value;
use std::io::{self, BufRead, BufReader};

/// The version of the format that is written and read.
pub const VERSION: u64 = 1;
/// The names that a recording can have, in the order in which they are looked for.
pub const RECORDINGS: [&str; 4] = ["perf.data", "trace.dat", "trace.json", "trace.txt"];
/// The file by which a container is known.
pub const MANIFEST: &str = "manifest.json";
/// What stands in it as `format`.
pub(super) const FORMAT: &str = "fairground recording";
/// Longest file that is held as a whole.
const HELD_MAX: u64 = 4 << 20;
/// Longest line of a list.
const LINE_MAX: usize = 1 << 20;
/// Rows of a list that are kept.
const ROWS_MAX: usize = 1 << 20;
/// Bytes that are read at once.
const BUFFER: usize = 256 * 1024;

/// What a manifest says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manifest {
    /// The recorder and its version.
    pub recorder: Option<String>,
    /// The events that were recorded.
    pub events: Vec<String>,
    /// Those that are wanted and that this kernel does not have.
    pub missing_events: Vec<String>,
    /// The command that was recorded, by word.
    pub command: Vec<String>,
    /// The task that was meant (`--comm`).
    pub comm: Option<String>,
    /// The group that was meant (`--cgroup`).
    pub cgroup: Option<String>,
    /// Whether names were replaced (`--mask`).
    pub is_masked: bool,
    /// Whether the groups were told by hand (`--cgroup-map`): those of the recording itself do not count then.
    pub is_mapped: bool,
}

impl Manifest {
    /// Reads manifest.json; an error is the rest of a sentence about the container, and what to do.
    pub(super) fn read(bytes: &[u8]) -> Result<Manifest, (String, &'static str)> {
        let broken = |why: String| (format!("holds a `manifest.json` that {why}"), "make it again with `fairground record`");
        let value: Value = serde_json::from_slice(bytes).map_err(|error| broken(format!("is no JSON: {error}")))?;
        let of = value.as_object().filter(|of| text(of, "format").as_deref() == Some(FORMAT));
        let of = of.ok_or_else(|| broken(format!("does not say `\"format\": \"{FORMAT}\"`")))?;
        match number(of, "version") {
            Some(VERSION) => {}
            Some(other) => {
                let why = format!("is a container of version {other}, and this program reads version {VERSION}");
                return Err((why, "use the program that wrote it, or `fairground convert` of the recording inside"));
            }
            None => return Err(broken("tells no version".to_string())),
        }
        Ok(Manifest {
            recorder: text(of, "recorder"),
            events: texts(of, "events"),
            missing_events: texts(of, "missing_events"),
            command: texts(of, "command"),
            comm: text(of, "comm"),
            cgroup: text(of, "cgroup"),
            is_masked: flag(of, "masked").unwrap_or(false),
            is_mapped: flag(of, "mapped").unwrap_or(false),
        })
    }
    /// What manifest.json holds.
    pub fn json(&self) -> Value {
        object([
            ("format", Some(Value::from(FORMAT))),
            ("version", Some(Value::from(VERSION))),
            ("recorder", self.recorder.clone().map(Value::from)),
            ("events", of_texts(&self.events)),
            ("missing_events", of_texts(&self.missing_events)),
            ("command", of_texts(&self.command)),
            ("comm", self.comm.clone().map(Value::from)),
            ("cgroup", self.cgroup.clone().map(Value::from)),
            ("masked", self.is_masked.then_some(Value::from(true))),
            ("mapped", self.is_mapped.then_some(Value::from(true))),
        ])
    }
}

/// A container without its recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Container {
    /// Its manifest.
    pub manifest: Manifest,
    /// The host before the recording began.
    pub before: Option<Snapshot>,
    /// The host after it ended.
    pub after: Option<Snapshot>,
    /// What was missing or unreadable in it, as sentences.
    pub notes: Vec<String>,
}

impl Container {
    /// The snapshot that tells how the recording began: the first one, or the only one.
    pub fn beginning(&self) -> Option<&Snapshot> {
        self.before.as_ref().or(self.after.as_ref())
    }
    /// Notes on what changed on the host while it was recorded, and under what load it was.
    pub fn host_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        let Some(begin) = self.beginning() else { return notes };
        if !self.manifest.missing_events.is_empty() {
            notes.push(format!("events that the recorded kernel does not have: {}", self.manifest.missing_events.join(" ")));
        }
        notes.extend(begin.host.not_readable.iter().map(|what| format!("not readable on the recorded host: {what}")));
        if let Some(load) = begin.host.loadavg.as_ref().and_then(|line| line.split_whitespace().next()) {
            notes.push(format!("load average of the host when the recording began: {load}"));
        }
        let Some(end) = self.after.as_ref().filter(|_| self.before.is_some()) else { return notes };
        if begin.host.online != end.host.online {
            let shown = |online: &Option<String>| online.clone().unwrap_or_else(|| "unknown".to_string());
            notes.push(format!(
                "Warning: CPUs went on or off line while it was recorded: {} at the beginning, {} at the end",
                shown(&begin.host.online),
                shown(&end.host.online)
            ));
        }
        if let Some(((stolen, all), (stolen_end, all_end))) = begin.host.steal().zip(end.host.steal()) {
            let (stolen, all) = (stolen_end.saturating_sub(stolen), all_end.saturating_sub(all));
            if stolen > 0 && all > 0 {
                let per_mille = stolen.saturating_mul(1000) / all;
                notes.push(format!("a hypervisor took {}.{} % of the CPUs' time", per_mille / 10, per_mille % 10));
            }
        }
        if begin.host.cpufreq != end.host.cpufreq {
            notes.push("what cpufreq shows differs between beginning and end".to_string());
        }
        notes
    }
}

/// The folder in which the files of a container lie, by the name of one of them: archives may have one around it.
fn base(manifest: &str) -> Option<&str> {
    manifest.strip_suffix(MANIFEST).filter(|base| base.is_empty() || base.ends_with('/'))
}

/// Whether a folder with files of these names may be a container: its manifest beside a snapshot or a recording.
pub(crate) fn holds(names: &[String]) -> bool {
    let is_part = |base: &str, name: &String| {
        let inside = name.strip_prefix(base).unwrap_or("");
        inside.starts_with("before/") || inside.starts_with("after/") || RECORDINGS.contains(&inside)
    };
    names.iter().filter_map(|name| base(name)).any(|base| names.iter().any(|name| is_part(base, name)))
}

/// Whether these are the bytes of the file by which a container is known.
pub fn is_manifest(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Members>(bytes).is_ok_and(|of| text(&of, "format").as_deref() == Some(FORMAT))
}

/// The place of a file of the container.
pub(super) struct Parts {
    names: Vec<String>,
    base: String,
}

impl Parts {
    pub(super) fn of(folder: &dyn Folder) -> Option<Parts> {
        let names = folder.names().to_vec();
        let base = names.iter().filter_map(|name| base(name)).min_by_key(|base| base.len())?.to_string();
        Some(Parts { names, base })
    }
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.strip_prefix(&self.base) == Some(name))
    }
    /// The recording and its name.
    pub(super) fn recording(&self) -> Option<(usize, &'static str)> {
        RECORDINGS.into_iter().find_map(|name| Some((self.find(name)?, name)))
    }
}

/// Reads all but the recording.
pub(super) fn read(folder: &mut dyn Folder, parts: &Parts) -> Result<Container, (String, &'static str)> {
    let unreadable = |error: std::io::Error| (format!("cannot be read: {error}"), "make it again with `fairground record`");
    let manifest =
        parts.find(MANIFEST).ok_or(("has no `manifest.json`".to_string(), "make it again with `fairground record`"))?;
    let manifest = Manifest::read(&read_whole(folder, manifest, HELD_MAX).map_err(unreadable)?)?;
    let mut notes = Vec::new();
    let before = snapshot(folder, parts, "before", &mut notes);
    let after = snapshot(folder, parts, "after", &mut notes);
    if before.is_none() {
        notes.push(
            "Warning: the container has no snapshot of the beginning: groups and policies are those of the end".to_string(),
        );
    }
    Ok(Container { manifest, before, after, notes })
}

/// Reads a snapshot; one of which nothing is there is none. A file that is missing is noted.
fn snapshot(folder: &mut dyn Folder, parts: &Parts, when: &str, notes: &mut Vec<String>) -> Option<Snapshot> {
    let files = ["host.json", "groups.jsonl", "tasks.jsonl", "machine.toml"];
    let found = files.map(|file| parts.find(&format!("{when}/{file}")));
    if found.iter().all(Option::is_none) {
        return None;
    }
    for (file, _) in files.iter().zip(&found).filter(|row| row.1.is_none()) {
        notes.push(format!("Warning: the container has no `{when}/{file}`: what it tells is not known"));
    }
    let [host, groups, tasks, machine] = found;
    let mut snapshot = Snapshot::default();
    let mut whole = |part: usize| read_whole(folder, part, HELD_MAX).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match host.map(&mut whole).transpose().map(|text| text.map(|text| serde_json::from_str::<Members>(&text))) {
        Ok(Some(Ok(members))) => snapshot.host = Host::read(&members),
        Ok(None) => {}
        Ok(Some(Err(error))) => notes.push(format!("Warning: `{when}/host.json` is not read: {error}")),
        Err(error) => notes.push(format!("Warning: `{when}/host.json` is not read: {error}")),
    }
    match machine.map(&mut whole).transpose() {
        Ok(text) => snapshot.machine = text.unwrap_or_default(),
        Err(error) => notes.push(format!("Warning: `{when}/machine.toml` is not read: {error}")),
    }
    let mut bad = 0;
    let mut count = |read: (u64, io::Result<()>), file: &str| {
        bad += read.0;
        if let Err(error) = read.1 {
            notes.push(format!("Warning: `{when}/{file}` is not read to its end: {error}"));
        }
    };
    if let Some(part) = groups {
        count(lines(folder, part, |of| SnapGroup::read(of).map(|row| snapshot.groups.push(row))), "groups.jsonl");
    }
    if let Some(part) = tasks {
        count(lines(folder, part, |of| SnapTask::read(of).map(|row| snapshot.tasks.push(row))), "tasks.jsonl");
    }
    if bad > 0 {
        notes.push(format!("Warning: {bad} lines of the snapshot `{when}` are not read"));
    }
    Some(snapshot)
}

/// Reads a file of one object a line, and counts the lines that are none of the wanted kind; the error is what ended it early.
fn lines(folder: &mut dyn Folder, part: usize, mut row: impl FnMut(&Members) -> Option<()>) -> (u64, io::Result<()>) {
    let mut source = BufReader::with_capacity(BUFFER, crate::folder::Joined::new(folder, &[part]));
    let (mut line, mut bad, mut rows) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        match std::io::Read::take(&mut source, LINE_MAX as u64).read_until(b'\n', &mut line) {
            Ok(0) => return (bad, Ok(())),
            Ok(_) => {}
            Err(error) => return (bad, Err(error)),
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        rows += 1;
        let read = serde_json::from_slice::<Members>(&line).ok();
        if rows > ROWS_MAX || read.as_ref().and_then(&mut row).is_none() {
            bad += 1;
        }
    }
}
