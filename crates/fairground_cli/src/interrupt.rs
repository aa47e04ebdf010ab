//! Ctrl-C: the first sets a flag that is looked at between batches of events, the second ends at once.

use crate::show::tell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of an interrupted command.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag. Without a handler (another one is installed already) it is simply never set.
pub(crate) fn flag() -> &'static AtomicBool {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(EXIT_INTERRUPTED));
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        tell!("warning: Ctrl-C will not leave marked output: {error}");
    }
    &STOP
}
