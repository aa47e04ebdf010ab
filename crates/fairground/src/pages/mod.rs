//! What pages for a browser (`-o FILE.html`) have in common: their heading, curves of latency, the timeline.

mod curves;

pub(crate) use curves::{latency_chart, percentile_series};

use fairground_metrics::{Timeline, TimelineSink};
use fairground_model::cgroup;
use fairground_report::page::{Owner, Page, TimelineBlock};
use fairground_scenario::Scenario;
use fairground_stdx::Instant;

/// The collector of a run's timeline, a sink of that run.
pub fn timeline_of(scenario: &Scenario) -> TimelineSink {
    TimelineSink::new(Instant::ZERO, scenario.machine.cpus.len())
}

/// A page with what each of them says below its title: which program made it, and what it rests on. Nothing of when and where.
pub fn page(title: &str, command: &str, scenario: &Scenario) -> Page {
    let mut page = Page::new(title);
    let cpus = match scenario.machine.cpus.len() {
        1 => "1 CPU".to_string(),
        cpus => format!("{cpus} CPUs"),
    };
    page.fact("made by", concat!("fairground ", env!("CARGO_PKG_VERSION"), " ").to_string() + command)
        .fact("input", scenario.name())
        .fact("machine", format!("{} ({cpus})", scenario.machine.name));
    page
}

/// A timeline with the names of the scenario's tasks and groups.
pub(crate) fn timeline_block(title: String, scenario: &Scenario, timeline: Timeline) -> TimelineBlock {
    let set = scenario.tasks();
    let starts = set.first_groups();
    let mut owners: Vec<Owner> = timeline.names.iter().map(|name| Owner { name: name.clone(), group: String::new() }).collect();
    for (owner, task) in owners.iter_mut().zip(starts.iter()) {
        if !set.groups.is_empty() {
            owner.group = task.map_or(cgroup::ROOT, |group| set.groups[group].name.as_str()).to_string();
        }
    }
    let groups = set.groups.iter().map(|group| group.name.clone()).collect();
    TimelineBlock { title, timeline, owners, groups }
}
