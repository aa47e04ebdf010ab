//! The prose of a page: what a reader reads as sentences. Code blocks, tables, headings, comments
//! and HTML are left out; inline code counts as one word, a link as its text.

use super::Project;
use crate::tree::File;

/// What stands for a piece of inline code.
const CODE: &str = "CODE";

/// A word of a paragraph, and the line on which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) line: usize,
}

/// The pages whose prose is checked.
pub(super) fn pages<'a>(project: &'a Project<'_>) -> impl Iterator<Item = &'a File> {
    project.files.iter().filter(|file| is_checked(&file.path))
}

fn is_checked(path: &str) -> bool {
    let readme = path.starts_with("crates/") && path.ends_with("/README.md");
    let docs = path.starts_with("docs/") && path.ends_with(".md");
    readme || docs || ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "scenarios/README.md"].contains(&path)
}

/// The paragraphs of a page, a list item being one.
pub(super) fn paragraphs(text: &str) -> Vec<Vec<Word>> {
    let mut paragraphs = Vec::new();
    let mut open: Vec<(usize, &str)> = Vec::new();
    let (mut fence, mut comment, mut code, mut after_blank) = (false, false, false, true);
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let is_fence = trimmed.starts_with("```");
        comment |= trimmed.starts_with("<!--");
        let is_code = line.starts_with("    ") && (after_blank || code) && open.is_empty();
        let is_list = is_list_item(trimmed);
        let is_prose =
            !fence && !is_fence && !comment && !is_code && !trimmed.is_empty() && !trimmed.starts_with(['|', '#', '<']);
        if !is_prose || is_list {
            paragraphs.push(std::mem::take(&mut open));
        }
        if is_prose {
            open.push((at + 1, trimmed));
        }
        fence ^= is_fence;
        comment &= !trimmed.contains("-->");
        code = is_code;
        after_blank = trimmed.is_empty();
    }
    paragraphs.push(open);
    paragraphs.iter().map(|lines: &Vec<_>| words(lines)).filter(|words| !words.is_empty()).collect()
}

fn is_list_item(line: &str) -> bool {
    let numbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = numbered.len() < line.len() && numbered.starts_with(". ");
    is_numbered || ["- ", "* ", "+ "].iter().any(|marker| line.starts_with(marker))
}

fn words(lines: &[(usize, &str)]) -> Vec<Word> {
    let mut plain = String::new();
    for (_, line) in lines {
        plain.push_str(line);
        plain.push('\n');
    }
    let plain = without_targets(&without_code(&plain));
    let numbered = plain.lines().zip(lines);
    let mut words: Vec<Word> = Vec::new();
    for (text, (line, _)) in numbered {
        for part in text.split_whitespace() {
            let is_word = part.contains(char::is_alphanumeric);
            match words.last_mut() {
                _ if is_word => words.push(Word { text: part.to_string(), line: *line }),
                // A sign such as the one of per cent belongs to the word before it, with its full stop.
                Some(word) => word.text.push_str(part),
                None => {}
            }
        }
    }
    words
}

/// `text` with each piece of inline code as one word; line ends stay.
fn without_code(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once('`') {
        plain.push_str(before);
        plain.push_str(CODE);
        let (code, behind) = after.split_once('`').unwrap_or((after, ""));
        plain.extend(code.chars().filter(|&letter| letter == '\n'));
        rest = behind;
    }
    plain + rest
}

/// `text` with the target of each link taken out.
fn without_targets(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        plain.push(']');
        rest = after.split_once(')').map_or("", |(_, behind)| behind);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let join = |words: &Vec<Word>| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        paragraphs(text).iter().map(join).collect()
    }

    #[test]
    fn tables_headings_comments_and_code_are_no_prose() {
        let page = "# Head\n\n<!-- a\nb -->\n| a | b |\n\n```sh\nrun this\n```\n\n    indented code\n    more\n\nWords.\n";
        assert_eq!(texts(page), ["Words."]);
    }

    #[test]
    fn a_list_item_is_a_paragraph_with_its_next_lines() {
        assert_eq!(texts("Intro:\n- one\n  more\n1. two\n\n    code\n"), ["Intro:", "one more", "1. two"]);
    }

    #[test]
    fn a_sign_belongs_to_the_word_before_it() {
        assert_eq!(texts("From 5 % to 24 %. Then - more"), ["From 5% to 24%. Then- more"]);
    }

    #[test]
    fn inline_code_is_one_word_and_a_link_its_text() {
        assert_eq!(texts("Use `a b\nc` in [the page](x/y.md#z), now"), ["Use CODE in [the page], now"]);
        assert_eq!(paragraphs("Use `a b\nc` in\nit")[0][3], Word { text: "it".into(), line: 3 });
    }
}
