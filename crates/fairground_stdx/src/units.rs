//! Quantities as people write them: `"3ms"`, `"1.5s"`. A bare number where a unit belongs is refused.

use crate::time::Ns;

/// Why a quantity was not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnitError {
    /// There is no unit behind the number.
    NoUnit,
    /// The unit is not one of ns, us, ms, s, min, h, d.
    UnknownUnit(String),
    /// What stands before the unit is no decimal number.
    NotANumber(String),
    /// The value is negative.
    Negative,
    /// The value is no whole number of nanoseconds, or too large to hold.
    OutOfRange,
}

impl std::fmt::Display for UnitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UnitError::NoUnit => write!(f, "a unit is missing"),
            UnitError::UnknownUnit(unit) => write!(f, "`{unit}` is no unit of time"),
            UnitError::NotANumber(text) => write!(f, "`{text}` is no number"),
            UnitError::Negative => write!(f, "a length of time cannot be negative"),
            UnitError::OutOfRange => write!(f, "not a whole number of nanoseconds, or too large"),
        }
    }
}

/// Reads a length of time with its unit, exactly: `"1.5ms"` is 1,500,000 ns; `"0.1ns"` is refused.
pub fn parse_ns(text: &str) -> Result<Ns, UnitError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(UnitError::Negative);
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    if number.is_empty() {
        return Err(UnitError::NotANumber(text.to_string()));
    }
    let scale: u64 = match unit {
        "" => return Err(UnitError::NoUnit),
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        other => return Err(UnitError::UnknownUnit(other.to_string())),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(UnitError::NotANumber(number.clone()));
    }
    let digits = |s: &str| if s.is_empty() { Ok(0) } else { s.parse::<u128>().map_err(|_| UnitError::OutOfRange) };
    let places = u32::try_from(fraction.len()).map_err(|_| UnitError::OutOfRange)?;
    let tens = 10u128.checked_pow(places).ok_or(UnitError::OutOfRange)?;
    let scaled = digits(whole)?
        .checked_mul(tens)
        .and_then(|v| v.checked_add(digits(fraction).ok()?))
        .and_then(|v| v.checked_mul(u128::from(scale)))
        .ok_or(UnitError::OutOfRange)?;
    if !scaled.is_multiple_of(tens) {
        return Err(UnitError::OutOfRange);
    }
    u64::try_from(scaled / tens).map(Ns).map_err(|_| UnitError::OutOfRange)
}

/// Reads a size with its unit in whole KiB: `"2MiB"` is 2048.
pub fn parse_kib(text: &str) -> Result<u32, UnitError> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    let scale = match unit {
        "" => return Err(UnitError::NoUnit),
        "KiB" => 1,
        "MiB" => 1024,
        other => return Err(UnitError::UnknownUnit(other.to_string())),
    };
    if number.is_empty() {
        return Err(UnitError::NotANumber(text.to_string()));
    }
    number.parse::<u32>().ok().and_then(|number| number.checked_mul(scale)).ok_or(UnitError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_in_whole_kib() {
        assert_eq!(["12KiB", " 2 MiB", "0KiB"].map(parse_kib), [Ok(12), Ok(2048), Ok(0)]);
        assert_eq!(parse_kib("12"), Err(UnitError::NoUnit));
        assert_eq!(parse_kib("1.5MiB"), Err(UnitError::UnknownUnit(".5MiB".into())));
        assert_eq!(parse_kib("KiB"), Err(UnitError::NotANumber("KiB".into())));
        assert_eq!(parse_kib("4294967295MiB"), Err(UnitError::OutOfRange));
    }

    #[test]
    fn reads_units_exactly() {
        assert_eq!(parse_ns("1.5ms"), Ok(Ns(1_500_000)));
        assert_eq!(parse_ns("120 ms"), Ok(Ns(120_000_000)));
        assert_eq!(parse_ns("10s"), Ok(Ns(10_000_000_000)));
        assert_eq!(parse_ns("4_000_000ns"), Ok(Ns(4_000_000)));
    }

    #[test]
    fn refuses_what_it_cannot_hold() {
        assert_eq!(parse_ns("5"), Err(UnitError::NoUnit));
        assert_eq!(parse_ns("-5ms"), Err(UnitError::Negative));
        assert_eq!(parse_ns("5 parsecs"), Err(UnitError::UnknownUnit("parsecs".into())));
        assert_eq!(parse_ns("0.1ns"), Err(UnitError::OutOfRange));
        assert_eq!(parse_ns("99999999999999999999999999s"), Err(UnitError::OutOfRange));
        assert!(parse_ns("..s").is_err() && parse_ns("").is_err() && parse_ns("ms").is_err());
        assert!(parse_ns("1.00000000000000000000000000000000000000000001s").is_err());
    }
}
