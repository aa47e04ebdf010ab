//! `record` and `snapshot`: the system's own recorder, and beside its recording what a trace does not tell: machine, kernel, control
//! groups, policies. All of it is one container ([`fairground_formats::fgr`]), which is read wherever a trace is.

mod events;
mod folder;
mod groups;
mod host;
mod map;
mod mask;
mod programs;
mod recorder;
mod root;
mod take;
mod tasks;
#[cfg(test)]
mod tests;
mod tracefs;

pub use map::{Mapped, container_of};
pub use recorder::Recorder;
pub use root::Root;
pub use take::take;

use crate::convert;
use fairground_formats::fgr::{Manifest, Snapshot};
use fairground_metrics::Interval;
use fairground_model::NullSink;
use fairground_report::Document;
use fairground_report::units::format_count;
use fairground_scenario::Error;
use fairground_stdx::{CpuMask, Ns, units};
use folder::Unfinished;
use mask::Mask;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The snapshot of the beginning, and that of the end.
const BEFORE: &str = "before";
const AFTER: &str = "after";
/// A machine with more tasks that want to run than this share of its CPUs, in percent, is said to be under load.
const LOAD_PERCENT: u64 = 50;

/// The largest buffer of a CPU, MiB.
pub const BUFFER_MAX_MIB: u32 = 4096;

/// A length of time as people write it: `10s`.
pub fn parse_length(text: &str) -> Result<Duration, String> {
    match units::parse_ns(text) {
        Ok(length) if length > Ns::ZERO => Ok(Duration::from_nanos(length.0)),
        Ok(_) => Err("expected a time above 0".to_string()),
        Err(error) => Err(format!("expected a time with its unit, as 10s: {error}")),
    }
}

/// What is recorded, and how.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The container to make.
    pub output: PathBuf,
    /// The command that is started and recorded, by word; empty: the system is recorded as it is.
    pub command: Vec<String>,
    /// How long; a command may end sooner, and is ended then. `None`: until the command ends.
    pub length: Option<Duration>,
    /// The task that is meant. All tasks are recorded: what one of them waited for, others did.
    pub comm: Option<String>,
    /// The group that is meant.
    pub cgroup: Option<String>,
    /// Events besides those that are always recorded.
    pub events: Vec<String>,
    /// Memory for each CPU's buffer, MiB.
    pub buffer_mib: u32,
    /// Whether names are replaced.
    pub is_masked: bool,
    /// The recorder; `None`: the first that is there.
    pub recorder: Option<Recorder>,
}

/// A container that was made.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The container.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Events of the recording, and how many the recorder lost; none of a snapshot alone.
    pub events: Option<(u64, u64)>,
    /// Tasks of the last snapshot.
    pub tasks: usize,
    /// CPU groups of the last snapshot.
    pub groups: usize,
    /// What is to be known of it: what was missing, lost or not readable, and the load of the host.
    pub notes: Vec<String>,
}

impl Recorded {
    /// What was made, in two lines.
    pub fn summary(&self) -> Vec<String> {
        let recording = self.events.map_or_else(
            || "no recording in it yet".to_string(),
            |(events, lost)| format!("{} events, {} lost", format_count(events), format_count(lost)),
        );
        vec![
            format!("{} is a container: {recording}", self.path.display()),
            format!("{} tasks in {} CPU groups at the end", format_count(self.tasks as u64), format_count(self.groups as u64)),
        ]
    }
    /// The document of `record --json` and `snapshot --json`.
    pub fn document(&self, command: &str) -> Document {
        let mut document = Document::new(command, &[], None, None);
        document
            .set("container", self.path.display().to_string())
            .set("manifest", self.manifest.json())
            .set("tasks", self.tasks)
            .set("groups", self.groups)
            .set("notes", self.notes.clone());
        if let Some((events, lost)) = self.events {
            document.set("events", events).set("lost_events", lost);
        }
        document
    }
}

/// Takes a snapshot alone, for those who record by themselves: `perf record … -o X.fgr/perf.data`.
pub fn snapshot(output: &Path, is_masked: bool, root: &Root) -> Result<Recorded, Error> {
    let unfinished = Unfinished::create(output)?;
    let mut taken = take(root);
    let manifest = Manifest { is_masked, ..Manifest::default() };
    let mut notes = host_notes(&taken);
    if is_masked {
        Mask::of(&[&taken]).snapshot(&mut taken);
        notes.push("a recording that is put into it later is not masked".to_string());
    }
    unfinished.write(|folder| take::write(&taken, &folder.join(BEFORE)))?;
    unfinished.write(|folder| write_manifest(&manifest, folder))?;
    let path = unfinished.complete()?;
    Ok(recorded(path, manifest, None, &taken, notes))
}

