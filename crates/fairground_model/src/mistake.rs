//! A mistake in a file that somebody wrote: where it is, what was expected, what to do.

use std::ops::Range;

/// What is wrong with a word, and what would be right: a message and a hint.
pub type Wrong = (String, String);

/// One mistake. Readers collect all of them and report them together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Byte range in the text, if the mistake has a place there.
    pub span: Option<Range<usize>>,
    /// What is wrong, naming the thing as the user wrote it.
    pub message: String,
    /// What would be right, or where to look; a full sentence.
    pub hint: String,
}

/// All mistakes of one text, in the order of their places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// Adds a mistake at a place.
    pub fn at(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Mistake { span: Some(span), message: message.into(), hint: hint.into() });
    }
    /// Adds a mistake of the whole text.
    pub fn whole(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Mistake { span: None, message: message.into(), hint: hint.into() });
    }
    /// What was found at a place, or else one mistake more.
    pub fn keep<T>(&mut self, found: Result<T, Wrong>, span: &Range<usize>) -> Option<T> {
        found.map_err(|(message, hint)| self.at(span.clone(), message, hint)).ok()
    }
    /// One mistake of the whole text.
    pub fn one(message: impl Into<String>, hint: impl Into<String>) -> Mistakes {
        let mut mistakes = Mistakes::default();
        mistakes.whole(message, hint);
        mistakes
    }
    /// `value` if there is no mistake, else the mistakes in order of place.
    pub fn or<T>(mut self, value: T) -> Result<T, Mistakes> {
        if self.0.is_empty() {
            return Ok(value);
        }
        self.0.sort_by_key(|mistake| mistake.span.as_ref().map_or(0, |span| span.start));
        Err(self)
    }
    /// Line (from 1) of a byte offset in `text`.
    pub fn line_of(text: &str, offset: usize) -> usize {
        text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
    }
}

/// One line per mistake, with its hint.
impl std::fmt::Display for Mistakes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for mistake in &self.0 {
            writeln!(f, "{} (hint: {})", mistake.message, mistake.hint)?;
        }
        Ok(())
    }
}
