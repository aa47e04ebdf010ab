//! What `perf sched timehist` and `perf sched latency` print.

use crate::columns;
use crate::table::{Cell, Table};
use crate::units::{counted, fixed, format_ns};
use fairground_metrics::Histogram;
use fairground_metrics::timehist::{LatencyRow, LatencyTable, Summary, TimeHistRow, WakeupRow};
use fairground_model::TaskInfo;
use fairground_stdx::{Instant, Ns};
use serde_json::{Value, json};

/// By what the rows of the latency table are ordered, largest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LatencyOrder {
    /// The mean delay.
    #[default]
    Avg,
    /// The longest delay.
    Max,
    /// How often a task got the CPU.
    Switch,
    /// The run time.
    Runtime,
}

/// Milliseconds with six digits, as exact as times are.
fn ms(length: Ns) -> String {
    fixed(length.0, 1_000_000, 6)
}

/// What a clock shows, in seconds with nine digits.
fn clock(ns: u64) -> String {
    fixed(ns, 1_000_000_000, 9)
}

/// A command, or one task of it, as perf names it.
pub(crate) fn name_of(row: &LatencyRow) -> String {
    match row.pid {
        Some(pid) => format!("{}:{pid}", row.name),
        None => format!("{}:({})", row.name, row.tasks),
    }
}

/// The rows in that order. Like perf, equal rows are ordered by the other keys; last by name, so that the order is always the same.
pub(crate) fn in_order(latency: &LatencyTable, order: LatencyOrder) -> Vec<&LatencyRow> {
    let mut rows: Vec<&LatencyRow> = latency.rows.iter().collect();
    rows.sort_by(|a, b| keys(b, order).cmp(&keys(a, order)).then_with(|| a.name.cmp(&b.name)).then(a.pid.cmp(&b.pid)));
    rows
}

/// The table of `perf sched latency`; times are those of a clock that shows `epoch_ns` at the instant 0.
pub fn latency_table(latency: &LatencyTable, order: LatencyOrder, end: Instant, epoch_ns: u64) -> Table {
    let mut columns = columns![
        left "task", right "runtime ms" "runtime_ns", right "switches", right "avg delay ms" "delay_avg_ns",
        right "max delay ms" "delay_max_ns", right "max start s" "delay_max_start_ns",
        spare right "max end s" "delay_max_end_ns",
    ];
    let has_groups = latency.rows.iter().any(|row| row.group.is_some());
    if has_groups {
        columns.extend(columns![left "group"]);
    }
    let mut table = Table::new("latency", "Scheduling latency", columns);
    table.grows("tasks", &[]);
    let time = |at: Instant| {
        let clock_ns = epoch_ns.saturating_add(at.ns());
        Cell::new(clock(clock_ns), clock_ns)
    };
    for row in in_order(latency, order) {
        let mut cells = vec![
            name_of(row).into(),
            Cell::new(ms(row.runtime), row.runtime.0),
            Cell::count(row.switches),
            Cell::new(ms(row.avg()), row.avg().0),
            Cell::new(ms(row.max.length), row.max.length.0),
            time(row.max.from),
            time(row.max.to),
        ];
        if has_groups {
            cells.push(row.group.clone().map_or_else(Cell::empty, Cell::from));
        }
        table.push(cells);
    }
    if let Some(longest) = latency.pending.first() {
        table.note(format!(
            "{} waiting at the end, not counted; longest {}:{}, for {}",
            latency.pending.len(),
            longest.name,
            longest.pid,
            format_ns(end.saturating_since(longest.from)),
        ));
    }
    table
}

/// What the table says, in a few lines.
pub fn latency_summary(name: &str, latency: &LatencyTable, epoch_ns: u64) -> Vec<String> {
    let mut all = Histogram::new();
    for row in &latency.rows {
        all.merge(&row.after_wakeup);
        all.merge(&row.after_preemption);
    }
    let tasks: u64 = latency.rows.iter().map(|row| row.tasks).sum();
    let mut lines = vec![match all.len() {
        0 => format!("{name}: {} that did not wait", counted(tasks, "task")),
        delays => format!(
            "{name}: {}, {} of {} in the mean, p99 {}",
            counted(tasks, "task"),
            counted(delays, "delay"),
            format_ns(Ns(all.mean())),
            format_ns(Ns(all.quantile(990)))
        ),
    }];
    let longest = latency.rows.iter().reduce(|most, row| if row.max.length > most.max.length { row } else { most });
    lines.extend(longest.filter(|row| row.max.length > Ns::ZERO).map(|row| {
        let time = |at: Instant| clock(epoch_ns.saturating_add(at.ns()));
        let (from, to) = (time(row.max.from), time(row.max.to));
        format!("longest     {} waited {}, from {from} to {to} s", name_of(row), format_ns(row.max.length))
    }));
    lines
}

