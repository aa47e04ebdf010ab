//! The longest waits of a recording, and what the recorded kernel ran meanwhile.
//!
//! A record tells who ran, and when. It does not tell by which rule: that is what `conform` asks the model.

use crate::beside::Beside;
use crate::late::is_interruption;
use fairground::interval;
use fairground::perf_sched::{self, Origin, Source};
use fairground_metrics::Interval;
use fairground_model::{InGroup, PrevState, Section, Sink, TaskInfo, TraceEvent};
use fairground_report::units::format_ns;
use fairground_report::{Cell, Table, columns};
use fairground_scenario::{Control, Error, Overrides};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId, nearest};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which wait of a recording is told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordedOptions {
    /// Only waits of tasks of this name or pid.
    pub task: Option<String>,
    /// The one under way at this time, or the next one.
    pub at: Option<String>,
    /// Only waits of which a part lies in this interval.
    pub interval: Interval,
    /// How many of the longest waits are listed.
    pub top: usize,
    /// The kernel and machine of the model that is asked beside it.
    pub overrides: Overrides,
    /// A scenario that tells the model of groups, policies and the machine.
    pub scenario: Option<PathBuf>,
}

/// Whose decisions they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ruler {
    /// A kernel's, of which this is a record.
    Recorded,
    /// Those of a kernel tree in a run, by its name.
    Tree(String),
}

impl Ruler {
    fn name(&self) -> &str {
        match self {
            Ruler::Recorded => "the recorded kernel",
            Ruler::Tree(name) => name,
        }
    }
    /// What is not known of its reasons.
    fn says(&self) -> &'static str {
        match self {
            Ruler::Recorded => "The record tells who ran, not by which rule. ",
            Ruler::Tree(_) => "A tree's code decides, and does not say by which rule. ",
        }
    }
}

/// A time for which a task could run and did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedWait {
    /// Who waited.
    pub task: TaskId,
    /// When it was woken, or was taken off its CPU.
    pub from: Instant,
    /// When it ran.
    pub until: Instant,
    /// Whether it was taken off its CPU; else it was woken.
    pub preempted: bool,
}

impl RecordedWait {
    /// How long it was.
    pub fn length(&self) -> Ns {
        self.until.since(self.from)
    }
}

/// A stretch of what a CPU ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ran {
    /// When it began.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
    /// Where.
    pub cpu: CpuId,
    /// Who; nobody if the CPU idled.
    pub who: Option<TaskId>,
}

/// What the record tells of a wait.
#[derive(Clone, Debug)]
pub struct RecordedStory {
    /// Where the records come from, with how good they are.
    pub origin: Origin,
    /// How many waits there are.
    pub waits: usize,
    /// The longest ones, the longest first.
    pub top: Vec<RecordedWait>,
    /// The one that is told.
    pub one: RecordedWait,
    /// What the CPU ran on which it waited, in order of time.
    pub ran: Vec<Ran>,
    /// CPUs that idled meanwhile, and for how long, the longest first.
    pub idle: Vec<(CpuId, Ns)>,
    /// What interrupts, softirqs and the host took of that time, by kind, with how often; `None` if nothing of that is recorded.
    pub taken: Option<BTreeMap<&'static str, (Ns, u64)>>,
    /// Whether any wake-up is recorded.
    pub wakeups: bool,
    /// Whose decisions they are.
    by: Ruler,
    /// How many tasks the name that was asked for stands for, if there are several.
    pub twins: Option<usize>,
    /// What the model says of the same decisions; else why it is not asked.
    pub beside: Result<Beside, String>,
    names: BTreeMap<TaskId, TaskInfo>,
    /// The path of each task's control group, where the record tells it.
    groups: BTreeMap<TaskId, String>,
}

/// Whether a path is a recording, and neither a scenario nor a set that is simulated.
pub fn is_recording(path: &Path) -> bool {
    path.exists() && !perf_sched::is_scenario(path, &Source { simulate: true, ..Source::default() })
}

