//! Files of results that are made at once, when all runs are over: of comparisons and sweeps.

use super::file::{OutputFile, Stream, check, ending};
use fairground_formats::parquet::{Field, Kind, Value, write_table};
use fairground_model::Mistakes;
use fairground_report::{Align, Column, Table};
use fairground_scenario::Error;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a file of results holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultKind {
    /// A line per run.
    Csv,
    /// The document that `--json` prints.
    Json,
    /// A row per run.
    Parquet,
    /// A page for a browser.
    Html,
}

impl ResultKind {
    const fn ending(self) -> &'static str {
        match self {
            ResultKind::Csv => "csv",
            ResultKind::Json => "json",
            ResultKind::Parquet => "parquet",
            ResultKind::Html => "html",
        }
    }
}

/// Files of results, begun before the first run so that one that cannot be written is known at once.
#[derive(Default)]
pub struct ResultFiles {
    files: Vec<(BufWriter<Stream>, OutputFile, ResultKind)>,
}

impl ResultFiles {
    /// Begins all files; an ending that the command does not write is refused before any file is made.
    pub fn open(paths: &[PathBuf], command: &str, kinds: &[ResultKind]) -> Result<ResultFiles, Error> {
        ResultFiles::open_beside(paths, None, command, kinds)
    }
    /// The same beside a journal, which none of them may be.
    pub fn open_beside(
        paths: &[PathBuf],
        journal: Option<&Path>,
        command: &str,
        kinds: &[ResultKind],
    ) -> Result<ResultFiles, Error> {
        check(paths, journal)?;
        let kind_of = |path: &PathBuf| kinds.iter().copied().find(|kind| ending(path).eq_ignore_ascii_case(kind.ending()));
        let mut wrong = Mistakes::default();
        for path in paths.iter().filter(|path| kind_of(path).is_none()) {
            let can: Vec<String> = kinds.iter().map(|kind| format!(".{}", kind.ending())).collect();
            wrong.whole(
                format!("-o {}: `{command}` does not write this format", path.display()),
                format!("It writes {}.", can.join(", ")),
            );
        }
        wrong.or(()).map_err(|wrong| Error::input("command line", "", wrong))?;
        let mut files = Vec::new();
        for path in paths {
            let (file, out) = OutputFile::create(path)?;
            files.extend(kind_of(path).map(|kind| (out, file, kind)));
        }
        Ok(ResultFiles { files })
    }
    /// Whether one of them is of this kind.
    pub fn wants(&self, kind: ResultKind) -> bool {
        self.files.iter().any(|file| file.2 == kind)
    }
    /// Writes and ends all files; those of incomplete results keep the ending `.partial`. Returns their paths.
    pub fn finish(self, complete: bool, content: impl Fn(ResultKind) -> Vec<u8>) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::new();
        for (mut out, file, kind) in self.files {
            let written = out.write_all(&content(kind)).and_then(|()| out.flush());
            written.map_err(|cause| Error::world("write", &file.target, cause))?;
            paths.push(if complete { file.complete()? } else { file.leave_partial() });
        }
        Ok(paths)
    }
}

/// Columns of numbers that are whole in every file; all others are floats, whatever the values of one file are.
const WHOLE: [&str; 4] = ["run", "seed", "simulated_ns", "events"];

/// A table as a Parquet file, with names and values for its footer. Columns of words are text, of numbers floats.
pub fn table_parquet(table: &Table, metadata: Vec<(String, String)>) -> Vec<u8> {
    let kind = |column: &Column| match column.align {
        Align::Left => Kind::Text,
        Align::Right if WHOLE.contains(&column.key.as_str()) => Kind::Int,
        Align::Right => Kind::Double,
    };
    let fields: Vec<Field> = table.columns().iter().map(|column| Field::new(column.key.clone(), kind(column))).collect();
    let rows: Vec<Vec<Value<'_>>> = table
        .rows()
        .iter()
        .map(|row| row.iter().zip(&fields).map(|(cell, field)| value(&cell.data, field.kind)).collect())
        .collect();
    let mut bytes = Vec::new();
    write_table(Box::new(&mut bytes), fields.clone(), &rows, metadata).expect("invariant: memory can be written");
    bytes
}

/// The plain value of a cell; what does not fit its column is null.
fn value(data: &serde_json::Value, kind: Kind) -> Value<'_> {
    match kind {
        Kind::Int => data.as_i64().map_or(Value::Null, Value::Int),
        Kind::Double => data.as_f64().map_or(Value::Null, Value::Double),
        Kind::Text => data.as_str().map_or(Value::Null, Value::Text),
    }
}
