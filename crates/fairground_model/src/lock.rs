//! Locks that tasks take on purpose: those of the kernel, and one of user space.

use fairground_stdx::Ns;

/// How a task holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockMode {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
}

/// What kind of lock. Those of the kernel are taken within a system call and waited for uninterruptibly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// A semaphore of readers and writers (struct rw_semaphore): first come first served, but all waiting readers go together.
    Rwsem,
    /// A semaphore whose readers only count on their own CPU (struct percpu_rw_semaphore): a writer closes it, waits so long
    /// for all CPUs to notice (RCU), then for the readers that are inside.
    PercpuRwsem {
        /// How long a writer waits for RCU.
        rcu_sync: Ns,
    },
    /// A sleeping lock of one holder (struct mutex).
    Mutex,
    /// A lock of user space: a word that is taken without the kernel where it is free, and a futex on which the others sleep.
    Futex,
}

/// How long a writer of a per-CPU semaphore waits for RCU if nothing else is said. A choice of ours, not a figure of a kernel.
pub const RCU_SYNC_DELAY: Ns = Ns::from_ms(10);

impl LockKind {
    /// The kernel's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            LockKind::Rwsem => "rwsem",
            LockKind::PercpuRwsem { .. } => "percpu-rwsem",
            LockKind::Mutex => "mutex",
            LockKind::Futex => "futex",
        }
    }
    /// Whether it has readers.
    pub const fn has_readers(self) -> bool {
        matches!(self, LockKind::Rwsem | LockKind::PercpuRwsem { .. })
    }
    /// Whether it is taken in the kernel.
    pub const fn is_of_kernel(self) -> bool {
        !matches!(self, LockKind::Futex)
    }
}

/// A lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockSpec {
    /// Its name in tables and figures.
    pub name: String,
    /// What kind of lock.
    pub kind: LockKind,
    /// Whether who wants to write waits on its CPU as long as the owner runs (an rwsem or a mutex).
    pub spin: bool,
    /// Whether a lock that is free goes to whom comes first, though others wait (an rwsem or a mutex).
    pub steal: bool,
}

impl LockSpec {
    /// A lock with the kernel's habits.
    pub fn new(name: impl Into<String>, kind: LockKind) -> LockSpec {
        let habits = matches!(kind, LockKind::Rwsem | LockKind::Mutex);
        LockSpec { name: name.into(), kind, spin: habits, steal: habits }
    }
    /// The same, strictly first come first served: nobody spins and nobody steals.
    pub fn fifo(self) -> LockSpec {
        LockSpec { spin: false, steal: false, ..self }
    }
}
