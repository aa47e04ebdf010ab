//! What a task does with locks: a row that has memory from its first lock on.

use super::spin::Spinner;
use fairground_stdx::{Instant, Unused};

/// What a task does with locks.
#[derive(Clone, Debug)]
pub(super) struct Locker {
    /// It is in the kernel, from its entry to the way back.
    pub(super) in_section: bool,
    /// How many locks it holds, and how many of them are the kernel's.
    pub(super) held: u32,
    pub(super) held_of_kernel: u32,
    /// Since when it waits.
    pub(super) since: Instant,
    /// Whether it had to wait.
    pub(super) waited: bool,
    /// What it does with spin locks of user space.
    pub(super) spinner: Spinner,
    /// A reschedule waits until it holds no lock.
    pub(super) owes_resched: bool,
}

impl Unused for Locker {
    const UNUSED: &'static Locker = &Locker {
        in_section: false,
        held: 0,
        held_of_kernel: 0,
        since: Instant::ZERO,
        waited: false,
        spinner: Spinner::UNUSED,
        owes_resched: false,
    };
}
