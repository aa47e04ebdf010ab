//! Counters over time, each with the labels under which it was found.

use super::number::scaled;
use std::collections::BTreeMap;

/// What a series counts or tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Metric {
    /// CPU time, ns.
    Usage,
    /// Periods in which the timer ran.
    Periods,
    /// Those in which a queue was throttled.
    Throttled,
    /// Time in which queues were throttled, ns.
    ThrottledTime,
    /// The quota, ns; 0 is none.
    Quota,
    /// The period, ns.
    Period,
    /// The limit of a container, ns of CPU time per second.
    Limit,
}

/// A name under which a metric is known.
pub(crate) struct Name {
    pub(crate) name: &'static str,
    pub(crate) metric: Metric,
    /// How many of our units are one of its.
    scale: u64,
}

const fn name(name: &'static str, metric: Metric, scale: u64) -> Name {
    Name { name, metric, scale }
}

/// Names in Prometheus: of cAdvisor, and of kube-state-metrics.
pub(crate) const PROMETHEUS: [Name; 7] = [
    name("container_cpu_usage_seconds_total", Metric::Usage, 1_000_000_000),
    name("container_cpu_cfs_periods_total", Metric::Periods, 1),
    name("container_cpu_cfs_throttled_periods_total", Metric::Throttled, 1),
    name("container_cpu_cfs_throttled_seconds_total", Metric::ThrottledTime, 1_000_000_000),
    name("container_spec_cpu_quota", Metric::Quota, 1_000),
    name("container_spec_cpu_period", Metric::Period, 1_000),
    name("kube_pod_container_resource_limits", Metric::Limit, 1_000_000_000),
];

/// Names in cpu.stat of both versions of cgroups.
pub(crate) const CPU_STAT: [Name; 5] = [
    name("usage_usec", Metric::Usage, 1_000),
    name("nr_periods", Metric::Periods, 1),
    name("nr_throttled", Metric::Throttled, 1),
    name("throttled_usec", Metric::ThrottledTime, 1_000),
    name("throttled_time", Metric::ThrottledTime, 1),
];

impl Name {
    /// A name of a time in us.
    pub(super) const fn of(text: &'static str, metric: Metric) -> Name {
        name(text, metric, 1_000)
    }
    /// The row of a name.
    pub(crate) fn find(names: &'static [Name], name: &str) -> Option<&'static Name> {
        names.iter().find(|row| row.name == name)
    }
    /// A value in our unit; none of what is no number.
    pub(crate) fn value(&self, text: &str) -> Option<u64> {
        // Without a quota it is -1.
        if self.metric == Metric::Quota && text.starts_with('-') {
            return Some(0);
        }
        scaled(text, self.scale)
    }
}

/// Labels of a series by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// What was read of one or more inputs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Samples {
    /// When, ns, and the value then.
    pub(crate) series: BTreeMap<(Metric, Labels), Vec<(u64, u64)>>,
    /// Values that are no numbers: NaN where a scrape failed, or text.
    pub(crate) no_numbers: u64,
    /// Samples without a time.
    pub(crate) without_time: u64,
    /// Sentences on what was read.
    pub(crate) notes: Vec<String>,
}

impl Samples {
    /// Adds a value to its series.
    pub(crate) fn add(&mut self, name: &Name, labels: &Labels, at: u64, text: &str) {
        // Memory has a limit too.
        if name.metric == Metric::Limit && labels.get("resource").is_some_and(|resource| resource != "cpu") {
            return;
        }
        let Some(value) = name.value(text) else {
            self.no_numbers += 1;
            return;
        };
        self.series.entry((name.metric, labels.clone())).or_default().push((at, value));
    }
    /// Adds what another input has.
    pub(crate) fn extend(&mut self, more: Samples) {
        for (key, points) in more.series {
            self.series.entry(key).or_default().extend(points);
        }
        self.no_numbers += more.no_numbers;
        self.without_time += more.without_time;
        self.notes.extend(more.notes);
    }
}
