//! Access logs of nginx and Envoy: when each request came, and how long it took.
//!
//! ```text
//! nginx     request_time ──────────────┐            a line is written when the answer is sent:
//!           came    upstream_response  written      it came request_time before that
//! Envoy     START_TIME ─── DURATION ───┘            the line says when it came
//! ```

mod format;

use super::number::scaled;
use super::time::{Moment, moment};
use crate::log::{Request, Requests};
use crate::text::printable;
use fairground_scenario::Error;
use format::{Format, is_named};

/// Fields that say when, and whether that is the begin of a request.
const WHEN: [(&str, bool); 4] = [("$msec", false), ("$time_iso8601", false), ("$time_local", false), ("%START_TIME", true)];
/// Fields that say how long a request took from begin to end, and ns in the unit of each.
const WHOLE: [(&str, u64); 2] = [("$request_time", 1_000_000_000), ("%DURATION", 1_000_000)];
/// Fields that say how long the service itself took, without its client.
const SERVICE: [(&str, u64); 3] = [
    ("$upstream_response_time", 1_000_000_000),
    ("%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)", 1_000_000),
    ("%UPSTREAM_SERVICE_TIME", 1_000_000),
];

const HINT: &str = "Log one field of each: a time ($msec, $time_iso8601, $time_local; %START_TIME%) and a duration ($request_time, \
                    $upstream_response_time; %DURATION%). The best of nginx is `$msec $request_time $upstream_response_time`.";

/// Whether a text looks like an access log of a usual format: to say what is missing.
pub(super) fn may_be_one(head: &str) -> bool {
    head.lines().take(5).any(|line| {
        let date = line.find('[').and_then(|at| line[at..].find(']').map(|end| &line[at + 1..at + end]));
        date.is_some_and(|date| moment(date).is_some())
    })
}

/// Reads a log. Lines of another format are counted.
pub(super) fn read(name: &str, text: &str, format: &str) -> Result<Requests, Error> {
    let format = Format::parse(format)?;
    let has_duration = WHOLE.iter().chain(&SERVICE).any(|row| format.has(row.0));
    if !has_duration || !WHEN.iter().any(|row| format.has(row.0)) {
        let what = if has_duration { "when a request came" } else { "how long a request took" };
        return Err(Error::one("--log-format", format!("no field of it says {what}"), HINT));
    }
    let (mut rows, mut odd, mut first_odd) = (Vec::new(), 0_u64, None);
    for (number, line) in text.lines().enumerate() {
        match format.fields(line).and_then(|fields| request(&fields)) {
            Some(row) => rows.push(row),
            None if line.trim().is_empty() => {}
            None => {
                odd += 1;
                first_odd = first_odd.or(Some((number + 1, line)));
            }
        }
    }
    let mut notes = Vec::new();
    if let Some((number, line)) = first_odd {
        let line: String = printable(line).chars().take(60).collect();
        if rows.is_empty() {
            let message = format!("no line is of the format that was given: `{line}`");
            return Err(Error::one(format!("{name}:{number}"), message, HINT));
        }
        notes.push(format!("{odd} lines are not of the format and were left out; the first is {}:{number}", printable(name)));
    }
    if rows.iter().any(|row| row.1.is_some()) {
        spread(&mut rows);
        notes.push(
            "Warning: the log tells times in whole seconds: requests are spread evenly over each, so that how they crowd is lost and the \
             limit comes out too small. Log $msec (nginx) or %START_TIME% (Envoy)"
                .to_string(),
        );
    }
    Ok(Requests { rows: rows.into_iter().map(|row| row.0).collect(), has_cpu: false, notes })
}

