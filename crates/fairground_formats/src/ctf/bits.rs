//! Values out of the bits of a packet.

use super::tsdl::{Field, IntType, Label, Shape, Type};
use crate::import::event_format::ByteOrder;
use std::ops::Range;

/// Types that are walked for one event: bounds lengths that the file itself tells.
const STEPS_MAX: u32 = 1 << 18;

/// A value that has no parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value<'m> {
    /// Signed ones are extended to 64 bits. An enumeration has labels.
    Number { bits: u64, signed: bool, labels: &'m [Label] },
    /// A text's place in the window.
    Text(Range<usize>),
}

impl<'m> Value<'m> {
    /// The number, or its two's complement.
    pub(super) fn number(&self) -> Option<u64> {
        if let Value::Number { bits, .. } = self { Some(*bits) } else { None }
    }
    /// The names of an enumeration's value.
    fn labels(&self) -> impl Iterator<Item = &'m str> + use<'m> {
        let (number, labels) = match *self {
            Value::Number { bits, signed: true, labels } => (i128::from(bits.cast_signed()), labels),
            Value::Number { bits, signed: false, labels } => (i128::from(bits), labels),
            Value::Text(_) => (0, &[][..]),
        };
        labels.iter().filter(move |label| (label.from..=label.to).contains(&number)).map(|label| label.name.as_str())
    }
}

/// Values in the order in which they were read, with the names of their fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Values<'m> {
    rows: Vec<(&'m str, Value<'m>)>,
    /// Where the fields of the event itself begin.
    pub(super) own_from: usize,
    /// The time that was read last, and the clock that it is of.
    pub(super) time: Option<(&'m IntType, u64)>,
}

impl<'m> Values<'m> {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        (self.own_from, self.time) = (0, None);
    }
    /// What follows is of the event itself.
    pub(super) fn begin_own(&mut self) {
        self.own_from = self.rows.len();
    }
    fn find<'a>(rows: &'a [(&'m str, Value<'m>)], name: &str) -> Option<&'a Value<'m>> {
        rows.iter().rev().find(|row| row.0 == name).map(|row| &row.1)
    }
    /// The value of a field, wherever it stands; the last one that has this name.
    pub(super) fn get(&self, name: &str) -> Option<&Value<'m>> {
        Values::find(&self.rows, name)
    }
    /// The value of a field of the event itself.
    pub(super) fn own(&self, name: &str) -> Option<&Value<'m>> {
        Values::find(&self.rows[self.own_from..], name)
    }
    /// The value of a field that stands before the event's own.
    pub(super) fn before(&self, name: &str) -> Option<&Value<'m>> {
        Values::find(&self.rows[..self.own_from], name)
    }
}

/// A value ends behind its packet, or is none that its type allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// A place among the bits of a window, which begins at a multiple of every alignment.
pub(super) struct Bits<'w> {
    bytes: &'w [u8],
    pub(super) at: u64,
    end: u64,
    order: ByteOrder,
    steps: u32,
}

