//! How many answers are right, family by family.

use crate::answer::{Answer, ask};
use crate::planted::{Family, Planted, plant};
use crate::remedy;
use fairground_report::{Cell, Table, columns};
use fairground_scenario::Error;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The least that must be right, in percent of all draws: cause, remedy, and who ran.
pub const FLOORS: Right<u64> = Right { cause: 98, lever: 98, who: 98 };

/// The same of the second exam.
pub const FLOORS_OF_SECOND: Right<u64> = Right { cause: 95, lever: 95, who: 95 };

/// The same for each family by itself.
pub const FLOORS_OF_FAMILY: Right<u64> = Right { cause: 85, lever: 85, who: 85 };

impl Right<u64> {
    /// Whether all three are at least as high as these floors.
    pub fn is_above(&self, floors: &Right<u64>) -> bool {
        self.cause >= floors.cause && self.lever >= floors.lever && self.who >= floors.who
    }
}

/// A value for each of the three questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Right<T> {
    /// The cause.
    pub cause: T,
    /// The remedy that saves most.
    pub lever: T,
    /// Who ran, used up the pool or held the lock.
    pub who: T,
}

/// A planted delay with its answer.
pub struct Asked {
    /// Of which family.
    pub family: &'static str,
    /// The seed of the draw.
    pub seed: u64,
    /// What was planted.
    pub planted: Planted,
    /// What was answered, or why nothing was.
    pub answer: Result<Answer, String>,
    /// What of it is right.
    pub right: Right<bool>,
}

/// Plants a delay of each family for each seed and asks about it.
pub fn examine(families: &[&'static Family], seeds: RangeInclusive<u64>) -> Result<Vec<Asked>, Error> {
    let draws: Vec<_> = families.iter().flat_map(|family| seeds.clone().map(move |seed| (*family, seed))).collect();
    draws.into_par_iter().map(|(family, seed)| asked(family, seed)).collect()
}

fn asked(family: &Family, seed: u64) -> Result<Asked, Error> {
    let planted = plant(family, seed)?;
    let answer = ask(&planted).map_err(|error| error.to_string());
    let right = answer.as_ref().map_or(Right::default(), |answer| Right {
        cause: planted.causes.contains(&answer.cause),
        lever: remedy::is_right(&planted, answer.lever.as_deref()),
        who: answer.who.as_ref().map_or(planted.who.is_empty(), |who| planted.who.contains(who)),
    });
    Ok(Asked { family: family.name, seed, planted, answer, right })
}

/// How many percent of the answers are right, rounded down.
pub fn percent(asked: &[&Asked]) -> Right<u64> {
    let share = |is_right: fn(&Asked) -> bool| {
        let right = asked.iter().filter(|row| is_right(row)).count() as u64;
        right * 100 / (asked.len() as u64).max(1)
    };
    Right { cause: share(|row| row.right.cause), lever: share(|row| row.right.lever), who: share(|row| row.right.who) }
}

/// A row per family, and one for all.
pub fn table(families: &[&'static Family], asked: &[Asked]) -> Table {
    let columns = columns![
        left "family", right "draws", right "discarded", right "cause %" "cause_pct", right "remedy %" "remedy_pct",
        right "who %" "who_pct", left "most named instead" "most_named_instead"
    ];
    let mut table = Table::new("exam", "Planted delays and answers", columns);
    let mut push = |name: &str, rows: &[&Asked]| {
        let right = percent(rows);
        let discarded: u32 = rows.iter().map(|row| row.planted.discarded).sum();
        let numbers = [rows.len() as u64, u64::from(discarded), right.cause, right.lever, right.who];
        let mut cells: Vec<Cell> = vec![name.into()];
        cells.extend(numbers.map(Cell::from));
        cells.push(instead(rows).into());
        table.push(cells);
    };
    for family in families {
        push(family.name, &asked.iter().filter(|row| row.family == family.name).collect::<Vec<_>>());
    }
    push("all", &asked.iter().collect::<Vec<_>>());
    table
}

/// The wrong cause that was named most often, of equal ones the first by name.
fn instead(asked: &[&Asked]) -> String {
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for row in asked.iter().filter(|row| !row.right.cause) {
        *times.entry(row.answer.as_ref().map_or("no answer", |answer| answer.cause)).or_default() += 1;
    }
    let most = times.into_iter().max_by_key(|&(name, times)| (times, std::cmp::Reverse(name)));
    most.map_or_else(String::new, |(name, _)| name.to_string())
}

impl Asked {
    /// Whether all three answers are right.
    pub fn is_all_right(&self) -> bool {
        self.right.cause && self.right.lever && self.right.who
    }
    /// What was planted and what was answered.
    pub fn story(&self) -> String {
        let Planted { task, causes, levers, who, delays: (with, without), .. } = &self.planted;
        let planted = format!(
            "{} {}: {task} is {with} late, {without} without the cause: {}; remedy {}; who: {}",
            self.family,
            self.seed,
            causes.join(" or "),
            levers.join(" or "),
            who.join(" or "),
        );
        let answer = match &self.answer {
            Err(error) => format!("no answer: {error}"),
            Ok(answer) => {
                let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
                format!("{}; remedy {}; who: {}", answer.cause, or_none(&answer.lever), or_none(&answer.who))
            }
        };
        format!("{planted}\n  answer: {answer}")
    }
}
