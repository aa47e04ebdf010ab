//! pgbench in whole runs: one backend flushes the log for all that come meanwhile, and pgbench may run on another machine.

use crate::transactions;

/// Transactions a second. One computes 5 us in all, and flushes the log, which takes 1 ms.
fn per_second(flags: &str) -> u64 {
    transactions::per_second("pgbench", &format!("statement = \"1us\", calls = 0, {flags}"))
}

/// A client alone: a flush and 30 us each. Eight, each flush for all that came before it: half of them in turn at least, so four to eight a
/// flush. One flush for each would be 1,000 a second whoever asks, and flushes side by side 8 times the rate of one.
#[test]
fn one_flush_serves_all_that_came_before_it() {
    for host in ["socket", "localhost", "remote"] {
        let alone = per_second(&format!("host = \"{host}\", client = 1"));
        assert!((920..1_000).contains(&alone), "{host}: {alone}");
        let eight = per_second(&format!("host = \"{host}\", client = 8, jobs = 8"));
        assert!((3_500..7_000).contains(&eight), "{host}: {eight}");
    }
}

/// A client on another machine waits twice for the wire in each of five statements.
#[test]
fn statements_go_over_the_wire() {
    let near = per_second("host = \"remote\", client = 1, flush = \"0ns\"");
    let here = per_second("host = \"socket\", client = 1, flush = \"0ns\"");
    let (near_ns, here_ns) = (1_000_000_000 / near, 1_000_000_000 / here);
    let wire = near_ns.saturating_sub(here_ns);
    assert!((9_000..=11_000).contains(&wire), "{near_ns} and {here_ns} ns");
}
