//! The few places of the scheduler that read the time directly, instead of a run queue's clock.
//!
//! They decide how stale a clock may be, so ARCHITECTURE.md lists them, and nobody joins by accident.

use super::{Finding, Project};

/// The calls that read the time.
const READS: &[&str] = &["cx.clock()", "cx.sched_clock()", "cx.sched_clock_cpu("];
/// Where the reading itself is defined.
const HOME: &str = "ctx.rs";
const SCHED: &str = "crates/fairground_sched/src/";
const LIST: &str = "ARCHITECTURE.md";

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let Some(list) = project.file(LIST) else { return Vec::new() };
    let mut findings = Vec::new();
    for source in &project.sources {
        let Some(path) = source.file.path.strip_prefix(SCHED).filter(|path| *path != HOME) else { continue };
        let is_listed = list.text.contains(&format!("| `{path}` |"));
        let read = READS.iter().find_map(|call| source.shipped.find(call));
        if let Some(at) = read.filter(|_| !is_listed) {
            findings.push(
                source.finding(at, format!("reads the time directly: take the run queue's clock, or join the list in {LIST}")),
            );
        }
        if read.is_none() && is_listed {
            let message = format!("lists `{path}`, which no longer reads the time directly");
            findings.push(Finding { path: LIST.to_string(), line: 1, message });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn readers_of_the_time_are_listed_and_nobody_else() {
        let files = [
            (LIST, "| `core/clock.rs` | `f` | why |\n| `core/tick.rs` | `g` | why |\n"),
            ("crates/fairground_sched/src/core/clock.rs", "fn f() { cx.sched_clock() }"),
            ("crates/fairground_sched/src/core/tick.rs", "fn g() {}"),
            ("crates/fairground_sched/src/core/wakeup.rs", "fn h() { cx.clock() }"),
        ];
        let found = messages(check, &files);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("`core/tick.rs`, which no longer") && found[1].contains("wakeup.rs:1: reads the time"));
    }
}
