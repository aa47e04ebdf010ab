//! Finds the parts of a page that may hold a trace.

use std::io::{self, BufRead, Read};

/// A tag that is longer is none that we look for.
const TAG_MAX: usize = 4096;

/// What a part of the page is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// The text of a `<script>`, up to its end.
    Script,
    /// A string of JavaScript, up to this quote.
    Quoted(u8),
    /// It is over.
    Over,
}

/// A page, read from its beginning to its end.
pub(super) struct Page<R> {
    source: R,
    part: Part,
    /// Bytes that were looked at and are still to be handed on, the next one last.
    back: Vec<u8>,
    /// Bytes of the part that are still to be given, the next one last.
    made: Vec<u8>,
}

impl<R: BufRead> Page<R> {
    pub(super) fn new(source: R) -> Page<R> {
        Page { source, part: Part::Over, back: Vec::new(), made: Vec::new() }
    }
    fn byte(&mut self) -> io::Result<Option<u8>> {
        if let Some(byte) = self.back.pop() {
            return Ok(Some(byte));
        }
        loop {
            match self.source.fill_buf() {
                Ok(chunk) => {
                    let byte = chunk.first().copied();
                    self.source.consume(usize::from(byte.is_some()));
                    return Ok(byte);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    /// Whether these bytes follow, in either case. If so they are passed over; else they are still to come.
    fn follows(&mut self, wanted: &[u8]) -> io::Result<bool> {
        let mut seen = Vec::new();
        for &byte in wanted {
            match self.byte()? {
                Some(next) if next.eq_ignore_ascii_case(&byte) => seen.push(next),
                other => {
                    self.back.extend(other);
                    self.back.extend(seen.into_iter().rev());
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
    /// Goes to the next part that may hold a trace. False = there is none.
    pub(super) fn next_part(&mut self) -> io::Result<bool> {
        io::copy(self, &mut io::sink())?;
        while let Some(byte) = self.byte()? {
            if byte == b'<' && self.follows(b"script")? {
                let mut tag = Vec::new();
                while let Some(byte) = self.byte()?.filter(|&byte| byte != b'>') {
                    if tag.len() < TAG_MAX {
                        tag.push(byte);
                    }
                }
                let tag = String::from_utf8_lossy(&tag).into_owned();
                if tag.contains("trace-data") || tag.contains("viewer-data") {
                    self.part = Part::Script;
                    return Ok(true);
                }
            } else if byte == b'l' && self.follows(b"inuxPerfData")? && self.begins_string()? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// Whether `= "` follows.
    fn begins_string(&mut self) -> io::Result<bool> {
        let mut is_assigned = false;
        while let Some(byte) = self.byte()? {
            match byte {
                b'=' if !is_assigned => is_assigned = true,
                b'"' | b'\'' if is_assigned => {
                    self.part = Part::Quoted(byte);
                    return Ok(true);
                }
                _ if byte.is_ascii_whitespace() => {}
                _ => {
                    self.back.push(byte);
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }
    /// The next byte of the part, escapes of JavaScript resolved.
    fn text(&mut self) -> io::Result<Option<u8>> {
        loop {
            if let Some(byte) = self.made.pop() {
                return Ok(Some(byte));
            }
            let byte = match self.part {
                Part::Over => return Ok(None),
                Part::Script | Part::Quoted(_) => self.byte()?,
            };
            match (self.part, byte) {
                (_, None) => self.part = Part::Over,
                (Part::Script, Some(b'<')) if self.follows(b"/script")? => self.part = Part::Over,
                (Part::Quoted(quote), Some(byte)) if byte == quote => self.part = Part::Over,
                (Part::Quoted(_), Some(b'\\')) => self.escape()?,
                (_, byte) => return Ok(byte),
            }
        }
    }
    /// An escape in a string of JavaScript.
    fn escape(&mut self) -> io::Result<()> {
        let made = match self.byte()? {
            Some(b'n') => Some('\n'),
            Some(b't') => Some('\t'),
            Some(b'r') => Some('\r'),
            Some(b'x') => self.hex(2)?,
            Some(b'u') => self.hex(4)?,
            // The string goes on in the next line.
            Some(b'\n') | None => None,
            Some(b'\r') => {
                self.follows(b"\n")?;
                None
            }
            // Any other stands for itself, as the first byte of a longer character does.
            Some(other) => {
                self.made.push(other);
                None
            }
        };
        let mut bytes = [0; 4];
        self.made.extend(made.map(|made| made.encode_utf8(&mut bytes).bytes().rev().collect::<Vec<_>>()).into_iter().flatten());
        Ok(())
    }
    /// A character by its number. None = it is none.
    fn hex(&mut self, digits: usize) -> io::Result<Option<char>> {
        let mut value = 0;
        for _ in 0..digits {
            match self.byte()? {
                Some(byte) if byte.is_ascii_hexdigit() => value = value * 16 + char::from(byte).to_digit(16).unwrap_or(0),
                other => {
                    self.back.extend(other);
                    return Ok(None);
                }
            }
        }
        Ok(char::from_u32(value))
    }
}

impl<R: BufRead> Read for Page<R> {
    /// Reads the part.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        for (made, place) in out.iter_mut().enumerate() {
            match self.text()? {
                Some(byte) => *place = byte,
                None => return Ok(made),
            }
        }
        Ok(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(page: &str) -> Vec<String> {
        let mut page = Page::new(page.as_bytes());
        let mut parts = Vec::new();
        while page.next_part().unwrap() {
            let mut part = String::new();
            page.read_to_string(&mut part).unwrap();
            parts.push(part);
        }
        parts
    }

    #[test]
    fn scripts_of_traces_and_strings_are_parts() {
        let page = "<html><script>x=1</script><SCRIPT class=\"trace-data\" type=\"application/text\">\na <b\n</SCRIPT>\
            <script>if (!linuxPerfData) y();\nvar linuxPerfData = \"\\\na\\n\\\n\\u00e9\\\"\\x41\\\\\";</script><script id='viewer-data'>Zg";
        assert_eq!(parts(page), ["\na <b\n", "a\n\u{e9}\"A\\", "Zg"]);
        for page in ["", "<", "<script", "linuxPerfData", "linuxPerfData =", "<script trace-data", "linuxPerfData = \"\\u12"] {
            assert!(parts(page).concat().is_empty(), "{page}");
        }
    }
}
