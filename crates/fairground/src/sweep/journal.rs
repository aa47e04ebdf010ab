//! The journal of a sweep: a line that names the sweep, and one per finished run, keyed by the digest of its scenario and the version
//! of this program. A sweep that was interrupted, or that has got more values since it was done, reads it and does only what is
//! missing. Each line has a checksum, so that no figure that was changed or cut short gets into a table.

use super::row::{Outcome, Row, Shapes};
use fairground_metrics::{Better, Metric, Unit};
use fairground_model::Digest;
use fairground_scenario::{Error, guard::VERSION};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The first line is no longer.
const HEAD: u64 = 1 << 16;

/// Finished runs by scenario digest.
pub(super) type Finished = BTreeMap<String, Outcome>;

/// What the first line of a journal says that it is.
const KIND: &str = "finished runs of a sweep";

/// A journal open for more lines. No other process writes into it as long as it is.
pub(super) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    /// Lines of other versions of this program, which are not used.
    pub(super) foreign: usize,
    /// Lines that were changed or cut short, which are not used.
    pub(super) damaged: usize,
}

impl Journal {
    /// Opens the journal at `path` of the sweep of this name and returns what is finished already. `fresh` begins anew. A file that
    /// is no journal of this sweep is left as it is and refused, as is a journal that another sweep is writing.
    pub(super) fn open(path: &Path, sweep: &str, fresh: bool, shapes: &Shapes) -> Result<(Journal, Finished), Error> {
        let failed = |verb| move |cause| Error::world(verb, path, cause);
        let refused = |message: &str, hint: &str| Err(Error::one(path.display().to_string(), message, hint));
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return refused("a journal is a file, and this is none", "Name another with --journal.");
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).map_err(failed("write"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return refused(
                    "another sweep is writing this journal",
                    "Wait until it is done, or name another with --journal.",
                );
            }
            Err(TryLockError::Error(cause)) => return Err(failed("lock")(cause)),
        }
        // Another file may be of any size: its head says what it is.
        let mut bytes = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut bytes).map_err(failed("read"))?;
        // A disk that was full may have cut the first line short.
        if header(sweep).as_bytes().starts_with(&bytes) {
            file.set_len(0).map_err(failed("write"))?;
            bytes.clear();
        }
        match String::from_utf8_lossy(&bytes).lines().next().map(sweep_of_header) {
            None => {}
            Some(Some(of)) if of == sweep => {}
            Some(Some(of)) => {
                return refused(&format!("this is the journal of another sweep, {of}"), "Name another with --journal.");
            }
            Some(None) => {
                return refused("this is no journal of a sweep", "Name another file with --journal, or remove this one.");
            }
        }
        if fresh {
            file.set_len(0).map_err(failed("write"))?;
        }
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut journal = Journal { path: path.to_path_buf(), file: Mutex::new(file), foreign: 0, damaged: 0 };
        if fresh || text.is_empty() {
            journal.write(&header(sweep))?;
            return Ok((journal, Finished::new()));
        }
        // A line that was cut short by a crash must not swallow the next one.
        if !text.ends_with('\n') {
            journal.write("")?;
        }
        let mut finished = Finished::new();
        for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
            match parse_line(line, shapes) {
                None => journal.damaged += 1,
                Some(line) if line.version != VERSION => journal.foreign += 1,
                // Broken runs are tried again. Whether expectations hold is asked anew, as they are no part of the scenario's digest.
                Some(Line { scenario, outcome: outcome @ Outcome::Done { .. }, .. }) => {
                    finished.insert(scenario, outcome);
                }
                Some(_) => {}
            }
        }
        Ok((journal, finished))
    }
    /// Appends a finished run.
    pub(super) fn append(&self, row: &Row) -> Result<(), Error> {
        self.write(&write_line(row))
    }
    /// One write for each line, so that those of several threads never mix.
    fn write(&self, line: &str) -> Result<(), Error> {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes()).map_err(|cause| Error::world("write", &self.path, cause))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Each line was written already; this is for a machine that loses its power. A disk that fails has told so at a line.
        let _ = self.file.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).sync_data();
    }
}

/// The first line of the journal of a sweep.
fn header(sweep: &str) -> String {
    with_sum(json!({ "journal": KIND, "version": VERSION, "sweep": sweep }).to_string())
}

/// The sweep that a first line names, of any version; none if it is no such line.
fn sweep_of_header(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    (value["journal"] == KIND).then(|| value["sweep"].as_str().map(str::to_string)).flatten()
}

/// What stands before the checksum of a line.
const SUM: &str = ",\"sum\":\"";

fn sum_of(text: &str) -> String {
    let mut digest = Digest::default();
    digest.bytes(text.as_bytes());
    format!("{:032x}", digest.value())
}

/// An object of JSON with a checksum over what stands before that as its last member.
fn with_sum(object: String) -> String {
    let body = object.strip_suffix('}').unwrap_or(&object);
    format!("{body}{SUM}{}\"}}", sum_of(body))
}

/// Whether a line is as it was written.
fn is_whole(line: &str) -> bool {
    let parts = line.rsplit_once(SUM).and_then(|(body, sum)| Some((body, sum.strip_suffix("\"}")?)));
    parts.is_some_and(|(body, sum)| sum == sum_of(body))
}

