//! A library, loaded: a private copy per instance, so that each has variables of its own.
//!
//! The loader of the system knows a file by its place, and gives the same variables to all who load the same one. So each
//! instance loads a copy under a name of its own, and the copy is removed as soon as it is loaded.

use crate::abi::{Entry, Handle, Table, VERSION};
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

static COPIES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Library {
    handle: Handle,
    table: *const Table,
}

impl Library {
    /// Loads a copy of `path`.
    pub(crate) fn load(path: &Path) -> Result<Library, String> {
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let copy = std::env::temp_dir().join(format!("fairground-core-{}-{number}.so", std::process::id()));
        std::fs::copy(path, &copy).map_err(|error| format!("{}: {error}", path.display()))?;
        let loaded = is_whole(&copy).and_then(|()| open(&copy)).map_err(|why| format!("{}: is no core: {why}", path.display()));
        std::fs::remove_file(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
        let library = Library { handle: loaded?, table: std::ptr::null() };
        library.with_table().map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Finds the table and holds its version and size against ours.
    fn with_table(mut self) -> Result<Library, String> {
        // SAFETY: the handle is of a loaded library, and the name ends with a zero.
        let symbol = unsafe { libc::dlsym(self.handle, c"fairground_kcore".as_ptr()) };
        if symbol.is_null() {
            return Err(
                "has no symbol `fairground_kcore`, so it is no core. Build one with `fairground kernel build TREE`".into()
            );
        }
        // SAFETY: the symbol is a function of this type by the interface; it has no arguments.
        let entry = unsafe { std::mem::transmute::<Handle, Entry>(symbol) };
        // SAFETY: the function only returns the address of a constant.
        self.table = unsafe { entry() };
        if self.table.is_null() {
            return Err("gives no table".into());
        }
        // SAFETY: the first two fields are there in every version of the interface.
        let abi = unsafe { (*self.table).abi };
        // SAFETY: as above.
        let size = unsafe { (*self.table).size } as usize;
        if abi != VERSION || size != size_of::<Table>() {
            return Err(format!(
                "has interface {abi} of {size} bytes, and this program {VERSION} of {}. Build the tree anew",
                size_of::<Table>()
            ));
        }
        Ok(self)
    }

    pub(crate) fn table(&self) -> &Table {
        // SAFETY: checked in `with_table`; the library stays loaded as long as `self` lives.
        unsafe { &*self.table }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and nothing of the library is used after this.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// Whether a file is as long as its header says: the loader of the system maps what is not there, and a read of that ends the process.
///
/// Source: elf(5), Elf64_Ehdr: the table of sections, which a linker puts last, is `e_shnum` rows of `e_shentsize` bytes at `e_shoff`.
fn is_whole(path: &Path) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let number = |at: usize, length: usize| -> Option<u64> {
        let field = bytes.get(at..at + length)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let end = || Some(number(0x28, 8)?.saturating_add(number(0x3a, 2)? * number(0x3c, 2)?));
    match end() {
        Some(end) if bytes.starts_with(b"\x7fELF") && end > bytes.len() as u64 => {
            Err(format!("it ends after {} of {end} bytes. Build the tree anew", bytes.len()))
        }
        _ => Ok(()),
    }
}

fn open(path: &Path) -> Result<Handle, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "its path holds a zero".to_string())?;
    // SAFETY: loading runs no code of the library: it has no constructors. The name ends with a zero.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: called on the thread on which dlopen failed.
    let why = unsafe { libc::dlerror() };
    // SAFETY: the text is valid up to the next call of the loader.
    Err(unsafe { text(why) })
}

/// A text of the core, with what is no printable character escaped.
///
/// # Safety
/// `pointer` is null or a text that ends with a zero.
pub(crate) unsafe fn text(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: by the caller.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    let escape =
        |sign: char| if sign.is_control() && sign != '\n' { sign.escape_default().to_string() } else { sign.to_string() };
    bytes.to_string_lossy().chars().map(escape).collect()
}
