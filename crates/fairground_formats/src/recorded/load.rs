//! `pelt.csv`: updates of load tracking, as the recorder saw them.

use crate::import::zstd::{MAGIC, ZstdReader};
use crate::import::{ImportStats, for_each_line};
use fairground_stdx::CpuId;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

/// What was updated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoadKind {
    /// A task's entity.
    Task,
    /// The entity of a group.
    Group,
    /// An entity that is blocked, by its migration.
    Blocked,
    /// A run queue.
    Queue,
}

/// Averages and sums, valid at `last_update_time` ns of the queue's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadState {
    /// When they were valid.
    pub last_update_time: u64,
    /// Weighted time runnable.
    pub load_sum: u64,
    /// Runnable tasks over time, times 1024.
    pub runnable_sum: u64,
    /// Time running, times 1024.
    pub util_sum: u32,
    /// Units of 1024 ns of the period that is open.
    pub period_contrib: u32,
    /// Load.
    pub load_avg: u64,
    /// Runnable tasks, times 1024.
    pub runnable_avg: u64,
    /// Utilisation, 0 to 1024.
    pub util_avg: u32,
}

/// The inputs of an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadInput {
    /// Weight of the entity or sum of those of the queue.
    pub weight: u64,
    /// Whether the entity is queued.
    pub on_rq: bool,
    /// Whether it is queued only because its dequeue was delayed.
    pub delayed: bool,
    /// Runnable tasks of a queue or a group; a task has no such number.
    pub runnable: Option<u64>,
    /// Whether it runs.
    pub running: bool,
}

/// One recorded call of an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadRow {
    /// Where.
    pub cpu: CpuId,
    /// Of what.
    pub kind: LoadKind,
    /// Rows of one number are about the same entity or queue.
    pub id: u32,
    /// The queue on which an entity is; a queue's own number. A blocked entity's is not recorded.
    pub queue: Option<u32>,
    /// The queue's clock of load tracking at the update, ns.
    pub now: u64,
    /// The state before the update.
    pub before: LoadState,
    /// What the update is made of.
    pub input: LoadInput,
    /// `clock_task` and `clock_pelt` of the queue, where they were recorded.
    pub clocks: Option<(u64, u64)>,
}

/// Reads `pelt.csv`, packed by zstd or not; what could not be read is noted in the stats.
pub fn read_load_rows<'s>(source: impl Read + 's) -> (Vec<LoadRow>, ImportStats) {
    let mut plain = BufReader::new(source);
    let is_packed = plain.fill_buf().is_ok_and(|start| start.starts_with(&MAGIC));
    let source: Box<dyn BufRead + 's> =
        if is_packed { Box::new(BufReader::new(ZstdReader::new(plain))) } else { Box::new(plain) };
    let mut reader = Reader { stats: ImportStats::new(super::NAME), columns: Vec::new(), ids: BTreeMap::new(), rows: Vec::new() };
    for_each_line(source, &mut reader, |reader| &mut reader.stats, Reader::line);
    (reader.rows, reader.stats)
}

struct Reader {
    stats: ImportStats,
    /// Names of the columns, from the first line.
    columns: Vec<String>,
    ids: BTreeMap<String, u32>,
    rows: Vec<LoadRow>,
}

