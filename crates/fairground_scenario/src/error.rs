//! What can go wrong, by whose fault it is. Each kind has its exit code.

use crate::guard::Broken;
pub use fairground_model::{Mistake, Mistakes};
use std::io::ErrorKind;
use std::path::Path;

/// Everything that is wrong with one text, together with the text, so that the lines can be shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileMistakes {
    /// What the text is called: a path as the user gave it, or the name of a flag.
    pub name: String,
    /// The text itself; empty where the mistake is not in a text.
    pub text: String,
    /// The mistakes in order of place.
    pub mistakes: Mistakes,
}

/// Mistakes of a text that are shown. Each costs a look through the text, and nobody mends more at a time.
pub const SHOWN_MAX: usize = 20;

impl FileMistakes {
    /// `name:line` of a byte of the text.
    pub fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.name, Mistakes::line_of(&self.text, offset))
    }
    /// The mistakes that are shown: those met first.
    pub fn shown(&self) -> &[Mistake] {
        &self.mistakes.0[..self.mistakes.0.len().min(SHOWN_MAX)]
    }
    /// How many there are, and how many of them are shown.
    pub fn count(&self) -> String {
        match self.mistakes.0.len() {
            1 => "1 mistake".to_string(),
            all if all > SHOWN_MAX => format!("{all} mistakes, of which these are the first {SHOWN_MAX}"),
            all => format!("{all} mistakes"),
        }
    }
    /// `name:line: message` of each mistake that is shown, one per line, and how many there are if these are not all.
    pub fn lines(&self) -> Vec<String> {
        let line = |mistake: &Mistake| {
            let place = mistake.span.as_ref().map_or_else(|| self.name.clone(), |span| self.place(span.start));
            format!("{place}: {} (hint: {})", mistake.message, mistake.hint)
        };
        let more = (self.mistakes.0.len() > SHOWN_MAX).then(|| format!("{}: {}", self.name, self.count()));
        self.shown().iter().map(line).chain(more).collect()
    }
}

/// Why something could not be done.
#[derive(Debug)]
pub enum Error {
    /// The input is wrong: all mistakes of all texts concerned.
    Input(Vec<FileMistakes>),
    /// The disk or another part of the world failed; `what` says what was tried.
    World {
        /// What was tried, naming the path.
        what: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// An invariant of ours broke.
    Broken(Box<Broken>),
}

impl Error {
    /// The mistakes of one text.
    pub fn input(name: impl Into<String>, text: impl Into<String>, mistakes: Mistakes) -> Error {
        Error::Input(vec![FileMistakes { name: name.into(), text: text.into(), mistakes }])
    }
    /// One mistake that has no place in a text, such as a flag's value.
    pub fn one(name: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::input(name, "", Mistakes::one(message, hint))
    }
    /// The system refused to `verb` (`read`, `write`) this path.
    pub fn world(verb: &str, path: &Path, cause: std::io::Error) -> Error {
        Error::World { what: format!("cannot {verb} {}", path.display()), cause }
    }
    /// The exit code of the command: 2 the input, 3 the world, 101 our own bug.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input(_) => 2,
            Error::World { .. } => 3,
            Error::Broken(_) => 101,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Input(files) => {
                let lines: Vec<String> = files.iter().flat_map(FileMistakes::lines).collect();
                f.write_str(&lines.join("\n"))
            }
            Error::World { what, cause } => match hint(cause) {
                Some(hint) => write!(f, "{what}: {cause} (hint: {hint})"),
                None => write!(f, "{what}: {cause}"),
            },
            Error::Broken(broken) => write!(f, "{broken}"),
        }
    }
}
impl std::error::Error for Error {}

/// What to do about a failure of the world that mostly is the user's own slip.
fn hint(cause: &std::io::Error) -> Option<&'static str> {
    match cause.kind() {
        ErrorKind::NotFound => Some("Check the name; a relative path begins at the folder in which the command runs."),
        ErrorKind::PermissionDenied => Some("Check who may read or write it."),
        ErrorKind::IsADirectory => Some("Name a file in it."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_has_a_hint() {
        let error = Error::world("read", Path::new("nothing.csv"), std::io::Error::from(ErrorKind::NotFound));
        assert!(
            error.to_string().starts_with("cannot read nothing.csv: ") && error.to_string().contains("(hint: Check the name;")
        );
        assert_eq!(error.exit_code(), 3);
        let full = Error::world("write", Path::new("x"), std::io::Error::from(ErrorKind::StorageFull));
        assert!(!full.to_string().contains("hint"));
    }

    #[test]
    fn lines_name_file_line_and_hint() {
        let mut mistakes = Mistakes::default();
        mistakes.at(4..5, "`b` is wrong", "Write `c`.");
        mistakes.whole("no end", "Add one.");
        let error = Error::input("x.toml", "aaa\nb", mistakes);
        assert_eq!(error.to_string(), "x.toml:2: `b` is wrong (hint: Write `c`.)\nx.toml: no end (hint: Add one.)");
        assert_eq!(error.exit_code(), 2);
    }
}
