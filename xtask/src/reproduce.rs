//! The quick reproductions as a step: every judged row inside its band, but for those that are known to lie outside.
//!
//! `fairground reproduce` shows a row outside its band and exits with 1, here as everywhere. This step prints the same
//! tables and lets pass exactly the rows that are listed below: another one outside fails it, and so does a listed one
//! that is inside again or gone, so that the list stays true.

use crate::steps::{AS_FOR_USERS, program};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Rows that are known to lie outside their bands: the id, and why the step goes on.
const KNOWN_OUTSIDE: &[(&str, &str)] = &[
    ("press.box12.hz1000.futex.max_delay.before", "111 ms, and the band ends at 110; see docs/experiments/align-vruntime.md"),
    ("press.box12.hz1000.futex.max_delay.after", "41 ms, and the band ends at 40; see docs/experiments/align-vruntime.md"),
    ("change.hackbench.process-pipe.4", "by the window, and in the full form too; see docs/experiments/sis-util.md"),
    ("efficiency.netperf.TCP_RR.84.se_eff", "not settled after 0.25 s; see docs/experiments/sis-util.md"),
    ("efficiency.netperf.TCP_RR.84.fast_rate", "as se_eff; see docs/experiments/sis-util.md"),
    ("select_idle_cpu_us.median_class", "looks are cheaper than measured ones; see docs/experiments/sis-util.md"),
    ("select_idle_cpu_us.8_to_128", "as the median; see docs/experiments/sis-util.md"),
    (
        "calibrated.hz1000.inline.quota_15000ms.period_timer.median",
        "83 ms, published about 100, and the band around our own estimate ends at 80; see docs/experiments/task-throttle.md",
    ),
    ("r2-8-expiring.quota./fib.used_ms", "nothing published, and threads take turns; see docs/experiments/incidents.md"),
    ("r5-schbench.schbench_latency_us.p99", "600 ms are never more than 700; see docs/experiments/incidents.md"),
    ("r6-ingress.request_latency.mean", "each CPU keeps 1 ms; see docs/experiments/incidents.md"),
    ("r6-ingress.mean_of_free", "as the mean; see docs/experiments/incidents.md"),
    ("r9-collector.response.max", "each CPU keeps 1 ms, and 400 ms are exactly two quotas; see docs/experiments/incidents.md"),
    ("lazy_by_none.transactions", "at its worst the standstill is deeper; see docs/experiments/postgres-preempt.md"),
    ("lazy.spin", "as the rate; see docs/experiments/postgres-preempt.md"),
    (
        "reverted_by_v6.6.requests",
        "misses that a balance causes elsewhere are not priced; see docs/experiments/schbench-newidle.md",
    ),
    ("v6.6_by_before.new_orders", "the model loses 1 %, published 6 %; see docs/experiments/eevdf-databases.md"),
    ("v6.12_by_before.new_orders", "the model loses 2 %, published 7 %; see docs/experiments/eevdf-databases.md"),
    ("v6.12_by_before.switches", "as the new orders; see docs/experiments/eevdf-databases.md"),
    ("v6.6_by_before.busy", "as the new orders; see docs/experiments/eevdf-databases.md"),
    ("v6.12_by_before.busy", "as the new orders; see docs/experiments/eevdf-databases.md"),
    (
        "v6.12.neither_by_default.new_orders",
        "the switches still help, published: no more; see docs/experiments/eevdf-databases.md",
    ),
    ("v6.6-batch_by_before-batch.new_orders", "as the new orders; see docs/experiments/eevdf-databases.md"),
    ("v6.12-batch_by_before-batch.new_orders", "as the new orders; see docs/experiments/eevdf-databases.md"),
    ("r10-quiet.request_latency.p99", "each CPU keeps 1 ms; see docs/experiments/incidents.md"),
];

/// `fairground reproduce all --quick`, judged by the list.
pub(crate) fn run_quick(root: &Path) -> bool {
    let run = |program: String| {
        let mut command = Command::new(program);
        command.current_dir(root).args(["reproduce", "all", "--quick"]).output().map_err(|error| error.to_string())
    };
    let output = match program(root, AS_FOR_USERS, "fairground").and_then(run) {
        Ok(output) => output,
        Err(error) => {
            eprintln!("reproduce: {error}");
            return false;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    eprint!("{text}{}", String::from_utf8_lossy(&output.stderr));
    let mut wrong = complaints(&text, KNOWN_OUTSIDE);
    let expected = i32::from(outside(&text).next().is_some() || failed_claims(&text).next().is_some());
    if output.status.code() != Some(expected) {
        wrong.push(format!("the tables mean exit code {expected}, and it was {}", output.status));
    }
    wrong.iter().for_each(|line| eprintln!("{line}"));
    wrong.is_empty()
}

/// The ids of rows whose column `within` says NO.
fn outside(text: &str) -> impl Iterator<Item = &str> {
    rows(text).filter(|row| row.split_whitespace().any(|word| word == "NO")).filter_map(id)
}

fn failed_claims(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with("claim FAILS"))
}

/// Lines of tables: all but claims, which are sentences.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("claim "))
}

fn id(row: &str) -> Option<&str> {
    row.split_whitespace().next()
}

/// What the list does not explain, and what it wrongly says.
fn complaints(text: &str, known: &[(&str, &str)]) -> Vec<String> {
    let found: BTreeSet<&str> = outside(text).collect();
    let mut wrong: Vec<String> = failed_claims(text).map(str::to_string).collect();
    let unknown = found.iter().filter(|row| known.iter().all(|listed| listed.0 != **row));
    wrong.extend(unknown.map(|row| format!("{row}: outside its band")));
    for (row, reason) in known {
        if found.contains(row) {
            eprintln!("{row}: outside its band, as known: {reason}");
        } else if rows(text).filter_map(id).any(|id| id == *row) {
            wrong.push(format!("{row}: inside its band again; take it off the list in xtask/src/reproduce.rs"));
        } else {
            wrong.push(format!("{row}: there is no such row; take it off the list in xtask/src/reproduce.rs"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
id       unit  published  simulated  [lo..hi]   band  within  kind
-------  ----  ---------  ---------  --------  -----  ------  ---------
a.good   ms           80         72  [70..75]  60..9  yes     predicted
a.after  ms           27         45  [41..49]  20..4  NO      predicted
a.extra  ms            -         31  [31..31]      -  -       predicted
claim holds: NO row is about this
";

    #[test]
    fn a_row_outside_must_be_listed() {
        assert_eq!(complaints(TEXT, &[]), ["a.after: outside its band"]);
        assert!(complaints(TEXT, &[("a.after", "a reason")]).is_empty());
    }

    #[test]
    fn a_listed_row_that_is_inside_or_gone_fails() {
        let found = complaints(TEXT, &[("a.after", "a reason"), ("a.good", "a reason"), ("a.old", "a reason")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a.good: inside") && found[1].starts_with("a.old: there is no such row"));
    }

    #[test]
    fn a_claim_that_fails_cannot_be_listed() {
        let text = format!("{TEXT}claim FAILS: the patch keeps the turn\n");
        assert_eq!(complaints(&text, &[("a.after", "a reason")]), ["claim FAILS: the patch keeps the turn"]);
    }
}
