//! Long work beside Python: the interpreter is free meanwhile, Ctrl-C stops the work, and progress is told.

use fairground_scenario::{
    Control, Error, Progress,
    guard::{self, Broken},
};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);
/// Stack of the thread that works: as that of a program's main thread.
const STACK: usize = 8 << 20;

/// How far the work is, as it told last.
#[derive(Default)]
struct Seen {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress for Seen {
    fn at(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}

/// Whether the work has ended.
#[derive(Default)]
struct End {
    is_there: Mutex<bool>,
    comes: Condvar,
}

impl End {
    fn tell(&self) {
        *self.is_there.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.comes.notify_all();
    }
    /// Waits for a while; says whether it has come.
    fn wait(&self) -> bool {
        let is_there = self.is_there.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.comes.wait_timeout_while(is_there, LOOK, |is_there| !*is_there);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Does something in a thread of its own. `progress` is called with the steps that are done and all of them. An exception of it, or a
/// signal whose handler raises one, stops the work; then that exception is the outer error. A panic is a broken invariant.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Control<'_>) -> Result<T, Error> + Send,
) -> PyResult<Result<T, Error>> {
    let (stop, seen, end) = (AtomicBool::new(false), Seen::default(), End::default());
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let made = guard::catch(|| work(Control::new(&stop, &seen)));
            end.tell();
            made
        })?;
        let mut raised = None;
        while !py.detach(|| end.wait()) {
            if raised.is_none()
                && let Err(error) = py.check_signals().and_then(|()| tell(progress, &seen))
            {
                stop.store(true, Ordering::Relaxed);
                raised = Some(error);
            }
        }
        let made = py.detach(|| worker.join());
        if let Some(error) = raised {
            return Err(error);
        }
        tell(progress, &seen)?;
        Ok(match made {
            Ok(Ok(made)) => made,
            Ok(Err(broken)) => Err(Error::Broken(Box::new(broken))),
            Err(_) => {
                Err(Error::Broken(Box::new(Broken { message: "a thread ended in a panic".to_string(), ..Broken::default() })))
            }
        })
    })
}

fn tell(progress: Option<&Bound<'_, PyAny>>, seen: &Seen) -> PyResult<()> {
    let (done, total) = (seen.done.load(Ordering::Relaxed), seen.total.load(Ordering::Relaxed));
    match progress.filter(|_| total > 0) {
        Some(progress) => progress.call1((done, total)).map(drop),
        None => Ok(()),
    }
}
