//! Why a core did not do what it was asked.

use crate::abi::FaultTables;
use crate::library::text;
use crate::symbols::Symbols;
use std::fmt;

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// The core refused by an error number of Linux; its state is as before.
    Refused(i64),
    /// The core stopped, in this call or earlier. No further call is taken.
    Stopped(Stop),
}

/// The fault of a core. It is the fault of the kernel tree, not of the engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// What kind of fault.
    pub kind: StopKind,
    /// File and line of a BUG.
    pub place: String,
    /// The function of a BUG, the symbol that is missing, what ran out.
    pub what: String,
    /// The function in which it happened, if the library's list of symbols has it.
    pub function: Option<String>,
    /// The address of an oops.
    pub address: u64,
}

/// The kinds of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopKind {
    /// BUG(), or panic().
    Bug,
    /// An invalid access.
    Oops,
    /// A call that does not end.
    Loop,
    /// A lock taken twice.
    DeadLock,
    /// A symbol that the shim lacks was called.
    Trap,
    /// A table or the memory of the core is full.
    Full,
    /// Something of which the shim knows that it cannot do it.
    Unable,
}

impl Stop {
    /// Reads a fault; `None` if the core is fine.
    ///
    /// # Safety
    /// The pointers of `fault` are null or texts that end with a zero.
    pub(crate) unsafe fn read(fault: &FaultTables, symbols: &Symbols) -> Option<Stop> {
        let kind = match fault.kind {
            0 => return None,
            1 => StopKind::Bug,
            2 => StopKind::Oops,
            3 => StopKind::Loop,
            4 => StopKind::DeadLock,
            5 => StopKind::Trap,
            6 => StopKind::Full,
            _ => StopKind::Unable,
        };
        // SAFETY: by the caller.
        let file = unsafe { text(fault.file) };
        // SAFETY: by the caller.
        let what = unsafe { text(fault.what) };
        let place = if file.is_empty() { String::new() } else { format!("{file}:{}", fault.line) };
        Some(Stop { kind, place, what, function: symbols.at(fault.caller), address: fault.address })
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = self.function.as_ref().map(|name| format!(" in {name}()")).unwrap_or_default();
        match self.kind {
            StopKind::Bug => write!(f, "the kernel's own BUG in {}() at {}", self.what, self.place),
            StopKind::Oops => write!(f, "the kernel's own oops{within}: invalid access to address {:#x}", self.address),
            StopKind::Loop => write!(f, "the kernel loops without end{within}: {}", self.what),
            StopKind::DeadLock => write!(f, "the kernel locks itself out{within}: {}", self.what),
            StopKind::Trap => write!(
                f,
                "the kernel calls `{}`{within}, which this program does not have: what it belongs to is not supported yet",
                self.what
            ),
            StopKind::Full => write!(f, "no more room in the core{within}: {}", self.what),
            StopKind::Unable => write!(f, "the core cannot do this{within}: {}", self.what),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(number) => {
                write!(f, "the core refuses: {}", std::io::Error::from_raw_os_error(-*number as i32))
            }
            CallError::Stopped(stop) => stop.fmt(f),
        }
    }
}

impl std::error::Error for CallError {}
