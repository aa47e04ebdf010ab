//! Words of a description.

use super::Wrong;
use std::iter::Peekable;
use std::str::CharIndices;

/// One word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'t> {
    Word(&'t str),
    Text(String),
    Number(i128),
    /// A sign; `:=` and `...` are one each.
    Sign(&'static str),
    End,
}

/// Signs, longer ones first.
const SIGNS: [&str; 18] = [":=", "...", "{", "}", "[", "]", "(", ")", "<", ">", ";", ":", ",", ".", "=", "+", "-", "*"];

/// Splits a text into words, one after the other.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    pub(super) line: u32,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0, line: 1 }
    }
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
    fn pass(&mut self, length: usize) -> &'t str {
        let passed = &self.text[self.at..self.at + length];
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.at += length;
        passed
    }
    fn wrong<T>(&self, what: &str) -> Result<T, Wrong> {
        Err(Wrong { line: self.line, what: what.to_string() })
    }
    /// The next word; [`Token::End`] for ever behind the last.
    pub(super) fn next(&mut self) -> Result<Token<'t>, Wrong> {
        self.pass_blank()?;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        let begins_word = |c: char| c.is_ascii_alphabetic() || c == '_';
        if begins_word(first) {
            let length = rest.find(|c: char| !begins_word(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
            return Ok(Token::Word(self.pass(length)));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '"' {
            return self.quoted();
        }
        match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) => {
                self.pass(sign.len());
                Ok(Token::Sign(sign))
            }
            None => self.wrong("holds a character that means nothing there"),
        }
    }
    fn pass_blank(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\0').len();
            self.pass(blank);
            let rest = self.rest();
            let comment = if rest.starts_with("/*") {
                rest.find("*/").map(|length| length + 2)
            } else if rest.starts_with("//") {
                Some(rest.find('\n').unwrap_or(rest.len()))
            } else {
                return Ok(());
            };
            match comment {
                Some(length) => self.pass(length),
                None => return self.wrong("holds a comment without an end"),
            };
        }
    }
    /// Decimal, octal behind `0` or hexadecimal behind `0x`, with C's endings for types.
    fn number(&mut self) -> Result<Token<'t>, Wrong> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let digits = rest[..length].trim_end_matches(['u', 'U', 'l', 'L']);
        let (digits, base) = match (digits.strip_prefix("0x").or(digits.strip_prefix("0X")), digits.strip_prefix('0')) {
            (Some(digits), _) => (digits, 16),
            (None, Some(digits)) if !digits.is_empty() => (digits, 8),
            _ => (digits, 10),
        };
        match u64::from_str_radix(digits, base) {
            Ok(number) => {
                self.pass(length);
                Ok(Token::Number(number.into()))
            }
            Err(_) => self.wrong("holds a number that is none"),
        }
    }
    /// A text in quotes, with C's escapes.
    fn quoted(&mut self) -> Result<Token<'t>, Wrong> {
        let rest = self.rest();
        let mut text = String::new();
        let mut chars = rest.char_indices().peekable();
        chars.next();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.pass(at + 1);
                    return Ok(Token::Text(text));
                }
                '\\' => text.push(escape(&mut chars)),
                c => text.push(c),
            }
        }
        self.wrong("holds a text without an end")
    }
}

/// The character behind a backslash.
fn escape(chars: &mut Peekable<CharIndices<'_>>) -> char {
    match chars.next() {
        Some((_, 'n')) => '\n',
        Some((_, 't')) => '\t',
        Some((_, digit @ '0'..='7')) => {
            let mut value = digit as u32 - '0' as u32;
            while let Some(next) = chars.next_if(|(_, c)| value < 0o40 && c.is_digit(8)) {
                value = value * 8 + (next.1 as u32 - '0' as u32);
            }
            char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        Some((_, 'x')) => {
            let mut value = 0;
            while let Some(next) = chars.next_if(|(_, c)| value < 0x10 && c.is_ascii_hexdigit()) {
                value = value * 16 + next.1.to_digit(16).unwrap_or(0);
            }
            char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        Some((_, other)) => other,
        None => '\\',
    }
}
