//! Counters of cpu.stat, as files or Prometheus have them: what they say, and what they cannot.

use super::csv::{self, Column, Csv};
use super::sources::{Counted, Points};
use super::verdict::cpus;
use fairground_model::{CpuMax, Mistakes};
use fairground_report::units::{fixed, format_ns};
use fairground_scenario::Error;
use fairground_stdx::Ns;

/// What a counter grew by, and over what time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Growth {
    /// By so much, over all pairs of samples that have it.
    pub sum: u64,
    /// In so much wall time, ns.
    pub wall_ns: u64,
    /// How often it was less than before.
    pub resets: u64,
}

/// What counters say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// CPU time, ns.
    pub usage: Growth,
    /// Periods in which the timer ran.
    pub periods: Growth,
    /// Those in which a queue was throttled.
    pub throttled: Growth,
    /// Time in which queues were throttled, ns, over all CPUs.
    pub throttled_time: Growth,
    /// The limit, if it is known.
    pub limit: Option<CpuMax>,
    /// CPUs that the group may use, if that is known.
    pub cpus: u64,
    /// Lines without a time.
    pub without_time: u64,
    /// Samples whose time is not after that of the one before.
    pub out_of_order: u64,
    /// Sentences on where they are from and what was left out.
    pub notes: Vec<String>,
    /// Wall time and CPU time from each sample to the next, ns.
    pub(super) steps: Vec<(u64, u64)>,
    pub(super) digest: u128,
}

/// Names of each counter: of cpu.stat, and of cAdvisor in Prometheus.
const USAGE: [&str; 2] = ["usage", "container_cpu_usage"];
const PERIODS: [&str; 2] = ["nr_periods", "container_cpu_cfs_periods_total"];
const THROTTLED: [&str; 2] = ["nr_throttled", "container_cpu_cfs_throttled_periods_total"];
const THROTTLED_TIME: [&str; 2] = ["throttled", "container_cpu_cfs_throttled"];
const TIME: [&str; 2] = ["time", "timestamp"];

/// Whether a table holds samples of counters.
pub(super) fn are_counters(text: &str) -> bool {
    csv::split(text).time(&USAGE).is_some()
}

/// Reads samples: one line each, `time_s,usage_usec,nr_periods,nr_throttled,throttled_usec`. `limit` is the present one.
pub fn read(name: &str, text: &str, limit: Option<CpuMax>, cpus: u64) -> Result<Counters, Error> {
    let csv = csv::split(text);
    let mut m = Mistakes::default();
    let counters = collect(&csv, &mut m);
    m.or(()).map_err(|wrong| Error::input(name, text, wrong))?;
    let mut digest = fairground_model::Digest::default();
    digest.bytes(text.as_bytes());
    Ok(Counters { limit, cpus, digest: digest.value(), ..counters })
}

fn collect(csv: &Csv<'_>, m: &mut Mistakes) -> Counters {
    let need = |names: &[&str], m: &mut Mistakes| {
        let found = csv.time(names);
        if found.is_none() {
            let message = format!("the samples have no column `{}` with a unit", names[0]);
            m.whole(message, "The first line names the columns: `time_s,usage_usec,nr_periods,nr_throttled,throttled_usec`.");
        }
        found
    };
    let (time, usage) = (need(&TIME, m), need(&USAGE, m));
    let Some(time) = time else { return Counters::of(Counted::default()) };
    let times: Vec<Option<u64>> = (0..csv.rows.len()).map(|row| csv.number(row, time, m)).collect();
    let mut points = |column: Option<Column>| -> Points {
        let Some(column) = column else { return Points::new() };
        let value = |(row, time): (usize, &Option<u64>)| Some((*time)?).zip(csv.number(row, column, m));
        times.iter().enumerate().filter_map(value).collect()
    };
    let counted = Counted {
        usage: points(usage),
        periods: points(csv.count(&PERIODS)),
        throttled: points(csv.count(&THROTTLED)),
        throttled_time: points(csv.time(&THROTTLED_TIME)),
        ..Counted::default()
    };
    let mut counters = Counters::of(counted);
    counters.without_time = times.iter().filter(|time| time.is_none()).count() as u64;
    let known: Vec<u64> = times.iter().copied().flatten().collect();
    counters.out_of_order = known.windows(2).filter(|pair| pair[1] <= pair[0]).count() as u64;
    if m.0.is_empty() && counters.usage.wall_ns == 0 {
        m.whole(FEW.0, FEW.1);
    }
    counters
}

