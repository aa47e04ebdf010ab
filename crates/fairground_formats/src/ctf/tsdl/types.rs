//! The types of values in a stream.

use crate::import::event_format::ByteOrder;
use std::rc::Rc;

/// How deep types may lie in each other.
pub(crate) const DEPTH_MAX: u32 = 32;
/// Longest number.
pub(crate) const INT_BITS_MAX: u32 = 64;

/// An integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IntType {
    /// Its length in bits.
    pub(crate) bits: u32,
    pub(crate) align: u32,
    pub(crate) signed: bool,
    /// None = that of the trace.
    pub(crate) order: Option<ByteOrder>,
    /// It is a character of a text.
    pub(crate) is_text: bool,
    /// The clock whose time it shows.
    pub(crate) clock: Option<String>,
}

/// A field of a structure, or an option of a variant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) of: Rc<Type>,
}

/// A name for a range of numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) from: i128,
    pub(crate) to: i128,
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Int(IntType),
    Enum(IntType, Vec<Label>),
    /// Its bits are passed over.
    Float {
        bits: u32,
    },
    /// Bytes up to a zero.
    Text,
    Struct(Vec<Field>),
    /// One of the options: the one that the enumeration of that name shows.
    Variant {
        tag: String,
        options: Vec<Field>,
    },
    Array(Rc<Type>, u64),
    /// As many elements as the field of that name says.
    Sequence(Rc<Type>, String),
}

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    pub(crate) shape: Shape,
    /// Of its first bit, counted from the beginning of the packet.
    pub(crate) align: u32,
    /// How many types lie in each other.
    pub(crate) depth: u32,
}

impl Type {
    /// A type of a shape, at least so aligned.
    pub(crate) fn new(shape: Shape, align: u32) -> Type {
        let of_fields = |fields: &[Field]| {
            let inner = |fact: fn(&Type) -> u32| fields.iter().map(|field| fact(&field.of)).max().unwrap_or(1);
            (inner(|of| of.align), inner(|of| of.depth))
        };
        let (own, depth) = match &shape {
            Shape::Int(int) | Shape::Enum(int, _) => (int.align, 0),
            Shape::Float { .. } => (1, 0),
            Shape::Text => (8, 0),
            Shape::Struct(fields) => of_fields(fields),
            // Its option is aligned when it is read.
            Shape::Variant { options, .. } => (1, of_fields(options).1),
            Shape::Array(of, _) | Shape::Sequence(of, _) => (of.align, of.depth),
        };
        Type { shape, align: own.max(align), depth: depth + 1 }
    }
}