fn keys(row: &LatencyRow, order: LatencyOrder) -> [u64; 4] {
    let (avg, max, switches, runtime) = (row.avg().0, row.max.length.0, row.switches, row.runtime.0);
    match order {
        LatencyOrder::Avg => [avg, max, switches, runtime],
        LatencyOrder::Max => [max, avg, switches, runtime],
        LatencyOrder::Switch => [switches, avg, max, runtime],
        LatencyOrder::Runtime => [runtime, avg, max, switches],
    }
}

/// What lines of timehist show beside what they always do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeHistColumns {
    /// The state in which a task was switched away.
    pub state: bool,
    /// Times of the recording's own clock; else from the first event.
    pub clock: bool,
    /// Fits 80 columns: three digits of each time less.
    pub narrow: bool,
}

/// Columns of text that lines take which are not narrow.
pub const WIDE: usize = 100;
/// How wide columns are: time, CPU, task, wait, class, delay, run.
const WIDTHS: [usize; 7] = [15, 6, 25, 13, 7, 13, 13];
const NARROW: [usize; 7] = [12, 4, 22, 9, 7, 9, 9];

impl TimeHistColumns {
    /// Those that fit a terminal.
    pub fn fitting(self, width: Option<usize>) -> TimeHistColumns {
        TimeHistColumns { narrow: width.is_some_and(|width| width < WIDE), ..self }
    }
    fn time(self, at: Instant, clock_ns: u64) -> String {
        let ns = if self.clock { clock_ns } else { at.ns() };
        if self.narrow { fixed(ns / 1000, 1_000_000, 6) } else { clock(ns) }
    }
    fn ms(self, length: Ns) -> String {
        if self.narrow { fixed(length.0, 1_000_000, 3) } else { ms(length) }
    }
    fn cpu(self, cpu: u32) -> String {
        if self.narrow { format!("{cpu:04}") } else { format!("[{cpu:04}]") }
    }
    fn line(self, cells: [&str; 7], state: &str) -> String {
        let [time, cpu, task, wait, class, delay, run] = if self.narrow { NARROW } else { WIDTHS };
        let state = if self.state { format!(" {state}") } else { String::new() };
        let left = format!("{:>time$} {:>cpu$} {:<task$} {:>wait$}", cells[0], cells[1], cells[2], cells[3]);
        format!("{left} {:<class$} {:>delay$} {:>run$}{state}\n", cells[4], cells[5], cells[6])
    }
}

/// The headings above lines of [`timehist_line`].
pub fn timehist_heading(shown: TimeHistColumns) -> String {
    let widths = if shown.narrow { NARROW } else { WIDTHS };
    let rules = widths.map(|width| "-".repeat(width));
    let delay = if shown.narrow { "delay ms" } else { "sch delay ms" };
    shown.line(["time s", "cpu", "task[pid]", "wait ms", "class", delay, "run ms"], "S")
        + &shown.line(rules.each_ref().map(String::as_str), "-")
}

/// One switch away from a task as a line; its control group stands at the end where the trace tells it.
pub fn timehist_line(row: &TimeHistRow, info: &TaskInfo, group: Option<&str>, shown: TimeHistColumns) -> String {
    let known = |length: Option<Ns>| length.map_or_else(|| "-".to_string(), |length| shown.ms(length));
    let cells = [
        shown.time(row.at, row.clock_ns),
        shown.cpu(row.cpu.get()),
        format!("{}[{}]", info.name, info.pid),
        known(row.wait.map(|wait| wait.length)),
        row.wait.map_or("-", |wait| wait.class.name()).to_string(),
        shown.ms(row.delay),
        known(row.run),
    ];
    let line = shown.line(cells.each_ref().map(String::as_str), row.state.letter());
    match group {
        Some(path) => format!("{} {path}\n", line.trim_end_matches('\n')),
        None => line,
    }
}

/// A wake-up as a line; who ran there, if anybody, is the waker.
pub fn wakeup_line(row: &WakeupRow<'_>, shown: TimeHistColumns) -> String {
    let named = |info: &TaskInfo| format!("{}[{}]", info.name, info.pid);
    let [time, cpu, task, ..] = if shown.narrow { NARROW } else { WIDTHS };
    format!(
        "{:>time$} {:>cpu$} {:<task$} awakened: {}\n",
        shown.time(row.at, row.clock_ns),
        shown.cpu(row.cpu.get()),
        row.waker.map_or("<idle>".to_string(), named),
        named(row.task),
    )
}