/// Why one sample is not enough.
const FEW: (&str, &str) =
    ("fewer than two samples of CPU time with rising times", "Give the counters at two moments at least, better at hundreds.");

/// The counters of a container, as monitoring has them. `limit` goes before what they tell.
pub(super) fn of_container(name: &str, counted: Counted, limit: Option<CpuMax>, cpus: u64) -> Result<Counters, Error> {
    let mut digest = fairground_model::Digest::default();
    for points in [&counted.usage, &counted.periods, &counted.throttled, &counted.throttled_time] {
        points.iter().flat_map(|point| [point.0, point.1]).for_each(|number| digest.bytes(&number.to_le_bytes()));
    }
    let limit = limit.or(counted.limit);
    let counters = Counters { limit, cpus, digest: digest.value(), ..Counters::of(counted) };
    if counters.usage.wall_ns == 0 {
        return Err(Error::one(name, FEW.0, FEW.1));
    }
    Ok(counters)
}

/// Wall time and growth of a counter from each sample to the next, and how often it has begun anew. One that is less than before has
/// begun from 0; what was lost in between is not known.
fn steps(points: &Points) -> (Vec<(u64, u64)>, u64) {
    let (mut steps, mut resets) = (Vec::new(), 0);
    let mut last: Option<(u64, u64)> = None;
    for &(time, value) in points {
        let Some((before, from)) = last else {
            last = Some((time, value));
            continue;
        };
        if time <= before {
            continue;
        }
        let is_reset = value < from;
        resets += u64::from(is_reset);
        steps.push((time - before, if is_reset { value } else { value - from }));
        last = Some((time, value));
    }
    (steps, resets)
}

impl Growth {
    fn of((steps, resets): &(Vec<(u64, u64)>, u64)) -> Growth {
        let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
        let (wall_ns, sum) = (sum(&mut steps.iter().map(|step| step.0)), sum(&mut steps.iter().map(|step| step.1)));
        Growth { sum, wall_ns, resets: *resets }
    }
}

impl Counters {
    fn of(counted: Counted) -> Counters {
        let used = steps(&counted.usage);
        let growth = |points: &Points| Growth::of(&steps(points));
        Counters {
            usage: Growth::of(&used),
            periods: growth(&counted.periods),
            throttled: growth(&counted.throttled),
            throttled_time: growth(&counted.throttled_time),
            limit: counted.limit,
            cpus: 0,
            without_time: 0,
            out_of_order: 0,
            notes: counted.notes,
            steps: used.0,
            digest: 0,
        }
    }
    /// CPU time per second of wall time, ns.
    pub fn usage_ns_per_s(&self) -> u64 {
        per_second(self.usage)
    }
    /// Periods with a throttle, hundredths of a percent of those in which the timer ran.
    pub(crate) fn throttled_ratio(&self) -> Option<u64> {
        (self.periods.sum > 0).then(|| self.throttled.sum.saturating_mul(10_000) / self.periods.sum)
    }
    /// The shortest and longest that a stall can have been in the mean: all CPUs were throttled at once, or one after the other.
    pub(crate) fn stall(&self) -> Option<(Ns, Ns)> {
        let longest = self.throttled_time.sum.checked_div(self.throttled.sum)?;
        Some((Ns(longest / self.cpus.max(1)), Ns(longest)))
    }
    /// Whether more than 95 % of the limit is used in the mean.
    pub(crate) fn is_unstable(&self) -> Option<bool> {
        let limit = self.limit.filter(|limit| limit.quota.is_some())?;
        Some(super::verdict::is_unstable(self.usage_ns_per_s(), limit))
    }
    /// The sentences.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.notes.clone();
        lines.push(format!(
            "{} CPUs are used in the mean, over {}",
            cpus(self.usage_ns_per_s()),
            format_ns(Ns(self.usage.wall_ns))
        ));
        if let Some(ratio) = self.throttled_ratio() {
            lines.push(format!("{} % of the periods in which the group ran were throttled", fixed(ratio, 100, 1)));
        }
        if let Some((least, most)) = self.stall() {
            lines.push(format!(
                "a stall lasted {} to {} in the mean: throttled time adds up over CPUs",
                format_ns(least),
                format_ns(most)
            ));
        }
        let resets = self.usage.resets + self.periods.resets + self.throttled.resets + self.throttled_time.resets;
        for (count, what) in [
            (resets, "counters begin anew (the container was restarted): what they held in between is not known"),
            (self.without_time, "lines have no time and were left out"),
            (self.out_of_order, "samples do not come after the one before and were left out"),
        ] {
            if count > 0 {
                lines.push(format!("note: {count} {what}"));
            }
        }
        match (self.is_unstable(), self.throttled_ratio()) {
            (Some(true), _) => lines.push("UNSTABLE: more than 95 % of the limit is used; raise it".to_string()),
            (_, Some(0)) => lines.push("no throttling was counted: the limit did not matter in this time".to_string()),
            _ => {}
        }
        lines
    }
    /// Throttled time per second of wall time, ns.
    pub(super) fn throttled_ns_per_s(&self) -> u64 {
        per_second(self.throttled_time)
    }
}