/// Reads a recording twice: for its waits, and for what ran during the one that is meant.
pub fn recorded(path: &Path, options: &RecordedOptions, control: Control<'_>) -> Result<RecordedStory, Error> {
    recorded_by(path, options, Ruler::Recorded, control)
}

pub(crate) fn recorded_by(
    path: &Path,
    options: &RecordedOptions,
    by: Ruler,
    control: Control<'_>,
) -> Result<RecordedStory, Error> {
    let moment = options.at.as_ref().map(|text| interval::moment("--at", text)).transpose()?;
    let mut waits = Waits::default();
    let origin = perf_sched::feed(path, &Source::default(), &mut waits, control)?;
    let extent = origin.extent;
    extent.check_interval(options.interval)?;
    if let Some(moment) = moment {
        extent.check("--at", moment)?;
    }
    let (at, window) = (moment.and_then(|moment| moment.instant(extent.epoch_ns)), options.interval.window(extent.epoch_ns));
    let (names, groups) = (waits.names, waits.groups);
    let named = |task: TaskId| match (&options.task, names.get(&task)) {
        (None, _) => true,
        (Some(wanted), Some(info)) => crate::is_called(wanted, &info.name, info.pid),
        (Some(_), None) => false,
    };
    if let Some(wanted) = options.task.as_ref().filter(|_| !names.keys().any(|&task| named(task))) {
        let near = nearest::nearest(wanted, names.values().map(|info| info.name.as_str()));
        let hint = near.map_or("`fairground latency` lists the tasks.".to_string(), |near| format!("Did you mean `{near}`?"));
        return Err(Error::one("command line", format!("--task: no task of the recording is called `{wanted}`"), hint));
    }
    let same = names.keys().filter(|&&task| named(task)).count();
    let (wakeups, twins) = (waits.wakeups, options.task.as_ref().and(Some(same)).filter(|&same| same > 1));
    let mut found: Vec<RecordedWait> =
        waits.found.into_iter().filter(|wait| named(wait.task) && window.overlap(wait.from, wait.until).is_some()).collect();
    let one = match at {
        Some(at) => found.iter().copied().filter(|wait| wait.until > at).min_by_key(|wait| (wait.from.max(at), wait.until)),
        None => found.iter().copied().reduce(|worst, wait| if wait.length() > worst.length() { wait } else { worst }),
    };
    let one = one.ok_or_else(|| {
        let (message, hint) = match at {
            Some(at) => (
                format!(
                    "--at: no such wait is recorded after {} s; the record ends at {} s",
                    extent.seconds(at),
                    extent.seconds(extent.last)
                ),
                "Times are those of the record, in seconds as perf prints them, or from its beginning: +1.5, 200ms.",
            ),
            None => (
                "no wait is recorded of these tasks in this time".to_string(),
                "A wait needs a wake-up, or a switch away, and a switch to the task.",
            ),
        };
        Error::one(path.display().to_string(), message, hint)
    })?;
    let mut meanwhile = Meanwhile::new(one);
    perf_sched::feed(path, &Source::default(), &mut meanwhile, control.quiet())?;
    let count = found.len();
    found.sort_by_key(|wait| (std::cmp::Reverse(wait.length()), wait.from));
    found.truncate(options.top);
    let meanwhile = meanwhile.finish();
    let idle = meanwhile.idle();
    let taken = meanwhile.tells_interrupts.then(|| meanwhile.taken());
    let ran = meanwhile.ran;
    let beside = Beside::ask(path, &one, &ran, options, control.quiet());
    Ok(RecordedStory { origin, waits: count, top: found, one, ran, idle, taken, wakeups, by, twins, beside, names, groups })
}

/// All waits of a record.
#[derive(Default)]
struct Waits {
    names: BTreeMap<TaskId, TaskInfo>,
    groups: BTreeMap<TaskId, String>,
    open: BTreeMap<TaskId, (Instant, bool)>,
    running: BTreeMap<TaskId, ()>,
    wakeups: bool,
    found: Vec<RecordedWait>,
}