/// A wake-up as an object.
pub fn wakeup_json(row: &WakeupRow<'_>) -> Value {
    json!({
        "time_ns": row.at.ns(),
        "clock_ns": row.clock_ns,
        "cpu": row.cpu.get(),
        "waker": row.waker.map(|info| info.name.as_str()),
        "waker_pid": row.waker.map(|info| info.pid),
        "awakened": row.task.name,
        "pid": row.task.pid,
    })
}

/// One switch away from a task as an object; what the trace does not tell is null.
pub fn timehist_json(row: &TimeHistRow, info: &TaskInfo, group: Option<&str>) -> Value {
    let mut object = json!({
        "time_ns": row.at.ns(),
        "clock_ns": row.clock_ns,
        "cpu": row.cpu.get(),
        "task": info.name,
        "pid": info.pid,
        "wait_ns": row.wait.map(|wait| wait.length.0),
        "wait_class": row.wait.map(|wait| wait.class.name()),
        "delay_ns": row.delay.0,
        "run_ns": row.run.map(|run| run.0),
        "state": row.state.letter(),
    });
    if let Some(path) = group {
        object["group"] = path.into();
    }
    object
}

/// The sums over all tasks, in a few lines; times are those of a clock that shows `epoch_ns` at the instant 0.
pub fn summary_lines(name: &str, summary: &Summary, epoch_ns: u64) -> Vec<String> {
    let rows: Vec<_> = summary.rows().collect();
    if rows.is_empty() {
        return vec![format!("{name}: no switch away from such a task, or on such a CPU, is in the record")];
    }
    let turns: u64 = rows.iter().map(|row| row.run.count).sum();
    let (ran, waited) = (rows.iter().map(|row| row.run.total.0).sum(), rows.iter().map(|row| row.delay.total.0).sum());
    let waits = match rows.iter().any(|row| row.delay.count > 0) {
        true => format!("waited {} for a CPU after wake-ups", format_ns(Ns(waited))),
        false => "are not seen to wait after a wake-up".to_string(),
    };
    let (turns, tasks) = (counted(turns, "turn"), counted(rows.len() as u64, "task"));
    let mut lines = vec![format!("{name}: {turns} of {tasks}, which ran {} and {waits}", format_ns(Ns(ran)))];
    let longest = rows.iter().reduce(|most, row| if row.delay.max > most.delay.max { row } else { most });
    lines.extend(longest.filter(|row| row.delay.max > Ns::ZERO).map(|row| {
        let at = clock(epoch_ns.saturating_add(row.delay.max_at.ns()));
        format!("longest     {}[{}] waited {}, until {at} s", row.info.name, row.info.pid, format_ns(row.delay.max))
    }));
    lines
}

