//! What we say about what falls short, written by hand in `notes.toml` and kept there, so that the page can be
//! made again without losing it.

use fairground_scenario::Error;
use std::ops::Range;
use toml_edit::{Document, Item, Table};

/// The rule that is suspected where figures are missed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspect {
    /// The name that tables use.
    pub id: String,
    /// Sets it is about; `*` stands for any letters.
    pub sets: Vec<String>,
    /// Figures it is about, likewise.
    pub figures: Vec<String>,
    /// The rule.
    pub rule: String,
    /// Why we think so.
    pub evidence: String,
}

impl Suspect {
    fn covers(&self, set: &str, figure: &str) -> bool {
        self.sets.iter().any(|pattern| matches(pattern, set)) && self.figures.iter().any(|pattern| matches(pattern, figure))
    }
}

/// Something published of which we have no figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoFigure {
    /// The experiment.
    pub experiment: String,
    /// Which of its figures.
    pub figures: String,
    /// What they need.
    pub needs: String,
}

/// The hand-written texts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// In order: the first that covers a miss is the one.
    pub suspects: Vec<Suspect>,
    /// Published figures that we have no counterpart of.
    pub no_figures: Vec<NoFigure>,
}

const NAME: &str = "crates/fairground_scorecard/src/notes.toml";

impl Notes {
    /// The notes of this build.
    pub fn of_this_build() -> Result<Notes, Error> {
        Notes::parse(include_str!("notes.toml"))
    }
    /// Reads notes; all that is wrong is told at once.
    pub fn parse(text: &str) -> Result<Notes, Error> {
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let mut mistakes = fairground_model::Mistakes::default();
                mistakes.at(error.span().unwrap_or(0..0), error.message().to_string(), "It is a TOML file.");
                return Err(Error::input(NAME, text, mistakes));
            }
        };
        let mut reader = Reader::default();
        let suspects = tables(document.as_table(), "suspect").map(|table| reader.suspect(table)).collect();
        let no_figures = tables(document.as_table(), "no_figure").map(|table| reader.no_figure(table)).collect();
        match reader.mistakes.or(Notes { suspects, no_figures }) {
            Ok(notes) => Ok(notes),
            Err(mistakes) => Err(Error::input(NAME, text, mistakes)),
        }
    }
    /// The first suspect that covers a figure of a set.
    pub fn suspect(&self, set: &str, figure: &str) -> Option<&Suspect> {
        self.suspects.iter().find(|suspect| suspect.covers(set, figure))
    }
}

fn tables<'t>(root: &'t Table, name: &str) -> impl Iterator<Item = &'t Table> + use<'t> {
    root.get(name).and_then(Item::as_array_of_tables).into_iter().flat_map(|tables| tables.iter())
}

#[derive(Default)]
struct Reader {
    mistakes: fairground_model::Mistakes,
}

impl Reader {
    fn suspect(&mut self, table: &Table) -> Suspect {
        Suspect {
            id: self.text(table, "id"),
            sets: self.texts(table, "sets"),
            figures: self.texts(table, "figures"),
            rule: self.text(table, "rule"),
            evidence: self.text(table, "evidence"),
        }
    }
    fn no_figure(&mut self, table: &Table) -> NoFigure {
        NoFigure {
            experiment: self.text(table, "experiment"),
            figures: self.text(table, "figures"),
            needs: self.text(table, "needs"),
        }
    }
    fn text(&mut self, table: &Table, key: &str) -> String {
        let text = table.get(key).and_then(Item::as_str).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        text.filter(|text| !text.is_empty()).unwrap_or_else(|| {
            self.mistakes.at(span(table), format!("`{key}` is no text"), "Each entry has each of its texts.");
            String::new()
        })
    }
    fn texts(&mut self, table: &Table, key: &str) -> Vec<String> {
        let list = table.get(key).and_then(Item::as_array).map(|list| list.iter().filter_map(|item| item.as_str()));
        let list: Vec<String> = list.into_iter().flatten().map(str::to_string).collect();
        if list.is_empty() {
            self.mistakes.at(span(table), format!("`{key}` is no list of patterns"), "As in [\"k6.1-*\", \"real*\"].");
        }
        list
    }
}

fn span(table: &Table) -> Range<usize> {
    table.span().unwrap_or(0..0)
}

/// Whether `text` is `pattern`, whose `*` stand for any letters, also none.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(head) else { return false };
    (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| matches(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("k*-hogs-8cpu/*", "k5.10-hogs-8cpu/a_9on8") && matches("*", "") && matches("a", "a"));
        assert!(!matches("k*-hogs-8cpu/*", "k5.10-hogs-1cpu/a_9on8") && !matches("a*", "b") && !matches("a*b", "ac"));
    }

    #[test]
    fn the_first_suspect_that_covers_a_miss_is_the_one() {
        let entry = |id: &str, sets: &str| {
            format!(
                "[[suspect]]\nid = \"{id}\"\nsets = [\"{sets}\"]\nfigures = [\"all.*\"]\nrule = \"r\n r\"\nevidence = \"e\"\n"
            )
        };
        let notes =
            Notes::parse(&(entry("first", "k6.1-*").replace("r\n r", "r r") + &entry("second", "*").replace("r\n r", "r")))
                .unwrap();
        let id = |set: &str, figure: &str| notes.suspect(set, figure).map(|suspect| suspect.id.as_str());
        assert_eq!(id("k6.1-hogs-8cpu/a", "all.switches"), Some("first"));
        assert_eq!(id("k6.12-hogs-8cpu/a", "all.switches"), Some("second"));
        assert_eq!(id("k6.12-hogs-8cpu/a", "tasks.h00.slices"), None);
    }

    #[test]
    fn everything_wrong_is_told() {
        let error = Notes::parse("[[suspect]]\nid = 3\nsets = []\nfigures = [\"x\"]\nrule = \"\"\n").unwrap_err().to_string();
        for word in ["notes.toml:1: `id`", "`sets`", "`rule`", "`evidence`"] {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert!(Notes::parse("[[suspect").is_err());
    }

    #[test]
    fn the_notes_of_this_build_are_in_order() {
        Notes::of_this_build().unwrap();
    }
}
