//! What the bits of `prev_state` mean in the kernel that was recorded.

use crate::ftrace::state_from_bits;
use fairground_model::PrevState;

// Bits of prev_state before 4.14, which reported the task's own state: include/linux/sched.h TASK_*.
const INTERRUPTIBLE: u64 = 0x01;
const UNINTERRUPTIBLE: u64 = 0x02;
const STOPPED: u64 = 0x04;
const TRACED: u64 = 0x08;
const EXIT_DEAD: u64 = 0x10;
const EXIT_ZOMBIE: u64 = 0x20;
const DEAD: u64 = 0x40;
const PARKED: u64 = 0x200;
const NOLOAD: u64 = 0x400;

/// The two meanings of the bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum StateBits {
    /// Kernels before 4.14.
    Before4_14,
    /// Kernels from 4.14 on; assumed where the file does not tell.
    #[default]
    From4_14,
}

impl StateBits {
    /// The bits of the kernel of this release (`4.9.1-something`).
    pub(super) fn of_release(release: &str) -> StateBits {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (4, 14) => StateBits::Before4_14,
            _ => StateBits::From4_14,
        }
    }
    /// The state that these bits mean.
    pub(super) fn state(self, bits: u64) -> PrevState {
        let has = |bit: u64| bits & bit != 0;
        match self {
            StateBits::From4_14 => state_from_bits(bits),
            StateBits::Before4_14 if has(EXIT_DEAD | EXIT_ZOMBIE | DEAD) => PrevState::Dead,
            StateBits::Before4_14 if has(PARKED) || (has(UNINTERRUPTIBLE) && has(NOLOAD)) => PrevState::IdleWait,
            StateBits::Before4_14 if has(UNINTERRUPTIBLE) => PrevState::DiskSleep,
            StateBits::Before4_14 if has(INTERRUPTIBLE | STOPPED | TRACED) => PrevState::Sleeping,
            StateBits::Before4_14 => PrevState::Running,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_moved_in_4_14() {
        let states = |bits: u64| ["4.9.1-android", "4.14"].map(|release| StateBits::of_release(release).state(bits));
        assert_eq!(states(0x40), [PrevState::Dead, PrevState::IdleWait]);
        assert_eq!(states(0x82), [PrevState::DiskSleep, PrevState::IdleWait]);
        assert_eq!(states(0x402), [PrevState::IdleWait; 2]);
        for (bits, state) in [
            (0, PrevState::Running),
            (1, PrevState::Sleeping),
            (2, PrevState::DiskSleep),
            (4, PrevState::Sleeping),
            (16, PrevState::Dead),
        ] {
            assert_eq!(states(bits), [state; 2]);
        }
        assert_eq!(StateBits::Before4_14.state(0x1000), PrevState::Running, "preempted");
        for release in ["", "x", "6.1.0", "4", "10.1", "4.99999999999"] {
            assert_eq!(StateBits::of_release(release), StateBits::From4_14, "{release}");
        }
    }
}
