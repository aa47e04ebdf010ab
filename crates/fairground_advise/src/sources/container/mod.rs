//! Which of all series are those of the container that is meant, and each of its counters as one line of time.

use super::series::{Labels, Metric, Samples};
use crate::pattern::matches;
use crate::text::{cpus_of, printable};
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// Which container is meant; patterns, of which each may be left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Select {
    /// Its pod.
    pub pod: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name in the pod.
    pub container: Option<String>,
}

/// Times and values, in order of time.
pub(crate) type Points = Vec<(u64, u64)>;

/// The counters of one container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) usage: Points,
    pub(crate) periods: Points,
    pub(crate) throttled: Points,
    pub(crate) throttled_time: Points,
    /// The limit that was there at the end, if it was told.
    pub(crate) limit: Option<CpuMax>,
    pub(crate) notes: Vec<String>,
}

/// Namespace, pod and container of a series. Names that kube-state-metrics gives are behind `exported_` where a scrape has its own.
fn key(labels: &Labels) -> [String; 3] {
    let of = |names: &[&str]| names.iter().find_map(|name| labels.get(*name)).cloned().unwrap_or_default();
    [
        of(&["exported_namespace", "namespace"]),
        of(&["exported_pod", "pod", "pod_name"]),
        of(&["exported_container", "container", "container_name"]),
    ]
}

/// What cAdvisor counts beside containers: whole pods, slices, and the pause container.
fn is_container(key: &[String; 3]) -> bool {
    !key[2].is_empty() && key[2] != "POD"
}

impl Select {
    fn takes(&self, key: &[String; 3]) -> bool {
        let wanted = [&self.namespace, &self.pod, &self.container];
        wanted.iter().zip(key).all(|(wanted, name)| wanted.as_deref().is_none_or(|pattern| matches(pattern, name)))
    }
}

/// The counters of the container that is meant.
pub(crate) fn counted(name: &str, samples: Samples, select: &Select) -> Result<Counted, Error> {
    let all: BTreeSet<[String; 3]> = samples.series.keys().map(|row| key(&row.1)).collect();
    let has_containers = all.iter().any(is_container);
    let found: Vec<&[String; 3]> = all.iter().filter(|key| select.takes(key) && (!has_containers || is_container(key))).collect();
    let meant = match found[..] {
        [one] => one.clone(),
        _ => return Err(unclear(name, &all, &found, has_containers)),
    };
    let mut notes = samples.notes;
    let mut lines: BTreeMap<Metric, Vec<(Labels, Points)>> = BTreeMap::new();
    for ((metric, labels), mut points) in samples.series {
        if key(&labels) == meant {
            points.sort_unstable();
            points.dedup_by_key(|point| point.0);
            lines.entry(metric).or_default().push((labels, points));
        }
    }
    let mut line = |metric| lines.remove(&metric).map_or(Ok(Points::new()), |rows| one_line(name, metric, rows, &mut notes));
    let mut counted = Counted {
        usage: line(Metric::Usage)?,
        periods: line(Metric::Periods)?,
        throttled: line(Metric::Throttled)?,
        throttled_time: line(Metric::ThrottledTime)?,
        ..Counted::default()
    };
    let [quota, period, cores] = [line(Metric::Quota)?, line(Metric::Period)?, line(Metric::Limit)?];
    if samples.no_numbers > 0 {
        notes.push(format!("{} values are no numbers (a failed scrape is NaN) and were left out", samples.no_numbers));
    }
    if samples.without_time > 0 {
        notes.push(format!("{} samples have no time and were left out", samples.without_time));
    }
    counted.notes = notes;
    let changes = if quota.is_empty() { &cores } else { &quota };
    counted.limit = changes.last().map(|last| limit(last.1, &quota, &period));
    counted.since_change(changes);
    if meant.iter().any(|part| !part.is_empty()) {
        let [namespace, pod, container] = meant.map(|part| if part.is_empty() { "?".to_string() } else { printable(&part) });
        counted.notes.insert(0, format!("container {container} of pod {pod} in namespace {namespace}"));
    }
    Ok(counted)
}

/// The limit of a quota, or of ns of CPU time per second.
fn limit(last: u64, quota: &Points, period: &Points) -> CpuMax {
    if quota.is_empty() {
        let quota = Ns((last / 10_000).saturating_mul(1_000)).clamp(CpuMax::LEAST, CpuMax::LARGEST);
        return CpuMax { quota: Some(quota), ..CpuMax::UNLIMITED };
    }
    let period = period.last().map_or(CpuMax::DEFAULT_PERIOD, |last| Ns(last.1));
    let limit = CpuMax { quota: (last > 0).then_some(Ns(last)), period, ..CpuMax::UNLIMITED };
    if limit.check().is_ok() { limit } else { CpuMax::UNLIMITED }
}

