//! Counters of /proc/schedstat, recorded or simulated: one snapshot, or what was counted between two.

use fairground_formats::schedstat::{self, Layout, SchedStatFile};
use fairground_formats::unpack;
use fairground_metrics::schedstat::{difference, total_of_cpus};
use fairground_model::{Digest, SchedStat};
use fairground_report::schedstat::tables;
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Document, Input, Table};
use fairground_scenario::{Error, inputs};
use fairground_sched::Sched;
use fairground_sched::seam::SchedstatText;
use fairground_stdx::Ns;
use std::path::{Path, PathBuf};

pub use fairground_report::schedstat::Detail;

/// The ending of such files.
pub(crate) const ENDING: &str = "schedstat";
/// The longest text that is read: a kernel of 8192 CPUs with six domains each prints less than half of it.
const LONGEST: u64 = 32 << 20;
/// The snapshots of a recorded set, before and after its run.
const OF_SET: [&str; 2] = ["schedstat.before.zst", "schedstat.after.zst"];

/// The counters of a simulated kernel, to be printed as that kernel prints them.
pub(crate) fn snapshot(sched: &Sched, jiffies: u64) -> SchedStatFile {
    let layout = match sched.profile().schedstat {
        SchedstatText::V15 => Layout::IdleFirst,
        SchedstatText::V16 => Layout::BusyFirst,
        SchedstatText::V17 => Layout::ByKind,
    };
    SchedStatFile::new(layout, sched.schedstat(jiffies))
}

/// Counters to be shown.
#[derive(Clone, Debug)]
pub struct Counters {
    /// The files that they are from.
    inputs: Vec<Input>,
    /// What is shown, in a line.
    pub title: String,
    /// The version of the text.
    pub version: u32,
    /// The counters.
    pub stat: SchedStat,
    /// What stands in only one of two snapshots, or began anew between them.
    pub notes: Vec<String>,
}

impl Counters {
    /// Reads one snapshot, the folder of a recorded set, or two snapshots of one boot, of which the first is subtracted.
    pub fn load(first: &Path, second: Option<&Path>) -> Result<Counters, Error> {
        let of_set = |folder: &Path| OF_SET.map(|name| folder.join(name));
        let paths: Vec<PathBuf> = match second {
            Some(second) => vec![first.to_path_buf(), second.to_path_buf()],
            None if first.is_dir() => of_set(first).into(),
            None => vec![first.to_path_buf()],
        };
        let read = paths.iter().map(|path| Snapshot::load(path)).collect::<Result<Vec<_>, _>>()?;
        match &read[..] {
            [before, after] => Counters::between(before, after),
            _ => Ok(Counters::of(read)),
        }
    }

    /// The only snapshot of a list.
    fn of(read: Vec<Snapshot>) -> Counters {
        let inputs = read.iter().map(Snapshot::input).collect();
        let only = read.into_iter().next().expect("invariant: one path was read");
        let title = format!("{}: version {}, jiffy {}", only.name, only.file.version, only.file.stat.timestamp);
        Counters { inputs, title, version: only.file.version, stat: only.file.stat, notes: Vec::new() }
    }

    fn between(before: &Snapshot, after: &Snapshot) -> Result<Counters, Error> {
        let pair = format!("{}, {}", before.name, after.name);
        let hint = "Give two snapshots of one boot, the earlier one first.";
        if before.file.layout != after.file.layout {
            let message = format!("versions {} and {} do not count alike", before.file.version, after.file.version);
            return Err(Error::one(pair, message, hint));
        }
        let made = difference(&before.file.stat, &after.file.stat).map_err(|message| Error::one(pair, message, hint))?;
        let title =
            format!("{} less {}: version {}, {} jiffies", after.name, before.name, after.file.version, made.stat.timestamp);
        let inputs = vec![before.input(), after.input()];
        Ok(Counters { inputs, title, version: after.file.version, stat: made.stat, notes: made.notes })
    }

    /// What was counted, in at most ten lines.
    pub fn summary(&self) -> Vec<String> {
        let cpus = &self.stat.cpus;
        let all = total_of_cpus(&self.stat);
        let (ran, waited, slices) = (all.rq_cpu_time, all.run_delay, all.pcount);
        let mean = Ns(waited.checked_div(slices).unwrap_or(0));
        let mut lines = vec![
            self.title.clone(),
            format!(
                "CPUs        {}: tasks ran {} and waited {}, before each of {} turns {}",
                cpus.len(),
                format_ns(Ns(ran)),
                format_ns(Ns(waited)),
                format_count(slices),
                format_ns(mean)
            ),
        ];
        let most = cpus.iter().reduce(|most, cpu| if cpu.stats.run_delay > most.stats.run_delay { cpu } else { most });
        lines.extend(
            most.filter(|cpu| cpu.stats.run_delay > 0)
                .map(|cpu| format!("most waits  on CPU {}: {}", cpu.cpu, format_ns(Ns(cpu.stats.run_delay)))),
        );
        lines
    }

    /// The tables, with a line for each CPU or for all together.
    pub fn tables(&self, detail: Detail) -> Vec<Table> {
        tables(&self.stat, detail)
    }

    /// The document of `schedstat --json`.
    pub fn document(&self, detail: Detail) -> Document {
        let mut document = Document::new("schedstat", &self.inputs, None, None);
        document.set("title", self.title.as_str()).set("version", self.version).set("jiffies", self.stat.timestamp);
        document.set("notes", self.notes.clone()).set("summary", self.summary()).set_tables(&self.tables(detail));
        document
    }
}

/// A snapshot that was read.
struct Snapshot {
    name: String,
    digest: u128,
    file: SchedStatFile,
}

impl Snapshot {
    fn load(path: &Path) -> Result<Snapshot, Error> {
        let name = path.display().to_string();
        let bytes = unpack(inputs::open(path)?, LONGEST + 1).map_err(|cause| Error::world("read", path, cause))?;
        let hint = "Is it a text of /proc/schedstat, packed by zstd or gzip or not?";
        if bytes.len() as u64 > LONGEST {
            return Err(Error::one(name, "it is longer than any text of /proc/schedstat", hint));
        }
        let mut digest = Digest::default();
        digest.bytes(&bytes);
        let text = String::from_utf8(bytes).map_err(|error| {
            Error::one(name.clone(), format!("byte {} is no UTF-8 text", error.utf8_error().valid_up_to()), hint)
        })?;
        let file = schedstat::read(&text).map_err(|wrong| Error::input(name.clone(), text, wrong))?;
        let name = path.file_name().map_or(name, |last| last.to_string_lossy().into_owned());
        Ok(Snapshot { name, digest: digest.value(), file })
    }
    fn input(&self) -> Input {
        Input::new(&self.name, self.digest)
    }
}
