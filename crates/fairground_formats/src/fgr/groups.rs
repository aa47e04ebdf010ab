//! The sink in front of another one that puts in the groups that a container tells.

use super::container::Container;
use super::snapshot::{SnapTask, Snapshot};
use fairground_model::cgroup::{ROOT, parent};
use fairground_model::{InGroup, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// How the paths of autogroups begin.
const AUTOGROUP: &str = "/autogroup-";

/// Hands events on, and with each new task its group.
pub(super) struct Grouping<'a> {
    sink: &'a mut dyn Sink,
    known: &'a Container,
    /// The tasks of the beginning by their id; each is told once.
    before: BTreeMap<u32, &'a SnapTask>,
    /// Those of the end that tell what no event does.
    after: BTreeMap<u32, &'a SnapTask>,
    /// The CPU groups.
    cpu_groups: BTreeSet<&'a str>,
    hierarchy: u64,
    seen: BTreeSet<TaskId>,
    /// Where each task was last, as the sink knows it.
    at: BTreeMap<TaskId, String>,
    /// The autogroup of tasks that were told to be in one.
    autogroups: BTreeMap<TaskId, &'a str>,
    now: Instant,
    /// Tasks whose group was told.
    pub(super) told: u64,
    /// Moves that were told.
    pub(super) moves: u64,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink, known: &'a Container) -> Grouping<'a> {
        let by_tid = |snapshot: Option<&'a Snapshot>| -> BTreeMap<u32, &'a SnapTask> {
            snapshot.into_iter().flat_map(|snapshot| &snapshot.tasks).map(|task| (task.tid, task)).collect()
        };
        let tells_moves = known.manifest.events.iter().any(|event| event.ends_with("cgroup_attach_task"));
        let mut after = by_tid(known.after.as_ref().filter(|_| known.before.is_some()));
        after.retain(|_, task| task.group.as_deref().is_some_and(|group| !tells_moves || group.starts_with(AUTOGROUP)));
        let begin = known.beginning();
        let groups = known.before.iter().chain(&known.after).flat_map(|snapshot| &snapshot.groups);
        Grouping {
            before: by_tid(begin),
            after,
            cpu_groups: groups.filter(|group| !group.is_cpuset).map(|group| group.path.as_str()).collect(),
            hierarchy: begin.and_then(|snapshot| snapshot.host.cpu_hierarchy).unwrap_or(0),
            seen: BTreeSet::new(),
            at: BTreeMap::new(),
            autogroups: BTreeMap::new(),
            now: Instant::ZERO,
            told: 0,
            moves: 0,
            sink,
            known,
        }
    }
    /// A child is where its parent is, unless it is known to be elsewhere.
    fn inherit(&mut self, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        let Some(path) = parent.and_then(|parent| self.at.get(&parent)).cloned() else { return };
        if self.at.contains_key(&child) {
            return;
        }
        if let Some(&autogroup) = parent.and_then(|parent| self.autogroups.get(&parent)) {
            self.autogroups.insert(child, autogroup);
        }
        self.told += 1;
        self.sink.group(self.now, cpu, child, InGroup::Is(&path));
        self.at.insert(child, path);
    }
    /// The CPU group that a path means: the nearest one at or above it that has the controller.
    fn cpu_group<'p>(&self, path: &'p str) -> &'p str {
        let mut above = std::iter::successors(Some(path), |path| parent(path));
        above.find(|path| self.cpu_groups.contains(path)).unwrap_or(ROOT)
    }
}

impl Sink for Grouping<'_> {
    fn epoch(&mut self, clock_ns: u64) {
        self.sink.epoch(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.sink.task(task, info);
        if !self.seen.insert(task) {
            return;
        }
        // An id that comes again is of another task.
        let told = self.before.remove(&info.pid).or_else(|| self.after.remove(&info.pid));
        let Some(group) = told.and_then(|told| told.group.as_deref()) else { return };
        if group.starts_with(AUTOGROUP) {
            self.autogroups.insert(task, group);
        }
        self.told += 1;
        self.at.insert(task, group.to_string());
        self.sink.group(self.now, CpuId::new(0), task, InGroup::Is(group));
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        if self.known.manifest.is_mapped {
            return;
        }
        let path = self.cpu_group(group.path());
        let path = match self.autogroups.get(&task) {
            Some(&autogroup) if path == ROOT => autogroup,
            _ => path,
        };
        let before = self.at.get(&task);
        // A task that is told to be in the root group may be in an autogroup, where its parent is.
        let says_nothing =
            path == ROOT && before.is_none() && self.known.beginning().is_some_and(|of| of.host.autogroup == Some(true));
        if says_nothing || before.is_some_and(|before| before == path) {
            return;
        }
        self.moves += u64::from(before.is_some());
        self.told += u64::from(before.is_none());
        self.at.insert(task, path.to_string());
        let group = if matches!(group, InGroup::Comes(_)) { InGroup::Comes(path) } else { InGroup::Is(path) };
        self.sink.group(at, cpu, task, group);
    }
    fn hierarchy(&self) -> u64 {
        self.hierarchy
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.now = at;
        if let TraceEvent::SchedProcessFork { parent, child } = *event {
            self.inherit(cpu, parent, child);
        }
        self.sink.record(at, cpu, event);
    }
    fn context(&mut self, cpu: CpuId, current: Option<TaskId>) {
        self.sink.context(cpu, current);
    }
    fn interrupted(&mut self, context: WakeContext) {
        self.sink.interrupted(context);
    }
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.now = at;
        self.sink.inferred(at, cpu, event);
    }
    fn listens(&self) -> bool {
        self.sink.listens()
    }
    fn wants_samples(&self) -> bool {
        self.sink.wants_samples()
    }
}
