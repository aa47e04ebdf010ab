//! A published experiment over kernel trees, each beside our rules.

use crate::document::Document;
use crate::page::{Block, Page};
use crate::table::{Cell, Column, Table, number};
use crate::units::counted;
use crate::{Quantity, columns};
use fairground_metrics::Decimal;
use serde_json::{Map, Value, json};

/// What one side has for a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// A number.
    Number(Decimal),
    /// No number, and why. It is never shown as 0.
    Nothing(&'static str),
}

/// A row of one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideRow {
    /// Its id, as in the published data where that has it.
    pub id: String,
    /// The unit of its numbers.
    pub unit: &'static str,
    /// The published number.
    pub published: Quantity,
    /// That of this side.
    pub given: Given,
}

/// What one scheduler made of the experiment: a tree, or our rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// The name of its profile.
    pub name: String,
    /// Its rows.
    pub rows: Vec<SideRow>,
}

/// A row of all sides.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    id: String,
    unit: &'static str,
    published: Quantity,
    /// One for each side, in their order.
    given: Vec<Given>,
}

/// A published experiment over kernel trees. Its rows are shown and not judged: bands are those of our own runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beside {
    experiment: String,
    sides: Vec<String>,
    rows: Vec<Row>,
    /// What sides are like, and how the runs were cut.
    notes: Vec<String>,
}

impl Beside {
    /// Merges the rows of all sides by their ids, in the order in which they first come.
    pub fn of_sides(experiment: &str, sides: Vec<Side>, notes: Vec<String>) -> Beside {
        const NO_SUCH_ROW: &str = "it was not asked";
        let mut rows: Vec<Row> = Vec::new();
        let names = sides.iter().map(|side| side.name.clone()).collect();
        let nobody = vec![Given::Nothing(NO_SUCH_ROW); sides.len()];
        for (index, side) in sides.into_iter().enumerate() {
            for SideRow { id, unit, published, given } in side.rows {
                let at = rows.iter().position(|row| row.id == id).unwrap_or_else(|| {
                    rows.push(Row { id, unit, published, given: nobody.clone() });
                    rows.len() - 1
                });
                rows[at].given[index] = given;
            }
        }
        Beside { experiment: experiment.to_string(), sides: names, rows, notes }
    }

    /// What came out, in a few lines.
    pub fn summary(&self) -> Vec<String> {
        let is_whole = |row: &&Row| row.given.iter().all(|given| matches!(given, Given::Number(_)));
        let (rows, whole) = (self.rows.len() as u64, self.rows.iter().filter(is_whole).count());
        let mut lines = vec![format!("{}: {}; in {whole} every side has a number", self.experiment, counted(rows, "row"))];
        lines.push(format!("sides       {}", self.sides.join(", ")));
        lines
    }

    /// `row  unit  published  SIDE ...`; under it what a side does not give, and why.
    pub fn table(&self) -> Table {
        let mut columns = columns![left "row", left "unit", right "published"];
        columns.extend(self.sides.iter().map(|side| Column::right(side, side)));
        let mut table = Table::new("beside", format!("{} over kernel trees, beside our rules", self.experiment), columns);
        for row in &self.rows {
            let mut cells: Vec<Cell> = vec![row.id.clone().into(), row.unit.into()];
            cells.push(Cell::new(row.published.to_string(), row.published.json()));
            cells.extend(row.given.iter().map(|given| match given {
                Given::Number(value) => Cell::new(value.to_string(), number(*value)),
                Given::Nothing(_) => Cell::new("-", Value::Null),
            }));
            table.push(cells);
        }
        self.missing().into_iter().for_each(|line| table.note(line));
        self.notes.iter().for_each(|note| table.note(note.clone()));
        table
    }

