//! Which autogroup each task is in: the sessions of all workloads together.

use crate::nouns::autogroup::{SCHED_AUTOGROUP_ENABLED, Sessions};
use crate::nouns::groups::Groups;
use crate::nouns::workload::Workload;
use crate::text::Wrong;
use fairground_model::cgroup::nice_to_shares;
use fairground_model::{Change, Instr, Mistakes, Start, TaskGroupSpec, TaskSet};
use fairground_stdx::{Id, IndexVec, ProgramId, TaskId, TgId, nearest};
use std::collections::BTreeMap;
use std::ops::Range;

/// Most sessions that a note names.
const MOST_NAMED: usize = 12;
/// The autogroups of a scenario, and whose each task is in when it lies in the root group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Autogroups {
    /// Names and nice values of the sessions, in the order of the tasks that name them first.
    sessions: Vec<(String, i8)>,
    /// The session of each task, a row above; none for kernel threads and for who is of no session.
    of_task: IndexVec<TaskId, Option<usize>>,
    /// Tasks whose session is said and not that of a parent.
    own: IndexVec<TaskId, bool>,
    /// The row that the group of the first session gets; none while the sysctl is off.
    first: Option<TgId>,
}

impl Autogroups {
    /// Works out the sessions of `tasks`, all those of the workloads one after the other: a forked task that names none has that of the
    /// task that forks it.
    pub(crate) fn new(
        enabled: bool,
        sessions: &Sessions,
        groups: &Groups,
        workloads: &[Workload],
        tasks: &TaskSet,
        m: &mut Mistakes,
    ) -> Autogroups {
        let mut found = Autogroups::default();
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        let mut spans: IndexVec<TaskId, Option<&Range<usize>>> = IndexVec::new();
        for workload in workloads {
            for row in 0..workload.tasks.tasks.len() {
                let session = workload.sessions.get(row).and_then(Option::as_deref).map(|name| {
                    *rows.entry(name).or_insert_with(|| {
                        let nice = sessions.0.iter().find(|row| row.name.value == name).map_or(0, |row| row.nice);
                        found.sessions.push((name.to_string(), nice));
                        found.sessions.len() - 1
                    })
                });
                found.of_task.push(session);
                found.own.push(session.is_some());
                spans.push(workload.span.as_ref());
            }
        }
        for row in sessions.0.iter().filter(|row| !rows.contains_key(row.name.value.as_str())) {
            let (message, hint) = found.missing(&row.name.value);
            m.at(row.name.span.clone(), message, hint);
        }
        if found.sessions.is_empty() {
            return found;
        }
        let mut wrong = |task: TaskId, message: String, hint: &str| match spans[task] {
            Some(span) => m.at(span.clone(), message, hint),
            None => m.whole(message, hint),
        };
        for child in found.inherit(tasks) {
            let message = format!("task `{}` may be forked by tasks of different sessions", tasks.tasks[child].name);
            wrong(child, message, "Say which is its own: `session = \"NAME\"`.");
        }
        for (id, task) in tasks.tasks.iter_enumerated() {
            if found.own[id] && task.start == Start::Forked && task.group.is_none() && !tasks.groups.is_empty() {
                let message = format!("forked task `{}` has a session of its own, but no group", task.name);
                wrong(
                    id,
                    message,
                    "Whether it starts in a cgroup or in its autogroup would depend on its parent: name its `group`.",
                );
            }
        }
        if enabled {
            found.first = Some(TgId::from_index(tasks.groups.len()));
            found.clashes(groups, workloads, m);
        }
        found
    }

    /// Gives forked tasks the sessions of those that fork them; returns those for which these differ.
    ///
    /// Kernel: fork.c copy_signal(), autogroup.c sched_autogroup_fork(), v4.12–
    fn inherit(&mut self, tasks: &TaskSet) -> Vec<TaskId> {
        let forked = |code: &[Instr]| -> Vec<TaskId> {
            code.iter().filter_map(|instr| if let Instr::Fork { task } = instr { Some(*task) } else { None }).collect()
        };
        let forks: IndexVec<ProgramId, Vec<TaskId>> = tasks.programs.iter().map(|program| forked(&program.code)).collect();
        let inherits = |id: TaskId, own: &IndexVec<TaskId, bool>| tasks.tasks[id].start == Start::Forked && !own[id];
        let mut settled: IndexVec<TaskId, bool> = tasks.tasks.ids().map(|id| !inherits(id, &self.own)).collect();
        let mut parents: Vec<TaskId> = tasks.tasks.ids().filter(|&id| settled[id]).collect();
        let mut torn = Vec::new();
        while let Some(parent) = parents.pop() {
            for &child in forks[tasks.tasks[parent].program].iter().filter(|&&child| inherits(child, &self.own)) {
                if !std::mem::replace(&mut settled[child], true) {
                    self.of_task[child] = self.of_task[parent];
                    parents.push(child);
                } else if self.of_task[child] != self.of_task[parent] && !torn.contains(&child) {
                    torn.push(child);
                }
            }
        }
        torn
    }

