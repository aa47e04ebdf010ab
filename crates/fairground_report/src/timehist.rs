//! What `perf sched timehist` and `perf sched latency` print.

use crate::columns;
use crate::table::{Cell, Table};
use crate::units::{fixed, format_ns};
use fairground_metrics::timehist::{LatencyRow, LatencyTable, Summary, TimeHistRow};
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

/// Seconds with nine digits.
fn seconds(at: Instant) -> String {
    fixed(at.ns(), 1_000_000_000, 9)
}

fn instant_cell(at: Instant) -> Cell {
    Cell::new(seconds(at), at.ns())
}

/// The table of `perf sched latency`.
pub fn latency_table(latency: &LatencyTable, order: LatencyOrder, end: Instant) -> Table {
    let columns = columns![
        left "task", right "runtime ms" "runtime_ns", right "switches", right "avg delay ms" "delay_avg_ns",
        right "max delay ms" "delay_max_ns", right "max delay start s" "delay_max_start_ns",
        right "max delay end s" "delay_max_end_ns",
    ];
    let mut table = Table::new("latency", "Scheduling latency", columns);
    let mut rows: Vec<&LatencyRow> = latency.rows.iter().collect();
    // Like perf, equal rows are ordered by the other keys; last by name, so that the order is always the same.
    rows.sort_by(|a, b| keys(b, order).cmp(&keys(a, order)).then_with(|| a.name.cmp(&b.name)).then(a.pid.cmp(&b.pid)));
    for row in &rows {
        let name = match row.pid {
            Some(pid) => format!("{}:{pid}", row.name),
            None => format!("{}:({})", row.name, row.tasks),
        };
        table.push(vec![
            name.into(),
            Cell::new(ms(row.runtime), row.runtime.0),
            Cell::count(row.switches),
            Cell::new(ms(row.avg()), row.avg().0),
            Cell::new(ms(row.max.length), row.max.length.0),
            instant_cell(row.max.from),
            instant_cell(row.max.to),
        ]);
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

fn keys(row: &LatencyRow, order: LatencyOrder) -> [u64; 4] {
    let (avg, max, switches, runtime) = (row.avg().0, row.max.length.0, row.switches, row.runtime.0);
    match order {
        LatencyOrder::Avg => [avg, max, switches, runtime],
        LatencyOrder::Max => [max, avg, switches, runtime],
        LatencyOrder::Switch => [switches, avg, max, runtime],
        LatencyOrder::Runtime => [runtime, avg, max, switches],
    }
}

/// The headings above lines of [`timehist_line`].
pub fn timehist_heading() -> String {
    let rule = |width: usize| "-".repeat(width);
    let line = |cells: [&str; 7]| {
        let [time, cpu, task, wait, class, delay, run] = cells;
        format!("{time:>17} {cpu:>6}  {task:<24} {wait:>14} {class:<8} {delay:>14} {run:>14}\n")
    };
    let rules = [17, 6, 24, 14, 8, 14, 14].map(rule);
    line(["time s", "cpu", "task[pid]", "wait ms", "class", "sch delay ms", "run ms"])
        + &line(rules.each_ref().map(String::as_str))
}

/// One switch away from a task as a line.
pub fn timehist_line(row: &TimeHistRow, info: &TaskInfo) -> String {
    let known = |length: Option<Ns>| length.map_or_else(|| "-".to_string(), ms);
    format!(
        "{:>17} [{:04}]  {:<24} {:>14} {:<8} {:>14} {:>14}\n",
        seconds(row.at),
        row.cpu.get(),
        format!("{}[{}]", info.name, info.pid),
        known(row.wait.map(|wait| wait.length)),
        row.wait.map_or("-", |wait| wait.class.name()),
        ms(row.delay),
        known(row.run),
    )
}

/// One switch away from a task as an object; what the trace does not tell is null.
pub fn timehist_json(row: &TimeHistRow, info: &TaskInfo) -> Value {
    json!({
        "time_ns": row.at.ns(),
        "cpu": row.cpu.get(),
        "task": info.name,
        "pid": info.pid,
        "wait_ns": row.wait.map(|wait| wait.length.0),
        "wait_class": row.wait.map(|wait| wait.class.name()),
        "delay_ns": row.delay.0,
        "run_ns": row.run.map(|run| run.0),
        "state": row.state.letter(),
    })
}

/// Sums by task.
pub fn summary_table(summary: &Summary) -> Table {
    let columns = columns![
        left "task", right "pid", right "runs", right "run ms" "run_ns", right "min" "run_min_ns",
        right "avg" "run_avg_ns", right "max" "run_max_ns", right "preempt ms" "preempt_ns",
        right "iowait ms" "iowait_ns", right "sleep ms" "sleep_ns", right "delays", right "delay ms" "delay_ns",
        right "max delay" "delay_max_ns", right "at s" "delay_max_at_ns",
    ];
    let mut table = Table::new("timehist_summary", "Times by task", columns);
    let time = |length: Ns| Cell::new(ms(length), length.0);
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
            if delay.count > 0 { instant_cell(delay.max_at) } else { Cell::empty() },
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
        let lines = rows().map(|(row, info)| timehist_line(&row, &info));
        expect![[r#"
                       time s    cpu  task[pid]                       wait ms class      sch delay ms         run ms
            ----------------- ------  ------------------------ -------------- -------- -------------- --------------
                  1.000000040 [0003]  player[7]                      0.000011 iowait         0.000006       9.000000
                  0.000000050 [0003]  kworker/3:1[31]                       - -              0.000000              -
        "#]]
        .assert_eq(&(timehist_heading() + &lines.concat()));
        let [(row, info), _] = rows();
        expect![[r#"{"time_ns":1000000040,"cpu":3,"task":"player","pid":7,"wait_ns":11,"wait_class":"iowait","delay_ns":6,"run_ns":9000000,"state":"S"}"#]].assert_eq(&timehist_json(&row, &info).to_string());
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
        "#]].assert_eq(&summary_table(&summary).to_string());
    }

    #[test]
    fn latency_in_the_order_that_is_asked_for() {
        let row = |name: &str, pid, switches, total, longest| LatencyRow {
            name: name.into(),
            pid,
            tasks: 3,
            runtime: Ns(longest * 1000),
            switches,
            total: Ns(total),
            max: LongestDelay { length: Ns(longest), from: Instant::from_ns(5), to: Instant::from_ns(5 + longest) },
        };
        let rows = vec![row("many", None, 1000, 2_000_000, 4_000), row("one", Some(7), 1, 3_000, 3_000)];
        let pending = vec![PendingDelay { name: "one".into(), pid: 7, from: Instant::from_ns(1_000) }];
        let table = LatencyTable { rows, pending };
        expect![[r#"
            Scheduling latency
            task      runtime ms  switches  avg delay ms  max delay ms  max delay start s  max delay end s
            --------  ----------  --------  ------------  ------------  -----------------  ---------------
            one:7       3.000000         1      0.003000      0.003000        0.000000005      0.000003005
            many:(3)    4.000000     1 000      0.002000      0.004000        0.000000005      0.000004005
            1 waiting at the end, not counted; longest one:7, for 8.00 us
        "#]]
        .assert_eq(&latency_table(&table, LatencyOrder::Avg, Instant::from_ns(9_000)).to_string());
        let first = |order| latency_table(&table, order, Instant::ZERO).rows()[0][0].text.clone();
        assert_eq!(first(LatencyOrder::Max), "many:(3)");
    }
}
