//! Where two runs part: the first record that differs, with the records before it.

use fairground_model::{Decision, IdKind, Sink, TaskInfo, TraceEvent};
use fairground_report::document::hex;
use fairground_report::{Document, Input, Table, columns};
use fairground_scenario::{Control, Error, Scenario, guard};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};
use std::collections::VecDeque;

/// Records shown before the first difference.
const CONTEXT: usize = 20;
/// Simulated time by which both runs advance in turn.
const STRIDE: Ns = Ns::from_ms(1);

/// One record with its time and CPU.
pub type Record = (Instant, CpuId, TraceEvent);

/// What two runs have in common, and where they part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunsDiff {
    /// Records that are equal in both runs, from the start.
    pub equal: u64,
    /// The last of them, oldest first.
    pub before: Vec<Record>,
    /// The first record of A that differs; `None` if A ends here.
    pub a: Option<Record>,
    /// The first record of B that differs.
    pub b: Option<Record>,
    /// The tasks by row, to show their names: those of A.
    pub tasks: Vec<TaskInfo>,
    /// Digests of both runs, as far as they were stepped.
    pub digests: (u128, u128),
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

impl RunsDiff {
    /// Whether the runs differ.
    pub fn differs(&self) -> bool {
        self.a != self.b
    }
}

#[derive(Default)]
struct Collector {
    records: VecDeque<Record>,
    tasks: Vec<TaskInfo>,
}

impl Sink for Collector {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        let index = task.get() as usize;
        if self.tasks.len() <= index {
            self.tasks.resize(index + 1, TaskInfo::default());
        }
        self.tasks[index] = info.clone();
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.records.push_back((at, cpu, *event));
    }
}

/// Steps both scenarios until their records differ or both have ended.
pub fn diff_runs(a: &Scenario, b: &Scenario, control: Control<'_>) -> Result<RunsDiff, Error> {
    let mut one = Side::new(a)?;
    let mut two = Side::new(b)?;
    let mut diff = RunsDiff::default();
    let mut before: VecDeque<Record> = VecDeque::with_capacity(CONTEXT);
    let total = a.duration.0.max(b.duration.0);
    let mut until = Instant::ZERO;
    loop {
        until += STRIDE;
        one.advance(until)?;
        two.advance(until)?;
        while let (Some(left), Some(right)) = (one.sink.records.front(), two.sink.records.front()) {
            if left != right {
                break;
            }
            if before.len() == CONTEXT {
                before.pop_front();
            }
            before.push_back(*left);
            diff.equal += 1;
            one.sink.records.pop_front();
            two.sink.records.pop_front();
        }
        let (left, right) = (one.sink.records.front().copied(), two.sink.records.front().copied());
        diff.interrupted = control.stopped();
        control.at(until.ns().min(total), total);
        if left.is_some() || right.is_some() || (one.done && two.done) || diff.interrupted {
            (diff.a, diff.b) = if diff.interrupted && left.is_none() { (None, None) } else { (left, right) };
            break;
        }
    }
    diff.before = before.into();
    diff.digests = (one.simulation.digest(), two.simulation.digest());
    diff.tasks = one.sink.tasks;
    Ok(diff)
}

/// The last equal records, then the first that differ: `side  time  cpu  record`.
pub fn diff_table(diff: &RunsDiff) -> Table {
    let columns = columns![left "run", right "time ns" "at_ns", right "cpu", left "record"];
    let mut table = Table::new("diff_runs", "", columns);
    let mut push = |side: &str, record: &Record| {
        let (at, cpu, event) = record;
        table.push(vec![side.into(), at.ns().into(), u64::from(cpu.get()).into(), sentence(event, &diff.tasks).into()]);
    };
    diff.before.iter().for_each(|record| push("both", record));
    if let Some(record) = &diff.a {
        push("A", record);
    }
    if let Some(record) = &diff.b {
        push("B", record);
    }
    table
}

/// Where the runs part, and what was compared.
pub fn summary(diff: &RunsDiff, a: &Scenario, b: &Scenario) -> Vec<String> {
    let line = |side: &str, scenario: &Scenario| {
        format!("{side}: {}, {}, seed {}", scenario.name(), scenario.profile.full_name(), scenario.seed)
    };
    let equal = diff.equal;
    let verdict = match (diff.differs(), diff.a.or(diff.b), diff.a.is_some(), diff.b.is_some()) {
        (false, ..) if diff.interrupted => format!("No difference in the first {equal} records; then it was interrupted."),
        (false, ..) => format!("No difference: {equal} records are equal."),
        (true, Some((at, ..)), true, true) => format!("The runs differ after {equal} equal records, at {} ns.", at.ns()),
        (true, _, true, _) => format!("B ends after {equal} equal records."),
        (true, ..) => format!("A ends after {equal} equal records."),
    };
    vec![verdict, line("A", a), line("B", b)]
}

