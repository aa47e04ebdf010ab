//! The timeline of CPUs: its data, which the page's script draws.

use super::html::{escaped, json_in_script};
use crate::units::{format_count, format_ns};
use fairground_metrics::timeline::section_name;
use fairground_metrics::{Stretch, Timeline};
use fairground_model::Section;
use fairground_stdx::Ns;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Whose time a stretch is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The task's name.
    pub name: String,
    /// The group in which it starts; empty where there are no groups.
    pub group: String,
}

/// A timeline with the names of what is in it.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineBlock {
    /// What it shows.
    pub title: String,
    /// The stretches.
    pub timeline: Timeline,
    /// Names and groups by the tasks' rows; a task without one is shown by its number.
    pub owners: Vec<Owner>,
    /// Paths of groups by their rows.
    pub groups: Vec<String>,
}

impl TimelineBlock {
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, number: usize) -> fmt::Result {
        writeln!(f, "<figure class=\"timeline\" id=\"t{number}\">\n<figcaption>{}</figcaption>", escaped(&self.title))?;
        writeln!(f, "<noscript><p>The timeline is drawn by a script, and scripts are off.</p></noscript>")?;
        writeln!(f, "<script type=\"application/json\">{}</script>", json_in_script(&self.data()))?;
        writeln!(f, "<p class=\"note\">{}</p>\n</figure>", escaped(&self.note()))
    }
    fn note(&self) -> String {
        let cpus = &self.timeline.cpus;
        let tasks = told("stretches of tasks", cpus.iter().flat_map(|cpu| &cpu.tasks).collect(), self.timeline.grain);
        let kernel =
            told("of the kernel's own work", cpus.iter().flat_map(|cpu| &cpu.kernel).collect(), self.timeline.kernel_grain);
        let is_whole = self.timeline.grain == Ns::ZERO && self.timeline.kernel_grain == Ns::ZERO;
        format!("{tasks}, {kernel}.{}", if is_whole { "" } else { " A trace has all of them: -o FILE.pftrace." })
    }
    fn data(&self) -> Value {
        // Tasks are numbered by their time, so that those with most of it have the first colours.
        let by_time = self.timeline.by_time();
        let places: BTreeMap<u32, usize> = by_time.iter().enumerate().map(|(place, row)| (row.0, place)).collect();
        let owner = |task: u32| {
            let owner = self.owners.get(task as usize);
            let name = owner.map_or_else(|| format!("task{task}"), |owner| owner.name.clone());
            json!([name, owner.map_or("", |owner| owner.group.as_str())])
        };
        let cpu = |cpu: &fairground_metrics::timeline::CpuLanes| {
            json!({
                "tasks": flat(&cpu.tasks, self.timeline.start.ns(), |who| places.get(&who).map_or(0, |&place| place as u64)),
                "kernel": flat(&cpu.kernel, self.timeline.start.ns(), u64::from),
            })
        };
        let throttled = self.timeline.throttled.iter().map(|(group, lane)| {
            let name = self.groups.get(group.get() as usize).cloned().unwrap_or_else(|| format!("group{group}"));
            json!({ "group": name, "lane": flat(lane, self.timeline.start.ns(), u64::from) })
        });
        json!({
            "start": self.timeline.start.ns(),
            "end": self.timeline.end.ns(),
            "tasks": by_time.iter().map(|row| owner(row.0)).collect::<Vec<_>>(),
            "sections": (0..Section::ALL.len() as u32).map(section_name).collect::<Vec<_>>(),
            "cpus": self.timeline.cpus.iter().map(cpu).collect::<Vec<_>>(),
            "throttled": throttled.collect::<Vec<_>>(),
        })
    }
}

/// How many stretches there are, and what of them was put together.
fn told(what: &str, stretches: Vec<&Stretch>, grain: Ns) -> String {
    let all = stretches.iter().map(|stretch| u64::from(stretch.parts)).sum();
    let alone = stretches.iter().filter(|stretch| stretch.parts == 1).count() as u64;
    let blocks = stretches.len() as u64 - alone;
    let mut text = format!("{} {what}", format_count(all));
    if blocks > 0 {
        let [alone, blocks, grain] = [format_count(alone), format_count(blocks), format_ns(grain)];
        text += &format!(" ({alone} drawn one by one, the others, each within {grain}, together in {blocks} pale blocks)");
    }
    text
}

/// A lane as a flat list, so that a page stays small: `gap since the last, length, who` for a stretch alone, and
/// `gap, length, -1 - who, parts, busy, most` for several together.
fn flat(lane: &[Stretch], start: u64, number: impl Fn(u32) -> u64) -> Vec<i64> {
    let mut list = Vec::with_capacity(lane.len() * 3);
    let mut last = start;
    let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    for stretch in lane {
        let who = int(number(stretch.who));
        list.extend([int(stretch.start.ns().saturating_sub(last)), int(stretch.end.since(stretch.start).0)]);
        match stretch.parts {
            1 => list.push(who),
            parts => list.extend([-1 - who, i64::from(parts), int(stretch.busy.0), int(stretch.most.0)]),
        }
        last = stretch.end.ns();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::Instant;

    #[test]
    fn what_was_put_together_is_told() {
        let at = Instant::from_ns;
        let one = Stretch { start: at(10), end: at(30), who: 1, parts: 1, busy: Ns(20), most: Ns(20) };
        assert_eq!(told("of tasks", vec![&one, &one], Ns::ZERO), "2 of tasks");
        let wanted = "8 of tasks (1 drawn one by one, the others, each within 1.02 us, together in 1 pale blocks)";
        assert_eq!(told("of tasks", vec![&one, &Stretch { parts: 7, ..one }], Ns(1024)), wanted);
    }

    #[test]
    fn a_lane_is_a_flat_list() {
        let at = Instant::from_ns;
        let lane = [
            Stretch { start: at(10), end: at(30), who: 1, parts: 1, busy: Ns(20), most: Ns(20) },
            Stretch { start: at(40), end: at(90), who: 0, parts: 3, busy: Ns(45), most: Ns(25) },
        ];
        assert_eq!(flat(&lane, 5, u64::from), [5, 20, 1, 10, 50, -1, 3, 45, 25]);
    }
}