/// Sums by task; times are those of a clock that shows `epoch_ns` at the instant 0.
pub fn summary_table(summary: &Summary, epoch_ns: u64) -> Table {
    let columns = columns![
        left "task", right "pid", right "runs", right "run ms" "run_ns", spare right "min" "run_min_ns",
        spare right "avg" "run_avg_ns", spare right "max" "run_max_ns", spare right "preempt ms" "preempt_ns",
        spare right "iowait ms" "iowait_ns", spare right "sleep ms" "sleep_ns", right "delays", right "delay ms" "delay_ns",
        right "max delay" "delay_max_ns", right "at s" "delay_max_at_ns",
    ];
    let mut table = Table::new("timehist_summary", "Times by task", columns);
    table.grows("tasks", &["delay_max_ns", "run_ns"]);
    let time = |length: Ns| Cell::new(ms(length), length.0);
    let shown = |at: Instant| {
        let clock_ns = epoch_ns.saturating_add(at.ns());
        Cell::new(clock(clock_ns), clock_ns)
    };
    for row in summary.rows() {
        let [preempt, iowait, sleep] = row.waits.map(|wait| time(wait.total));
        let (run, delay) = (row.run, row.delay);
        table.push(vec![
            row.info.name.clone().into(),
            u64::from(row.info.pid).into(),
            Cell::count(run.count),
            time(run.total),
            time(run.min),
            time(run.mean()),
            time(run.max),
            preempt,
            iowait,
            sleep,
            Cell::count(delay.count),
            time(delay.total),
            time(delay.max),
            if delay.count > 0 { shown(delay.max_at) } else { Cell::empty() },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use fairground_metrics::timehist::{LongestDelay, PendingDelay, Wait, WaitClass};
    use fairground_model::PrevState;
    use fairground_stdx::{CpuId, TaskId};

    fn rows() -> [(TimeHistRow, TaskInfo); 2] {
        let info = |name: &str, pid| TaskInfo { name: name.into(), pid, prio: 120 };
        let row = |task, at, wait, delay, run| TimeHistRow {
            at: Instant::from_ns(at),
            clock_ns: 70_000_000_000 + at,
            cpu: CpuId::new(3),
            task: TaskId::new(task),
            run,
            wait,
            delay: Ns(delay),
            state: PrevState::Sleeping,
        };
        let wait = Some(Wait { class: WaitClass::Iowait, length: Ns(11) });
        [
            (row(0, 1_000_000_040, wait, 6, Some(Ns(9_000_000))), info("player", 7)),
            (row(1, 50, None, 0, None), info("kworker/3:1", 31)),
        ]
    }

    #[test]
    fn lines_stand_under_their_headings() {
        let lines = rows().map(|(row, info)| timehist_line(&row, &info, None, TimeHistColumns::default()));
        expect![[r#"
                     time s    cpu task[pid]                       wait ms class    sch delay ms        run ms
            --------------- ------ ------------------------- ------------- ------- ------------- -------------
                1.000000040 [0003] player[7]                      0.000011 iowait       0.000006      9.000000
                0.000000050 [0003] kworker/3:1[31]                       - -            0.000000             -
        "#]]
        .assert_eq(&(timehist_heading(TimeHistColumns::default()) + &lines.concat()));
        let [(row, info), _] = rows();
        expect![[r#"{"time_ns":1000000040,"clock_ns":71000000040,"cpu":3,"task":"player","pid":7,"wait_ns":11,"wait_class":"iowait","delay_ns":6,"run_ns":9000000,"state":"S"}"#]].assert_eq(&timehist_json(&row, &info, None).to_string());
        let told = timehist_line(&row, &info, Some("/web"), TimeHistColumns { state: true, ..TimeHistColumns::default() });
        assert!(told.ends_with("9.000000 S /web\n"), "{told}");
        assert_eq!(timehist_json(&row, &info, Some("/web"))["group"], "/web");
    }

    #[test]
    fn summary_by_task() {
        let mut summary = Summary::default();
        rows().iter().for_each(|(row, info)| summary.add(row, info));
        expect![[r#"
            Times by task
            task         pid  runs    run ms       min       avg       max  preempt ms  iowait ms  sleep ms  delays  delay ms  max delay         at s
            -----------  ---  ----  --------  --------  --------  --------  ----------  ---------  --------  ------  --------  ---------  -----------
            player         7     1  9.000000  9.000000  9.000000  9.000000    0.000000   0.000011  0.000000       1  0.000006   0.000006  0.991000040
            kworker/3:1   31     0  0.000000  0.000000  0.000000  0.000000    0.000000   0.000000  0.000000       0  0.000000   0.000000
        "#]].assert_eq(&summary_table(&summary, 0).to_string());
    }

    #[test]
    fn latency_in_the_order_that_is_asked_for() {
        let row = |name: &str, pid, switches, total, longest| LatencyRow {
            name: name.into(),
            pid,
            group: None,
            tasks: 3,
            runtime: Ns(longest * 1000),
            switches,
            total: Ns(total),
            max: LongestDelay { length: Ns(longest), from: Instant::from_ns(5), to: Instant::from_ns(5 + longest) },
            after_wakeup: Histogram::new(),
            after_preemption: Histogram::new(),
        };
        let rows = vec![row("many", None, 1000, 2_000_000, 4_000), row("one", Some(7), 1, 3_000, 3_000)];
        let pending = vec![PendingDelay { name: "one".into(), pid: 7, group: None, from: Instant::from_ns(1_000) }];
        let table = LatencyTable { rows, pending };
        expect![[r#"
            Scheduling latency
            task      runtime ms  switches  avg delay ms  max delay ms  max start s    max end s
            --------  ----------  --------  ------------  ------------  -----------  -----------
            one:7       3.000000         1      0.003000      0.003000  0.000000005  0.000003005
            many:(3)    4.000000     1 000      0.002000      0.004000  0.000000005  0.000004005
            1 waiting at the end, not counted; longest one:7, for 8.00 us
        "#]]
        .assert_eq(&latency_table(&table, LatencyOrder::Avg, Instant::from_ns(9_000), 0).to_string());
        let first = |order| latency_table(&table, order, Instant::ZERO, 0).rows()[0][0].text.clone();
        assert_eq!(first(LatencyOrder::Max), "many:(3)");
    }
}
