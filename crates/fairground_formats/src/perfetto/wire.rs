//! Protobuf on the wire. Fields are read where they lie: nothing is copied, so hostile input costs no memory.
//!
//! A field is a key (field number · 8 + wire type) and a value. Numbers are varints: groups of seven bits, the lowest
//! first, the top bit of a byte set where more follow. A text or message has its length before it.

/// Bytes of the longest varint: 64 bits in groups of seven.
pub(super) const VARINT_MAX: usize = 10;

/// Wire types: a varint; a length and as many bytes.
const WIRE_VARINT: u64 = 0;
const WIRE_LENGTH: u64 = 2;

/// Why fields could not be read on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WireError {
    /// The bytes end within a field.
    CutOff,
    /// These bytes are no field.
    Malformed,
}

/// A field's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    /// A varint: numbers, booleans, enums.
    Number(u64),
    /// Text, a message, packed numbers.
    Bytes(&'a [u8]),
    /// Four or eight bytes: of no field that is read here.
    Fixed,
}

impl<'a> Value<'a> {
    /// The number; `None` if the field is of another kind.
    pub(super) fn number(self) -> Option<u64> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }
    /// The number as a field of type int32 holds it: the lower half of what is on the wire.
    pub(super) fn int32(self) -> Option<i32> {
        self.number().map(|number| number as i32)
    }
    /// An int32 that cannot be negative: a process id, a CPU.
    pub(super) fn natural(self) -> Option<u32> {
        self.int32().and_then(|number| u32::try_from(number).ok())
    }
    /// The bytes; `None` if the field is of another kind.
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// The fields of a message, one after the other; ends behind the first error.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }
    fn field(&mut self) -> Result<(u32, Value<'a>), WireError> {
        let (number, wire_type) = key(varint(&mut self.rest)?)?;
        let value = match wire_type {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(WireError::Malformed),
        };
        Ok((number, value))
    }
    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| WireError::CutOff)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::CutOff)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Field number and wire type of a key. Numbers begin with 1 and have 29 bits.
pub(super) fn key(key: u64) -> Result<(u32, u8), WireError> {
    match u32::try_from(key) {
        Ok(key) if key >> 3 != 0 => Ok((key >> 3, (key & 7) as u8)),
        _ => Err(WireError::Malformed),
    }
}

/// Takes one varint off the front.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64, WireError> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().enumerate().take(VARINT_MAX) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Ok(value);
        }
    }
    Err(if bytes.len() < VARINT_MAX { WireError::CutOff } else { WireError::Malformed })
}

/// Puts one varint at the end.
pub(super) fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A message that is being written. Fields come in the order of the calls; [`None`] leaves a field out.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn new() -> Message {
        Message::default()
    }
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// A field of type uint32, uint64 or enum.
    pub(super) fn number(mut self, field: u32, value: impl Into<Option<u64>>) -> Message {
        if let Some(value) = value.into() {
            put_varint(u64::from(field) << 3 | WIRE_VARINT, &mut self.bytes);
            put_varint(value, &mut self.bytes);
        }
        self
    }
    /// A field of type int32 or int64: a negative number has all its 64 bits on the wire, in ten bytes.
    pub(super) fn signed(self, field: u32, value: impl Into<Option<i64>>) -> Message {
        self.number(field, value.into().map(i64::cast_unsigned))
    }
    /// A field of type string.
    pub(super) fn text<'t>(mut self, field: u32, value: impl Into<Option<&'t str>>) -> Message {
        if let Some(value) = value.into() {
            self.put(field, value.as_bytes());
        }
        self
    }
    /// A field that is a message.
    pub(super) fn message(mut self, field: u32, value: impl Into<Option<Message>>) -> Message {
        if let Some(value) = value.into() {
            self.put(field, &value.bytes);
        }
        self
    }
    /// A field that is there once for each of these messages.
    pub(super) fn messages(self, field: u32, values: impl IntoIterator<Item = Message>) -> Message {
        values.into_iter().fold(self, |message, value| message.message(field, value))
    }
    fn put(&mut self, field: u32, value: &[u8]) {
        put_varint(u64::from(field) << 3 | WIRE_LENGTH, &mut self.bytes);
        put_varint(value.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use protobuf::CodedOutputStream;

    fn read(bytes: &[u8]) -> Vec<Result<(u32, Value<'_>), WireError>> {
        Fields::of(bytes).collect()
    }

    #[test]
    fn fields_of_all_wire_types() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let expected =
            [(1, Value::Number(150)), (2, Value::Bytes(b"hi")), (3, Value::Fixed), (4, Value::Fixed)].map(Ok::<_, WireError>);
        assert_eq!(read(&bytes), expected);
        for length in 1..bytes.len() {
            let found = read(&bytes[..length]);
            assert!([3, 7, 12].contains(&length) || *found.last().unwrap() == Err(WireError::CutOff), "{length}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_field() {
        for bytes in [&[0x00, 1][..], &[0x0b], &[0x0c], &[0x0f, 0], &[0xff; 11], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0]] {
            assert_eq!(read(bytes), [Err(WireError::Malformed)], "{bytes:?}");
        }
        assert_eq!(read(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), [Err(WireError::CutOff)]);
    }

    #[test]
    fn numbers_of_32_bits() {
        assert_eq!(Value::Number(u64::MAX).int32(), Some(-1));
        assert_eq!((Value::Number(u64::MAX).natural(), Value::Number(7).natural()), (None, Some(7)));
        assert_eq!((Value::Bytes(b"").number(), Value::Number(1).bytes()), (None, None));
    }

    #[test]
    fn a_field_without_value_is_left_out_and_an_empty_message_is_not() {
        let message = Message::new().number(1, None).text(2, None).message(3, None).signed(4, -1).message(5, Message::new());
        assert_eq!(message.bytes(), [0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x2a, 0]);
    }

    proptest! {
        #[test]
        fn varints_are_those_of_another_encoder(numbers in prop::collection::vec(any::<u64>(), 0..20), number in 1u32..1 << 29) {
            let mut bytes = Vec::new();
            let mut other = CodedOutputStream::vec(&mut bytes);
            for &value in &numbers {
                other.write_uint64(number, value).unwrap();
            }
            other.flush().unwrap();
            drop(other);
            let expected: Vec<_> = numbers.iter().map(|&value| Ok((number, Value::Number(value)))).collect();
            prop_assert_eq!(read(&bytes), expected);
        }

        #[test]
        fn fields_are_written_as_another_encoder_writes_them(
            field in 1u32..1 << 29, number in any::<u64>(), signed in any::<i64>(), text in ".*",
        ) {
            let inner = Message::new().number(field, number).signed(field, signed);
            let ours = Message::new().text(field, text.as_str()).messages(field, [inner.clone(), inner.clone()]);
            let mut bytes = Vec::new();
            let mut other = CodedOutputStream::vec(&mut bytes);
            other.write_string(field, &text).unwrap();
            for _ in 0..2 {
                let mut message = Vec::new();
                let mut part = CodedOutputStream::vec(&mut message);
                part.write_uint64(field, number).unwrap();
                part.write_int64(field, signed).unwrap();
                part.flush().unwrap();
                drop(part);
                other.write_bytes(field, &message).unwrap();
            }
            other.flush().unwrap();
            drop(other);
            prop_assert_eq!(ours.bytes(), bytes);
        }
    }
}
