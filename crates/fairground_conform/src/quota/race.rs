//! Several CPUs ask a pool that has not enough for all of them, within the time by which records of different CPUs are late. Who came
//! first is not recorded: what each must have got tells, and the core has to give just that.

use super::replay::Replay;
use super::steps::{Step, What};
use fairground_stdx::{CpuId, Ns};

/// How far apart the records of two CPUs may stand in the wrong order: the recorded ones take turns (10 §12).
const LATENESS: Ns = Ns::from_us(30);
/// How far ahead it is looked for what came of a request: longer than any period.
const HORIZON: Ns = Ns::from_secs(1);

/// A charge after which an account asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Asker {
    /// 0: it got all that it asked for, 1: a part, 2: nothing.
    got: u8,
    index: usize,
    need: Ns,
}

impl Replay<'_> {
    /// Makes the charges that must have come before that of step `index`.
    pub(super) fn let_others_first(&mut self, index: usize) {
        while let Some(first) = self.first_of_askers(index).filter(|&first| first != index) {
            self.outcome.races += 1;
            self.charge(first);
        }
    }

    /// Who asks first of those that ask at about the time of step `index`, if it matters.
    fn first_of_askers(&self, index: usize) -> Option<usize> {
        let at = self.steps[index].at;
        self.asks(index)?;
        let (mut askers, mut seen): (Vec<Asker>, Vec<CpuId>) = (Vec::new(), Vec::new());
        let near = self.steps[index..].iter().take_while(|step| step.at.saturating_since(at) <= LATENESS);
        for (offset, step) in near.enumerate() {
            let is_next = step.what.is_of_account() && !self.done[index + offset] && !seen.contains(&step.cpu);
            if is_next {
                seen.push(step.cpu);
                askers.extend(self.asks(index + offset).map(|need| self.asker(index + offset, need)));
            }
        }
        let wanted: u64 = askers.iter().map(|asker| asker.need.0).sum();
        (wanted > self.pool()).then(|| askers.into_iter().min())?.map(|asker| asker.index)
    }

    /// What the account of a step asks for because of it.
    fn asks(&self, index: usize) -> Option<Ns> {
        match self.steps[index] {
            Step { cpu, what: What::Ran(ran), .. } => self.world.sched.would_ask_for(self.group, cpu, ran),
            _ => None,
        }
    }

    fn asker(&self, index: usize, need: Ns) -> Asker {
        let got = match self.granted(index) {
            Some(granted) if granted <= 0 => 2,
            Some(granted) if (granted as u64) < need.0 => 1,
            _ => 0,
        };
        Asker { got, index, need }
    }

    /// What the account must have got from step `index` on up to the throttle that ends its run. `None` if no throttle does: then
    /// it had enough.
    fn granted(&self, index: usize) -> Option<i64> {
        let Step { at, cpu, .. } = self.steps[index];
        let mut left = self.account(cpu).remaining;
        let later = self.steps[index..].iter().take_while(|step| step.at.saturating_since(at) <= HORIZON);
        for (_, step) in later.enumerate().filter(|row| row.1.cpu == cpu && !self.done[index + row.0]) {
            match step.what {
                What::Ran(ran) => left -= ran.0 as i64,
                What::Throttle { remaining, .. } => return Some(remaining - left),
                What::Last | What::Unthrottle { .. } => return None,
                _ => {}
            }
        }
        None
    }
}
