//! Rust text with comments, strings and tests taken out, so that a plain search finds code only.
//!
//! The result has the length of the text: what is taken out becomes blanks, line ends stay. So an
//! offset in the one is an offset in the other.

/// `text` with the content of comments, strings and character literals blanked.
pub(crate) fn without_text(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => end_of_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => end_of_block_comment(bytes, at),
            b'"' => end_of_string(bytes, at),
            b'r' if !follows_word(bytes, at) => end_of_raw_string(bytes, at),
            b'\'' => end_of_char(bytes, at),
            _ => at,
        };
        blank(&mut code, at, end);
        at = end.max(at + 1);
    }
    String::from_utf8(code).unwrap_or_default()
}

/// Code (the result of [`without_text`]) with everything blanked that is only compiled for tests.
pub(crate) fn without_tests(code: &str) -> String {
    let mut rest = code.as_bytes().to_vec();
    for marker in ["#[cfg(test)]", "#[cfg(all(test", "#[test]"] {
        for (start, _) in code.match_indices(marker) {
            let end = end_of_item(code.as_bytes(), start);
            blank(&mut rest, start, end);
        }
    }
    String::from_utf8(rest).unwrap_or_default()
}

/// Names of the modules in files of their own that are only compiled for tests.
pub(crate) fn test_modules(code: &str) -> Vec<&str> {
    let after = code.match_indices("#[cfg(test)]").map(|(start, marker)| code[start + marker.len()..].trim_start());
    after
        .filter_map(|item| item.strip_prefix("mod ")?.split_once(';'))
        .map(|(name, _)| name)
        .filter(|name| is_word(name))
        .collect()
}

/// Whether the word stands alone at `at`: it is not part of a longer one.
pub(crate) fn stands_alone(code: &str, at: usize, word: &str) -> bool {
    let bytes = code.as_bytes();
    !follows_word(bytes, at) && !bytes.get(at + word.len()).is_some_and(|&next| is_word_byte(next))
}

/// The offsets at which the word stands alone.
pub(crate) fn find_word<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|found| found.0).filter(move |&at| stands_alone(code, at, word))
}

/// The offsets of floating-point literals.
pub(crate) fn find_floats(code: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() || follows_word(bytes, at) {
            at += 1;
            continue;
        }
        let start = at;
        while bytes.get(at).is_some_and(|&byte| is_word_byte(byte)) {
            at += 1;
        }
        if start > 0 && bytes[start - 1] == b'.' && !(start > 1 && bytes[start - 2] == b'.') {
            continue; // a field of a tuple, not a number
        }
        let word = &code[start..at];
        let has_point = bytes.get(at) == Some(&b'.')
            && bytes.get(at + 1).is_none_or(|&next| next != b'.' && next != b'_' && !next.is_ascii_alphabetic());
        let is_decimal = !word.starts_with("0x") && !word.starts_with("0b") && !word.starts_with("0o");
        let has_exponent = word.contains(['e', 'E']) && !word.contains("size");
        if is_decimal && (has_point || has_exponent || word.ends_with("f32") || word.ends_with("f64")) {
            found.push(start);
        }
    }
    found
}

/// The line of an offset, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1
}

fn blank(code: &mut [u8], start: usize, end: usize) {
    code[start..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_word_byte)
}
fn follows_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && is_word_byte(bytes[at - 1])
}
fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length)
}
fn end_of_block_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}
/// The end of `r"…"` or `r#"…"#`; `start` itself if this `r` begins no raw string.
fn end_of_raw_string(bytes: &[u8], start: usize) -> usize {
    let hashes = bytes[start + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let quote = start + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return start;
    }
    let mut close = vec![b'#'; hashes];
    close.insert(0, b'"');
    let found = bytes[quote + 1..].windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |length| quote + 1 + length + close.len())
}
/// The end of a character literal; `start` itself if the quote begins a lifetime.
fn end_of_char(bytes: &[u8], start: usize) -> usize {
    let close = match bytes.get(start + 1) {
        Some(b'\\') => bytes[start + 3..].iter().position(|&byte| byte == b'\'').map(|length| start + 3 + length),
        Some(_) => (start + 2..=start + 5).find(|&at| bytes.get(at) == Some(&b'\'')),
        None => None,
    };
    match close {
        Some(close)
            if bytes[start + 1] == b'\\'
                || std::str::from_utf8(&bytes[start + 1..close]).is_ok_and(|c| c.chars().count() == 1) =>
        {
            close + 1
        }
        _ => start,
    }
}
/// The end of the item to which the attribute at `start` belongs: its `;`, or the brace that closes it.
fn end_of_item(code: &[u8], start: usize) -> usize {
    let (mut braces, mut others) = (0, 0);
    for (offset, &byte) in code[start..].iter().enumerate() {
        match byte {
            b'(' | b'[' => others += 1,
            b')' | b']' => others -= 1,
            b'{' => braces += 1,
            b'}' => braces -= 1,
            b';' if braces == 0 && others == 0 => return start + offset + 1,
            _ => continue,
        }
        if byte == b'}' && braces <= 0 {
            return start + offset + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_become_blanks() {
        let text =
            "let a = \"f64 // x\"; // f64\n/* f64 /* f64 */ f64 */ let b: &'a str = r#\"f64\"#; let c = ('\"', '\\'', 'é'); f64";
        let code = without_text(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(find_word(&code, "f64").collect::<Vec<_>>(), [text.len() - 3]);
        assert!(code.contains("let b: &'a str =") && code.contains("let a = "));
    }

    #[test]
    fn tests_become_blanks() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn f64() { {} } }\nfn b() {}\n#[cfg(test)]\nmod slow;\nfn c() {}";
        let rest = without_tests(code);
        assert!(!rest.contains("f64") && !rest.contains("slow"));
        assert!(rest.contains("fn a") && rest.contains("fn b") && rest.contains("fn c"));
        assert_eq!(test_modules(code), ["slow"]);
    }

    #[test]
    fn floats_are_told_from_ranges_fields_and_methods() {
        let count = |code| find_floats(code).len();
        assert_eq!(count("1.5 + 2. - 1e9 * 3f64 / 1_0.0"), 5);
        assert_eq!(count("0..3; 0..=3; x.0.1; 1.max(2); 0x1e9; a1.b; 0b1; 7u32; 3usize; row.0 .1"), 0);
    }
}