fn per_second(growth: Growth) -> u64 {
    let per_second = u128::from(growth.sum) * 1_000_000_000 / u128::from(growth.wall_ns.max(1));
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Option<CpuMax> = Some(CpuMax { quota: Some(Ns::from_ms(200)), ..CpuMax::UNLIMITED });
    const HEAD: &str = "time_s,usage_usec,nr_periods,nr_throttled,throttled_usec\n";

    fn counters(rows: &str) -> Counters {
        read("stat.csv", &format!("{HEAD}{rows}"), TWO, 4).unwrap()
    }

    /// Model: 13 T18
    #[test]
    fn usage_is_right_despite_a_reset_a_missing_scrape_and_an_idle_timer() {
        // Half a CPU; idle from 30 to 40 s, where the timer stands still; the scrape at 20 s is missing; begins anew at 50 s.
        let found = counters(
            "0,1000000,10,0,0\n10,6000000,110,10,400000\n20,,,,\n30,16000000,310,30,1200000\n40,16000000,310,30,1200000\n50,5000000,100,20,800000\n",
        );
        assert_eq!(found.usage, Growth { sum: 20_000_000_000, wall_ns: 50_000_000_000, resets: 1 });
        assert_eq!(found.usage_ns_per_s(), 400_000_000);
        assert_eq!((found.periods.sum, found.throttled.sum, found.throttled_ratio()), (400, 50, Some(1250)));
        // 2 s over 50 periods and up to 4 CPUs.
        assert_eq!(found.stall(), Some((Ns::from_ms(10), Ns::from_ms(40))));
        assert_eq!(found.is_unstable(), Some(false));
        assert_eq!(found.steps.len(), 4);
        assert!(found.lines().iter().any(|line| line.starts_with("note: 4 counters begin anew")), "{:?}", found.lines());
    }

    #[test]
    fn names_of_prometheus_are_known() {
        let text = "timestamp_ns,container_cpu_usage_seconds_total,container_cpu_cfs_periods_total,container_cpu_cfs_throttled_periods_total,container_cpu_cfs_throttled_seconds_total\n\
                    0,0.5,0,0,0\n15000000000,29.5,150,140,12.5\n";
        let found = read("prom.csv", text, TWO, 8).unwrap();
        assert_eq!(found.usage_ns_per_s(), 1_933_333_333);
        assert_eq!(found.is_unstable(), Some(true));
        assert_eq!(read("prom.csv", text, None, 8).unwrap().is_unstable(), None);
    }

    #[test]
    fn what_is_missing_or_no_number_is_said() {
        let wrong = |text: &str| read("s.csv", text, None, 1).unwrap_err().to_string();
        assert!(wrong("a,b\n1,2\n").contains("no column `time`"));
        assert!(wrong("time_s,nr_periods\n1,2\n").contains("no column `usage`"));
        assert!(wrong("time_s,usage_usec\n1,2\n").contains("fewer than two samples"));
        let bad = wrong("time_s,usage_usec\n1,2\nx,3\n3,-4\n");
        assert!(bad.contains("s.csv:3") && bad.contains("s.csv:4"), "{bad}");
        let late = counters("5,0,0,0,0\n4,9,9,9,9\n,1,1,1,1\n6,1000000,0,0,0\n");
        assert_eq!((late.out_of_order, late.without_time, late.usage_ns_per_s()), (1, 1, 1_000_000_000));
    }
}
