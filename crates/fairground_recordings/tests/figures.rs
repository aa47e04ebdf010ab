//! The figures of the recorded sets, computed from their records, against their `summary.json`.
//!
//! Reads the sets with a small parser of its own, so that a mistake in the product's reader cannot
//! hide one in the figures. Skipped where the sets are absent.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must fail")]

use fairground_metrics::{RunStats, Window};
use fairground_model::{PrevState, Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_recordings::figures::{Figure, FigureMap, Figures};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId};
use fairground_testing::experiments;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

struct Recording {
    window: Window,
    pids: Vec<u32>,
    infos: Vec<TaskInfo>,
    measured: Vec<TaskId>,
    records: Vec<(Instant, CpuId, TraceEvent)>,
}

impl Recording {
    fn task(&mut self, pid: &str) -> Option<TaskId> {
        let pid: u32 = pid.parse().unwrap();
        if pid == 0 {
            return None;
        }
        let known = self.pids.iter().position(|&known| known == pid);
        let index = known.unwrap_or_else(|| {
            self.pids.push(pid);
            self.infos.push(TaskInfo { name: format!("pid{pid}"), pid, prio: 120 });
            self.pids.len() - 1
        });
        Some(TaskId::new(index as u32))
    }
    fn event(&mut self, kind: &str, a: &str, b: &str, c: &str) -> Option<TraceEvent> {
        let cpu = |text: &str| CpuId::new(text.parse().unwrap());
        Some(match kind {
            "sw" => {
                let state = match b.as_bytes()[0] {
                    b'R' => PrevState::Running,
                    b'D' => PrevState::DiskSleep,
                    b'X' | b'Z' => PrevState::Dead,
                    b'I' => PrevState::IdleWait,
                    _ => PrevState::Sleeping,
                };
                TraceEvent::SchedSwitch { prev: self.task(a), prev_state: state, next: self.task(c) }
            }
            "wa" => {
                let task = self.task(a)?;
                TraceEvent::SchedWaking { task, target_cpu: cpu(b), waker: self.task(c), context: WakeContext::Task }
            }
            "wu" => TraceEvent::SchedWakeup { task: self.task(a)?, target_cpu: cpu(b) },
            "wn" => TraceEvent::SchedWakeupNew { task: self.task(a)?, target_cpu: cpu(b) },
            "mi" => TraceEvent::SchedMigrateTask { task: self.task(a)?, orig_cpu: cpu(b), dest_cpu: cpu(c) },
            "rt" => TraceEvent::SchedStatRuntime { task: self.task(a)?, runtime: Ns(b.parse().unwrap()), vruntime: None },
            _ => return None,
        })
    }
    fn read(folder: &Path) -> Recording {
        let mut recording = Recording { window: Window::ALL, pids: vec![], infos: vec![], measured: vec![], records: vec![] };
        for line in std::fs::read_to_string(folder.join("tasks.csv")).unwrap().lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let (&workload, pid) = (fields.last().unwrap(), fields[0]);
            let Some(task) = recording.task(pid) else { continue };
            recording.infos[task.get() as usize].name = fields[1..fields.len() - 2].join(",");
            if workload == "1" {
                recording.measured.push(task);
            }
        }
        for line in unpacked(&folder.join("trace.csv.zst")).lines() {
            if let Some((_, window)) = line.split_once("; window ") {
                let (start, end) = window.split_once("..").unwrap();
                let instant = |text: &str| Instant::from_ns(text.parse().unwrap());
                recording.window = Window { start: instant(start), end: instant(end) };
            } else if line.as_bytes()[0].is_ascii_digit() {
                let fields: Vec<&str> = line.split(',').chain(["", "", ""]).collect();
                let (at, cpu) = (Instant::from_ns(fields[0].parse().unwrap()), CpuId::new(fields[1].parse().unwrap()));
                if let Some(event) = recording.event(fields[2], fields[3], fields[4], fields[5]) {
                    recording.records.push((at, cpu, event));
                }
            }
        }
        recording
    }
    fn feed(&self, sink: &mut impl Sink) -> Instant {
        for (index, info) in self.infos.iter().enumerate() {
            sink.task(TaskId::new(index as u32), info);
        }
        self.records.iter().for_each(|(at, cpu, event)| sink.record(*at, *cpu, event));
        self.records.last().unwrap().0
    }
    fn figures(&self, window: Window) -> FigureMap {
        let mut figures = Figures::new(window, self.measured.iter().copied());
        let end = self.feed(&mut figures);
        figures.finish(end)
    }
}

fn unpacked(path: &Path) -> String {
    let packed = std::fs::read(path).unwrap();
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

/// The numbers and CPU lists under `value`, named by their path.
fn flatten(path: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, into)),
        Value::Array(list) => {
            let cpus: CpuMask = list.iter().map(|cpu| CpuId::new(cpu.as_u64().unwrap() as u32)).collect();
            into.push((path.to_string(), cpus.to_string()));
        }
        Value::Number(number) => into.push((path.to_string(), number.to_string().trim_end_matches(".0").to_string())),
        other => panic!("{path}: {other}"),
    }
}

fn shown(figure: Option<&Figure>) -> Option<String> {
    figure.map(Figure::to_string)
}

