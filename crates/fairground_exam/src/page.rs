//! The table of a page of the documentation, between two comments.

use crate::planted::Family;
use fairground_report::Table;
use fairground_scenario::Error;

/// The comments between which a table stands.
type Place = [&'static str; 2];
const FIRST: Place =
    ["<!-- by `cargo run --release -p fairground_exam -- explain --page docs/answers.md` -->\n", "<!-- end of explain -->"];
const SECOND: Place = [
    "<!-- by `cargo run --release -p fairground_exam -- explain --second --page docs/answers.md` -->\n",
    "<!-- end of the second exam -->",
];

/// The table as Markdown, with the sentence of each family.
pub fn lines(families: &[&'static Family], table: &Table) -> String {
    let mut text = String::from("| family | what is planted | cause % | remedy % | who % | most named instead |\n");
    text += "| --- | --- | ---: | ---: | ---: | --- |\n";
    for row in table.rows() {
        let cell = |at: usize| row.get(at).map_or_else(String::new, |cell| cell.text.clone());
        let sentence = families.iter().find(|family| family.name == cell(0)).map_or("", |family| family.sentence);
        text += &format!("| {} | {sentence} | {} | {} | {} | {} |\n", cell(0), cell(3), cell(4), cell(5), cell(6));
    }
    text
}

/// A page with these lines between the two comments of the first or of the second exam.
pub fn with(page: &str, lines: &str, second: bool) -> Result<String, Error> {
    let [begin, end] = if second { SECOND } else { FIRST };
    let parts = page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| {
        Error::one("the page", "lacks the two comments between which the table stands", format!("Write {}", begin.trim()))
    })?;
    Ok(format!("{before}{begin}\n{lines}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_comments_is_written() {
        for (second, [begin, end]) in [(false, FIRST), (true, SECOND)] {
            let page = format!("a\n{begin}old\n{end}\nb\n");
            assert_eq!(with(&page, "new\n", second).ok(), Some(format!("a\n{begin}\nnew\n\n{end}\nb\n")));
            assert!(with("a\n", "new\n", second).is_err());
        }
    }
}
