//! Sums over CPUs.

use fairground_model::{LbStats, RqStats, SchedStat, SdStats};

/// The domains of one level, summed over the CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelTotal {
    /// The level: 0 is the smallest domain.
    pub level: usize,
    /// Its name, if the snapshot tells it.
    pub name: Option<String>,
    /// How many CPUs have a domain of this level.
    pub domains: usize,
    /// The sums.
    pub stats: SdStats,
}

/// The counters of all CPUs together.
pub fn total_of_cpus(stat: &SchedStat) -> RqStats {
    let mut sum = [0; RqStats::NAMES.len()];
    stat.cpus.iter().for_each(|cpu| add(&mut sum, cpu.stats.numbers()));
    RqStats::from_numbers(sum)
}

/// The counters of the domains of each level together, smallest first.
pub fn total_by_level(stat: &SchedStat) -> Vec<LevelTotal> {
    let levels = stat.cpus.iter().map(|cpu| cpu.domains.len()).max().unwrap_or(0);
    (0..levels)
        .map(|level| {
            let rows: Vec<_> = stat.cpus.iter().filter_map(|cpu| cpu.domains.get(level)).collect();
            let (mut lb, mut tail) = ([[0; LbStats::NAMES.len()]; 3], [0; SdStats::TAIL_NAMES.len()]);
            for domain in &rows {
                lb.iter_mut().zip(&domain.stats.lb).for_each(|(sum, row)| add(sum, row.numbers()));
                add(&mut tail, domain.stats.tail());
            }
            LevelTotal {
                level,
                name: rows.first().and_then(|domain| domain.name.clone()),
                domains: rows.len(),
                stats: SdStats::from_numbers(lb.map(LbStats::from_numbers), tail),
            }
        })
        .collect()
}

fn add<const N: usize>(sum: &mut [u64; N], numbers: [u64; N]) {
    sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum = sum.saturating_add(number));
}