/// The request of a line, and the second that it tells if it tells nothing finer.
fn request(fields: &[(&str, &str)]) -> Option<(Request, Option<u64>)> {
    let of = |name: &str| fields.iter().find(|row| is_named(row.0, name)).map(|row| row.1.trim());
    let duration = |rows: &[(&str, u64)]| rows.iter().find_map(|row| spent(of(row.0)?, row.1));
    let (when, is_begin) = WHEN.iter().find_map(|row| Some((moment(of(row.0)?)?, row.1)))?;
    let (whole, service) = (duration(&WHOLE), duration(&SERVICE));
    let whole = whole.or(service)?;
    let latency = service.unwrap_or(whole);
    let Moment { ns, is_coarse } = when;
    let arrival = if is_begin { ns } else { ns.checked_sub(whole)? };
    Some((Request { arrival, latency, cpu: latency }, is_coarse.then_some(ns)))
}

/// A duration. Of several servers that were tried, `0.010, 0.020 : 0.003`, the sum; `-` is none.
fn spent(text: &str, scale: u64) -> Option<u64> {
    let parts = text.split([',', ':']).map(str::trim).filter(|part| *part != "-");
    parts
        .map(|part| scaled(part, scale))
        .try_fold(None, |sum: Option<u64>, part| Some(Some(sum.unwrap_or(0).checked_add(part?)?)))?
}

/// Spreads requests of the same second evenly over it, in their order.
fn spread(rows: &mut [(Request, Option<u64>)]) {
    const SECOND: u64 = 1_000_000_000;
    for same in rows.chunk_by_mut(|one, other| one.1 == other.1) {
        let count = same.len() as u64;
        for (place, (row, _)) in (0..count).zip(same).filter(|row| row.1.1.is_some()) {
            row.arrival += (2 * place + 1) * SECOND / (2 * count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_before_nginx_writes_them_and_when_envoy_says() {
        let read = |text: &str, format: &str| read("access.log", text, format).unwrap();
        let nginx =
            read("1000.500 0.120 0.100, 0.010\nbroken\n\n1000.600 0.050 -\n", "$msec $request_time $upstream_response_time");
        let all: Vec<(u64, u64)> = nginx.rows.iter().map(|row| (row.arrival / 1_000_000, row.latency / 1_000_000)).collect();
        assert_eq!(all, [(1_000_380, 110), (1_000_550, 50)]);
        assert_eq!(nginx.notes, ["1 lines are not of the format and were left out; the first is access.log:2"]);
        let envoy =
            read("[2026-04-15T20:17:00.310Z] 226 100\n", "[%START_TIME%] %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%");
        assert_eq!((envoy.rows[0].arrival, envoy.rows[0].latency), (1_776_284_220_310_000_000, 100_000_000));
    }

    #[test]
    fn whole_seconds_are_spread_with_a_warning() {
        let text = "[15/Apr/2026:20:17:00 +0000] 0.1\n".repeat(4);
        let found = read("access.log", &text, "[$time_local] $request_time").unwrap();
        let ms: Vec<u64> = found.rows.iter().map(|row| (row.arrival + row.latency) / 1_000_000 % 1_000).collect();
        assert_eq!(ms, [125, 375, 625, 875]);
        assert!(found.notes[0].starts_with("Warning: the log tells times in whole seconds"), "{:?}", found.notes);
    }

    #[test]
    fn a_log_that_says_too_little_is_refused() {
        let wrong = |text: &str, format: &str| read("access.log", text, format).unwrap_err().to_string();
        assert!(wrong("x", "combined").contains("how long a request took"));
        assert!(wrong("x", "$request_time").contains("when a request came"));
        let none = wrong("one\ntwo\u{1b}[2J\n", "$msec $request_time");
        assert!(none.contains("access.log:1") && none.contains("`one`"), "{none}");
        assert!(wrong("0.5 1.0\n", "$msec $request_time").contains("no line is of the format"));
        assert!(may_be_one("1.2.3.4 - - [15/Apr/2026:20:17:00 +0000] \"GET /\" 200 1\n") && !may_be_one("a [b] c\n"));
    }
}
