//! From the recorded experiments' CSV to events.

use crate::ftrace::parse_prev_state;
use crate::import::{Assembler, Feed, ImportStats, RawEvent, RawRecord, Who, for_each_line};
use crate::recorded::read_tasks;
use fairground_model::Sink;
use fairground_stdx::Instant;
use std::collections::BTreeMap;
use std::io::BufRead;

const COMMENT: &str = "# t in ns from first event";
const HEADER: &str = "t,cpu,ev,a,b,c";

/// Whether `head`, the beginning of a file, is a recorded experiment's CSV.
pub fn sniff(head: &[u8]) -> bool {
    head.starts_with(COMMENT.as_bytes()) || head.starts_with(HEADER.as_bytes())
}

/// Reads an unpacked `trace.csv` with the names of `tasks_csv` (may be empty).
pub fn read(source: impl BufRead, tasks_csv: &[u8], sink: &mut dyn Sink) -> ImportStats {
    let mut import =
        Import { assembler: Assembler::new(Feed::with_own_times(super::NAME, sink)), tasks: BTreeMap::new(), window: None };
    import.learn_tasks(tasks_csv);
    for_each_line(source, &mut import, |import| import.assembler.stats(), |import, number, text| import.line(number, text));
    let window = import.window;
    let mut stats = import.assembler.finish();
    stats.window = window.map(|(from, to)| (Instant::from_ns(from), Instant::from_ns(to)));
    stats
}

struct Import<'a> {
    assembler: Assembler<'a>,
    tasks: BTreeMap<u32, Who>,
    window: Option<(u64, u64)>,
}

/// Why a line gave no record.
enum LineError {
    /// A probe of quota, which [`super::read_quota_probes`] reads.
    NotUsed,
    Malformed,
}

impl Import<'_> {
    fn learn_tasks(&mut self, tasks_csv: &[u8]) {
        let (tasks, notes) = read_tasks(tasks_csv);
        if tasks.is_empty() {
            self.assembler.stats().info(0, "there is no tasks.csv beside it: tasks have no names, all count as priority 120");
        }
        self.assembler.stats().skipped += notes.skipped;
        self.assembler.stats().notes.extend(notes.notes);
        for task in tasks {
            let name = Some(self.assembler.names.intern(&task.name));
            self.tasks.insert(task.pid, Who { pid: task.pid, prio: Some(task.prio), name, name_is_stale: false });
        }
    }
    fn line(&mut self, number: u64, text: &str) {
        if let Some(comment) = text.strip_prefix('#') {
            self.window = window(comment).or(self.window);
            return;
        }
        if text.trim().is_empty() || text == HEADER {
            return;
        }
        match self.record(number, text) {
            Ok(record) => self.assembler.push(record),
            Err(LineError::NotUsed) => {
                self.assembler.stats().unused(number, "probes of quota (th, un, pe, di, dr, tw) are no events")
            }
            Err(LineError::Malformed) => {
                self.assembler.stats().skip(number, "a line that is not `t,cpu,ev,a,b,c` of a known event was left out");
            }
        }
    }
    fn record(&mut self, line: u64, text: &str) -> Result<RawRecord, LineError> {
        let mut fields = text.split(',');
        let mut field = || fields.next().ok_or(LineError::Malformed);
        let (at_ns, cpu, kind) = (number(field()?)?, number(field()?)?, field()?);
        let (a, b, c) = (field()?, field()?, field()?);
        let event = match kind {
            "sw" => RawEvent::Switch {
                prev: self.who(a)?,
                prev_state: parse_prev_state(b).ok_or(LineError::Malformed)?,
                next: self.who(c)?,
            },
            "wa" => RawEvent::Waking { task: self.who(a)?, target_cpu: number(b)?, current: self.who(c)?, context: None },
            "wu" => RawEvent::Wakeup { task: self.who(a)?, target_cpu: number(b)?, context: None },
            "wn" => RawEvent::WakeupNew { task: self.who(a)?, target_cpu: number(b)? },
            "mi" => RawEvent::MigrateTask { task: self.who(a)?, orig_cpu: number(b)?, dest_cpu: number(c)? },
            "rt" => {
                let vruntime = if c.is_empty() { None } else { Some(number(c)?) };
                RawEvent::StatRuntime { task: self.who(a)?, runtime: number(b)?, vruntime }
            }
            "fk" => RawEvent::Fork { parent: self.who(a)?, child: self.who(b)? },
            "ex" => RawEvent::Exit { task: self.who(a)? },
            "th" | "un" | "pe" | "di" | "dr" | "tw" => return Err(LineError::NotUsed),
            _ => return Err(LineError::Malformed),
        };
        Ok(RawRecord { at_ns, cpu, line, event, current: None })
    }
    fn who(&mut self, pid: &str) -> Result<Who, LineError> {
        let pid = number(pid)?;
        if let Some(&known) = self.tasks.get(&pid) {
            return Ok(known);
        }
        let nameless = Who { pid, prio: None, name: None, name_is_stale: false };
        if pid != 0 && !self.tasks.is_empty() {
            self.assembler.stats().info(0, &format!("tasks.csv does not name process {pid}: it counts as priority 120"));
            self.tasks.insert(pid, nameless);
        }
        Ok(nameless)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, LineError> {
    text.parse().map_err(|_| LineError::Malformed)
}

/// `…; window 50620076..2050620076`
fn window(comment: &str) -> Option<(u64, u64)> {
    let (from, to) = comment.split_once("window ")?.1.trim().split_once("..")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Recording;

    #[test]
    fn each_kind_of_line() {
        let text = "# t in ns from first event; window 5..90\nt,cpu,ev,a,b,c\n0,1,rt,1,10,99\n1,1,rt,1,10,\n2,1,fk,1,5,\n\
                    3,1,wn,5,0,1\n4,0,sw,0,R,5\n5,0,mi,5,0,1\n6,0,ex,5,,\n7,0,sw,5,X,0\n8,1,wa,6,0,1\n9,1,wu,6,1,1\n\
                    10,1,th,1,2,3\n11,1,zz,1,2,3\n12,1,sw,1\n";
        let mut recording = Recording::default();
        let stats = read(text.as_bytes(), b"5,five,120,1\n6,six,100,0\n", &mut recording);
        assert_eq!((stats.events, stats.not_used, stats.skipped), (10, 1, 2));
        assert_eq!(stats.window, Some((Instant::from_ns(5), Instant::from_ns(90))));
        assert_eq!((stats.nr_cpus(), stats.first_at.ns(), stats.last_at.ns()), (2, 0, 9));
        let trace = recording.into_trace(stats);
        let tasks: Vec<(u32, &str, i32)> = trace.tasks.iter().map(|t| (t.pid, t.name.as_str(), t.prio)).collect();
        assert_eq!(tasks, [(1, "<...>", 120), (5, "five", 120), (6, "six", 100)]);
    }
}