/// Records, with a snapshot before and after. `stop` ends it early, in order.
pub fn record(options: &RecordOptions, root: &Root, stop: &AtomicBool) -> Result<Recorded, Error> {
    let unfinished = Unfinished::create(&options.output)?;
    let recorder = Recorder::choose(options.recorder, root)?;
    let events = events::choose(root, &options.events)?;
    let mut before = take(root);
    let mut notes = host_notes(&before);
    unfinished.write(|folder| take::write(&before, &folder.join(BEFORE)))?;
    let version = recorder.version();
    let recording = unfinished.path().join(recorder.file());
    notes.extend(recorder.run(&recorder::Asked { options, events: &events.there, recording: &recording, root }, stop)?);
    let mut after = take(root);
    unfinished.write(|folder| take::write(&after, &folder.join(AFTER)))?;
    let mut manifest = Manifest {
        recorder: Some(version),
        events: events.there,
        missing_events: events.missing,
        command: options.command.clone(),
        comm: options.comm.clone(),
        cgroup: options.cgroup.clone(),
        is_masked: options.is_masked,
        is_mapped: false,
    };
    notes.extend(subject_notes(&manifest, &before, &after));
    unfinished.write(|folder| write_manifest(&manifest, folder))?;
    if options.is_masked {
        if let Err(error) = masked(&unfinished, recorder.file(), &mut manifest, [&mut before, &mut after]) {
            unfinished.discard();
            return Err(error);
        }
        notes.push("moves between groups in mid-recording are not kept in a masked recording".to_string());
    }
    let path = unfinished.complete()?;
    let stats = convert::read(&path, Interval::default(), &mut NullSink)?.stats;
    notes.extend(stats.warnings().map(|note| format!("Warning: {note}")));
    if stats.lost_events > 0 {
        notes.push(format!(
            "Warning: the recorder's buffers overran, {} events are lost: record with --buffer {}, or for a shorter time",
            format_count(stats.lost_events),
            options.buffer_mib.saturating_mul(4).min(BUFFER_MAX_MIB)
        ));
    }
    Ok(recorded(path, manifest, Some((stats.events, stats.lost_events)), &after, notes))
}

/// Replaces the names in all files of a container.
fn masked(made: &Unfinished, recording: &str, manifest: &mut Manifest, [before, after]: [&mut Snapshot; 2]) -> Result<(), Error> {
    let mut mask = Mask::of(&[before, after]);
    mask.recording(made.path(), recording)?;
    mask.manifest(manifest);
    for (snapshot, name) in [(before, BEFORE), (after, AFTER)] {
        mask.snapshot(snapshot);
        made.write(|folder| std::fs::remove_dir_all(folder.join(name)))?;
        made.write(|folder| take::write(snapshot, &folder.join(name)))?;
    }
    made.write(|folder| write_manifest(manifest, folder))
}

fn recorded(path: PathBuf, manifest: Manifest, events: Option<(u64, u64)>, last: &Snapshot, notes: Vec<String>) -> Recorded {
    let groups = last.groups.iter().filter(|group| !group.is_cpuset).count();
    Recorded { path, manifest, events, tasks: last.tasks.len(), groups, notes }
}

fn write_manifest(manifest: &Manifest, folder: &Path) -> std::io::Result<()> {
    std::fs::write(folder.join("manifest.json"), format!("{:#}\n", manifest.json()))
}

/// What is to be known of a host before it is recorded.
fn host_notes(taken: &Snapshot) -> Vec<String> {
    let host = &taken.host;
    let mut notes: Vec<String> = host.not_readable.iter().map(|what| format!("not readable: {what}")).collect();
    let load = host.loadavg.as_deref().and_then(|line| line.split_whitespace().next());
    let cpus = host.online.as_deref().and_then(CpuMask::parse_list).map_or(0, |cpus| cpus.weight() as u64);
    // 2.89 as 289 hundredths.
    let hundredths = load.and_then(|load| load.replace('.', "").parse::<u64>().ok());
    if let (Some(load), Some(hundredths)) = (load, hundredths)
        && hundredths > cpus * LOAD_PERCENT
    {
        notes.push(format!("Warning: the host is under load: load average {load} on {cpus} CPUs before the recording"));
    }
    notes
}

/// Whether there was what is meant.
fn subject_notes(manifest: &Manifest, before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut notes = Vec::new();
    let both = || before.tasks.iter().chain(&after.tasks);
    if let Some(comm) = &manifest.comm
        && both().all(|task| task.comm != *comm)
    {
        notes.push(format!("Warning: no task was called `{comm}` before or after the recording; it may have lived in between"));
    }
    if let Some(cgroup) = &manifest.cgroup
        && before.groups.iter().chain(&after.groups).all(|group| group.path != *cgroup)
    {
        notes.push(format!(
            "Warning: there is no CPU group `{cgroup}`: paths begin at the root of the hierarchy of the cpu controller"
        ));
    }
    notes
}
