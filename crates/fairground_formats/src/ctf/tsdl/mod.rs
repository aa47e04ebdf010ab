//! TSDL, the language in which a trace describes its own binary layout (CTF 1.8, appendix C).

mod blocks;
mod lexer;
mod parser;
mod types;

pub(super) use blocks::{ClockClass, Description, EventClass, StreamClass};
pub(super) use types::{Field, IntType, Label, Shape, Type};

/// What is wrong with a description, and in which line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) line: u32,
    pub(super) what: String,
}

/// Reads a description, up to what is wrong with it.
pub(super) fn parse(text: &str) -> (Description, Option<Wrong>) {
    let mut description = Description::default();
    let wrong = blocks::parse(text, &mut description).err();
    (description, wrong)
}

#[cfg(test)]
mod tests;