/// The document of `diff-runs --json`.
pub fn document(diff: &RunsDiff, a: &Scenario, b: &Scenario) -> Document {
    let inputs = [a, b].map(|scenario| Input::new(&scenario.name(), scenario.digest()));
    let mut document = Document::new("diff-runs", &inputs, Some(a.seed), Some(diff.digests.0));
    document
        .set("digest_b", hex(diff.digests.1))
        .set("differs", diff.differs())
        .set("equal_records", diff.equal)
        .set("summary", summary(diff, a, b))
        .set("partial", diff.interrupted)
        .set_tables(&[diff_table(diff)]);
    document
}

/// A record in the words of the kernel's tracepoints.
fn sentence(event: &TraceEvent, tasks: &[TaskInfo]) -> String {
    let name = |task: TaskId| tasks.get(task.index()).map_or_else(|| format!("task{task}"), |info| info.name.clone());
    let or_idle = |task: Option<TaskId>| task.map_or_else(|| "idle".to_string(), name);
    match *event {
        TraceEvent::SchedWaking { task, target_cpu, waker, .. } => {
            format!("sched_waking {} by {}, last on CPU {target_cpu}", name(task), or_idle(waker))
        }
        TraceEvent::SchedWakeup { task, target_cpu } => format!("sched_wakeup {} on CPU {target_cpu}", name(task)),
        TraceEvent::SchedWakeupNew { task, target_cpu } => format!("sched_wakeup_new {} on CPU {target_cpu}", name(task)),
        TraceEvent::SchedSwitch { prev, prev_state, next } => {
            format!("sched_switch {} ({}) to {}", or_idle(prev), prev_state.letter(), or_idle(next))
        }
        TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
            format!("sched_migrate_task {} from CPU {orig_cpu} to {dest_cpu}", name(task))
        }
        TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
            let vruntime = vruntime.map_or_else(String::new, |vruntime| format!(", vruntime {}", vruntime.0));
            format!("sched_stat_runtime {} ran {runtime}{vruntime}", name(task))
        }
        TraceEvent::SchedProcessFork { parent, child } => format!("sched_process_fork {} by {}", name(child), or_idle(parent)),
        TraceEvent::CpuFrequency { cpu, khz } => format!("cpu_frequency {cpu} {khz} kHz"),
        TraceEvent::SchedProcessExit { task } => format!("sched_process_exit {}", name(task)),
        TraceEvent::Decision(Decision { reason, a, b }) => {
            let (kind_a, kind_b) = reason.ids();
            let shown = |kind: IdKind, id: u32| match kind {
                IdKind::Task => name(TaskId::new(id)),
                IdKind::Cpu | IdKind::Ns => id.to_string(),
                IdKind::None => String::new(),
            };
            let text = reason.sentence().replace("{b}", &shown(kind_b, b)).replace("{a}", &shown(kind_a, a));
            format!("{}: {text}", reason.slug())
        }
        TraceEvent::KernelWarn(warn) => format!("kernel-warn {}: {}", warn.function(), warn.condition()),
        TraceEvent::Marker { task, marker, value } => format!("marker {marker} of {}: {value}", name(task)),
        ref other => format!("{other:?}"),
    }
}

struct Side<'s> {
    scenario: &'s Scenario,
    simulation: Simulation,
    sink: Collector,
    done: bool,
}

impl<'s> Side<'s> {
    fn new(scenario: &'s Scenario) -> Result<Side<'s>, Error> {
        let simulation = Simulation::new(scenario.setup()?).map_err(|mistakes| scenario.wrong(mistakes))?;
        let mut sink = Collector::default();
        simulation.introduce(&mut sink);
        Ok(Side { scenario, simulation, sink, done: false })
    }
    fn advance(&mut self, until: Instant) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let until = if until > self.simulation.end() { Instant::MAX } else { until };
        let flow = guard::catch(|| self.simulation.run_until(until, &mut self.sink))
            .map_err(|broken| Error::Broken(Box::new(broken)))?;
        let flow = flow.map_err(|stopped| self.scenario.stopped(&stopped))?;
        self.done = flow == Flow::Done;
        Ok(())
    }
}