/// Every figure that a trace tells, of every experiment of the emulated sets, to the last digit. The
/// set of the real machine is left out: its summary was completed from runtime records where switch
/// records were missing.
#[test]
fn figures_equal_the_summaries() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for folder in experiments(|name| !name.starts_with("real")) {
        let recording = Recording::read(&folder);
        let ours = recording.figures(recording.window);
        let (summary, mut theirs) = (summary(&folder), Vec::new());
        flatten("all", &summary["all"], &mut theirs);
        flatten("tasks", &summary["tasks"], &mut theirs);
        compared += theirs.len();
        for (name, value) in theirs {
            if shown(ours.get(&name)).as_ref() != Some(&value) {
                wrong.push(format!("{}: {name}: {:?}, recorded {value}", folder.display(), shown(ours.get(&name))));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{compared} figures compared");
}

/// The samples of load tracking in a set's `pelt.csv`, as a run of ours would give them. A row holds the state
/// *before* an update, so it is the sample that follows the row before it.
fn load_samples(recording: &mut Recording, folder: &Path) -> Vec<(Instant, CpuId, TraceEvent)> {
    let text = unpacked(&folder.join("pelt.csv.zst"));
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|&column| column == name).unwrap();
    let [t, cpu, kind, pid, util] = ["t", "cpu", "kind", "pid", "util_avg"].map(column);
    let mut updated: BTreeMap<String, Instant> = BTreeMap::new();
    let mut samples = Vec::new();
    for row in text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[kind] == "se") {
        // The entity of a group has no task.
        if row[pid].bytes().all(|byte| byte.is_ascii_digit()) {
            let now = Instant::from_ns(row[t].parse().unwrap());
            let at = updated.insert(row[pid].to_string(), now).unwrap_or(now);
            let task = recording.task(row[pid]).unwrap();
            let sample = TraceEvent::SeSample { task, util_avg: row[util].parse().unwrap() };
            samples.push((at, CpuId::new(row[cpu].parse().unwrap()), sample));
        }
    }
    samples
}

/// The figures of load tracking, from the samples of the recordings, on CPUs of full capacity and of half
/// (arm64, CPUs 0 to 3). Times are given to 0.01 ms; a recorded time is that of the state, up to 1024 ns of
/// load tracking's clock before the update (2 us at half capacity, and that set's times are whole us).
#[test]
fn figures_of_load_tracking_equal_the_summaries() {
    for folder in experiments(|name| name.contains("-pelt-")) {
        let mut recording = Recording::read(&folder);
        recording.records = load_samples(&mut recording, &folder);
        let half = folder.to_string_lossy().contains("half");
        let capacities = (0..8).map(|cpu| if half && cpu < 4 { 512 } else { 1024 });
        let mut figures = Figures::new(recording.window, recording.measured.iter().copied()).with_load(capacities);
        let end = recording.feed(&mut figures);
        let (ours, summary) = (figures.finish(end), summary(&folder));
        let number = |name: &str| shown(ours.get(name)).unwrap().parse::<f64>().unwrap();
        for (task, recorded) in summary["pelt"]["util_avg"].as_object().unwrap() {
            for side in ["min", "max"] {
                let ours = number(&format!("pelt.util_avg.{task}.{side}"));
                assert_eq!(Some(ours), recorded[side].as_f64(), "{}: {task} {side}", folder.display());
            }
        }
        for (target, recorded) in summary["pelt"]["ramp_reaches"].as_object().into_iter().flatten() {
            let ours = number(&format!("pelt.ramp_reaches.{target}.linear_ms"));
            let difference = ours - recorded["linear_ms"].as_f64().unwrap();
            assert!(difference.abs() < 0.01, "{}: {target}: {ours} ms, {difference}", folder.display());
        }
    }
}

/// Two ways to the same numbers: run time and longest wait of the whole trace.
#[test]
fn run_statistics_agree_with_figures() {
    for folder in experiments(|name| name.starts_with("k6.1-hogs")) {
        let recording = Recording::read(&folder);
        let figures = recording.figures(Window::ALL);
        let mut stats = RunStats::new(Instant::ZERO, 1);
        let end = recording.feed(&mut stats);
        let report = stats.finish(end);
        assert_eq!(report.mismatched_switches, 0, "{}", folder.display());
        assert!(report.cpus.iter().all(|cpu| cpu.busy + cpu.idle == report.length));
        for &task in &recording.measured {
            let row = report.tasks.iter().find(|row| row.task == task).unwrap();
            let name = &row.info.name;
            assert_eq!(shown(figures.get(&format!("tasks.{name}.runtime_ns"))), Some(row.runtime.0.to_string()));
            assert_eq!(shown(figures.get(&format!("tasks.{name}.max_wait_ns"))), Some(row.max_wait.0.to_string()));
        }
    }
}

/// Figures of `expect` lists that no run of ours gives yet, by name: bandwidth and cgroup counters,
/// shares of groups, reports of message programs; those of
/// load tracking need samples, which these records are not.
#[test]
fn every_other_expected_figure_is_known_by_name() {
    let unsupported = |name: &str| {
        ["bandwidth.", "cgroups.", "group_share.", "pelt", "cpu_stat_v1."].iter().any(|prefix| name.starts_with(prefix))
            || ["wakes", "jobs", "p50_ns", "p90_ns", "p99_ns", "max_ns"].contains(&name)
    };
    let reported = |name: &str| name.starts_with("press.max_") || name.ends_with(".maxlat_ns");
    for folder in experiments(|name| !name.starts_with("real")) {
        let ours = Recording::read(&folder).figures(Window::ALL);
        for row in summary(&folder)["expect"].as_array().unwrap() {
            let name = row["figure"].as_str().unwrap();
            assert!(ours.contains_key(name) || reported(name) || unsupported(name), "{}: {name}", folder.display());
        }
    }
}
