//! A container of a recording that was made elsewhere, and of a file that tells its groups by hand (`--cgroup-map`):
//!
//! ```text
//! /web          weight=200 max=50000/100000 burst=10000
//! /batch        shares=512 idle
//! task nginx    /web
//! task backup*  /batch
//! pid 4711      /batch
//! ```

use super::folder::Unfinished;
use super::{BEFORE, take, write_manifest};
use fairground_formats::fgr::{Manifest, RECORDINGS, SnapGroup, SnapTask, Snapshot};
use fairground_model::cgroup::{ROOT, check_path, parent, weight_to_shares};
use fairground_model::{Mistakes, Sink, TaskInfo, TraceEvent};
use fairground_report::Document;
use fairground_scenario::text_file::{name_of, read_text};
use fairground_scenario::{Error, inputs, trace_file};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How files of gzip, zstd and zip begin.
const PACKED: [&[u8]; 3] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], b"PK"];

/// A container that was made of a recording and a map.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The container.
    pub path: PathBuf,
    /// Groups that the map names.
    pub groups: usize,
    /// Tasks of the recording that it puts into one.
    pub tasks: usize,
}

impl Mapped {
    /// What was made, in a line.
    pub fn summary(&self) -> String {
        format!("{} tasks of the recording are in the {} groups of the map", self.tasks, self.groups)
    }
    /// The document of `convert --cgroup-map --json`.
    pub fn document(&self) -> Document {
        let mut document = Document::new("convert", &[], None, None);
        document.set("container", self.path.display().to_string()).set("groups", self.groups).set("tasks", self.tasks);
        document
    }
}

/// Which tasks a line means.
enum Which {
    Pid(u32),
    Name(String),
    Begins(String),
}

/// What a map tells.
#[derive(Default)]
struct Map {
    groups: BTreeMap<String, SnapGroup>,
    rules: Vec<(Which, String)>,
}

/// Makes a container of a recording, which stays as it is, and of a map.
pub fn container_of(recording: &Path, map: &Path, output: &Path) -> Result<Mapped, Error> {
    let text = read_text(map)?;
    let map = read(&text).map_err(|wrong| Error::input(name_of(map), text.clone(), wrong))?;
    if recording.is_dir() {
        let message = "this is a folder, and a map goes with a recording of one file";
        return Err(Error::one(recording.display().to_string(), message, "Give the recording itself, such as perf.data."));
    }
    let mut head = [0; 4];
    let held = inputs::open(recording)?.read(&mut head).map_err(|cause| Error::world("read", recording, cause))?;
    if PACKED.iter().any(|magic| head[..held].starts_with(magic)) {
        let message = "this is packed, and a container holds a recording as it is";
        return Err(Error::one(recording.display().to_string(), message, "Unpack it first (gunzip, unzstd, unzip, tar -x)."));
    }
    let mut seen = Seen::default();
    let stats = trace_file::open(recording)?.read_as_recorded(&mut seen)?;
    let file = match stats.format {
        "perf-data" => RECORDINGS[0],
        "trace-dat" => RECORDINGS[1],
        "json" => RECORDINGS[2],
        "ftrace" => RECORDINGS[3],
        format => {
            let message = format!("this is {format}, and a container holds perf.data, trace.dat, text of ftrace or our JSON");
            let hint = "`fairground convert` makes JSON of it first.";
            return Err(Error::one(recording.display().to_string(), message, hint));
        }
    };
    let tasks: Vec<SnapTask> = seen.0.into_iter().filter_map(|(pid, name)| map.task(pid, name)).collect();
    let unfinished = Unfinished::create(output)?;
    let snapshot = Snapshot { groups: map.groups.into_values().collect(), tasks, ..Snapshot::default() };
    unfinished.write(|folder| take::write(&snapshot, &folder.join(BEFORE)))?;
    unfinished.write(|folder| write_manifest(&Manifest { is_mapped: true, ..Manifest::default() }, folder))?;
    let mut source = inputs::open(recording)?;
    unfinished.write(|folder| {
        std::fs::File::create(folder.join(file)).and_then(|mut to| std::io::copy(&mut source, &mut to)).map(drop)
    })?;
    Ok(Mapped { path: unfinished.complete()?, groups: snapshot.groups.len(), tasks: snapshot.tasks.len() })
}

