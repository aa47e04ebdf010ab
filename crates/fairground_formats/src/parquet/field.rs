//! The columns of a table and the values of its rows.

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Floats.
    Double,
    /// Text.
    Text,
}

impl Kind {
    /// The number of the physical type in the format.
    pub(super) const fn physical(self) -> i32 {
        match self {
            Kind::Int => 2,
            Kind::Double => 5,
            Kind::Text => 6,
        }
    }
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

impl Field {
    /// A column.
    pub fn new(name: impl Into<String>, kind: Kind) -> Field {
        Field { name: name.into(), kind }
    }
}

/// One value of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'v> {
    /// None.
    Null,
    /// A whole number.
    Int(i64),
    /// A float.
    Double(f64),
    /// Text.
    Text(&'v str),
}
