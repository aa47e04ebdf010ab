//! Which wake-up is explained: all wake-ups of the watched tasks, and one of them chosen.

use fairground_model::{Sink, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// A wake-up and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeUp {
    /// Who woke.
    pub task: TaskId,
    /// When the wake-up began.
    pub waking: Instant,
    /// When the task ran.
    pub until: Instant,
}

impl WakeUp {
    /// From the wake-up to the switch to the task.
    pub fn latency(&self) -> Ns {
        self.until.since(self.waking)
    }
}

/// A percentile, in thousandths of a percent: 99000 = p99.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Percentile(u32);

impl Percentile {
    /// The greatest.
    const WHOLE: u32 = 100_000;

    /// Reads a number above 0 and up to 100, with at most three digits behind the point.
    pub fn parse(text: &str) -> Option<Percentile> {
        let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
        let only_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 3 || digits.len() > 3 || !only_digits(whole) || !only_digits(digits) {
            return None;
        }
        let thousandths = format!("{digits:0<3}").parse::<u32>().ok()?;
        let value = whole.parse::<u32>().ok()? * 1000 + thousandths;
        (1..=Percentile::WHOLE).contains(&value).then_some(Percentile(value))
    }
    /// The place of the percentile among `count` values in order, from 0: the nearest rank.
    fn place(self, count: usize) -> usize {
        let rank = (count as u64 * u64::from(self.0)).div_ceil(u64::from(Percentile::WHOLE));
        (rank.max(1) - 1) as usize
    }
}

impl std::fmt::Display for Percentile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        match part {
            0 => write!(f, "{whole}"),
            _ => f.write_str(format!("{whole}.{part:03}").trim_end_matches('0')),
        }
    }
}

/// Collects the wake-ups of the watched tasks.
pub(super) struct WakeUps {
    watched: Vec<bool>,
    running: Vec<bool>,
    waits: Vec<Option<Instant>>,
    found: Vec<WakeUp>,
}

impl WakeUps {
    /// Watches the tasks for which `watched` says so, by row.
    pub(super) fn new(watched: Vec<bool>) -> WakeUps {
        WakeUps { running: vec![false; watched.len()], waits: vec![None; watched.len()], watched, found: Vec::new() }
    }
    /// The wake-ups that ended in a switch, in order of that switch.
    pub(super) fn found(self) -> Vec<WakeUp> {
        self.found
    }
}

impl Sink for WakeUps {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            // A task that had not left its CPU yet just goes on.
            TraceEvent::SchedWaking { task, .. } if self.watched[task.index()] && !self.running[task.index()] => {
                self.waits[task.index()].get_or_insert(at);
            }
            TraceEvent::SchedSwitch { prev, next, .. } => {
                if let Some(prev) = prev {
                    self.running[prev.index()] = false;
                }
                let Some(task) = next else { return };
                self.running[task.index()] = true;
                if let Some(waking) = self.waits[task.index()].take() {
                    self.found.push(WakeUp { task, waking, until: at });
                }
            }
            _ => {}
        }
    }
}

/// The latest wake-up; of equal ones the first.
pub(super) fn worst(found: &[WakeUp]) -> Option<WakeUp> {
    found.iter().copied().reduce(|worst, wake| if wake.latency() > worst.latency() { wake } else { worst })
}

/// The first wake-up that had not ended at an instant.
pub(super) fn at(found: &[WakeUp], at: Instant) -> Option<WakeUp> {
    found.iter().copied().filter(|wake| wake.until > at).min_by_key(|wake| wake.waking)
}

/// The wake-up at that percentile, and all that are as late or later, the latest first.
pub(super) fn from_percentile(found: &[WakeUp], percentile: Percentile) -> Option<(WakeUp, Vec<WakeUp>)> {
    let mut ordered = found.to_vec();
    ordered.sort_by_key(|wake| (wake.latency(), std::cmp::Reverse(wake.waking)));
    let chosen = *ordered.get(percentile.place(ordered.len()))?;
    let mut later: Vec<WakeUp> = ordered.into_iter().filter(|wake| wake.latency() >= chosen.latency()).collect();
    later.reverse();
    Some((chosen, later))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_read_exactly() {
        for (text, shown) in [("99", "99"), ("99.9", "99.9"), ("50.000", "50"), ("0.001", "0.001"), ("100", "100")] {
            assert_eq!(Percentile::parse(text).unwrap().to_string(), shown);
        }
        for wrong in ["", "0", "100.1", "-1", "p99", "99.9999", "99,9", ".5", "1e1", "+5"] {
            assert_eq!(Percentile::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let wake = |latency| WakeUp { task: TaskId::new(0), waking: Instant::ZERO, until: Instant::from_ns(latency) };
        let found: Vec<WakeUp> = (1..=200).map(wake).collect();
        for (text, latency, later) in [("99", 198, 3), ("50", 100, 101), ("100", 200, 1), ("0.001", 1, 200)] {
            let (chosen, rest) = from_percentile(&found, Percentile::parse(text).unwrap()).unwrap();
            assert_eq!((chosen.latency(), rest.len(), rest[0].latency()), (Ns(latency), later, Ns(200)), "{text}");
        }
        assert_eq!(from_percentile(&[], Percentile::parse("99").unwrap()), None);
        assert_eq!(worst(&found).unwrap().latency(), Ns(200));
    }
}
