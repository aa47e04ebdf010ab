//! A page of Markdown with its tables; long tables stand in files of CSV beside it. Tables are not padded, so a line depends on
//! its own row only, and a subset of the sets gives the same lines as all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The folder of the CSV files, beside the page.
pub const FOLDER: &str = "fidelity";
/// Lines of a file that are shown as different; the others are counted.
const SHOWN: usize = 20;

/// One table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Heads of the columns; those that begin with `#` hold numbers, which stand right, and lose the `#`.
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[&'static str]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
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
    fn heads(&self) -> Vec<String> {
        self.columns.iter().map(|head| head.trim_start_matches('#').to_string()).collect()
    }
    /// Its lines of CSV (RFC 4180, but for the ends of lines), the heads first.
    fn csv(&self) -> String {
        let line = |cells: &[String]| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(line(&self.heads())).chain(self.rows.iter().map(|row| line(row))).collect()
    }
    /// Its lines of Markdown.
    pub fn lines(&self) -> Vec<String> {
        let heads = self.heads();
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

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
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
    /// The name of the CSV file that holds the table; otherwise it stands on the page.
    pub file: Option<&'static str>,
}

impl Section {
    /// A section with one paragraph and a table.
    pub fn new(heading: &str, text: &str, table: Table) -> Section {
        Section { heading: heading.to_string(), text: vec![text.to_string()], table: Some(table), file: None }
    }
    /// The section with its table in a file of this name.
    pub fn in_file(self, name: &'static str) -> Section {
        Section { file: Some(name), ..self }
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
            let _ = match (&section.table, section.file) {
                (Some(table), Some(name)) => {
                    let rows = if table.rows.len() == 1 { "row" } else { "rows" };
                    write!(page, "\n[{name}.csv]({FOLDER}/{name}.csv): {} {rows}.\n", table.rows.len())
                }
                (Some(table), None) if !table.rows.is_empty() => write!(page, "\n{}\n", table.lines().join("\n")),
                _ => Ok(()),
            };
        }
        page
    }
    /// The files beside the page: name with ending, and text.
    pub fn files(&self) -> BTreeMap<String, String> {
        let files = self.sections.iter().filter_map(|section| Some((section.file?, section.table.as_ref()?)));
        files.map(|(name, table)| (format!("{name}.csv"), table.csv())).collect()
    }
}

/// How two texts differ: each line that only one of them has, or has more often, with its number in the file as it is written. A
/// line of ours stands beside the line of theirs that begins with the same cells. With `sets` only lines of CSV whose first cell is
/// one of these count.
pub fn differences(name: &str, written: &str, made: &str, sets: Option<&BTreeSet<&str>>) -> Vec<String> {
    let counted = |line: &str| sets.is_none_or(|sets| sets.contains(line.split(',').next().unwrap_or_default()));
    let mut ours: Vec<&str> = made.lines().filter(|line| counted(line)).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    ours.iter().for_each(|line| *times.entry(line).or_default() += 1);
    let mut is_equal = |line: &str| times.get_mut(line).filter(|left| **left > 0).map(|left| *left -= 1).is_some();
    let theirs = written.lines().enumerate().filter(|(_, line)| counted(line) && !is_equal(line)).collect::<Vec<_>>();
    ours.retain(|line| times.get_mut(line).filter(|left| **left > 0).map(|left| *left -= 1).is_some());
    let shown = |place: String, ours: &str, theirs: &str| format!("{place}\n  ours:   {ours}\n  theirs: {theirs}");
    let mut found = Vec::new();
    for (at, line) in theirs {
        let alike = ours.iter().enumerate().max_by_key(|(at, own)| (common_cells(own, line), std::cmp::Reverse(*at)));
        let alike = alike.filter(|(_, own)| common_cells(own, line) > 0).map(|(at, _)| at);
        let own = alike.map_or("no such line", |at| ours.remove(at));
        found.push(shown(format!("{name}:{}", at + 1), own, line));
    }
    found.extend(ours.iter().map(|line| shown(name.to_string(), line, "no such line")));
    let hidden = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if hidden > 0 {
        found.push(format!("{name}: and {hidden} other lines"));
    }
    found
}

/// How many cells of two lines are equal before the first that differs.
fn common_cells(a: &str, b: &str) -> usize {
    a.split([',', '|']).zip(b.split([',', '|'])).take_while(|(a, b)| a == b).count()
}

fn paragraphs(page: &mut String, text: &[String]) {
    for paragraph in text {
        let _ = write!(page, "\n{paragraph}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: &[[&str; 2]]) -> Page {
        let mut table = Table::new(&["set", "#inside"]);
        rows.iter().for_each(|row| table.push(row.iter().map(|cell| cell.to_string()).collect()));
        let mut total = Table::new(&["sets"]);
        total.push(vec![rows.len().to_string()]);
        let sections = vec![Section::new("Sum", "All.", total), Section::new("Sets", "Each.", table).in_file("sets")];
        Page { title: "Title".into(), text: vec!["First.".into()], sections }
    }

    #[test]
    fn long_tables_stand_in_files() {
        let page = page(&[["a", "3 | 4"], ["b", "5, \"6\""]]);
        let expected = "# Title\n\nFirst.\n\n## Sum\n\nAll.\n\n| sets |\n| --- |\n| 2 |\n\n## Sets\n\nEach.\n\n\
                        [sets.csv](fidelity/sets.csv): 2 rows.\n";
        assert_eq!(page.markdown(), expected);
        assert_eq!(page.files()["sets.csv"], "set,inside\na,3 | 4\nb,\"5, \"\"6\"\"\"\n");
    }

    #[test]
    fn a_subset_is_compared_row_by_row() {
        let csv = |rows: &[[&str; 2]]| page(rows).files()["sets.csv"].clone();
        let written = csv(&[["a", "1"], ["a", "2"], ["b", "3"]]);
        let compare = |rows: &[[&str; 2]]| differences("f", &written, &csv(rows), Some(&BTreeSet::from(["a"])));
        assert_eq!(compare(&[["a", "1"], ["a", "2"]]), Vec::<String>::new());
        assert_eq!(compare(&[["a", "1"], ["a", "4"]]), ["f:3\n  ours:   a,4\n  theirs: a,2"]);
        assert_eq!(compare(&[["a", "2"]]), ["f:2\n  ours:   no such line\n  theirs: a,1"]);
        assert_eq!(compare(&[["a", "1"], ["a", "2"], ["a", "5"]]), ["f\n  ours:   a,5\n  theirs: no such line"]);
        let gone = differences("f", &written, &csv(&[["a", "1"], ["a", "2"]]), None);
        assert_eq!(gone, ["f:4\n  ours:   no such line\n  theirs: b,3"]);
        let many: String = (0..50).map(|row| format!("{row}\n")).collect();
        assert_eq!(differences("f", "", &many, None).last().unwrap(), "f: and 30 other lines");
    }
}
