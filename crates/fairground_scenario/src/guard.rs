//! The run boundary: a broken invariant inside a run is caught here and becomes a value that names the
//! invariant, where the run was, and the command that leads there again.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// Version of this build, as in reports.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A broken invariant: our bug, never the user's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Broken {
    /// The message of the assertion.
    pub message: String,
    /// Source file and line of the assertion.
    pub place: String,
    /// Where the run was, if it had begun.
    pub run: Option<BrokenRun>,
}

/// Where a run was when an invariant broke.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenRun {
    /// Simulated time in ns.
    pub at_ns: u64,
    /// Events processed before.
    pub events: u64,
    /// Digest of the scenario.
    pub scenario_digest: u128,
    /// The seed.
    pub seed: u64,
    /// The command that stops one event before.
    pub replay: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "broken invariant: {}", self.message)?;
        writeln!(f, "  this is a bug in fairground {VERSION}, at {}", self.place)?;
        if let Some(run) = &self.run {
            writeln!(f, "  simulated time {} ns, event {}", run.at_ns, run.events)?;
            writeln!(f, "  scenario {:032x}, seed {}", run.scenario_digest, run.seed)?;
            writeln!(f, "  to stop one event before: {}", run.replay)?;
        }
        Ok(())
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static CAUGHT: RefCell<Option<Broken>> = const { RefCell::new(None) };
}
static HOOK: Once = Once::new();

/// Calls `body`; a panic in it comes back as a [`Broken`] without a run.
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Broken> {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| if GUARDED.get() { CAUGHT.set(Some(describe(info))) } else { usual(info) }));
    });
    let outer = GUARDED.replace(true);
    // What `body` leaves half done is dropped or only looked at afterwards, never run on.
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    GUARDED.set(outer);
    result.map_err(|_| CAUGHT.take().unwrap_or_default())
}

fn describe(info: &PanicHookInfo<'_>) -> Broken {
    let message = info.payload_as_str().unwrap_or("a panic without a message").to_string();
    let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
    Broken { message, place, run: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_value_and_the_next_call_works() {
        let broken = catch(|| panic!("invariant: min_vruntime went back")).unwrap_err();
        assert_eq!(broken.message, "invariant: min_vruntime went back");
        assert!(broken.place.contains("guard.rs:"), "{broken}");
        assert_eq!(catch(|| 7), Ok(7));
    }
}