impl Sink for Waits {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.names.insert(task, info.clone());
    }
    fn group(&mut self, _at: Instant, _cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.groups.insert(task, group.path().to_string());
    }
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, .. }
            | TraceEvent::SchedWakeup { task, .. }
            | TraceEvent::SchedWakeupNew { task, .. }
                if !self.running.contains_key(&task) =>
            {
                self.wakeups = true;
                self.open.entry(task).or_insert((at, false));
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    self.running.remove(&prev);
                    if prev_state == PrevState::Running {
                        self.open.insert(prev, (at, true));
                    }
                }
                if let Some(next) = next {
                    self.running.insert(next, ());
                    if let Some((from, preempted)) = self.open.remove(&next).filter(|row| row.0 < at) {
                        self.found.push(RecordedWait { task: next, from, until: at, preempted });
                    }
                }
            }
            _ => {}
        }
    }
}

/// What CPUs ran during one wait.
struct Meanwhile {
    wait: RecordedWait,
    /// Where the task waits.
    cpu: Option<CpuId>,
    /// What each CPU that was seen runs, and since when.
    curr: BTreeMap<CpuId, (Instant, Option<TaskId>)>,
    ran: Vec<Ran>,
    idle: BTreeMap<CpuId, Ns>,
    /// When interrupts, softirqs and the host had CPUs during the wait. Where the task waits may be told only later.
    sections: Vec<(CpuId, Section, Instant, Instant)>,
    /// Whether anything of that kind is recorded at all.
    tells_interrupts: bool,
}

impl Meanwhile {
    fn new(wait: RecordedWait) -> Meanwhile {
        let (curr, idle) = (BTreeMap::new(), BTreeMap::new());
        Meanwhile { wait, cpu: None, curr, ran: Vec::new(), idle, sections: Vec::new(), tells_interrupts: false }
    }
    /// A part of the kernel was at work.
    fn takes(&mut self, cpu: CpuId, section: Section, from: Instant, took: Ns) {
        self.tells_interrupts = true;
        let (from, to) = (from.max(self.wait.from), (from + took).min(self.wait.until));
        if from < to {
            self.sections.push((cpu, section, from, to));
        }
    }
    /// What they took of the CPUs where the task waited, while it waited there; by kind, with how often.
    fn taken(&self) -> BTreeMap<&'static str, (Ns, u64)> {
        let mut taken = BTreeMap::new();
        for &(cpu, section, from, to) in &self.sections {
            let there = self.ran.iter().filter(|ran| ran.cpu == cpu);
            let time: u64 = there.map(|ran| to.min(ran.to).saturating_since(from.max(ran.from)).0).sum();
            if time > 0 {
                let row = taken.entry(section.name()).or_insert((Ns::ZERO, 0));
                *row = (row.0 + Ns(time), row.1 + 1);
            }
        }
        taken
    }
    /// What a CPU ran since an instant ends now.
    fn ends(&mut self, cpu: CpuId, at: Instant) {
        let Some((since, who)) = self.curr.get_mut(&cpu) else { return };
        let (from, to) = ((*since).max(self.wait.from), at.min(self.wait.until));
        let who = *who;
        *since = at;
        if from >= to {
            return;
        }
        if self.cpu == Some(cpu) {
            self.ran.push(Ran { from, to, cpu, who });
        }
        if who.is_none() {
            *self.idle.entry(cpu).or_insert(Ns::ZERO) += to.since(from);
        }
    }
    /// The task goes to another CPU.
    fn moves(&mut self, cpu: CpuId, at: Instant) {
        if let Some(before) = self.cpu.filter(|&before| before != cpu) {
            self.ends(before, at);
        }
        if self.cpu != Some(cpu) {
            // What that CPU ran before is no part of the wait there.
            let own = self.cpu.take();
            self.ends(cpu, at);
            self.cpu = Some(cpu).or(own);
        }
    }
    fn finish(mut self) -> Self {
        let (until, cpus) = (self.wait.until, self.curr.keys().copied().collect::<Vec<_>>());
        cpus.into_iter().for_each(|cpu| self.ends(cpu, until));
        let waited_on = self.ran.iter().map(|row| row.cpu).collect::<Vec<_>>();
        self.idle.retain(|cpu, _| !waited_on.contains(cpu));
        self
    }
    /// The other CPUs that idled, the longest first.
    fn idle(&self) -> Vec<(CpuId, Ns)> {
        let mut idle: Vec<(CpuId, Ns)> = self.idle.iter().map(|row| (*row.0, *row.1)).collect();
        idle.sort_by_key(|row| (std::cmp::Reverse(row.1), row.0));
        idle
    }
}

