//! Seam `place`: where in virtual time an entity starts when it is new or wakes up.

mod sleeper_credit;

/// Why an entity is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// It is new.
    Initial,
    /// It woke up.
    WakeUp,
}
