//! Ctrl-C, and SIGTERM as a supervisor sends it. The first sets a flag that is looked at between batches of events: then partial
//! results are marked and shown. What has not ended within a second is ended; its unfinished files end in `.partial` at any time, and
//! finished runs stand in the journal. A second signal ends at once.

use crate::progress;
use crate::show::tell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Exit code of an interrupted command.
const EXIT_INTERRUPTED: u8 = 130;
/// So long a command may go on to show what it has: a second, less what a busy machine takes to end a process.
const PATIENCE: Duration = Duration::from_millis(700);

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag. Without a handler (another one is installed already) it is simply never set.
pub(crate) fn flag() -> &'static AtomicBool {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            end();
        }
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            tell!("interrupted {}: nothing is shown of what was not ready; unfinished files end in .partial", progress::done());
            end();
        });
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        tell!("warning: Ctrl-C will not leave marked output: {error}");
    }
    &STOP
}

/// The flag of a command that runs a recorder. The recorder gets Ctrl-C too and ends in order, so nothing is ended in its place; what
/// was recorded is kept.
pub(crate) fn flag_of_recorder() -> &'static AtomicBool {
    if let Err(error) = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)) {
        tell!("warning: Ctrl-C will not leave a complete recording: {error}");
    }
    &STOP
}

/// Says what was done until Ctrl-C, in the unit of the command, and what that is good for; gives the exit code.
pub(crate) fn told(what_for: &str) -> u8 {
    tell!("interrupted {}: {what_for}", progress::done());
    EXIT_INTERRUPTED
}

fn end() -> ! {
    std::process::exit(i32::from(EXIT_INTERRUPTED))
}
