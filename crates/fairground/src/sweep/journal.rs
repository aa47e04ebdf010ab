//! The journal of a sweep: one line per finished run, keyed by the digest of its scenario and the version of
//! this program. A sweep that was interrupted, or that has got more values since it was done, reads it and does only
//! what is missing.

use super::row::{Outcome, Row};
use fairground_metrics::{Better, Metric, Unit};
use fairground_scenario::{Error, guard::VERSION};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Finished runs by scenario digest.
pub(super) type Finished = BTreeMap<String, Outcome>;

/// A journal open for more lines.
pub(super) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens the journal at `path` and returns what is finished already. `fresh` begins anew.
    pub(super) fn open(path: &Path, fresh: bool) -> Result<(Journal, Finished), Error> {
        let text = match std::fs::read(path) {
            Ok(bytes) if !fresh => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(_) => String::new(),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(Error::world("read", path, cause)),
        };
        let finished = text.lines().filter_map(read_line).collect();
        let mut options = OpenOptions::new();
        options.create(true).write(true);
        let mut file = if fresh { options.truncate(true).open(path) } else { options.append(true).open(path) }
            .map_err(|cause| Error::world("write", path, cause))?;
        // A line that was cut short by a crash must not swallow the next one.
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(|cause| Error::world("write", path, cause))?;
        }
        Ok((Journal { path: path.to_path_buf(), file: Mutex::new(file) }, finished))
    }
    /// Appends a finished run: one write, so that lines of several threads never mix.
    pub(super) fn append(&self, row: &Row) -> Result<(), Error> {
        let line = format!("{}\n", write_line(row));
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|cause| Error::world("write", &self.path, cause))
    }
}

const UNITS: [Unit; 6] = [Unit::Ns, Unit::Us, Unit::Ms, Unit::Count, Unit::Percent, Unit::Rate];
const BETTER: [Better; 3] = [Better::Lower, Better::Higher, Better::Neither];

fn write_line(row: &Row) -> Value {
    let mut line = Map::new();
    line.insert("version".into(), json!(VERSION));
    line.insert("scenario".into(), json!(row.scenario_digest));
    match &row.outcome {
        Outcome::Done { digest, simulated_ns, events, metrics, .. } => {
            let place = |unit| UNITS.iter().position(|known| *known == unit);
            let side = |better| BETTER.iter().position(|known| *known == better);
            let metrics: Vec<Value> = metrics.iter().map(|m| json!([m.name, m.value, place(m.unit), side(m.better)])).collect();
            line.insert("digest".into(), json!(digest));
            line.insert("simulated_ns".into(), json!(simulated_ns));
            line.insert("events".into(), json!(events));
            line.insert("metrics".into(), json!(metrics));
        }
        Outcome::Broken(message) => {
            line.insert("broken".into(), json!(message));
        }
        Outcome::Refused(message) => {
            line.insert("refused".into(), json!(message));
        }
        Outcome::Missing => {}
    }
    Value::Object(line)
}

/// A line of this version that is complete. Broken runs are tried again; whether expectations hold is
/// asked anew, as they are no part of the scenario's digest.
fn read_line(line: &str) -> Option<(String, Outcome)> {
    let value: Value = serde_json::from_str(line).ok()?;
    if value["version"] != VERSION {
        return None;
    }
    let metric = |row: &Value| {
        let index = |place: usize| usize::try_from(row[place].as_u64()?).ok();
        let (unit, better) = (UNITS.get(index(2)?)?, BETTER.get(index(3)?)?);
        Some(Metric::new(row[0].as_str()?, row[1].as_u64()?, *unit, *better))
    };
    let outcome = Outcome::Done {
        digest: value["digest"].as_str()?.to_string(),
        simulated_ns: value["simulated_ns"].as_u64()?,
        events: value["events"].as_u64()?,
        metrics: value["metrics"].as_array()?.iter().map(metric).collect::<Option<_>>()?,
        holds: true,
    };
    Some((value["scenario"].as_str()?.to_string(), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_and_torn_ones_are_left_out() {
        let outcome = Outcome::Done {
            digest: "d".into(),
            simulated_ns: 5,
            events: 6,
            metrics: vec![Metric::new("a.b", 7, Unit::Ms, Better::Higher)],
            holds: true,
        };
        let row = Row { number: 3, point: Vec::new(), scenario_digest: "s".into(), outcome: outcome.clone() };
        let line = write_line(&row).to_string();
        assert_eq!(read_line(&line), Some(("s".to_string(), outcome)));
        assert!((0..line.len()).all(|cut| read_line(&line[..cut]).is_none()));
        assert_eq!(read_line(&line.replace(VERSION, "0.0.0")), None);
        let broken = Row { outcome: Outcome::Broken("x".into()), ..row };
        assert_eq!(read_line(&write_line(&broken).to_string()), None);
    }
}
