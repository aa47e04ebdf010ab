//! The table of a page of the documentation, between two comments.

use crate::planted::Family;
use fairground_report::Table;
use fairground_scenario::Error;

const BEGIN: &str = "<!-- by `cargo run --release -p fairground_exam -- explain --page docs/answers.md` -->\n";
const END: &str = "<!-- end of explain -->";

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

/// A page with these lines between its two comments.
pub fn with(page: &str, lines: &str) -> Result<String, Error> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| {
        Error::one("the page", "lacks the two comments between which the table stands", format!("Write {}", BEGIN.trim()))
    })?;
    Ok(format!("{before}{BEGIN}\n{lines}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_comments_is_written() {
        let page = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(with(&page, "new\n").ok(), Some(format!("a\n{BEGIN}\nnew\n\n{END}\nb\n")));
        assert!(with("a\n", "new\n").is_err());
    }
}
