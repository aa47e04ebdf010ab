//! Lines of bounded length from any source.

use crate::import::ImportStats;
use std::borrow::Cow;
use std::io::{BufRead, ErrorKind};

/// Longest line that is looked at. Trace lines are a few hundred bytes.
const LINE_MAX: usize = 64 * 1024;

/// One line of the input.
#[derive(PartialEq, Eq, Debug)]
enum Line<'a> {
    /// Its bytes without the line end (`\n` or `\r\n`).
    Text(&'a [u8]),
    /// It is longer than [`LINE_MAX`]; its bytes were passed over.
    TooLong,
    /// The source failed; nothing follows.
    Failed(String),
}

/// Reads a whole source line by line: `each` gets the number, the text and the stats of `stats`.
/// Everything that is wrong with a line as such is noted here.
pub(crate) fn for_each_line<C>(
    source: impl BufRead,
    cx: &mut C,
    stats: impl Fn(&mut C) -> &mut ImportStats,
    mut each: impl FnMut(&mut C, u64, &str),
) {
    let mut lines = Lines::new(source);
    loop {
        let skipped_before = stats(cx).skipped;
        let number = match lines.next_line() {
            None => return,
            Some((number, Line::Text(bytes))) => {
                let text = String::from_utf8_lossy(bytes);
                if matches!(text, Cow::Owned(_)) {
                    stats(cx).info(number, "some bytes are no UTF-8: they were replaced");
                }
                each(cx, number, &text);
                number
            }
            Some((number, Line::TooLong)) => {
                stats(cx).skip(number, "a line of more than 64 KiB was left out");
                number
            }
            Some((number, Line::Failed(error))) => {
                return stats(cx).warn(number, &format!("reading stopped before the end: {error}"));
            }
        };
        if lines.open_end() && stats(cx).skipped > skipped_before {
            stats(cx).warn(number, "the last line is cut off");
        }
    }
}

/// Splits a source into lines; never holds more than one of bounded length.
struct Lines<R> {
    source: R,
    buf: Vec<u8>,
    number: u64,
    ended: bool,
    open_end: bool,
}

impl<R: BufRead> Lines<R> {
    fn new(source: R) -> Lines<R> {
        Lines { source, buf: Vec::new(), number: 0, ended: false, open_end: false }
    }
    /// Whether the line given last had no line end: the input may be cut off in it.
    fn open_end(&self) -> bool {
        self.open_end
    }
    /// The next line and its number, counted from 1.
    fn next_line(&mut self) -> Option<(u64, Line<'_>)> {
        if self.ended {
            return None;
        }
        self.buf.clear();
        let (mut length, mut ends) = (0, false);
        while !ends {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    self.number += 1;
                    return Some((self.number, Line::Failed(error.to_string())));
                }
            };
            if chunk.is_empty() {
                self.ended = true;
                self.open_end = length > 0;
                break;
            }
            let newline = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..newline.unwrap_or(chunk.len())];
            let room = LINE_MAX.saturating_sub(self.buf.len()).min(part.len());
            self.buf.extend_from_slice(&part[..room]);
            length += part.len();
            ends = newline.is_some();
            let used = part.len() + usize::from(ends);
            self.source.consume(used);
        }
        if self.ended && length == 0 {
            return None;
        }
        self.number += 1;
        if length > LINE_MAX {
            return Some((self.number, Line::TooLong));
        }
        Some((self.number, Line::Text(self.buf.strip_suffix(b"\r").unwrap_or(&self.buf))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8], chunk: usize) -> Vec<String> {
        let mut lines = Lines::new(std::io::BufReader::with_capacity(chunk, text));
        let mut found = Vec::new();
        while let Some((_, line)) = lines.next_line() {
            found.push(match line {
                Line::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                other => format!("{other:?}"),
            });
        }
        found
    }

    #[test]
    fn line_ends_of_both_kinds_at_any_chunk_size() {
        for chunk in 1..9 {
            assert_eq!(all(b"a\r\nbc\n\nd", chunk), ["a", "bc", "", "d"]);
            assert_eq!(all(b"", chunk), [] as [&str; 0]);
            assert_eq!(all(b"\n", chunk), [""]);
        }
    }

    #[test]
    fn a_huge_line_is_passed_over_in_bounded_memory() {
        let mut text = vec![b'x'; 1_000_000];
        text.extend_from_slice(b"\nnext\n");
        assert_eq!(all(&text, 4096), ["TooLong", "next"]);
        let mut lines = Lines::new(&text[..]);
        lines.next_line();
        assert!(lines.buf.capacity() <= 2 * LINE_MAX);
    }
}
