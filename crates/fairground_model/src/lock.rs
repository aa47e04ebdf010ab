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
    /// A lock of user space on which others spin: they look at its word in rounds, sleep for a while, and begin again. No kernel is asked.
    Spin(SpinSpec),
}

/// How tasks wait for a spin lock of user space.
///
/// ```text
/// | look | round | look | round | look | ... | sleep | look | round | ...
/// |<------------- rounds ------------->|
/// ```
///
/// PostgreSQL's `s_lock()` waits so; what is left out here is its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpinSpec {
    /// How long a round is, from one look to the next: time on the CPU, however fast that is. Not 0.
    pub round: Ns,
    /// So many rounds come before a sleep: at least and at most. If these differ it begins with [`SpinSpec::FIRST_ROUNDS`] and learns, each
    /// task for itself: a wait without a sleep adds [`SpinSpec::MORE_ROUNDS`], one with a sleep takes one away. Not 0.
    pub rounds: (u32, u32),
    /// The first sleep of a wait, and the longest. Each one is drawn between once and twice the one before; beyond the longest they begin
    /// anew. `None`: nobody sleeps. Not 0.
    pub sleep: Option<(Ns, Ns)>,
}

impl SpinSpec {
    /// The rounds before the first sleep of a task that has learnt nothing (DEFAULT_SPINS_PER_DELAY of PostgreSQL).
    pub const FIRST_ROUNDS: u32 = 100;
    /// What a wait without a sleep adds to them.
    pub const MORE_ROUNDS: u32 = 100;
    /// That of PostgreSQL: 10 to 1000 rounds, sleeps of 1 ms to 1 s. How long a round is depends on the CPU; 50 ns is a guess.
    pub const POSTGRES: SpinSpec =
        SpinSpec { round: Ns(50), rounds: (10, 1000), sleep: Some((Ns::from_ms(1), Ns::from_secs(1))) };

    /// What cannot be, in words.
    pub fn wrong(&self) -> Option<&'static str> {
        match *self {
            SpinSpec { round: Ns(0), .. } => Some("a round of 0"),
            SpinSpec { rounds: (0, _), .. } => Some("0 rounds before a sleep"),
            SpinSpec { rounds: (low, high), .. } if low > high => Some("the rounds end before they begin"),
            SpinSpec { sleep: Some((Ns(0), _)), .. } => Some("a sleep of 0"),
            SpinSpec { sleep: Some((first, longest)), .. } if first > longest => {
                Some("the longest sleep is shorter than the first")
            }
            _ => None,
        }
    }
    /// The rounds of a task that has learnt this number; 0 is nothing.
    pub fn rounds_of(&self, learnt: u32) -> u32 {
        let rounds = if learnt == 0 { SpinSpec::FIRST_ROUNDS } else { learnt };
        rounds.clamp(self.rounds.0, self.rounds.1)
    }
    /// What a task learns from a wait that is over.
    pub fn learn(&self, rounds: u32, slept: bool) -> u32 {
        let next = if slept { rounds.saturating_sub(1) } else { rounds.saturating_add(SpinSpec::MORE_ROUNDS) };
        next.clamp(self.rounds.0, self.rounds.1)
    }
    /// The sleep after one of this length; `share` is drawn from 0 up to that length.
    pub fn next_sleep(&self, before: Ns, share: Ns) -> Ns {
        let Some((first, longest)) = self.sleep else { return Ns::ZERO };
        let next = before.0.saturating_add(share.0);
        if next > longest.0 { first } else { Ns(next) }
    }
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
            LockKind::Spin(_) => "spin",
        }
    }
    /// Whether it has readers.
    pub const fn has_readers(self) -> bool {
        matches!(self, LockKind::Rwsem | LockKind::PercpuRwsem { .. })
    }
    /// Whether it is taken in the kernel.
    pub const fn is_of_kernel(self) -> bool {
        !matches!(self, LockKind::Futex | LockKind::Spin(_))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_without_a_sleep_teach_to_spin_longer_and_sleeps_grow_up_to_the_longest() {
        let spec = SpinSpec::POSTGRES;
        assert_eq!(spec.rounds_of(0), 100);
        assert_eq!(
            [spec.learn(100, false), spec.learn(950, false), spec.learn(100, true), spec.learn(10, true)],
            [200, 1000, 99, 10]
        );
        let fixed = SpinSpec { rounds: (20, 20), ..spec };
        assert_eq!([fixed.rounds_of(0), fixed.learn(20, false), fixed.learn(20, true)], [20; 3]);
        let [first, long] = [Ns::from_ms(1), Ns::from_ms(600)];
        assert_eq!(spec.next_sleep(first, Ns(500_000)), Ns(1_500_000));
        assert_eq!(spec.next_sleep(long, Ns::from_ms(400)), Ns::from_secs(1));
        assert_eq!(spec.next_sleep(long, Ns::from_ms(401)), first);
    }
}