impl Map {
    fn task(&self, tid: u32, comm: String) -> Option<SnapTask> {
        let means = |which: &Which| match which {
            Which::Pid(pid) => *pid == tid,
            Which::Name(name) => *name == comm,
            Which::Begins(name) => comm.starts_with(name.as_str()),
        };
        let group = self.rules.iter().find(|rule| means(&rule.0)).map(|rule| rule.1.clone());
        group.map(|group| SnapTask { tid, pid: tid, comm, group: Some(group), ..SnapTask::default() })
    }
    /// A group, and those above it.
    fn group(&mut self, path: &str) -> &mut SnapGroup {
        if let Some(above) = parent(path) {
            self.group(above);
        }
        self.groups.entry(path.to_string()).or_insert_with(|| SnapGroup { path: path.to_string(), ..SnapGroup::default() })
    }
}

/// Reads a map.
fn read(text: &str) -> Result<Map, Mistakes> {
    let mut map = Map::default();
    let mut wrong = Mistakes::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        start += line.len();
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let rule = |which: Which, path: &str, map: &mut Map, wrong: &mut Mistakes| match check_path(path) {
            Ok(()) => {
                if path != ROOT {
                    map.group(path);
                }
                map.rules.push((which, path.to_string()));
            }
            Err((message, hint)) => wrong.at(span.clone(), message, hint),
        };
        match words.as_slice() {
            [] => {}
            ["pid", pid, path] => match pid.parse() {
                Ok(pid) => rule(Which::Pid(pid), path, &mut map, &mut wrong),
                Err(_) => wrong.at(span.clone(), format!("`{pid}` is no process id"), "Write a number, as in `pid 4711 /batch`."),
            },
            ["task", name, path] => {
                let which = name
                    .strip_suffix('*')
                    .map_or_else(|| Which::Name((*name).to_string()), |name| Which::Begins(name.to_string()));
                rule(which, path, &mut map, &mut wrong);
            }
            [path, settings @ ..] if path.starts_with('/') => match check_path(path) {
                Ok(()) if *path != ROOT => settings.iter().for_each(|setting| {
                    if !set(map.group(path), setting) {
                        let hint = "Write weight=N, shares=N, max=QUOTA/PERIOD in us, burst=US or idle.";
                        wrong.at(span.clone(), format!("`{setting}` is no setting of a group"), hint);
                    }
                }),
                Ok(()) => wrong.at(span.clone(), "the root group has no settings", "Leave the line out."),
                Err((message, hint)) => wrong.at(span.clone(), message, hint),
            },
            _ => wrong.at(
                span.clone(),
                "this is no line of a map",
                "Write `/GROUP SETTING…`, `task NAME /GROUP` or `pid N /GROUP`.",
            ),
        }
    }
    wrong.or(map)
}

/// Sets one thing; says whether it is one.
fn set(group: &mut SnapGroup, setting: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    match setting.split_once('=') {
        None if setting == "idle" => group.idle = true,
        Some(("weight", text)) => {
            group.shares = number(text).filter(|weight| (1..=10_000).contains(weight)).map(weight_to_shares)
        }
        Some(("shares", text)) => group.shares = number(text),
        Some(("burst", text)) => group.burst_us = number(text),
        Some(("max", text)) => {
            let (quota, period) = text.split_once('/').unwrap_or((text, "100000"));
            (group.quota_us, group.period_us) = (number(quota), number(period));
        }
        _ => return false,
    }
    match setting.split_once('=').map(|row| row.0) {
        Some("weight" | "shares") => group.shares.is_some(),
        Some("burst") => group.burst_us.is_some(),
        Some("max") => group.quota_us.is_some() && group.period_us.is_some() && group.limit().is_some(),
        _ => true,
    }
}

/// The names of tasks by their ids.
#[derive(Default)]
struct Seen(BTreeMap<u32, String>);

impl Sink for Seen {
    fn task(&mut self, _task: TaskId, info: &TaskInfo) {
        self.0.insert(info.pid, info.name.clone());
    }
    fn record(&mut self, _at: Instant, _cpu: CpuId, _event: &TraceEvent) {}
}
