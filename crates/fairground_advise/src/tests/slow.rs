//! Where the time of a request goes, against what can be said without a run.

use super::super::slow::{Slow, slow};
use super::*;

fn ms(time: Ns) -> u64 {
    (time.0 + 500_000) / 1_000_000
}

fn of(args: &str, limit: CpuMax) -> Slow {
    let base = with_hz(&service("max 100000", args, 5), 1000);
    slow(&service_lab(&base), limit).unwrap().unwrap()
}

/// 50 ms of work with 20 ms per period: it runs, stands still until the refill, up to three times, and never waits for anything else. Of the
/// time from its first to its last refill, one period at least, it ran 40 ms at most.
#[test]
fn work_beyond_the_quota_is_throttled_until_the_refill() {
    let found =
        of("arrivals = \"fixed\", every = \"500ms\", service = \"50ms\", spread = \"const\", workers = 1", limit(20_000, 100, 0));
    for request in &found.requests {
        let [queued, running, waiting, throttled, asleep] = request.parts.map(ms);
        assert_eq!((queued, running, waiting, asleep), (0, 50, 0, 0), "{request:?}");
        assert!((60..=240).contains(&throttled), "{request:?}");
        assert_eq!(request.parts.iter().map(|part| part.0).sum::<u64>(), request.latency().0);
    }
    let one = &found.slowest;
    let stalls: Vec<Ns> =
        one.spans.iter().filter(|span| span.state == State::Throttled).map(|span| span.to.since(span.from)).collect();
    assert!(!stalls.is_empty() && stalls.iter().all(|stall| ms(*stall) <= 100), "{stalls:?}");
    // Each stall ends with a refill, and while it lasts the pool is empty.
    assert!(one.spans.iter().filter(|span| span.state == State::Throttled).all(|span| {
        one.strip.refills.iter().any(|at| at.ns().abs_diff(span.to.ns()) < 100_000)
            && ms(one.strip.empty(span.from, span.to)) + 1 >= ms(span.to.since(span.from))
    }));
    // All that stood still is a stall of the CPU too.
    assert_eq!(found.stalls.last().map(|stall| ms(*stall)), stalls.iter().max().map(|stall| ms(*stall)));
    let ran = Strip::ran(&one.strip.threads[0].1);
    assert!(ms(ran) >= 50 && one.strip.threads[0].0 == "worker00", "{ran}");
}

#[test]
fn the_second_of_two_requests_waits_for_the_only_worker() {
    let args = "arrivals = \"fixed\", every = \"100ms\", batch = 2, service = \"10ms\", spread = \"const\", workers = 1";
    let found = of(args, limit(400_000, 100, 0));
    assert_eq!(found.slowest.request.parts.map(ms), [10, 10, 0, 0, 0]);
    assert_eq!(found.requests.first().map(|request| request.parts.map(ms)), Some([0, 10, 0, 0, 0]));
    assert!(found.stalls.is_empty());
    // Half of the time of the slower half is waiting for the worker.
    let slower = found.from(500);
    assert!(slower.len().abs_diff(found.requests.len() / 2) <= 1 && slower.iter().all(|request| ms(request.parts[0]) == 10));
}

#[test]
fn where_a_request_waits_for_something_else_it_is_asleep() {
    let args =
        "arrivals = \"fixed\", every = \"100ms\", service = \"10ms\", spread = \"const\", workers = 2, waits = 1, wait = \"5ms\"";
    let found = of(args, limit(400_000, 100, 0));
    let request = &found.slowest.request;
    assert!(ms(request.parts[State::Asleep as usize]) >= 5 && ms(request.parts[State::Running as usize]) == 10, "{request:?}");
}
