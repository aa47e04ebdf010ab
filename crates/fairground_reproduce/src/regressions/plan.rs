//! What a file of a regression says.
//!
//! ```text
//! seeds = 5                 runs of each side, seeds 1 to 5; quick_seeds with --quick
//! [[side]]                  name, scenario (a file of scenarios/regressions/), profile, set = ["NAME=VALUE"], change = ["FEATURE"],
//!                           with = [["client = 1024", "client = 96"]] (words of the scenario, each replaced)
//!                           quick = false: --quick leaves the side out, and with it each row, claim and course about it
//! [[row]]                   id, of = side, by = side (then a ratio), metric, published, min, max, calibrated = true
//! [[claim]]                 id (a sentence), of, by, metric, min, max
//! [[course]]                a long run, put together from short ones: see the course module
//! [[bisect]]                a = side, b = side, metric, names = ["..."], quick = false: --quick leaves the search out
//! ```

use super::course::Course;
use super::files::Regression;
use crate::published::{Published, decimal};
use fairground_report::{Band, Quantity};
use fairground_scenario::{Error, Overrides, Scenario};
use std::path::Path;
use toml_edit::{Item, Table};

/// A scenario under a kernel.
pub(super) struct Side {
    pub(super) name: String,
    /// The kernel, by name.
    pub(super) profile: String,
    /// Features that differ from that kernel, and what is set.
    pub(super) changes: Vec<String>,
    pub(super) set: Vec<String>,
    pub(super) scenario: Scenario,
    /// Whether the quick form runs it.
    pub(super) is_quick: bool,
}

/// A figure of our runs, and in what it must lie.
pub(super) struct Figure {
    pub(super) of: usize,
    /// The side by which it is divided.
    pub(super) by: Option<usize>,
    pub(super) metric: String,
    pub(super) published: Quantity,
    pub(super) band: Band,
    /// Whether a length or a price was set by it.
    pub(super) is_calibrated: bool,
}

/// Which changes a search between two sides has to name.
pub(super) struct Asked {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) metric: String,
    /// In order of their names.
    pub(super) names: Vec<String>,
    /// Whether the quick form searches. A search needs no run of its sides.
    pub(super) is_quick: bool,
}

/// All that a file says.
pub(super) struct Plan {
    pub(super) seeds: u64,
    pub(super) quick_seeds: u64,
    pub(super) sides: Vec<Side>,
    /// The sides that are run, by their places.
    pub(super) run: Vec<usize>,
    pub(super) rows: Vec<(String, Figure)>,
    pub(super) claims: Vec<(String, Figure)>,
    pub(super) asked: Vec<Asked>,
    pub(super) courses: Vec<Course>,
}

impl Plan {
    pub(super) fn of(regression: &Regression, published: &Published) -> Result<Plan, Error> {
        let reader = Reader(regression);
        let seeds = |key: &str| reader.number(published.root(), key);
        let sides = published.rows("side").map(|row| reader.side(row)).collect::<Result<Vec<_>, Error>>()?;
        let figures = |kind: &str| -> Result<Vec<(String, Figure)>, Error> {
            published.rows(kind).map(|row| Ok((reader.text(row, "id")?.to_string(), reader.figure(row, &sides)?))).collect()
        };
        let asked = published.rows("bisect").map(|row| reader.asked(row, &sides)).collect::<Result<Vec<_>, Error>>()?;
        let courses = published.rows("course").map(|row| reader.course(row, &sides)).collect::<Result<Vec<_>, Error>>()?;
        let (seeds, quick_seeds) = (seeds("seeds")?, seeds("quick_seeds")?);
        let (rows, claims) = (figures("row")?, figures("claim")?);
        let run = (0..sides.len()).collect();
        Ok(Plan { seeds, quick_seeds, sides, run, rows, claims, asked, courses })
    }
    /// What the quick form runs and shows.
    pub(super) fn quick(mut self) -> Plan {
        let sides = &self.sides;
        let is_run = |side: usize| sides[side].is_quick;
        let is_shown = |figure: &Figure| is_run(figure.of) && figure.by.is_none_or(is_run);
        self.run.retain(|&side| is_run(side));
        self.rows.retain(|row| is_shown(&row.1));
        self.claims.retain(|claim| is_shown(&claim.1));
        self.courses.retain(|course| course.of.iter().chain(&course.by).all(|&side| is_run(side)));
        self.asked.retain(|asked| asked.is_quick);
        self.seeds = self.quick_seeds;
        self
    }
}

struct Reader<'r>(&'r Regression);

