//! Names that are replaced, each by the same one everywhere: tasks by `task-1`, the parts of a group's path by `group-1`. Threads of the
//! kernel and autogroups keep theirs, which are the same on every host and tell what they do.

use crate::output::Outputs;
use fairground_formats::WriterOptions;
use fairground_formats::fgr::{Manifest, Snapshot};
use fairground_model::cgroup::ROOT;
use fairground_model::{Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_scenario::{Error, trace_file};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How names of autogroups, and of workers of the kernel, begin.
const AUTOGROUP: &str = "/autogroup-";
const KWORKER: &str = "kworker/";
/// The recording in a masked container: our own format, as the others have names in many places.
const MASKED: &str = "trace.json";

/// The names so far.
#[derive(Default)]
pub(super) struct Mask {
    tasks: BTreeMap<String, String>,
    parts: BTreeMap<String, String>,
    /// Ids of the kernel's own threads.
    kernel: BTreeSet<u32>,
}

impl Mask {
    /// Knows the kernel's threads of these snapshots.
    pub(super) fn of(snapshots: &[&Snapshot]) -> Mask {
        let tasks = snapshots.iter().flat_map(|snapshot| &snapshot.tasks);
        Mask { kernel: tasks.filter(|task| task.kthread).map(|task| task.tid).collect(), ..Mask::default() }
    }
    fn task(&mut self, name: &str) -> String {
        let next = self.tasks.len() + 1;
        self.tasks.entry(name.to_string()).or_insert_with(|| format!("task-{next}")).clone()
    }
    fn of_task(&mut self, tid: u32, name: &str) -> String {
        if self.kernel.contains(&tid) || name.starts_with(KWORKER) { name.to_string() } else { self.task(name) }
    }
    fn path(&mut self, path: &str) -> String {
        if path == ROOT || path.starts_with(AUTOGROUP) {
            return path.to_string();
        }
        let mut masked = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let next = self.parts.len() + 1;
            let part = self.parts.entry(part.to_string()).or_insert_with(|| format!("group-{next}"));
            masked += &format!("/{part}");
        }
        masked
    }
    /// Replaces the names of a snapshot.
    pub(super) fn snapshot(&mut self, snapshot: &mut Snapshot) {
        for group in &mut snapshot.groups {
            group.path = self.path(&group.path);
        }
        for task in &mut snapshot.tasks {
            task.comm = self.of_task(task.tid, &task.comm);
            task.group = task.group.as_ref().map(|path| self.path(path));
        }
    }
    /// Replaces the names of a manifest; a command has names in it that nobody knows, so it goes.
    pub(super) fn manifest(&mut self, manifest: &mut Manifest) {
        manifest.comm = manifest.comm.as_ref().map(|comm| self.task(comm));
        manifest.cgroup = manifest.cgroup.as_ref().map(|path| self.path(path));
        manifest.command.clear();
        // The recording without names has no moves.
        manifest.events.retain(|event| !event.starts_with("cgroup:"));
    }
    /// Writes the recording of a container anew without names, and removes the old one.
    pub(super) fn recording(&mut self, container: &Path, file: &str) -> Result<(), Error> {
        let source = trace_file::open(container)?;
        let mut outputs = Outputs::open(
            &[container.join(MASKED)],
            &WriterOptions { command: "record".to_string(), ..WriterOptions::default() },
        )?;
        source.read_as_recorded(&mut Masked { mask: self, sink: &mut outputs })?;
        outputs.finish(true)?;
        let old = container.join(file);
        std::fs::remove_file(&old).map_err(|cause| Error::world("remove", &old, cause))
    }
}

/// A sink that gets other names.
struct Masked<'a> {
    mask: &'a mut Mask,
    sink: &'a mut dyn Sink,
}

impl Sink for Masked<'_> {
    fn epoch(&mut self, clock_ns: u64) {
        self.sink.epoch(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        let name = self.mask.of_task(info.pid, &info.name);
        self.sink.task(task, &TaskInfo { name, ..info.clone() });
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.sink.record(at, cpu, event);
    }
    fn context(&mut self, cpu: CpuId, current: Option<TaskId>) {
        self.sink.context(cpu, current);
    }
    fn interrupted(&mut self, context: WakeContext) {
        self.sink.interrupted(context);
    }
    fn listens(&self) -> bool {
        self.sink.listens()
    }
    fn wants_samples(&self) -> bool {
        self.sink.wants_samples()
    }
}