impl Counted {
    /// Where the limit changed, what was counted before says nothing about the one that is there now.
    fn since_change(&mut self, limits: &Points) {
        let Some(last) = limits.last() else { return };
        let Some(other) = limits.iter().rposition(|point| point.1 != last.1) else { return };
        let since = limits[other + 1].0;
        for points in [&mut self.usage, &mut self.periods, &mut self.throttled, &mut self.throttled_time] {
            points.retain(|point| point.0 >= since);
        }
        let now = self.limit.map_or(String::new(), cpus_of);
        self.notes.push(format!("the limit changed: only samples since it is {now} CPUs are used"));
    }
}

/// A counter of one container as one line: total use where it is counted per CPU too, one start of the container after the other.
fn one_line(name: &str, metric: Metric, mut rows: Vec<(Labels, Points)>, notes: &mut Vec<String>) -> Result<Points, Error> {
    if rows.iter().any(|row| row.0.get("cpu").is_some_and(|cpu| cpu == "total")) {
        rows.retain(|row| row.0.get("cpu").is_some_and(|cpu| cpu == "total"));
    }
    let cpus: BTreeSet<&String> = rows.iter().filter_map(|row| row.0.get("cpu")).collect();
    if cpus.len() > 1 && cpus.len() == rows.len() {
        return Ok(sum(rows));
    }
    // Each start of a container has labels of its own: its id.
    rows.retain(|row| !row.1.is_empty());
    rows.sort_by_key(|row| row.1.first().copied());
    let mut line = Points::new();
    for (labels, points) in rows {
        let begin = points[0].0;
        let kept = line.partition_point(|point| point.0 < begin);
        // The old one is told for some scrapes after the new one has begun. More than that are two at once.
        if (line.len() - kept) * 2 > line.len().min(points.len()) && line.len() - kept > 1 {
            return Err(twice(name, metric, &labels));
        }
        line.truncate(kept);
        line.extend(points);
    }
    let longest = line.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap_or(0);
    let usual =
        line.len().checked_sub(1).filter(|steps| *steps > 0).map_or(0, |steps| (line[steps].0 - line[0].0) / steps as u64);
    if metric == Metric::Usage && usual > 0 && longest > usual.saturating_mul(10) {
        notes.push(format!(
            "samples are {} apart in the mean, and once {}: what crowds there is not seen",
            fairground_report::units::format_ns(Ns(usual)),
            fairground_report::units::format_ns(Ns(longest))
        ));
    }
    Ok(line)
}

/// The sum over CPUs at the moments at which all were counted.
fn sum(rows: Vec<(Labels, Points)>) -> Points {
    let count = rows.len();
    let mut sums: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    for (at, value) in rows.into_iter().flat_map(|row| row.1) {
        let sum = sums.entry(at).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(value));
    }
    sums.into_iter().filter(|row| row.1.0 == count).map(|(at, sum)| (at, sum.1)).collect()
}

fn twice(name: &str, metric: Metric, labels: &Labels) -> Error {
    let labels: Vec<String> = labels.iter().take(12).map(|label| format!("{}=\"{}\"", label.0, printable(label.1))).collect();
    Error::one(
        name,
        format!("{metric:?} of the same container is there twice at the same time; one of both has {}", labels.join(", ")),
        "Two jobs may scrape the same container: add `job=\"NAME\"` to the query.",
    )
}

fn unclear(name: &str, all: &BTreeSet<[String; 3]>, found: &[&[String; 3]], has_containers: bool) -> Error {
    let listed: Vec<&[String; 3]> =
        if found.is_empty() { all.iter().filter(|key| !has_containers || is_container(key)).collect() } else { found.to_vec() };
    let shown: Vec<String> = listed
        .iter()
        .take(8)
        .map(|[namespace, pod, container]| format!("{}/{}/{}", printable(namespace), printable(pod), printable(container)))
        .collect();
    let pods = listed.iter().map(|key| (&key[0], &key[1])).collect::<BTreeSet<_>>().len();
    let more = if listed.len() > shown.len() { format!(" and {} more", listed.len() - shown.len()) } else { String::new() };
    let message = match found.len() {
        0 => "no counter in it is of the container that was named".to_string(),
        count if pods > 1 => format!("counters of {count} containers in {pods} pods are mixed: a limit holds for one of them"),
        count => format!("counters of {count} containers of a pod are mixed: each has its own limit"),
    };
    let hint = format!(
        "Name one: --pod NAME --container NAME (--namespace NAME). As namespace/pod/container: {}{more}.",
        shown.join(", ")
    );
    Error::one(name, message, hint)
}

#[cfg(test)]
mod tests;
