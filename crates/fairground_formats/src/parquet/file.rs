//! A Parquet file: row groups, then the footer that tells where they lie.

use super::column::{Chunk, Column, PLAIN, RLE, RLE_DICTIONARY};
use super::field::{Field, Kind, Value};
use super::thrift::Thrift;
use crate::export::Output;
use std::io::{self, Write};

/// Rows of a row group: what is held in memory.
const ROWS_PER_GROUP: usize = 1 << 17;
const MAGIC: &[u8] = b"PAR1";
/// Numbers of the format: pages packed by gzip, a column that may be null, text in the older list of types.
const GZIP: i32 = 2;
const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;

/// Where a column of a row group lies.
struct Placed {
    at: i64,
    data_at: i64,
    packed: i64,
    unpacked: i64,
    rows: i64,
}

/// A file that is being written.
pub(super) struct ParquetFile<'w> {
    output: Output<'w>,
    at: i64,
    fields: Vec<Field>,
    columns: Vec<Column>,
    held: usize,
    rows: i64,
    groups: Vec<Vec<Placed>>,
    metadata: Vec<(String, String)>,
}

impl<'w> ParquetFile<'w> {
    pub(super) fn new(out: Box<dyn Write + 'w>, fields: Vec<Field>, metadata: Vec<(String, String)>) -> ParquetFile<'w> {
        let columns = fields.iter().map(|field| Column::new(field.kind)).collect();
        let output = Output::new(out);
        let mut file = ParquetFile { output, at: 0, fields, columns, held: 0, rows: 0, groups: Vec::new(), metadata };
        file.write(MAGIC);
        file
    }
    fn write(&mut self, bytes: &[u8]) {
        self.output.write(bytes);
        self.at += bytes.len() as i64;
    }
    /// Appends a row, a value for each column; what is missing is null.
    pub(super) fn push(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        for (index, column) in self.columns.iter_mut().enumerate() {
            column.push(row.get(index).unwrap_or(&Value::Null));
        }
        self.held += 1;
        if self.held == ROWS_PER_GROUP { self.end_group() } else { Ok(()) }
    }
    fn end_group(&mut self) -> io::Result<()> {
        let mut columns = std::mem::take(&mut self.columns);
        let mut group = Vec::new();
        for column in &mut columns {
            let Chunk { bytes, unpacked, data_at, rows } = column.take_chunk()?;
            let data_at = self.at + data_at as i64;
            group.push(Placed { at: self.at, data_at, packed: bytes.len() as i64, unpacked: unpacked as i64, rows: rows as i64 });
            self.write(&bytes);
        }
        self.columns = columns;
        self.groups.push(group);
        self.rows += self.held as i64;
        self.held = 0;
        Ok(())
    }
    /// Writes what is held and the footer.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.held > 0 {
            self.end_group()?;
        }
        let footer = self.footer();
        self.write(&footer);
        self.write(&(footer.len() as u32).to_le_bytes());
        self.write(MAGIC);
        self.output.finish()
    }
    fn footer(&self) -> Vec<u8> {
        // The root of the schema, then its columns.
        let schema: Vec<Option<&Field>> = [None].into_iter().chain(self.fields.iter().map(Some)).collect();
        Thrift::of(|file| {
            file.i32(1, 1);
            file.structures(2, &schema, |element, field| match field {
                None => {
                    element.text(4, "fairground");
                    element.i32(5, self.fields.len() as i32);
                }
                Some(field) => {
                    element.i32(1, field.kind.physical());
                    element.i32(3, OPTIONAL);
                    element.text(4, &field.name);
                    if field.kind == Kind::Text {
                        element.i32(6, UTF8);
                        element.structure(10, |logical| logical.structure(1, |_string| {}));
                    }
                }
            });
            file.i64(3, self.rows);
            file.structures(4, &self.groups, |row_group, group| self.row_group(row_group, group));
            file.structures(5, &self.metadata, |pair, (key, value)| {
                pair.text(1, key);
                pair.text(2, value);
            });
            file.text(6, concat!("fairground ", env!("CARGO_PKG_VERSION")));
        })
    }
    fn row_group(&self, row_group: &mut Thrift, group: &[Placed]) {
        let columns: Vec<(&Field, &Placed)> = self.fields.iter().zip(group).collect();
        row_group.structures(1, &columns, |chunk, &(field, placed)| {
            let has_dictionary = placed.data_at > placed.at;
            chunk.i64(2, placed.at);
            chunk.structure(3, |meta| {
                meta.i32(1, field.kind.physical());
                meta.i32s(2, if has_dictionary { &[PLAIN, RLE, RLE_DICTIONARY] } else { &[PLAIN, RLE] });
                meta.texts(3, &[&field.name]);
                meta.i32(4, GZIP);
                meta.i64(5, placed.rows);
                meta.i64(6, placed.unpacked);
                meta.i64(7, placed.packed);
                meta.i64(9, placed.data_at);
                if has_dictionary {
                    meta.i64(11, placed.at);
                }
            });
        });
        row_group.i64(2, group.iter().map(|placed| placed.unpacked).sum());
        row_group.i64(3, group.first().map_or(0, |placed| placed.rows));
    }
}

/// A whole table as a file. `metadata` are names and values that stand in its footer.
pub fn write_table<'w>(
    out: Box<dyn Write + 'w>,
    fields: Vec<Field>,
    rows: &[Vec<Value<'_>>],
    metadata: Vec<(String, String)>,
) -> io::Result<()> {
    let mut file = ParquetFile::new(out, fields, metadata);
    rows.iter().try_for_each(|row| file.push(row))?;
    file.finish()
}
