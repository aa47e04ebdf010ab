//! Base64 (RFC 4648), of either alphabet, with white space between the digits.

use std::io::{self, BufRead, Read};

/// The value of a digit.
fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Whether a text is of digits and white space alone.
pub(super) fn looks_so(text: &[u8]) -> bool {
    let mut digits = text.iter().filter(|byte| !byte.is_ascii_whitespace()).peekable();
    digits.peek().is_some() && digits.all(|&byte| digit(byte).is_some() || byte == b'=')
}

/// Decodes as it is read.
pub(super) struct Decoder<R> {
    source: R,
    /// Bits that do not fill a byte yet, and how many.
    bits: u32,
    nr_bits: u32,
}

impl<R: BufRead> Decoder<R> {
    pub(super) fn new(source: R) -> Decoder<R> {
        Decoder { source, bits: 0, nr_bits: 0 }
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut made = 0;
        while made < out.len() {
            let chunk = self.source.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let mut used = 0;
            for &byte in chunk {
                if made == out.len() {
                    break;
                }
                used += 1;
                match digit(byte) {
                    Some(value) => {
                        self.bits = self.bits << 6 | u32::from(value);
                        self.nr_bits += 6;
                    }
                    None if byte == b'=' || byte.is_ascii_whitespace() => continue,
                    None => return Err(io::Error::new(io::ErrorKind::InvalidData, "a character that is no digit of base64")),
                }
                if self.nr_bits >= 8 {
                    self.nr_bits -= 8;
                    out[made] = (self.bits >> self.nr_bits & 0xff) as u8;
                    self.bits &= (1 << self.nr_bits) - 1;
                    made += 1;
                }
            }
            self.source.consume(used);
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        for (text, plain) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9v\n YmFy", "foobar"), ("-_-_", "\u{0}")]
        {
            let mut read = Vec::new();
            Decoder::new(text.as_bytes()).read_to_end(&mut read).unwrap();
            if text == "-_-_" {
                assert_eq!(read, [0xfb, 0xff, 0xbf]);
            } else {
                assert_eq!(read, plain.as_bytes(), "{text}");
            }
        }
        assert!(Decoder::new(&b"Zm9*"[..]).read_to_end(&mut Vec::new()).is_err());
        assert!(looks_so(b"Zm9v\n") && !looks_so(b"# tracer") && !looks_so(b" \n"));
    }
}
