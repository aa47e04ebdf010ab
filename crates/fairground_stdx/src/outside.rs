//! Text that comes from outside, as it may be shown. A name in a recording may hold letters that steer a terminal, begin a new line, or
//! turn the direction of what follows. Each of them is shown as an escape, such as `\u{1b}`.

use std::borrow::Cow;

/// Whether a letter does something to what stands around it: a control character (C0, DEL, C1), an end of line or paragraph, a mark of
/// writing direction.
pub fn is_steering(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns
}

/// A text on one line, without any such letter.
pub fn shown(text: &str) -> Cow<'_, str> {
    shown_but(text, |_| false)
}

/// Lines of text, without any such letter but the ends of lines.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    shown_but(text, |letter| letter == '\n')
}

/// Text as a file may hold it: lines with tabs.
pub fn shown_text(text: &str) -> Cow<'_, str> {
    shown_but(text, |letter| matches!(letter, '\n' | '\t'))
}

/// A text as a cell of CSV. A spreadsheet takes what begins with one of `= + - @` for a formula and may run it: such a cell begins
/// with an apostrophe, as spreadsheets mark texts. So does one that begins with an apostrophe already.
pub fn harmless_cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\'', '\t', '\r']) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// The text of such a cell.
pub fn text_of_cell(cell: &str) -> &str {
    cell.strip_prefix('\'').unwrap_or(cell)
}

fn shown_but(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_harmful = |letter: char| is_steering(letter) && !is_kept(letter);
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::new();
    for letter in text.chars() {
        if is_harmful(letter) { safe.extend(letter.escape_default()) } else { safe.push(letter) }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_an_escape_and_all_else_stays() {
        assert_eq!(shown("a\u{1b}[2J\n\u{9b}\u{202e}日é"), "a\\u{1b}[2J\\n\\u{9b}\\u{202e}日é");
        assert_eq!(shown_lines("a\n\tb"), "a\n\\tb");
        assert!(matches!(shown("kworker/0:1"), Cow::Borrowed(_)));
        for text in ["=cmd()", "-bash", "+1", "@a", "'x", "a=b", ""] {
            assert!(!harmless_cell(text).starts_with(['=', '+', '-', '@']));
            assert_eq!(text_of_cell(&harmless_cell(text)), text);
        }
    }
}
