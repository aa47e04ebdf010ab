//! Copies of a core in mid-run.
//!
//! # The problem
//!
//! A core is what lies in the variables of its library, and these point at each other. So a copy cannot stand at another address.
//!
//! # The rule
//!
//! All copies share one library. Its variables are those of one of them, the *holder*; those of the others are kept as bytes. Who is
//! called and is not the holder takes the place:
//!
//! ```text
//! holder: variables ─► bytes        who is called: bytes ─► variables, at the same addresses
//! ```
//!
//! What the loader has written (relocations) is equal in all copies, and is left alone; so is memory that the core has never used.
//! Turns of copies cost some milliseconds each, as 5 MB and more change places; a copy that is alone pays nothing.

use crate::abi::Table;
use crate::library::Library;
use crate::symbols::Symbols;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Nobody is the holder: it was dropped.
const NOBODY: u64 = 0;

/// A stretch of variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    start: usize,
    end: usize,
}

impl Part {
    /// What is left of it without another: up to two stretches.
    fn without(self, other: Part) -> impl Iterator<Item = Part> {
        let before = Part { start: self.start, end: self.end.min(other.start) };
        let after = Part { start: self.start.max(other.end), end: self.end };
        let both = if other.start >= other.end { [self, Part { start: 0, end: 0 }] } else { [before, after] };
        both.into_iter().filter(|part| part.start < part.end)
    }
}

/// The variables of a copy that is not the holder.
#[derive(Clone)]
struct Image(Vec<(usize, Vec<u8>)>);

/// A library with all copies of its core.
pub(crate) struct Instance {
    library: Library,
    pub(crate) symbols: Symbols,
    /// All variables that calls may change.
    parts: Vec<Part>,
    holder: Cell<u64>,
    copies: Cell<u64>,
    away: RefCell<BTreeMap<u64, Image>>,
}

impl Instance {
    /// That with one core; its number is 1.
    pub(crate) fn new(library: Library, symbols: Symbols) -> Instance {
        let parts = variables(library.table());
        Instance { library, symbols, parts, holder: Cell::new(1), copies: Cell::new(1), away: RefCell::default() }
    }

    /// The functions, which from now on act on the copy of that number.
    #[inline]
    pub(crate) fn table(&self, number: u64) -> &Table {
        if self.holder.get() != number {
            self.change_places(number);
        }
        self.library.table()
    }

    #[cold]
    fn change_places(&self, number: u64) {
        let mut away = self.away.borrow_mut();
        let comes = away.remove(&number).expect("invariant: a copy that is not the holder is kept");
        let leaves = self.holder.replace(number);
        if leaves != NOBODY {
            away.insert(leaves, self.save());
        }
        for (start, bytes) in &comes.0 {
            // SAFETY: the stretch was saved from these variables, which are there and may be written as long as the library is; nobody
            // holds a reference into them, since what a core gives of them is copied.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), *start as *mut u8, bytes.len()) };
        }
    }

    fn save(&self) -> Image {
        // SAFETY: takes nothing, and gives a stretch of the library's variables.
        let unused = unsafe { (self.library.table().unused)() };
        let unused = Part { start: unused.start as usize, end: unused.start as usize + unused.bytes as usize };
        let used = self.parts.iter().flat_map(|part| part.without(unused));
        let copy = |part: Part| {
            // SAFETY: the stretch is part of the library's variables, which may be read.
            let bytes = unsafe { std::slice::from_raw_parts(part.start as *const u8, part.end - part.start) };
            (part.start, bytes.to_vec())
        };
        Image(used.map(copy).collect())
    }

    /// Makes a copy of one; the answer is its number.
    pub(crate) fn copy(&self, of: u64) -> u64 {
        let number = self.copies.get() + 1;
        self.copies.set(number);
        let image = match self.holder.get() == of {
            true => self.save(),
            false => self.away.borrow()[&of].clone(),
        };
        self.away.borrow_mut().insert(number, image);
        number
    }

    /// A copy is no longer wanted.
    pub(crate) fn forget(&self, number: u64) {
        self.away.borrow_mut().remove(&number);
        if self.holder.get() == number {
            self.holder.set(NOBODY);
        }
    }
}

/// What a search for a library's segments goes by, and what it finds.
struct Search {
    address: usize,
    parts: Vec<Part>,
}

/// The variables of the library whose table that is: its segments that may be written, but for what is so only while it is loaded.
fn variables(table: &Table) -> Vec<Part> {
    let mut search = Search { address: std::ptr::from_ref(table) as usize, parts: Vec::new() };
    let data: *mut Search = &raw mut search;
    // SAFETY: the function is called with that pointer and no other, before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), data.cast::<c_void>()) };
    search.parts
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the system gives a struct that is valid during the call.
    let info = unsafe { &*info };
    // SAFETY: `variables` gives this.
    let search = unsafe { &mut *data.cast::<Search>() };
    // SAFETY: the table has so many rows.
    let rows = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let part = |row: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr as usize + row.p_vaddr as usize;
        Part { start, end: start + row.p_memsz as usize }
    };
    let loaded = || rows.iter().filter(|row| row.p_type == libc::PT_LOAD);
    if !loaded().map(part).any(|part| (part.start..part.end).contains(&search.address)) {
        return 0;
    }
    let fixed = rows.iter().find(|row| row.p_type == libc::PT_GNU_RELRO).map_or(Part { start: 0, end: 0 }, part);
    let written = loaded().filter(|row| row.p_flags & libc::PF_W != 0).map(part);
    search.parts = written.flat_map(|part| part.without(fixed)).collect();
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_without_another_leaves_what_lies_before_and_behind() {
        let part = |start, end| Part { start, end };
        let left = |other| part(10, 20).without(other).collect::<Vec<_>>();
        assert_eq!(left(part(12, 15)), [part(10, 12), part(15, 20)]);
        assert_eq!(left(part(0, 12)), [part(12, 20)]);
        assert_eq!(left(part(15, 99)), [part(10, 15)]);
        assert_eq!(left(part(0, 0)), [part(10, 20)]);
        assert_eq!(left(part(5, 30)), []);
        assert_eq!(left(part(30, 40)), [part(10, 20)]);
    }
}
