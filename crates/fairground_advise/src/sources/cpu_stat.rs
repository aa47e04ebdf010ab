//! `cpu.stat` of a cgroup as text, read several times.

use super::series::{CPU_STAT, Labels, Metric, Name, Samples};
use super::stamp;
use fairground_scenario::Error;

/// Whether a text looks like it.
pub(super) fn is_cpu_stat(head: &str) -> bool {
    head.lines().any(|line| line.split_whitespace().next().is_some_and(|word| Name::find(&CPU_STAT, word).is_some()))
}

/// Reads one sample after the other; a line of cpu.max may stand among them.
pub(super) fn read(name: &str, text: &str) -> Result<Samples, Error> {
    let mut samples = Samples::default();
    let mut at = None;
    let none = Labels::new();
    for line in text.lines() {
        if let Some(time) = stamp::of_line(line) {
            at = Some(time);
            continue;
        }
        let mut words = line.split_whitespace();
        let (Some(first), Some(second), None) = (words.next(), words.next(), words.next()) else { continue };
        let values: &[(&Name, &str)] = match Name::find(&CPU_STAT, first) {
            Some(known) => &[(known, second)],
            None if first == "max" || first.bytes().all(|byte| byte.is_ascii_digit()) => {
                &[(&MAX[0], if first == "max" { "-1" } else { first }), (&MAX[1], second)]
            }
            None => continue,
        };
        match at {
            Some(at) => values.iter().for_each(|(name, value)| samples.add(name, &none, at, value)),
            None => samples.without_time += 1,
        }
    }
    if samples.series.is_empty() {
        return Err(Error::one(name, "its samples have no time", stamp::HINT));
    }
    if !samples.series.keys().any(|key| key.0 == Metric::Usage) {
        let hint = "cpu.stat of cgroup v1 does not have it: read `cpuacct.usage` beside it, and write its value / 1000 as `usage_usec N`.";
        return Err(Error::one(name, "its samples have no `usage_usec`", hint));
    }
    Ok(samples)
}

/// Both numbers of cpu.max.
const MAX: [Name; 2] = [Name::of("quota", Metric::Quota), Name::of("period", Metric::Period)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_cpu_stat_are_read_with_cpu_max_among_them() {
        let text = "# time 1700000000.5\n200000 100000\nusage_usec 1000\nuser_usec 5\nnr_periods 3\nnr_throttled 1\nthrottled_usec 7\n\
                    1700000001.5\nmax 100000\nusage_usec 2000\nnr_periods x\nnr_bursts 9\n";
        assert!(is_cpu_stat(text));
        let found = read("stat.txt", text).unwrap();
        let of = |metric| &found.series[&(metric, Labels::new())];
        assert_eq!(of(Metric::Usage), &[(1_700_000_000_500_000_000, 1_000_000), (1_700_000_001_500_000_000, 2_000_000)]);
        assert_eq!(of(Metric::Quota).iter().map(|point| point.1).collect::<Vec<u64>>(), [200_000_000, 0]);
        assert_eq!((of(Metric::Period).len(), of(Metric::Periods).len(), found.no_numbers), (2, 1, 1));
    }

    #[test]
    fn samples_without_time_or_use_are_refused() {
        let wrong = |text: &str| read("stat.txt", text).unwrap_err().to_string();
        assert!(wrong("usage_usec 1000\nnr_periods 1\n").contains("have no time"));
        assert!(wrong("# time 1700000000\nnr_periods 1\nthrottled_time 5\n").contains("cpuacct.usage"));
        assert!(!is_cpu_stat("use 5\n"));
    }
}
