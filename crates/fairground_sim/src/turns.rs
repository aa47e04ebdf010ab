//! CPUs that take turns: the emulated machines of recordings execute all CPUs on one thread.
//!
//! ```text
//! round of R = 100 us with N busy CPUs, from time k * R on:   | 1st busy CPU | 2nd | ... | Nth |   each R / N long
//! ```
//!
//! What a CPU does in the kernel begins in its turn and goes on in its next ones; nothing else happens on the machine
//! meanwhile but what time alone brings about. So a wake-up finds no other CPU in the middle of one, and takes up to N
//! times its price. The grid is that of the CPUs that are busy at the moment or wait for their turn.

use crate::cpu::{Cpu, Doing};
use crate::queue::{Class, Slot};
use crate::simulation::Simulation;
use fairground_model::Turns;
use fairground_stdx::{CpuId, Ns};

/// The turn of a CPU within each round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Turn {
    round: u64,
    begin: u64,
    length: u64,
}

impl Turn {
    /// The turn of the `rank`-th of `busy` CPUs.
    fn new(round: Ns, rank: u64, busy: u64) -> Turn {
        let length = (round.0 / busy).max(1);
        Turn { round: round.0, begin: rank * length, length }
    }
    /// From `now` to where it has the turn: 0 within it.
    fn wait(&self, now: u64) -> u64 {
        let at = now % self.round;
        let end = self.begin + self.length;
        match at {
            _ if at < self.begin => self.begin - at,
            _ if at < end => 0,
            _ => self.round - at + self.begin,
        }
    }
    /// Its turns from `now` on.
    fn seen_from(&self, now: u64) -> Turns {
        let wait = self.wait(now);
        let left = self.begin + self.length - (now + wait) % self.round;
        Turns { wait, left, length: self.length, between: self.round - self.length }
    }
    /// How long work takes that begins at `now` and needs so much time of its turns.
    fn lasts(&self, now: u64, work: u64) -> u64 {
        self.seen_from(now).last(work)
    }
}

impl Simulation {
    /// Whether what comes at this instant has to wait until `cpu` has its turn; then it comes again at that time. What a
    /// CPU goes on with in the kernel has its times already.
    pub(crate) fn waits_for_turn(&mut self, class: Class, cpu: CpuId) -> bool {
        let row = &self.cpus[cpu];
        if row.doing == Doing::Kernel || row.turn_at == self.now {
            return false;
        }
        let wait = self.turn_of(cpu).wait(self.now.ns());
        if wait == 0 {
            return false;
        }
        let turn = self.now + Ns(wait);
        self.cpus[cpu].turn_at = turn;
        match class {
            Class::Segment => self.queue.set(cpu, Slot::Segment, Some(turn)),
            Class::Irq | Class::Tick => self.queue.hold_irqs(cpu, turn),
        }
        true
    }

    /// How long work of `price` lasts on `cpu` from now on.
    #[inline]
    pub(crate) fn lasts(&self, cpu: CpuId, price: Ns) -> Ns {
        if self.machine.round_of_turns == Ns::ZERO || price == Ns::ZERO {
            return price;
        }
        Ns(self.turn_of(cpu).lasts(self.now.ns(), price.0))
    }

    /// What `cpu` reads off its clock within a phase that begins now goes by its turns.
    #[inline]
    pub(crate) fn set_turns(&mut self, cpu: CpuId) {
        if self.machine.round_of_turns > Ns::ZERO {
            let turns = self.turn_of(cpu).seen_from(self.now.ns());
            self.cpus[cpu].meter.set_turns(turns);
        }
    }

    /// The turn of `cpu` among the CPUs that execute or wait for theirs: interrupts of one instant come one after the
    /// other.
    #[cold]
    fn turn_of(&self, cpu: CpuId) -> Turn {
        let takes_turns = |row: &Cpu| row.doing != Doing::Idle || row.turn_at > self.now;
        let others = self.cpus.iter_enumerated().filter(|row| row.0 != cpu && takes_turns(row.1));
        let (before, all) = others.fold((0, 0), |(before, all), row| (before + u64::from(row.0 < cpu), all + 1));
        Turn::new(self.machine.round_of_turns, before, all + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Ns = Ns::from_us(100);

    #[test]
    fn alone_a_cpu_never_waits() {
        let turn = Turn::new(ROUND, 0, 1);
        assert_eq!((turn.wait(99_999), turn.lasts(99_999, 250_000)), (0, 250_000));
    }

    #[test]
    fn the_second_of_four_has_the_second_quarter_of_each_round() {
        let turn = Turn::new(ROUND, 1, 4);
        assert_eq!([0, 24_999, 25_000, 49_999, 50_000, 99_999].map(|now| turn.wait(now)), [25_000, 1, 0, 0, 75_000, 25_001]);
        // It ends in the turn in which it begins, or in the next ones.
        assert_eq!(turn.lasts(25_000, 25_000), 25_000);
        assert_eq!(turn.lasts(40_000, 10_000), 10_000);
        assert_eq!(turn.lasts(40_000, 10_001), 85_001);
        assert_eq!(turn.lasts(25_000, 75_000), 225_000);
        assert_eq!(turn.lasts(50_000, 1_000), 76_000);
    }

    #[test]
    fn time_goes_on_whoever_has_the_turn() {
        for rank in 0..7 {
            let turn = Turn::new(ROUND, rank, 7);
            for now in (0..300_000).step_by(1_113) {
                assert_eq!(turn.wait(now + turn.wait(now)), 0, "{rank} at {now}");
                assert!(turn.lasts(now, 1) >= 1 && turn.lasts(now, 30_000) > 30_000);
            }
        }
    }
}
