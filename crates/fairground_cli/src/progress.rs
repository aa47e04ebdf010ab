//! How far work is: a progress bar on stderr, only on a terminal and only for work that lasts; a line where there is none; and what was
//! done when it is interrupted.

use crate::show::tell;
use fairground_scenario::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Without a terminal a line says after so long how much is to come.
const TOLD_AFTER: Duration = Duration::from_secs(10);
/// Pictures per second.
const REFRESH_HZ: u8 = 10;

/// What is counted of a piece of work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Runs, of which it is known how many there will be.
    Runs,
    /// Runs, as many as it takes.
    RunsSoFar,
    /// Cases of a battery.
    Cases,
    /// The time of one run, the records of one trace, or the time that the work may take: shown in percent.
    Part,
}

/// How far the work of this process has come: the last thing that was told. A process is one command.
struct Reached {
    unit: Unit,
    done: u64,
    total: u64,
}

static REACHED: Mutex<Reached> = Mutex::new(Reached { unit: Unit::Part, done: 0, total: 0 });

fn reached() -> MutexGuard<'static, Reached> {
    REACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was done, in the unit of the command, as it stands behind "interrupted".
pub(crate) fn done() -> String {
    let Reached { unit, done, total } = *reached();
    let percent = (u128::from(done) * 100).checked_div(u128::from(total)).unwrap_or(0);
    match unit {
        Unit::Runs => format!("after {done} of {total} runs"),
        Unit::RunsSoFar => format!("after {done} runs"),
        Unit::Cases => format!("after {done} of {total} cases"),
        Unit::Part => format!("after {percent} % of the work"),
    }
}

/// A bar that appears when work lasts.
pub(crate) struct Bar {
    label: &'static str,
    began: Instant,
    bar: OnceLock<ProgressBar>,
    told: OnceLock<()>,
    /// How much there will be, where that is less than what there may be.
    expected: Option<u64>,
}

impl Bar {
    pub(crate) fn new(label: &'static str, unit: Unit) -> Bar {
        *reached() = Reached { unit, done: 0, total: 0 };
        Bar { label, began: Instant::now(), bar: OnceLock::new(), told: OnceLock::new(), expected: None }
    }
    /// The same, where there will be about so much and there may be more.
    pub(crate) fn expecting(self, total: u64) -> Bar {
        Bar { expected: Some(total), ..self }
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
    /// Says once how long it will last, as far as that can be told from what is done.
    fn tell(&self, done: u64, total: u64) {
        let elapsed = self.began.elapsed();
        if elapsed < TOLD_AFTER || std::io::stderr().is_terminal() || self.told.set(()).is_err() {
            return;
        }
        let left = u128::from(total.saturating_sub(done)) * elapsed.as_millis();
        let left = left.checked_div(u128::from(done)).and_then(|left| u64::try_from(left).ok());
        let to_go = left.map_or_else(
            || "nobody knows how much is to come".to_string(),
            |left| format!("about {} to go", HumanDuration(Duration::from_millis(left))),
        );
        tell!("{}: {} within {} s; {to_go}. Ctrl-C ends it.", self.label, done_of(done, total), elapsed.as_secs());
    }
}

/// A part in percent, with a digit behind the point: work that takes hours has hardly begun.
fn done_of(done: u64, total: u64) -> String {
    let permille = (u128::from(done) * 1000).checked_div(u128::from(total)).unwrap_or(0);
    format!("{}.{} %", permille / 10, permille % 10)
}

impl Progress for Bar {
    fn at(&self, done: u64, total: u64) {
        let total = self.expected.map_or(total, |expected| expected.max(done));
        {
            let mut reached = reached();
            (reached.done, reached.total) = (done, total);
        }
        if self.bar.get().is_none() && self.began.elapsed() < PATIENCE {
            return;
        }
        self.tell(done, total);
        let bar = self.bar.get_or_init(|| self.make());
        bar.set_length(total);
        bar.set_position(done);
    }
}