impl<'w> Bits<'w> {
    /// Reads from bit `at` up to bit `end`.
    pub(super) fn new(bytes: &'w [u8], at: u64, end: u64, order: ByteOrder) -> Bits<'w> {
        Bits { bytes, at, end: end.min(8 * bytes.len() as u64), order, steps: 0 }
    }
    fn align(&mut self, align: u32) -> Result<(), Malformed> {
        self.at = self.at.checked_next_multiple_of(u64::from(align.max(1))).ok_or(Malformed)?;
        Ok(())
    }
    /// Goes on by so many bits; gives the place before.
    fn pass(&mut self, bits: u64) -> Result<u64, Malformed> {
        let (from, to) = (self.at, self.at.checked_add(bits).ok_or(Malformed)?);
        if to > self.end {
            return Err(Malformed);
        }
        self.at = to;
        Ok(from)
    }
    /// A number. In little order its first bit is the lowest of the first byte, in big order the highest.
    fn int(&mut self, int: &IntType) -> Result<u64, Malformed> {
        self.align(int.align)?;
        let from = self.pass(u64::from(int.bits))?;
        let bytes = &self.bytes[(from / 8) as usize..self.at.div_ceil(8) as usize];
        let join = |sum: u128, &byte: &u8| sum << 8 | u128::from(byte);
        let order = int.order.unwrap_or(self.order);
        let whole = match order {
            ByteOrder::Little => bytes.iter().rev().fold(0, join) >> (from % 8),
            ByteOrder::Big => bytes.iter().fold(0, join) >> (8 * bytes.len() as u64 - from % 8 - u64::from(int.bits)),
        };
        let unused = 64 - int.bits;
        let bits = (whole as u64) << unused;
        Ok(if int.signed { (bits.cast_signed() >> unused).cast_unsigned() } else { bits >> unused })
    }
    /// Reads a value of a type, and notes it and its parts under their names.
    pub(super) fn read<'m>(&mut self, name: &'m str, of: &'m Type, values: &mut Values<'m>) -> Result<(), Malformed> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(Malformed);
        }
        match &of.shape {
            Shape::Int(int) | Shape::Enum(int, _) => {
                let labels: &[Label] = if let Shape::Enum(_, labels) = &of.shape { labels } else { &[] };
                let bits = self.int(int)?;
                if int.clock.is_some() {
                    values.time = Some((int, bits));
                }
                values.rows.push((name, Value::Number { bits, signed: int.signed, labels }));
            }
            Shape::Float { bits } => {
                self.align(of.align)?;
                self.pass(u64::from(*bits))?;
            }
            Shape::Text => {
                self.align(of.align)?;
                let start = (self.at / 8) as usize;
                let rest = self.bytes.get(start..(self.end / 8) as usize).ok_or(Malformed)?;
                let length = rest.iter().position(|&byte| byte == 0).ok_or(Malformed)?;
                self.pass(8 * (length as u64 + 1))?;
                values.rows.push((name, Value::Text(start..start + length)));
            }
            Shape::Struct(fields) => {
                self.align(of.align)?;
                fields.iter().try_for_each(|field| self.read(&field.name, &field.of, values))?;
            }
            Shape::Variant { tag, options } => {
                let label = values.get(tag).ok_or(Malformed)?;
                let is_chosen = |option: &&Field| label.labels().any(|label| label == option.name);
                let option = options.iter().find(is_chosen).ok_or(Malformed)?;
                self.read(&option.name, &option.of, values)?;
            }
            Shape::Array(of, length) => self.elements(name, of, *length, values)?,
            Shape::Sequence(of, length) => {
                let length = values.get(length).and_then(Value::number).ok_or(Malformed)?;
                self.elements(name, of, length, values)?;
            }
        }
        Ok(())
    }
    fn elements<'m>(&mut self, name: &'m str, of: &'m Type, length: u64, values: &mut Values<'m>) -> Result<(), Malformed> {
        self.align(of.align)?;
        match &of.shape {
            Shape::Int(int) if int.bits == 8 && int.align.is_multiple_of(8) && self.at.is_multiple_of(8) => {
                if int.align != 8 && length > 1 {
                    return Err(Malformed);
                }
                let start = (self.pass(length.checked_mul(8).ok_or(Malformed)?)? / 8) as usize;
                let whole = &self.bytes[start..start + length as usize];
                let end = whole.iter().position(|&byte| byte == 0).unwrap_or(whole.len());
                if int.is_text {
                    values.rows.push((name, Value::Text(start..start + end)));
                }
            }
            // Numbers of which nobody asks.
            Shape::Int(int) if int.bits.is_multiple_of(int.align) => {
                self.pass(length.checked_mul(int.bits.into()).ok_or(Malformed)?)?;
            }
            _ => {
                for _ in 0..length {
                    self.read(name, of, values)?;
                }
            }
        }
        Ok(())
    }
}
