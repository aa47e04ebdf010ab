//! Moments as logs write them, in ns since 1970.

use super::number::scaled;

const SECOND: u64 = 1_000_000_000;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment, and whether it is a whole second only because nothing finer was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    pub(super) ns: u64,
    pub(super) is_coarse: bool,
}

/// Seconds since 1970 (`1700000000.123`), RFC 3339 (`2026-04-15T20:17:00.310Z`) or that of access logs (`15/Apr/2026:20:17:00 +0200`).
pub(super) fn moment(text: &str) -> Option<Moment> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Some(Moment { ns: scaled(text, SECOND)?, is_coarse: !text.contains('.') });
    }
    if text.as_bytes().get(2) == Some(&b'/') { of_access_log(text) } else { rfc3339(text) }
}

fn number(text: &str, from: usize, to: usize) -> Option<u64> {
    text.get(from..to).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

fn mark(text: &str, at: usize, marks: &[u8]) -> Option<()> {
    marks.contains(text.as_bytes().get(at)?).then_some(())
}

fn of_access_log(text: &str) -> Option<Moment> {
    let month = MONTHS.iter().position(|name| text.get(3..6) == Some(name))? as u64 + 1;
    mark(text, 6, b"/")?;
    mark(text, 11, b":")?;
    let days = days(number(text, 7, 11)?, month, number(text, 0, 2)?)?;
    let of_day = of_day(text, 12)?;
    let seconds = shifted(days * 86_400 + of_day, text.get(20..)?.trim_start())?;
    Some(Moment { ns: seconds.checked_mul(SECOND)?, is_coarse: true })
}

fn rfc3339(text: &str) -> Option<Moment> {
    mark(text, 4, b"-")?;
    mark(text, 7, b"-")?;
    mark(text, 10, b"Tt ")?;
    let days = days(number(text, 0, 4)?, number(text, 5, 7)?, number(text, 8, 10)?)?;
    let of_day = of_day(text, 11)?;
    let rest = text.get(19..)?;
    let fraction = rest.strip_prefix(['.', ',']);
    let length = fraction.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let zone = fraction.map_or(rest, |rest| &rest[length..]);
    let part = fraction.filter(|_| length > 0).map_or(Some(0), |rest| scaled(&format!("0.{}", &rest[..length]), SECOND))?;
    let seconds = shifted(days * 86_400 + of_day, zone)?;
    Some(Moment { ns: seconds.checked_mul(SECOND)?.checked_add(part)?, is_coarse: length == 0 })
}

/// Seconds of `HH:MM:SS`.
fn of_day(text: &str, at: usize) -> Option<u64> {
    mark(text, at + 2, b":")?;
    mark(text, at + 5, b":")?;
    let [hour, minute, second] = [0, 3, 6].map(|place| number(text, at + place, at + place + 2));
    let (hour, minute, second) = (hour?, minute?, second?);
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Local seconds as those of UTC; `zone` is `Z`, nothing, `+0200` or `+02:00`.
fn shifted(seconds: u64, zone: &str) -> Option<u64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(seconds);
    }
    let digits: String = zone.get(1..)?.chars().filter(|letter| *letter != ':').collect();
    if digits.len() != 4 {
        return None;
    }
    let offset = number(&digits, 0, 2)? * 3600 + number(&digits, 2, 4)? * 60;
    match zone.as_bytes()[0] {
        b'+' => seconds.checked_sub(offset),
        b'-' => seconds.checked_add(offset),
        _ => None,
    }
}

/// Days since 1970 of a date: years begin in March here, so that a leap day is the last of its year.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_all_forms_are_the_same() {
        for text in [
            "1776277020.31",
            "2026-04-15T18:17:00.310Z",
            "2026-04-15T20:17:00.31+02:00",
            "[2026-04-15 18:17:00.310000]",
            "2026-04-15T17:17:00,310-0100",
        ] {
            assert_eq!(moment(text), Some(Moment { ns: 1_776_277_020_310_000_000, is_coarse: false }), "{text}");
        }
        for text in ["1776277020", "[15/Apr/2026:20:17:00 +0200]", "15/Apr/2026:18:17:00 +0000", "2026-04-15T18:17:00Z"] {
            assert_eq!(moment(text), Some(Moment { ns: 1_776_277_020_000_000_000, is_coarse: true }), "{text}");
        }
        assert_eq!(moment("1970-01-01T00:00:00Z").map(|moment| moment.ns), Some(0));
        assert_eq!(moment("2024-02-29T00:00:00Z").map(|moment| moment.ns / SECOND), Some(1_709_164_800));
        assert_eq!(moment("2000-12-31T23:59:59Z").map(|moment| moment.ns / SECOND), Some(978_307_199));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "-",
            ".",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-04-15T25:00:00Z",
            "15/Foo/2026:20:17:00 +0200",
            "15/Apr/2026",
            "2026-04-15T18:17:00+2",
            "2026-04-15T18:17",
            "é026-04-15T18:17:00Z",
            "99999999999999999999999",
            "1969-01-01T00:00:00Z",
            "2026-04-15T18:17:00é0200",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
