//! A progress bar on stderr, only on a terminal and only for work that lasts.

use fairground_scenario::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Pictures per second.
const REFRESH_HZ: u8 = 10;

/// A bar that appears when work lasts.
pub(crate) struct Bar {
    label: &'static str,
    began: Instant,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    pub(crate) fn new(label: &'static str) -> Bar {
        Bar { label, began: Instant::now(), bar: OnceLock::new() }
    }
    /// Takes the bar off the screen.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
    fn make(&self) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(REFRESH_HZ));
        let style =
            ProgressStyle::with_template("{msg} {wide_bar} {percent:>3}% {eta}").unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_message(self.label);
        bar
    }
}

impl Progress for Bar {
    fn at(&self, done: u64, total: u64) {
        if self.bar.get().is_none() && self.began.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| self.make());
        bar.set_length(total);
        bar.set_position(done);
    }
}
