//! The instructions of a program. They are shared until somebody changes them: a recording of millions of records is one long program
//! that a scenario, its set-up, the run and each copy of the run have.

use crate::program::Instr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A list of instructions, cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code(Arc<Vec<Instr>>);

impl Deref for Code {
    type Target = Vec<Instr>;
    fn deref(&self) -> &Vec<Instr> {
        &self.0
    }
}

impl DerefMut for Code {
    /// The list becomes one of its own, if it was shared.
    fn deref_mut(&mut self) -> &mut Vec<Instr> {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<Instr>> for Code {
    fn from(code: Vec<Instr>) -> Code {
        Code(Arc::new(code))
    }
}

impl<'c> IntoIterator for &'c Code {
    type Item = &'c Instr;
    type IntoIter = std::slice::Iter<'c, Instr>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'c> IntoIterator for &'c mut Code {
    type Item = &'c mut Instr;
    type IntoIter = std::slice::IterMut<'c, Instr>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_shared_until_one_is_changed() {
        let one = Code::from(vec![Instr::Yield]);
        let mut other = one.clone();
        assert!(std::ptr::eq(one.as_slice(), other.as_slice()));
        other.push(Instr::Exit);
        assert_eq!((one.len(), other.len()), (1, 2));
        // Nothing else of an instruction is as large as a mask of CPUs would be.
        assert!(size_of::<Instr>() <= 48, "{}", size_of::<Instr>());
    }
}
