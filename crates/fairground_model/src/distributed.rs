//! What one call of distribute_cfs_runtime() did. No record: it is not in the digest.

use fairground_stdx::{Ns, TgId};

/// What a call of distribute_cfs_runtime() has done, as it ends.
///
/// Kernel: fair.c distribute_cfs_runtime(), v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distributed {
    /// Whose pool it is.
    pub group: TgId,
    /// Who calls: the slack timer, or the period timer.
    pub slack: bool,
    /// Which call of one interrupt of the period timer it is, from 1.
    pub pass: u32,
    /// How many queues it visited.
    pub visits: u32,
    /// How many of them are on the calling CPU.
    pub local: u32,
    /// What the pool had, and has.
    pub before: Ns,
    /// The same at the end.
    pub after: Ns,
    /// How long it took.
    pub took: Ns,
}
