//! The values of one column of one row group, and their pages.
//!
//! ```text
//! data page, all of it packed by gzip:
//!   length (4 bytes), which rows have a value (a bit each)      for every column: each may be null
//!   the values                                                  integers and floats: 8 bytes each, little endian
//!   or: bits per number (1 byte), numbers of words              text: the words stand in a dictionary page before
//! ```

use super::field::{Kind, Value};
use super::thrift::{Thrift, varint};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Encodings by their numbers in the format.
pub(super) const PLAIN: i32 = 0;
pub(super) const RLE: i32 = 3;
pub(super) const RLE_DICTIONARY: i32 = 8;
/// Kinds of pages by their numbers in the format.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// A column that is being filled.
pub(super) struct Column {
    kind: Kind,
    present: Vec<u32>,
    /// Numbers as 8 bytes each.
    plain: Vec<u8>,
    /// The words of text in order of first sight, and which one each value is.
    words: BTreeMap<String, u32>,
    dictionary: Vec<u8>,
    picks: Vec<u32>,
}

/// The pages of a column of one row group.
pub(super) struct Chunk {
    /// Pages with their headers, one behind the other.
    pub(super) bytes: Vec<u8>,
    /// How long they would be if nothing was packed.
    pub(super) unpacked: usize,
    /// Where the data page begins; before it stands the dictionary page, if there is one.
    pub(super) data_at: usize,
    /// How many values there are, nulls included.
    pub(super) rows: usize,
}

impl Column {
    pub(super) fn new(kind: Kind) -> Column {
        Column { kind, present: Vec::new(), plain: Vec::new(), words: BTreeMap::new(), dictionary: Vec::new(), picks: Vec::new() }
    }
    /// Appends a value; one of another kind than the column's is a null.
    pub(super) fn push(&mut self, value: &Value<'_>) {
        let is_present = match (self.kind, value) {
            (Kind::Int, Value::Int(int)) => {
                self.plain.extend(int.to_le_bytes());
                true
            }
            (Kind::Double, Value::Double(double)) => {
                self.plain.extend(double.to_le_bytes());
                true
            }
            (Kind::Text, Value::Text(text)) => {
                let word = self.word(text);
                self.picks.push(word);
                true
            }
            _ => false,
        };
        self.present.push(u32::from(is_present));
    }
    fn word(&mut self, text: &str) -> u32 {
        if let Some(&word) = self.words.get(text) {
            return word;
        }
        let word = self.words.len() as u32;
        self.words.insert(text.to_string(), word);
        self.dictionary.extend((text.len() as u32).to_le_bytes());
        self.dictionary.extend(text.as_bytes());
        word
    }
    /// The pages of all values; the column is empty afterwards.
    pub(super) fn take_chunk(&mut self) -> io::Result<Chunk> {
        let full = std::mem::replace(self, Column::new(self.kind));
        let rows = full.present.len();
        let mut chunk = Chunk { bytes: Vec::new(), unpacked: 0, data_at: 0, rows };
        let has_words = !full.words.is_empty();
        if has_words {
            chunk.page(DICTIONARY_PAGE, &full.dictionary, |header| {
                header.structure(7, |page| {
                    page.i32(1, full.words.len() as i32);
                    page.i32(2, PLAIN);
                });
            })?;
        }
        chunk.data_at = chunk.bytes.len();
        let mut content = Vec::new();
        let present = bit_packed(&full.present, 1);
        content.extend((present.len() as u32).to_le_bytes());
        content.extend(present);
        content.extend(&full.plain);
        if has_words {
            let width = (u32::BITS - (full.words.len() as u32 - 1).leading_zeros()).max(1);
            content.push(width as u8);
            content.extend(bit_packed(&full.picks, width));
        }
        chunk.page(DATA_PAGE, &content, |header| {
            header.structure(5, |page| {
                page.i32(1, rows as i32);
                page.i32(2, if has_words { RLE_DICTIONARY } else { PLAIN });
                page.i32(3, RLE);
                page.i32(4, RLE);
            });
        })?;
        Ok(chunk)
    }
}

impl Chunk {
    fn page(&mut self, kind: i32, content: &[u8], rest: impl FnOnce(&mut Thrift)) -> io::Result<()> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(content)?;
        let packed = packer.finish()?;
        let header = Thrift::of(|header| {
            header.i32(1, kind);
            header.i32(2, content.len() as i32);
            header.i32(3, packed.len() as i32);
            rest(header);
        });
        self.unpacked += header.len() + content.len();
        self.bytes.extend(header);
        self.bytes.extend(packed);
        Ok(())
    }
}

/// Numbers of so many bits each in groups of eight, the lowest bit first, as one run.
fn bit_packed(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, (numbers.len().div_ceil(8) as u64) << 1 | 1);
    for group in numbers.chunks(8) {
        let (mut bits, mut held) = (0u64, 0);
        for place in 0..8 {
            bits |= u64::from(group.get(place).copied().unwrap_or(0)) << held;
            held += width;
            while held >= 8 {
                bytes.push(bits as u8);
                bits >>= 8;
                held -= 8;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format's own description.
    #[test]
    fn numbers_of_three_bits() {
        assert_eq!(bit_packed(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(bit_packed(&[1, 0, 1], 1), [3, 0b101]);
        assert_eq!(bit_packed(&[], 1), [1]);
    }
}
