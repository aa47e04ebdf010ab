//! Sentences of our pages are short enough to be read once.

use super::prose::{self, Word};
use super::{Finding, Project, terms};
use crate::tree::File;

/// The longest sentence, in words.
const LONGEST: usize = 35;
/// What ends with a full stop and ends no sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "cf.", "vs.", "etc."];

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    prose::pages(project).flat_map(|page| too_long(page).into_iter().chain(terms::private(page))).collect()
}

fn too_long(page: &File) -> Vec<Finding> {
    let paragraphs = prose::paragraphs(&page.text);
    let sentences = paragraphs.iter().flat_map(|words| words.split_inclusive(|word| ends_sentence(&word.text)));
    let finding = |words: &[Word]| {
        let message = format!("a sentence of {} words: {LONGEST} are the most", words.len());
        Finding { path: page.path.clone(), line: words[0].line, message }
    };
    sentences.filter(|words| words.len() > LONGEST).map(finding).collect()
}

fn ends_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches(|letter| ")\"'*_”’]".contains(letter));
    bare.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&bare.trim_start_matches('('))
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    fn of_words(count: usize) -> String {
        vec!["word"; count].join(" ") + "."
    }

    #[test]
    fn a_sentence_of_36_words_is_found_where_it_begins() {
        let page = format!("# Title\n\n{}\n{}\n{} Short.\n", of_words(35), of_words(36), of_words(30));
        assert_eq!(messages(check, &[("docs/x.md", &page)]), ["docs/x.md:4: a sentence of 36 words: 35 are the most"]);
    }

    #[test]
    fn list_items_and_closed_brackets_end_sentences_and_abbreviations_do_not() {
        let items = format!("- {}\n- {}\n", "word ".repeat(20), "word ".repeat(20));
        let bracket = format!("({}) {}", of_words(30), of_words(30));
        let short = format!("{} e.g. {}", "word ".repeat(20), of_words(20));
        let files =
            [("docs/a.md", items.as_str()), ("CONTRIBUTING.md", bracket.as_str()), ("crates/c/src/d/README.md", short.as_str())];
        assert_eq!(messages(check, &files), ["crates/c/src/d/README.md:1: a sentence of 41 words: 35 are the most"]);
    }

    #[test]
    fn other_files_are_not_checked() {
        assert_eq!(messages(check, &[("CHANGELOG.md", &of_words(50)), ("docs/x.txt", &of_words(50))]), [""; 0]);
    }
}
