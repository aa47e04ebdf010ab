//! A page of Markdown: headings, paragraphs, tables. Tables are not padded, so a line depends on its own row only,
//! and a subset of the sets gives the same lines as all of them.

use std::collections::BTreeSet;
use std::fmt::Write;

/// One table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Heads of the columns; those that begin with `#` hold numbers, which stand right, and lose the `#`.
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Whether each row is about the one set that its first cell names.
    by_set: bool,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[&'static str]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new(), by_set: false }
    }
    /// A table whose rows are about the sets that their first cells name.
    pub fn by_set(columns: &[&'static str]) -> Table {
        Table { by_set: true, ..Table::new(columns) }
    }
    /// Adds a row.
    pub fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    fn lines(&self) -> Vec<String> {
        let heads = self.columns.iter().map(|head| head.trim_start_matches('#').to_string()).collect::<Vec<_>>();
        let rule = self.columns.iter().map(|head| if head.starts_with('#') { "---:" } else { "---" }.to_string());
        let mut lines = vec![line(&heads), line(&rule.collect::<Vec<_>>())];
        lines.extend(self.rows.iter().map(|row| line(row)));
        lines
    }
}

/// `| a | b |`; what would end a cell is taken out of its meaning.
fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}

/// A heading with what stands under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The heading, unique on the page.
    pub heading: String,
    /// Paragraphs.
    pub text: Vec<String>,
    /// The table, if there is one.
    pub table: Option<Table>,
}

impl Section {
    /// A section with one paragraph and a table.
    pub fn new(heading: &str, text: &str, table: Table) -> Section {
        Section { heading: heading.to_string(), text: vec![text.to_string()], table: Some(table) }
    }
}

/// The whole page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What stands first.
    pub text: Vec<String>,
    /// The sections in order.
    pub sections: Vec<Section>,
}

impl Page {
    /// The page as Markdown.
    pub fn markdown(&self) -> String {
        let mut page = format!("# {}\n", self.title);
        paragraphs(&mut page, &self.text);
        for section in &self.sections {
            let _ = write!(page, "\n## {}\n", section.heading);
            paragraphs(&mut page, &section.text);
            if let Some(table) = section.table.as_ref().filter(|table| !table.is_empty()) {
                let _ = write!(page, "\n{}\n", table.lines().join("\n"));
            }
        }
        page
    }
    /// Compares the rows of the tables by set with those of a page that was written before: for each of `sets` the
    /// same rows under the same headings. Returns what differs, a line each.
    pub fn differences(&self, written: &str, sets: &BTreeSet<&str>) -> Vec<String> {
        let mut differences = Vec::new();
        for section in &self.sections {
            let Some(table) = section.table.as_ref().filter(|table| table.by_set) else { continue };
            let ours: Vec<String> = table.lines().into_iter().filter(|line| is_about(line, sets)).collect();
            let theirs: Vec<&str> = lines_under(written, &section.heading).filter(|line| is_about(line, sets)).collect();
            let gone = theirs.iter().filter(|line| !ours.iter().any(|own| own == *line)).map(|line| ("-", line.to_string()));
            let new = ours.iter().filter(|line| !theirs.contains(&line.as_str())).map(|line| ("+", line.clone()));
            differences.extend(gone.chain(new).map(|(sign, line)| format!("{}: {sign} {line}", section.heading)));
        }
        differences
    }
}

fn paragraphs(page: &mut String, text: &[String]) {
    for paragraph in text {
        let _ = write!(page, "\n{paragraph}\n");
    }
}

/// The lines between a heading and the next one.
fn lines_under<'p>(page: &'p str, heading: &str) -> impl Iterator<Item = &'p str> + use<'p> {
    let heading = format!("## {heading}");
    page.lines().skip_while(move |line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "))
}

fn is_about(line: &str, sets: &BTreeSet<&str>) -> bool {
    line.strip_prefix("| ").and_then(|line| line.split(" |").next()).is_some_and(|first| sets.contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &[[&str; 2]]) -> Page {
        let mut table = Table::by_set(&["set", "#inside"]);
        rows.iter().for_each(|row| table.push(row.iter().map(|cell| cell.to_string()).collect()));
        let mut total = Table::new(&["sets"]);
        total.push(vec![rows.len().to_string()]);
        let sections = vec![Section::new("Sum", "All.", total), Section::new("Sets", "Each.", table)];
        Page { title: "Title".into(), text: vec!["First.".into()], sections }
    }

    #[test]
    fn markdown() {
        let expected = "# Title\n\nFirst.\n\n## Sum\n\nAll.\n\n| sets |\n| --- |\n| 1 |\n\n## Sets\n\nEach.\n\n\
                        | set | inside |\n| --- | ---: |\n| a | 3 \\| 4 |\n";
        assert_eq!(page(&[["a", "3 | 4"]]).markdown(), expected);
        assert!(page(&[]).markdown().ends_with("Each.\n"));
    }

    #[test]
    fn a_subset_is_compared_row_by_row() {
        let written = page(&[["a", "1"], ["a", "2"], ["b", "3"]]).markdown();
        let sets = BTreeSet::from(["a"]);
        assert_eq!(page(&[["a", "1"], ["a", "2"]]).differences(&written, &sets), Vec::<String>::new());
        assert_eq!(page(&[["a", "1"], ["a", "4"]]).differences(&written, &sets), ["Sets: - | a | 2 |", "Sets: + | a | 4 |"]);
        assert_eq!(page(&[]).differences(&written, &sets).len(), 2);
        assert_eq!(page(&[["b", "4"]]).differences(&written, &BTreeSet::from(["b"])).len(), 2);
    }
}
