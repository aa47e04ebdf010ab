//! What was counted between two snapshots of one kernel.
//!
//! All counters only grow, but for two cases: those of 32 bits wrap around, and those of a domain begin anew at 0 when
//! the domains are rebuilt (hotplug, cpusets). A domain of which a count went back was rebuilt; sums of imbalances are
//! no counts, they wrap around within days.

use fairground_model::{CpuStat, DomainStat, LbStats, RqStats, SchedStat, SdStats};

/// What was counted between two snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The counts; the timestamp is the number of jiffies between both.
    pub stat: SchedStat,
    /// What stands in only one of them, or began anew.
    pub notes: Vec<String>,
}

/// `after` less `before`. An error if `after` cannot be later in the same boot.
pub fn difference(before: &SchedStat, after: &SchedStat) -> Result<Difference, String> {
    let Some(timestamp) = after.timestamp.checked_sub(before.timestamp) else {
        return Err(format!("the second snapshot is of jiffy {}, the first one of {}", after.timestamp, before.timestamp));
    };
    let mut notes = Vec::new();
    let mut cpus = Vec::new();
    for cpu in &after.cpus {
        match before.cpus.iter().find(|row| row.cpu == cpu.cpu) {
            Some(earlier) => cpus.push(cpu_difference(earlier, cpu, &mut notes)?),
            None => notes.push(format!("cpu{} is not in the first snapshot and left out", cpu.cpu)),
        }
    }
    let gone = before.cpus.iter().filter(|cpu| after.cpus.iter().all(|row| row.cpu != cpu.cpu));
    notes.extend(gone.map(|cpu| format!("cpu{} is not in the second snapshot and left out", cpu.cpu)));
    Ok(Difference { stat: SchedStat { timestamp, nr_cpu_ids: after.nr_cpu_ids, cpus }, notes })
}

fn cpu_difference(before: &CpuStat, after: &CpuStat, notes: &mut Vec<String>) -> Result<CpuStat, String> {
    let cpu = after.cpu;
    let went_back = || format!("the counters of cpu{cpu} went back: the snapshots are not of one boot, or not in order");
    if before.added.len() != after.added.len() {
        return Err(format!("the lines of cpu{cpu} hold {} and {} numbers", 9 + before.added.len(), 9 + after.added.len()));
    }
    let mut domains = Vec::new();
    for (level, domain) in after.domains.iter().enumerate() {
        let counted = before.domains.get(level).filter(|row| row.span == domain.span).and_then(|row| grown(row, domain));
        if counted.is_none() {
            notes.push(format!("domain{level} of cpu{cpu} was built anew in between: its counters are those since then"));
        }
        domains.push(counted.unwrap_or_else(|| domain.clone()));
    }
    let gone = after.domains.len()..before.domains.len();
    notes.extend(gone.map(|level| format!("domain{level} of cpu{cpu} is not in the second snapshot and left out")));
    Ok(CpuStat {
        cpu,
        stats: RqStats::from_numbers(since(before.stats.numbers(), after.stats.numbers()).ok_or_else(went_back)?),
        legacy: count_since(before.legacy, after.legacy).ok_or_else(went_back)?,
        added: before
            .added
            .iter()
            .zip(&after.added)
            .map(|(&before, &after)| count_since(before, after))
            .collect::<Option<_>>()
            .ok_or_else(went_back)?,
        domains,
    })
}

/// What a domain counted, if no count went back.
fn grown(before: &DomainStat, after: &DomainStat) -> Option<DomainStat> {
    let mut lb = [LbStats::default(); 3];
    for (row, (before, after)) in lb.iter_mut().zip(before.stats.lb.iter().zip(&after.stats.lb)) {
        let (before, after) = (before.numbers(), after.numbers());
        let mut numbers = [0; LbStats::NAMES.len()];
        for (place, number) in numbers.iter_mut().enumerate() {
            *number = match LbStats::IMBALANCE.contains(&place) {
                true => count_since(before[place], after[place])?,
                false => after[place].checked_sub(before[place])?,
            };
        }
        *row = LbStats::from_numbers(numbers);
    }
    let mut tail = after.stats.tail();
    for (number, before) in tail.iter_mut().zip(before.stats.tail()) {
        *number = number.checked_sub(before)?;
    }
    Some(DomainStat { stats: SdStats::from_numbers(lb, tail), ..after.clone() })
}

/// Each of the counts since then.
fn since<const N: usize>(before: [u64; N], after: [u64; N]) -> Option<[u64; N]> {
    let mut counted = after;
    for (number, before) in counted.iter_mut().zip(before) {
        *number = count_since(before, *number)?;
    }
    Some(counted)
}

/// The growth of a counter, which may be one of 32 bits that wrapped around once. A step of more than half of that
/// range is none: then the counter went back.
fn count_since(before: u64, after: u64) -> Option<u64> {
    after.checked_sub(before).or_else(|| {
        let (before, after) = (u32::try_from(before).ok()?, u32::try_from(after).ok()?);
        let step = after.wrapping_sub(before);
        (step <= u32::MAX / 2).then_some(u64::from(step))
    })
}
