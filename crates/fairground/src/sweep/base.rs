//! The scenario that a sweep varies, and the check of each value of each axis before the first run.

use super::axes::{Axis, AxisKind, AxisValue, path};
use super::spec::SweepSpec;
use fairground_machine::CostModel;
use fairground_model::{Mistake, Mistakes};
use fairground_scenario::text_file::Texts;
use fairground_scenario::{Error, FileMistakes, Overrides, Scenario, Source};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use toml_edit::{Item, Table};

/// Of an axis of more values only the ends are tried, and so many at the beginning: a value that fails later is a row with an error.
const TRIED: usize = 1_000;

/// The scenario that is varied.
pub(super) struct Base {
    pub(super) source: Source,
    pub(super) table: Table,
    /// What is no TOML in its text.
    pub(super) wrong: Mistakes,
    pub(super) folder: PathBuf,
    /// Texts that are taken instead of files.
    pub(super) texts: Texts,
}

/// What changes the base: flags, and keys by their paths.
#[derive(Clone, Default)]
pub(super) struct Changes {
    flags: Overrides,
    keys: Vec<(String, AxisValue)>,
}

impl Changes {
    pub(super) fn add(&mut self, kind: &AxisKind, value: &AxisValue) {
        let flags = &mut self.flags;
        match kind {
            AxisKind::Seed => flags.seed = if let AxisValue::Int(seed) = value { u64::try_from(*seed).ok() } else { None },
            AxisKind::Profile => flags.profile = Some(value.to_string()),
            AxisKind::Feature => flags.features.push(value.to_string()),
            AxisKind::Machine => flags.machine = Some(value.to_string()),
            AxisKind::Set(name) => flags.set.push(format!("{name}={value}")),
            AxisKind::Path(path) => self.keys.push((path.clone(), value.clone())),
        }
    }
}

impl Base {
    /// Where prices are varied and the base names no list, they stand beside the list that its machine has.
    pub(super) fn name_prices(&mut self, spec: &SweepSpec) {
        let is_price = |axis: &Axis| ["costs.", "machine.costs."].iter().any(|start| axis.kind.name().starts_with(start));
        if !spec.axes.iter().any(is_price) {
            return;
        }
        let Ok(scenario) = self.changed(&Changes::default()) else { return };
        let list = scenario.machine.costs.name;
        let machine = self.table.get_mut("machine").and_then(Item::as_table_like_mut);
        if let Some(machine) = machine.filter(|machine| !machine.contains_key("costs") && CostModel::preset(&list).is_ok()) {
            machine.insert("costs", Item::Value(list.into()));
        }
    }
    /// The scenario with these changes.
    pub(super) fn changed(&self, changes: &Changes) -> Result<Scenario, Error> {
        let flags = Overrides { texts: Texts::clone(&self.texts), ..changes.flags.clone() };
        let read = |table| Scenario::of_table(self.source.clone(), table, self.wrong.clone(), &self.folder, &flags);
        if changes.keys.is_empty() {
            return read(&self.table);
        }
        let mut table = self.table.clone();
        for (key, value) in &changes.keys {
            path::set(&mut table, key, value).map_err(|(message, hint)| Error::one(PATH, message, hint))?;
        }
        read(&table)
    }
    /// The mistakes with these changes that the base does not have by itself.
    fn mistakes_of_value(&self, changes: &Changes, known: &[Mistake]) -> Result<Vec<FileMistakes>, Error> {
        match self.changed(changes) {
            Ok(_) => Ok(Vec::new()),
            Err(Error::Input(mut files)) => {
                for file in files.iter_mut().filter(|file| file.name == self.source.name) {
                    file.mistakes.0.retain(|row| known.iter().all(|known| known.message != row.message));
                }
                files.retain(|file| !file.mistakes.0.is_empty());
                Ok(files)
            }
            Err(error) => Err(error),
        }
    }
    fn known(&self, changes: &Changes) -> Result<Vec<Mistake>, Error> {
        match self.changed(changes) {
            Ok(_) => Ok(Vec::new()),
            Err(Error::Input(files)) => {
                let own = files.into_iter().filter(|file| file.name == self.source.name);
                Ok(own.flat_map(|file| file.mistakes.0).collect())
            }
            Err(error) => Err(error),
        }
    }
}

/// Under this name stand mistakes of paths.
const PATH: &str = "path";

