//! The flags, and the memory that the threads of one message thread share.

use crate::build::words;
use crate::param::Values;
use fairground_model::{TaskSet, Word};
use fairground_stdx::{MarkerId, Ns, WordId};

/// What a thread writes into memory, in ns per KiB.
const FILL_NS_PER_KIB: u64 = 60;
/// Requests that may wait for the workers of one message thread. The real program has no bound: it allocates.
const REQUESTS: u64 = 4096;

/// The flags, with what follows from them.
pub(super) struct Flags {
    pub(super) workers: u64,
    pub(super) sleep_us: u64,
    pub(super) spin_us: u64,
    /// Time to write the bytes of `-p`; zero = not in pipe mode.
    pub(super) fill: Ns,
    /// Requests per second of one message thread; 0 = not in that mode.
    pub(super) rps: u64,
}

impl Flags {
    pub(super) fn read(values: &Values) -> Flags {
        let bytes = values.count("pipe");
        let or_zero = |name| if bytes > 0 && !values.given(name) { 0 } else { values.count(name) };
        Flags {
            workers: values.count("threads"),
            sleep_us: or_zero("sleeptime"),
            spin_us: or_zero("cputime"),
            fill: Ns((bytes * FILL_NS_PER_KIB).div_ceil(1024)),
            rps: values.count("rps") / values.count("message-threads"),
        }
    }
}

/// What the threads of one message thread share. Worker i, counted from 1, owns entry i of each array; entry 0 is the
/// message thread's.
pub(super) struct Shared {
    /// Whether the time is up.
    pub(super) stopping: WordId,
    /// Whether each thread waits.
    pub(super) futex: WordId,
    /// Who came to the message thread before each; entry 0 is who came last. 0 is nobody. With requests: whose turn
    /// comes after each one's.
    pub(super) next: WordId,
    /// When each was woken.
    pub(super) wake_time: WordId,
    /// The requests that wait for each worker, the last first.
    pub(super) request: WordId,
    /// The request before each; entry 0 begins the list of free ones.
    pub(super) earlier: WordId,
    /// When each request was made.
    pub(super) made: WordId,
    /// The measurement.
    pub(super) latency: MarkerId,
}

/// Entry `reg` of an array.
pub(super) fn at(first: WordId, reg: u8) -> Word {
    Word { first, plus: Some(reg) }
}

/// Entry `row` of an array.
pub(super) fn fixed(first: WordId, row: u64) -> Word {
    WordId::new(first.get() + row as u32).into()
}

impl Shared {
    pub(super) fn new(set: &mut TaskSet, flags: &Flags, stopping: WordId, latency: MarkerId) -> Shared {
        let threads = flags.workers + 1;
        let requests = if flags.rps > 0 { REQUESTS + 1 } else { 0 };
        Shared {
            stopping,
            futex: words(set, threads, |_| 0),
            next: words(set, threads, |row| if requests > 0 { row % flags.workers + 1 } else { 0 }),
            wake_time: words(set, threads, |_| 0),
            request: words(set, if requests > 0 { threads } else { 0 }, |_| 0),
            // At first all are free: each is followed by the next, the last by none.
            earlier: words(set, requests, |row| (row + 1) % (REQUESTS + 1)),
            made: words(set, requests, |_| 0),
            latency,
        }
    }
}
