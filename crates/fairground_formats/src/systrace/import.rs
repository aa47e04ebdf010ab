//! From a page to events.

use super::base64;
use super::page::Page;
use crate::ftrace;
use crate::import::{Assembler, Feed, ImportStats};
use crate::registry::ImportError;
use fairground_model::Sink;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Bytes of a part by which it is found out what it is.
const HEAD: usize = 16 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Whether a file is a page.
pub(crate) fn sniff(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    begins(b"<!doctype html") || begins(b"<html")
}

/// Reads all parts of a page that hold trace text.
pub(crate) fn read(source: impl BufRead, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let mut import = Assembler::new(Feed::new(super::NAME, sink));
    let mut page = Page::new(source);
    let mut has_part = false;
    loop {
        match page.next_part() {
            Ok(false) => break,
            Ok(true) => {
                has_part = true;
                if let Err(error) = part(&mut page, &mut import) {
                    import.stats().warn(0, &format!("a part of the page cannot be unpacked: {error}"));
                }
            }
            Err(error) => {
                import.stats().warn(0, &format!("reading stopped before the end: {error}"));
                break;
            }
        }
    }
    if !has_part {
        let why = "is a page for a browser without a trace in it".to_string();
        let hint = "pages of systrace hold one; a result page of ours does not, but `--output FILE.json` does";
        return Err(ImportError::Unusable { name: name.to_string(), why, hint });
    }
    Ok(import.finish())
}

/// Reads one part: text, or base64 of text that may be packed.
fn part(page: impl Read, import: &mut Assembler<'_>) -> io::Result<()> {
    let (head, rest) = peek(page)?;
    if !base64::looks_so(&head) {
        text(head, rest, import);
        return Ok(());
    }
    let (head, rest) = peek(base64::Decoder::new(BufReader::new(Cursor::new(head).chain(rest))))?;
    let packed = BufReader::new(Cursor::new(head.clone()).chain(rest));
    let unpacked: Box<dyn Read + '_> = if ftrace::sniff(&head) {
        Box::new(packed)
    } else if head.starts_with(&GZIP_MAGIC) {
        Box::new(MultiGzDecoder::new(packed))
    } else if is_zlib(&head) {
        Box::new(ZlibDecoder::new(packed))
    } else {
        Box::new(DeflateDecoder::new(packed))
    };
    let (head, rest) = peek(unpacked)?;
    text(head, rest, import);
    Ok(())
}

/// RFC 1950: method 8, and the two bytes as a number are a multiple of 31.
fn is_zlib(head: &[u8]) -> bool {
    matches!(head, [first, second, ..] if first & 0x0f == 8 && (u32::from(*first) << 8 | u32::from(*second)).is_multiple_of(31))
}

/// The beginning of a source, and what follows it.
fn peek<R: Read>(mut source: R) -> io::Result<(Vec<u8>, R)> {
    let mut head = Vec::new();
    (&mut source).take(HEAD as u64).read_to_end(&mut head)?;
    Ok((head, source))
}

fn text(head: Vec<u8>, rest: impl Read, import: &mut Assembler<'_>) {
    if ftrace::sniff(&head) {
        ftrace::read_text(BufReader::new(Cursor::new(head).chain(rest)), import);
    } else {
        import.stats().unused(0, "a part of the page that holds no trace text is not used");
    }
}
