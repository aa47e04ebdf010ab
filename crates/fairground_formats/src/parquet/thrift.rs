//! The compact protocol of Thrift, as far as Parquet's headers need it.
//!
//! ```text
//! field    (number - number of the last field) << 4 | type, then the value      numbers of a struct rise
//! integer  zigzag, then seven bits a byte, the lowest first
//! text     length, bytes
//! list     length << 4 | type of elements, or from 15 on 0xf0 | type, length
//! struct   its fields, 0
//! ```

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Bytes of one struct with all below it.
#[derive(Default)]
pub(super) struct Thrift {
    bytes: Vec<u8>,
    last: Vec<u8>,
}

impl Thrift {
    /// The bytes of a struct whose fields `fields` writes.
    pub(super) fn of(fields: impl FnOnce(&mut Thrift)) -> Vec<u8> {
        let mut thrift = Thrift::default();
        thrift.body(fields);
        thrift.bytes
    }
    fn body(&mut self, fields: impl FnOnce(&mut Thrift)) {
        self.last.push(0);
        fields(self);
        self.last.pop();
        self.bytes.push(0);
    }
    fn field(&mut self, number: u8, kind: u8) {
        let last = self.last.last_mut().expect("invariant: fields stand in a struct");
        assert!(number > *last && number - *last < 16, "invariant: numbers of fields rise by less than 16");
        self.bytes.push((number - *last) << 4 | kind);
        *last = number;
    }
    fn varint(&mut self, value: u64) {
        varint(&mut self.bytes, value);
    }
    fn zigzag(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)).cast_unsigned());
    }
    fn binary(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }
    fn list_head(&mut self, number: u8, kind: u8, len: usize) {
        self.field(number, LIST);
        match len {
            0..15 => self.bytes.push((len as u8) << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                self.varint(len as u64);
            }
        }
    }
    pub(super) fn i32(&mut self, number: u8, value: i32) {
        self.field(number, I32);
        self.zigzag(value.into());
    }
    pub(super) fn i64(&mut self, number: u8, value: i64) {
        self.field(number, I64);
        self.zigzag(value);
    }
    pub(super) fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.binary(text);
    }
    pub(super) fn structure(&mut self, number: u8, fields: impl FnOnce(&mut Thrift)) {
        self.field(number, STRUCT);
        self.body(fields);
    }
    pub(super) fn i32s(&mut self, number: u8, values: &[i32]) {
        self.list_head(number, I32, values.len());
        values.iter().for_each(|&value| self.zigzag(value.into()));
    }
    pub(super) fn texts(&mut self, number: u8, texts: &[&str]) {
        self.list_head(number, BINARY, texts.len());
        texts.iter().for_each(|text| self.binary(text));
    }
    pub(super) fn structures<T>(&mut self, number: u8, rows: &[T], fields: impl Fn(&mut Thrift, &T)) {
        self.list_head(number, STRUCT, rows.len());
        rows.iter().for_each(|row| self.body(|thrift| fields(thrift, row)));
    }
}

/// An unsigned integer, seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_compact_protocol() {
        let bytes = Thrift::of(|thrift| {
            thrift.i32(1, -1);
            thrift.structure(4, |inner| inner.text(2, "ab"));
            thrift.i64(5, 300);
            thrift.i32s(7, &[1; 15]);
        });
        let head = [0x15, 1, 0x3c, 0x28, 2, b'a', b'b', 0, 0x16, 0xd8, 0x04, 0x29, 0xf5, 15];
        assert_eq!(bytes, [&head[..], &[2; 15], &[0]].concat());
    }
}