    /// What sides do not give, by the reason.
    fn missing(&self) -> Vec<String> {
        let mut found: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for row in &self.rows {
            for (side, given) in self.sides.iter().zip(&row.given) {
                let Given::Nothing(why) = given else { continue };
                match found.iter_mut().find(|kind| (kind.0, kind.1) == (side, *why)) {
                    Some(kind) => kind.2.push(&row.id),
                    None => found.push((side, why, vec![&row.id])),
                }
            }
        }
        found.into_iter().map(|(side, why, ids)| format!("no number of {side}: {why}: {}", ids.join(", "))).collect()
    }

    /// The document of `reproduce --over --json`.
    pub fn document(&self, document: &mut Document) {
        let given = |(side, given): (&String, &Given)| {
            let value = match given {
                Given::Number(value) => json!({ "value": number(*value) }),
                Given::Nothing(why) => json!({ "value": null, "why": why }),
            };
            (side.clone(), value)
        };
        let row = |row: &Row| {
            let sides: Map<String, Value> = self.sides.iter().zip(&row.given).map(given).collect();
            json!({ "id": row.id, "unit": row.unit, "published": row.published.json(), "sides": sides })
        };
        document
            .set("experiment", self.experiment.as_str())
            .set("sides", self.sides.clone())
            .set("summary", self.summary())
            .set("rows", self.rows.iter().map(row).collect::<Vec<_>>())
            .set("notes", self.notes.clone());
    }

    /// The page of `reproduce --over -o FILE.html`.
    pub fn page(&self, made_by: &str, digest: u128) -> Page {
        let mut page = Page::new(format!("{} over kernel trees", self.experiment));
        page.fact("made by", made_by).fact("sides", self.sides.join(", ")).fact("digest", format!("{digest:032x}"));
        page.push(Block::Table(self.table()));
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn row(id: &str, published: Quantity, given: Given) -> SideRow {
        SideRow { id: id.into(), unit: "us", published, given }
    }

    fn sample() -> Beside {
        let number = |value: u64| Given::Number(value.into());
        let atomic = "a call takes no time";
        let tree = Side {
            name: "tree:a".into(),
            rows: vec![
                row("rate", Quantity::Number(5.into()), number(4)),
                row("timer.longest", Quantity::Unknown, Given::Nothing(atomic)),
                row("timer.median", Quantity::Unknown, Given::Nothing(atomic)),
            ],
        };
        let ours = Side {
            name: "v6.1".into(),
            rows: vec![
                row("timer.median", Quantity::Unknown, number(0)),
                row("rate", Quantity::Number(5.into()), number(6)),
                row("only.ours", Quantity::Unknown, number(1)),
                row("timer.longest", Quantity::Unknown, number(9)),
            ],
        };
        Beside::of_sides("sample", vec![tree, ours], vec!["One seed.".into()])
    }

    /// Rows meet by their ids, whatever their order; a number that is 0 and one that is not there are shown differently.
    #[test]
    fn sides_are_merged_by_the_ids_of_their_rows() {
        expect![[r#"
            sample over kernel trees, beside our rules
            row            unit  published  tree:a  v6.1
            -------------  ----  ---------  ------  ----
            rate           us            5       4     6
            timer.longest  us            -       -     9
            timer.median   us            -       -     0
            only.ours      us            -       -     1
            no number of tree:a: a call takes no time: timer.longest, timer.median
            no number of tree:a: it was not asked: only.ours
            One seed.
        "#]]
        .assert_eq(&sample().table().to_string());
        assert_eq!(sample().summary(), ["sample: 4 rows; in 1 every side has a number", "sides       tree:a, v6.1"]);
    }

    #[test]
    fn json_has_a_reason_for_each_number_that_is_not_there() {
        let mut document = Document::new("reproduce", &[], Some(1), Some(5));
        sample().document(&mut document);
        let rows = document.get("rows").unwrap();
        expect![[r#"{"id":"timer.median","unit":"us","published":null,"sides":{"tree:a":{"value":null,"why":"a call takes no time"},"v6.1":{"value":0}}}"#]]
        .assert_eq(&rows[2].to_string());
        let page = sample().page("a test", 5).to_string();
        assert!(page.contains("tree:a") && page.contains("a call takes no time: timer.longest"), "{page}");
    }
}
