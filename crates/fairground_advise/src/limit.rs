//! A limit as people write it: CPUs, millicores, percent, or what cpu.max holds.

use super::csv::decimal;
use fairground_model::cgroup::files::read_limit;
use fairground_model::{CpuMax, Wrong};
use fairground_scenario::Error;
use fairground_stdx::Ns;

/// What a limit may look like.
const FORMS: &str = "Write CPUs (`2`, `1.5`), millicores (`2000m`), percent of a CPU as systemd does (`200%`), `max`, or what cpu.max \
                     holds (`\"200000 100000\"`, `\"max 100000\"`, `200000`); a whole number from 1000 on is a quota in us.";

/// The least whole number that is a quota in us: the kernel takes no smaller one, and nobody has as many CPUs.
const LEAST_QUOTA_US: u64 = 1000;

/// The limit that a flag tells.
pub(super) fn of_flag(text: &str) -> Result<CpuMax, Error> {
    read(text).map_err(|(message, hint)| Error::one("--cpu-max", message, hint))
}

fn read(text: &str) -> Result<CpuMax, Wrong> {
    let text = text.trim();
    let is_quota = text.parse::<u64>().is_ok_and(|number| number >= LEAST_QUOTA_US);
    if text == "max" || is_quota || text.contains(char::is_whitespace) {
        return read_limit(text).map_err(|(message, hint)| (message, format!("{hint} {FORMS}")));
    }
    let limit = quantity(text).ok_or_else(|| (format!("`{text}` is no limit"), FORMS.to_string()))?;
    limit.check().map(|()| limit).map_err(|refused| {
        let (message, hint) = refused.sentences();
        (format!("`{text}`: {message}"), format!("{hint} {FORMS}"))
    })
}

/// The limit of so many CPUs, millicores or percent of a CPU, with the usual period. The quota is a whole number of us, rounded down.
pub(super) fn quantity(text: &str) -> Option<CpuMax> {
    // ns of quota for one of the unit, per 100 ms.
    let (number, scale) = match (text.strip_suffix('m'), text.strip_suffix('%')) {
        (Some(number), _) => (number, 100_000),
        (_, Some(number)) => (number, 1_000_000),
        _ => (text, CpuMax::DEFAULT_PERIOD.0),
    };
    let quota_us = decimal(number, scale)? / 1000;
    Some(CpuMax { quota: Some(Ns(quota_us * 1000)), ..CpuMax::UNLIMITED })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_limit_has_many_forms() {
        for text in ["2", "2.0", "2000m", "200%", "200000", "200000 100000", " 2 "] {
            assert_eq!(read(text).unwrap().to_string(), "200000 100000", "{text}");
        }
        for (text, shown) in [
            ("max", "max 100000"),
            ("max 50000", "max 50000"),
            ("1.5", "150000 100000"),
            ("0.01", "1000 100000"),
            ("12.5%", "12500 100000"),
            ("1500m", "150000 100000"),
            ("999", "99900000 100000"),
            ("1000", "1000 100000"),
            ("20000 10000", "20000 10000"),
        ] {
            assert_eq!(read(text).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_limit_is_told_all_forms() {
        for text in
            ["", "two", "-1", "2 cpus", "1e3", "2000mm", "%", "NaN", "99999999999999999999m", "1 2 3", "18446744073709551615"]
        {
            let (message, hint) = read(text).unwrap_err();
            assert!(!message.is_empty() && hint.ends_with(FORMS), "{text}: {message} {hint}");
        }
        for (text, part) in
            [("5m", "below 1 ms"), ("500 100000", "below 1 ms"), ("200000 2000000", "longer than 1 s"), ("0", "below 1 ms")]
        {
            assert!(read(text).unwrap_err().0.contains(part), "{text}: {:?}", read(text));
        }
    }
}
