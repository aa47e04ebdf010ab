//! A format string of nginx (`$request_time`) or Envoy (`%DURATION%`): texts that stand in each line, and fields between them.

use fairground_scenario::Error;

/// A part of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Stands so in each line.
    Text(String),
    /// What stands there has this name.
    Field(String),
}

/// A format, part by part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Format(Vec<Part>);

/// What Envoy writes if nothing else is said.
const ENVOY: &str = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% \
                     %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \
                     \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\"";
/// The format of nginx that is there without any setting.
const COMBINED: &str =
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"";

const HINT: &str = "Give the string of nginx' `log_format` or Envoy's `text_format`, such as --log-format '$msec $request_time $upstream_response_time'; \
                    `envoy` and `combined` are their defaults.";

fn wrong(message: impl Into<String>) -> Error {
    Error::one("--log-format", message, HINT)
}

impl Format {
    /// Reads a format string, or the name of a usual one.
    pub(super) fn parse(text: &str) -> Result<Format, Error> {
        let text = match text.trim() {
            "envoy" => ENVOY,
            "combined" => COMBINED,
            own => own,
        };
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = text.trim_end_matches("\\n").trim_end();
        while !rest.is_empty() {
            let begin = rest.find(['$', '%']).unwrap_or(rest.len());
            let (before, after) = rest.split_at(begin);
            if !before.is_empty() {
                parts.push(Part::Text(before.to_string()));
            }
            let Some((field, behind)) = field(after)? else { break };
            if matches!(parts.last(), Some(Part::Field(_))) {
                return Err(wrong(format!(
                    "nothing stands between `{field}` and the field before it: where one ends cannot be told"
                )));
            }
            parts.push(Part::Field(field));
            rest = behind;
        }
        if !parts.iter().any(|part| matches!(part, Part::Field(_))) {
            return Err(wrong("there is no field in it"));
        }
        Ok(Format(parts))
    }

    /// Whether it has a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Field(field) if is_named(field, name)))
    }

    /// The fields of a line, each with what stands there; none if the line is not of this format.
    pub(super) fn fields<'l>(&self, line: &'l str) -> Option<Vec<(&str, &'l str)>> {
        let mut found = Vec::new();
        let mut rest = line;
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Field(name) => {
                    let end = match parts.peek() {
                        Some(Part::Text(text)) => rest.find(text.as_str())?,
                        _ => rest.len(),
                    };
                    found.push((name.as_str(), &rest[..end]));
                    rest = &rest[end..];
                }
            }
        }
        Some(found)
    }
}

/// Whether a field has a name, whatever is said in parentheses behind it.
pub(super) fn is_named(field: &str, name: &str) -> bool {
    field == name || (name.starts_with('%') && field.split(['(', ':']).next() == Some(name))
}

/// The field at the begin of a text, and what is behind it.
fn field(text: &str) -> Result<Option<(String, &str)>, Error> {
    let Some(sign) = text.chars().next() else { return Ok(None) };
    let inside = &text[1..];
    if sign == '%' {
        // Envoy's may have a `%` in parentheses: `%START_TIME(%s.%3f)%`.
        let mut depth = 0;
        for (at, letter) in inside.char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                '%' if depth <= 0 => return Ok(Some((format!("%{}", &inside[..at]), &inside[at + 1..]))),
                _ => {}
            }
        }
        return Err(wrong("a `%` has no other behind it"));
    }
    if let Some(braced) = inside.strip_prefix('{') {
        let (name, behind) = braced.split_once('}').ok_or_else(|| wrong("`${` has no `}` behind it"))?;
        return Ok(Some((format!("${name}"), behind)));
    }
    let end = inside.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(inside.len());
    if end == 0 {
        return Err(wrong("a `$` has no name behind it"));
    }
    Ok(Some((format!("${}", &inside[..end]), &inside[end..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart_by_formats_of_both_programs() {
        let nginx = Format::parse("$remote_addr [$time_local] \"$request\" ${request_time}s \"$http_user_agent\"").unwrap();
        let fields = nginx.fields("10.0.0.1 [15/Apr/2026:20:17:00 +0200] \"GET /a b HTTP/1.1\" 0.012s \"x [y]\"").unwrap();
        assert_eq!(fields[2..4], [("$request", "GET /a b HTTP/1.1"), ("$request_time", "0.012")]);
        assert_eq!(nginx.fields("10.0.0.1 - broken"), None);
        let envoy = Format::parse("envoy").unwrap();
        let line = "[2026-04-15T20:17:00.310Z] \"POST /api HTTP/2\" 204 - 154 0 226 100 \"10.0.35.28\" \"nsq2http\" \"cc21\" \"locations\" \"tcp://10.0.2.1:80\"";
        let fields = envoy.fields(line).unwrap();
        let of = |name: &str| fields.iter().find(|row| is_named(row.0, name)).map(|row| row.1);
        assert_eq!((of("%START_TIME"), of("%DURATION")), (Some("2026-04-15T20:17:00.310Z"), Some("226")));
        assert_eq!(fields.iter().find(|row| row.0 == "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)").map(|row| row.1), Some("100"));
        let own = Format::parse("%START_TIME(%s.%3f)% %DURATION%\\n").unwrap();
        assert!(own.has("%START_TIME") && own.has("%DURATION") && !own.has("$msec"));
        assert_eq!(own.fields("1776284220.310 12").unwrap()[0], ("%START_TIME(%s.%3f)", "1776284220.310"));
    }

    #[test]
    fn formats_that_cannot_be_read_are_refused() {
        for (text, part) in [
            ("plain", "no field"),
            ("", "no field"),
            ("$a$b", "nothing stands between"),
            ("$ x", "no name behind"),
            ("%DURATION", "no other behind"),
            ("${msec", "no `}`"),
        ] {
            let wrong = Format::parse(text).unwrap_err().to_string();
            assert!(wrong.contains(part), "{text}: {wrong}");
        }
    }
}