impl Reader {
    fn line(&mut self, number: u64, text: &str) {
        if self.columns.is_empty() {
            self.columns = text.trim().split(',').map(str::to_string).collect();
        } else if !text.trim().is_empty() {
            match self.row(text.trim()) {
                Some(row) => self.rows.push(row),
                None => self.stats.skip(number, "a line of pelt.csv that is no update by its first line's columns was left out"),
            }
        }
    }
    fn row(&mut self, line: &str) -> Option<LoadRow> {
        let cells = Cells(self.columns.iter().map(String::as_str).zip(line.split(',')).collect());
        let before = LoadState {
            last_update_time: cells.number("lut")?,
            load_sum: cells.number("load_sum")?,
            runnable_sum: cells.number("runnable_sum")?,
            util_sum: cells.number("util_sum")?,
            period_contrib: cells.number("period_contrib")?,
            load_avg: cells.number("load_avg")?,
            runnable_avg: cells.number("runnable_avg")?,
            util_avg: cells.number("util_avg")?,
        };
        let input = LoadInput {
            weight: cells.number("weight")?,
            on_rq: cells.text("on_rq")? == "1",
            delayed: cells.text("delayed")? == "1",
            runnable: cells.number("runnable_in"),
            running: cells.text("running_in")? == "1",
        };
        let kind = match (cells.text("kind")?, input.runnable) {
            ("se", None) => LoadKind::Task,
            ("se", Some(_)) => LoadKind::Group,
            ("bse", _) => LoadKind::Blocked,
            ("cfs", Some(_)) => LoadKind::Queue,
            _ => return None,
        };
        let (cpu, now) = (CpuId::new(cells.number("cpu")?), cells.number("now")?);
        let clocks = cells.number("clock_task").zip(cells.number("clock_pelt"));
        let queue = cells.text("cfs").filter(|name| *name != "-");
        let (id, queue) = (number_of(cells.text("id")?, &mut self.ids), queue.map(|name| number_of(name, &mut self.ids)));
        Some(LoadRow { cpu, kind, id, queue, now, before, input, clocks })
    }
}

/// The number of an entity or queue; a name that is new gets the next one.
fn number_of(name: &str, ids: &mut BTreeMap<String, u32>) -> u32 {
    let next = ids.len() as u32;
    *ids.entry(name.to_string()).or_insert(next)
}

/// The cells of one line by the names of their columns.
struct Cells<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Cells<'a> {
    fn text(&self, column: &str) -> Option<&'a str> {
        self.0.get(column).copied()
    }
    fn number<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        self.text(column)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "t,cpu,kind,id,pid,cfs,now,lut,load_sum,runnable_sum,util_sum,period_contrib,load_avg,runnable_avg,util_avg,\
        weight,on_rq,delayed,runnable_in,running_in,clock_task,clock_pelt,lost_idle";

    #[test]
    fn rows_of_every_kind() {
        let text = format!(
            "{HEADER}\n7,2,se,e1,184,q0,99,90,1,2,3,4,5,6,7,1024,1,0,-,1,98,97,0\n8,2,cfs,q0,-,q0,99,90,1,2,3,4,5,6,7,2048,-,-,2,1,-,-,-\n\
             9,2,se,e2,g,q0,99,90,1,2,3,4,5,6,7,512,1,-,3,0,98,97,0\n\n9,2,bse,e1,184,-,99,90,1,2,3,4,5,6,7,1024,-,-,-,-,-,-,-\n"
        );
        let (rows, stats) = read_load_rows(text.as_bytes());
        assert!(stats.is_clean());
        assert_eq!(
            rows.iter().map(|row| row.kind).collect::<Vec<_>>(),
            [LoadKind::Task, LoadKind::Queue, LoadKind::Group, LoadKind::Blocked]
        );
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert_eq!(rows.iter().map(|row| row.queue).collect::<Vec<_>>(), [Some(1), Some(1), Some(1), None]);
        let before = LoadState {
            last_update_time: 90,
            load_sum: 1,
            runnable_sum: 2,
            util_sum: 3,
            period_contrib: 4,
            load_avg: 5,
            runnable_avg: 6,
            util_avg: 7,
        };
        assert_eq!((rows[0].cpu, rows[0].now, rows[0].before), (CpuId::new(2), 99, before));
        assert_eq!(rows[0].input, LoadInput { weight: 1024, on_rq: true, delayed: false, runnable: None, running: true });
        assert_eq!((rows[0].clocks, rows[1].clocks, rows[1].input.runnable), (Some((98, 97)), None, Some(2)));
    }

    #[test]
    fn what_is_no_row_is_counted() {
        let text = format!("{HEADER}\n7,2,se,e1\n7,2,what,e1,184,q0,99,90,1,2,3,4,5,6,7,1024,1,0,-,1,98,97,0\nx\n");
        let (rows, stats) = read_load_rows(text.as_bytes());
        assert!(rows.is_empty());
        assert_eq!(stats.skipped, 3);
        assert_eq!(read_load_rows(&b"a,b\n1,2\n"[..]).1.skipped, 1);
        assert!(read_load_rows(&b""[..]).0.is_empty());
    }
}
