//! Private words, each with the term of the field that says the same.

use super::Finding;
use super::prose::{self, Word};
use crate::tree::File;

/// A private word or phrase, in lower case, and what to write instead.
const PRIVATE: &[(&str, &str)] = &[
    ("money", "runtime_remaining, or what is left of the quota"),
    ("broke", "throttled"),
    ("hostage", "a lock holder that is throttled"),
    ("hostages", "lock holders that are throttled"),
    ("rung", "a quota that is tried"),
    ("rungs", "quotas that are tried"),
    ("dear", "expensive"),
    ("dearer", "more expensive"),
    ("the board", "the name of the machine"),
    ("the mail", "the cover letter, or the patch"),
    ("the press", "the benchmark by its name, with what it does"),
];

/// The private words in the prose of a page.
pub(super) fn private(page: &File) -> Vec<Finding> {
    let paragraphs = prose::paragraphs(&page.text);
    let finding = |(line, word, term): (usize, &str, &str)| {
        let message = format!("`{word}` is a private word: write {term}");
        Finding { path: page.path.clone(), line, message }
    };
    paragraphs.iter().flat_map(|words| found(words)).map(finding).collect()
}

fn found(words: &[Word]) -> Vec<(usize, &'static str, &'static str)> {
    let plain = |word: &Word| word.text.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let words: Vec<(usize, String)> = words.iter().map(|word| (word.line, plain(word))).collect();
    let begins = |at: usize, phrase: &str| {
        phrase.split(' ').enumerate().all(|(k, part)| words.get(at + k).is_some_and(|word| word.1 == part))
    };
    let all = PRIVATE.iter().flat_map(|&(phrase, term)| (0..words.len()).map(move |at| (at, phrase, term)));
    all.filter(|&(at, phrase, _)| begins(at, phrase)).map(|(at, phrase, term)| (words[at].0, phrase, term)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sentences;
    use super::super::tests::messages;

    #[test]
    fn private_words_are_found_in_any_case_and_over_a_line_end() {
        let page = "The group is out of *Money*, says the\nmail. A keyboard and `money` may stay, mailed or not.\n";
        let found = messages(sentences::check, &[("docs/x.md", page)]);
        let expected = [
            "docs/x.md:1: `money` is a private word: write runtime_remaining, or what is left of the quota",
            "docs/x.md:1: `the mail` is a private word: write the cover letter, or the patch",
        ];
        assert_eq!(found, expected);
    }
}
