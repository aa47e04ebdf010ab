//! Tables in columns, laid out as the [Arrow C data interface](https://arrow.apache.org/docs/format/CDataInterface.html) has them, so that
//! any library which speaks it reads them where they lie.
//!
//! ```text
//! Frame ──► Field  name, type, words of a dictionary
//!   │
//!   └─────► Batch ──► Column   one buffer of values, one bit per row that says whether there is a value
//! ```
//!
//! What is here is safe; [`c`] has the structures that leave this process' Rust half.

mod c;
mod column;

pub(crate) use c::{schema_capsule, stream_capsule};
pub(crate) use column::{Bits, Column, Text, Values};

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Int64,
    Float64,
    UInt16,
    UInt32,
    Text,
    /// 8-bit numbers of words.
    Words8,
    /// 32-bit numbers of words.
    Words32,
}

/// A column's name and type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The words that the numbers of a column of words stand for.
    pub(crate) words: Option<Text>,
}

impl Field {
    pub(crate) fn new(name: impl Into<String>, kind: Kind) -> Field {
        Field { name: name.into(), kind, words: None }
    }
    pub(crate) fn of_words(name: impl Into<String>, kind: Kind, words: Text) -> Field {
        Field { words: Some(words), ..Field::new(name, kind) }
    }
}

/// Rows that lie together: a column for each field of the frame, all equally long.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Column>,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) fields: Vec<Field>,
    pub(crate) batches: Vec<Batch>,
}

impl Frame {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(|batch| batch.rows).sum()
    }
}
