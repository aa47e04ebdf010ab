//! A `Vec` that accepts exactly one kind of id.

use crate::ids::Id;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Rows of `T`, addressed by the typed id `I`. Rows are never moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    raw: Vec<T>,
    of: PhantomData<fn(I)>,
}

impl<I: Id, T> IndexVec<I, T> {
    /// A table without rows.
    pub const fn new() -> Self {
        IndexVec { raw: Vec::new(), of: PhantomData }
    }
    /// A table of `len` equal rows.
    pub fn filled(row: T, len: usize) -> Self
    where
        T: Clone,
    {
        IndexVec { raw: vec![row; len], of: PhantomData }
    }
    /// Appends a row and returns its id.
    pub fn push(&mut self, row: T) -> I {
        let id = I::from_index(self.raw.len());
        self.raw.push(row);
        id
    }
    /// Makes room for so many rows more, so that a table of which it is known how long it may get is not copied when it grows.
    pub fn reserve(&mut self, rows: usize) {
        self.raw.reserve_exact(rows);
    }
    /// For how many rows there is room.
    pub fn capacity(&self) -> usize {
        self.raw.capacity()
    }
    /// Appends equal rows until there are `len`, if there are fewer.
    pub fn extend_to(&mut self, len: usize, row: T)
    where
        T: Clone,
    {
        let len = len.max(self.raw.len());
        self.raw.resize(len, row);
    }
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.raw.len()
    }
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }
    /// The row of `id`, if there is one.
    pub fn get(&self, id: I) -> Option<&T> {
        self.raw.get(id.index())
    }
    /// The row of `id`, to be changed, if there is one.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.raw.get_mut(id.index())
    }
    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.raw.len()).map(I::from_index)
    }
    /// All rows in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.raw.iter()
    }
    /// All rows in order, to change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.raw.iter_mut()
    }
    /// All rows in order with their ids.
    pub fn iter_enumerated(&self) -> impl Iterator<Item = (I, &T)> {
        self.raw.iter().enumerate().map(|(i, row)| (I::from_index(i), row))
    }
    /// The rows as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.raw
    }
}

impl<I: Id, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        IndexVec::new()
    }
}

impl<I: Id, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(rows: It) -> Self {
        IndexVec { raw: rows.into_iter().collect(), of: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.raw[id.index()]
    }
}
impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.raw[id.index()]
    }
}
