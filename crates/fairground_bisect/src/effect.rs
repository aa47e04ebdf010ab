//! What a change does to the metric.

/// What a difference between two states does to the metric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The metric before it, as held, for each seed.
    pub from: Vec<u64>,
    /// The same after it.
    pub to: Vec<u64>,
    /// From where to where the difference lies with 95 %; `None` with fewer than six seeds.
    pub interval: Option<(i128, i128)>,
    /// Whether it is more than chance, and enough to matter.
    pub moves: bool,
    /// Whether that is known.
    pub settled: bool,
}

impl Effect {
    /// The mean difference.
    pub fn mean(&self) -> i128 {
        self.differences().iter().sum::<i128>() / self.from.len().max(1) as i128
    }
    /// The differences, one for each seed.
    pub fn differences(&self) -> Vec<i128> {
        self.from.iter().zip(&self.to).map(|(&from, &to)| i128::from(to) - i128::from(from)).collect()
    }
    /// The mean before it.
    pub fn before(&self) -> i128 {
        self.from.iter().map(|&value| i128::from(value)).sum::<i128>() / self.from.len().max(1) as i128
    }
    /// The mean after it.
    pub fn after(&self) -> i128 {
        self.to.iter().map(|&value| i128::from(value)).sum::<i128>() / self.to.len().max(1) as i128
    }
}
