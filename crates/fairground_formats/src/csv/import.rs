//! From our own CSV to events.

use crate::csv::HEADER;
use crate::flat::{Column, Row};
use crate::import::{ImportStats, OwnRows, for_each_line};
use fairground_model::Sink;
use fairground_stdx::outside::text_of_cell;
use std::io::BufRead;

/// Whether `head`, the beginning of a file, is our own CSV.
pub fn sniff(head: &[u8]) -> bool {
    head.starts_with(HEADER.as_bytes())
}

/// Reads our own CSV to its end. Lines that make no sense are counted and noted, never fatal.
pub fn read(source: impl BufRead, sink: &mut dyn Sink) -> ImportStats {
    let mut rows = OwnRows::new(super::NAME, sink);
    for_each_line(
        source,
        &mut rows,
        |rows| &mut rows.feed.stats,
        |rows, number, text| {
            if text.is_empty() || text == HEADER {
                return;
            }
            match row(text) {
                Some(row) => rows.push(number, &row),
                None => rows.feed.stats.skip(number, "a line without the eleven columns was left out"),
            }
        },
    );
    rows.finish()
}

/// The columns of a line.
fn row(text: &str) -> Option<Row> {
    let fields = split(text)?;
    let [t_ns, cpu, event, task, other, from, to, what, value, value2, value3] = <[String; 11]>::try_from(fields).ok()?;
    let mut numbers = [None; Column::ALL.len()];
    for (number, field) in numbers.iter_mut().zip([t_ns, cpu, task, other, from, to, value, value2, value3]) {
        *number = if field.is_empty() { None } else { Some(field.parse().ok()?) };
    }
    let what = text_of_cell(&what).to_string();
    Some(Row { what: if what.is_empty() && event != crate::flat::TASK { None } else { Some(what) }, event, numbers })
}

/// Splits at commas outside quotes; `None` if a quote is open at the end.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_in_a_decision_is_no_task() {
        let group = fairground_model::Decision::group(fairground_stdx::TgId::new(1));
        let row = crate::flat::tasks_of(&fairground_model::TraceEvent::Decision(fairground_model::Decision {
            reason: fairground_model::Reason::PickOnly,
            a: group,
            b: 0,
        }));
        assert_eq!(row, [None, None]);
    }

    #[test]
    fn quotes_protect_commas_and_quotes() {
        assert_eq!(split("a,\"b,\"\"c\"\"\",").unwrap(), ["a", "b,\"c\"", ""]);
        assert_eq!(split("a,\"b"), None);
        assert_eq!(split("").unwrap(), [""]);
    }
}
