//! A scenario in the making: what families put together, and its text.

use crate::delay::Measure;
use std::fmt::Write as _;

/// A row of `tasks`.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// What it does, and all else: the fields of the row as text.
    pub(crate) fields: String,
}

/// A scenario in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) seed: u64,
    pub(crate) duration_ms: u64,
    pub(crate) cpus: u64,
    /// Of an even number of CPUs: 1 two threads per core, 2 two sockets, else one socket of cores.
    pub(crate) shape: u64,
    /// Who wakes the task that is asked about, in place of a timer; if it is not the only CPU.
    pub(crate) feeder: Option<String>,
    /// A group with more quota than it can use, for the task that is asked about: a false trail.
    pub(crate) ample: Option<String>,
    pub(crate) hz: u64,
    /// Further lines of `[machine]`, and its tables.
    pub(crate) machine: Vec<String>,
    pub(crate) kernel: String,
    pub(crate) preemption: Option<&'static str>,
    pub(crate) features: Vec<String>,
    /// Tunables with their values.
    pub(crate) tunables: Vec<(String, String)>,
    /// Paths of groups with lines of their files.
    pub(crate) groups: Vec<(String, Vec<String>)>,
    /// Names of locks with their kinds.
    pub(crate) locks: Vec<(String, String)>,
    /// Pipes: `NAME = 1`, with the messages that fit.
    pub(crate) pipes: Vec<String>,
    /// Words of memory: `NAME = 0`, with what each holds at first.
    pub(crate) words: Vec<String>,
    pub(crate) tasks: Vec<Row>,
    /// Named workloads: name and arguments.
    pub(crate) workloads: Vec<(&'static str, String)>,
    /// Times and changes.
    pub(crate) changes: Vec<(String, String)>,
    /// Further tables, as text.
    pub(crate) tables: Vec<String>,
    /// What is measured, if not each delay of the task by itself.
    pub(crate) measure: Option<Measure>,
}

impl Scene {
    /// Adds a task.
    pub(crate) fn task(&mut self, name: &str, fields: impl Into<String>) {
        self.tasks.push(Row { name: name.to_string(), fields: fields.into() });
    }
    /// Lets a task that sleeps once a round be woken by the feeder, if there is one: from another CPU, through a pipe.
    pub(crate) fn feed(&mut self, task: &str) {
        const SLEEP: &str = "\"sleep ";
        let Some(feeder) = self.feeder.take().filter(|_| self.cpus > 1) else { return };
        let is_fed =
            |row: &&mut Row| row.name == task && row.fields.starts_with("do =") && row.fields.matches(SLEEP).count() == 1;
        let Some(row) = self.tasks.iter_mut().find(is_fed) else { return };
        let Some((before, rest)) = row.fields.split_once(SLEEP) else { return };
        let Some((length, after)) = rest.split_once('"') else { return };
        let cpu = u64::from(row.fields.contains("cpus = \"0\""));
        let does = format!("do = [\"sleep {length}\", \"write {feeder}\"], cpus = \"{cpu}\", policy = \"fifo:99\"");
        row.fields = format!("{before}\"read {feeder}\"{after}");
        self.task(&feeder, does);
        self.pipes.push(format!("{feeder} = 1"));
    }
    /// Puts a task into the group with the ample quota, if there is one and the task is a fair one without a group.
    pub(crate) fn put_into_ample(&mut self, task: &str) {
        let Some(path) = self.ample.take() else { return };
        let has_place = |fields: &str| ["group =", "policy =", "kthread =", "forked ="].iter().any(|key| fields.contains(key));
        let Some(row) = self.tasks.iter_mut().find(|row| row.name == task && !has_place(&row.fields)) else { return };
        row.fields += &format!(", group = \"{path}\"");
        let quota = 100_000 * self.cpus + 50_000;
        self.file(&path, format!("\"cpu.max\" = \"{quota} 100000\""));
    }
    /// Adds a group with a file, or adds the file to it.
    pub(crate) fn file(&mut self, path: &str, line: impl Into<String>) {
        self.group(path);
        let row = self.groups.iter_mut().find(|row| row.0 == path);
        row.expect("invariant: the group was added").1.push(line.into());
    }
    /// Adds a group, if it is not there.
    pub(crate) fn group(&mut self, path: &str) {
        if self.groups.iter().all(|row| row.0 != path) {
            self.groups.push((path.to_string(), Vec::new()));
        }
    }
    /// Sets a tunable.
    pub(crate) fn tunable(&mut self, name: &str, value: impl Into<String>) {
        self.tunables.retain(|row| row.0 != name);
        self.tunables.push((name.to_string(), value.into()));
    }
    /// The scenario as a file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("seed     = {}\nduration = \"{}ms\"\n\n[machine]\n", self.seed, self.duration_ms);
        let lists_cpus = self.machine.iter().any(|line| ["cpu ", "preset ", "cores "].iter().any(|key| line.starts_with(key)));
        let half = self.cpus / 2;
        let _ = match self.shape {
            _ if lists_cpus => Ok(()),
            1 if self.cpus == 2 * half => writeln!(text, "sockets = 1\ncores = {half}\nthreads = 2"),
            2 if self.cpus == 2 * half => writeln!(text, "sockets = 2\ncores = {half}\nthreads = 1"),
            _ => writeln!(text, "preset = \"smp-{}\"", self.cpus),
        };
        let _ = writeln!(text, "hz = {}", self.hz);
        self.machine.iter().for_each(|line| text += &format!("{line}\n"));
        let _ = writeln!(text, "\n[profile]\nkernel = \"{}\"", self.kernel);
        if let Some(preemption) = self.preemption {
            let _ = writeln!(text, "preemption = \"{preemption}\"");
        }
        let quoted = |list: Vec<String>| list.join(", ");
        if !self.features.is_empty() {
            let _ = writeln!(text, "features = [{}]", quoted(self.features.iter().map(|name| format!("\"{name}\"")).collect()));
        }
        if !self.tunables.is_empty() {
            let rows = self.tunables.iter().map(|(name, value)| format!("{name} = \"{value}\"")).collect();
            let _ = writeln!(text, "tunables = {{ {} }}", quoted(rows));
        }
        for (path, files) in &self.groups {
            let _ = writeln!(text, "\n[[group]]\npath = \"{path}\"");
            files.iter().for_each(|line| text += &format!("{line}\n"));
        }
        if !self.tasks.is_empty() {
            text += "\n[[workload]]\n";
            let locks: Vec<String> = self.locks.iter().map(|(name, kind)| format!("{name} = \"{kind}\"")).collect();
            for (key, rows) in [("locks", &locks), ("pipes", &self.pipes), ("words", &self.words)] {
                if !rows.is_empty() {
                    let _ = writeln!(text, "{key} = {{ {} }}", rows.join(", "));
                }
            }
            text += "tasks = [\n";
            for row in &self.tasks {
                let _ = writeln!(text, "    {{ name = \"{}\", {} }},", row.name, row.fields);
            }
            text += "]\n";
        }
        self.tables.iter().for_each(|table| text += &format!("\n{table}\n"));
        for (name, args) in &self.workloads {
            let _ = writeln!(text, "\n[[workload]]\nname = \"{name}\"\nargs = {{ {args} }}");
        }
        for (time, change) in &self.changes {
            let _ = writeln!(text, "\n[[at]]\ntime = \"{time}\"\ndo = \"{change}\"");
        }
        text
    }
}