const UNITS: [Unit; 6] = [Unit::Ns, Unit::Us, Unit::Ms, Unit::Count, Unit::Percent, Unit::Rate];
const BETTER: [Better; 3] = [Better::Lower, Better::Higher, Better::Neither];

/// A row as a line, without line end: of the journal, or from a worker on another machine.
pub(super) fn write_line(row: &Row) -> String {
    let mut line = Map::new();
    line.insert("version".into(), json!(VERSION));
    line.insert("run".into(), json!(row.number));
    line.insert("scenario".into(), json!(row.scenario_digest));
    match &row.outcome {
        Outcome::Done { digest, simulated_ns, events, metrics, holds } => {
            let place = |unit| UNITS.iter().position(|known| *known == unit);
            let side = |better| BETTER.iter().position(|known| *known == better);
            let rows = metrics.shape().iter().zip(metrics.values());
            let metrics: Vec<Value> =
                rows.map(|((name, unit, better), value)| json!([name, value, place(*unit), side(*better)])).collect();
            line.insert("digest".into(), json!(digest));
            line.insert("simulated_ns".into(), json!(simulated_ns));
            line.insert("events".into(), json!(events));
            line.insert("metrics".into(), json!(metrics));
            line.insert("holds".into(), json!(holds));
        }
        Outcome::Broken(message) => {
            line.insert("broken".into(), json!(message));
        }
        Outcome::Refused(message) => {
            line.insert("refused".into(), json!(message));
        }
        Outcome::Missing => {}
        Outcome::Spared => {
            line.insert("spared".into(), json!(true));
        }
    }
    with_sum(Value::Object(line).to_string())
}

/// What a line of any version says of itself: the version, the number of the run, and the digest of the scenario.
pub(super) struct Line {
    pub(super) version: String,
    pub(super) number: usize,
    pub(super) scenario: String,
    pub(super) outcome: Outcome,
}

/// A complete line. Only the version and the number are read of one that another version wrote.
pub(super) fn parse_line(line: &str, shapes: &Shapes) -> Option<Line> {
    let value: Value = serde_json::from_str(line).ok()?;
    let version = value["version"].as_str()?.to_string();
    let number = value["run"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let scenario = value["scenario"].as_str()?.to_string();
    if version != VERSION {
        return Some(Line { version, number, scenario, outcome: Outcome::Missing });
    }
    if !is_whole(line) {
        return None;
    }
    let metric = |row: &Value| {
        let index = |place: usize| usize::try_from(row[place].as_u64()?).ok();
        let (unit, better) = (UNITS.get(index(2)?)?, BETTER.get(index(3)?)?);
        Some(Metric::new(row[0].as_str()?, row[1].as_u64()?, *unit, *better))
    };
    let outcome = if let Some(message) = value["broken"].as_str() {
        Outcome::Broken(message.to_string())
    } else if let Some(message) = value["refused"].as_str() {
        Outcome::Refused(message.to_string())
    } else if value["spared"] == true {
        Outcome::Spared
    } else if value["digest"].is_null() {
        Outcome::Missing
    } else {
        Outcome::Done {
            digest: value["digest"].as_str()?.to_string(),
            simulated_ns: value["simulated_ns"].as_u64()?,
            events: value["events"].as_u64()?,
            metrics: shapes.figures(value["metrics"].as_array()?.iter().map(metric).collect::<Option<_>>()?),
            holds: value["holds"].as_bool().unwrap_or(true),
        }
    };
    Some(Line { version, number, scenario, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_and_torn_ones_are_left_out() {
        let shapes = Shapes::default();
        let outcome = Outcome::Done {
            digest: "d".into(),
            simulated_ns: 5,
            events: 6,
            metrics: shapes.figures(vec![Metric::new("a.b", 7, Unit::Ms, Better::Higher)]),
            holds: true,
        };
        let row = Row { number: 3, point: Vec::new(), scenario_digest: "s".into(), outcome: outcome.clone() };
        let line = write_line(&row);
        let read = parse_line(&line, &shapes).unwrap();
        assert_eq!((read.scenario.as_str(), read.outcome), ("s", outcome));
        assert!((0..line.len()).all(|cut| parse_line(&line[..cut], &shapes).is_none()));
        for at in (0..line.len()).filter(|at| line.as_bytes()[*at].is_ascii_digit()) {
            let changed = format!("{}{}{}", &line[..at], if line.as_bytes()[at] == b'7' { '8' } else { '7' }, &line[at + 1..]);
            assert!(parse_line(&changed, &shapes).is_none_or(|read| read.version != VERSION), "{changed}");
        }
        let broken = Row { outcome: Outcome::Broken("x".into()), ..row };
        for outcome in [Outcome::Broken("x".into()), Outcome::Refused("y".into()), Outcome::Missing, Outcome::Spared] {
            let row = Row { outcome, ..broken.clone() };
            let line = parse_line(&write_line(&row), &shapes).unwrap();
            assert_eq!((line.number, line.outcome), (3, row.outcome));
        }
    }
}