impl Reader<'_> {
    fn wrong(&self, what: String) -> Error {
        Error::one(self.0.file, what, "It is part of this build.")
    }
    fn number(&self, table: &Table, key: &str) -> Result<u64, Error> {
        let value = table.get(key).and_then(Item::as_integer).and_then(|value| u64::try_from(value).ok());
        value.ok_or_else(|| self.wrong(format!("`{key}` is no number")))
    }
    fn text<'t>(&self, table: &'t Table, key: &str) -> Result<&'t str, Error> {
        table.get(key).and_then(Item::as_str).ok_or_else(|| self.wrong(format!("a row without `{key}`")))
    }
    fn texts(&self, table: &Table, key: &str) -> Vec<String> {
        let rows = table.get(key).and_then(Item::as_array);
        rows.into_iter().flatten().filter_map(|row| row.as_str().map(String::from)).collect()
    }
    fn is_quick(&self, table: &Table) -> bool {
        table.get("quick").and_then(Item::as_bool).unwrap_or(true)
    }
    fn side(&self, table: &Table) -> Result<Side, Error> {
        let (name, file, profile) = (self.text(table, "name")?, self.text(table, "scenario")?, self.text(table, "profile")?);
        let found = self.0.scenarios.iter().find(|row| row.0 == file);
        let (_, text) = found.ok_or_else(|| self.wrong(format!("there is no scenario `{file}`")))?;
        let text = self.with(file, text, table)?;
        let (set, changes) = (self.texts(table, "set"), self.texts(table, "change"));
        let (of_profile, features) = (Some(profile.into()), changes.clone());
        let overrides = Overrides { profile: of_profile, set: set.clone(), features, ..Overrides::default() };
        let scenario = Scenario::parse(file, &text, Path::new(""), &overrides)?;
        Ok(Side { name: name.into(), profile: profile.into(), changes, set, scenario, is_quick: self.is_quick(table) })
    }
    /// The text of a scenario with some of its words replaced. Each stands there once.
    fn with(&self, file: &str, text: &str, table: &Table) -> Result<String, Error> {
        let pairs = table.get("with").and_then(Item::as_array).into_iter().flatten();
        let mut text = text.to_string();
        for pair in pairs.filter_map(|pair| pair.as_array()) {
            let words: Vec<&str> = pair.iter().filter_map(|word| word.as_str()).collect();
            let [from, to] = words[..] else { return Err(self.wrong("`with` lists pairs of texts".to_string())) };
            if text.matches(from).count() != 1 {
                return Err(self.wrong(format!("`{from}` does not stand once in scenario `{file}`")));
            }
            text = text.replace(from, to);
        }
        Ok(text)
    }
    fn course(&self, table: &Table, sides: &[Side]) -> Result<Course, Error> {
        let names = |key: &str| -> Result<Vec<usize>, Error> {
            self.texts(table, key).iter().map(|name| self.place(sides, name)).collect()
        };
        let (of, by) = (names("of")?, names("by")?);
        let at = table.get("at").and_then(Item::as_array).into_iter().flatten();
        let at: Vec<u64> = at.filter_map(|at| at.as_integer().and_then(|at| u64::try_from(at).ok())).collect();
        let fits = |points: usize| points == at.len() && points > 0;
        if !(fits(of.len()) && fits(by.len()) && at[0] == 0 && at.is_sorted()) {
            return Err(self.wrong("a course whose points do not begin at 0, do not rise, or have no side each".to_string()));
        }
        Ok(Course {
            id: self.text(table, "id")?.into(),
            of,
            by,
            at,
            metric: self.text(table, "metric")?.into(),
            lasts_s: self.number(table, "lasts_s")?,
            published: decimal(table, "published").map_or(Quantity::Unknown, Quantity::Number),
            band: Band::between(decimal(table, "min"), decimal(table, "max")),
        })
    }
    fn place(&self, sides: &[Side], name: &str) -> Result<usize, Error> {
        sides.iter().position(|side| side.name == name).ok_or_else(|| self.wrong(format!("there is no side `{name}`")))
    }
    fn figure(&self, table: &Table, sides: &[Side]) -> Result<Figure, Error> {
        let by = table.get("by").and_then(Item::as_str).map(|name| self.place(sides, name)).transpose()?;
        Ok(Figure {
            of: self.place(sides, self.text(table, "of")?)?,
            by,
            metric: self.text(table, "metric")?.into(),
            published: decimal(table, "published").map_or(Quantity::Unknown, Quantity::Number),
            band: Band::between(decimal(table, "min"), decimal(table, "max")),
            is_calibrated: table.get("calibrated").and_then(Item::as_bool).unwrap_or(false),
        })
    }
    fn asked(&self, table: &Table, sides: &[Side]) -> Result<Asked, Error> {
        let mut names = self.texts(table, "names");
        names.sort_unstable();
        let side = |key: &str| self.place(sides, self.text(table, key)?);
        let is_quick = self.is_quick(table);
        Ok(Asked { a: side("a")?, b: side("b")?, metric: self.text(table, "metric")?.into(), names, is_quick })
    }
}
