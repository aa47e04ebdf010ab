//! The time of a stream.

use super::tsdl::ClockClass;

const NS_PER_S: i128 = 1_000_000_000;

/// The clock of one stream, as its packets and events set it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Clock {
    cycles: u64,
}

impl Clock {
    /// Takes the lower bits of a time that is not before the last one: so the upper ones follow.
    pub(super) fn advance(&mut self, lower: u64, bits: u32) {
        let Some(span) = 1_u64.checked_shl(bits) else {
            self.cycles = lower;
            return;
        };
        let before = self.cycles & (span - 1);
        let wrapped = if lower < before { span } else { 0 };
        self.cycles = (self.cycles - before).wrapping_add(wrapped).wrapping_add(lower);
    }
    /// The time in ns; one before 1970 is 0.
    pub(super) fn ns(self, class: Option<&ClockClass>) -> u64 {
        let Some(class) = class else { return self.cycles };
        let cycles = i128::from(self.cycles) + i128::from(class.offset);
        let ns = cycles * NS_PER_S / i128::from(class.frequency) + i128::from(class.offset_s) * NS_PER_S;
        ns.clamp(0, u64::MAX.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_wrap() {
        let mut clock = Clock::default();
        clock.advance(0x1234_5678_9abc, 64);
        clock.advance(0x0abc, 16);
        assert_eq!(clock.cycles, 0x1234_5679_0abc, "earlier than the last: once round");
        clock.advance(0x0abc, 16);
        assert_eq!(clock.cycles, 0x1234_5679_0abc, "equal: no time passed");
        clock.advance(0x0567_89ab, 27);
        assert_eq!(clock.cycles, 0x1234_5d67_89ab);
        clock.advance(5, 64);
        assert_eq!(clock.cycles, 5, "a whole time counts as it is");
        clock.advance(u64::MAX, 64);
        clock.advance(0, 8);
        assert_eq!(clock.cycles, 0);
    }

    #[test]
    fn offsets_and_frequencies() {
        let class = |frequency, offset_s, offset| ClockClass { frequency, offset_s, offset };
        let ns = |cycles, class: &ClockClass| Clock { cycles }.ns(Some(class));
        assert_eq!(ns(7, &class(1_000_000_000, 0, 5)), 12);
        assert_eq!(ns(3, &class(1_000, 2, 1)), 2_004_000_000);
        assert_eq!(ns(3, &class(3, 0, 0)), 1_000_000_000);
        assert_eq!((ns(0, &class(1, -5, 0)), ns(u64::MAX, &class(1, 0, 0))), (0, u64::MAX));
        assert_eq!(Clock { cycles: 9 }.ns(None), 9);
    }
}