impl Sink for Meanwhile {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => {
                if prev == Some(self.wait.task) && at <= self.wait.from {
                    self.moves(cpu, at);
                }
                self.ends(cpu, at);
                self.curr.insert(cpu, (at, next));
            }
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu }
                if task == self.wait.task && at <= self.wait.until =>
            {
                self.moves(target_cpu, at);
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } if task == self.wait.task && at <= self.wait.until => {
                self.moves(dest_cpu, at);
            }
            TraceEvent::KernelSection { section, took } if is_interruption(section) => self.takes(cpu, section, at, took),
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl RecordedStory {
    /// An instant as perf prints it.
    fn seconds(&self, at: Instant) -> String {
        self.origin.extent.seconds(at) + " s"
    }
    fn name(&self, task: TaskId) -> String {
        self.names.get(&task).map_or_else(|| format!("task {}", task.index()), |info| format!("{}:{}", info.name, info.pid))
    }
    /// The name, with the group where it is told.
    fn name_in_group(&self, task: TaskId) -> String {
        let group = self.groups.get(&task).map_or_else(String::new, |path| format!(" of group {path}"));
        self.name(task) + &group
    }
    /// A few lines: who waited, for how long, and what ran meanwhile.
    pub fn summary(&self) -> String {
        let one = &self.one;
        let began = if one.preempted { "when it was taken off its CPU" } else { "when it was woken" };
        let mut text = format!(
            "{} waited {}: from {}, {began}, to {}.\n",
            self.name_in_group(one.task),
            format_ns(one.length()),
            self.seconds(one.from),
            self.seconds(one.until)
        );
        text += &format!("While it waited {} ran on its CPU:\n", self.by.name());
        for (who, cpu, time, stretches) in self.sums().into_iter().take(6) {
            let who = who.map_or("(idle)".to_string(), |task| self.name_in_group(task));
            let times = if stretches == 1 { String::new() } else { format!(" in {stretches} stretches") };
            text += &format!("  {:>10}  {who} on CPU {cpu}{times}\n", format_ns(time));
        }
        text += &match self.idle.first() {
            Some((cpu, time)) => format!("CPU {cpu} idled for {} of the time.\n", format_ns(*time)),
            None => "No other CPU is seen to idle.\n".to_string(),
        };
        let of_name =
            |count: &usize| format!("{count} tasks of the record have that name; this is the longest wait of them all.\n");
        text += &self.twins.as_ref().map_or_else(String::new, of_name);
        text += &match &self.taken {
            Some(taken) if taken.is_empty() => "No interrupt, softirq or theft is recorded on its CPU meanwhile.\n".to_string(),
            Some(taken) => {
                let times = |count: u64| if count == 1 { String::new() } else { format!(" in {count} stretches") };
                let rows: Vec<String> =
                    taken.iter().map(|(name, (time, count))| format!("{name} {}{}", format_ns(*time), times(*count))).collect();
                format!("Of that time interrupts, softirqs and the host took: {}.\n", rows.join(", "))
            }
            None => {
                "Not recorded: interrupts, softirqs, stolen time, throttling. Their time counts for the task that they stopped.\n"
                    .to_string()
            }
        };
        if !self.wakeups {
            text += "No wake-up is recorded: only waits after a task was taken off its CPU are seen.\n";
        }
        text + self.by.says()
            + &match &self.beside {
                Ok(beside) => beside.summary(),
                Err(why) => format!("The model is not asked: {why}\n"),
            }
    }
    /// Who had the CPU, with the sum of the time and the stretches, the longest first.
    fn sums(&self) -> Vec<(Option<TaskId>, CpuId, Ns, usize)> {
        let mut sums: Vec<(Option<TaskId>, CpuId, Ns, usize)> = Vec::new();
        for &Ran { from, to, cpu, who } in &self.ran {
            match sums.iter_mut().find(|row| (row.0, row.1) == (who, cpu)) {
                Some(row) => (row.2, row.3) = (row.2 + to.since(from), row.3 + 1),
                None => sums.push((who, cpu, to.since(from), 1)),
            }
        }
        sums.sort_by_key(|row| std::cmp::Reverse(row.2));
        sums
    }
    /// The longest waits, what ran during the one that is told, and CPUs that idled.
    pub fn tables(&self) -> Vec<Table> {
        let mut columns =
            columns![left "task", right "waited" "wait_ns", right "from" "from_ns", right "to" "until_ns", left "after"];
        if !self.groups.is_empty() {
            columns.extend(columns![left "group"]);
        }
        let mut top = Table::new("waits", format!("the longest of {} waits", self.waits), columns);
        for wait in &self.top {
            let after = if wait.preempted { "preemption" } else { "wake-up" };
            let at = |at: Instant| Cell::new(self.seconds(at), at.ns());
            let mut cells =
                vec![self.name(wait.task).into(), Cell::ns(wait.length()), at(wait.from), at(wait.until), after.into()];
            if !self.groups.is_empty() {
                cells.push(self.groups.get(&wait.task).map_or_else(Cell::empty, |path| path.as_str().into()));
            }
            top.push(cells);
        }
        let mut ran = Table::new(
            "ran",
            "what its CPU ran meanwhile",
            columns![left "who ran" "who", right "cpu", right "time" "time_ns", right "stretches"],
        );
        for (who, cpu, time, stretches) in self.sums() {
            let who = who.map_or("(idle)".to_string(), |task| self.name(task));
            ran.push(vec![who.into(), u64::from(cpu.get()).into(), Cell::ns(time), (stretches as u64).into()]);
        }
        let mut taken = Table::new(
            "taken",
            "what interrupts and the host took of that",
            columns![left "what", right "time" "time_ns", right "stretches"],
        );
        for (what, (time, stretches)) in self.taken.iter().flatten() {
            taken.push(vec![(*what).into(), Cell::ns(*time), (*stretches).into()]);
        }
        let mut idle = Table::new("idle_cpus", "CPUs that idled meanwhile", columns![right "cpu", right "idle for" "total_ns"]);
        for (cpu, time) in &self.idle {
            idle.push(vec![u64::from(cpu.get()).into(), Cell::ns(*time)]);
        }
        let mut tables = vec![ran, taken];
        tables.extend(self.beside.as_ref().ok().map(|beside| beside.table(&self.origin.extent)));
        tables.extend([idle, top]);
        tables.retain(|table| !table.rows().is_empty());
        tables
    }
    /// The document of `explain TRACE --json`.
    pub fn document(&self) -> fairground_report::Document {
        let mut document = self.origin.document("explain");
        document
            .set("task", self.name(self.one.task))
            .set("from_ns", self.one.from.ns())
            .set("until_ns", self.one.until.ns())
            .set("delay_ns", self.one.length().0)
            .set("kind", if self.one.preempted { "preemption" } else { "wake-up" })
            .set("waits", self.waits as u64)
            .set("interrupts_recorded", self.taken.is_some())
            .set("wakeups_recorded", self.wakeups)
            .set("model", self.beside.as_ref().ok().map(|beside| beside.made.profile.clone()))
            .set("story", self.summary())
            .set_tables(&self.tables());
        document
    }
}
