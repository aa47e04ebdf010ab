//! How good a recording is, in one line.

use crate::import::ImportStats;
use serde_json::{Value, json};

/// Events without which something stays unknown, and what that is.
const NEEDED: [(&str, &str); 4] = [
    ("sched_switch", "who ran"),
    ("sched_waking", "who woke whom"),
    ("sched_wakeup", "where wakees were queued"),
    ("sched_stat_runtime", "exact run times"),
];
/// What no event tells of the time before a recording, and what is taken instead.
const NOT_TOLD: &str = "not told: groups with their weights and limits, policies, tunables (each task counts as a normal one of the root group, \
                        with the weight of its nice value)";
/// Where it says how to do better.
const PAGE: &str = "docs/how-to-record.md";

impl ImportStats {
    /// The needed events of which there is not one, with what that costs.
    fn never_recorded(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        NEEDED.into_iter().filter(|row| self.events > 0 && !self.kinds.contains_key(row.0))
    }
    /// Whether a description of the workload lies beside it, which tells groups.
    fn has_workload(&self) -> bool {
        self.format == crate::recorded::NAME
    }
    /// One line on what is missing from the recording, what was put in for it, and what that costs.
    pub fn quality(&self) -> String {
        let mut parts = Vec::new();
        if self.events == 0 {
            parts.push("no scheduling event in it".to_string());
        }
        if self.lost_events > 0 {
            parts.push(format!("{} events lost by the recorder", self.lost_events));
        }
        if self.skipped > 0 {
            parts.push(format!("{} lines or records unreadable", self.skipped));
        }
        if self.inferred.sum() > 0 {
            let rows = self.inferred.rows().into_iter().filter(|row| row.2 > 0);
            let rows: Vec<String> = rows.map(|(_, what, count)| format!("{count} {what}")).collect();
            parts.push(format!(
                "missing and put in where the rest allows it last: {} (waits from there on are lower bounds)",
                rows.join(", ")
            ));
        }
        let never: Vec<String> = self.never_recorded().map(|(kind, what)| format!("{kind} ({what})")).collect();
        if !never.is_empty() {
            parts.push(format!("never recorded: {}", never.join(", ")));
        }
        let is_beside_host = self.container.as_ref().is_some_and(|container| container.beginning().is_some());
        let groups = match self.grouped_tasks {
            0 => String::new(),
            tasks if is_beside_host => format!("; groups of {tasks} tasks are told, with their weights and limits"),
            tasks => format!("; groups of {tasks} tasks are told, their weights are not (they count as 100)"),
        };
        let found = match parts.is_empty() {
            true => format!("nothing lost, nothing put in{groups}"),
            false => format!("{}{groups}; {PAGE} shows how to record more", parts.join("; ")),
        };
        match self.events > 0 && !self.has_workload() && !is_beside_host {
            true => format!("recording quality: {found}; {NOT_TOLD}"),
            false => format!("recording quality: {found}"),
        }
    }
    /// The line, and the warnings below it.
    pub fn headed_warnings(&self) -> Vec<String> {
        let warnings = self.warnings().map(|note| format!("Warning: {note}"));
        std::iter::once(self.quality()).chain(warnings).collect()
    }
    /// What [`ImportStats::quality`] says, as a JSON object.
    pub fn quality_json(&self) -> Value {
        let inferred: serde_json::Map<String, Value> =
            self.inferred.rows().into_iter().map(|(name, _, count)| (name.to_string(), count.into())).collect();
        let never: Vec<&str> = self.never_recorded().map(|row| row.0).collect();
        let mut quality = json!({
            "events": self.events,
            "lost_events": self.lost_events,
            "skipped": self.skipped,
            "inferred": inferred,
            "never_recorded": never,
        });
        if self.grouped_tasks > 0 {
            quality["grouped_tasks"] = self.grouped_tasks.into();
            quality["group_moves"] = self.group_moves.into();
        }
        quality
    }
}
