//! The journal of a sweep: one line per finished run, keyed by the digest of its scenario and the version of
//! this program. A sweep that was interrupted, or that has got more values since it was done, reads it and does only
//! what is missing.

use super::row::{Outcome, Row, Shapes};
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
    /// Lines of other versions of this program, which are not used.
    pub(super) foreign: usize,
}

impl Journal {
    /// Opens the journal at `path` and returns what is finished already. `fresh` begins anew.
    pub(super) fn open(path: &Path, fresh: bool, shapes: &Shapes) -> Result<(Journal, Finished), Error> {
        let text = match std::fs::read(path) {
            Ok(bytes) if !fresh => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(_) => String::new(),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(Error::world("read", path, cause)),
        };
        let finished = text.lines().filter_map(|line| read_line(line, shapes)).collect();
        let mut options = OpenOptions::new();
        options.create(true).write(true);
        let mut file = if fresh { options.truncate(true).open(path) } else { options.append(true).open(path) }
            .map_err(|cause| Error::world("write", path, cause))?;
        // A line that was cut short by a crash must not swallow the next one.
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(|cause| Error::world("write", path, cause))?;
        }
        let foreign = text.lines().filter(|line| line.contains("\"version\":") && !line.contains(&own_version())).count();
        Ok((Journal { path: path.to_path_buf(), file: Mutex::new(file), foreign }, finished))
    }
    /// Appends a finished run: one write, so that lines of several threads never mix.
    pub(super) fn append(&self, row: &Row) -> Result<(), Error> {
        let line = format!("{}\n", write_line(row));
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|cause| Error::world("write", &self.path, cause))
    }
}

/// How the version stands in lines of this program.
fn own_version() -> String {
    format!("\"version\":{}", json!(VERSION))
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
    Value::Object(line).to_string()
}

/// What a line of any version says of itself: the version, the number of the run, and the digest of the scenario.
pub(super) struct Line {
    pub(super) version: String,
    pub(super) number: usize,
    pub(super) scenario: String,
    pub(super) outcome: Outcome,
}

/// A complete line.
pub(super) fn parse_line(line: &str, shapes: &Shapes) -> Option<Line> {
    let value: Value = serde_json::from_str(line).ok()?;
    let version = value["version"].as_str()?.to_string();
    let number = value["run"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let scenario = value["scenario"].as_str()?.to_string();
    if version != VERSION {
        return Some(Line { version, number, scenario, outcome: Outcome::Missing });
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

/// A line of this version that is done. Broken runs are tried again; whether expectations hold is
/// asked anew, as they are no part of the scenario's digest.
fn read_line(line: &str, shapes: &Shapes) -> Option<(String, Outcome)> {
    let line = parse_line(line, shapes)?;
    matches!(line.outcome, Outcome::Done { .. }).then_some((line.scenario, line.outcome))
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
        assert_eq!(read_line(&line, &shapes), Some(("s".to_string(), outcome)));
        assert!((0..line.len()).all(|cut| read_line(&line[..cut], &shapes).is_none()));
        assert_eq!(read_line(&line.replace(VERSION, "0.0.0"), &shapes), None);
        let broken = Row { outcome: Outcome::Broken("x".into()), ..row };
        assert_eq!(read_line(&write_line(&broken), &shapes), None);
        for outcome in [Outcome::Broken("x".into()), Outcome::Refused("y".into()), Outcome::Missing, Outcome::Spared] {
            let row = Row { outcome, ..broken.clone() };
            let line = parse_line(&write_line(&row), &shapes).unwrap();
            assert_eq!((line.number, line.outcome), (3, row.outcome));
        }
    }
}
