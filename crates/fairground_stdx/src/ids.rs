//! `u32` row numbers that know which table they index.

use std::num::NonZeroU32;

/// A typed row number.
pub trait Id: Copy + Eq {
    /// The id of row `index`.
    fn from_index(index: usize) -> Self;
    /// The row, counted from 0.
    fn index(self) -> usize;
}

macro_rules! typed_id {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of row `index`.
            #[inline]
            pub const fn new(index: u32) -> $name {
                match NonZeroU32::new(index.wrapping_add(1)) {
                    Some(raw) => $name(raw),
                    None => $name(NonZeroU32::MAX),
                }
            }
            /// The row, counted from 0.
            #[inline]
            pub const fn get(self) -> u32 {
                self.0.get() - 1
            }
        }
        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> $name {
                $name::new(u32::try_from(index).expect("invariant: a table has fewer than 2^32 rows"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.get())
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.get(), f)
            }
        }
    )*}
}

typed_id!(
    /// A CPU, numbered as Linux numbers it.
    CpuId,
    /// A task. Its row is also its place in the scenario's task list.
    TaskId,
    /// A scheduling entity: a task, or a group on one CPU.
    SeId,
    /// A fair run queue: the root queue of a CPU, or a group's queue on one CPU.
    CfsRqId,
    /// A task group (CPU cgroup).
    TgId,
    /// A scheduling domain: a level as one CPU sees it.
    SdId,
    /// A scheduling group: a part of a domain.
    SgId,
    /// A ring of scheduling groups: those of the domains of one level and span.
    SgRingId,
    /// What the CPUs of one cache share.
    SdSharedId,
    /// A pipe.
    PipeId,
    /// One end of a connection, or a datagram socket that is connected to another.
    SockId,
    /// A part of programs, whose CPU time is told apart.
    PartId,
    /// A pool of memory that tasks touch.
    PoolId,
    /// A word of memory that tasks share.
    WordId,
    /// A lock that tasks take and release: see `fairground_model::LockSpec`.
    LockId,
    /// A program that tasks run.
    ProgramId,
    /// An application-defined measurement.
    MarkerId,
    /// A timer of the machine: those of tasks, in the order of their rows, come before all others.
    TimerId,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_id_takes_four_bytes() {
        assert_eq!(size_of::<Option<SeId>>(), 4);
        assert_eq!(CpuId::new(7).index(), 7);
        assert_eq!(CpuId::from_index(3), CpuId::new(3));
    }
}