/// The values of a dimension that are tried.
fn tried(axes: &[&Axis]) -> Vec<usize> {
    let length = axes[0].values.len();
    if length <= TRIED {
        return (0..length).collect();
    }
    let mut places: Vec<usize> = (0..100).chain([length - 1]).collect();
    for axis in axes {
        let number = |place: &usize| axis.values[*place].number().unwrap_or(0.0);
        places.extend((0..length).min_by(|a, b| number(a).total_cmp(&number(b))));
        places.extend((0..length).max_by(|a, b| number(a).total_cmp(&number(b))));
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Tries every value of every axis, beside the first good ones of the axes before it. A value that is wrong there is tried once more in
/// the first and the last run that has it, since a combination may be wrong where its parts are not.
pub(super) fn check(base: &Base, spec: &SweepSpec, name: &str, text: &str) -> Result<(), Error> {
    let (mut good, mut wrong, mut files) = (Changes::default(), Mistakes::default(), Vec::new());
    let mut complete = true;
    for (dimension, axes) in spec.dimensions().iter().enumerate() {
        let axes: Vec<&Axis> = axes.iter().map(|&axis| &spec.axes[axis]).collect();
        if axes[0].kind == AxisKind::Seed {
            continue;
        }
        let (mut first, mut repeated, known) = (None, Repeated::default(), base.known(&good)?);
        for place in tried(&axes) {
            let mut changes = good.clone();
            axes.iter().for_each(|axis| changes.add(&axis.kind, &axis.values[place]));
            let found = base.mistakes_of_value(&changes, &known)?;
            if found.is_empty() {
                first = first.or(Some(changes));
                continue;
            }
            if is_good_elsewhere(base, spec, dimension, place, &known)? {
                continue;
            }
            let prefix = format!("{}: ", axes[0].kind.flag());
            for file in found {
                // What stands in a file that the value names has lines of its own.
                if file.name != base.source.name && !file.text.is_empty() {
                    files.push(file);
                    continue;
                }
                for mistake in file.mistakes.0 {
                    let message = mistake.message.strip_prefix(&prefix).unwrap_or(&mistake.message);
                    repeated.note(&mut wrong, axes[0].spans[place].clone(), message, mistake.hint);
                }
            }
        }
        repeated.tell(&mut wrong);
        complete &= first.is_some();
        good = first.unwrap_or(good);
    }
    // Without a good value on every axis the base may lack what the axis was to give.
    if complete && let Err(Error::Input(of_base)) = base.changed(&good) {
        files.extend(of_base);
    }
    if !wrong.0.is_empty() {
        files.insert(0, FileMistakes { name: name.to_string(), text: text.to_string(), mistakes: wrong });
    }
    if files.is_empty() { Ok(()) } else { Err(Error::Input(files)) }
}

/// How often a mistake of an axis was found: a key that does not exist is one mistake, however many values it has, and so is what all
/// values of a range do wrong.
#[derive(Default)]
struct Repeated(BTreeMap<usize, usize>);

impl Repeated {
    fn note(&mut self, wrong: &mut Mistakes, span: Range<usize>, message: &str, hint: String) {
        // The value itself stands in the message.
        let shape = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "");
        let is_same =
            |row: &Mistake| row.message == message || (row.span.as_ref() == Some(&span) && shape(&row.message) == shape(message));
        match wrong.0.iter().position(is_same) {
            Some(row) if wrong.0[row].message == message => {}
            Some(row) => *self.0.entry(row).or_default() += 1,
            None => wrong.at(span, message, hint),
        }
    }

    fn tell(self, wrong: &mut Mistakes) {
        for (row, more) in self.0 {
            let values = if more == 1 { "value" } else { "values" };
            wrong.0[row].message.push_str(&format!(", and so with {more} more {values}"));
        }
    }
}

fn is_good_elsewhere(base: &Base, spec: &SweepSpec, dimension: usize, place: usize, known: &[Mistake]) -> Result<bool, Error> {
    // A value that no condition leaves is not run.
    let Some((first, last)) = spec.runs_with(dimension, place) else { return Ok(true) };
    for run in [first, last] {
        let mut changes = Changes::default();
        spec.axes.iter().zip(spec.point(run)).for_each(|(axis, value)| changes.add(&axis.kind, value));
        if base.mistakes_of_value(&changes, known)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
