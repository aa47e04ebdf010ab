//! `/metrics` of cAdvisor as text, scraped several times.

use super::number::scaled;
use super::series::{Labels, Name, PROMETHEUS, Samples};
use super::stamp;
use crate::text::printable;
use fairground_scenario::Error;

/// Timestamps from here on are ms, smaller ones seconds as OpenMetrics writes them: 100,000,000,000 s is the year 5138.
const MS_FROM: u64 = 100_000_000_000;

/// Whether a text looks like it.
pub(super) fn is_exposition(head: &str) -> bool {
    head.lines().any(|line| {
        let line = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")).unwrap_or(line);
        let end = line.find(['{', ' ']).unwrap_or(line.len());
        line.starts_with("container_")
            && end < line.len()
            && line[..end].bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    })
}

/// Reads one scrape after the other.
pub(super) fn read(name: &str, text: &str) -> Result<Samples, Error> {
    let mut samples = Samples::default();
    let (mut scraped, mut broken) = (None, 0);
    for line in text.lines() {
        if let Some(at) = stamp::of_line(line) {
            scraped = Some(at);
            continue;
        }
        let end = line.find(|letter: char| letter == '{' || letter.is_whitespace()).unwrap_or(line.len());
        let Some(known) = Name::find(&PROMETHEUS, &line[..end]) else { continue };
        let Some((labels, value, own)) = parts(&line[end..]) else {
            broken += 1;
            continue;
        };
        match own.or(scraped) {
            Some(at) => samples.add(known, &labels, at, value),
            None => samples.without_time += 1,
        }
    }
    if broken > 0 {
        samples.notes.push(format!("{}: {broken} lines are cut or broken and were left out", printable(name)));
    }
    if samples.series.is_empty() {
        let message = match (samples.without_time, broken) {
            (0, 0) => "there is no counter of a container's CPU time in it".to_string(),
            (0, _) => format!("all {broken} lines with counters are cut or broken"),
            (count, _) => format!("{count} counters have no time: neither their own nor one before them"),
        };
        return Err(Error::one(name, message, stamp::HINT));
    }
    Ok(samples)
}

/// Labels, value and time behind a name.
fn parts(rest: &str) -> Option<(Labels, &str, Option<u64>)> {
    let mut labels = Labels::new();
    let mut rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.insert(label.trim().to_string(), value);
            rest = after;
        }
    }
    let mut words = rest.split_whitespace();
    let value = words.next()?;
    let own = match words.next() {
        // What follows is an exemplar.
        None | Some("#") => None,
        Some(time) => {
            let seconds = scaled(time, 1)?;
            Some(scaled(time, if seconds >= MS_FROM { 1_000_000 } else { 1_000_000_000 })?)
        }
    };
    Some((labels, value, own))
}

/// The text up to the closing quotation mark, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            _ => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::series::Metric;
    use super::*;

    #[test]
    fn scrapes_are_read_with_their_own_time_or_that_before_them() {
        let text = "# HELP container_cpu_usage_seconds_total Cumulative\n# TYPE container_cpu_usage_seconds_total counter\n\
                    container_cpu_usage_seconds_total{container=\"a\",name=\"x,\\\"}\"} 1.5e+01 1700000000123\n\
                    container_cpu_usage_seconds_total{container=\"a\",name=\"x,\\\"}\"} 16 1700000015.5\n\
                    container_memory_usage_bytes{container=\"a\"} 7\n\
                    container_cpu_cfs_periods_total{container=\"a\"} 7\n# time 1700000030\n\
                    container_cpu_cfs_periods_total{container=\"a\"} 8\ncontainer_cpu_cfs_periods_total{container=\"a\n";
        assert!(is_exposition(text));
        let found = read("m.txt", text).unwrap();
        let key = |metric, labels: &[(&str, &str)]| {
            (metric, labels.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect::<Labels>())
        };
        let usage = key(Metric::Usage, &[("container", "a"), ("name", "x,\"}")]);
        assert_eq!(
            found.series[&usage],
            [(1_700_000_000_123_000_000, 15_000_000_000), (1_700_000_015_500_000_000, 16_000_000_000)]
        );
        assert_eq!(found.series[&key(Metric::Periods, &[("container", "a")])], [(1_700_000_030_000_000_000, 8)]);
        assert_eq!((found.without_time, found.notes.len()), (1, 1));
    }

    #[test]
    fn scrapes_without_any_time_are_refused() {
        let wrong = |text: &str| read("m.txt", text).unwrap_err().to_string();
        assert!(wrong("container_cpu_usage_seconds_total{} 1\n").contains("1 counters have no time"));
        assert!(wrong("container_memory_usage_bytes 1\n").contains("no counter of a container's CPU time"));
        assert!(wrong("container_cpu_usage_seconds_total{a=\"b\n").contains("cut or broken"));
        assert!(!is_exposition("containers are fine\n") && !is_exposition(""));
    }
}