    /// Cgroups that are called as an autogroup is.
    fn clashes(&self, groups: &Groups, workloads: &[Workload], m: &mut Mistakes) {
        for row in 0..self.sessions.len() {
            let path = path(row);
            let brought = || {
                let brings = |workload: &&Workload| workload.tasks.groups.iter().any(|group| group.name == path);
                workloads.iter().find(brings).map(|workload| workload.span.clone())
            };
            let Some(span) = groups.span_of(&path).map(|span| Some(span.clone())).or_else(brought) else { continue };
            let message = format!("group `{path}` has the name of the autogroup of session `{}`", self.sessions[row].0);
            let hint = "Call the group otherwise: both would be one row of the table of groups.";
            match span {
                Some(span) => m.at(span, message, hint),
                None => m.whole(message, hint),
            }
        }
    }

    /// The autogroup of a session; none while the sysctl is off.
    pub(crate) fn of_session(&self, name: &str) -> Result<Option<TgId>, Wrong> {
        let row = self.sessions.iter().position(|session| session.0 == name).ok_or_else(|| self.missing(name))?;
        Ok(self.row(row))
    }

    fn missing(&self, name: &str) -> Wrong {
        let hint = match nearest::nearest(name, self.sessions.iter().map(|session| session.0.as_str())) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => "A session is there when a task or a workload says so: `session = \"NAME\"`.".to_string(),
        };
        (format!("no task is of session `{name}`"), hint)
    }

    fn row(&self, session: usize) -> Option<TgId> {
        self.first.map(|first| TgId::from_index(first.index() + session))
    }

    /// Where a task is while it lies in the root group.
    ///
    /// Kernel: autogroup.c autogroup_task_group(), v4.12–
    fn of_task(&self, task: TaskId) -> Option<TgId> {
        self.of_task.get(task).copied().flatten().and_then(|session| self.row(session))
    }

    /// Who is moved to the root group comes into its autogroup.
    pub(crate) fn apply_to_change(&self, change: &mut Change) {
        if let Change::Group { task, group } = change {
            *group = group.or(self.of_task(*task));
        }
    }

    /// Makes the autogroups groups of the task set, in which everyone is who would be in the root group; does nothing while the sysctl
    /// is off.
    pub(crate) fn apply(&self, tasks: &mut TaskSet) {
        if self.first.is_none() {
            return;
        }
        for (row, &(_, nice)) in self.sessions.iter().enumerate() {
            tasks.groups.push(TaskGroupSpec { shares: nice_to_shares(nice), ..TaskGroupSpec::new(path(row), None) });
        }
        tasks.changes.iter_mut().for_each(|timed| self.apply_to_change(&mut timed.change));
        let mut written: BTreeMap<(ProgramId, TgId), ProgramId> = BTreeMap::new();
        for id in tasks.tasks.ids() {
            let Some(autogroup) = self.of_task(id) else { continue };
            let task = &mut tasks.tasks[id];
            // A forked one that inherits its session starts where its parent is, in a cgroup or in the autogroup of both.
            if task.start != Start::Forked || self.own[id] {
                task.group = task.group.or(Some(autogroup));
            }
            let programs = &mut tasks.programs;
            task.program = *written.entry((task.program, autogroup)).or_insert_with(|| {
                let mut program = programs[task.program].clone();
                let to_root = program.code.iter_mut().filter(|instr| **instr == Instr::SetGroup { group: None });
                if to_root.map(|instr| *instr = Instr::SetGroup { group: Some(autogroup) }).count() == 0 {
                    return task.program;
                }
                programs.push(program)
            });
        }
    }

    /// What people are told: which session has which autogroup, or why none has one.
    pub(crate) fn notes(&self, enabled: bool) -> Option<String> {
        match (enabled, self.sessions.len()) {
            (false, 0) => None,
            (false, _) => Some(format!("{SCHED_AUTOGROUP_ENABLED} is off: sessions have no groups of their own")),
            (true, 0) => Some(format!("{SCHED_AUTOGROUP_ENABLED} is on, but no task has a session: no autogroups")),
            (true, many) => {
                let rows = self.sessions.iter().enumerate().take(MOST_NAMED);
                let mut named: Vec<String> = rows.map(|(row, (name, _))| format!("{} is session `{name}`", path(row))).collect();
                if many > MOST_NAMED {
                    named.push(format!("and {} more", many - MOST_NAMED));
                }
                Some(named.join(", "))
            }
        }
    }
}

/// The name of the autogroup of that row: the kernel counts them from 1.
///
/// Kernel: autogroup.c autogroup_path(), v4.12–
fn path(row: usize) -> String {
    format!("/autogroup-{}", row + 1)
}

#[cfg(test)]
mod tests;
